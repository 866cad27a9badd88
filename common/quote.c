/* quote.c - foreign text in messages, reports, and JSON for terminals.
 *
 * quote_is_harmless is the one list of harmful characters. The functions differ
 * in what they write instead: \xHH for messages (quote_text, quote_print,
 * quote_printf), \uXXXX for JSON (quote_json_*), '?' for reports (clean_text).
 * quote_printf parses its format itself, because only %s and %c need
 * quoting.
 */
#include "common/quote.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "common/utf8.h"

bool quote_is_harmless(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c)
        return false;
    /* Noncharacters of Unicode. */
    if ((point & 0xfffe) == 0xfffe || (point >= 0xfdd0 && point <= 0xfdef))
        return false;
    /* characters without width, and marks of direction */
    if (point >= 0x200b && point <= 0x200f)
        return false;
    /* Separators of lines and paragraphs, embedding and isolation of direction,
     * and the byte order mark. */
    return !(point >= 0x2028 && point <= 0x202e) &&
           !(point >= 0x2066 && point <= 0x2069) && point != 0xfeff;
}

/* The number of bytes of the next character of s, or 1 for an invalid byte.
 * *plain: it may be shown as it is. */
static size_t next_unit(const char *s, bool *plain)
{
    uint32_t point = 0;
    size_t n = utf8_decode(s, 4, &point);

    *plain = n && quote_is_harmless(point);
    return n ? n : 1;
}

/* Up to JP_QUOTE_SHOWN bytes of the value are shown; each may become four. */
const char *quote_text(const char *text, char buf[JP_QUOTE_LEN])
{
    size_t used = 0, at = 0;

    for (text = text ? text : ""; text[at];) {
        bool plain;
        size_t n = next_unit(text + at, &plain);

        /* Cut only between characters. */
        if (at + n > JP_QUOTE_SHOWN) {
            memcpy(buf + used, "...", 4);
            return buf;
        }
        for (size_t i = 0; i < n; i++)
            used += (size_t) snprintf(buf + used, JP_QUOTE_LEN - used,
                                      plain ? "%c" : "\\x%02x",
                                      (unsigned char) text[at + i]);
        at += n;
    }
    buf[used] = '\0';
    return buf;
}

void quote_shorten(const char *text, char *buf, size_t len)
{
    size_t n = strlen(text);

    snprintf(buf, len, "%s%s", n < len ? "" : "...",
             n < len ? text : text + n - (len - 4));
}

void quote_print(FILE *out, const char *text)
{
    while (text && *text) {
        bool plain;
        size_t n = next_unit(text, &plain);

        for (size_t i = 0; i < n; i++)
            fprintf(out, plain ? "%c" : "\\x%02x", (unsigned char) text[i]);
        text += n;
    }
}

/* --- printf whose texts are harmless to a terminal ------------------------ */

#define SPEC_MAX 48

/* One conversion of a format: "%-*.3s". */
struct spec {
    char flags[8];
    int width, precision; /* precision -1: none */
    char length[3];
    char what;
};

/* Reads a width or precision: digits, or '*' for an argument. */
static int read_count(const char **at, va_list *ap)
{
    int n = 0;

    if (**at == '*') {
        ++*at;
        return va_arg(*ap, int);
    }
    while (**at >= '0' && **at <= '9' && n < 100000)
        n = n * 10 + (*(*at)++ - '0');
    return n;
}

/* Parses a conversion from after the '%', and moves past it. */
static struct spec read_spec(const char **at, va_list *ap)
{
    struct spec spec = {.precision = -1};
    size_t n = 0;

    /* Flags; more of them than fit are repeated ones and can be dropped. */
    while (**at && strchr("-+ #0", **at))
        if (n < sizeof(spec.flags) - 1)
            spec.flags[n++] = *(*at)++;
        else
            ++*at;
    spec.width = read_count(at, ap);
    if (spec.width < 0) { /* a negative argument of '*' means left-aligned */
        spec.width = -spec.width;
        spec.flags[0] = '-';
    }
    if (**at == '.') {
        ++*at;
        spec.precision = read_count(at, ap);
    }
    n = 0;
    /* The length modifier decides which argument is taken. */
    while (**at && strchr("hlzjt", **at))
        if (n < sizeof(spec.length) - 1)
            spec.length[n++] = *(*at)++;
        else
            ++*at;
    spec.what = **at;
    if (**at)
        ++*at;
    return spec;
}

/* The number of columns of the text after quoting: bytes, and four for each
 * \xHH. */
static size_t shown(const char *text)
{
    size_t columns = 0, n;
    uint32_t point = 0;

    for (; *text; text += n) {
        n = utf8_decode(text, 4, &point);
        columns += n && quote_is_harmless(point) ? n : n ? 4 * n : 4;
        n = n ? n : 1;
    }
    return columns;
}

