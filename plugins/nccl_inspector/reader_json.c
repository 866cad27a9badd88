/* reader_json.c - the slower parts of the JSON cursor (reader_parts.h):
 * strings, decimals, skipped values, and decoding to clean UTF-8.
 */
#include "plugins/nccl_inspector/reader_parts.h"

#include "common/utf8.h"

/* One pass: it finds the end and whether the bytes are the value. An escaped
 * quote does not end the string. */
bool reader_json_string(struct reader_json_cursor *c,
                        struct reader_json_raw *out)
{
    const char *p;
    bool plain = true;

    if (!reader_json_take(c, '"'))
        return false;
    for (p = c->p; p < c->end; p++) {
        unsigned char b = (unsigned char) *p;

        if (b == '"') {
            *out = (struct reader_json_raw){c->p, (size_t) (p - c->p), plain};
            c->p = p + 1;
            return true;
        }
        if (b >= 0x20 && b < 0x7f && b != '\\')
            continue;
        plain = false;
        if (b < 0x20 || (b == '\\' && ++p >= c->end))
            return false;
    }
    return false;
}

/* A decimal as value * 10^shift. Only the first 18 significant digits count, as
 * that many always fit in 64 bits. */
struct decimal {
    uint64_t value;
    int taken, dropped, shift;
    bool next_up; /* the first dropped digit is 5 or more */
};

/* Takes a run of digits before (fraction 0) or after the point (1). Returns
 * where it ends. */
static const char *take_digits(const char *p, const char *end, int fraction,
                               struct decimal *d)
{
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (d->taken < 18) { /* leading zeros do not count */
            d->value = d->value * 10 + (uint64_t) (*p - '0');
            d->taken += d->value != 0;
            d->shift -= fraction;
            continue;
        }
        /* further digits only move the point, and round once */
        if (d->dropped++ == 0)
            d->next_up = *p >= '5';
        if (d->shift < 9999) /* any limit that scale() refuses */
            d->shift += !fraction;
    }
    return p;
}

/* Takes [eE][+-]digits and adds them to *exponent, clamped. Returns NULL if no
 * digit follows. */
static const char *take_exponent(const char *p, const char *end, int *exponent)
{
    bool negative = false;
    const char *start;
    int e = 0;

    if (p >= end || (*p != 'e' && *p != 'E'))
        return p;
    p++;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    for (start = p; p < end && *p >= '0' && *p <= '9'; p++)
        if (e < 9999)
            e = e * 10 + (*p - '0');
    *exponent += negative ? -e : e;
    return p == start ? NULL : p;
}

/* Sets *out to value * 10^shift, rounded half up. Returns false on overflow. */
static bool scale(const struct decimal *d, uint64_t *out)
{
    bool up = d->next_up && d->shift == 0;
    uint64_t v = d->value;
    int shift = d->shift;

    for (; shift > 0 && v; shift--)
        if (__builtin_mul_overflow(v, 10, &v))
            return false;
    /* the last digit that is cut off decides the rounding */
    for (; shift < 0 && v; shift++) {
        up = shift == -1 && v % 10 >= 5;
        v /= 10;
    }
    return !__builtin_add_overflow(v, up, out);
}

/* Takes a number in units of 1e-6, which is why the shift begins at 6. */
static bool number(struct reader_json_cursor *c, uint64_t max, uint64_t *micro)
{
    struct decimal d = {.shift = 6};
    const char *p = take_digits(c->p, c->end, 0, &d), *start;
    uint64_t v;

    if (p == c->p || (*c->p == '0' && p - c->p > 1))
        return false;
    if (p < c->end && *p == '.') {
        start = ++p;
        p = take_digits(p, c->end, 1, &d);
        if (p == start)
            return false;
    }
    p = take_exponent(p, c->end, &d.shift);
    if (!p || !scale(&d, &v) || v > max)
        return false;
    c->p = p;
    *micro = v;
    return true;
}

/* Returns whether a word is not a number: what a C library prints, or JSON's
 * null. */
static bool not_a_number(const char *p, size_t len)
{
    static const char *const words[] = {"nan", "-nan", "inf", "-inf", "null"};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (len == strlen(words[i]) && !memcmp(p, words[i], len))
            return true;
    return false;
}

/* A number comes first, as nearly all values are one. */
bool reader_json_decimal(struct reader_json_cursor *c, uint64_t max,
                         uint64_t *micro, bool *nan)
{
    struct reader_json_raw raw;
    const char *p;

    reader_json_blank(c);
    *nan = false;
    if (c->p < c->end && *c->p >= '0' && *c->p <= '9')
        return number(c, max, micro);
    if (c->p < c->end && *c->p == '"') {
        if (!reader_json_string(c, &raw))
            return false;
    } else {
        for (p = c->p; p < c->end && (*p == '-' || (*p >= 'a' && *p <= 'z'));)
            p++;
        raw = (struct reader_json_raw){c->p, (size_t) (p - c->p), true};
        c->p = p;
    }
    *micro = 0;
    *nan = not_a_number(raw.text, raw.len);
    return *nan;
}

/* Returns the place after the quote that ends a string, or NULL. p is after its
 * first quote. A quote is escaped if an odd number of backslashes precedes it.
 */
