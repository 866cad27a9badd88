/* sidestep.h - srun's side of what runs beside the tasks: a step of its own.
 *
 * A keeper, no child of srun, starts `jobprof-node run` on the step's nodes by
 * a second, overlapping srun, and ends that one when the first is gone and its
 * step does not end by itself.
 */
#ifndef JP_AGENT_SIDESTEP_H
#define JP_AGENT_SIDESTEP_H

#include "orchestrator/agent/launch.h"
#include "orchestrator/collect/slurmask.h"

struct sidestep {
    struct slurmstep *slurm; /* NULL: not asked for, or no answer */
};

/* Where Copper is to run, asks Slurm for the step's nodes, and for KillWait,
 * which the facts get. sidestep_fini frees. */
void sidestep_ask(struct sidestep *side, struct launch_facts *facts,
                  const struct jp_plan *plan);

/* Starts the daemons of a launch that runs_copper, and waits, for a bounded
 * time, until they answer. What goes wrong is said, a line each, and the step
 * runs without them. */
void sidestep_start(const struct sidestep *side, const struct launch *launch,
                    void (*say)(const char *line));
void sidestep_fini(struct sidestep *side);

#endif
