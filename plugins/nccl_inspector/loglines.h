/* loglines.h - lines of a log source, without copying what is in the buffer.
 *
 * A line longer than LOGLINES_MAX_BYTES is skipped and said so once, however
 * long it is; memory stays at LOGLINES_MAX_BYTES + LOGLINES_BLOCK.
 */
#ifndef JP_NCCL_INSPECTOR_LOGLINES_H
#define JP_NCCL_INSPECTOR_LOGLINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/logsource.h"

#define LOGLINES_MAX_BYTES (1024 * 1024)
#define LOGLINES_BLOCK (256 * 1024)

enum loglines_kind {
    LOGLINES_LINE,     /* ended by a newline, which is not part of it */
    LOGLINES_LAST,     /* the last bytes, without one */
    LOGLINES_TOO_LONG, /* skipped; text is NULL */
    LOGLINES_END,
    LOGLINES_ERROR /* reading failed; nothing follows */
};

struct jp_loglines {
    struct jp_logsource *source; /* borrowed */
    char *buf;
    size_t start, end;
    uint64_t bytes; /* read so far, decompressed */
    uint64_t to;    /* lines that begin at this offset or behind are not ours;
                       the caller looks (loglines_at) and may set it */
    uint64_t from;  /* offset of the source's first byte */
    const atomic_bool *stop; /* set: no further block is read; NULL: none */
    bool skipping, eof;
};

/* Returns 0, or -1 without memory. */
int loglines_init(struct jp_loglines *lines, struct jp_logsource *source);
void loglines_fini(struct jp_loglines *lines);
/* Starts on another source with the same buffer. */
void loglines_reset(struct jp_loglines *lines, struct jp_logsource *source);

/* *text is borrowed until the next call. */
enum loglines_kind loglines_next(struct jp_loglines *lines, const char **text,
                                 size_t *len, struct jp_error *err);

/* What is read already of the next lines; 0 bytes in the midst of one that is
 * too long. Whoever finds whole lines at the front of it may take them. */
static inline size_t loglines_ahead(const struct jp_loglines *lines,
                                    const char **text)
{
    *text = lines->buf + lines->start;
    return lines->skipping ? 0 : lines->end - lines->start;
}
/* The offset of the next line in the file. */
static inline uint64_t loglines_at(const struct jp_loglines *lines)
{
    return lines->from + lines->bytes - (lines->end - lines->start);
}
static inline void loglines_take(struct jp_loglines *lines, size_t bytes)
{
    lines->start += bytes;
}

#endif
