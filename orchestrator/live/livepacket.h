/* livepacket.h - a node's snapshot on its way to node 0's agent, by UDP.
 *
 *      0 "PRSN"        4 version 1   5 type   6 part   7 0
 *      8 bytes of the snapshot, 2            10 bytes of a part, 2
 *     12 sequence of the snapshot            16 seal, 16 bytes
 *     32 epoch        36 nodeid              40 component, 8
 *     48 the part
 *
 * Numbers are in network order, and magic, version, type, sequence and seal
 * stand where those of clock probes do (plugins/clock/clock_packet.h). The seal
 * is of all other bytes, by a key made of the step's and the hash of its
 * job.conf, so that all components of a step have the same.
 *
 * A snapshot has one part where the way's MTU takes it, else as many as are
 * needed; all but the last have the same length. LIVEPACKET_TAKEN is the
 * answer: the snapshot has come whole and is kept.
 */
#ifndef JP_LIVE_LIVEPACKET_H
#define JP_LIVE_LIVEPACKET_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/live/livesnap.h"
#include "plugins/clock/clock_packet.h"

enum {
    LIVEPACKET_HEAD = 48,
    LIVEPACKET_LEAST = 512, /* of a part, unless it is the last */
    LIVEPACKET_PARTS = LIVE_SNAP_BYTES / LIVEPACKET_LEAST,
    LIVEPACKET_BYTES = LIVEPACKET_HEAD + LIVE_SNAP_BYTES
};

/* Beside the snapshots, for nodes that look for node 0's agent: as clock.peer
 * (plugins/clock/clock_peers.h). */
#define LIVEPACKET_PEER "join.peer"

enum livepacket_type { LIVEPACKET_PART, LIVEPACKET_TAKEN };

struct livepacket {
    enum livepacket_type type;
    uint8_t part;          /* from 0 on */
    uint16_t total, chunk; /* bytes: of the snapshot, of a part */
    uint32_t seq;          /* of the snapshot, from 1 on */
    uint32_t epoch;        /* when the node's agent began, s since 1970 */
    uint32_t nodeid;       /* who sends, or whom the answer is for */
    uint64_t component;
    const uint8_t *data; /* of the part; borrowed */
    size_t n;
};

/* key: of the step; conf_hash: of its job.conf. */
void livepacket_seal(struct clock_seal *seal,
                     const uint8_t key[CLOCK_KEY_BYTES], const char *conf_hash);

/* The packet must be one that livepacket_read takes. Returns its length. */
size_t livepacket_write(const struct livepacket *packet,
                        const struct clock_seal *seal,
                        uint8_t bytes[LIVEPACKET_BYTES]);

/* 0, or -1: it is none of this step's; *packet is then as it was. data points
 * into bytes. */
int livepacket_read(const uint8_t *bytes, size_t len,
                    const struct clock_seal *seal, struct livepacket *packet);

/* How many parts of that length a snapshot has. */
unsigned livepacket_parts(const struct livepacket *packet);

#endif
