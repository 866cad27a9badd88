/* simjob_parts.h - between simjob*.c: a job while it runs. */
#ifndef JP_TESTS_SIMJOB_PARTS_H
#define JP_TESTS_SIMJOB_PARTS_H

#include <stdlib.h>

#include "tests/insight/simjob.h"
#include "tests/insight/simjob_random.h"

#define EXPERTS 4 /* ranks of a group */
#define LAYER_NOISE 0.015
#define JITTER_SHARE 0.02 /* of operations or layers that take far longer */

enum { TP, PP, DP, EP, WORLD, N_KINDS };

struct job {
    const struct simjob_shape *shape;
    struct simjob_random random;
    struct simjob_truth *truth;
    simjob_sink *sink;
    void *arg;
    uint32_t n, steps, step, stuck_ranks, hang_layer;
    uint32_t batch;       /* of the step's pass through the pipeline */
    double spent_ns;      /* in communication, by all ranks */
    double *pace;         /* of each rank: its time over the usual */
    double *clock, *side; /* side: of operations beside the computation */
    bool *stuck;
    uint64_t *p2p_sn; /* of each rank: in its pipeline, in its AlltoAll */
    struct simjob_comm *comms[N_KINDS]; /* by rank: the one it is in */
    uint32_t *at[N_KINDS];              /* rank: index into comms */
    uint32_t n_comms[N_KINDS];
};

static inline void *need(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

static inline uint32_t node_of(const struct job *j, uint32_t rank)
{
    return rank / j->shape->per_node;
}

/* A layer's computation; number: of the step's layers. */
void compute(struct job *j, uint32_t rank, uint32_t number);

/* Coordinates of a rank. */
void place(const struct simjob_shape *s, uint32_t rank, uint32_t *t,
           uint32_t *p, uint32_t *d);

/* Have three quarters of the node's ranks likes elsewhere that they can be
 * compared with, in groups that their node does not make most of? Late, and the
 * others early, look the same otherwise. The communicators are there. */
bool node_can_be_told(const struct job *j, uint32_t node);

/* All communicators of a kind. */
void make_comms(struct job *j, int kind);

#endif
