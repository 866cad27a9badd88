/* copper_counts.h - the files of Copper's daemons: counters, paths, settings,
 * and their names.
 *
 * A Copper "rank" is one cu_fuse daemon, normally one a node. Its counters are
 * 32-bit and signed: past 2^31, those of operations become negative and the
 * aggregate jumps to about 1.8e19. That is recognised and flagged, and such
 * values are never summed. */
#ifndef JP_PLUGINS_COPPER_COUNTS_H
#define JP_PLUGINS_COPPER_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/lines.h"

/* Rows of *-profiling_aggregate.csv, in their order. */
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

/* FUSE operations that Copper counts, sorted by name; one more row for those
 * that are not in this table. */
#define COPPER_N_OPS 43
#define COPPER_OTHER_OP COPPER_N_OPS
extern const char *const copper_op_names[COPPER_N_OPS + 1];

/* The member of struct copper_op that a file contains. */
enum copper_dump {
    COPPER_DUMP_COUNT,
    COPPER_DUMP_TIME, /* microseconds */
    COPPER_DUMP_HIT,
    COPPER_DUMP_MISS,
    COPPER_DUMP_NEG,
    COPPER_N_DUMPS
};

/* A *_cache_size.output: a line for each path, then two sums. */
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
    struct jp_error odd; /* the first thing that was ignored; "": nothing */
};

struct copper_ops {
    struct copper_op row[COPPER_N_OPS + 1];
    bool overflow;
    struct jp_error odd;
};

struct copper_stream {
    struct jp_lines *lines;
    uint64_t line;  /* number of the line read last, from 1 */
    uint64_t bytes; /* bytes read so far */
    bool cut;       /* the last line had no newline */
};

/* A whole *-profiling_aggregate.csv. Returns -1 if it is not one, is cut, or a
 * row is missing or wrong; *out is unchanged then. An unknown metric is ignored
 * and noted in odd. */
int copper_totals_read(struct copper_stream *stream, struct copper_totals *out,
                       struct jp_error *err);

/* A whole *-profiling_operations.csv, in the same way. */
int copper_ops_read(struct copper_stream *stream, struct copper_ops *out,
                    struct jp_error *err);

/* The sums of the aggregate, computed from the operations. TTL counters are not
 * among them: 0. */
void copper_ops_sum(const struct copper_ops *ops, struct copper_totals *out);

/* Whether the two files of one daemon agree. Returns -1 if not: err has the
 * metric and both values. The latency may differ by the rounding of its
 * rows. */
int copper_counts_agree(const struct copper_totals *totals,
                        const struct copper_ops *ops, struct jp_error *err);

/* Sets that member of every operation. Returns -1 if it is not that file, is
 * cut or wrong; *ops is unchanged then. */
int copper_dump_read(struct copper_stream *stream, enum copper_dump dump,
                     struct copper_ops *ops, struct jp_error *err);

/* later - earlier, field by field: what happened in between. Returns -1 if a
 * counter of earlier is greater; *out is unchanged then. */
int copper_ops_since(const struct copper_ops *later,
                     const struct copper_ops *earlier, struct copper_ops *out,
                     struct jp_error *err);
int copper_cache_size_read(struct copper_stream *stream,
                           struct copper_cache_size *out, struct jp_error *err);

/* Lines of a file that may contain anything.
 *
 * Copper's files have mode 0666 in folders of mode 0777: foreign input. */

extern const struct lines_limit copper_lines;

/* A regular file; links are not followed. Returns -1 with the stream closed. */
int copper_stream_open(struct copper_stream *stream, const char *path,
                       struct jp_error *err);
/* The same for bytes in memory, borrowed until close. */
int copper_stream_bytes(struct copper_stream *stream, const void *bytes,
                        size_t size, struct jp_error *err);
void copper_stream_close(struct copper_stream *stream);

/* Returns 1 for a line without its newline, borrowed until the next call, in
 * *text and *len; 0 at the end; -1 at a limit, or if reading failed. */
int copper_stream_line(struct copper_stream *stream, const char **text,
                       size_t *len, struct jp_error *err);

