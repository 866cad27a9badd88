/* sidestep.h - srun's part of a runner beside the tasks: a second Slurm step.
 *
 * A keeper, which is not a child of srun, starts `jobprof-node run` on the
 * step's nodes by a second, overlapping srun. It ends the second srun when the
 * first one has ended and the second step does not end by itself.
 */
#ifndef JP_AGENT_SIDESTEP_H
#define JP_AGENT_SIDESTEP_H

#include "orchestrator/agent/launch.h"
#include "orchestrator/collect/slurmask.h"

struct sidestep {
    struct slurmstep *slurm; /* NULL: not requested, or Slurm gave no answer */
};

/* If Copper is to run, asks Slurm for the step's nodes and for KillWait, which
 * is stored in facts. Free with sidestep_fini. */
void sidestep_ask(struct sidestep *side, struct launch_facts *facts,
                  const struct jp_plan *plan);

/* Starts the daemons of a launch with runs_copper and waits until they answer,
 * up to a time limit. Each error is reported by one call of say, and the step
 * runs without the daemons. */
void sidestep_start(const struct sidestep *side, const struct launch *launch,
                    void (*say)(const char *line));
void sidestep_fini(struct sidestep *side);

#endif
