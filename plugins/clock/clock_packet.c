/* clock_packet.c - packets of clock probes: written, sealed and read. */
#include "plugins/clock/clock_packet.h"

#include <endian.h>
#include <string.h>

#define MAGIC 0x5052434bu /* "PRCK" */
#define VERSION 1
/* Offsets in a packet, as in clock_packet.h. The seal covers all other
 * bytes. */
#define SEAL_AT 16
#define SEAL_BYTES 16
#define STAMPS_AT 32

/* --- numbers in network order ---------------------------------------------
 */

static void put16(uint8_t *at, uint16_t v)
{
    v = htobe16(v);
    memcpy(at, &v, sizeof(v));
}

static void put32(uint8_t *at, uint32_t v)
{
    v = htobe32(v);
    memcpy(at, &v, sizeof(v));
}

static void put64(uint8_t *at, uint64_t v)
{
    v = htobe64(v);
    memcpy(at, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *at)
{
    uint16_t v;

    memcpy(&v, at, sizeof(v));
    return be16toh(v);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof(v));
    return be32toh(v);
}

static int64_t get64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return (int64_t) be64toh(v);
}

/* --- packets ---------------------------------------------------------------
 */

/* The seal of a packet's bytes, whatever stands in its place now. */
static void make_seal(const struct peer_seal *seal,
                      const uint8_t bytes[CLOCK_PACKET_BYTES],
                      uint8_t out[SEAL_BYTES])
{
    uint8_t rest[CLOCK_PACKET_BYTES - SEAL_BYTES];
    uint64_t hash[2];

    memcpy(rest, bytes, SEAL_AT);
    memcpy(rest + SEAL_AT, bytes + STAMPS_AT, CLOCK_PACKET_BYTES - STAMPS_AT);
    peer_siphash(seal->key, rest, sizeof(rest), 1, hash);
    put64(out, hash[0]);
    put64(out + 8, hash[1]);
}

void clock_packet_write(const struct clock_packet *packet,
                        const struct peer_seal *seal,
                        uint8_t bytes[CLOCK_PACKET_BYTES])
{
    memset(bytes, 0, CLOCK_PACKET_BYTES);
    put32(bytes, MAGIC);
    /* single bytes need no byte order */
    bytes[4] = VERSION;
    bytes[5] = packet->type;
    put16(bytes + 6, packet->from);
    put16(bytes + 8, packet->to);
    put16(bytes + 10, packet->flags);
    put32(bytes + 12, packet->seq);
    /* stamps are 0 in all types but CLOCK_STAMPS */
    put64(bytes + 32, (uint64_t) packet->t_rx[0]);
    put64(bytes + 40, (uint64_t) packet->t_rx[1]);
    put64(bytes + 48, (uint64_t) packet->r_tx[0]);
    put64(bytes + 56, (uint64_t) packet->r_tx[1]);
    put64(bytes + 64, (uint64_t) packet->real_less_mono);
    put32(bytes + 72, packet->epoch);
    put32(bytes + 76, packet->cadence_us);
    make_seal(seal, bytes, bytes + SEAL_AT);
}

int clock_packet_read(const uint8_t *bytes, size_t len,
                      const struct peer_seal *seal, struct clock_packet *packet)
{
    uint8_t expected[SEAL_BYTES], differs = 0;

    /* cheap checks first: a flood of foreign packets costs no hash */
    if (len != CLOCK_PACKET_BYTES || get32(bytes) != MAGIC ||
        bytes[4] != VERSION || bytes[5] > CLOCK_STAMPS || bytes[5] == 2)
        return -1;
    /* *packet is only written when the seal is right */
    make_seal(seal, bytes, expected);
    /* no early exit: the time must not show how many bytes match */
    for (int i = 0; i < SEAL_BYTES; i++)
        differs |= expected[i] ^ bytes[SEAL_AT + i];
    if (differs)
        return -1;
    *packet = (struct clock_packet){
        .type = bytes[5],
        .from = get16(bytes + 6),
        .to = get16(bytes + 8),
        .flags = get16(bytes + 10),
        .seq = get32(bytes + 12),
        .t_rx = {get64(bytes + 32), get64(bytes + 40)},
        .r_tx = {get64(bytes + 48), get64(bytes + 56)},
        .real_less_mono = get64(bytes + 64),
        .epoch = get32(bytes + 72),
        .cadence_us = get32(bytes + 76),
    };
    return 0;
}
