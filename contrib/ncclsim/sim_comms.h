/* sim_comms.h - our rank's communicators, the living ones and those that were
 * destroyed. */
#ifndef JP_SIM_COMMS_H
#define JP_SIM_COMMS_H

#include "contrib/ncclsim/sim_counts.h"
#include "contrib/ncclsim/sim_groups.h"
#include "contrib/ncclsim/sim_kernels.h"
#include "contrib/ncclsim/sim_options.h"

/* A captured launch. */
struct jp_sim_graph {
    int n;
    int has_proxies; /* CUDA runs a host function at each replay */
    struct {
        int mask;
        void *api;
        uint64_t
            bases[JP_NCCL_MAX_CHANNELS]; /* used by the progress thread only */
    } ops[];
};

/* A communicator of our rank. */
struct jp_sim_comm {
    const struct jp_sim_group *group;
    uint64_t
        hash; /* the group's hash, unless the communicator was created again */
    int rank;
    int is_alive;
    void *context;
    uint64_t gpu_offset_ns; /* offset of its GPU's clock to CLOCK_MONOTONIC */
    struct jp_sim_kernels *kernels;
    uint64_t copies;  /* number of copies by the copy engines so far */
    int persistent;   /* the last group call was captured */
    int is_connected; /* its first operation was called */
    int n_graphs;
    struct jp_sim_graph **graphs; /* [n_graphs] by the launch's slot; or NULL */
    uint64_t seq[JP_NCCL_N_FUNCS]; /* sequence numbers as NCCL counts them, per
                                      function */
    struct jp_sim_counts counts;
};

struct jp_sim_comms {
    const struct jp_sim_options *options; /* borrowed, as `world` */
    const struct jp_sim_world *world;
    int n_at;
    struct jp_sim_comm *
        *at; /* [n_at] by the group's index; NULL: no living communicator */
    int n;
    struct jp_sim_comm *all; /* [n] in order of creation */
};

/* Makes room for `n_at` communicators and for those that faults recreate.
 * `options` and `world` are set by the caller and borrowed. Returns 0 or -1;
 * release with sim_comms_fini(). */
int sim_comms_init(struct jp_sim_comms *comms, int n_at, struct jp_error *err);
void sim_comms_fini(struct jp_sim_comms *comms);

/* Creates the group's communicator, or recreates it. */
void sim_comms_create(struct jp_sim_comms *comms,
                      const struct jp_sim_group *group);

/* Destroys a communicator whose operations have ended. Returns -1 if NCCL would
 * never return from this; the communicator is then not finalized, and no
 * further one may be destroyed. */
int sim_comms_destroy(struct jp_sim_comms *comms, int index);
int sim_comms_destroy_all(struct jp_sim_comms *comms);

/* Returns a new graph of zeros in the slot. An older one there is freed. */
struct jp_sim_graph *sim_comms_add_graph(struct jp_sim_comm *comm, int slot,
                                         int n_ops);

/* Returns the slot's graph, or NULL. */
struct jp_sim_graph *sim_comms_graph(const struct jp_sim_comm *comm, int slot);

/* Returns the context of a living communicator other than `not_index`, or NULL.
 */
void *sim_comms_context(const struct jp_sim_comms *comms, int not_index);

/* Writes the counts, separated by commas. *first: nothing was written yet; it
 * is updated. */
void sim_comms_put_counts(const struct jp_sim_comms *comms, FILE *out,
                          int *first);

uint64_t sim_comms_total(const struct jp_sim_comms *comms);

#endif
