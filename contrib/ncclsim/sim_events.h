/* sim_events.h - the user thread's events of one call into NCCL, in NCCL's
 * order.
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
 *
 * An event is raised only if the mask has its bit or that of one of its
 * children. The mask is read again for each call in the group. NCCL before 2.28
 * has no API events and no KernelLaunch; the shims of the older tables leave
 * them out.
 *
 * As in NCCL, the thread keeps the handle of its last CollApi event. If a
 * plugin starts one without writing a handle, the earlier handle is used again.
 * Source: NVIDIA/nccl 2.23 to 2.30, src/enqueue.cc, group.cc and profiler.cc.
 */
#ifndef JP_SIM_EVENTS_H
#define JP_SIM_EVENTS_H

#include "contrib/ncclsim/sim_comms.h"
#include "contrib/ncclsim/sim_pace.h"
#include "contrib/ncclsim/sim_proxy.h"

/* What the calls of a user thread share; all borrowed. */
struct jp_sim_stage {
    const struct jp_sim_options *options;
    struct jp_sim_proxy *proxy;
    struct jp_sim_clock *clock;
    struct jp_sim_meet *meet; /* NULL: ranks do not wait for each other */
    int in_operations;        /* they also wait in operations */
};

/* Issues, captures or replays a launch on its communicator (sim_graph.h), and
 * posts it to the proxy thread. A replayed launch must have been captured. */
void sim_events_launch(const struct jp_sim_stage *stage,
                       struct jp_sim_comm *comm,
                       const struct jp_sim_launch *launch);

#endif
