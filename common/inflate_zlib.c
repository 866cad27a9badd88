/* inflate_zlib.c - gzip by zlib, the reference.
 *
 * zlib's own CRC-32 takes near half of its time; where it can be told to leave
 * it out (1.2.11 on), the member's trailer is compared with gzcrc.h's here.
 */
#include "config.h"

#include "common/inflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/gzcrc.h"

enum { TRAILER = 8 }; /* CRC-32 and length, little-endian */

struct inflate {
    z_stream z;
    bool own_check;
    uint32_t crc, bytes;   /* of the member so far */
    uint8_t last[TRAILER]; /* bytes taken */
};

/* Behind the header's parts that begin a member. */
static bool begin(struct inflate *z)
{
    z->crc = z->bytes = 0;
#if HAVE_DECL_INFLATEVALIDATE
    z->own_check = inflateValidate(&z->z, 0) == Z_OK;
#endif
    return true;
}

static struct inflate *create(void)
{
    struct inflate *z = calloc(1, sizeof(*z));

    if (z && inflateInit2(&z->z, 15 + 16) == Z_OK && begin(z))
        return z;
    free(z);
    return NULL;
}

static void keep_last(struct inflate *z, const unsigned char *in, size_t n)
{
    if (n < TRAILER) {
        memmove(z->last, z->last + n, TRAILER - n);
        memcpy(z->last + TRAILER - n, in, n);
    } else {
        memcpy(z->last, in + n - TRAILER, TRAILER);
    }
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 |
           (uint32_t) p[3] << 24;
}

static bool trailer_fits(const struct inflate *z)
{
    return !z->own_check ||
           (le32(z->last) == z->crc && le32(z->last + 4) == z->bytes);
}

static enum inflate_step step(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len)
{
    int rc;

    z->z.next_in = (unsigned char *) (uintptr_t) in;
    z->z.avail_in = (uInt) *in_len;
    z->z.next_out = (unsigned char *) out;
    z->z.avail_out = (uInt) *out_len;
    rc = inflate(&z->z, Z_NO_FLUSH);
    *in_len -= z->z.avail_in;
    *out_len -= z->z.avail_out;
    if (z->own_check) {
        keep_last(z, in, *in_len);
        z->crc = gzcrc(z->crc, out, *out_len);
        z->bytes += (uint32_t) *out_len;
    }
    if (rc == Z_STREAM_END)
        return trailer_fits(z) ? INFLATE_END : INFLATE_CORRUPT;
    return rc == Z_OK || rc == Z_BUF_ERROR ? INFLATE_MORE : INFLATE_CORRUPT;
}

static bool again(struct inflate *z)
{
    return inflateReset(&z->z) == Z_OK && begin(z);
}

static void destroy(struct inflate *z)
{
    if (z)
        inflateEnd(&z->z);
    free(z);
}

const struct inflate_engine inflate_zlib = {
    .name = "zlib",
    .create = create,
    .step = step,
    .again = again,
    .destroy = destroy,
};
