/* chart.h - the charts of a report. Each chart has one description and one
 * builder. Two writers use them: one for the figures in report.html (JSON), one
 * for plots/ (gnuplot).
 *
 * The code in web/src draws the charts of the page, under the same names. The
 * output is bounded: it holds the heaviest rows and at most JP_CHART_SLICES
 * slices of time. The key "of" has the number of all rows. Times are in
 * microseconds, bandwidths in GB/s.
 */
#ifndef JP_REPORT_CHART_H
#define JP_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json_stream.h"
#include "orchestrator/aggregate/aggregate.h"
#include "common/keymap.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/report/table.h"

/* --- input of the charts: operations in equal slices of time --------------
 *
 * Each operation has the last rank to arrive and the wait that it caused. */

/* most slices of a run: more cannot be distinguished on a wide screen */
#define JP_CHART_SLICES 100

struct jp_chart_view {
    const struct jp_result *result;
    const struct jp_insight *insight; /* NULL until the caller sets it */
    const struct jp_processes *processes;
    const struct feature_set *features; /* may be NULL */
    bool *barrier; /* by function: true if all ranks wait for the last one */
    /* Slices of dump_min_us over the span of the result's windows. slices is 0
     * if no operation has a time. */
    uint64_t from_us, width_us;
    unsigned slices;
};

/* Returns 0, or -1 when out of memory. result and processes must outlive the
 * view. Free with chart_view_fini. */
int chart_view_make(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_chart_view *view);
void chart_view_fini(struct jp_chart_view *view);

/* An operation with the derived figures that charts use. */
struct jp_chart_op {
    /* without its start times; comm and coll are indices into the tables */
    const struct jp_op *op;
    unsigned slice;   /* JP_CHART_SLICES: the operation has no time */
    double busbw_gbs; /* mean over the ranks; < 0: unknown */
    /* bandwidth of the network. In a barrier-like operation with a time from
     * every rank: that of the last rank to arrive, which waits for no other.
     * Else: the mean */
    double net_gbs;
    /* the last rank to arrive: index into result->ranks, counted as for
     * jp_rank; SIZE_MAX: no rank is blamed */
    size_t last;
    uint64_t caused_us; /* total wait of the other ranks for it */
};

/* Calls visit for each operation, in the result's order. Stops if visit returns
 * -1, and then returns -1. */
int chart_view_walk(const struct jp_chart_view *view,
                    int (*visit)(void *arg, const struct jp_chart_op *op),
                    void *arg);

/* Index of a communicator's rank in result->ranks; SIZE_MAX: not found. */
size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank);

/* The heaviest cells with a bandwidth; an operation finds its cell here. */
struct jp_chart_cells {
    struct jp_rows rows;
    size_t of; /* number of all cells with a bandwidth */
    struct keymap map;
};
int chart_cells_make(const struct jp_chart_view *view, size_t max,
                     struct jp_chart_cells *cells);
/* Returns an index into rows, or KEYMAP_NONE if the operation's cell is not
 * among them. */
uint32_t chart_cells_find(const struct jp_chart_view *view,
                          const struct jp_chart_cells *cells,
                          const struct jp_op *op);
void chart_cells_fini(struct jp_chart_cells *cells);

/* --- figures: rows of values, in lines ------------------------------------ */

struct jp_chart_value {
    enum { JP_CHART_NONE, JP_CHART_TEXT, JP_CHART_COUNT, JP_CHART_REAL } kind;
    union {
        const char *text;
        uint64_t count;
        double real;
    };
};

static inline struct jp_chart_value chart_count(uint64_t count)
{
    return (struct jp_chart_value){.kind = JP_CHART_COUNT, .count = count};
}

/* A value that is not finite becomes null in the page. */
static inline struct jp_chart_value chart_real(double real)
{
    return (struct jp_chart_value){.kind = JP_CHART_REAL, .real = real};
}

