/* fuzz_livepacket.c - packets with snapshots: what comes from a socket, as it
 * is and with a seal that is right, as a broken agent of the step could send
 * it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/live/livelink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[MODULE_KEY_BYTES] = {7};

/* As it stands: nobody has the key. */
static void read_raw(const uint8_t *data, size_t size,
                     const struct peer_seal *seal)
{
    struct livepacket packet;

    if (livepacket_read(data, size, seal, &packet) == 0)
        abort(); /* 1 of 2^128 */
}

/* Where a part is put must be within the snapshot, and be full. */
static void check_part(const struct livepacket *p)
{
    unsigned parts = p->parts;
    size_t begins = (size_t) p->part * p->chunk;
    bool last = p->part + 1u == parts;

    if (p->type == LIVEPACKET_TAKEN) {
        if (p->n || p->total)
            abort();
        return;
    }
    if (p->total > LIVEPACKET_MOST || !parts || parts > LIVEPACKET_PARTS ||
        p->part >= parts || begins + p->n > p->total || !p->n ||
        (last ? begins + p->n != p->total : p->n != p->chunk))
        abort();
}

/* Members from the input, and a seal. */
static void read_sealed(const uint8_t *data, size_t size,
                        const struct peer_seal *seal)
{
    uint8_t bytes[LIVEPACKET_BYTES];
    struct livepacket p, back;
    size_t len;

    if (size < 16)
        return;
    p = (struct livepacket){
        .type = (enum livepacket_type)(data[0] % 3),
        .part = data[1],
        .total = (uint16_t) (data[2] << 8 | data[3]),
        .chunk = (uint16_t) (data[4] << 8 | data[5]),
        .seq = data[6],
        .epoch = data[7],
        .nodeid = data[8],
        .component = data[9],
        .n = (size_t) (data[10] << 8 | data[11]) % (LIVEPACKET_MOST + 1),
    };
    if (data[12] & 1 && p.chunk) { /* of the right length */
        size_t begins = (size_t) p.part * p.chunk;

        p.n = begins >= p.total            ? 0
              : p.total - begins < p.chunk ? p.total - begins
                                           : p.chunk;
        p.n = p.n > LIVEPACKET_MOST ? LIVEPACKET_MOST : p.n;
    }
    p.data = malloc(p.n + 1);
    if (!p.data)
        return;
    memset((uint8_t *) p.data, data[13], p.n);
    len = livepacket_write(&p, seal, bytes);
    if (livepacket_read(bytes, len, seal, &back) == 0) {
        check_part(&back);
        if (back.type != p.type || back.part != p.part || back.n != p.n ||
            back.seq != p.seq || back.component != p.component ||
            memcmp(back.data, p.data, p.n) != 0)
            abort();
        if (livepacket_read(bytes, len - 1, seal, &back) == 0)
            abort();
        bytes[data[14] % len] ^= (uint8_t) (1u << data[15] % 8);
        if (livepacket_read(bytes, len, seal, &back) == 0)
            abort();
    }
    free((uint8_t *) p.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer_seal seal;

    livepacket_seal(&seal, key, "0123");
    read_raw(data, size, &seal);
    read_sealed(data, size, &seal);
    return 0;
}
