/* num.c - parse and print integers, sizes and durations, checked.
 *
 * read_digits and parse_unit read text without judging it. A table of units and
 * spellings (struct measure) makes the result a size or a time, and proposes a
 * correction if the text is refused.
 */
#include "common/num.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/quote.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Whether a text is a number, and one that fits into 64 bits. */
enum reading { READ_OK, READ_TOO_LARGE, READ_NONE };

/* Reads digits at *p into *out and moves *p past them. */
static enum reading read_digits(const char **p, uint64_t *out)
{
    const char *c = *p;
    uint64_t v = 0;
    bool over = false;

    if (!isdigit((unsigned char) *c))
        return READ_NONE;
    /* Read on after an overflow: what follows the digits decides whether this
     * is a number that is too large, or no number. */
    for (; isdigit((unsigned char) *c); c++)
        over = over || __builtin_mul_overflow(v, 10, &v) ||
               __builtin_add_overflow(v, (uint64_t) (*c - '0'), &v);
    *p = c;
    *out = v;
    return over ? READ_TOO_LARGE : READ_OK;
}

/* Sets err to the reason why text is not a whole number from lo to hi. Returns
 * -1. */
static int refuse_whole(const char *text, enum reading how, const char *lo,
                        const char *hi, struct jp_error *err)
{
    if (how == READ_NONE)
        return error_set(err, "\"%s\" is not a whole number (%s to %s)",
                         QUOTE(text), lo, hi);
    return error_set(err, "%s is out of range (%s to %s)", QUOTE(text), lo, hi);
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out,
                  struct jp_error *err)
{
    const char *p = text ? text : "";
    uint64_t v = 0;
    enum reading how = read_digits(&p, &v);
    char lo[32], hi[32];

    /* The whole text must be a number. */
    if (how == READ_OK && !*p && v >= min && v <= max) {
        *out = v;
        return 0;
    }
    snprintf(lo, sizeof(lo), "%" PRIu64, min);
    snprintf(hi, sizeof(hi), "%" PRIu64, max);
    return refuse_whole(text, *p ? READ_NONE : how, lo, hi, err);
}

int num_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out,
                  struct jp_error *err)
{
    const char *p = text ? text : "";
    bool negative = *p == '-';
    uint64_t u = 0;
    enum reading how;
    char lo[32], hi[32];
    int64_t v;

    if (negative)
        p++;
    how = read_digits(&p, &u);
    /* -2^63 counts as out of range: its negation has no place in 64 bits */
    v = (int64_t) (u & INT64_MAX);
    if (negative)
        v = -v;
    if (how == READ_OK && !*p && u <= (uint64_t) INT64_MAX && v >= min &&
        v <= max) {
        *out = v;
        return 0;
    }
    snprintf(lo, sizeof(lo), "%" PRId64, min);
    snprintf(hi, sizeof(hi), "%" PRId64, max);
    return refuse_whole(text, *p ? READ_NONE : how, lo, hi, err);
}

/* Computes (whole + 0.fraction) * mult, rounded down; at most nine digits of
 * the fraction count. -1: it does not fit into 64 bits. */
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
    /* nine digits need 30 bits, and the unit T 40 bits */
    f = (uint64_t) ((unsigned __int128) part * mult / div);
    return __builtin_add_overflow(v, f, out) ? -1 : 0;
}

/* A suffix and its factor. */
struct unit {
    const char *suffix;
    uint64_t mult;
};

/* Reads a number with one of the units. *out is set only for READ_OK. */
static enum reading parse_unit(const char *text, const struct unit *units,
                               size_t n_units, uint64_t *out)
{
    const char *p = text ? text : "", *fraction = "";
    size_t digits = 0;
    uint64_t whole;
    enum reading how = read_digits(&p, &whole);

    if (how == READ_NONE)
        return how;
    /* A point needs digits after it. */
    if (*p == '.') {
        fraction = ++p;
        while (isdigit((unsigned char) *p))
            p++;
        digits = (size_t) (p - fraction);
        if (!digits)
            return READ_NONE;
    }
    for (size_t i = 0; i < n_units; i++) {
        /* The rest of the text must be exactly one unit. */
        if (strcmp(p, units[i].suffix) != 0)
            continue;
        if (digits && units[i].mult == 1)
            return READ_NONE; /* half a byte is a mistake */
        if (how == READ_OK &&
            scale(whole, fraction, digits, units[i].mult, out) < 0)
            how = READ_TOO_LARGE;
        return how;
    }
    return READ_NONE;
}

/* --- what a value in another spelling was meant to be --- */

/* Another spelling of a unit, and ours. */
struct spelling {
    const char *said, *meant;
};

/* Rewrites a number with another spelling of its unit: "256MB" as "256M".
 * Returns buf, or NULL if the unit is not in the list. */
static char *respell(const char *text, const struct spelling *list, size_t n,
                     char *buf, size_t len)
{
    size_t digits = strspn(text, "0123456789.");
    const char *unit = text + digits;

    while (*unit == ' ')
        unit++;
    for (size_t i = 0; digits && i < n; i++)
        if (!strcasecmp(unit, list[i].said) &&
            snprintf(buf, len, "%.*s%s", (int) digits, text, list[i].meant) <
                (int) len)
            return buf;
    return NULL;
}

