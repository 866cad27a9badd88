/* livesend.h - a node's snapshots to node 0's agent by UDP (livepacket.h).
 *
 * The address is in live/nodes/join.peer. Node 0's agent answers each snapshot
 * that has come whole. What is not answered within LIVESEND_WAIT_MS is lost: it
 * is not sent again, the caller writes its file. After LIVESEND_PATIENCE losses
 * in a row the next try comes ever later, up to LIVESEND_RAREST_MS.
 *
 * No call waits for anything.
 */
#ifndef JP_LIVE_LIVESEND_H
#define JP_LIVE_LIVESEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "plugins/clock/clock_conf.h"

/* Node 0 looks each second, each other one where it is over its budget. */
#define LIVESEND_WAIT_MS 4000
#define LIVESEND_PATIENCE 3
#define LIVESEND_FIRST_MS 5000
#define LIVESEND_RAREST_MS 300000

struct livesend;

struct livesend_place {
    const char *dir; /* the step directory */
    uint64_t component;
    uint32_t nodeid;
    const struct clock_conf *clock;
    const char *conf_hash;
};

struct livesend_counts {
    uint64_t sent, taken, lost; /* snapshots; lost: not answered in time */
    uint64_t refused;           /* packets that are none of node 0's answers */
};

/* Borrows what place names. NULL: err says why. */
struct livesend *livesend_create(const struct livesend_place *place,
                                 struct jp_error *err);
void livesend_destroy(struct livesend *send); /* takes NULL */

/* Whether the last snapshot whose answer was waited for has been answered. */
bool livesend_works(const struct livesend *send);

/* False: not tried, as node 0's agent is not known or does not answer, or
 * refused by the network. seq must grow. */
bool livesend_send(struct livesend *send, const uint8_t *bytes, size_t n,
                   uint32_t seq, uint64_t now_ms);

/* Takes answers. True, once each: what was sent last is lost. */
bool livesend_look(struct livesend *send, uint64_t now_ms);

const struct livesend_counts *livesend_counts(const struct livesend *send);

#endif
