/* gzcrc.c - CRC-32 by folding 64 bytes at a time with PCLMULQDQ.
 *
 * V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel 2009; constants are its powers of x modulo
 * gzip's polynomial 0x104c11db7, bits reflected.
 */
#include "common/gzcrc.h"

#include <zlib.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define FAST __attribute__((target("pclmul,sse4.1")))

enum { FOLD = 64 };

/* x shifted by what the two powers in `by` say, onto y. */
static inline FAST __m128i fold(__m128i x, __m128i by, __m128i y)
{
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, by, 0x11);

    return _mm_xor_si128(_mm_xor_si128(low, high), y);
}

static inline FAST __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *) (const void *) p);
}

/* 128 bits to the remainder of 32. */
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

/* crc without its inversions; n >= FOLD and a multiple of 16. */
static FAST uint32_t fold_all(uint32_t crc, const uint8_t *p, size_t n)
{
    const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = load(p), b = load(p + 16), c = load(p + 32), d = load(p + 48);

    a = _mm_xor_si128(a, _mm_cvtsi32_si128((int) crc));
    for (p += FOLD, n -= FOLD; n >= FOLD; p += FOLD, n -= FOLD) {
        a = fold(a, by512, load(p));
        b = fold(b, by512, load(p + 16));
        c = fold(c, by512, load(p + 32));
        d = fold(d, by512, load(p + 48));
    }
    a = fold(a, by128, b);
    a = fold(a, by128, c);
    a = fold(a, by128, d);
    for (; n; p += 16, n -= 16)
        a = fold(a, by128, load(p));
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
