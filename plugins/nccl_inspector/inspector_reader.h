/* inspector_reader.h - lines of Inspector's logs, and operations of one launch
 * in its verbose logs.
 *
 * Launches: as in launches.h, but a log has no launches: lines next to each
 * other, of one communicator and rank, tell of one batch where their times (by
 * the GPU) are the same to a microsecond and the host saw them begin and end
 * within half of that of each other. Operations that follow each other are a
 * whole time apart. Lines whose stamps by the host do not go with the GPU's
 * time say nothing, nor do times below 20 us. Logs without verbose traces
 * cannot be told.
 */
#ifndef JP_NCCL_INSPECTOR_NEIGHBOURS_H
#define JP_NCCL_INSPECTOR_NEIGHBOURS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/logsource.h"
#include "plugins/nccl_recorder/launches.h"

struct neighbours;

/* Of one file; take is called with arg. NULL without memory. Destroy takes
 * NULL, and drops what is held. */
struct neighbours *neighbours_create(launches_take *take, void *arg);
void neighbours_destroy(struct neighbours *neighbours);

/* Takes a record with start and end; texts are copied. 0, or the result of
 * take. */
int neighbours_add(struct neighbours *neighbours, const struct record *record);

/* All that is held: at the end of the file, and before a record that is not
 * given to neighbours_add. */
int neighbours_flush(struct neighbours *neighbours);

/* --- lines of a log source, without copying what is in the buffer.
 *
 * A line longer than LOGLINES_MAX_BYTES is skipped and said so once, however
 * long it is; memory stays at LOGLINES_MAX_BYTES + LOGLINES_BLOCK.
 */

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
