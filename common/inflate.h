/* inflate.h - decompress gzip members, by zlib or by a faster library.
 *
 * zlib is the reference and always there. ISA-L (configure finds it, unless
 * --without-isal) is three times as fast. It also reads streams of any length,
 * so neither memory nor the files that can be read differ. Good, truncated and
 * concatenated files give the same bytes with both; how many bytes of a corrupt
 * file come out before the damage is noticed may differ.
 */
#ifndef JP_COMMON_INFLATE_H
#define JP_COMMON_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inflate_step {
    INFLATE_MORE, /* continues with more input, or more room for output */
    INFLATE_END,  /* the member has ended, and its checksum is right */
    INFLATE_CORRUPT
};

struct inflate;
struct inflate_engine {
    const char *name;
    struct inflate *(*create)(void); /* NULL without memory */
    /* Takes at most *in_len bytes and makes at most *out_len; both are set to
     * the actual numbers. */
    enum inflate_step (*step)(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len);
    bool (*again)(struct inflate *z); /* prepares for the next member */
    void (*destroy)(struct inflate *z);
};

extern const struct inflate_engine inflate_zlib;
/* The fastest engine of this build. */
const struct inflate_engine *inflate_best(void);

/* --- gzip's CRC-32 --- */

/* Continues crc, which starts at 0, with n < 2^32 bytes, like zlib's crc32().
 * Uses carry-less multiplication if an x86-64 has it (three to five times as
 * fast), else zlib. */
uint32_t gzcrc(uint32_t crc, const void *bytes, size_t n);

#endif
