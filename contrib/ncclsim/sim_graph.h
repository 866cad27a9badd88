/* sim_graph.h - CUDA graphs: the thread that replays what a communicator has
 * captured.
 *
 * A launch is captured once: the user's call raises its API events, and NCCL
 * keeps the plan. A replay runs on CUDA's own thread, as the host node of a
 * plan that has proxy operations. It raises Group and Coll events with the API
 * handles of the capture, and no API events. A plan without proxy operations,
 * neither for a network nor for KernelCh, has no host node. Its replays raise
 * no events; from 2.27 on its capture raises them once.
 *
 * Source: NVIDIA/nccl 2.23 to 2.30, src/enqueue.cc, proxy.cc. */
#ifndef JP_SIM_GRAPH_H
#define JP_SIM_GRAPH_H

#include "common/error.h"
#include "contrib/ncclsim/sim_events.h"

/* CUDA's thread. */
struct jp_sim_host;

struct jp_sim_host *sim_host_create(struct jp_error *err);

/* Hands a replay over after the earlier one has ended. The stage's members and
 * the communicator are borrowed until the replay has ended; the launch is
 * copied. */
void sim_host_run(struct jp_sim_host *host, const struct jp_sim_stage *stage,
                  struct jp_sim_comm *comm, const struct jp_sim_launch *launch);

/* Waits for the running replay if it is of this communicator, or if `comm` is
 * NULL. Accepts NULL for `host`. */
void sim_host_wait(struct jp_sim_host *host, const struct jp_sim_comm *comm);

/* Waits, and ends the thread. Accepts NULL. */
void sim_host_destroy(struct jp_sim_host *host);

#endif
