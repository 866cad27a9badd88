/* json_stream.c - JSON text, value by value.
 *
 * Values are appended to a buffer that is flushed when it is full, because
 * reports have millions of values. begin() writes what comes before a value:
 * the comma, the line break of the style, and the key.
 */
#include "common/json_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/decimal.h"
#include "common/quote.h"

#define SCRIPT_TEXT_MAX 96 /* bytes shown of a name */

/* Writes the buffer. Unlocked: a stream belongs to one thread. */
static void flush(struct jp_json_stream *s)
{
    if (fwrite_unlocked(s->bytes, 1, s->used, s->out) != s->used)
        s->failed = true;
    s->used = 0;
}

/* Makes room for n <= JSON_STREAM_ROOM bytes. Returns where to write them; the
 * caller adds them to s->used. */
static char *room(struct jp_json_stream *s, size_t n)
{
    if (s->used + n > JSON_STREAM_ROOM)
        flush(s);
    return s->bytes + s->used;
}

/* Appends n bytes; a longer text bypasses the buffer. */
static void put_bytes(struct jp_json_stream *s, const char *text, size_t n)
{
    /* Larger than the whole buffer. */
    if (n > JSON_STREAM_ROOM) {
        flush(s);
        if (fwrite_unlocked(text, 1, n, s->out) != n)
            s->failed = true;
        return;
    }
    memcpy(room(s, n), text, n);
    s->used += n;
}

static void put_char(struct jp_json_stream *s, char c)
{
    *room(s, 1) = c;
    s->used++;
}

/* Appends a line break and that many blanks. */
static void new_line(struct jp_json_stream *s, unsigned blanks)
{
    memset(room(s, blanks + 1u), ' ', blanks + 1u);
    s->bytes[s->used] = '\n';
    s->used += blanks + 1u;
}

/* Writes what comes before a value. key NULL: the one of json_stream_key, or
 * none. */
static void begin(struct jp_json_stream *s, const char *key)
{
    /* A comma separates it from the value before it. */
    if (s->any)
        put_char(s, ',');
    s->any = true;
    if (s->style == JSON_FILE)
        new_line(s, s->depth);
    if (!key)
        key = s->key;
    s->key = NULL;
    if (!key)
        return;
    put_char(s, '"');
    put_bytes(s, key, strlen(key));
    put_bytes(s, "\": ", s->style == JSON_FILE ? 3 : 2);
}

/* Opens an object or array. */
static void go_in(struct jp_json_stream *s, char bracket)
{
    put_char(s, bracket);
    s->depth++;
    s->any = false;
}

/* Closes an object or array. An empty one stays in one line. */
static void go_out(struct jp_json_stream *s, char bracket)
{
    s->depth--;
    if (s->any && s->style == JSON_FILE)
        new_line(s, s->depth);
    put_char(s, bracket);
    s->any = true;
}

void json_stream_open(struct jp_json_stream *s, enum json_style style,
                      FILE *out)
{
    s->out = out;
    s->style = style;
    s->key = NULL;
    s->depth = 0;
    s->failed = false;
    s->used = 0;
    errno = 0; /* json_stream_close reports that of a failed write */
    go_in(s, '{');
}

int json_stream_close(struct jp_json_stream *s, struct jp_error *err)
{
    go_out(s, '}');
    if (s->style == JSON_FILE || s->style == JSON_LINES)
        put_char(s, '\n');
    flush(s);
    if (!s->failed)
        return 0;
    return error_set(err, "%s", errno ? strerror(errno) : "cannot be written");
}

void json_stream_key(struct jp_json_stream *s, const char *key)
{
    s->key = key;
}

void json_stream_object(struct jp_json_stream *s, const char *key)
{
    bool line = s->style == JSON_LINES && !key && !s->key;

    if (line && s->any)
        put_char(s, ',');
    /* Objects of an array start a line. The depth alternates between arrays and
     * objects, so half of it is the number of arrays. */
    if (line) {
        new_line(s, s->depth / 2);
        s->any = false;
    }
    begin(s, key);
    go_in(s, '{');
}

void json_stream_array(struct jp_json_stream *s, const char *key)
{
    begin(s, key);
    go_in(s, '[');
}

void json_stream_end_object(struct jp_json_stream *s)
{
    go_out(s, '}');
}

void json_stream_end_array(struct jp_json_stream *s)
{
    go_out(s, ']');
}

/* The length of a text that needs neither cleaning nor escapes, as most do; 0:
 * treat it character by character. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    for (; text[n]; n++)
        if (text[n] < 0x20 || text[n] > 0x7e || text[n] == '"' ||
            text[n] == '\\' || n >= JP_CLEAN_MAX / 2)
            return 0;
    return n;
}

/* Writes text that was cleaned. In a page, < > & and ' are escaped as well, so
 * that the text cannot end the script or the attribute. */
static void put_clean(struct jp_json_stream *s, const char *text)
{
    for (; *text; text++) {
        bool quoted = *text == '"' || *text == '\\';
        char *p = room(s, 7);

        if (s->style == JSON_SCRIPT && (quoted || strchr("<>&'", *text))) {
            s->used += (size_t) snprintf(p, 7, "\\u%04x",
                                         (unsigned) (unsigned char) *text);
            continue;
        }
        if (quoted)
            put_char(s, '\\');
        put_char(s, *text);
    }
}

/* Writes any text with escapes instead of cleaning. */
static void put_escaped(struct jp_json_stream *s, const char *text)
{
    for (size_t n; *text; text += n) {
        char unit[QUOTE_JSON_UNIT];

        put_bytes(s, unit, quote_json_unit(text, false, &n, unit));
    }
}

