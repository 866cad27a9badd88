/* inflate_zlib.c - gzip by zlib, the reference.
 *
 * zlib spends nearly half of its time on the CRC-32. From 1.2.11 on it can
 * leave that out, and the member's trailer is compared with a faster CRC-32
 * here.
 */
#include "config.h"

#include "common/inflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- gzip's CRC-32, by folding 64 bytes at a time --- */

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define FAST __attribute__((target("pclmul,sse4.1")))

enum { FOLD = 64 };

/* Moves x forward in the message and adds y there: multiplies the halves of x
 * by the two powers in `by`. */
static inline FAST __m128i fold(__m128i x, __m128i by, __m128i y)
{
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, by, 0x11);

    return _mm_xor_si128(_mm_xor_si128(low, high), y);
}

static inline FAST __m128i load_vector(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *) (const void *) p);
}

/* Reduces 128 bits to the 32 bits of the remainder, by Barrett's method. All
 * constants are those for gzip's polynomial in Gopal et al., Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction (Intel,
 * 2009). */
static inline FAST uint32_t reduce(__m128i x, __m128i by)
{
    const __m128i low32 = _mm_set_epi32(0, -1, 0, -1);
    const __m128i by64 = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    __m128i t;

    x = _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x10), _mm_srli_si128(x, 8));
    t = _mm_srli_si128(x, 4);
    x = _mm_clmulepi64_si128(_mm_and_si128(x, low32), by64, 0x00);
    x = _mm_xor_si128(x, t);
    t = _mm_clmulepi64_si128(_mm_and_si128(x, low32), barrett, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x00);
    return (uint32_t) _mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

/* The CRC of n bytes, without its inversions; n >= FOLD and a multiple of 16.
 * Four accumulators hide the latency of the multiplication. */
static FAST uint32_t fold_all(uint32_t crc, const uint8_t *p, size_t n)
{
    const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = load_vector(p), b = load_vector(p + 16),
            c = load_vector(p + 32), d = load_vector(p + 48);

    a = _mm_xor_si128(a, _mm_cvtsi32_si128((int) crc));
    for (p += FOLD, n -= FOLD; n >= FOLD; p += FOLD, n -= FOLD) {
        a = fold(a, by512, load_vector(p));
        b = fold(b, by512, load_vector(p + 16));
        c = fold(c, by512, load_vector(p + 32));
        d = fold(d, by512, load_vector(p + 48));
    }
    a = fold(a, by128, b);
    a = fold(a, by128, c);
    a = fold(a, by128, d);
    for (; n; p += 16, n -= 16)
        a = fold(a, by128, load_vector(p));
    return reduce(a, by128);
}

uint32_t gzcrc(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t whole = n & ~(size_t) 15;

    if (whole >= FOLD && __builtin_cpu_supports("pclmul") &&
        __builtin_cpu_supports("sse4.1")) {
        crc = ~fold_all(~crc, p, whole);
        p += whole;
        n -= whole;
    }
    return (uint32_t) crc32(crc, p, (uInt) n);
}

#else

uint32_t gzcrc(uint32_t crc, const void *bytes, size_t n)
{
    return (uint32_t) crc32(crc, bytes, (uInt) n);
}

#endif

/* --- the engine --- */

enum { TRAILER = 8 }; /* CRC-32 and length, little-endian */

struct inflate {
    z_stream z;
    bool own_check;
    uint32_t crc, bytes;   /* of the current member so far */
    uint8_t last[TRAILER]; /* bytes taken */
};

/* Starts a member. zlib's own check is turned off, if this zlib can do so. */
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

/* Keeps the last eight input bytes: the trailer may be split over two calls. */
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

/* Compares the member's trailer, unless zlib has done it. */
static bool trailer_fits(const struct inflate *z)
{
    return !z->own_check ||
           (le32(z->last) == z->crc && le32(z->last + 4) == z->bytes);
}

static enum inflate_step step(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len)
{
    int rc;

    /* zlib does not write to the input; its type just lacks the const. */
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
    /* The end of a member, not of the file. */
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
