/* A launch on its way from the user thread to the progress thread: NCCL's
 * kernel plan, as far as it matters here.
 *
 * The GPU runs a plan batch by batch: works of one kind and function, as many
 * as fit. A batch's works start and end together, on all channels: those of a
 * group's collectives share them out. A collective is one work on each of its
 * channels; the Send and the Recv of one round are one together.
 */
#ifndef JP_SIM_PLAN_H
#define JP_SIM_PLAN_H

#include "contrib/ncclsim/sim_model.h"
#include "contrib/ncclsim/sim_options.h"

struct jp_sim_kernels;
struct jp_sim_meet;

/* One operation: NCCL's ncclProxyOp. */
struct jp_sim_work {
    void *task; /* handle of its Coll or P2p event; may be NULL */
    int mask;   /* events asked for when it was called */
    struct jp_sim_op op;
    int batch;       /* its number in the plan, from 0 */
    int opens;       /* the GPU counts it; else it shares the one before */
    uint64_t *bases; /* [channels] of a graph's operation, kept between its
                        replays; NULL: no graph */
    int n_proxies;
    void **proxies; /* [n_proxies] even: send, odd: receive */
};

/* A channel of an operation that the host watches. */
struct jp_sim_kernel {
    struct jp_sim_kernel *next; /* of its connection */
    struct jp_sim_plan *plan;
    const struct jp_sim_work *work;
    uint64_t base;
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
    int rank;             /* ours in the communicator */
    uint64_t gpu_base_ns; /* the GPU's clock at virtual time 0 */
    int64_t live_base_ns; /* CLOCK_MONOTONIC then, where kernels are told when
                           * they really start and end; 0: at once */
    /* Ranks wait for each other: kernels run when they really do, and not at
     * virtual times. NULL: they do not. */
    struct jp_sim_meet *together;
    uint64_t gpu_offset_ns; /* the GPU's clock less CLOCK_MONOTONIC */
    enum jp_sim_mode mode;
    int persistent; /* the communicator's last group was captured */
    int n_batches;
    int n_watched; /* kernels that have not been told to their end */
    int is_over;   /* it has run */
    int n, n_room;
    struct jp_sim_work *works;
    int n_kernels, kernel_room;
    struct jp_sim_kernel *watched; /* [n_kernels] */
};

/* Makes room for `n` works in a plan that was used before or is all zeros. */
void sim_plan_reserve(struct jp_sim_plan *plan, int n);

/* Sorts the works into batches; their `op` is set. */
void sim_plan_arrange(struct jp_sim_plan *plan);

/* A batch's first work; `*end` is the one after its last, `start_ns` and
 * `end_ns` when it runs. */
int sim_plan_batch(const struct jp_sim_plan *plan, int batch, int *end,
                   int64_t *start_ns, int64_t *end_ns);

void sim_plan_free(struct jp_sim_plan *plan);

/* Whether it is a Send or Recv, and whether one to oneself. */
int sim_plan_is_p2p(const struct jp_sim_op *op);
int sim_plan_is_self(const struct jp_sim_plan *plan,
                     const struct jp_sim_work *work);

#endif
