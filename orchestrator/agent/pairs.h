/* pairs.h - the variables of a node's tasks, as `begin` hands them to stepd.
 *
 * Lines "NAME=VALUE" (set), "?NAME=VALUE" (set unless the user has) and
 * "+NAME=VALUE" (a comma and it after what is set), closed by a line of a
 * single dot; the module takes nothing without the dot. Grammar and limits:
 * docs/contracts.md, section 1.
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

/* Where tasks run in containers, by the site's keys (jobprof.conf(5)):
 * container_paths says how paths of the host read inside, container_binds names
 * variables that get what is to be mounted: "SOURCE:TARGET[:ro],...", as
 * Apptainer and jobprof's hook for enroot take it: the file of the profiler's
 * library and the node's folder in raw/.
 *
 * Turns conf's variables into those that the tasks of node are to see and adds
 * those of container_binds, which yield to the user's, but for Apptainer's
 * lists, to which they are added. A path with one of ",:" or a blank has no
 * place in such a list: then they are not set. */
int pairs_contain(struct jp_jobconf *conf, const char *dir, const char *node,
                  struct jp_error *err);

#endif
