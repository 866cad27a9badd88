/* Varints, strings and checksums of the recorder's file. */
#include "plugins/nccl_recorder/jpr_bytes.h"

#include <string.h>

#include "plugins/nccl_recorder/jpr.h"

void jpr_put_u64(struct jpr_out *out, uint64_t value)
{
    uint8_t digits[10];
    size_t n = 0;

    while (value >= 0x80) {
        digits[n++] = (uint8_t) (value | 0x80);
        value >>= 7;
    }
    digits[n++] = (uint8_t) value;
    jpr_put_bytes(out, digits, n);
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t) value << 1) ^ (uint64_t) (value >> 63);
}

void jpr_put_i64(struct jpr_out *out, int64_t value)
{
    jpr_put_u64(out, zigzag(value));
}

void jpr_put_delta(struct jpr_out *out, uint64_t value, uint64_t base)
{
    jpr_put_u64(out, zigzag((int64_t) (value - base)));
}

void jpr_put_bytes(struct jpr_out *out, const void *bytes, size_t n)
{
    if (out->full || n > out->size - out->used) {
        out->full = true;
        return;
    }
    if (n > 0)
        memcpy(out->bytes + out->used, bytes, n);
    out->used += n;
}

void jpr_put_text(struct jpr_out *out, const char *text)
{
    size_t n = text ? strnlen(text, JPR_MAX_TEXT_BYTES) : 0;

    jpr_put_u64(out, n);
    jpr_put_bytes(out, text, n);
}

uint64_t jpr_get_u64(struct jpr_in *in)
{
    uint64_t value = 0;
    unsigned shift;

    for (shift = 0; shift < 64 && !in->bad; shift += 7) {
        uint8_t byte;

        if (in->at == in->end)
            break;
        byte = *in->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t) (byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    in->bad = true;
    return 0;
}

int64_t jpr_get_i64(struct jpr_in *in)
{
    uint64_t code = jpr_get_u64(in);

    return (int64_t) ((code >> 1) ^ (0 - (code & 1)));
}

uint64_t jpr_get_delta(struct jpr_in *in, uint64_t base)
{
    return base + (uint64_t) jpr_get_i64(in);
}

uint64_t jpr_get_bounded(struct jpr_in *in, uint64_t max)
{
    uint64_t value = jpr_get_u64(in);

    if (value <= max)
        return value;
    in->bad = true;
    return 0;
}

size_t jpr_get_text(struct jpr_in *in, const char **text)
{
    size_t n = (size_t) jpr_get_bounded(in, JPR_MAX_TEXT_BYTES);

    *text = (const char *) in->at;
    if (in->bad || n > (size_t) (in->end - in->at)) {
        in->bad = true;
        return 0;
    }
    in->at += n;
    return n;
}

void jpr_put_le32(uint8_t *at, uint32_t value)
{
    int i;

    for (i = 0; i < 4; i++)
        at[i] = (uint8_t) (value >> (8 * i));
}

uint32_t jpr_get_le32(const uint8_t *at)
{
    return (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 |
           (uint32_t) at[3] << 24;
}

/* Half a byte at a time: a table that fits one cache line, fast enough for
 * what one process records. */
uint32_t jpr_crc32(uint32_t crc, const void *bytes, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    const uint8_t *p = bytes;

    crc = ~crc;
    for (; n > 0; n--) {
        crc ^= *p++;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
