/* partial_block.c - a block of a partial and the columns in it. */
#include "orchestrator/aggregate/partial_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/fileio.h"

void partial_put_column(struct jpr_out *out, const uint64_t *values, size_t n)
{
    size_t others = 0, last = 0;

    for (size_t i = 0; i < n; i++)
        others += values[i] != 0;
    jpr_put_u64(out, others > n / 2 ? n + 1 : others);
    for (size_t i = 0; i < n; i++) {
        if (others <= n / 2 && !values[i])
            continue;
        if (others <= n / 2)
            jpr_put_u64(out, i - last);
        jpr_put_i64(out, (int64_t) values[i]);
        last = i;
    }
}

bool partial_get_column(struct jpr_in *in, uint64_t *values, size_t n)
{
    uint64_t others = partial_get(in);
    size_t at = 0;

    if (others == n + 1) {
        for (size_t i = 0; i < n; i++)
            values[i] = partial_get_signed(in);
        return !in->bad;
    }
    if (in->bad || others > n / 2)
        return false;
    memset(values, 0, n * sizeof(*values));
    for (; others; others--) {
        uint64_t distance = partial_get(in);

        if (distance >= n - at)
            return false;
        at += (size_t) distance;
        values[at] = partial_get_signed(in);
    }
    return !in->bad;
}

const uint8_t partial_magic[PARTIAL_MAGIC_BYTES] = {0x89, 'J',  'P',  'P',
                                                    '\r', '\n', 0x1a, '\n'};

uint32_t partial_check(const uint8_t frame[PARTIAL_FRAME_BYTES],
                       const uint8_t *payload, size_t n)
{
    uLong crc = crc32(0, frame, 8);

    return (uint32_t) (n ? crc32(crc, payload, (uInt) n) : crc);
}

static bool grow(struct jpr_out *out)
{
    size_t size = out->size ? 2 * out->size : 64 << 10;
    uint8_t *bytes = size <= PARTIAL_MAX_BLOCK ? realloc(out->bytes, size)
                                               : NULL;

    if (!bytes)
        return false;
    out->bytes = bytes;
    out->size = size;
    return true;
}

int partial_put_block(struct partial_out *w, enum partial_block type,
                      partial_put *put, const void *arg)
{
    uint8_t frame[PARTIAL_FRAME_BYTES];

    do {
        if ((w->out.full || !w->out.bytes) && !grow(&w->out))
            return error_set(w->err, "a block is too large");
        w->out.used = 0;
        w->out.full = false;
        put(&w->out, arg);
    } while (w->out.full);
    jpr_put_le32(frame, type);
    jpr_put_le32(frame + 4, (uint32_t) w->out.used);
    jpr_put_le32(frame + 8, partial_check(frame, w->out.bytes, w->out.used));
    w->blocks++;
    if (fwrite(frame, sizeof(frame), 1, w->stream) != 1 ||
        fwrite(w->out.bytes, 1, w->out.used, w->stream) != w->out.used)
        return error_set(w->err, "%s", strerror(errno));
    return 0;
}
