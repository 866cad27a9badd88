/* resolve_runner.h - start Copper beside a step that srun is about to launch.
 */
#ifndef JP_CMD_RESOLVE_RUNNER_H
#define JP_CMD_RESOLVE_RUNNER_H

#include "orchestrator/agent/resolve.h"
#include "orchestrator/collect/slurmstep.h"

struct resolve_runner {
    struct resolve_input *in;
    struct slurmstep *step; /* NULL: not asked for, or no answer */
    uint32_t job_id;
};

/* Where Copper is to run, asks Slurm for the step's nodes, and for KillWait,
 * which in gets. */
void resolve_runner_ask(struct resolve_runner *runner);

/* Starts the daemons of the step in dir, and waits, for a bounded time, until
 * they answer. What goes wrong is said, and the step runs without them. */
void resolve_runner_start(struct resolve_runner *runner, const char *dir,
                          void (*say)(const char *line));
void resolve_runner_fini(struct resolve_runner *runner);

#endif
