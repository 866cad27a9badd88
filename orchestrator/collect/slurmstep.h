/* slurmstep.h - what Slurm knows of a step: its nodes, and what KillWait is. */
#ifndef JP_COLLECT_SLURMSTEP_H
#define JP_COLLECT_SLURMSTEP_H

#include <stdbool.h>
#include <stdint.h>

#define JP_SLURMSTEP_NODES_MAX 60000

struct slurmstep {
    uint32_t kill_wait_s; /* 0: unknown */
    uint32_t n_nodes;
    char nodes[JP_SLURMSTEP_NODES_MAX]; /* "n[1-4]" */
};

/* Asks the controller for at most wait_ms. False: no Slurm, no such step, no
 * answer. Not after threads were started. */
bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out);

#endif
