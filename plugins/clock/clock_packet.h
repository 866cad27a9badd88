/* clock_packet.h - the packets of clock probes: 80 bytes, in network order.
 *
 *      0 "PRCK"        4 version 1   5 type    6 from     8 to   10 flags
 *     12 sequence     16 seal (SipHash-2-4, 128 bit, of the other 64 bytes)
 *     32 t1_rx        40 t2_rx      48 r1_tx  56 r2_tx
 *     64 real minus monotonic       72 epoch  76 cadence
 *
 * All types have the same size, so that they take the same time on a wire. Only
 * CLOCK_STAMPS carries stamps: those of the answering node.
 *
 * The key of the seal is derived from the step's key, job and step id, so
 * packets of another step have a wrong seal (plugins/peers.h). */
#ifndef JP_CLOCK_PACKET_H
#define JP_CLOCK_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "plugins/clock/clock_conf.h"
#include "plugins/peers.h"

#define CLOCK_PACKET_BYTES 80
#define CLOCK_NODES_MAX 65535 /* ids have 16 bits */

/* The numbers are those of the protocol in XLA's document, which also has 2 and
 * 6. */
enum clock_packet_type {
    CLOCK_ASK1 = 0,
    CLOCK_ASK2 = 1,
    CLOCK_ANSWER1 = 3,
    CLOCK_ANSWER2 = 4,
    CLOCK_STAMPS = 5,
};

enum {
    CLOCK_NO_STAMP = 1, /* a time of sending is unknown */
    CLOCK_WAS_SET = 2,  /* the node's wall clock was set meanwhile */
    CLOCK_BY_USER = 4,  /* the node took the times itself, without its kernel */
};

struct clock_packet {
    uint8_t type;
    uint16_t from, to; /* index in the step's node list */
    uint16_t flags;
    uint32_t epoch; /* start of the asking agent, in seconds since 1970 */
    uint32_t seq;   /* number of the exchange; it only grows within an epoch */
    /* CLOCK_STAMPS: arrival of both questions and departure of both answers, by
     * the answering node's monotonic clock */
    int64_t t_rx[2], r_tx[2];
    int64_t real_less_mono; /* of that node */
    /* CLOCK_STAMPS: the answering node's shortest interval */
    uint32_t cadence_us;
};

void clock_packet_write(const struct clock_packet *packet,
                        const struct peer_seal *seal,
                        uint8_t bytes[CLOCK_PACKET_BYTES]);
/* Returns 0, or -1 if the bytes are no packet of this step; *packet is
 * unchanged then. */
int clock_packet_read(const uint8_t *bytes, size_t len,
                      const struct peer_seal *seal,
                      struct clock_packet *packet);

#endif