/* Prints a %s or %c: cut to the precision, quoted, padded to the width. */
static int put_text(FILE *out, const struct spec *spec, const char *text)
{
    /* The precision limits bytes, as in printf; a character that is cut is
     * quoted. */
    bool cut = spec->precision >= 0;
    char *copy = cut ? strndup(text, (size_t) spec->precision) : NULL;
    const char *from = cut ? copy : text;
    size_t columns = from ? shown(from) : 0;
    size_t wanted = (size_t) spec->width;
    int pad = wanted > columns ? (int) (wanted - columns) : 0;
    bool left = strchr(spec->flags, '-') != NULL;

    if (!left)
        fprintf(out, "%*s", pad, "");
    if (from)
        quote_print(out, from);
    if (left)
        fprintf(out, "%*s", pad, "");
    free(copy);
    return ferror(out) ? -1 : (int) columns + pad;
}

/* The next argument of a signed conversion, by its length modifier. */
static intmax_t take_signed(const struct spec *spec, va_list *ap)
{
    switch (spec->length[0]) {
    case 'j':
        return va_arg(*ap, intmax_t);
    case 'z':
        return va_arg(*ap, ssize_t);
    case 't':
        return va_arg(*ap, ptrdiff_t);
    case 'l':
        return spec->length[1] ? va_arg(*ap, long long) : va_arg(*ap, long);
    default:
        return va_arg(*ap, int);
    }
}

/* The same for an unsigned conversion. */
static uintmax_t take_unsigned(const struct spec *spec, va_list *ap)
{
    switch (spec->length[0]) {
    case 'j':
        return va_arg(*ap, uintmax_t);
    case 'z':
        return va_arg(*ap, size_t);
    case 't':
        return (uintmax_t) va_arg(*ap, ptrdiff_t);
    case 'l':
        return spec->length[1] ? va_arg(*ap, unsigned long long)
                               : va_arg(*ap, unsigned long);
    default:
        return va_arg(*ap, unsigned);
    }
}

/* The format is composed here from a checked conversion. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* Prints any other conversion by fprintf. Integers are widened to intmax_t, so
 * one format covers all lengths. */
static int put_number(FILE *out, const struct spec *spec, va_list *ap)
{
    bool real = strchr("fFeEgGaA", spec->what) != NULL;
    bool is_signed = spec->what == 'd' || spec->what == 'i';
    char format[SPEC_MAX];

    /* A width of 0 and a precision of -1 count as missing for printf. */
    snprintf(format, sizeof(format), "%%%s*.*%s%c", spec->flags,
             real ? "" : "j", spec->what);
    if (real)
        return fprintf(out, format, spec->width, spec->precision,
                       va_arg(*ap, double));
    return is_signed ? fprintf(out, format, spec->width, spec->precision,
                               take_signed(spec, ap))
                     : fprintf(out, format, spec->width, spec->precision,
                               take_unsigned(spec, ap));
}

#pragma GCC diagnostic pop

/* Prints one conversion. Returns the bytes written, or -1. */
static int put_one(FILE *out, const struct spec *spec, va_list *ap)
{
    char one[2] = "";
    const char *text;

    switch (spec->what) {
    case '%':
        return fputc('%', out) == EOF ? -1 : 1;
    case 's':
        /* Foreign text: quoted, and NULL counts as "". */
        text = va_arg(*ap, const char *);
        return put_text(out, spec, text ? text : "");
    case 'c':
        one[0] = (char) va_arg(*ap, int);
        return put_text(out, spec, one);
    default:
        return put_number(out, spec, ap);
    }
}

int quote_printf(FILE *out, const char *format, ...)
{
    va_list ap;
    int written = 0, rc = 0;

    va_start(ap, format);
    while (*format && rc >= 0) {
        size_t plain = strcspn(format, "%");

        rc = fwrite(format, 1, plain, out) == plain ? (int) plain : -1;
        written += rc;
        format += plain;
        if (rc >= 0 && *format == '%') {
            struct spec spec;

            format++;
            spec = read_spec(&format, &ap);
            rc = put_one(out, &spec, &ap);
            written += rc;
        }
    }
    va_end(ap);
    return rc < 0 ? -1 : written;
}

/* --- JSON: characters that could harm a terminal are escaped -------------- */

/* A stream's state. The bytes of a character may come in two writes, so up to
 * four are held. */
struct filter {
    FILE *out;
    char held[4];
    size_t n;
};

#define ESCAPE_LEN QUOTE_JSON_UNIT

/* Writes "\u202e" or, beyond 16 bits, a surrogate pair. Returns the length. */
static size_t format_escape(uint32_t point, char buf[ESCAPE_LEN])
{
    if (point >= 0x10000)
        return (size_t) snprintf(buf, ESCAPE_LEN, "\\u%04x\\u%04x",
                                 (0xd800 + ((point - 0x10000) >> 10)) & 0xffff,
                                 (0xdc00 + (point & 0x3ff)) & 0xffff);
    return (size_t) snprintf(buf, ESCAPE_LEN, "\\u%04x", point & 0xffff);
}

/* Writes a character as an escape. */
static int put_escape(FILE *out, uint32_t point)
{
    char buf[ESCAPE_LEN];

    format_escape(point, buf);
    return fputs(buf, out);
}

