/* sim_progress.h - what the progress thread reports of one launch: its network
 * and its GPU.
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/proxy.cc, transport/net.cc,
 * transport/profiler.cc. A Send or Recv to oneself has neither ProxyOps nor
 * kernel events, whatever number of channels it announces (enqueue.cc,
 * selfSend). From 2.27 on a ProxyOp starts when it is appended. Before, it
 * starts at its first progress, and reports each of its steps itself. */
#ifndef JP_SIM_PROGRESS_H
#define JP_SIM_PROGRESS_H

#include "contrib/ncclsim/sim_plan.h"

/* Takes a plan over from the user thread. */
void sim_progress_append(struct jp_sim_plan *plan);

/* Runs the plan to its end. A batch that hangs starts and never ends. */
void sim_progress_run(struct jp_sim_plan *plan);

#endif
