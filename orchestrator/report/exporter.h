/* exporter.h - the tree that NCCL Inspector's performance summary exporter
 * makes, for scripts and eyes that are used to it.
 *
 *   DIR/output.log                     what was read, written and left out
 *   DIR/summary/scatter_plot_TYPE_COLL.png
 *   DIR/summary/combined_scatter_plot_TYPE_COLL.png
 *   DIR/summary/msg_size_BYTES_HUMAN/summary_TYPE_COLL_BYTES.csv
 *   DIR/summary/msg_size_BYTES_HUMAN/histograms/histogram_TYPE_COLL_BYTES.png
 *   DIR/summary/msg_size_BYTES_HUMAN/boxplots/boxplot_TYPE_COLL_BYTES.png
 *
 * Names, columns and the grouping are those of perf_summary_exporter.py in NCCL
 * 2.30 (plugins/profiler/inspector/exporter/example), worked out from the
 * joined operations. Functions that it drops (all but AllReduce, AllGather,
 * ReduceScatter, Broadcast) have files of their own here. A script for gnuplot
 * (.gp, with its data inside) stands where a picture could not be drawn; run it
 * in DIR/summary.
 */
#ifndef JP_REPORT_EXPORTER_H
#define JP_REPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"

/* (communicator type, function, message size) with files: three each. With
 * more, those of most time. Sizes in MoE training are as many as batches. */
#define EXPORTER_MAX_CELLS 512

struct jp_exporter_options {
    /* called now and then with pictures drawn and in all; may be NULL */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    uint64_t reading_us; /* what reading and joining took; 0: not known */
};

/* What was written. */
struct jp_exporter_done {
    uint64_t tables;   /* summary_*.csv */
    uint64_t left_out; /* cells over EXPORTER_MAX_CELLS */
    uint64_t pictures;
    uint64_t scripts;           /* pictures that were not drawn */
    struct jp_error no_picture; /* why not; "" if all were */
};

/* Writes the tree into dir (exists). A picture that cannot be drawn is no
 * failure. Files of other sizes from an earlier run stay, said in output.log.
 * Local time is that of TZ. -1: the error names the file; what was written
 * stays. */
int exporter_write(const struct jp_result *result, const char *dir,
                   const struct jp_exporter_options *options,
                   struct jp_exporter_done *done, struct jp_error *err);

/* --- for the exporter's own files, and tests ------------------------------ */

/* Operations grouped and ordered as the exporter's query does. For one
 * communicator type and function it groups records by (id, sequence number,
 * message size) and orders groups by sequence number. Operations of
 * communicators that share their id (NCCL cuts ids to 16 characters) and type
 * are one row, so. Rows of equal sequence number stand in order of id, where
 * the exporter's order is left to chance. */

/* An operation, as far as the exporter looks at it. */
struct exporter_key {
    uint64_t bytes, sn;
    uint32_t group; /* communicator type and function */
    uint32_t comm;
    size_t op; /* its number in the result */
    uint64_t busbw_sum_micro, exec_max_us, dump_min_us, dump_max_us;
    uint32_t n, n_busbw;
};

/* Rows of one communicator type, function and size: a file. */
struct exporter_cell {
    enum jp_comm_type type;
    uint32_t coll;
    uint64_t bytes;
    size_t from, to; /* in table.keys */
    uint64_t rows, records;
    uint64_t valued; /* rows with a bandwidth; the next three are 0 else */
    double mean, min, max;      /* over rows' means, GB/s */
    uint64_t time_us;           /* longest ranks' times, summed */
    uint64_t first_us, last_us; /* writing of records */
    uint64_t last_sn;           /* the first is that of table.keys[from] */
    bool kept;                  /* among those of most time */
};

struct exporter_table {
    const struct jp_result *result; /* borrowed */
    struct exporter_key *keys;      /* every operation, in order */
    size_t n_keys;
    struct exporter_cell *cells; /* by type, function, size */
    size_t n_cells, n_kept;
};

struct exporter_row {
    const char *id;
    uint64_t sn, records;
    double mean; /* of the records' bandwidths, GB/s; NaN: none has one */
    uint64_t start_us, end_us;
    size_t from, to; /* its operations in table.keys */
};

/* 72 bytes an operation. At most max_cells are kept. -1: out of memory. Free
 * with exporter_table_fini. */
int exporter_table_init(struct exporter_table *table,
                        const struct jp_result *result, size_t max_cells);
void exporter_table_fini(struct exporter_table *table);

/* The row of cell that starts at key `at` (cell->from for the first); returns
 * where the next one starts, cell->to after the last. */
size_t exporter_table_row(const struct exporter_table *table,
                          const struct exporter_cell *cell, size_t at,
                          struct exporter_row *row);

#define EXPORTER_WORD 80

/* "65.54KB": powers of 1000, two decimals; "0B". The exporter rounds the size
 * in a CSV column by Python (exact decimal value, ties to even), the one in a
 * folder's name by numpy (times 100, ties to even, / 100): 1055 is 1.05KB in
 * the first, 1.06KB in the second. */
char *exporter_size(uint64_t bytes, char *buf);
char *exporter_size_numpy(uint64_t bytes, char *buf);

/* "2026-11-21 11:02:03.123" in local time; what is below a millisecond is cut
 * off. */
char *exporter_datetime(uint64_t us, char *buf);

/* "110.0\u03bcs", "33.2ms", "1.5s", in UTF-8. */
char *exporter_duration(uint64_t us, char *buf);

/* A double as Python prints it: shortest that reads back, "5.0" for 5. NaN is
 * "", as pandas writes it. */
char *exporter_real(double value, char *buf);

#define EXPORTER_MAX_POINTS 60000 /* of a scatter plot */

/* A picture as a script for gnuplot. It carries its data and is to be run in
 * the summary folder; name is the picture's path from there without ".png".
 * Pictures are bounded: a scatter plot draws so many points, per slice
 * of operations the lowest and the highest, so that no outlier is lost; a box
 * plot at most 2,000 outliers; a combined plot 48 sizes, those of most time. */
enum exporter_picture {
    EXPORTER_SCATTER,   /* of a series of cells from..to */
    EXPORTER_COMBINED,  /* likewise, a panel a size */
    EXPORTER_HISTOGRAM, /* of the cell from */
    EXPORTER_BOXPLOT    /* likewise */
};

/* 0, or -1 when out of memory. */
int exporter_picture_put(const struct exporter_table *table,
                         enum exporter_picture kind, size_t from, size_t to,
                         const char *name, FILE *gp);

#endif