/* chart_row copies the text. NULL: no value. */
static inline struct jp_chart_value chart_text(const char *text)
{
    return (struct jp_chart_value){.kind = text ? JP_CHART_TEXT : JP_CHART_NONE,
                                   .text = text};
}

/* Which writers show a column or a row. */
enum { JP_CHART_PAGE = 1, JP_CHART_PLOT = 2, JP_CHART_BOTH = 3 };
enum { JP_CHART_COLUMNS = 10, JP_CHART_LABELS = 2 };

struct jp_chart_row {
    unsigned faces;
    struct jp_chart_value values[JP_CHART_COLUMNS];
};

/* The rows of one function, communicator, or other group. */
struct jp_chart_line {
    char *labels[JP_CHART_LABELS];
    double weight; /* a plot shows the lines of greatest weight */
    size_t from;   /* index of its first row */
};

struct jp_chart_figures {
    const struct jp_chart *chart;
    struct jp_chart_line *lines;
    struct jp_chart_row *rows;
    size_t n_lines, n_rows;
    size_t of; /* number of all rows, or lines, before the limit */
    /* why there is nothing to draw; NULL: the plot's own reason */
    const char *why;
    bool failed; /* out of memory */
};

/* For builders: begins a line. A chart without labels has at most one line. */
void chart_line(struct jp_chart_figures *f, const char *label,
                const char *second);
/* values: one for each column. */
void chart_row(struct jp_chart_figures *f, unsigned faces,
               const struct jp_chart_value *values);

/* --- descriptions --------------------------------------------------------- */

struct jp_chart_column {
    unsigned faces;
    const char *heading; /* name and unit, as in the .tsv */
    double unit;         /* divisor: the plot shows the page's figure / unit */
};

#define JP_CHART_COL(who, what) JP_CHART_COL_IN(who, what, 1)
#define JP_CHART_COL_IN(who, what, by)                                         \
    {                                                                          \
        JP_CHART_##who, what, by                                               \
    }

/* Files of a plot: plots/NAME.tsv, NAME.gp and, once drawn, NAME.png. Columns
 * are those of the .tsv, counted from 1 as in gnuplot. */
struct jp_chart_plot {
    const char *name, *title;
    const char *x, *y; /* labels of the axes with their units; NULL: no label */
    const char *nothing; /* text for an empty plot */
    /* for a report.html without charts; NULL: not shown there */
    const char *caption;
    enum jp_plot_style {
        JP_PLOT_SIZES,    /* lines over message size, by column 1 */
        JP_PLOT_TIME,     /* lines over time */
        JP_PLOT_SECONDS,  /* horizontal bars: columns 2 and 3 from zero */
        JP_PLOT_PERCENTS, /* horizontal bars, as before, out of 100 */
        JP_PLOT_LEVELS,   /* points: column 2 over column 1; column 4 names the
                             levels */
        JP_PLOT_SNAPSHOTS /* lines: column 2 over column 1, coloured by column 4
                           */
    } style;
    const char *bars[2]; /* legend of the bars */
    const char *using;   /* of lines: gnuplot's columns and its "with" clause */
    unsigned from, to;  /* of lines: columns that set the range of the y axis */
    unsigned max_lines; /* more lines would be unreadable */
    unsigned char label_size; /* room for a line's label and its NUL */
};

struct jp_chart {
    const char *name; /* key in the JSON, and data-chart in the page; NULL: not
                         in the page */
    const char *caption; /* HTML above the chart in the page */

    /* For a chart of rows: builds the rows. Returns 0, or -1 when out of
     * memory. */
    int (*build)(const struct jp_chart_view *view, struct jp_chart_figures *f);
    const struct jp_chart_column *columns;
    size_t n_columns;
    /* keys of a line's labels in the page; NULL: the page gets rows without
     * lines */
    const char *labels[JP_CHART_LABELS];
    /* in the page: number of heaviest lines to show; 0: all */
    unsigned max_lines;
    const struct jp_chart_plot *plot; /* NULL: only in the page */

