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
 * Each only where the mask has its bit or that of one of its children; the mask
 * is read anew for each call in the group. NCCL before 2.28 has no API events
 * and no KernelLaunch, which the older tables' shims leave out.
 *
 * As NCCL does, the thread keeps the handle of its last CollApi event: a plugin
 * that starts one and writes no handle finds the one before used again.
 * Source: NVIDIA/nccl 2.23 to 2.30, src/enqueue.cc, group.cc and profiler.cc.
 */
#ifndef JP_SIM_EVENTS_H
#define JP_SIM_EVENTS_H

#include "contrib/ncclsim/sim_comms.h"
#include "contrib/ncclsim/sim_pace.h"
#include "contrib/ncclsim/sim_proxy.h"

/* What a user thread's calls share; all borrowed. */
struct jp_sim_stage {
    const struct jp_sim_options *options;
    struct jp_sim_proxy *proxy;
    struct jp_sim_clock *clock;
    struct jp_sim_meet *together; /* NULL: ranks do not wait for each other */
};

/* Issues a launch on its communicator, or captures or replays it (sim_graph.h),
 * and posts it to the proxy thread. What is replayed was captured. */
void sim_events_launch(const struct jp_sim_stage *stage,
                       struct jp_sim_comm *comm,
                       const struct jp_sim_launch *launch);

#endif