/* err: "line N: <formatted>". Returns -1. */
int copper_stream_bad(const struct copper_stream *stream, struct jp_error *err,
                      const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* -- parts of lines, which need no NUL after them -- */

/* Whether these bytes are that word, or begin with it. */
bool copper_is(const char *text, size_t len, const char *word);
bool copper_begins(const char *text, size_t len, const char *word);
/* Decimal digits only, at most UINT64_MAX. */
bool copper_u64(const char *text, size_t len, uint64_t *value);
/* The same, or a negative number: *wrapped is set then, and *value is 0. */
bool copper_counter(const char *text, size_t len, uint64_t *value,
                    bool *wrapped);

/* Whether the line is the heading, possibly with further columns at its right.
 * *extra: their number. */
bool copper_heading(const char *line, size_t len, const char *heading,
                    size_t *extra);
/* The part up to the next comma; *text and *len move past it. false: there is
 * none left. */
bool copper_field(const char **text, size_t *len, const char **field,
                  size_t *field_len);

#define COPPER_SHOW_LEN 320

/* The bytes for a message: printable and short. */
#define COPPER_SHOW(text, len)                                                 \
    copper_show((text), (len), (char[COPPER_SHOW_LEN]){""})
const char *copper_show(const char *text, size_t len,
                        char buf[COPPER_SHOW_LEN]);

/* --- copper_rows.c ------------------------------------------------------ */

/* Events of one path, from either of Copper's two formats.
 *
 * Copper keeps a table of paths for metadata, data, directory trees and the
 * time to live of ENOENT. It writes the busiest paths into
 * *-profiling_top_paths.csv and, on request, all into four
 * *_cache_event.output. */

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
    const char *path; /* any bytes but NUL; ends with a NUL */
    size_t len;
    /* hits, misses, negatives; of COPPER_TTL: stores, serves, expires, clears
     */
    uint64_t count[4];
    bool wrapped; /* a 32-bit counter became negative: the counts are useless */
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
    size_t extra; /* unknown columns at the right */
    char *path;   /* grows to COPPER_PATH_MAX */
    size_t len, size;
    uint64_t rows;
};
/* The longest path, with what newlines in it add. */
#define COPPER_PATH_MAX (64 * 1024)

#define COPPER_TOP_PATHS (-1)
/* Borrows the stream. category: one of enum copper_category for the stream of
 * its table, or COPPER_TOP_PATHS for top_paths.csv, which has rows of all
 * categories. */
void copper_rows_init(struct copper_rows *rows, struct copper_stream *stream,
                      int category);
void copper_rows_fini(struct copper_rows *rows);

/* Returns 1 if *row is filled, with its path borrowed until the next call; 0 at
 * a proper end; -1 if it is not such a file, is cut, or has a bad row: nothing
 * more can be read then. */
int copper_rows_next(struct copper_rows *rows, struct copper_row *row,
                     struct jp_error *err);

/* Whether the end of the file looks like that of a complete table. Reads only a
 * few bytes, so that a cut table of many megabytes need not be read first. */
bool copper_table_is_whole(const char *path);

/* --- copper_notes.c ----------------------------------------------------- */

/* Other files of a daemon: settings, start-up, its tree. */

/* How a daemon was started, from the head of *-profiling_summary.md or from its
 * log. Unknown numbers are -1. */
struct copper_settings {
    char mode[16];  /* "aggregate-only", "top-path", "full-path"; "": unknown */
    int64_t ttl_ms; /* how long an ENOENT is remembered */
    int64_t top_n;
    int full; /* 1 yes, 0 no, -1 unknown */
};

/* Reads the list at the beginning of a summary.md. Returns -1 if it is none, or
 * is cut within the list. */
int copper_summary_read(struct copper_stream *stream,
                        struct copper_settings *out, struct jp_error *err);

/* The contents of <host>-<pid>-output.log at log level 4 and above; below,
 * there is nothing. Only the first COPPER_LOG_BYTES are read: start-up comes
 * first, and a log may have a line for every failed lookup. */
#define COPPER_LOG_BYTES (1024 * 1024)
struct copper_log {
    /* of the first line, in local time without a zone; -1: unknown */
    int64_t start_us;
    int64_t registration_us; /* until the provider was ready; -1 here and below:
                                unknown */
    int64_t first_rpc_us;    /* until the parent first answered */
    int64_t parent_us;       /* until the parent was confirmed */
    int64_t probes;          /* that were necessary */
    bool timed_out;          /* waiting for the parent */
    int level;               /* depth in the tree, 0 is the root; -1: unknown */
    int64_t trees;           /* of -trees; -1: unknown */
    struct copper_settings settings;
};
int copper_log_read(struct copper_stream *stream, struct copper_log *out,
                    struct jp_error *err);

/* Whether this is the beginning of a Copper daemon's log. */
bool copper_log_probe(const char *head, size_t len);

/* One host a line, "host address" or "host", in the order of the tree. Returns
 * 1 with *host borrowed until the next call, 0 at the end, or -1. Blank lines
 * are skipped. */
int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err);

/* Number of children of a node in a tree of n nodes; and the level of line i,
 * from 0, where levels are filled from left to right. */
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
    COPPER_FILE_NODES, /* of the cluster as well */
    COPPER_N_FILES
};

/* When the file was written, most reliable first. */
enum copper_tag {
    COPPER_TAG_FINAL,
    COPPER_TAG_PRE_DESTROY,
    COPPER_TAG_RUNTIME, /* runtime-snapshot; -N: the Nth copy of it */
    COPPER_TAG_IOCTL,
    COPPER_TAG_PRE_RESET,
    COPPER_TAG_BEFORE, /* dumps made before the step */
    COPPER_N_TAGS
};
extern const char *const copper_tag_names[COPPER_N_TAGS];

#define COPPER_HOST_MAX 256

struct copper_name {
    enum copper_kind kind;
    enum copper_tag tag;
    uint64_t copy; /* of a snapshot: N of the folder <tag>-N; 0: none */
    char host[COPPER_HOST_MAX];
    int64_t pid; /* 0: none */
};

/* false: not a file of Copper's. folder: the name of the file's folder. */
bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name);

#endif
