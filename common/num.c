/* num.c - parse and print integers, sizes and durations, checked. */
#include "common/num.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads digits at *p into *out and moves *p behind them. */
static int read_digits(const char **p, uint64_t *out)
{
    const char *c = *p;
    uint64_t v = 0;

    if (!isdigit((unsigned char) *c))
        return -1;
    for (; isdigit((unsigned char) *c); c++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t) (*c - '0'), &v))
            return -1;
    *p = c;
    *out = v;
    return 0;
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out,
                  struct jp_error *err)
{
    const char *p = text ? text : "";
    uint64_t v;

    if (read_digits(&p, &v) < 0 || *p)
        return error_set(err, "\"%s\" is not a whole number", text ? text : "");
    if (v < min || v > max)
        return error_set(err, "%s is out of range (%" PRIu64 " to %" PRIu64 ")",
                         text, min, max);
    *out = v;
    return 0;
}

int num_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out,
                  struct jp_error *err)
{
    const char *p = text ? text : "";
    bool negative = *p == '-';
    uint64_t u;
    int64_t v;

    if (negative)
        p++;
    if (read_digits(&p, &u) < 0 || *p || u > (uint64_t) INT64_MAX)
        return error_set(err, "\"%s\" is not a whole number", text ? text : "");
    v = negative ? -(int64_t) u : (int64_t) u;
    if (v < min || v > max)
        return error_set(err, "%s is out of range (%" PRId64 " to %" PRId64 ")",
                         text, min, max);
    *out = v;
    return 0;
}

/* whole * mult + digits-after-the-point * mult, rounded down; at most nine
 * digits count. */
static int scale(uint64_t whole, const char *fraction, size_t digits,
                 uint64_t mult, uint64_t *out)
{
    uint64_t v, part = 0, div = 1, f;

    if (__builtin_mul_overflow(whole, mult, &v))
        return -1;
    for (size_t i = 0; i < digits && i < 9; i++) {
        part = part * 10 + (uint64_t) (fraction[i] - '0');
        div *= 10;
    }
    f = (uint64_t) ((unsigned __int128) part * mult / div);
    return __builtin_add_overflow(v, f, out) ? -1 : 0;
}

struct unit {
    const char *suffix;
    uint64_t mult;
};

static int parse_unit(const char *text, const struct unit *units,
                      size_t n_units, uint64_t *out)
{
    const char *p = text, *fraction = "";
    size_t digits = 0;
    uint64_t whole;

    if (read_digits(&p, &whole) < 0)
        return -1;
    if (*p == '.') {
        fraction = ++p;
        while (isdigit((unsigned char) *p))
            p++;
        digits = (size_t) (p - fraction);
        if (!digits)
            return -1;
    }
    for (size_t i = 0; i < n_units; i++)
        if (!strcmp(p, units[i].suffix))
            return digits && units[i].mult == 1
                       ? -1
                       : scale(whole, fraction, digits, units[i].mult, out);
    return -1;
}

int num_parse_size(const char *text, uint64_t min, uint64_t max,
                   uint64_t *out_bytes, struct jp_error *err)
{
    static const struct unit units[] = {
        {"", 1},           {"K", 1ULL << 10}, {"M", 1ULL << 20},
        {"G", 1ULL << 30}, {"T", 1ULL << 40},
    };
    char lo[32], hi[32];
    uint64_t v;

    if (!text || parse_unit(text, units, sizeof(units) / sizeof(*units), &v))
        return error_set(err,
                         "\"%s\" is not a size (bytes, or a number with "
                         "K, M, G or T)",
                         text ? text : "");
    if (v < min || v > max)
        return error_set(err, "%s is out of range (%s to %s)", text,
                         num_format_size(min, lo, sizeof(lo)),
                         num_format_size(max, hi, sizeof(hi)));
    *out_bytes = v;
    return 0;
}

int num_parse_time_us(const char *text, uint64_t min, uint64_t max,
                      uint64_t *out_us, struct jp_error *err)
{
    static const struct unit units[] = {
        {"", 1000000}, {"us", 1}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000},
    };
    char lo[32], hi[32];
    uint64_t v;

    if (!text || parse_unit(text, units, sizeof(units) / sizeof(*units), &v))
        return error_set(err,
                         "\"%s\" is not a time (seconds, or a number "
                         "with us, ms, s or m)",
                         text ? text : "");
    if (v < min || v > max)
        return error_set(err, "%s is out of range (%s to %s)", text,
                         num_format_time_us(min, lo, sizeof(lo)),
                         num_format_time_us(max, hi, sizeof(hi)));
    *out_us = v;
    return 0;
}

int num_parse_bool(const char *text, bool *out, struct jp_error *err)
{
    static const char *const words[2][4] = {{"0", "off", "no", "false"},
                                            {"1", "on", "yes", "true"}};

    for (int v = 0; text && v < 2; v++)
        for (int i = 0; i < 4; i++)
            if (!strcmp(text, words[v][i])) {
                *out = v == 1;
                return 0;
            }
    return error_set(err, "\"%s\" is neither 0 nor 1", text ? text : "");
}

/* value / unit with up to one decimal, none where it is whole. */
static void print_scaled(char *buf, unsigned len, uint64_t value, uint64_t unit,
                         const char *name)
{
    double d = (double) value / (double) unit;

    if (value % unit == 0)
        snprintf(buf, len, "%" PRIu64 " %s", value / unit, name);
    else
        snprintf(buf, len, "%.1f %s", d, name);
}

char *num_format_size(uint64_t bytes, char *buf, unsigned buf_len)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned i = 0;

    while (i < 4 && bytes >> (10 * (i + 1)))
        i++;
    print_scaled(buf, buf_len, bytes, 1ULL << (10 * i), names[i]);
    return buf;
}

char *num_format_time_us(uint64_t us, char *buf, unsigned buf_len)
{
    if (us < 1000)
        print_scaled(buf, buf_len, us, 1, "us");
    else if (us < 1000000)
        print_scaled(buf, buf_len, us, 1000, "ms");
    else if (us < 120000000)
        print_scaled(buf, buf_len, us, 1000000, "s");
    else
        print_scaled(buf, buf_len, us, 60000000, "m");
    return buf;
}
