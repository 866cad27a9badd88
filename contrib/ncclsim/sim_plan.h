/* sim_plan.h - a launch on its way from the user thread to the progress thread:
 * NCCL's kernel plan, as far as it matters here.
 *
 * The GPU runs a plan batch by batch. A batch has works of one kind and
 * function, as many as fit. Its works start and end together, on all channels;
 * the collectives of a group divide the channels among them. A collective is
 * one work on each of its channels; the Send and the Recv of one round are one
 * work together. */
#ifndef JP_SIM_PLAN_H
#define JP_SIM_PLAN_H

#include "contrib/ncclsim/sim_model.h"
#include "contrib/ncclsim/sim_options.h"

struct jp_sim_kernels;
struct jp_sim_meet;

/* One operation; ncclProxyOp in NCCL. */
struct jp_sim_work {
    void *task; /* handle of its Coll or P2p event; may be NULL */
    int mask;   /* mask of events at the time of the call */
    struct jp_sim_op op;
    int batch; /* index of its batch in the plan */
    int opens; /* the GPU counts it; otherwise it is a part of the work before
                */
    uint64_t *bases; /* [channels] bases of a graph's operation, kept between
                        its replays; NULL: no graph */
    int n_proxies;
    void **proxies; /* [n_proxies] handles; even: send, odd: receive */
};

/* A channel of an operation that the host watches. */
struct jp_sim_kernel {
    struct jp_sim_kernel *next; /* next one of its connection */
    struct jp_sim_plan *plan;
    const struct jp_sim_work *work;
    uint64_t base;
    uint64_t start_ns; /* as reported */
    void *handle;
    uint8_t channel;
    uint8_t is_started;
    uint8_t is_done;
};

struct jp_sim_plan {
    struct jp_sim_plan *next;
    const struct jp_sim_options *options; /* borrowed, as `kernels` */
    struct jp_sim_kernels *kernels;       /* the communicator's */
    void *context;
    int rank;             /* our rank in the communicator */
    uint64_t gpu_base_ns; /* GPU clock at virtual time 0 */
    int64_t live_base_ns; /* CLOCK_MONOTONIC at virtual time 0, if events have
                             to be raised when kernels really start and end; 0:
                             raise them at once */
    /* The ranks wait for each other in operations here; NULL: they do not. With
     * --together kernels then run at real instead of virtual times. */
    struct jp_sim_meet *meet;
    uint64_t gpu_offset_ns; /* GPU clock minus CLOCK_MONOTONIC */
    enum jp_sim_mode mode;
    int persistent; /* the communicator's last group call was captured */
    int n_batches;
    int n_watched; /* kernels whose end has not been reported */
    int is_over;   /* it has run */
    int n, n_room;
    struct jp_sim_work *works;
    int n_kernels, kernel_room;
    struct jp_sim_kernel *watched; /* [n_kernels] */
};

/* Makes room for `n` works in a plan that was used before or is all zeros. */
void sim_plan_reserve(struct jp_sim_plan *plan, int n);

/* Sorts the works into batches. Their `op` must be set. */
void sim_plan_arrange(struct jp_sim_plan *plan);

/* Returns the index of a batch's first work. *end: index after its last one.
 * *start_ns, *end_ns: when it runs. */
int sim_plan_batch(const struct jp_sim_plan *plan, int batch, int *end,
                   int64_t *start_ns, int64_t *end_ns);

void sim_plan_free(struct jp_sim_plan *plan);

/* Whether the operation is a Send or Recv; and whether the work is one to
 * oneself. */
int sim_plan_is_p2p(const struct jp_sim_op *op);
int sim_plan_is_self(const struct jp_sim_plan *plan,
                     const struct jp_sim_work *work);

#endif
