/* decimal.c - integers and doubles as digits, by integer arithmetic. A double
 * is mantissa / 2^scale; multiplied by a power of ten in 128 bits, it can be
 * rounded exactly. Whatever would need more precision or a decision by printf's
 * rules is left to printf (NULL). */
#include "common/decimal.h"

#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 wide;

/* The part of decimal_count for values from 1e8 on. */
char *decimal_large(uint64_t value, char *out)
{
    uint64_t digits = decimal_eight((uint32_t) (value % 100000000));

    out = decimal_count(value / 100000000, out);
    decimal_store(digits + UINT64_C(0x3030303030303030), out);
    return out + 8;
}

static inline uint64_t ten_to(unsigned k)
{
    static const uint64_t tens[] = {
        1,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
    };

    return tens[k];
}

/* Divides *v, which is not 0, by a power of ten as long as there is no
 * remainder. Returns how many zeros were removed; zeros: of the power. */
static inline unsigned strip(uint64_t *v, uint64_t power, unsigned zeros)
{
    unsigned n = 0;

    for (; *v % power == 0; n += zeros)
        *v /= power;
    return n;
}

/* Writes a point and the lowest `places` digits of fraction, without zeros at
 * the end; nothing if fraction is 0. Returns the end. */
static char *put_fraction(uint64_t fraction, unsigned places, char *out)
{
    char digits[JP_DECIMAL_ROOM];
    unsigned n;

    if (!fraction)
        return out;
    if (fraction % 10 == 0) { /* rare */
        places -= strip(&fraction, 100000000, 8);
        places -= strip(&fraction, 10000, 4);
        places -= strip(&fraction, 100, 2);
        places -= strip(&fraction, 10, 1);
    }
    n = (unsigned) (decimal_count(fraction, digits) - digits);
    *out++ = '.';
    for (; places > n; places--)
        *out++ = '0';
    memcpy(out, digits, n);
    return out + n;
}

char *decimal_micro(uint64_t micro, char *out)
{
    out = decimal_count(micro / 1000000, out);
    return put_fraction(micro % 1000000, 6, out);
}

/* value = mantissa / 2^scale; 1e-4 <= value < 1e15 gives 3 <= scale <= 66. */
struct parts {
    uint64_t mantissa;
    unsigned scale;
};

/* Splits a double from 1e-4 to below 1e15. */
static struct parts take_apart(double value)
{
    uint64_t bits, hidden = UINT64_C(1) << 52;

    memcpy(&bits, &value, sizeof(bits)); /* IEEE 754, positive and normal */
    return (struct parts){(bits & (hidden - 1)) | hidden,
                          1075 - (unsigned) (bits >> 52)};
}

/* The integer nearest to value * 10^places. *same: it reads back as value.
 * *tie: the value is exactly in the middle, so that another rule must
 * decide. */
static uint64_t scaled(struct parts p, unsigned places, bool *same, bool *tie)
{
    /* below 2^53 * 10^21 < 2^123 */
    wide power = places > 18 ? (wide) ten_to(18) * ten_to(places - 18)
                             : ten_to(places);
    wide all = p.mantissa * power, half = (wide) 1 << (p.scale - 1);
    uint64_t nearest = (uint64_t) ((all + half) >> p.scale);
    wide back = (wide) nearest << p.scale;
    wide off = back > all ? back - all : all - back;

    /* half the distance to the next double is half a unit of the mantissa */
    *same = 2 * off < power;
    *tie = off == half || 2 * off == power;
    return nearest;
}

/* 3 plus the number of digits before the point; for values below 1, 3 minus the
 * number of zeros after the point. -1: not from 1e-4 to below 1e15. */
static int places_before(double value)
{
    static const double steps[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1, 1e2,
                                   1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                   1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int whole = value < 1 ? 0 : 4;

    if (!(value >= 1e-4 && value < 1e15))
        return -1;
    while (value >= steps[whole + 1])
        whole++;
    return whole;
}

/* Writes value / 10^places as a decimal. Returns the end. */
static char *put_scaled(uint64_t value, unsigned places, char *out)
{
    uint64_t one;

    if (places > 18) { /* below 0.1: no digits before the point */
        *out++ = '0';
        return put_fraction(value, places, out);
    }
    one = ten_to(places);
    out = decimal_count(value / one, out);
    return put_fraction(value % one, places, out);
}

char *decimal_exact(double value, char *out)
{
    int whole = places_before(value);
    struct parts p;
    bool same = false, tie = false;

    if (whole < 0)
        return NULL;
    p = take_apart(value);
    if (p.mantissa == UINT64_C(1) << 52)
        return NULL; /* a power of two: the double below is nearer */
    /* 17 significant digits identify every double; the fewest that do are
     * wanted. */
    for (unsigned digits = 15; digits <= 17; digits++) {
        unsigned places = digits + 3 - (unsigned) whole;
        uint64_t nearest = scaled(p, places, &same, &tie);

        if (tie)
            return NULL;
        if (same)
            return put_scaled(nearest, places, out);
    }
    return NULL;
}

char *decimal_fifteen(double value, char *out)
{
    int whole = places_before(value);
    bool same, tie = false;
    uint64_t nearest;

    if (whole < 0)
        return NULL;
    nearest = scaled(take_apart(value), 18 - (unsigned) whole, &same, &tie);
    if (tie || (whole == 18 && nearest == ten_to(15)))
        return NULL; /* printf takes an exponent from 1e15 on */
    return put_scaled(nearest, 18 - (unsigned) whole, out);
}
