/* supervise.h - one runner on one node: start, wait, stop, collect, within
 * limits.
 *
 * The runner stops when the tasks of the whole step have ended, when the step
 * is reported or its directory is gone, or when its parent is gone. It also
 * stops on SIGTERM, a few seconds later, because tasks may still be ending.
 * From that signal on it has KillWait, less a reserve, to end its own
 * processes.
 */
#ifndef JP_AGENT_SUPERVISE_H
#define JP_AGENT_SUPERVISE_H

#include "common/error.h"
#include "plugins/backend.h"

/* Where the runner runs. A job.conf whose checksum differs from hash is refused
 * (NULL or "": not checked). */
struct run_place {
    const char *dir, *node, *hash;
};

/* Runs runner in place until it has ended. Returns 0 on success; otherwise -1,
 * and both err and the step's log say why. */
int supervise(const struct backend_runner *runner,
              const struct run_place *place, struct jp_error *err);

/* Runs work(arg) in a child under a guard. The guard is the process that Slurm
 * has started. It outlives the supervisor and ends what a killed supervisor
 * leaves behind. If Slurm tracks processes by cgroup, all of them are killed
 * together. Otherwise the child may be killed alone, and the guard, as the
 * parent of what it had started, can still end that properly.
 *
 * Passes signals on to the child, sends it SIGTERM when our parent has gone,
 * and waits for it. Returns the child's exit status, or -1 if it was killed. In
 * that case the runner's remaining processes have been ended, within KillWait;
 * err and the step's log say so. */
int supervise_guard(const struct backend_runner *runner,
                    const struct run_place *place, int (*work)(void *arg),
                    void *arg, struct jp_error *err);

#endif
