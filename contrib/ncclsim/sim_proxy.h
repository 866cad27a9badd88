/* The proxy progress thread: network and GPU side of what was launched.
 *
 * It issues ProxyCtrl, ProxyOp, ProxyStep and KernelCh events in the order of
 * NCCL's own thread (src/proxy.cc, transport/net.cc, transport/profiler.cc),
 * while the user thread is already enqueueing the next operations.
 */
#ifndef JP_SIM_PROXY_H
#define JP_SIM_PROXY_H

#include "common/error.h"
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

struct jp_sim_proxy;

/* Starts the thread; `context` is for its ProxyCtrl events. NULL on failure. */
struct jp_sim_proxy *sim_proxy_create(void *context, struct jp_error *err);

/* Hands over an operation; waits while 256 are pending. */
void sim_proxy_post(struct jp_sim_proxy *proxy, const struct jp_sim_work *work);

/* Waits until all is done and ends the thread. NULL is fine. */
void sim_proxy_destroy(struct jp_sim_proxy *proxy);

#endif
