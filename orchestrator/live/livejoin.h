/* livejoin.h - node 0: joins the nodes' snapshots and applies the rule.
 *
 * Snapshots are files, or come by UDP (livelink.h) and are kept in memory; of a
 * node's two the newer one counts.
 *
 * While all is well only the snapshots' heads are read, each 30 s (a minute
 * from 2,048 nodes on). When a node waits or is in trouble, or somebody
 * watches, all of them are joined (hangs.h) and looked at (stuck.h), at most
 * each 5 s and so seldom that it takes no more than LIVEJOIN_SHARE of a
 * processor. What is found is told by alert.h.
 */
#ifndef JP_LIVE_LIVEJOIN_H
#define JP_LIVE_LIVEJOIN_H

#include <stdbool.h>

#include "orchestrator/live/alert.h"
#include "orchestrator/live/livelate.h"
#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livestall.h"

#define LIVEJOIN_LATE_SHARE 1000
/* a 50th: at most 2 % of a processor, during a hang */
#define LIVEJOIN_SHARE 50

#define LIVEJOIN_KEPT_BYTES (16 << 20) /* of what is kept in memory */

struct livejoin;

struct livejoin_place {
    struct alert_place alert;
    uint32_t nodes; /* nodes of the step */
    /* First half of the hash of the step's job.conf; 0: unknown. Snapshots with
     * another hash were left here by an earlier step. */
    uint64_t conf;
    const struct stuck_times *times;
};

/* Borrows what place points to. Returns NULL when out of memory. */
struct livejoin *livejoin_create(const struct livejoin_place *place);
void livejoin_destroy(struct livejoin *join); /* accepts NULL */

struct livejoin_time {
    uint64_t real_ns, mono_ms;
};

/* Keeps a node's snapshot until there is a newer one. slot: SIZE_MAX at a
 * node's first, then as it was left. -1: it is none, of another step or no
 * newer, or there is no room; the node's file counts. */
int livejoin_keep(struct livejoin *join, uint64_t component, uint32_t nodeid,
                  size_t *slot, const uint8_t *bytes, size_t n,
                  uint64_t now_ms);

/* A look where one is due. urgent: this node waits, or somebody watches. -1:
 * the snapshots cannot be read. */
int livejoin_look(struct livejoin *join, const struct livejoin_time *now,
                  bool urgent, struct jp_error *err);

/* For agent.json and tests. */
const struct stuck *livejoin_state(const struct livejoin *join);
/* Of a step whose logs tell only what has ended. */
const struct livestall *livejoin_stall(const struct livejoin *join);

/* Number of lines about the job's hangs that its user has received. */
uint32_t livejoin_alerts(const struct livejoin *join);

/* The ranks that make others wait, as of the last such look, latest first. Such
 * a look is due every 30 s, or less often to stay below LIVEJOIN_LATE_SHARE of
 * a processor. Borrowed until the next look. */
const struct livelate *livejoin_late(const struct livejoin *join);

#endif
