/* copper_stream.c - lines of a file that may contain anything, and parts of
 * lines.
 *
 * A stream has one buffer, whatever the file's size: fill moves the unread
 * bytes to its start and reads behind them. The parts of lines need no NUL
 * after them, so lines are used in place. */
#include "plugins/copper/copper_counts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/quote.h"

/* Holds the longest line (COPPER_LINE_MAX) several times. */
#define COPPER_BUFFER (256 * 1024)

/* Allocates the buffer. On failure the stream is closed. */
static int init(struct copper_stream *stream, struct jp_error *err)
{
    stream->buffer = malloc(COPPER_BUFFER);
    if (stream->buffer)
        return 0;
    copper_stream_close(stream);
    return error_set(err, "out of memory");
}

int copper_stream_open(struct copper_stream *stream, const char *path,
                       struct jp_error *err)
{
    *stream = (struct copper_stream){.fd = -1};
    stream->fd = fileio_open_regular(path, false, err);
    return stream->fd < 0 ? -1 : init(stream, err);
}

int copper_stream_bytes(struct copper_stream *stream, const void *bytes,
                        size_t size, struct jp_error *err)
{
    *stream =
        (struct copper_stream){.fd = -1, .memory = bytes, .memory_left = size};
    return init(stream, err);
}

void copper_stream_close(struct copper_stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream->buffer);
    *stream = (struct copper_stream){.fd = -1};
}

/* Reads from the file, or from memory in tests. */
static ssize_t pull(struct copper_stream *stream, char *to, size_t room)
{
    ssize_t n;

    if (stream->fd < 0) {
        n = (ssize_t) (room < stream->memory_left ? room : stream->memory_left);
        if (n)
            memcpy(to, stream->memory, (size_t) n);
        stream->memory += n;
        stream->memory_left -= (size_t) n;
        return n;
    }
    do
        n = read(stream->fd, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Makes room and reads more bytes after those that are not used yet. */
static int fill(struct copper_stream *stream, struct jp_error *err)
{
    ssize_t n;

    /* move what is not used yet to the start */
    if (stream->begin) {
        memmove(stream->buffer, stream->buffer + stream->begin,
                stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    n = pull(stream, stream->buffer + stream->end, COPPER_BUFFER - stream->end);
    if (n < 0)
        return error_set(err, "%s", strerror(errno));
    /* a file that grows would be read on: its end is decided here, once */
    stream->eof = n == 0;
    stream->end += (size_t) n;
    stream->bytes += (uint64_t) n;
    return 0;
}

int copper_stream_line(struct copper_stream *stream, const char **text,
                       size_t *len, struct jp_error *err)
{
    const char *newline = NULL;
    size_t seen = 0;

    /* only the bytes that came with the last read are searched for a newline */
    for (;;) {
        const char *from = stream->buffer + stream->begin;
        size_t have = stream->end - stream->begin;

        newline = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
        seen = newline ? (size_t) (newline - from) : have;
        if (seen > COPPER_LINE_MAX) {
            /* the number in the error is that of the line which is too long */
            stream->line++;
            return copper_stream_bad(stream, err, "over %d bytes",
                                     COPPER_LINE_MAX);
        }
        /* a last line without a newline counts; `cut` says so */
        if (newline || (stream->eof && have))
            break;
        if (stream->eof)
            return 0;
        if (fill(stream, err) < 0)
            return -1;
    }
    *text = stream->buffer + stream->begin;
    *len = seen;
    stream->begin += seen + (newline != NULL);
    stream->cut = !newline;
    stream->line++;
    return 1;
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
