/* show_saved.h - the output of `jobprof show` after a run's logs were
 * removed. */
#ifndef JP_SHOW_SHOW_SAVED_H
#define JP_SHOW_SHOW_SAVED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/show/opsum.h"
#include "orchestrator/show/show_table.h"

/* Whether one of these folders, or the parent of a raw/, has a report. */
bool show_saved_has(char *const *folders, size_t n);

/* Whether all of them are steps without raw/. Other files of a step, such as
 * the nodes' lists of tasks, are not logs. */
bool show_saved_bare(char *const *folders, size_t n);

/* Prints the tables of csv/ on standard output: ranks if the filter names a
 * rank or a node, otherwise totals of operations. Returns 0; 1 if nothing
 * passes the filter; -1 and err. */
int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, enum show_form form,
                    struct jp_error *err);

/* Prints from summary.json whether the report found a hang. Returns 0, or -1
 * and err. */
int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err);

#endif
