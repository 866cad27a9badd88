/* cmd_show_saved.h - what `jobprof show` can say when a run's logs are gone. */
#ifndef JP_CMD_CMD_SHOW_SAVED_H
#define JP_CMD_CMD_SHOW_SAVED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/show/opsum.h"

/* Is there a report in one of these folders, or beside its raw/? */
bool show_saved_has(char *const *folders, size_t n);

/* Are all of them steps whose raw/ is gone? What else lies in a step's
 * directory, such as the nodes' lists of tasks, is no log. */
bool show_saved_bare(char *const *folders, size_t n);

/* From csv/: ranks where the filter asks for one or a node, else operations
 * summed up. 0, 1: none passes the filter, or -1. */
int show_saved_sums(char *const *folders, size_t n,
                    const struct opsum_filter *filter, bool json,
                    struct jp_error *err);

/* From summary.json: whether something hung, as the report said it. 0, or -1.
 */
int show_saved_pending(char *const *folders, size_t n, bool json,
                       struct jp_error *err);

#endif
