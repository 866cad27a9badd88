/* begin.h - a node joins a profiled step.
 *
 * begin_join is what the tasks wait for: a few small files. begin_linger is the
 * rest, while the tasks run, until SIGTERM or the end of it.
 */
#ifndef JP_AGENT_BEGIN_H
#define JP_AGENT_BEGIN_H

#include "common/error.h"
#include "orchestrator/collect/lastout.h"

/* Folders, token and node.json of this node; *pairs is the answer for the
 * module, dot included (caller frees). A node that can write the directory but
 * cannot profile is marked as done at once, so that nobody waits for it. Fails
 * also where the directory is somebody else's, job.conf is not the one that SLURM_JOBPROF_HASH names, or the step
 * is over. */
int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct jp_error *err);

/* The node's topology and hardware, once per job; trouble goes to log.txt.
 * config: the site file; NULL: the installed one. */
void begin_linger(const char *dir, const char *node, const char *config);

#endif
