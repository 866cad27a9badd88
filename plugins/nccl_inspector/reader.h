/* reader.h - one line of an Inspector log becomes one record.
 *
 * Format: JSON lines of NVIDIA's Inspector v4.0 to v4.4, as its plugin and
 * (v4.0) our recorder write them:
 *   {"header":{..},"metadata":{..},"coll_perf":{..}}, or "p2p_perf"
 *   v4.1  before the records of a communicator's dump, a marker
 *         {"header":{..},"metadata":{..},"dump_stats":{..}}: how many records
 *         follow, and how many were overwritten before they could be written
 *   v4.2  coll_algo and coll_proto in coll_perf
 *   v4.3  only the marker has a header and metadata; the records that it counts
 *         follow as {"coll_perf":{..}} and {"p2p_perf":{..}}
 *   v4.4  more forms of {"proxy_trace":{..}}, which are not read
 * What a line has decides, not the version that it names. The reader is
 * lenient: any order of keys, blanks, escapes, unknown keys however nested
 * (such as verbose traces), and comm_name, timing source, algorithm, protocol
 * or metadata may be absent. If n_ranks and nnodes are both 0, they are unknown
 * (our recorder under NCCL before 2.27), and the line has no bandwidth. Nothing
 * is trusted: rank < n_ranks <= 1,048,576, 1 <= nnodes <= n_ranks, id is 0x and
 * at most 16 hex digits, names of hosts and functions are printable ASCII of
 * limited length, and numbers have limits. A record without a header is refused
 * if no marker precedes it or if that one's count is used up: whose it is would
 * be a guess.
 *
 * With a cache the reader speculates on the structure of a line. A line with
 * the layout of earlier ones is compared instead of parsed (reader_parts.h).
 * Any surprise goes to the generic parser, which alone defines the meaning. The
 * record is the same either way, and the ways are counted.
 */
#ifndef JP_NCCL_INSPECTOR_READER_H
#define JP_NCCL_INSPECTOR_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/lines.h"
#include "common/logsource.h"
#include "common/record.h"
#include "plugins/nccl_recorder/launches.h"

enum inspector_line {
    INSPECTOR_RECORD,
    INSPECTOR_MARKER, /* dump_stats: the reader's batch and stats have it */
    INSPECTOR_BLANK,  /* nothing but blanks */
    INSPECTOR_OTHER,  /* a JSON object with none of these */
    INSPECTOR_BAD     /* the reader's why and bad have the reason */
};

/* How many of the records were compared; parsed and kept for comparison; or
 * parsed because their layout is unknown. The last number depends on the line
 * alone, the other two on the lines before it. */
struct inspector_ways {
    uint64_t speculated, learned, odd;
};

/* What speculation remembers from file to file; one for each thread. NULL
 * without memory. Destroy accepts NULL. */
struct inspector_cache;
struct inspector_cache *inspector_cache_create(void);
void inspector_cache_destroy(struct inspector_cache *cache);

/* What a marker says of one communicator's dump. */
struct inspector_stats {
    uint64_t records; /* that follow, of collectives, sends and receives */
    uint64_t dropped; /* overwritten since its last dump */
};

/* The last marker: whose records may follow without a header. */
struct inspector_batch {
    uint64_t left[2]; /* records that may follow: collectives, p2p */
    uint32_t place;   /* changes with host or pid */
    uint16_t head;    /* in the cache, from 1; 0: not there */
    uint8_t id_len, name_len, host_len;
    uint32_t rank, n_ranks, nnodes;
    int64_t pid;
    uint64_t dump_us;
    char id[RECORD_MAX_ID], name[RECORD_MAX_NAME], host[RECORD_MAX_HOST];
};

/* One for each thread; the owner initialises it with zeros and has nothing to
 * free. */
