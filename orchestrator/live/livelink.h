/* livelink.h - sends snapshots from the nodes to node 0's agent by UDP.
 *
 * Sockets are bound to the node's announced addresses only. The agent's are in
 * live/nodes/join.peer. Packets wait in its sockets until it looks, once a
 * second or more often. It takes a snapshot when all parts have arrived, the
 * seal is right, and it is newer than the node's previous one; then it sends an
 * answer. A snapshot without an answer is lost. It is not sent again: the
 * caller writes its file instead.
 *
 * No call blocks.
 */
#ifndef JP_LIVE_LIVELINK_H
#define JP_LIVE_LIVELINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/live/livesnap.h"
#include "plugins/module.h"
#include "plugins/peers.h"

/* What is not answered for so long is lost. Node 0's agent looks each second,
 * or less often while it is over its processor budget. */
#define LIVESEND_WAIT_MS 4000
/* After so many losses in a row, sending pauses: first for LIVESEND_FIRST_MS,
 * then twice as long after each further loss, up to LIVESEND_RAREST_MS. */
#define LIVESEND_PATIENCE 3
#define LIVESEND_FIRST_MS 5000
#define LIVESEND_RAREST_MS 300000

/* While many packets arrive, node 0's agent looks again after this time instead
 * of waiting for the next second. */
#define LIVEHEAR_RUSH_MS 50
/* Limits of one look: accepted packets, and refused ones. */
#define LIVEHEAR_MOST 1024
#define LIVEHEAR_BAD 256

/* One end: that of a node, which sends its snapshots, or that of node 0's
 * agent, which takes them. */
struct livelink;

struct livelink_place {
    const char *dir; /* the step directory */
    const struct module_net *net;
    const char *conf_hash;
    /* the sending end: the node */
    uint64_t component;
    uint32_t nodeid;
    /* the taking end: the number of nodes of the step, all components, and what
     * is called for each whole snapshot. *slot is kept for the node; it is
     * SIZE_MAX at first. take returns -1 if it does not keep the snapshot,
     * which is then not answered. take NULL: this end sends. */
    uint32_t nodes;
    int (*take)(void *arg, uint64_t component, uint32_t nodeid, size_t *slot,
                const uint8_t *bytes, size_t n, uint64_t now_ms);
    void *arg;
};

/* Numbers of snapshots; refused counts packets. */
struct livelink_counts {
    uint64_t sent;    /* sending end only */
    uint64_t taken;   /* answered by node 0's agent */
    uint64_t lost;    /* sending end only: not answered in time */
    uint64_t refused; /* foreign, damaged, old or duplicate packets */
    bool works;       /* sending end only: the last snapshot whose answer was
                       * due has been answered */
};

/* Borrows what place points to. Returns NULL on failure; err says why. */
struct livelink *livelink_create(const struct livelink_place *place,
                                 struct jp_error *err);
void livelink_destroy(struct livelink *link); /* accepts NULL */

const struct livelink_counts *livelink_counts(const struct livelink *link);

/* Why one of this node's addresses could not be bound, which is then not used;
 * "": all could. Borrowed. */
const char *livelink_trouble(const struct livelink *link);

/* The taking end writes its address to live/nodes/join.peer; the folder must
 * exist. The sending end has nothing to announce. */
int livelink_announce(struct livelink *link, struct jp_error *err);

/* A descriptor that becomes readable when a look is due before the next second.
 * Returns -1 for the sending end. */
int livelink_fd(const struct livelink *link);

/* Sends a snapshot; seq must grow. Returns false if nothing was sent: node 0's
 * agent is unknown or does not answer, the network refused the packet, or this
 * is the taking end. */
bool livelink_send(struct livelink *link, const uint8_t *bytes, size_t n,
                   uint32_t seq, uint64_t now_ms);

/* Receives what has arrived. Returns true, once for each loss, if the snapshot
 * that was sent last is lost. */
bool livelink_look(struct livelink *link, uint64_t now_ms);

/* --- livepacket.c ------------------------------------------------------- */

/* The packets that carry a node's snapshot to node 0's agent.
 *
 *      0 "PRSN"        4 version 1   5 type   6 part   7 0
 *      8 bytes of the snapshot, 2            10 bytes of a part, 2
 *     12 sequence of the snapshot            16 seal, 16 bytes
 *     32 epoch        36 nodeid              40 component, 8
 *     48 the part
 *
 * Numbers are in network order. Magic, version, type, sequence and seal are at
 * the same offsets as in the probes of clocks. The seal
 * covers all other bytes. Its key is made of the step's key and the hash of its
 * job.conf, so that all components of a step have the same.
 *
 * A snapshot is sent in one part if the route's MTU allows it, otherwise in as
 * many as needed; all but the last have the same length. LIVEPACKET_TAKEN is
 * the answer: the snapshot has arrived completely and is kept.
 */

enum {
    LIVEPACKET_HEAD = 48,
    LIVEPACKET_LEAST = 512, /* of a part, unless it is the last one */
    /* the longest snapshot that is sent; a longer one goes by its file */
    LIVEPACKET_MOST = LIVE_BLOCK_BYTES,
    LIVEPACKET_PARTS = LIVEPACKET_MOST / LIVEPACKET_LEAST,
    LIVEPACKET_BYTES = LIVEPACKET_HEAD + LIVEPACKET_MOST
};

/* The file with the address of node 0's agent, next to the snapshots. Its
 * format is that of all peer files (plugins/peers.h). */
#define LIVEPACKET_PEER "join.peer"

enum livepacket_type { LIVEPACKET_PART, LIVEPACKET_TAKEN };

struct livepacket {
    enum livepacket_type type;
    uint8_t part;          /* from 0 on */
    uint16_t total, chunk; /* bytes: of the snapshot, of a part */
    unsigned parts;        /* of the snapshot; set by livepacket_read */
    uint32_t seq;          /* of the snapshot, from 1 on */
    uint32_t epoch;        /* start of the node's agent, seconds since 1970 */
    uint32_t nodeid;       /* the sender, or the receiver of the answer */
    uint64_t component;
    const uint8_t *data; /* of the part; borrowed */
    size_t n;
};

/* Makes the seal's key from the key of the step and the hash of its job.conf.
 */
void livepacket_seal(struct peer_seal *seal,
                     const uint8_t key[MODULE_KEY_BYTES],
                     const char *conf_hash);

/* The packet must be valid for livepacket_read. Returns its length. */
size_t livepacket_write(const struct livepacket *packet,
                        const struct peer_seal *seal,
                        uint8_t bytes[LIVEPACKET_BYTES]);

/* Returns 0; or -1 if the packet does not belong to this step or is damaged,
 * and *packet is unchanged. data points into bytes. */
int livepacket_read(const uint8_t *bytes, size_t len,
                    const struct peer_seal *seal, struct livepacket *packet);

#endif
