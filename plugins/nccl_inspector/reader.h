/* reader.h - one line of an Inspector log becomes one record.
 *
 * Format: NVIDIA's Inspector v4.0 JSON lines, as its plugin and our recorder
 * write them: {"header":{..},"metadata":{..},"coll_perf":{..}} or "p2p_perf".
 * Read leniently: any order of keys, blanks, escapes, unknown keys however
 * nested (verbose traces among them), an absent comm_name, timing source or
 * metadata. n_ranks and nnodes both 0 are "unknown" (our recorder under NCCL
 * before 2.27): such a line has no bandwidth. Trusted is nothing: rank <
 * n_ranks <= 1,048,576, 1 <= nnodes <= n_ranks, id is 0x and at most 16 hex
 * digits, names of hosts and functions are printable ASCII of limited length,
 * numbers have limits.
 *
 * With a cache the reader speculates on a line's structure: what is laid out as
 * lines before it is compared instead of parsed (reader_parts.h), any surprise
 * goes to the generic parser, which alone defines the meaning. The record is
 * the same either way, and the ways are counted.
 */
#ifndef JP_NCCL_INSPECTOR_READER_H
#define JP_NCCL_INSPECTOR_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/logsource.h"
#include "common/record.h"
#include "plugins/nccl_recorder/launches.h"

enum inspector_line {
    INSPECTOR_RECORD,
    INSPECTOR_BLANK, /* nothing but blanks */
    INSPECTOR_OTHER, /* a JSON object, but no coll_perf or p2p_perf in it */
    INSPECTOR_BAD    /* why and bad say what */
};

/* Of the records read, how many were compared, parsed and kept for comparing,
 * or parsed because they are laid out in a way that is not known (which way
 * one goes then depends on that line alone). */
struct inspector_ways {
    uint64_t speculated, learned, odd;
};

/* What speculation remembers, from file to file; one a thread. NULL without
 * memory. Destroy takes NULL. */
struct inspector_cache;
struct inspector_cache *inspector_cache_create(void);
void inspector_cache_destroy(struct inspector_cache *cache);

/* One a thread; zero-initialised by its owner, nothing to free. */
struct inspector_reader {
    struct inspector_cache *cache; /* borrowed; NULL: no speculation */
    struct inspector_ways ways;    /* counted only with a cache */
    char why[64];    /* of the last INSPECTOR_BAD: "bad \"coll_sn\"" */
    enum jp_bad bad; /* its kind */
    char name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 2];
    char func[RECORD_MAX_FUNC + 2];
    char id[RECORD_MAX_ID + 2];
};

/* Reads a line of len bytes (without its newline). Texts in *out are borrowed
 * from the line or the reader until the next call. *out is undefined unless
 * INSPECTOR_RECORD is returned. */
enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out);

/* The line at the front of len bytes, with its newline, without looking for
 * that first: only where speculation succeeds. *used bytes were taken. False:
 * ask inspector_read_line. */
bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct record *out, size_t *used);

/* --- inspector_reader.c ------------------------------------------------- */

/* Lines of Inspector's logs, and operations of one launch
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