struct inspector_reader {
    struct inspector_cache *cache; /* borrowed; NULL: no speculation */
    struct inspector_ways ways;    /* counted only with a cache */
    char why[64];    /* of the last INSPECTOR_BAD: "bad \"coll_sn\"" */
    enum jp_bad bad; /* its kind */
    bool has_header; /* the last line that was parsed has one */
    struct inspector_stats stats; /* of the last INSPECTOR_MARKER */
    struct inspector_batch batch;
    char name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 2];
    char func[RECORD_MAX_FUNC + 2];
    char id[RECORD_MAX_ID + 2];
    char word[RECORD_MAX_FUNC + 2];
};

/* Forgets the last marker: another file begins. */
void inspector_begin_file(struct inspector_reader *reader);

/* Fills in what records of the batch share; texts are borrowed from it. */
void inspector_batch_base(const struct inspector_batch *batch,
                          struct record *out);

/* Reads a line of len bytes (without its newline). Texts in *out are borrowed
 * from the line or the reader until the next call. *out is undefined unless
 * INSPECTOR_RECORD is returned. INSPECTOR_BAD with !has_header: perhaps a
 * record of a batch whose marker was not seen. */
enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out);

/* Reads the line at the front of len bytes with its newline, without searching
 * for that first. This succeeds only by speculation; *used is then the number
 * of bytes. On false call inspector_read_line(). */
bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct record *out, size_t *used);

/* --- reader_details.c ------------------------------------------------------
 *
 * Values that no record keeps, as they are written; absent (len 0) if they are
 * not there or of another type. algobw is a number's digits. */
struct inspector_details {
    struct record_text version, git_rev, mechanism; /* of metadata */
    struct record_text algo, proto, timing_source, algobw;
    bool has_metadata; /* false in a record of a batch (v4.3): its marker has
                          the first three */
};

/* Reads the details of a record's line or a marker's. Texts are borrowed from
 * it. */
void inspector_details_read(const char *line, size_t len,
                            struct inspector_details *out);

/* --- inspector_reader.c ------------------------------------------------- */

/* Lines of Inspector's logs, and operations of one launch in its verbose logs.
 *
 * As in launches.h, but a log does not say what a launch is. Adjacent lines of
 * one communicator and rank are of one batch if their times by the GPU are
 * equal to a microsecond and the host saw them begin and end within half of
 * that time of each other; operations that follow each other are a whole time
 * apart. Lines whose host stamps contradict the GPU's time are left alone, and
 * so are times below 20 us. Without verbose traces batches cannot be
 * recognised.
 */

struct neighbours;

/* For one file; take is called with arg. NULL without memory. Destroy accepts
 * NULL and drops what is held. */
struct neighbours *neighbours_create(launches_take *take, void *arg);
void neighbours_destroy(struct neighbours *neighbours);

/* Adds a record with start and end; texts are copied. Returns 0, or the result
 * of take. */
int neighbours_add(struct neighbours *neighbours, const struct record *record);

/* Hands over all that is held: at the end of the file, and before a record that
 * is not given to neighbours_add(). */
int neighbours_flush(struct neighbours *neighbours);

/* --- lines of a log source, without copying what is in the buffer.
 *
 * A line longer than LOGLINES_MAX_BYTES is skipped and reported once, whatever
 * its length. Memory stays at LOGLINES_MAX_BYTES + LOGLINES_BLOCK.
 */

#define LOGLINES_MAX_BYTES LINES_LOG_LINE
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
    uint64_t to;   /* lines that begin at this offset or later are not read; the
                      caller checks (loglines_at) and may set it */
    uint64_t from; /* offset of the source's first byte */
    /* when it is set no further block is read; may be NULL */
    const atomic_bool *stop;
    bool skipping, eof;
};

/* Returns 0, or -1 without memory. */
int loglines_init(struct jp_loglines *lines, struct jp_logsource *source);
void loglines_fini(struct jp_loglines *lines);
/* Starts with another source, keeping the buffer. */
void loglines_reset(struct jp_loglines *lines, struct jp_logsource *source);

/* Reads the next line; *text is borrowed until the next call. */
enum loglines_kind loglines_next(struct jp_loglines *lines, const char **text,
                                 size_t *len, struct jp_error *err);

/* Returns how many bytes of the next lines are in the buffer already; 0 within
 * a line that is too long. A caller that finds whole lines there may take them.
 */
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
