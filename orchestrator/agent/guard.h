/* guard.h - outlive a runner's supervisor, and end what a killed one leaves.
 *
 * The guard is the process that Slurm has started. Where Slurm tracks processes
 * by cgroup, all of them are killed with it; its child may go alone, and
 * then what the child had started can still end in peace, as the guard's.
 */
#ifndef JP_AGENT_GUARD_H
#define JP_AGENT_GUARD_H

#include "common/error.h"
#include "plugins/backend.h"

/* Runs work(arg) in a child, passes signals on to it, SIGTERM when our parent
 * has gone, and awaits it. Its exit status; -1: it was killed, and what it left of runner's is ended, in the time
 * that KillWait leaves; err and the step's log tell. */
int guard(const struct backend_runner *runner, const char *dir,
          const char *node, int (*work)(void *arg), void *arg,
          struct jp_error *err);

#endif
