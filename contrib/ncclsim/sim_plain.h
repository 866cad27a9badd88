/* sim_plain.h - the plain program: a number of communicators, a number of
 * operations on each.
 *
 * An iteration has `colls` collectives and `p2p_ops` Send and Recv on each
 * communicator in turn, all of one size, and nothing else. This is the shape
 * that a plan is made for, at the least cost of the simulator. All ranks are in
 * all communicators. Collectives take turns: AllReduce, AllGather,
 * ReduceScatter; those of a group have one function. Send goes to the next
 * rank, Recv comes from the previous one. An AlltoAll is n rounds of both, the
 * first one with oneself. */
#ifndef JP_SIM_PLAIN_H
#define JP_SIM_PLAIN_H

#include "contrib/ncclsim/sim_model.h"

enum { SIM_PLAIN_FUNCS = 3 };

struct jp_sim_plain {
    const struct jp_sim_world *world;
    const struct jp_sim_faults *faults;
    double tempo; /* factor of the operations' durations */
    uint64_t seed;
    int n_comms, colls, p2p_ops;
    int group;           /* collectives in one call */
    int alltoall;        /* an AlltoAll before the collectives */
    int broadcasts;      /* a group of two Broadcasts before the collectives */
    int mixed_protocols; /* small Send and Recv beside the others */
    int graph, graph_mix, captured;
    const char *graph_comm; /* NULL: all */
    uint64_t bytes;
    int n_channels;              /* 0: by the size */
    struct jp_sim_group *groups; /* [n_comms] */
    uint64_t *n_ops;             /* [n_comms] collectives so far */
    uint64_t n_alltoalls;        /* on each communicator */
    struct jp_sim_op *ops;       /* room for the operations of one launch */
    int64_t took_ns[SIM_PLAIN_FUNCS];
    int64_t clock_ns;       /* clock of all ranks */
    const int64_t *late_ns; /* as in sim_model.h */
    int calls;
    struct jp_sim_halt halt;
};

/* The caller sets the members up to n_channels. Returns 0 or -1; release with
 * sim_plain_fini(). */
int sim_plain_init(struct jp_sim_plain *plain, struct jp_error *err);
void sim_plain_fini(struct jp_sim_plain *plain);

/* Runs one iteration, like sim_model_iterate(). Captured collectives are
 * replaced by their replays. With graph_mix, an eager AllReduce follows each
 * replay; on odd communicators it precedes each. */
void sim_plain_iterate(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                       void *data);

#endif
