/* sim_world.h - the job's ranks: how many there are, on which nodes, and which
 * one this process is.
 *
 * The source is Slurm's environment of a task, or the command line. Every
 * process must find the same, because processes do not communicate. */
#ifndef JP_SIM_WORLD_H
#define JP_SIM_WORLD_H

#include <stdint.h>

#include "common/error.h"

struct jp_sim_world {
    int rank;
    int n_ranks;
    int n_nodes;
    int *node;  /* [n_ranks] node of each rank */
    int *local; /* number on that node, from 0 */
};

/* Fills `world`. Values < 0 are taken from the environment:
 *
 *   rank            SLURM_PROCID, else 0
 *   n_ranks         SLURM_STEP_NUM_TASKS, else SLURM_NTASKS, else 1
 *   ranks_per_node  SLURM_STEP_TASKS_PER_NODE ("4(x2),2"), else all on one
 *
 * Ranks fill one node after the other. With a SLURM_DISTRIBUTION that begins
 * with "cyclic" they take turns one by one; with "plane", SLURM_DIST_PLANESIZE
 * at a time. Returns 0 or -1; release with sim_world_fini(). */
int sim_world_init(struct jp_sim_world *world, int rank, int n_ranks,
                   int ranks_per_node, struct jp_error *err);
void sim_world_fini(struct jp_sim_world *world);

/* Fills `world` with the ranks of the same processes if each has `gpus` GPUs,
 * and a rank for each: process p has the ranks p * gpus to p * gpus + gpus - 1.
 * The world's own rank is that of our process's GPU number `gpu`. Returns 0 or
 * -1; release with sim_world_fini(). */
int sim_world_widen(const struct jp_sim_world *processes, int gpus, int gpu,
                    struct jp_sim_world *world, struct jp_error *err);

/* Returns a seed that all ranks of a step share and no other step has: from
 * SLURM_JOB_ID, SLURM_STEP_ID and the restart count; 1 without Slurm. */
uint64_t sim_world_seed(void);

#endif