void json_stream_text(struct jp_json_stream *s, const char *key,
                      const char *text)
{
    char buf[JP_CLEAN_MAX];
    size_t n;

    if (!text && s->style != JSON_SCRIPT) {
        json_stream_null(s, key);
        return;
    }
    begin(s, key);
    put_char(s, '"');
    /* Scripts need more escapes, so they always take the slow way. */
    n = s->style == JSON_SCRIPT ? 0 : plain_length(text);
    if (n)
        put_bytes(s, text, n);
    else if (s->style == JSON_LINES || s->style == JSON_PART)
        put_escaped(s, text);
    else
        put_clean(s, clean_text(text, JP_CLEAN_UTF8, buf,
                                s->style == JSON_SCRIPT ? SCRIPT_TEXT_MAX
                                                        : sizeof(buf)));
    put_char(s, '"');
}

void json_stream_texts(struct jp_json_stream *s, const char *key,
                       char *const *texts, size_t n, size_t max)
{
    json_stream_array(s, key);
    for (size_t i = 0; i < n && i < max; i++)
        json_stream_text(s, NULL, texts[i]);
    json_stream_end_array(s);
}

/* Numbers are written into the buffer directly; JP_DECIMAL_ROOM bytes are
 * always enough. */
void json_stream_count(struct jp_json_stream *s, const char *key,
                       uint64_t value)
{
    char *p;

    begin(s, key);
    p = room(s, JP_DECIMAL_ROOM);
    s->used +=
        (size_t) (decimal_count(value > INT64_MAX ? INT64_MAX : value, p) - p);
}

void json_stream_known(struct jp_json_stream *s, const char *key, bool known,
                       uint64_t value)
{
    if (known)
        json_stream_count(s, key, value);
    else
        json_stream_null(s, key);
}

void json_stream_int(struct jp_json_stream *s, const char *key, int64_t value)
{
    /* Negative numbers are rare; snprintf is good enough for them. */
    if (value >= 0) {
        json_stream_count(s, key, (uint64_t) value);
        return;
    }
    begin(s, key);
    s->used += (size_t) snprintf(room(s, JP_DECIMAL_ROOM), JP_DECIMAL_ROOM,
                                 "%" PRId64, value);
}

/* Replaces a locale's decimal comma by JSON's point. */
static void use_point(char *text)
{
    char *comma = strchr(text, ',');

    if (comma)
        *comma = '.';
}

/* Changes printf's form into jansson's: exponents without a plus and leading
 * zeros. Returns the length. */
static size_t mend_real(char *text)
{
    char *e = strchr(text, 'e'), *digits;

    use_point(text);
    if (!e)
        return strlen(text);
    digits = e + 2;
    /* Keep a minus, drop a plus. */
    e += e[1] == '-' ? 2 : 1;
    while (*digits == '0')
        digits++;
    memmove(e, digits, strlen(digits) + 1);
    return strlen(text);
}

/* Reals have 15 significant digits, as jansson writes them, because parts of a
 * summary are read and rewritten by jansson. */
void json_stream_real(struct jp_json_stream *s, const char *key, double value)
{
    char *p, *end;

    /* JSON has no NaN and no infinity. */
    if (!isfinite(value)) {
        json_stream_null(s, key);
        return;
    }
    begin(s, key);
    p = room(s, JP_DECIMAL_ROOM + 2);
    if (s->style == JSON_SCRIPT) {
        s->used += (size_t) snprintf(p, JP_DECIMAL_ROOM, "%.4g", value);
        use_point(p);
        return;
    }
    /* printf is five times slower and only used where the fast way cannot
     * decide. */
    end = decimal_fifteen(value, p);
    if (!end) {
        snprintf(p, JP_DECIMAL_ROOM, "%.15g", value);
        end = p + mend_real(p);
    }
    /* 15 digits of a whole number have neither point nor exponent. */
    if (!memchr(p, '.', (size_t) (end - p)) &&
        !memchr(p, 'e', (size_t) (end - p))) {
        memcpy(end, ".0", 2); /* so that readers see a real */
        end += 2;
    }
    s->used += (size_t) (end - p);
}

void json_stream_fixed(struct jp_json_stream *s, const char *key, double value,
                       int decimals)
{
    char text[400];

    if (!isfinite(value)) {
        json_stream_null(s, key);
        return;
    }
    begin(s, key);
    snprintf(text, sizeof(text), "%.*f", decimals, value);
    use_point(text);
    put_bytes(s, text, strlen(text));
}

void json_stream_milli(struct jp_json_stream *s, const char *key,
                       int64_t thousandths)
{
    /* The negation is correct even for INT64_MIN. */
    uint64_t all = thousandths < 0 ? 0 - (uint64_t) thousandths
                                   : (uint64_t) thousandths;

    begin(s, key);
    s->used += (size_t) snprintf(
        room(s, JP_DECIMAL_ROOM), JP_DECIMAL_ROOM, "%s%" PRIu64 ".%03u",
        thousandths < 0 ? "-" : "", all / 1000, (unsigned) (all % 1000));
}

void json_stream_members(struct jp_json_stream *s, const char *object)
{
    size_t n = strlen(object);

    /* "{}" has no members. */
    if (n <= 2)
        return;
    if (s->any)
        put_char(s, ',');
    put_bytes(s, object + 1, n - 2);
    s->any = true;
}

void json_stream_null(struct jp_json_stream *s, const char *key)
{
    begin(s, key);
    put_bytes(s, "null", 4);
}

void json_stream_bool(struct jp_json_stream *s, const char *key, bool value)
{
    begin(s, key);
    put_bytes(s, value ? "true" : "false", value ? 4 : 5);
}