/* The size that was probably meant, or NULL. */
static char *suggest_size(const char *text, char *buf, size_t len)
{
    static const struct spelling list[] = {
        {"b", ""},    {"bytes", ""}, {"k", "K"},  {"kb", "K"},
        {"kib", "K"}, {"m", "M"},    {"mb", "M"}, {"mib", "M"},
        {"meg", "M"}, {"g", "G"},    {"gb", "G"}, {"gib", "G"},
        {"gig", "G"}, {"t", "T"},    {"tb", "T"}, {"tib", "T"}};

    return respell(text, list, N(list), buf, len);
}

/* The time that was probably meant, or NULL. */
static char *suggest_time(const char *text, char *buf, size_t len)
{
    static const struct spelling list[] = {
        {"us", "us"},    {"usec", "us"},  {"usecs", "us"},  {"ms", "ms"},
        {"msec", "ms"},  {"msecs", "ms"}, {"millis", "ms"}, {"s", "s"},
        {"sec", "s"},    {"secs", "s"},   {"second", "s"},  {"seconds", "s"},
        {"m", "m"},      {"min", "m"},    {"mins", "m"},    {"minute", "m"},
        {"minutes", "m"}};

    return respell(text, list, N(list), buf, len);
}

char *num_suggest_count(const char *text, uint64_t min, uint64_t max, char *buf,
                        unsigned len)
{
    /* Factors that users write after a count, in powers of ten. */
    static const struct unit units[] = {
        {"k", 1000},       {"K", 1000},       {"m", 1000000}, {"M", 1000000},
        {"G", 1000000000}, {"e3", 1000},      {"e4", 10000},  {"e5", 100000},
        {"e6", 1000000},   {"e9", 1000000000}};
    uint64_t v;

    if (!text || parse_unit(text, units, N(units), &v) != READ_OK || v < min ||
        v > max)
        return NULL;
    snprintf(buf, len, "%" PRIu64, v);
    return buf;
}

/* A number with a unit. */
struct measure {
    const char *what, *form; /* "size"; how it is written */
    struct unit units[5];
    char *(*format)(uint64_t value, char *buf, unsigned len);
    char *(*suggest)(const char *text, char *buf, size_t len);
};

/* Parses a number with a unit, or refuses it with the valid range and, if the
 * spelling is recognised, a proposal. */
static int parse_measure(const struct measure *of, const char *text,
                         uint64_t min, uint64_t max, uint64_t *out,
                         struct jp_error *err)
{
    char lo[32], hi[32], other[64], *meant;
    uint64_t v = 0;
    enum reading how = parse_unit(text, of->units, N(of->units), &v);

    if (how == READ_OK && v >= min && v <= max) {
        *out = v;
        return 0;
    }
    of->format(min, lo, sizeof(lo));
    of->format(max, hi, sizeof(hi));
    if (how != READ_NONE)
        return error_set(err, "%s is out of range (%s to %s)", QUOTE(text), lo,
                         hi);
    /* Guess only after the text was refused. */
    meant = text ? of->suggest(text, other, sizeof(other)) : NULL;
    /* Propose only what would be accepted. */
    if (meant && (parse_unit(meant, of->units, N(of->units), &v) != READ_OK ||
                  v < min || v > max))
        meant = NULL;
    return error_set(err, "\"%s\" is not a %s (%s to %s; %s)%s%s%s",
                     QUOTE(text), of->what, lo, hi, of->form,
                     meant ? "; did you mean \"" : "", meant ? meant : "",
                     meant ? "\"?" : "");
}

int num_parse_size(const char *text, uint64_t min, uint64_t max,
                   uint64_t *out_bytes, struct jp_error *err)
{
    static const struct measure size = {"size",
                                        "bytes, or a number with K, M, G or T",
                                        {{"", 1},
                                         {"K", 1ULL << 10},
                                         {"M", 1ULL << 20},
                                         {"G", 1ULL << 30},
                                         {"T", 1ULL << 40}},
                                        num_format_size,
                                        suggest_size};

    return parse_measure(&size, text, min, max, out_bytes, err);
}

int num_parse_time_us(const char *text, uint64_t min, uint64_t max,
                      uint64_t *out_us, struct jp_error *err)
{
    static const struct measure time = {
        "time",
        "seconds, or a number with us, ms, s or m",
        {{"", 1000000},
         {"us", 1},
         {"ms", 1000},
         {"s", 1000000},
         {"m", 60000000}},
        num_format_time_us,
        suggest_time};

    return parse_measure(&time, text, min, max, out_us, err);
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
    return error_set(err, "\"%s\" is not 0 or 1", QUOTE(text));
}

/* Prints value / unit with one decimal, or none if it is a whole number. */
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

    /* The largest unit of which there is at least one. */
    while (i < 4 && bytes >> (10 * (i + 1)))
        i++;
    print_scaled(buf, buf_len, bytes, 1ULL << (10 * i), names[i]);
    return buf;
}

char *num_format_time_us(uint64_t us, char *buf, unsigned buf_len)
{
    /* Up to two minutes in seconds: "90 s" is easier to read than "1.5 m". */
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
