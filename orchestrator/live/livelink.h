/* livelink.h - snapshots on their way from the nodes to node 0's agent, by UDP.
 *
 * The address is in live/nodes/join.peer. Node 0's agent answers each snapshot
 * that has come whole. What is not answered within LIVESEND_WAIT_MS is lost: it
 * is not sent again, the caller writes its file. After LIVESEND_PATIENCE losses
 * in a row the next try comes ever later, up to LIVESEND_RAREST_MS.
 *
 * No call waits for anything.
 */
#ifndef JP_LIVE_LIVELINK_H
#define JP_LIVE_LIVELINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/live/livesnap.h"
#include "plugins/clock/clock_conf.h"
#include "plugins/clock/clock_packet.h"

/* --- a node -------------------------------------------------------------- */

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

/* --- node 0's agent ------------------------------------------------------ */

/* Its address is in live/nodes/join.peer. Packets lie in the socket until a
 * look, each second; while many come it looks at once in LIVEHEAR_RUSH_MS. A
 * node's snapshot is taken when it is whole, its seal is right and it is newer
 * than the one before; it is then answered. What is lost on the way, or has no
 * room in the socket, is not answered and comes as a file. */
#define LIVEHEAR_RUSH_MS 50
/* Of one look: packets, and those that are none of ours. */
#define LIVEHEAR_MOST 1024
#define LIVEHEAR_BAD 256

struct livehear;

struct livehear_place {
    const char *dir; /* the step directory */
    uint32_t nodes;  /* of the step, all components */
    const struct clock_conf *clock;
    const char *conf_hash;
    /* A node's snapshot; *slot is kept for the node, SIZE_MAX at first. -1: it
     * is not taken, and not answered. */
    int (*take)(void *arg, uint64_t component, uint32_t nodeid, size_t *slot,
                const uint8_t *bytes, size_t n, uint64_t now_ms);
    void *arg;
};

struct livehear_counts {
    uint64_t taken;   /* snapshots */
    uint64_t refused; /* packets: foreign, wrong, old or again */
};

/* Borrows what place names. NULL: err says why. */
struct livehear *livehear_create(const struct livehear_place *place,
                                 struct jp_error *err);
void livehear_destroy(struct livehear *hear); /* takes NULL */

/* Tells nodes where it is: live/nodes/ must be there. */
int livehear_announce(struct livehear *hear, struct jp_error *err);

/* A descriptor that can be read when a look is due before the next second. */
int livehear_fd(const struct livehear *hear);

/* Takes what has come. */
void livehear_look(struct livehear *hear, uint64_t now_ms);

const struct livehear_counts *livehear_counts(const struct livehear *hear);

/* --- livepacket.c ------------------------------------------------------- */

/* A node's snapshot on its way to node 0's agent, by UDP.
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
