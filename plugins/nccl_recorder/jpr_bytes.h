/* jpr_bytes.h - varints and strings, in and out of memory, always in bounds.
 *
 * A varint is LEB128: 7 bits a byte, low first, at most 10 bytes; a signed
 * number is zigzag-coded (0, -1, 1, -2 ... become 0, 1, 2, 3 ...).
 * A failure sticks: callers look at `full` or `bad` once, at the end.
 */
#ifndef JP_JPR_BYTES_H
#define JP_JPR_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpr_out {
    uint8_t *bytes; /* borrowed */
    size_t used;
    size_t size;
    bool full; /* something did not fit and was left out */
};

void jpr_put_u64(struct jpr_out *out, uint64_t value);
void jpr_put_i64(struct jpr_out *out, int64_t value);
/* A difference of unsigned numbers, small either way, modulo 2^64. */
void jpr_put_delta(struct jpr_out *out, uint64_t value, uint64_t base);
void jpr_put_bytes(struct jpr_out *out, const void *bytes, size_t n);
/* Length, then the bytes; NULL is "". Longer than JPR_MAX_TEXT_BYTES is cut. */
void jpr_put_text(struct jpr_out *out, const char *text);

struct jpr_in {
    const uint8_t *at; /* borrowed */
    const uint8_t *end;
    bool bad; /* cut or too long; what was read since is 0 */
};

uint64_t jpr_get_u64(struct jpr_in *in);
int64_t jpr_get_i64(struct jpr_in *in);
uint64_t jpr_get_delta(struct jpr_in *in, uint64_t base);
/* A number of things that must not exceed `max`; bad and 0 otherwise. */
uint64_t jpr_get_bounded(struct jpr_in *in, uint64_t max);
/* The length of a text and, in *text, where its bytes begin (no NUL). */
size_t jpr_get_text(struct jpr_in *in, const char **text);

/* Fixed little-endian numbers of the frame. */
void jpr_put_le32(uint8_t *at, uint32_t value);
uint32_t jpr_get_le32(const uint8_t *at);

/* CRC-32 as in zlib and Ethernet; start with 0 and feed the result back. */
uint32_t jpr_crc32(uint32_t crc, const void *bytes, size_t n);

#endif
