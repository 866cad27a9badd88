/* sim_model.h - the simulated program: what it computes and communicates, and
 * when.
 *
 * Each rank has a virtual clock. Every process advances the clocks of all
 * ranks, so that all processes agree without communication. A collective begins
 * when its last rank arrives and ends for all ranks together; a rank that
 * arrives early stays longer in the kernel: exec_r = end - arrival_r. The root
 * of a Broadcast and the other ranks of a Reduce need not wait for all; Send
 * and Recv wait for each other.
 *
 * sim_cost.h has the durations; the iteration is the table in sim_model.c. */
#ifndef JP_SIM_MODEL_H
#define JP_SIM_MODEL_H

#include <stdint.h>

#include "contrib/ncclsim/sim_faults.h"
#include "contrib/ncclsim/sim_groups.h"
#include "plugins/nccl_recorder/nccl_profiler.h"

/* How NCCL does an operation, which decides the events that it raises. */
enum jp_sim_way {
    SIM_KERNEL,      /* all events */
    SIM_QUIET,       /* none at all: a single rank, no bytes */
    SIM_SYMMETRIC,   /* API events only */
    SIM_COPY_ENGINE, /* API and copy engine events only */
    SIM_ALLGATHERV,  /* a Broadcast beside others: API events only */
};

/* One operation of our own rank. */
struct jp_sim_op {
    const struct jp_sim_group *group; /* its communicator */
    enum jp_nccl_func func;
    uint64_t bytes; /* count times element size, as NCCL enqueues it */
    int root;       /* in the communicator */
    int peer;       /* Send, Recv: in the communicator; else -1 */
    int round;      /* Send, Recv: the GPU does both of a round together */
    enum jp_sim_way way;
    int channel; /* its first channel; the others follow */
    int n_channels;
    int n_missing;    /* channels of which nothing is reported */
    int crosses;      /* some of its traffic leaves the node */
    int hangs;        /* some peer never comes: it starts and never ends */
    uint64_t number;  /* among the communicator's collectives */
    int64_t start_ns; /* our arrival */
    int64_t all_ns;   /* the last arrival of all; 0: not kept */
    int symmetric;    /* by a symmetric kernel of which NCCL tells */
    int64_t end_ns;   /* its end for our rank */
};

/* A call of the user, its capture into a graph, or a replay of the graph. */
enum jp_sim_mode { SIM_EAGER, SIM_CAPTURE, SIM_REPLAY };

/* Operations of one kernel launch, all of one communicator: a collective,
 * several of them in a group, or a group of Send and Recv. */
struct jp_sim_launch {
    int n;
    struct jp_sim_op *ops;
    int grouped; /* between the user's own ncclGroupStart and ncclGroupEnd */
    enum jp_sim_mode mode;
    int slot; /* graphs: index among those of the communicator */
};

/* Why our rank issues nothing more. waits: it is in an operation that never
 * ends; otherwise it stopped before one. */
struct jp_sim_halt {
    enum jp_sim_stop stop;
    int signal;
    int waits;
    const struct jp_sim_group *group;
    uint64_t op;
};

typedef void sim_model_issue_fn(void *data, const struct jp_sim_launch *launch);

struct jp_sim_model {
    const struct jp_sim_world *world;
    const struct jp_sim_groups *groups; /* [SIM_N_KINDS] */
    const struct jp_sim_faults *faults;
    uint64_t seed;
    int p2p;        /* pipeline Send and Recv */
    int alltoall;   /* an AlltoAll per iteration */
    int n_channels; /* of every operation; 0: by its size */
    int graph;      /* replays an iteration; 0: nothing is captured */
    int graph_mix;  /* some of its collectives are not captured */
    const char
        *graph_comm; /* communicator whose collectives are captured; NULL: tp */
    int64_t *clock_ns; /* [n_ranks] */
    char *stuck; /* [n_ranks] the rank has stopped, or waits for one that has */
    uint64_t n_alltoalls;
    uint64_t *n_ops[SIM_N_KINDS]; /* [groups] number of collectives so far */
    struct jp_sim_halt halt;
    struct jp_sim_op *ops;  /* room for our operations of one launch */
    const int64_t *late_ns; /* [n_ranks] delay by causes at each collective;
                               NULL: no fault has a cause */
    double tempo;           /* factor of computing times; 0 means 1 */
    int calls; /* our collectives with other ranks in this iteration */
    int iteration;
    int step; /* counts the launches of an iteration */
};

/* Sets the clocks to zero. The pointers are borrowed. Returns 0 or -1. Release
 * with sim_model_fini(). */
int sim_model_init(struct jp_sim_model *model, struct jp_error *err);
void sim_model_fini(struct jp_sim_model *model);

/* Runs one iteration and calls `issue` for each launch of our own rank, until
 * `halt` is set. */
void sim_model_iterate(struct jp_sim_model *model, int iteration,
                       sim_model_issue_fn *issue, void *data);

/* Returns our own rank's clock. */
int64_t sim_model_now_ns(const struct jp_sim_model *model);

#endif