static const char *string_end(const char *p, const char *end)
{
    const char *start = p;

    while ((p = memchr(p, '"', (size_t) (end - p)))) {
        const char *back = p;

        while (back > start && back[-1] == '\\')
            back--;
        p++;
        if ((p - 1 - back) % 2 == 0)
            return p;
    }
    return NULL;
}

/* Takes a nested value from its opening bracket on, without recursion. */
static bool skip_nested(struct reader_json_cursor *c)
{
    /* all other bytes are skipped in a tight loop */
    static const bool stops[256] = {
        ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};
    uint64_t is_object = 0; /* one bit for each level: 1 is '{' */
    unsigned depth = 0;
    const char *p = c->p;

    do {
        while (p < c->end && !stops[(unsigned char) *p])
            p++;
        if (p >= c->end)
            return false;
        if (*p == '"') {
            p = string_end(p + 1, c->end);
            if (!p)
                return false;
            continue;
        }
        if (*p == '{' || *p == '[') {
            if (++depth >= JSON_MAX_DEPTH)
                return false;
            is_object = is_object << 1 | (*p == '{');
        } else {
            if ((is_object & 1) != (*p == '}'))
                return false;
            is_object >>= 1;
            depth--;
        }
        p++;
    } while (depth);
    c->p = p;
    return true;
}

/* Numbers and words are not checked further: the value is not used. */
bool reader_json_skip(struct reader_json_cursor *c)
{
    struct reader_json_raw raw;
    const char *start;

    reader_json_blank(c);
    if (c->p >= c->end)
        return false;
    if (*c->p == '"')
        return reader_json_string(c, &raw);
    if (*c->p == '{' || *c->p == '[')
        return skip_nested(c);
    for (start = c->p; c->p < c->end; c->p++) { /* a number or a word */
        char b = *c->p;

        if (!((b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || b == '.' ||
              b == '-' || b == '+' || b == 'E'))
            break;
    }
    return c->p > start;
}

/* --- foreign JSON strings become clean UTF-8 ----------------------------- */

/* Returns the value of four hex digits, or -1. */
static int hex4(const char *p, const char *end)
{
    int v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char b = p[i];
        int digit = b >= '0' && b <= '9'   ? b - '0'
                    : b >= 'a' && b <= 'f' ? b - 'a' + 10
                    : b >= 'A' && b <= 'F' ? b - 'A' + 10
                                           : -1;

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* Returns the character of an escape; *p is after the backslash and moves on.
 * What cannot be shown becomes '?', pairs of surrogates one character. */
static uint32_t unescape(const char **p, const char *end)
{
    static const char from[] = "\"\\/", blank[] = "bfnrt";
    char b = *(*p)++;
    int hi, lo;

    /* \b, \f, \n, \r, \t would be control characters, so they become '?' */
    if (memchr(from, b, 3))
        return (unsigned char) b;
    if (memchr(blank, b, 5) || b != 'u' || (hi = hex4(*p, end)) < 0)
        return '?';
    *p += 4;
    if (hi >= 0xd800 && hi < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' &&
        (*p)[1] == 'u' && (lo = hex4(*p + 2, end)) >= 0xdc00 && lo < 0xe000) {
        *p += 6;
        return 0x10000 + (((uint32_t) hi - 0xd800) << 10) +
               ((uint32_t) lo - 0xdc00);
    }
    return hi < 0x20 || hi == 0x7f || (hi >= 0xd800 && hi < 0xe000)
               ? '?'
               : (uint32_t) hi;
}

/* Encodes a character. Returns its length. */
static size_t put_utf8(uint32_t v, char out[4])
{
    if (v < 0x80) {
        out[0] = (char) v;
        return 1;
    }
    if (v < 0x800) {
        out[0] = (char) (0xc0 | v >> 6);
        out[1] = (char) (0x80 | (v & 0x3f));
        return 2;
    }
    if (v < 0x10000) {
        out[0] = (char) (0xe0 | v >> 12);
        out[1] = (char) (0x80 | (v >> 6 & 0x3f));
        out[2] = (char) (0x80 | (v & 0x3f));
        return 3;
    }
    out[0] = (char) (0xf0 | v >> 18);
    out[1] = (char) (0x80 | (v >> 12 & 0x3f));
    out[2] = (char) (0x80 | (v >> 6 & 0x3f));
    out[3] = (char) (0x80 | (v & 0x3f));
    return 4;
}

/* Writes one character of a raw string as clean UTF-8. Returns its length. */
static size_t clean_char(const char **p, const char *end, char out[4])
{
    size_t n;
    uint32_t v;

    if (**p == '\\' && end - *p >= 2) {
        ++*p;
        v = unescape(p, end);
        return put_utf8(v >= 0x7f && v < 0xa0 ? '?' : v, out);
    }
    n = utf8_decode(*p, (size_t) (end - *p), &v);
    if (!n || v < 0x20 || (v >= 0x7f && v < 0xa0)) {
        ++*p;
        return put_utf8('?', out);
    }
    memcpy(out, *p, n);
    *p += n;
    return n;
}

/* The result never ends within a character. */
size_t reader_json_decode(const struct reader_json_raw *raw, char *buf,
                          size_t cap)
{
    const char *p = raw->text, *end = raw->text + raw->len;
    size_t len = 0;

    while (p < end) {
        char one[4];
        size_t n = clean_char(&p, end, one);

        if (len + n >= cap)
            break;
        memcpy(buf + len, one, n);
        len += n;
    }
    buf[len] = '\0';
    return len;
}
