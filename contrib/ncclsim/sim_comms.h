/* Our rank's communicators, those that are and those that were. */
#ifndef JP_SIM_COMMS_H
#define JP_SIM_COMMS_H

#include "contrib/ncclsim/sim_counts.h"
#include "contrib/ncclsim/sim_groups.h"
#include "contrib/ncclsim/sim_kernels.h"
#include "contrib/ncclsim/sim_options.h"

/* A captured launch. */
struct jp_sim_graph {
    int n;
    int has_proxies; /* a host node runs at each replay */
    struct {
        int mask;
        void *api;
        uint64_t bases[JP_NCCL_MAX_CHANNELS]; /* the progress thread's */
    } ops[];
};

/* A communicator of our rank. */
struct jp_sim_comm {
    const struct jp_sim_group *group;
    uint64_t hash; /* the group's, until it is created again */
    int rank;
    int is_alive;
    void *context;
    uint64_t gpu_offset_ns; /* of its GPU's clock to CLOCK_MONOTONIC */
    struct jp_sim_kernels *kernels;
    uint64_t copies; /* by the copy engines, so far */
    int persistent;  /* its last group was captured */
    int n_graphs;
    struct jp_sim_graph **graphs; /* [n_graphs] by the launch's slot; or NULL */
    uint64_t seq[JP_NCCL_N_FUNCS]; /* NCCL's own, per function */
    struct jp_sim_counts counts;
};

struct jp_sim_comms {
    const struct jp_sim_options *options; /* borrowed, as `world` */
    const struct jp_sim_world *world;
    int n_at;
    struct jp_sim_comm **at; /* [n_at] by the group's index; NULL: none now */
    int n;
    struct jp_sim_comm *all; /* [n] in the order of their creation */
};

/* Room for `n_at` communicators and what faults make of them; `options` and
 * `world` stay the caller's. 0 or -1; release with sim_comms_fini(). */
int sim_comms_init(struct jp_sim_comms *comms, int n_at, struct jp_error *err);
void sim_comms_fini(struct jp_sim_comms *comms);

/* Creates the group's communicator, again where there was one. */
void sim_comms_create(struct jp_sim_comms *comms,
                      const struct jp_sim_group *group);

/* Destroys it; all its operations are done. -1 where NCCL would not come back
 * from there: nothing is finalized then, nor after it. */
int sim_comms_destroy(struct jp_sim_comms *comms, int index);
int sim_comms_destroy_all(struct jp_sim_comms *comms);

/* A new graph in the slot, all zeros. */
struct jp_sim_graph *sim_comms_add_graph(struct jp_sim_comm *comm, int slot,
                                         int n_ops);

/* The slot's graph, or NULL. */
struct jp_sim_graph *sim_comms_graph(const struct jp_sim_comm *comm, int slot);

/* The context of a communicator that is alive; NULL where none is. */
void *sim_comms_context(const struct jp_sim_comms *comms, int not_index);

/* Writes the counts, separated by commas; `first` says whether one was written
 * before and is updated. */
void sim_comms_put_counts(const struct jp_sim_comms *comms, FILE *out,
                          int *first);

uint64_t sim_comms_total(const struct jp_sim_comms *comms);

#endif
