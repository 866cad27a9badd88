/* reader_swar.h - eight characters at a time in one 64-bit word.
 *
 * The first character is the lowest byte, on machines of either order.
 */
#ifndef JP_NCCL_INSPECTOR_READER_SWAR_H
#define JP_NCCL_INSPECTOR_READER_SWAR_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where end is a constant NULL, nothing of its checks is left. */
#define SWAR_INLINE __attribute__((always_inline))

#define SWAR_ALL(byte) ((byte) *UINT64_C(0x0101010101010101))

static inline uint64_t swar_load(const char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* The high bit of every byte that is no digit. t: bytes ^ '0'. */
static inline uint64_t swar_no_digits(uint64_t t)
{
    return (((t & SWAR_ALL(0x7f)) + SWAR_ALL(0x76)) | t) & SWAR_ALL(0x80);
}

/* Which byte the lowest set bit is in; bits must not be 0. */
static inline unsigned swar_first(uint64_t bits)
{
    return (unsigned) __builtin_ctzll(bits) / 8;
}

#define SWAR_BLOCK 64

/* Whether any byte of a block is not among the span + 1 ones from least on. The
 * compiler makes of it what the machine has. */
static inline bool swar_outside(const char *p, const char *least,
                                const uint8_t *span)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    words sum = {0, 0};

    for (unsigned i = 0; i < SWAR_BLOCK; i += sizeof(bytes)) {
        bytes x, from, wide;

        memcpy(&x, p + i, sizeof(x));
        memcpy(&from, least + i, sizeof(from));
        memcpy(&wide, span + i, sizeof(wide));
        sum |= (words) (bytes) (x - from > wide);
    }
    return (sum[0] | sum[1]) != 0;
}

/* Whether n bytes are there; end NULL: the caller knows that they are. */
static inline bool swar_has(const char *p, const char *end, size_t n)
{
    return !end || (size_t) (end - p) >= n;
}

/* The value of eight digits, each 0 to 9, the first in the lowest byte. */
static inline SWAR_INLINE uint64_t swar_value(uint64_t t)
{
    t = t * 10 + (t >> 8);
    return ((t & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (t >> 16 & UINT64_C(0x000000ff000000ff)) *
                UINT64_C(0x0000271000000001)) >>
           32;
}

/* A number of 1 to 18 digits without leading zeros, followed by something else;
 * *p moves behind it. Wants eight readable bytes wherever it looks. */
static inline bool swar_long_number(const char **p, const char *end,
                                    uint64_t *out)
{
    static const uint64_t power[] = {1,      10,      100,      1000,     10000,
                                     100000, 1000000, 10000000, 100000000};
    const char *at = *p;
    uint64_t v = 0;
    unsigned n;

    do {
        uint64_t t, other;

        if (!swar_has(at, end, 8))
            return false;
        t = swar_load(at) ^ SWAR_ALL(0x30);
        other = swar_no_digits(t);
        n = other ? swar_first(other) : 8;
        if (n)
            v = v * power[n] + swar_value(t << (64 - 8 * n));
        at += n;
    } while (n == 8 && at - *p < 24);
    if (at == *p || at - *p > 18 || (**p == '0' && at - *p > 1))
        return false;
    *p = at;
    *out = v;
    return true;
}

/* The same, made for numbers of at most seven digits. */
static inline SWAR_INLINE bool swar_number(const char **p, const char *end,
                                           uint64_t *out)
{
    uint64_t t, other;
    unsigned bits;

    if (!swar_has(*p, end, 8))
        return false;
    t = swar_load(*p) ^ SWAR_ALL(0x30);
    other = swar_no_digits(t);
    if (!other)
        return swar_long_number(p, end, out);
    bits = (unsigned) __builtin_ctzll(other) & 56;
    if (!bits || (!(t & 0xff) && bits > 8))
        return false;
    *p += bits / 8;
    *out = swar_value(t << (64 - bits));
    return true;
}

/* Where the point of a "%.6f" of less than 1e7 is, 1 to 7; 0: this is none.
 * *t: the digits before it, *fraction: those behind it and two more bytes. */
static inline SWAR_INLINE unsigned swar_point(const char *at, const char *end,
                                              uint64_t *t, uint64_t *fraction)
{
    uint64_t other;
    unsigned n;

    if (!swar_has(at, end, 8))
        return 0;
    *t = swar_load(at) ^ SWAR_ALL(0x30);
    other = swar_no_digits(*t);
    n = other ? swar_first(other) : 0;
    if (n == 0 || at[n] != '.' || (*at == '0' && n > 1) ||
        !swar_has(at, end, n + 9))
        return 0;
    *fraction = swar_load(at + n + 1) ^ SWAR_ALL(0x30);
    return swar_no_digits(*fraction) << 16 ? 0 : n;
}

static inline bool swar_nan(const char **p, const char *end)
{
    if (!swar_has(*p, end, 5) || **p != '"' || memcmp(*p, "\"nan\"", 5))
        return false;
    *p += 5;
    return true;
}

/* A "%.6f" of less than 1e7 as an integer of 1e-6, or "nan" in quotes. */
static inline SWAR_INLINE bool swar_decimal(const char **p, const char *end,
                                            uint64_t *micro, bool *nan)
{
    uint64_t t, fraction;
    unsigned n = swar_point(*p, end, &t, &fraction);

    *micro = 0;
    *nan = n == 0;
    if (n == 0)
        return swar_nan(p, end);
    *micro = swar_value(t << (64 - 8 * n)) * 1000000 +
             swar_value(fraction << 16);
    *p += n + 7;
    return true;
}

/* The same without its value. */
static inline SWAR_INLINE bool swar_skip_decimal(const char **p,
                                                 const char *end)
{
    uint64_t t, fraction;
    unsigned n = swar_point(*p, end, &t, &fraction);

    if (n == 0)
        return swar_nan(p, end);
    *p += n + 7;
    return true;
}

#endif
