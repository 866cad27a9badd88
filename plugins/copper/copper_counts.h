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

/* --- copper_rows.c ------------------------------------------------------ */

/* One path's events, from either of Copper's two formats.
 *
 * Copper keeps a table of paths for metadata, data, directory trees and the
 * ENOENT time to live. It writes the busiest into *-profiling_top_paths.csv
 * and, on demand, all into four *_cache_event.output.
 */

enum copper_category {
    COPPER_METADATA,
    COPPER_DATA,
    COPPER_TREE,
    COPPER_TTL,
    COPPER_N_CATEGORIES
};
/* As in top_paths.csv: "metadata" "data" "tree" "metadata_ttl". */
extern const char *const copper_category_names[COPPER_N_CATEGORIES];

struct copper_row {
    enum copper_category category;
    const char *path; /* any bytes but NUL; a NUL stands behind them */
    size_t len;
    /* hits, misses, negatives; of COPPER_TTL: stores, serves, expires, clears
     */
    uint64_t count[4];
    bool wrapped; /* a 32-bit counter turned negative: counts are of no use */
};
#define COPPER_ROW_HITS 0
#define COPPER_ROW_MISSES 1
#define COPPER_ROW_NEGATIVES 2
#define COPPER_ROW_STORES 0
#define COPPER_ROW_SERVES 1
#define COPPER_ROW_EXPIRES 2
#define COPPER_ROW_CLEARS 3

/* Sum of the counts. */
uint64_t copper_row_events(const struct copper_row *row);

/* A reader of rows; both formats. */
struct copper_rows {
    struct copper_stream *stream;
    int category; /* of a table, or COPPER_TOP_PATHS */
    bool started, ended;
    size_t extra; /* columns that are not known, at the right */
    char *path;   /* grows to COPPER_PATH_MAX */
    size_t len, size;
    uint64_t rows;
};
/* Longest path with what a newline in it brings. */
#define COPPER_PATH_MAX (64 * 1024)

/* Borrows the stream. category: one of enum copper_category, of whose table the
 * stream is; or COPPER_TOP_PATHS, which has rows of all categories. */
#define COPPER_TOP_PATHS (-1)
void copper_rows_init(struct copper_rows *rows, struct copper_stream *stream,
                      int category);
void copper_rows_fini(struct copper_rows *rows);

/* 1: *row is filled, its path borrowed until the next call; 0: the end as it
 * should be; -1: not such a file, cut, or a bad row: nothing more to get. */
int copper_rows_next(struct copper_rows *rows, struct copper_row *row,
                     struct jp_error *err);

/* Does the end of the file at path look like a whole table's? Reads a few
 * bytes, so that a cut table of many megabytes need not be read first. */
bool copper_table_is_whole(const char *path);

/* --- copper_notes.c ----------------------------------------------------- */

/* A daemon's side files: settings, start-up, its tree. */

/* How a daemon was started, from the head of *-profiling_summary.md or from
 * its log. Unknown numbers are -1. */
struct copper_settings {
    char mode[16];  /* "aggregate-only", "top-path", "full-path"; "" unknown */
    int64_t ttl_ms; /* how long an ENOENT is remembered */
    int64_t top_n;
    int full; /* 1 yes, 0 no, -1 unknown */
};

/* The bullets of a summary.md. -1: not one, or cut within them. */
int copper_summary_read(struct copper_stream *stream,
                        struct copper_settings *out, struct jp_error *err);

/* What <host>-<pid>-output.log says, at log level 4 and above; less: nothing.
 * Only its first COPPER_LOG_BYTES are read: start-up comes first, and a log
 * may hold a line for every failed lookup. */
#define COPPER_LOG_BYTES (1024 * 1024)
struct copper_log {
    int64_t start_us;        /* of the first line, local time without a zone;
                                -1: none */
    int64_t registration_us; /* until the provider stood; -1 as below */
    int64_t first_rpc_us;    /* until the parent first answered */
    int64_t parent_us;       /* until the parent was confirmed */
    int64_t probes;          /* that it took */
    bool timed_out;          /* waiting for the parent */
    int level;               /* in the tree, 0 is the root; -1 unknown */
    int64_t trees;           /* -trees; -1 unknown */
    struct copper_settings settings;
};
int copper_log_read(struct copper_stream *stream, struct copper_log *out,
                    struct jp_error *err);

/* Is this the beginning of a Copper daemon's log? */
bool copper_log_probe(const char *head, size_t len);

/* One host a line, "host address" or "host", in the tree's order. 1: *host is
 * borrowed until the next call; 0: end; -1. Blank lines are skipped. */
int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err);

/* Children of a node in a tree of n nodes; the level of line i, from 0, filled
 * from left to right. */
unsigned copper_tree_fanout(uint64_t n);
unsigned copper_tree_level(uint64_t i, unsigned fanout);

/* --- what a file of Copper's is, by its folder and name.
 *
 * Names are <host>-<pid>[-<tag>]-<kind>, the host may hold dashes and dots, so
 * a name is taken apart from its right end. Tagged files lie in a folder of the
 * tag's name, final ones in final/.
 */

enum copper_kind {
    COPPER_FILE_AGGREGATE,
    COPPER_FILE_OPERATIONS,
    COPPER_FILE_TOP,
    COPPER_FILE_SUMMARY,
    COPPER_FILE_TABLE_METADATA, /* in the order of enum copper_category */
    COPPER_FILE_TABLE_DATA,
    COPPER_FILE_TABLE_TREE,
    COPPER_FILE_TABLE_TTL,
    COPPER_FILE_DUMP_COUNT, /* in the order of enum copper_dump */
    COPPER_FILE_DUMP_TIME,
    COPPER_FILE_DUMP_HIT,
    COPPER_FILE_DUMP_MISS,
    COPPER_FILE_DUMP_NEG,
    COPPER_FILE_SIZE_DATA, /* cache sizes */
    COPPER_FILE_SIZE_TREE,
    COPPER_FILE_SIZE_METADATA,
    COPPER_FILE_LOG,
    COPPER_FILE_OTHER, /* Copper's, of no use here */
    COPPER_FILE_BOOK,  /* of the cluster, without host and pid */
    COPPER_FILE_NODES, /* likewise */
    COPPER_N_FILES
};

/* When the file was written, best source first. */
enum copper_tag {
    COPPER_TAG_FINAL,
    COPPER_TAG_PRE_DESTROY,
    COPPER_TAG_RUNTIME, /* runtime-snapshot; -N: the Nth copy of it */
    COPPER_TAG_IOCTL,
    COPPER_TAG_PRE_RESET,
    COPPER_TAG_BEFORE, /* dumps that were made before the step */
    COPPER_N_TAGS
};
extern const char *const copper_tag_names[COPPER_N_TAGS];

#define COPPER_HOST_MAX 256

struct copper_name {
    enum copper_kind kind;
    enum copper_tag tag;
    uint64_t copy; /* of a snapshot: N of the folder <tag>-N; 0 none */
    char host[COPPER_HOST_MAX];
    int64_t pid; /* 0 where there is none */
};

/* False: not Copper's. folder is the file's folder's name. */
bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name);

#endif
