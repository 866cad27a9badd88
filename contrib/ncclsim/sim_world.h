/* Who the job's ranks are: how many, on which nodes, and which one we are.
 *
 * Taken from Slurm's environment of a task, or from the command line. Every
 * process must come to the same picture, for none of them talks to another.
 */
#ifndef JP_SIM_WORLD_H
#define JP_SIM_WORLD_H

#include <stdint.h>

#include "common/error.h"

struct jp_sim_world {
    int rank;
    int n_ranks;
    int n_nodes;
    int *node;  /* [n_ranks] node of each rank */
    int *local; /* [n_ranks] its number on that node */
};

/* Fills `world`. Values < 0 are taken from the environment:
 *   rank            SLURM_PROCID, else 0
 *   n_ranks         SLURM_STEP_NUM_TASKS, else SLURM_NTASKS, else 1
 *   ranks_per_node  SLURM_STEP_TASKS_PER_NODE ("4(x2),2"), else all on one
 * Ranks fill node after node, or go round one by one when SLURM_DISTRIBUTION
 * begins with "cyclic", or SLURM_DIST_PLANESIZE at a time with "plane". 0 or
 * -1; release with sim_world_fini(). */
int sim_world_init(struct jp_sim_world *world, int rank, int n_ranks,
                   int ranks_per_node, struct jp_error *err);
void sim_world_fini(struct jp_sim_world *world);

/* A seed that all ranks of a step share and no other step has: from
 * SLURM_JOB_ID, SLURM_STEP_ID and the restart count; 1 without Slurm. */
uint64_t sim_world_seed(void);

#endif
