/* decimal.h - numbers as decimal digits, fast: tables of millions of rows are
 * written with these functions; printf takes five times as long. */
#ifndef JP_COMMON_DECIMAL_H
#define JP_COMMON_DECIMAL_H

#include <stdint.h>
#include <string.h>

/* The bytes that each function may write. The text is shorter and has no NUL.
 * Each returns the end of the text. */
#define JP_DECIMAL_ROOM 40

/* The eight digits of v < 1e8, the first one in the lowest byte. Splits v into
 * halves, quarters and digits by multiplication with reciprocals that are exact
 * for these ranges. */
static inline uint64_t decimal_eight(uint32_t v)
{
    uint64_t x = v / 10000 | (uint64_t) (v % 10000) << 32;
    uint64_t y = x * 10486 >> 20 & UINT64_C(0x7f0000007f);

    x = y | (x - 100 * y) << 16;
    y = x * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return y | (x - 10 * y) << 8;
}

/* Writes eight digits; out has room for them. */
static inline void decimal_store(uint64_t digits, char *out)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    memcpy(out, &digits, sizeof(digits));
}

char *decimal_large(uint64_t value, char *out);

/* Writes the digits of value. */
static inline char *decimal_count(uint64_t value, char *out)
{
    uint64_t digits;
    unsigned zeros;

    if (value < 10) {
        *out = (char) ('0' + value);
        return out + 1;
    }
    if (value >= 100000000)
        return decimal_large(value, out);
    digits = decimal_eight((uint32_t) value);
    zeros = (unsigned) __builtin_ctzll(digits) / 8;
    decimal_store((digits + UINT64_C(0x3030303030303030)) >> 8 * zeros, out);
    return out + 8 - zeros;
}

/* Writes micro / 1e6, without zeros at its end. */
char *decimal_micro(uint64_t micro, char *out);

/* Writes the shortest decimal of at least 15 digits that reads back as the same
 * double, without zeros at its end, as the shortest of "%.15g" to "%.17g". NULL
 * if value is not from 1e-4 to below 1e15, or if only printf can decide. */
char *decimal_exact(double value, char *out);

/* Writes value rounded to 15 significant digits, without zeros at its end, like
 * "%.15g". NULL as above. */
char *decimal_fifteen(double value, char *out);

#endif
