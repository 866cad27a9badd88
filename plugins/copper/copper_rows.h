/* copper_rows.h - one path's events, from either of Copper's two formats.
 *
 * Copper keeps a table of paths for metadata, data, directory trees and the
 * ENOENT time to live. It writes the busiest into *-profiling_top_paths.csv
 * and, on demand, all into four *_cache_event.output.
 */
#ifndef JP_PLUGINS_COPPER_ROWS_H
#define JP_PLUGINS_COPPER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/copper/copper_counts.h"

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

/* A reader of rows; both formats. Create with copper_rows_top or
 * copper_rows_table, which borrow the stream. */
struct copper_rows {
    struct copper_stream *stream;
    enum copper_category category; /* of a table */
    bool top, started, ended;
    size_t extra; /* columns that are not known, at the right */
    char *path;   /* grows to COPPER_PATH_MAX */
    size_t len, size;
    uint64_t rows;
};
/* Longest path with what a newline in it brings. */
#define COPPER_PATH_MAX (64 * 1024)

void copper_rows_top(struct copper_rows *rows, struct copper_stream *stream);
void copper_rows_table(struct copper_rows *rows, struct copper_stream *stream,
                       enum copper_category category);
void copper_rows_fini(struct copper_rows *rows);

/* 1: *row is filled, its path borrowed until the next call; 0: the end as it
 * should be; -1: not such a file, cut, or a bad row: nothing more to get. */
int copper_rows_next(struct copper_rows *rows, struct copper_row *row,
                     struct jp_error *err);

/* Does the end of the file at path look like a whole table's? Reads a few
 * bytes, so that a cut table of many megabytes need not be read first. */
bool copper_table_is_whole(const char *path);

#endif
