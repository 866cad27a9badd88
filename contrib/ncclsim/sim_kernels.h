/* sim_kernels.h - KernelCh events: the progress thread watches the GPU's
 * counters.
 *
 * A communicator has two connections per channel: one for Recv, one for Send
 * and collectives. Operations of a connection are watched one after the other;
 * only up to 2.27 all Sends, or Recvs, of a batch are watched together. A pass
 * over the connections raises at most one event, start or end, for each watched
 * operation. Therefore channels interleave, and an operation that has already
 * ended takes two passes. From 2.31 on a pass takes all that have ended.
 *
 * Source: NVIDIA/nccl 2.26.2 to 2.30.7, src/transport/profiler.cc, proxy.cc;
 * 2.31.2, src/plugin/profiler.cc. */
#ifndef JP_SIM_KERNELS_H
#define JP_SIM_KERNELS_H

#include "contrib/ncclsim/sim_plan.h"
#include "contrib/ncclsim/sim_stamps.h"

/* State of one communicator; zero-initialised. Only the progress thread uses it
 * while that runs. */
struct jp_sim_kernels {
    struct jp_sim_stamps stamps;
    struct {
        struct jp_sim_kernel *head, *tail;
        void *last; /* handle of the kernel that was started last */
    } connections[2][JP_NCCL_MAX_CHANNELS];
    uint64_t busy[2]; /* bit mask of connections with watched kernels */
    int backlog;      /* with --lag: plans run since the last pass */
    int is_catching_up;
    int n_started;
    struct jp_sim_plan *spare; /* plans to reuse; owned by the user thread */
    struct jp_sim_plan
        *returned; /* plans that the progress thread has returned */
};

/* Returns a plan with `n` works of zeros, tied to the communicator. */
struct jp_sim_plan *sim_kernels_plan(struct jp_sim_kernels *kernels, int n);

/* Call it when the plan has run. It is reused once all its kernels have ended.
 */
void sim_kernels_over(struct jp_sim_plan *plan);

/* Counts the plan's works as the host does, and watches them. */
void sim_kernels_append(struct jp_sim_plan *plan);

/* Lets the GPU start or complete a batch of the plan at real_ns
 * (CLOCK_MONOTONIC); 0: at its virtual time. */
void sim_kernels_run(const struct jp_sim_plan *plan, int batch,
                     enum jp_sim_phase phase, int64_t real_ns);

/* Raises all events that are due. */
void sim_kernels_poll(struct jp_sim_kernels *kernels);

/* The same for a thread that lags: it begins to catch up after `lag` plans. */
void sim_kernels_poll_late(struct jp_sim_kernels *kernels, int lag);

/* Raises the remaining events, then drops kernels that never end. Returns their
 * number. */
int sim_kernels_fini(struct jp_sim_kernels *kernels);

#endif
