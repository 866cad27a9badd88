/* inflate.h - gzip members to bytes, by zlib or by what is faster.
 *
 * zlib is the reference and always there. ISA-L (configure finds it, unless
 * --without-isal) is three times as fast; it reads streams as zlib does, so
 * neither memory nor what can be read differs. Good, cut and concatenated files
 * give the same bytes either way; how much of a corrupt one comes out before
 * the damage is seen may differ.
 */
#ifndef JP_COMMON_INFLATE_H
#define JP_COMMON_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inflate_step {
    INFLATE_MORE, /* continues with more input or room */
    INFLATE_END,  /* the member ended, its checksum is right */
    INFLATE_CORRUPT
};

struct inflate;
struct inflate_engine {
    const char *name;
    struct inflate *(*create)(void); /* NULL without memory */
    /* Takes *in_len bytes at most and makes *out_len at most; both become what
     * it was. */
    enum inflate_step (*step)(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len);
    bool (*again)(struct inflate *z); /* the next member begins */
    void (*destroy)(struct inflate *z);
};

extern const struct inflate_engine inflate_zlib;
/* The fastest there is. */
const struct inflate_engine *inflate_best(void);

/* --- gzip's CRC-32, as fast as the machine has it --- */

/* zlib's crc32() of n < 2^32 bytes: 0 begins. By carry-less multiplication
 * where an x86-64 has it (three to five times as fast), else zlib's own. */
uint32_t gzcrc(uint32_t crc, const void *bytes, size_t n);

#endif
