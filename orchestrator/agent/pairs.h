/* pairs.h - the variables of a node's tasks, as `begin` passes them to
 * slurmstepd.
 *
 * Lines "NAME=VALUE" (set), "?NAME=VALUE" (set unless the user has set it) and
 * "+NAME=VALUE" (append the value after a comma). A single dot ends the list;
 * the module ignores a list without it. Grammar and limits: docs/contracts.md,
 * section 1.
 */
#ifndef JP_AGENT_PAIRS_H
#define JP_AGENT_PAIRS_H

#include "common/error.h"
#include "common/jobconf.h"

#define JP_PAIRS_MAX 256
#define JP_PAIRS_MAX_BYTES (64 * 1024)

/* Formats conf's variables, with %N replaced by node and the final dot, as one
 * string (caller frees). Returns NULL if a name or value cannot be
 * represented. */
char *pairs_format(const struct jp_jobconf *conf, const char *node,
                   struct jp_error *err);

/* Checks that the profiler library named in conf is a readable file on this
 * node. A name without an absolute path passes; the dynamic linker searches for
 * it. */
int pairs_check_plugin(const struct jp_jobconf *conf, struct jp_error *err);

/* Applies the site's container settings (jobprof.conf(5)). container_paths maps
 * paths of the host to paths inside the container. container_binds names
 * variables that receive the list of mounts: "SOURCE:TARGET[:ro],...", in the
 * format of Apptainer and of jobprof's hook for enroot. The list has the
 * profiler's library and the node's folder in raw/.
 *
 * Changes conf's variables to the values that the tasks of node must see, and
 * adds those of container_binds. A value that the user has set is kept, except
 * for Apptainer's lists, which are extended. A path with ',', ':' or a blank
 * cannot be listed; the variables are not set then. */
int pairs_contain(struct jp_jobconf *conf, const char *dir, const char *node,
                  struct jp_error *err);

#endif