    /* All other charts have figures of their own form, and only the page shows
     * them. A chart of operations has these two. make allocates the state;
     * NULL: out of memory. add then gets each operation and returns 0, or -1
     * when out of memory. */
    void *(*make)(const struct jp_chart_view *view);
    int (*add)(void *state, const struct jp_chart_op *op);
    /* Writes one JSON value; null if there is nothing to draw. state: what make
     * returned; NULL if the chart has no make. Returns 0, or -1 when out of
     * memory. */
    int (*put)(const struct jp_chart_view *view, void *state,
               struct jp_json_stream *json);
    void (*destroy)(void *state); /* accepts NULL */
};

#define JP_CHART_ROWS(list)                                                    \
    .columns = (list), .n_columns = sizeof(list) / sizeof(*(list))

/* The limit that charts use for max_lines. */
enum { JP_CHART_MAX_LINES = 12 };

/* All charts, in the page's order. Those that only plots/ shows come last. Ends
 * with NULL. */
extern const struct jp_chart *const charts[];
/* The chart number i of these and then of the features; *of: its feature, or
 * NULL. Returns NULL after the last. */
const struct jp_chart *charts_at(size_t i, const struct feature **of);
/* Finds a chart by its name, which must exist. */
const struct jp_chart *chart_find(const char *name);

/* Writes the JSON object of the page, one key per chart. processes belong to
 * result. All arguments but processes may be NULL. */
int chart_data_write(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_insight *insight,
                     const struct feature_set *features, FILE *out);

/* --- for the files of charts ---------------------------------------------- */

/* chart_rows.c: {series: [{type, coll, points: [bytes, ops, p5, p50, p95, net
 * p50 or null, ...]}]} */
extern const struct jp_chart chart_busbw;
/* {series: [{name, points: [bytes, ops, p5, p50, p95, low, expected, high,
 * ...]}], of}. The last three of a point are null without an expectation. */
extern const struct jp_chart chart_network;
/* {rows: [[rank or null, host, caused, waited or null, share last, named],
 * ...], of}; named: 1 if a finding says that the rank or its node is late. A
 * process without a rank in the job is named "3 of TP1" or "host pid 4711" */
extern const struct jp_chart chart_waits;
/* {rows: [[host, ranks, caused, waited or null, share last, named], ...], of}
 */
extern const struct jp_chart chart_nodes;
/* Only in plots/: mean bandwidth of each communicator and function over the
 * run. */
extern const struct jp_chart chart_windows;

/* chart_figures.c: {colls, rows: [exponent of 2, coll, ops, bytes, us, ...]} */
extern const struct jp_chart chart_sizes;
/* {cells: [{type, coll, bytes, n, sample, mean, box: [min, p5, p25, p50, p75,
 * p95, max], hist: {from, width, counts}, ecdf: [101 quantiles]}], of} */
extern const struct jp_chart chart_spread;
/* {series: [{type, coll, bytes, n, points: [sequence number, GB/s, us or null,
 * ...]}], of}. The points are a sample of the n operations: one of every few in
 * a row, so that the sample fits, plus the slowest and the fastest. */
extern const struct jp_chart chart_numbers;
/* {by: "rank" or "node", names, cells: [from, to, bytes, us, ...], of} */
extern const struct jp_chart chart_p2p;

/* chart_time.c: {from, width, slices, rows: [{id, name, type}], cells: [row,
 * slice, percent off, ...], of} */
extern const struct jp_chart chart_drift;
/* {from, width, slices, ranks: {names, cells: [row, slice, us, ...], of},
 * nodes: {...}} */
extern const struct jp_chart chart_late;
/* {from, width, slices, series: [{type, coll, bytes, points: [slice, ops, mean,
 * min, max, ...]}], of} */
extern const struct jp_chart chart_time;
/* {from, width, slices, of, names, cells: [row, slice, per mille of the time,
 * ...]} */
extern const struct jp_chart chart_busy;

#endif
