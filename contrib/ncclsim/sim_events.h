/* The user thread's events of one call into NCCL, in NCCL's order.
 *
 *   GroupApi start, StartApiStop
 *     CollApi or P2pApi start, stop            once per call in the group
 *   EndApiStart
 *     KernelLaunch start, stop
 *     Group start
 *       Coll or P2p start                      once per operation
 *       (operations go to the proxy thread)
 *       Coll or P2p stop
 *     Group stop
 *   GroupApi stop
 * Each only where the mask has its bit or that of one of its children.
 * Source: NVIDIA/nccl 2.30, src/enqueue.cc, group.cc, plugin/profiler.cc.
 */
#ifndef JP_SIM_EVENTS_H
#define JP_SIM_EVENTS_H

#include "contrib/ncclsim/sim_counts.h"
#include "contrib/ncclsim/sim_proxy.h"

/* A communicator of our rank. */
struct jp_sim_comm {
    const struct jp_sim_group *group;
    int rank;
    void *context;
    uint64_t gpu_base_ns;
    uint64_t seq[JP_NCCL_N_FUNCS]; /* NCCL's own, per function */
    struct jp_sim_counts counts;
};

/* Issues a launch on its communicator and posts it to the proxy thread. */
void sim_events_launch(struct jp_sim_comm *comm, struct jp_sim_proxy *proxy,
                       const struct jp_sim_launch *launch);

#endif
