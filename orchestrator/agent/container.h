/* container.h - the tasks' variables where tasks run in containers.
 *
 * Both by the site's keys (jobprof.conf(5)): container_paths says how paths of
 * the host read inside, container_binds names variables that get what is to be
 * mounted: "SOURCE:TARGET[:ro],...", as Apptainer and jobprof's hook for enroot
 * take it: the file of the profiler's library and the node's folder in raw/.
 */
#ifndef JP_AGENT_CONTAINER_H
#define JP_AGENT_CONTAINER_H

#include "common/error.h"
#include "common/jobconf.h"

/* Turns conf's variables into those that the tasks of node are to see and adds
 * those of container_binds, which yield to the user's. A path with one of ",:"
 * or a blank has no place in such a list: then they are not set. */
int container_apply(struct jp_jobconf *conf, const char *dir, const char *node,
                    struct jp_error *err);

#endif
