/* exporter.h - write the same tree of files as NCCL Inspector's performance
 * summary exporter, for scripts and readers that expect it.
 *
 *   DIR/output.log                     what was read, written and left out
 *   DIR/summary/scatter_plot_TYPE_COLL.png
 *   DIR/summary/combined_scatter_plot_TYPE_COLL.png
 *   DIR/summary/msg_size_BYTES_HUMAN/summary_TYPE_COLL_BYTES.csv
 *   DIR/summary/msg_size_BYTES_HUMAN/histograms/histogram_TYPE_COLL_BYTES.png
 *   DIR/summary/msg_size_BYTES_HUMAN/boxplots/boxplot_TYPE_COLL_BYTES.png
 *
 * Names, columns and the grouping are those of perf_summary_exporter.py in NCCL
 * 2.30 (plugins/profiler/inspector/exporter/example), computed from the joined
 * operations. That exporter drops all functions but AllReduce, AllGather,
 * ReduceScatter and Broadcast; here the others have files of their own. If a
 * picture could not be drawn, a script for gnuplot takes its place (.gp, with
 * its data inside). Run it in DIR/summary.
 */
#ifndef JP_REPORT_EXPORTER_H
#define JP_REPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"

/* Limit of cells (communicator type, function, message size) that get files,
 * three files each. Beyond the limit, the cells of most time are kept. The
 * limit is needed because MoE training has a new size in each batch. */
#define EXPORTER_MAX_CELLS 512

struct jp_exporter_options {
    /* called from time to time with the number of pictures drawn and of all
     * pictures; may be NULL */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    uint64_t reading_us; /* duration of reading and joining; 0: unknown */
    const char *no_pictures; /* why none is drawn; NULL: gnuplot draws them */
};

/* Counts of what was written. */
struct jp_exporter_done {
    uint64_t tables;   /* summary_*.csv */
    uint64_t left_out; /* cells beyond EXPORTER_MAX_CELLS */
    uint64_t pictures;
    uint64_t scripts; /* scripts in place of pictures that were not drawn */
    /* why pictures are missing; "" if all were drawn */
    struct jp_error no_picture;
};

/* Writes the tree into dir, which must exist. A picture that cannot be drawn is
 * not an error. Files of other sizes from an earlier run stay, and output.log
 * says so. Local time follows TZ. Returns -1 if a file cannot be written; the
 * error names it, and the files written before stay. */
int exporter_write(const struct jp_result *result, const char *dir,
                   const struct jp_exporter_options *options,
                   struct jp_exporter_done *done, struct jp_error *err);

/* --- for the exporter's own files, and tests ------------------------------ */

/* Operations, grouped and ordered like the exporter's query. For each
 * communicator type and function, it groups records by (id, sequence number,
 * message size) and sorts the groups by sequence number. So operations of
 * communicators that share type and id (NCCL cuts ids to 16 characters) become
 * one row. Rows with equal sequence number are sorted by id here; the exporter
 * leaves their order undefined. */

/* The part of an operation that the exporter uses. */
struct exporter_key {
    uint64_t bytes, sn;
    uint32_t group; /* communicator type and function */
    uint32_t comm;
    size_t op; /* index of the operation in the result */
    uint64_t busbw_sum_micro, exec_max_us, dump_min_us, dump_max_us;
    uint32_t n, n_busbw;
};

/* The rows of one communicator type, function and size. They make one file. */
struct exporter_cell {
    enum jp_comm_type type;
    uint32_t coll;
    uint64_t bytes;
    size_t from, to; /* range [from, to) in table.keys */
    uint64_t rows, records;
    /* rows with a bandwidth; if 0, the next three are 0, too */
    uint64_t valued;
    double mean, min, max;      /* of the rows' means, GB/s */
    uint64_t time_us;           /* sum of the times of the slowest ranks */
    uint64_t first_us, last_us; /* when the records were written */
    uint64_t last_sn;           /* of the last row; the first row's is that of
                                   table.keys[from] */
    bool kept; /* among the EXPORTER_MAX_CELLS cells of most time */
};

struct exporter_table {
    const struct jp_result *result; /* borrowed */
    struct exporter_key *keys;      /* every operation, sorted */
    size_t n_keys;
    struct exporter_cell *cells; /* sorted by type, function, size */
    size_t n_cells, n_kept;
};

struct exporter_row {
    const char *id;
    uint64_t sn, records;
    double mean; /* mean of the records' bandwidths, GB/s; NaN: none is known */
    uint64_t start_us, end_us;
    size_t from, to; /* range of its operations in table.keys */
};

/* Needs 72 bytes per operation. Keeps at most max_cells cells. Returns 0, or -1
 * when out of memory. Free with exporter_table_fini. */
int exporter_table_init(struct exporter_table *table,
                        const struct jp_result *result, size_t max_cells);
void exporter_table_fini(struct exporter_table *table);

/* Reads the row of cell that starts at key `at` (cell->from for the first row).
 * Returns the start of the next row, or cell->to after the last one. */
size_t exporter_table_row(const struct exporter_table *table,
                          const struct exporter_cell *cell, size_t at,
                          struct exporter_row *row);

#define EXPORTER_WORD 80

/* "65.54KB": powers of 1000 with two decimals; "0B" for 0. The exporter rounds
 * the size in a CSV column in Python (exact decimal value, ties to even), but
 * the size in a folder's name in numpy (times 100, ties to even, / 100). So
 * 1055 becomes 1.05KB in the first and 1.06KB in the second. */
char *exporter_size(uint64_t bytes, char *buf);
char *exporter_size_numpy(uint64_t bytes, char *buf);

/* "2026-11-21 11:02:03.123" in local time, truncated to milliseconds. */
char *exporter_datetime(uint64_t us, char *buf);

/* "110.0\u03bcs", "33.2ms", "1.5s", in UTF-8. */
char *exporter_duration(uint64_t us, char *buf);

/* A double as Python prints it: the shortest text that reads back as the same
 * value, "5.0" for 5. NaN becomes "", as in pandas. */
char *exporter_real(double value, char *buf);

#define EXPORTER_MAX_POINTS 60000 /* points of a scatter plot */

/* A picture as a script for gnuplot, with its data inside. Run it in the
 * summary folder. name is the picture's path from there, without ".png".
 * Pictures are bounded. A scatter plot draws EXPORTER_MAX_POINTS points: the
 * lowest and the highest of each slice of operations, so no outlier is lost. A
 * box plot draws at most 2,000 outliers. A combined plot shows the 48 sizes of
 * most time. */
enum exporter_picture {
    EXPORTER_SCATTER,   /* of the cells from..to */
    EXPORTER_COMBINED,  /* of the cells from..to, one panel per size */
    EXPORTER_HISTOGRAM, /* of the cell `from` */
    EXPORTER_BOXPLOT    /* of the cell `from` */
};

/* Returns 0, or -1 when out of memory. */
int exporter_picture_put(const struct exporter_table *table,
                         enum exporter_picture kind, size_t from, size_t to,
                         const char *name, FILE *gp);

#endif
