/* copper_stream.c - lines of a file that may contain anything, and parts of
 * lines.
 *
 * The lines are those of common/lines.h. The parts of lines need no NUL after
 * them, so lines are used in place. */
#include "plugins/copper/copper_counts.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/lines.h"
#include "common/quote.h"

/* Limits of Copper's files. */
const struct lines_limit copper_lines = {
    "Copper's files",
    0,
    64 * 1024,
    0,
    0,
    LINES_REFUSE,
    "a path has at most 4,095 bytes, each doubled at worst"};

/* Takes lines over; NULL: err is set. */
static int init_stream(struct copper_stream *stream, struct jp_lines *lines)
{
    *stream = (struct copper_stream){.lines = lines};
    return lines ? 0 : -1;
}

int copper_stream_open(struct copper_stream *stream, const char *path,
                       struct jp_error *err)
{
    return init_stream(stream, lines_open(path, &copper_lines, err));
}

int copper_stream_bytes(struct copper_stream *stream, const void *bytes,
                        size_t size, struct jp_error *err)
{
    return init_stream(
        stream, lines_open_memory(bytes, size, "bytes", &copper_lines, err));
}

void copper_stream_close(struct copper_stream *stream)
{
    lines_close(stream->lines);
    *stream = (struct copper_stream){.lines = NULL};
}

int copper_stream_line(struct copper_stream *stream, const char **text,
                       size_t *len, struct jp_error *err)
{
    const struct lines_left *left;
    char *line;
    int rc = lines_next(stream->lines, &line, len, err);

    if (rc > 0) {
        stream->line++;
        /* a last line without a newline counts; `cut` says so */
        stream->cut = lines_is_cut(stream->lines);
        stream->bytes = lines_bytes(stream->lines);
        *text = line;
        return 1;
    }
    stream->cut = false;
    left = lines_left(stream->lines);
    if (rc == 0 || !left->why)
        return rc;
    /* the number in the error is that of the line which is left out */
    stream->line = left->line;
    return copper_stream_bad(stream, err, "%s", left->why);
}

/* The formatted text is cut at 400 bytes; texts of the file are shortened
 * before. */
int copper_stream_bad(const struct copper_stream *stream, struct jp_error *err,
                      const char *fmt, ...)
{
    char what[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return error_set(err, "line %llu: %s", (unsigned long long) stream->line,
                     what);
}

bool copper_is(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && !memcmp(text, word, len);
}

bool copper_begins(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && !memcmp(text, word, n);
}

/* Not by common/num.h, which needs a NUL after the number: tables have millions
 * of counts in lines that are read in place. */
bool copper_u64(const char *text, size_t len, uint64_t *value)
{
    uint64_t sum = 0;

    if (!len)
        return false;
    for (size_t i = 0; i < len; i++) {
        /* anything else than a digit becomes larger than 9 */
        unsigned digit = (unsigned) (unsigned char) text[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

/* A negative number is a counter that passed 2^31; its value is of no use. */
bool copper_counter(const char *text, size_t len, uint64_t *value,
                    bool *wrapped)
{
    uint64_t below;

    if (len < 2 || text[0] != '-')
        return copper_u64(text, len, value);
    *value = 0;
    /* the digits are checked nevertheless */
    *wrapped = true;
    return copper_u64(text + 1, len - 1, &below);
}

bool copper_heading(const char *line, size_t len, const char *heading,
                    size_t *extra)
{
    size_t n = strlen(heading);

    /* "metric,value" is the heading of "metric,value,unit", but not of
     * "metric,values" */
    if (!copper_begins(line, len, heading) || (len > n && line[n] != ','))
        return false;
    *extra = 0;
    for (size_t i = n; i < len; i++)
        *extra += line[i] == ',';
    return true;
}

bool copper_field(const char **text, size_t *len, const char **field,
                  size_t *field_len)
{
    const char *comma;

    /* the last field has been taken */
    if (!*text)
        return false;
    comma = *len ? memchr(*text, ',', *len) : NULL;
    *field = *text;
    *field_len = comma ? (size_t) (comma - *text) : *len;
    *len -= *field_len + (comma != NULL);
    *text = comma ? comma + 1 : NULL;
    return true;
}

/* quote_text shows at most JP_QUOTE_SHOWN bytes, so one more is enough to show
 * that there is more. */
const char *copper_show(const char *text, size_t len, char buf[COPPER_SHOW_LEN])
{
    char part[JP_QUOTE_SHOWN + 2];

    _Static_assert(COPPER_SHOW_LEN >= JP_QUOTE_LEN, "room for any bytes");
    if (len > sizeof(part) - 1)
        len = sizeof(part) - 1;
    if (len)
        memcpy(part, text, len);
    part[len] = '\0';
    return quote_text(part, buf);
}