size_t quote_json_unit(const char *s, bool slash, size_t *n,
                       char buf[QUOTE_JSON_UNIT])
{
    uint32_t point = 0;

    *n = utf8_decode(s, 4, &point);
    if (!*n || !quote_is_harmless(point)) {
        size_t length = format_escape(*n ? point : 0xfffd, buf);

        *n = *n ? *n : 1;
        return length;
    }
    if (point == '"' || point == '\\' || (slash && point == '/')) {
        buf[0] = '\\';
        buf[1] = (char) point;
        return 2;
    }
    memcpy(buf, s, *n);
    return *n;
}

size_t quote_json_escape(const char *text, bool slash, char *buf, size_t size)
{
    char unit[ESCAPE_LEN];
    size_t used = 0, n;

    for (; *text; text += n) {
        size_t length = quote_json_unit(text, slash, &n, unit);

        if (used + length >= size)
            break;
        memcpy(buf + used, unit, length);
        used += length;
    }
    buf[used] = '\0';
    return used;
}

/* Writes one character. Line ends between the tokens stay, other blanks become
 * a space. n 0: an invalid byte. */
static int put_point(FILE *out, const char *bytes, size_t n, uint32_t point)
{
    if (point == '\n' || (n && quote_is_harmless(point)))
        return fwrite(bytes, 1, n, out) == n ? 0 : -1;
    if (n && (point == '\t' || point == '\r'))
        return fputc(' ', out);
    return put_escape(out, n ? point : 0xfffd);
}

/* Whether the held bytes may be the beginning of a character that is not
 * complete yet. */
static bool is_begin(const struct filter *f)
{
    /* The first byte of a character determines its length. */
    unsigned char c = (unsigned char) f->held[0];
    size_t wanted = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : 2;

    if (c < 0xc0 || c >= 0xf8 || f->n >= wanted)
        return false;
    for (size_t i = 1; i < f->n; i++)
        if (((unsigned char) f->held[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Writes the held bytes, except for an incomplete character. last: no more
 * bytes will come. */
static int drain(struct filter *f, bool last)
{
    while (f->n && (last || !is_begin(f))) {
        uint32_t point = 0;
        size_t n = utf8_decode(f->held, f->n, &point);

        if (put_point(f->out, f->held, n, point) < 0)
            return -1;
        n = n ? n : 1;
        memmove(f->held, f->held + n, f->n - n);
        f->n -= n;
    }
    return 0;
}

/* The length of plain ASCII at the start of text, which is written as one
 * piece: nearly all of JSON is. */
static size_t plain_length(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (text[n] == '\n' || (text[n] >= 0x20 && text[n] < 0x7f)))
        n++;
    return n;
}

/* Write function of the stream (fopencookie). */
static ssize_t quote_write(void *cookie, const char *text, size_t len)
{
    struct filter *f = cookie;

    for (size_t i = 0; i < len;) {
        /* While bytes are held, go on byte by byte. */
        size_t n = f->n ? 0 : plain_length(text + i, len - i);

        if (n && fwrite(text + i, 1, n, f->out) != n)
            return 0;
        i += n;
        if (i == len)
            break;
        f->held[f->n++] = text[i++];
        if (drain(f, false) < 0)
            return 0;
    }
    return (ssize_t) len;
}

/* Close function of the stream. The stream behind it stays open. */
static int end(void *cookie)
{
    struct filter *f = cookie;
    int rc = drain(f, true);

    if (fflush(f->out) != 0 || ferror(f->out))
        rc = -1;
    free(f);
    return rc;
}

/* A stream in front of another one, by glibc's fopencookie: writers need not
 * know that their text is filtered. */
FILE *quote_json_open(FILE *out)
{
    const cookie_io_functions_t io = {.write = quote_write, .close = end};
    struct filter *f = calloc(1, sizeof(*f));
    FILE *stream;

    if (!f)
        return NULL;
    f->out = out;
    stream = fopencookie(f, "w", io);
    if (!stream)
        free(f);
    return stream;
}

/* --- foreign text for a report --- */

/* The length in bytes of the UTF-8 character at text; 0: none starts there. */
static unsigned clean_utf8_char(const char *text, unsigned *code)
{
    uint32_t point = 0;
    size_t len = *text ? utf8_decode(text, 4, &point) : 0;

    *code = point;
    return (unsigned) len;
}

char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size)
{
    const char *s = text ? text : "";
    size_t n = 0, mark = 0; /* mark: where "..." still fits */

    while (*s) {
        unsigned code = 0;
        unsigned len = clean_utf8_char(s, &code);
        bool bad = !len || !quote_is_harmless(code) ||
                   (how == JP_CLEAN_ASCII && code >= 0x80);
        unsigned out = bad ? 1 : len;

        /* It does not fit: cut where "..." does. */
        if (n + out >= size) {
            memcpy(buf + mark, "...", 4);
            return buf;
        }
        if (bad)
            buf[n] = '?';
        else
            memcpy(buf + n, s, len);
        n += out;
        if (n + 4 <= size)
            mark = n;
        s += len ? len : 1;
    }
    buf[n] = '\0';
    return buf;
}
