/* livepacket.c - write, seal and read the packets that carry snapshots. The
 * format is described in livelink.h. */
#include "orchestrator/live/livelink.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define VERSION 1 /* of the format */
#define SEAL_AT 16
#define SEAL_BYTES 16
#define REST_AT (SEAL_AT + SEAL_BYTES)

static const uint8_t magic[4] = {'P', 'R', 'S', 'N'};

/* Network byte order. */
static void put_number(uint8_t *at, size_t n, uint64_t value)
{
    while (n--) {
        at[n] = (uint8_t) value;
        value >>= 8;
    }
}

/* Big-endian, n bytes. */
static uint64_t get_number(const uint8_t *at, size_t n)
{
    uint64_t value = 0;

    while (n--)
        value = value << 8 | *at++;
    return value;
}

/* The word "live" keeps these seals apart from those of clock probes. */
void livepacket_seal(struct peer_seal *seal,
                     const uint8_t key[MODULE_KEY_BYTES], const char *conf_hash)
{
    char what[96];

    snprintf(what, sizeof(what), "live.%.80s", conf_hash ? conf_hash : "");
    peer_seal_init(seal, key, 0, what);
}

/* The seal covers all bytes but its own, so those are cut out first. */
static void make_seal(const struct peer_seal *seal, const uint8_t *bytes,
                      size_t len, uint8_t out[SEAL_BYTES])
{
    uint8_t rest[LIVEPACKET_BYTES - SEAL_BYTES];
    uint64_t hash[2];

    memcpy(rest, bytes, SEAL_AT);
    memcpy(rest + SEAL_AT, bytes + REST_AT, len - REST_AT);
    /* 1: the wide variant, 128 bits. */
    peer_siphash(seal->key, rest, len - SEAL_BYTES, 1, hash);
    put_number(out, 8, hash[0]);
    put_number(out + 8, 8, hash[1]);
}

/* Whether lengths and numbers are consistent. */
static bool is_sound(const struct livepacket *p)
{
    size_t begins = (size_t) p->part * p->chunk, left;

    if (!p->seq)
        return false;
    if (p->type == LIVEPACKET_TAKEN)
        return !p->part && !p->total && !p->chunk && !p->n;
    if (p->type != LIVEPACKET_PART || p->total < LIVE_HEAD_BYTES ||
        p->total > LIVEPACKET_MOST || p->chunk > p->total ||
        /* Only a snapshot of one part may be shorter than LIVEPACKET_LEAST. */
        (p->chunk < LIVEPACKET_LEAST && p->chunk != p->total) ||
        begins >= p->total)
        return false;
    left = p->total - begins;
    return p->n == (left < p->chunk ? left : p->chunk);
}

/* Numbers first, then the data, then the seal over both. */
size_t livepacket_write(const struct livepacket *packet,
                        const struct peer_seal *seal,
                        uint8_t bytes[LIVEPACKET_BYTES])
{
    memset(bytes, 0, LIVEPACKET_HEAD);
    memcpy(bytes, magic, sizeof(magic));
    bytes[4] = VERSION;
    /* Numbers, seal and data are where livelink.h shows them. */
    bytes[5] = (uint8_t) packet->type;
    bytes[6] = packet->part;
    put_number(bytes + 8, 2, packet->total);
    put_number(bytes + 10, 2, packet->chunk);
    put_number(bytes + 12, 4, packet->seq);
    put_number(bytes + 32, 4, packet->epoch);
    put_number(bytes + 36, 4, packet->nodeid);
    put_number(bytes + 40, 8, packet->component);
    if (packet->n)
        memcpy(bytes + LIVEPACKET_HEAD, packet->data, packet->n);
    make_seal(seal, bytes, LIVEPACKET_HEAD + packet->n, bytes + SEAL_AT);
    return LIVEPACKET_HEAD + packet->n;
}

/* Cheap checks first; anyone can send to the port. */
int livepacket_read(const uint8_t *bytes, size_t len,
                    const struct peer_seal *seal, struct livepacket *packet)
{
    uint8_t expected[SEAL_BYTES], differs = 0;
    struct livepacket read;

    if (len < LIVEPACKET_HEAD || len > LIVEPACKET_BYTES ||
        memcmp(bytes, magic, sizeof(magic)) != 0 || bytes[4] != VERSION ||
        /* bytes[7] is reserved. */
        bytes[5] > LIVEPACKET_TAKEN || bytes[7])
        return -1;
    read = (struct livepacket){
        .type = (enum livepacket_type) bytes[5],
        .part = bytes[6],
        .total = (uint16_t) get_number(bytes + 8, 2),
        .chunk = (uint16_t) get_number(bytes + 10, 2),
        .seq = (uint32_t) get_number(bytes + 12, 4),
        .epoch = (uint32_t) get_number(bytes + 32, 4),
        .nodeid = (uint32_t) get_number(bytes + 36, 4),
        .component = get_number(bytes + 40, 8),
        .data = bytes + LIVEPACKET_HEAD,
        .n = len - LIVEPACKET_HEAD,
    };
    if (!is_sound(&read)) /* cheaper than computing the seal */
        return -1;
    make_seal(seal, bytes, len, expected);
    for (int i = 0; i < SEAL_BYTES; i++) /* constant time, so that the time does
                                            not reveal how many bytes match */
        differs |= expected[i] ^ bytes[SEAL_AT + i];
    if (differs)
        return -1;
    if (read.chunk)
        read.parts = (read.total + read.chunk - 1u) / read.chunk;
    *packet = read;
    return 0;
}
