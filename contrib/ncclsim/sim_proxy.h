/* sim_proxy.h - the proxy progress thread: it takes the launches and runs them.
 *
 * It raises ProxyCtrl events, and those of sim_progress.h, in the order of
 * NCCL's own thread (src/proxy.cc), while the user thread already enqueues the
 * next operations. Inline, the user thread does this work itself at
 * sim_proxy_flush(), and there are no ProxyCtrl events. */
#ifndef JP_SIM_PROXY_H
#define JP_SIM_PROXY_H

#include "common/error.h"
#include "contrib/ncclsim/sim_progress.h"

struct jp_sim_proxy;

/* is_inline: without a thread. Returns NULL on failure. */
struct jp_sim_proxy *sim_proxy_create(int is_inline, struct jp_error *err);

/* Hands over a launch, which then belongs to the thread. Waits while 256 are
 * pending. */
void sim_proxy_post(struct jp_sim_proxy *proxy, struct jp_sim_plan *plan);

/* Call it at the end of the user's call. Inline, it runs what was posted. */
void sim_proxy_flush(struct jp_sim_proxy *proxy);

/* Waits until everything has run, then reports ProxyCtrl events under
 * `context`; NULL: no such events. Needed before the communicator of the old
 * context is destroyed. */
void sim_proxy_move(struct jp_sim_proxy *proxy, void *context);

/* Waits until everything has run, and ends the thread. Accepts NULL. */
void sim_proxy_destroy(struct jp_sim_proxy *proxy);

#endif
