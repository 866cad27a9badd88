/* What the proxy thread reports of one operation: its network and its GPU.
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/proxy.cc, transport/net.cc,
 * transport/profiler.cc. A Send or Recv to oneself has neither ProxyOps nor
 * kernel events, whatever channels it announces (enqueue.cc, selfSend).
 * From 2.27 on a ProxyOp starts when it is appended; before, at its first
 * progress, and it reports each of its steps itself.
 */
#ifndef JP_SIM_PROGRESS_H
#define JP_SIM_PROGRESS_H

#include "contrib/ncclsim/sim_model.h"

/* One operation on its way: NCCL's ncclProxyOp, as far as it matters here. */
struct jp_sim_work {
    void *context;        /* of its communicator */
    void *task;           /* handle of its Coll or P2p event; may be NULL */
    int mask;             /* events asked for when it was called */
    int rank;             /* ours in the communicator */
    uint64_t gpu_base_ns; /* our GPU's clock when the job began */
    struct jp_sim_op op;
};

struct jp_sim_progress {
    struct jp_sim_work work;
    int n_proxies;
    int n_kernels;                           /* channels that report */
    void *proxies[2 * JP_NCCL_MAX_CHANNELS]; /* even: send, odd: receive */
    void *kernels[JP_NCCL_MAX_CHANNELS];
};

/* Takes the operation over from the user thread. */
void sim_progress_append(struct jp_sim_progress *p);

/* Runs it to its end. One that hangs starts and is left so. */
void sim_progress_run(struct jp_sim_progress *p);

#endif
