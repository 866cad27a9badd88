/* copper_counts.h - what one daemon counted: its aggregate, its operations.
 *
 * A Copper "rank" is one cu_fuse daemon, normally one a node. Its counters are
 * 32-bit and signed: past 2^31 the operations turn negative and the aggregate
 * jumps to about 1.8e19. That is recognised and flagged, never summed.
 */
#ifndef JP_PLUGINS_COPPER_COUNTS_H
#define JP_PLUGINS_COPPER_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Rows of *-profiling_aggregate.csv, in its order. */
enum copper_metric {
    COPPER_OPERATIONS,
    COPPER_HITS,
    COPPER_MISSES,
    COPPER_NEGATIVES,
    COPPER_SAVED, /* equal to COPPER_HITS */
    COPPER_TTL_STORES,
    COPPER_TTL_SERVES,
    COPPER_TTL_EXPIRES,
    COPPER_TTL_CLEARS,
    COPPER_TTL_AVOIDED, /* equal to COPPER_TTL_SERVES */
    COPPER_LATENCY_US,  /* in the file: seconds with six digits */
    COPPER_N_METRICS
};
extern const char *const copper_metric_names[COPPER_N_METRICS];

/* FUSE operations that Copper counts, sorted by name; one row more for those
 * that this table does not know. */
#define COPPER_N_OPS 43
#define COPPER_OTHER_OP COPPER_N_OPS
extern const char *const copper_op_names[COPPER_N_OPS + 1];

/* Which field of struct copper_op a file holds. */
enum copper_dump {
    COPPER_DUMP_COUNT,
    COPPER_DUMP_TIME, /* microseconds */
    COPPER_DUMP_HIT,
    COPPER_DUMP_MISS,
    COPPER_DUMP_NEG,
    COPPER_N_DUMPS
};

/* A *_cache_size.output: a line a path, then two sums. */
struct copper_cache_size {
    uint64_t bytes, entries;
};
/* The row of a name; COPPER_OTHER_OP: unknown. */
size_t copper_op_find(const char *name, size_t len);

struct copper_op {
    uint64_t calls, hits, misses, negatives, time_us;
};

struct copper_totals {
    uint64_t value[COPPER_N_METRICS];
    bool overflow;       /* a value that only a wrapped counter gives */
    struct jp_error odd; /* what was ignored, the first of it; "" nothing */
};

struct copper_ops {
    struct copper_op row[COPPER_N_OPS + 1];
    bool overflow;
    struct jp_error odd;
};

struct copper_stream {
    int fd; /* -1: bytes in memory */
    const char *memory;
    size_t memory_left;
    char *buffer; /* of COPPER_BUFFER bytes */
    size_t begin, end;
    uint64_t line;  /* of what was read last, from 1 */
    uint64_t bytes; /* read so far */
    bool eof;
    bool cut; /* the last line had no newline */
};

/* A whole *-profiling_aggregate.csv. -1: not one, cut, or a row is missing or
 * wrong; *out is untouched then. An unknown metric is ignored and told in
 * odd. */
int copper_totals_read(struct copper_stream *stream, struct copper_totals *out,
                       struct jp_error *err);

/* A whole *-profiling_operations.csv likewise. */
int copper_ops_read(struct copper_stream *stream, struct copper_ops *out,
                    struct jp_error *err);

/* The aggregate's own sums, made from the operations (no TTL counters: 0). */
void copper_ops_sum(const struct copper_ops *ops, struct copper_totals *out);

/* Do the two files of one daemon tell the same? -1: err names the metric and
 * both values. Latency may differ by the rounding of its rows. */
int copper_counts_agree(const struct copper_totals *totals,
                        const struct copper_ops *ops, struct jp_error *err);

/* Sets that field of every operation. -1: not that file, cut or wrong; *ops
 * is untouched then. */
int copper_dump_read(struct copper_stream *stream, enum copper_dump dump,
                     struct copper_ops *ops, struct jp_error *err);

/* later - earlier, field by field: what happened in between. -1: a counter of
 * earlier is greater; *out is untouched then. */
int copper_ops_since(const struct copper_ops *later,
                     const struct copper_ops *earlier, struct copper_ops *out,
                     struct jp_error *err);
int copper_cache_size_read(struct copper_stream *stream,
                           struct copper_cache_size *out, struct jp_error *err);

/* Lines of a file that may be anything, through one buffer.
 *
 * Copper's files are mode 0666 in folders of mode 0777: foreign input. A stream
 * holds one buffer of COPPER_LINE_MAX bytes whatever the file's size.
 */

/* Longest line. A path has at most 4,095 bytes, each doubled at worst. */
#define COPPER_LINE_MAX (64 * 1024)

/* A regular file; links are not followed. */
int copper_stream_open(struct copper_stream *stream, const char *path,
                       struct jp_error *err);
/* Bytes in memory, borrowed until close. */
int copper_stream_bytes(struct copper_stream *stream, const void *bytes,
                        size_t size, struct jp_error *err);
void copper_stream_close(struct copper_stream *stream);

/* 1: a line without its newline, borrowed until the next call, in *text and
 * *len; 0: end; -1: a line over COPPER_LINE_MAX, or reading failed. */
int copper_stream_line(struct copper_stream *stream, const char **text,
                       size_t *len, struct jp_error *err);

/* err: "line N: <formatted>". Returns -1. */
int copper_stream_bad(const struct copper_stream *stream, struct jp_error *err,
                      const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* -- parts of lines; none needs a NUL behind the bytes -- */

/* Are these bytes that word? */
bool copper_is(const char *text, size_t len, const char *word);
bool copper_begins(const char *text, size_t len, const char *word);
/* Decimal digits alone, at most UINT64_MAX. */
bool copper_u64(const char *text, size_t len, uint64_t *value);
/* The same, or a negative number: *wrapped is set and *value 0. */
bool copper_counter(const char *text, size_t len, uint64_t *value,
                    bool *wrapped);

/* Is line the heading, with or without columns more at its right? Their number
 * goes to *extra. */
bool copper_heading(const char *line, size_t len, const char *heading,
                    size_t *extra);
/* The part up to the next comma; *text and *len move behind it. False: there
 * is none left. */
bool copper_field(const char **text, size_t *len, const char **field,
                  size_t *field_len);

#define COPPER_SHOW_LEN 320

/* The bytes for a message: printable, short. */
#define COPPER_SHOW(text, len)                                                 \
    copper_show((text), (len), (char[COPPER_SHOW_LEN]){""})
const char *copper_show(const char *text, size_t len,
                        char buf[COPPER_SHOW_LEN]);

#endif
