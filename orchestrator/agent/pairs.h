/* pairs.h - the variables of a node's tasks, as `begin` hands them to stepd.
 *
 * Lines "NAME=VALUE" (set) and "?NAME=VALUE" (set unless the user has), closed
 * by a line of a single dot; the module takes nothing without the dot. Grammar
 * and limits: docs/internals.md, section 1.
 */
#ifndef JP_AGENT_PAIRS_H
#define JP_AGENT_PAIRS_H

#include "common/error.h"
#include "common/jobconf.h"

#define JP_PAIRS_MAX 256
#define JP_PAIRS_MAX_BYTES (64 * 1024)

/* conf's variables with %N replaced by node, dot included, as one text. Caller
 * frees. NULL where a name or value cannot travel so. */
char *pairs_format(const struct jp_jobconf *conf, const char *node,
                   struct jp_error *err);

/* Whether the profiler that conf names is a readable file on this node; a name
 * that is no absolute path is the library search's business and passes. */
int pairs_check_plugin(const struct jp_jobconf *conf, struct jp_error *err);

#endif
