/* reader_json.h - a bounds-checked JSON cursor over one line.
 *
 * Nothing here allocates, and no function looks at or behind `end`. Functions
 * move the cursor behind what they took and return true; on false the cursor is
 * somewhere in the line and the line is refused. RFC 8259, with two additions
 * that NVIDIA's writer needs: where a number may stand, the bare words nan, inf
 * and null are taken as "not a number" (reader_json_decimal only).
 */
#ifndef JP_NCCL_INSPECTOR_READER_JSON_H
#define JP_NCCL_INSPECTOR_READER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Nesting that reader_json_skip follows; deeper is refused. */
#define JSON_MAX_DEPTH 64

struct reader_json_cursor {
    const char *p, *end;
};

/* A string as it stands between its quotes. plain: only printable ASCII and no
 * escape, so the bytes are the value. */
struct reader_json_raw {
    const char *text;
    size_t len;
    bool plain;
};

static inline void reader_json_blank(struct reader_json_cursor *c)
{
    while (c->p < c->end &&
           (*c->p == ' ' || *c->p == '\t' || *c->p == '\r' || *c->p == '\n'))
        c->p++;
}

/* Takes one character, blanks before it allowed. */
static inline bool reader_json_take(struct reader_json_cursor *c, char wanted)
{
    if (c->p < c->end && *c->p == wanted) {
        c->p++;
        return true;
    }
    reader_json_blank(c);
    if (c->p >= c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

static inline uint64_t reader_json_load(const char *p, size_t len)
{
    uint64_t v = 0;

    memcpy(&v, p, len);
    return v;
}

/* memcmp() == 0 for at least four bytes, in words and without a call. */
static inline bool reader_json_same(const char *a, const char *b, size_t len)
{
    size_t i;

    if (len < 8)
        return reader_json_load(a, 4) == reader_json_load(b, 4) &&
               reader_json_load(a + len - 4, 4) ==
                   reader_json_load(b + len - 4, 4);
    for (i = 0; i + 8 < len; i += 8)
        if (reader_json_load(a + i, 8) != reader_json_load(b + i, 8))
            return false;
    return reader_json_load(a + len - 8, 8) == reader_json_load(b + len - 8, 8);
}

/* Takes `literal` (four bytes or more) only if it stands exactly here: the
 * guess at the next key. */
static inline bool reader_json_guess(struct reader_json_cursor *c,
                                     const char *literal, size_t len)
{
    if ((size_t) (c->end - c->p) < len || !reader_json_same(c->p, literal, len))
        return false;
    c->p += len;
    return true;
}

/* Non-negative integer without sign, fraction or exponent. */
static inline bool reader_json_u64(struct reader_json_cursor *c, uint64_t *out)
{
    const char *p, *start;
    uint64_t v = 0;

    reader_json_blank(c);
    for (p = start = c->p; p < c->end; p++) {
        unsigned digit = (unsigned) (unsigned char) *p - '0';

        if (digit > 9)
            break;
        if (p - start >= 18 && (__builtin_mul_overflow(v, 10, &v) ||
                                __builtin_add_overflow(v, digit, &v)))
            return false;
        if (p - start < 18)
            v = v * 10 + digit;
    }
    if (p == start || (*start == '0' && p - start > 1))
        return false;
    if (p < c->end && (*p == '.' || *p == 'e' || *p == 'E'))
        return false;
    c->p = p;
    *out = v;
    return true;
}

/* A string; escapes are checked for form only. Raw control bytes refuse. */
bool reader_json_string(struct reader_json_cursor *c,
                        struct reader_json_raw *out);

/* A non-negative decimal as an integer of 1e-6, exact up to six decimals, then
 * rounded half up; at most `max`. A string or bare word nan, inf or null sets
 * *nan and *micro = 0. */
bool reader_json_decimal(struct reader_json_cursor *c, uint64_t max,
                         uint64_t *micro, bool *nan);

/* Any value. Brackets must pair and strings must end; what stands between
 * brackets is not checked further. */
bool reader_json_skip(struct reader_json_cursor *c);

/* Decodes escapes into buf (NUL-terminated, at most cap - 1 bytes, cut at a
 * character). Control characters, lone surrogates and bytes that are invalid
 * UTF-8 become '?'. Returns the length. */
size_t reader_json_decode(const struct reader_json_raw *raw, char *buf,
                          size_t cap);

#endif
