/* show_saved.h - what `jobprof show` prints when a run's logs are gone. */
#ifndef JP_SHOW_SHOW_SAVED_H
#define JP_SHOW_SHOW_SAVED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/show/opsum.h"
#include "orchestrator/show/show_table.h"

/* Is there a report in one of these folders, or beside its raw/? */
bool show_saved_has(char *const *folders, size_t n);

/* Are all of them steps whose raw/ is gone? Other files in a step's directory,
 * such as the nodes' lists of tasks, are not logs. */
bool show_saved_bare(char *const *folders, size_t n);

/* Prints from csv/ on standard output: ranks where the filter names a rank or a
 * node, else operations summed up. 0; 1: none passes the filter; -1 and err. */
int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, enum show_form form,
                    struct jp_error *err);

/* Prints from summary.json whether the report found a hang. 0, or -1 and err.
 */
int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err);

#endif
