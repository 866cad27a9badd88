/* loglines.c - cut a stream of blocks into lines. */
#include "plugins/nccl_inspector/loglines.h"

#include <stdlib.h>
#include <string.h>

int loglines_init(struct jp_loglines *lines, struct jp_logsource *source)
{
    loglines_reset(lines, source);
    lines->buf = malloc(LOGLINES_MAX_BYTES + LOGLINES_BLOCK);
    return lines->buf ? 0 : -1;
}

void loglines_reset(struct jp_loglines *lines, struct jp_logsource *source)
{
    char *buf = lines->buf;

    *lines =
        (struct jp_loglines){.source = source, .buf = buf, .to = UINT64_MAX};
}

void loglines_fini(struct jp_loglines *lines)
{
    free(lines->buf);
    lines->buf = NULL;
}

/* Moves the rest to the front and reads a block behind it. */
static int fill(struct jp_loglines *lines, struct jp_error *err)
{
    size_t rest = lines->end - lines->start;
    ssize_t n;

    if (rest > LOGLINES_MAX_BYTES || lines->skipping) {
        lines->skipping = true;
        rest = 0;
    } else if (rest && lines->start) {
        memmove(lines->buf, lines->buf + lines->start, rest);
    }
    lines->start = 0;
    lines->end = rest;
    n = logsource_read(lines->source, lines->buf + rest, LOGLINES_BLOCK, err);
    if (n < 0)
        return -1;
    lines->eof = n == 0;
    lines->end += (size_t) n;
    lines->bytes += (uint64_t) n;
    return 0;
}

static enum loglines_kind give(struct jp_loglines *lines, size_t end,
                               size_t next, enum loglines_kind kind,
                               const char **text, size_t *len)
{
    *text = lines->buf + lines->start;
    *len = end - lines->start;
    lines->start = next;
    if (lines->skipping || *len > LOGLINES_MAX_BYTES) {
        lines->skipping = false;
        *text = NULL;
        *len = 0;
        return LOGLINES_TOO_LONG;
    }
    return kind;
}

enum loglines_kind loglines_next(struct jp_loglines *lines, const char **text,
                                 size_t *len, struct jp_error *err)
{
    size_t looked = 0; /* bytes behind start without a newline */

    for (;;) {
        char *from = lines->buf + lines->start + looked;
        char *newline = memchr(from, '\n', lines->end - lines->start - looked);
        size_t at = newline ? (size_t) (newline - lines->buf) : lines->end;

        if (newline)
            return give(lines, at, at + 1, LOGLINES_LINE, text, len);
        if (lines->eof && (at > lines->start || lines->skipping))
            return give(lines, at, at, LOGLINES_LAST, text, len);
        if (lines->eof || (lines->stop && atomic_load(lines->stop)))
            return LOGLINES_END;
        looked = at - lines->start;
        if (fill(lines, err) < 0) {
            lines->eof = true;
            lines->start = lines->end = 0;
            lines->skipping = false;
            return LOGLINES_ERROR;
        }
        if (lines->skipping)
            looked = 0;
    }
}
