/* CUDA graphs: what a communicator captured, and the thread that replays it.
 *
 * A launch is captured once: the user's call raises its API events, and NCCL
 * keeps the plan. A replay runs on CUDA's own thread, the host node of a plan
 * that has proxy operations: Group and Coll events, with the API handles of the
 * capture, and nothing of the API again. A plan that has no proxy operation,
 * neither for a network nor for KernelCh, has no host node: its replays are not
 * told, from 2.27 on its capture is, once.
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/enqueue.cc, proxy.cc.
 */
#ifndef JP_SIM_GRAPH_H
#define JP_SIM_GRAPH_H

#include "common/error.h"
#include "contrib/ncclsim/sim_events.h"

/* CUDA's thread. */
struct jp_sim_host;

struct jp_sim_host *sim_host_create(struct jp_error *err);

/* Hands a replay over, waiting for the one before; the stage's members and the
 * communicator are borrowed until it is done, the launch is copied. */
void sim_host_run(struct jp_sim_host *host, const struct jp_sim_stage *stage,
                  struct jp_sim_comm *comm, const struct jp_sim_launch *launch);

/* Waits for the replay that runs, if it is this communicator's or `comm` is
 * NULL. NULL for `host` is fine. */
void sim_host_wait(struct jp_sim_host *host, const struct jp_sim_comm *comm);

/* Waits, and ends the thread. NULL is fine. */
void sim_host_destroy(struct jp_sim_host *host);

#endif
