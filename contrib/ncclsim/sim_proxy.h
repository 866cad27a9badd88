/* The proxy progress thread: it takes what was launched and runs it.
 *
 * It issues ProxyCtrl events, and those of sim_progress.h, in the order of
 * NCCL's own thread (src/proxy.cc), while the user thread is already enqueueing
 * the next operations. Inline, the user thread does that work itself at
 * sim_proxy_flush(), and there are no ProxyCtrl events.
 */
#ifndef JP_SIM_PROXY_H
#define JP_SIM_PROXY_H

#include "common/error.h"
#include "contrib/ncclsim/sim_progress.h"

struct jp_sim_proxy;

/* `is_inline`: no thread. NULL on failure. */
struct jp_sim_proxy *sim_proxy_create(int is_inline, struct jp_error *err);

/* Hands over a launch, which becomes the thread's; waits while 256 are
 * pending. */
void sim_proxy_post(struct jp_sim_proxy *proxy, struct jp_sim_plan *plan);

/* The user's call is over: inline, runs what was posted. */
void sim_proxy_flush(struct jp_sim_proxy *proxy);

/* Waits until all is done, then reports ProxyCtrl events under `context`; NULL:
 * none. Needed before the communicator of the old one is destroyed. */
void sim_proxy_move(struct jp_sim_proxy *proxy, void *context);

/* Waits until all is done and ends the thread. NULL is fine. */
void sim_proxy_destroy(struct jp_sim_proxy *proxy);

#endif
