/* What the progress thread tells of one launch: its network and its GPU.
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/proxy.cc, transport/net.cc,
 * transport/profiler.cc. A Send or Recv to oneself has neither ProxyOps nor
 * kernel events, whatever channels it announces (enqueue.cc, selfSend).
 * From 2.27 on a ProxyOp starts when it is appended; before, at its first
 * progress, and it reports each of its steps itself.
 */
#ifndef JP_SIM_PROGRESS_H
#define JP_SIM_PROGRESS_H

#include "contrib/ncclsim/sim_plan.h"

/* Takes the plan over from the user thread. */
void sim_progress_append(struct jp_sim_plan *plan);

/* Runs it to its end. A batch that hangs starts and is left so. */
void sim_progress_run(struct jp_sim_plan *plan);

#endif
