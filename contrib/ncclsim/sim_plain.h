/* The plain program: so many communicators, so many operations on each.
 *
 * An iteration is `colls` collectives and `p2p_ops` Send and Recv on each
 * communicator in turn, all of one size, and nothing else: the shape that a
 * plan is made for, at the least cost of our own. All ranks are in all
 * communicators; collectives go round AllReduce, AllGather, ReduceScatter,
 * those of a group have one function, and Send goes to the next rank, Recv
 * comes from the one before. An AlltoAll is n rounds of both, the first with
 * oneself.
 */
#ifndef JP_SIM_PLAIN_H
#define JP_SIM_PLAIN_H

#include "contrib/ncclsim/sim_model.h"

enum { SIM_PLAIN_FUNCS = 3 };

struct jp_sim_plain {
    const struct jp_sim_world *world;
    const struct jp_sim_faults *faults;
    double tempo; /* of its communicators' operations */
    uint64_t seed;
    int n_comms, colls, p2p_ops;
    int group;           /* collectives in one call */
    int alltoall;        /* one before the collectives */
    int broadcasts;      /* two of different roots in a group before those */
    int mixed_protocols; /* Send and Recv of LL_BYTES beside the others */
    int graph, graph_mix, captured;
    const char *graph_comm; /* NULL: all */
    uint64_t bytes;
    int n_channels;              /* 0: by the size */
    struct jp_sim_group *groups; /* [n_comms] */
    uint64_t *n_ops;             /* [n_comms] collectives so far */
    uint64_t n_alltoalls;        /* on each communicator */
    struct jp_sim_op *ops;       /* room for those of one launch */
    int64_t took_ns[SIM_PLAIN_FUNCS];
    int64_t clock_ns;       /* of all ranks */
    const int64_t *late_ns; /* as sim_model.h's */
    int calls;
    struct jp_sim_halt halt;
};

/* The members up to n_channels are the caller's. 0 or -1; release with
 * sim_plain_fini(). */
int sim_plain_init(struct jp_sim_plain *plain, struct jp_error *err);
void sim_plain_fini(struct jp_sim_plain *plain);

/* One iteration, as sim_model_iterate(). With graphs it has their replays in
 * the collectives' place; with graph_mix an eager AllReduce after each, on odd
 * communicators before each. */
void sim_plain_iterate(struct jp_sim_plain *plain, sim_model_issue_fn *issue,
                       void *data);

#endif
