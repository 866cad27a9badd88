/* supervise.h - one runner on one node: start, wait, stop, collect, in time.
 *
 * It stops when the tasks of the whole step have ended, on its own SIGTERM
 * (some seconds after it, as tasks may be ending), when the step is reported or
 * its directory is gone, and when its parent is gone; then it has KillWait less
 * a reserve, from the signal on, for the end of what it runs.
 */
#ifndef JP_AGENT_SUPERVISE_H
#define JP_AGENT_SUPERVISE_H

#include "common/error.h"
#include "plugins/backend.h"

/* Where it runs. A job.conf of another sum than hash (NULL or "": not known) is
 * refused. */
struct run_place {
    const char *dir, *node, *hash;
};

/* Runs runner for the step in place, until it has ended. 0: it did what it
 * should; -1: err says what not, and so does the step's log. */
int supervise(const struct backend_runner *runner,
              const struct run_place *place, struct jp_error *err);

/* The guard outlives a supervisor, and ends what a killed one leaves. It is the
 * process that Slurm has started. Where Slurm tracks processes by cgroup, all
 * of them are killed with it; its child may go alone, and then what the child
 * had started can still end in peace, as the guard's.
 *
 * Runs work(arg) in a child, passes signals on to it, SIGTERM when our parent
 * has gone, and awaits it. Its exit status; -1: it was killed, and what it left
 * of runner's is ended, in the time that KillWait leaves; err and the step's
 * log tell. */
int supervise_guard(const struct backend_runner *runner,
                    const struct run_place *place, int (*work)(void *arg),
                    void *arg, struct jp_error *err);

#endif
