/* clock_packet.c - packets of clock probes: written, sealed and read. */
#include "plugins/clock/clock_packet.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0x5052434bu /* "PRCK" */
#define VERSION 1
/* Offsets in a packet, as in clock_packet.h. The seal covers all other
 * bytes. */
#define SEAL_AT 16
#define SEAL_BYTES 16
#define STAMPS_AT 32

/* --- SipHash ---------------------------------------------------------------
 */

/* Rotates left. */
static uint64_t turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* SipHash's round function, n times. */
static void rounds(uint64_t v[4], int n)
{
    while (n--) {
        v[0] += v[1];
        v[1] = turn(v[1], 13) ^ v[0];
        v[0] = turn(v[0], 32);
        v[2] += v[3];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = turn(v[1], 17) ^ v[2];
        v[2] = turn(v[2], 32);
    }
}

/* The little-endian number of n bytes, at most 8. */
static uint64_t word(const uint8_t *p, size_t n)
{
    uint64_t w = 0;

    if (n == sizeof(w)) {
        memcpy(&w, p, sizeof(w));
        return le64toh(w);
    }
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t) p[i] << (8 * i);
    return w;
}

/* Two rounds a word: the 2 of SipHash-2-4. */
static void absorb(uint64_t v[4], uint64_t m)
{
    v[3] ^= m;
    rounds(v, 2);
    v[0] ^= m;
}

void clock_siphash(const uint8_t key[16], const uint8_t *bytes, size_t len,
                   int wide, uint64_t out[2])
{
    uint64_t k0 = word(key, 8), k1 = word(key + 8, 8);
    /* "somepseudorandomlygeneratedbytes", as in the paper; 0xee marks the
     * variant with 128 bits */
    uint64_t v[4] = {
        k0 ^ 0x736f6d6570736575u,
        k1 ^ 0x646f72616e646f6du ^ (wide ? 0xee : 0),
        k0 ^ 0x6c7967656e657261u,
        k1 ^ 0x7465646279746573u,
    };
    size_t whole = len / 8 * 8;

    for (size_t i = 0; i < whole; i += 8)
        absorb(v, word(bytes + i, 8));
    /* the last word holds what is left and the length, modulo 256 */
    absorb(v, (uint64_t) len << 56 | word(bytes + whole, len - whole));
    v[2] ^= wide ? 0xee : 0xff;
    rounds(v, 4);
    out[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    out[1] = 0;
    if (wide) {
        v[1] ^= 0xdd;
        rounds(v, 4);
        out[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    }
}

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

void clock_seal_init(struct clock_seal *seal,
                     const uint8_t key[MODULE_KEY_BYTES], uint64_t job,
                     const char *step)
{
    uint8_t text[128] = {0};
    uint64_t hash[2];
    /* the length of the text that is hashed */
    int len;

    /* The 32 bytes of the step's key: the first 16 are the hash's key, the
     * others are hashed with job and step. */
    memcpy(text, key + 16, MODULE_KEY_BYTES - 16);
    len = snprintf((char *) text + 16, sizeof(text) - 16, "%llu.%.80s",
                   (unsigned long long) job, step ? step : "");
    clock_siphash(key, text, 16 + (size_t) len, 1, hash);
    put64(seal->key, hash[0]);
    put64(seal->key + 8, hash[1]);
}

/* The seal of a packet's bytes, whatever stands in its place now. */
static void make_seal(const struct clock_seal *seal,
                      const uint8_t bytes[CLOCK_PACKET_BYTES],
                      uint8_t out[SEAL_BYTES])
{
    uint8_t rest[CLOCK_PACKET_BYTES - SEAL_BYTES];
    uint64_t hash[2];

    memcpy(rest, bytes, SEAL_AT);
    memcpy(rest + SEAL_AT, bytes + STAMPS_AT, CLOCK_PACKET_BYTES - STAMPS_AT);
    clock_siphash(seal->key, rest, sizeof(rest), 1, hash);
    put64(out, hash[0]);
    put64(out + 8, hash[1]);
}

void clock_packet_write(const struct clock_packet *packet,
                        const struct clock_seal *seal,
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
                      const struct clock_seal *seal,
                      struct clock_packet *packet)
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
