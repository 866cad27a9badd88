/* KernelCh events: the progress thread watches the GPU's counters.
 *
 * A communicator has two connections a channel: Recv uses one, Send and
 * collectives the other. On a connection operations are watched one after the
 * other; only up to 2.27 all Send, or Recv, of a batch together. A pass over
 * the connections tells at most one event for each operation watched: its start
 * or its end. So channels interleave, and an operation that is already over
 * takes two passes.
 *
 * Source: NVIDIA/nccl 2.26.2 to 2.30.7, src/transport/profiler.cc, proxy.cc.
 */
#ifndef JP_SIM_KERNELS_H
#define JP_SIM_KERNELS_H

#include "contrib/ncclsim/sim_plan.h"
#include "contrib/ncclsim/sim_stamps.h"

/* One communicator's; zeros at first. Only the progress thread uses it while
 * that runs. */
struct jp_sim_kernels {
    struct jp_sim_stamps stamps;
    struct {
        struct jp_sim_kernel *head, *tail;
        void *last; /* handle of the last kernel that was started */
    } connections[2][JP_NCCL_MAX_CHANNELS];
    uint64_t busy[2]; /* connections that watch something */
    int backlog;      /* plans run since the last pass, with --lag */
    int is_catching_up;
    int n_started;
    struct jp_sim_plan *spare;    /* the user thread's, to be used again */
    struct jp_sim_plan *returned; /* the same, from the progress thread */
};

/* A plan with `n` works, all zeros but for what ties it to the communicator. */
struct jp_sim_plan *sim_kernels_plan(struct jp_sim_kernels *kernels, int n);

/* The plan has run; it is used again once all its kernels are told. */
void sim_kernels_over(struct jp_sim_plan *plan);

/* Counts the plan's works as the host does, and watches them. */
void sim_kernels_append(struct jp_sim_plan *plan);

/* The GPU starts or completes a batch of the plan: at real_ns (CLOCK_MONOTONIC),
 * 0: at its virtual time. */
void sim_kernels_run(const struct jp_sim_plan *plan, int batch,
                     enum jp_sim_phase phase, int64_t real_ns);

/* Tells what there is to tell. */
void sim_kernels_poll(struct jp_sim_kernels *kernels);

/* The same where the thread lags: after `lag` plans it begins to catch up. */
void sim_kernels_poll_late(struct jp_sim_kernels *kernels, int lag);

/* Tells the rest, then forgets what never ends; says how many those are. */
int sim_kernels_fini(struct jp_sim_kernels *kernels);

#endif
