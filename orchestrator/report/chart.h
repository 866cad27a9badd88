/* chart.h - the charts of a report: one description each, one builder, and two
 * writers: the figures in report.html, as JSON, and plots/ for gnuplot.
 *
 * web/src draws the page's charts, by the same names. What is written is
 * bounded: the heaviest rows and JP_CHART_SLICES slices of time, and "of" says
 * how many rows there were. Times are microseconds, bandwidths GB/s.
 */
#ifndef JP_REPORT_CHART_H
#define JP_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json_stream.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/cause/samples.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/processes.h"
#include "orchestrator/report/table.h"

/* --- what charts look at: operations in equal slices of time, with the rank
 * that came last and the wait it caused -------------------------------------
 */

#define JP_CHART_SLICES                                                        \
    100 /* of the run at most: what a wide screen can tell apart               \
         */

struct jp_chart_view {
    const struct jp_result *result;
    const struct jp_insight *insight; /* NULL until somebody sets it */
    const struct jp_processes *processes;
    const struct jp_copper *copper; /* NULL without */
    const struct samples *samples;  /* NULL: nobody sampled */
    bool *barrier; /* by function: all ranks wait for the last one */
    /* of dump_min_us, over the span of the result's windows; slices = 0: no
     * operation has a time */
    uint64_t from_us, width_us;
    unsigned slices;
};

/* Returns 0, or -1 when out of memory. result and its processes outlive the
 * view. Free with chart_view_fini. */
int chart_view_make(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_chart_view *view);
void chart_view_fini(struct jp_chart_view *view);

/* An operation with what charts ask of it. */
struct jp_chart_op {
    /* but for its starts; comm and coll are in the tables */
    const struct jp_op *op;
    unsigned slice;     /* JP_CHART_SLICES: it has no time */
    double busbw_gbs;   /* mean over the ranks; < 0: none */
    double net_gbs;     /* the network's: of the last arriver, who waits for
                           nobody, where all ranks of a barrier-like operation
                           have one; else the mean */
    size_t last;        /* who came last, a row in result->ranks, as jp_rank
                           counts; SIZE_MAX: nobody is blamed */
    uint64_t caused_us; /* what the others waited for it */
};

/* Calls visit with each operation, in the result's order. Stops where visit
 * returns -1, and returns that. */
int chart_view_walk(const struct jp_chart_view *view,
                    int (*visit)(void *arg, const struct jp_chart_op *op),
                    void *arg);

/* The place of a communicator's rank in result->ranks; SIZE_MAX: none. */
size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank);

/* The heaviest cells with a bandwidth, found by operation. */
struct jp_chart_cells {
    struct jp_rows rows;
    size_t of; /* cells with a bandwidth that there are */
    struct keymap map;
};
int chart_cells_make(const struct jp_chart_view *view, size_t max,
                     struct jp_chart_cells *cells);
/* Index into rows, KEYMAP_NONE: none of these. */
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

/* Not finite: null in the page. */
static inline struct jp_chart_value chart_real(double real)
{
    return (struct jp_chart_value){.kind = JP_CHART_REAL, .real = real};
}

/* Copied by chart_row; NULL: none. */
static inline struct jp_chart_value chart_text(const char *text)
{
    return (struct jp_chart_value){.kind = text ? JP_CHART_TEXT : JP_CHART_NONE,
                                   .text = text};
}

/* Who shows a column, and a row. */
enum { JP_CHART_PAGE = 1, JP_CHART_PLOT = 2, JP_CHART_BOTH = 3 };
enum { JP_CHART_COLUMNS = 10, JP_CHART_LABELS = 2 };

struct jp_chart_row {
    unsigned faces;
    struct jp_chart_value values[JP_CHART_COLUMNS];
};

/* Rows of one function, communicator, ... */
struct jp_chart_line {
    char *labels[JP_CHART_LABELS];
    double weight; /* a plot shows the heaviest lines */
    size_t from;   /* its first row */
};

struct jp_chart_figures {
    const struct jp_chart *chart;
    struct jp_chart_line *lines;
    struct jp_chart_row *rows;
    size_t n_lines, n_rows;
    size_t of;       /* rows, or lines, that there are */
    const char *why; /* there is nothing to draw; NULL: as the plot says */
    bool failed;     /* out of memory */
};

/* For builders. Begins a line; a chart without labels has one, or none. */
void chart_line(struct jp_chart_figures *f, const char *label,
                const char *second);
/* values: one a column. */
void chart_row(struct jp_chart_figures *f, unsigned faces,
               const struct jp_chart_value *values);

/* --- descriptions --------------------------------------------------------- */

struct jp_chart_column {
    unsigned faces;
    const char *heading; /* what it is, with its unit, as in the .tsv */
    double unit;         /* the page's figure / unit is the plot's */
};

#define JP_CHART_COL(who, what) JP_CHART_COL_IN(who, what, 1)
#define JP_CHART_COL_IN(who, what, by)                                         \
    {                                                                          \
        JP_CHART_##who, what, by                                               \
    }

/* plots/NAME.tsv, NAME.gp and, drawn, NAME.png. Columns are counted as gnuplot
 * does: from 1, those of the .tsv. */
struct jp_chart_plot {
    const char *name, *title;
    const char *x, *y; /* what its axes count, in which unit; NULL: no label */
    const char *nothing; /* why it is empty */
    const char *caption; /* in a report.html without charts; NULL: not there */
    enum jp_plot_style {
        JP_PLOT_SIZES,    /* lines over message size, by column 1 */
        JP_PLOT_TIME,     /* lines over time */
        JP_PLOT_SECONDS,  /* lying bars: columns 2 and 3 over zero */
        JP_PLOT_PERCENTS, /* lying bars likewise, of 100 */
        JP_PLOT_LEVELS,   /* points: column 2 over 1, column 4 names them */
        JP_PLOT_SNAPSHOTS /* lines: column 2 over 1, coloured by column 4 */
    } style;
    bool copper;              /* only with Copper's profiles */
    const char *bars[2];      /* the legend of bars */
    const char *using;        /* of lines: columns and "with" */
    unsigned from, to;        /* of lines: columns that the y axis spans */
    unsigned max_lines;       /* more cannot be told apart */
    unsigned char label_size; /* of a line's label and its NUL */
};

struct jp_chart {
    const char *name;    /* its key, and data-chart in the page; NULL: not
                            there */
    const char *caption; /* above it in the page, HTML */

    /* A chart of rows: its builder; 0, or -1 when out of memory. */
    int (*build)(const struct jp_chart_view *view, struct jp_chart_figures *f);
    const struct jp_chart_column *columns;
    size_t n_columns;
    const char *labels[JP_CHART_LABELS]; /* keys of a line's labels in the page;
                                            none: rows, not lines */
    unsigned max_lines; /* in the page: of most weight, and of how many;
                           0: all */
    const struct jp_chart_plot *plot; /* NULL: the page's only */

    /* The others have figures of a form of their own, for the page alone. For
     * charts of operations: room for their figures, or NULL: out of memory;
     * then add with each operation (0, or -1 when out of memory). */
    void *(*make)(const struct jp_chart_view *view);
    int (*add)(void *state, const struct jp_chart_op *op);
    /* One value, null where there is nothing to draw. state is what make gave,
     * NULL without make. Returns 0, or -1 when out of memory. */
    int (*put)(const struct jp_chart_view *view, void *state,
               struct jp_json_stream *json);
    void (*destroy)(void *state); /* takes NULL */
};

#define JP_CHART_ROWS(list)                                                    \
    .columns = (list), .n_columns = sizeof(list) / sizeof(*(list))

/* Lines that a face with max_lines shows at most. */
enum { JP_CHART_MAX_LINES = 12 };

/* All charts, in the page's order, then those that only plots/ has; NULL at the
 * end. */
extern const struct jp_chart *const charts[];
/* By name; it must be there. */
const struct jp_chart *chart_find(const char *name);

/* The page's object, a key a chart. All but processes of a result may be NULL.
 */
int chart_data_write(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_insight *insight,
                     const struct samples *samples, FILE *out);

/* --- for the files of charts ---------------------------------------------- */

/* chart_rows.c: {series: [{type, coll, points: [bytes, ops, p5, p50, p95, net
 * p50 or null, ...]}]} */
extern const struct jp_chart chart_busbw;
/* {series: [{name, points: [bytes, ops, p5, p50, p95, low, expected, high (the
 * last three null where nobody expects anything), ...]}], of} */
extern const struct jp_chart chart_network;
/* {rows: [[rank or null, host, caused, waited or null, share last, named],
 * ...], of}; named: 1 where a finding says that it, or its node, is late.
 * Without a rank in the job: "3 of TP1", "host pid 4711" */
extern const struct jp_chart chart_waits;
/* {rows: [[host, ranks, caused, waited or null, share last, named], ...], of}
 */
extern const struct jp_chart chart_nodes;
/* Only in plots/: mean bandwidth of communicators and functions over the run.
 */
extern const struct jp_chart chart_windows;

/* chart_figures.c: {colls, rows: [exponent of 2, coll, ops, bytes, us, ...]} */
extern const struct jp_chart chart_sizes;
/* {cells: [{type, coll, bytes, n, sample, mean, box: [min, p5, p25, p50, p75,
 * p95, max], hist: {from, width, counts}, ecdf: [101 quantiles]}], of} */
extern const struct jp_chart chart_spread;
/* {series: [{type, coll, bytes, n, points: [sequence number, GB/s, us or null,
 * ...]}], of}; of the n operations one of so many in a row that they fit, with
 * the slowest and the fastest */
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

/* chart_util.c: {from, width, slices, metrics: [{scope, name, unit, help, of
 * members, score: how much the first of out stands out, low, mid, high: of the
 * others, a value or null a slice, out: [{name, values}]}]}; null: nobody
 * sampled */
extern const struct jp_chart chart_util;
/* {from, width, slices, maps: [{scope, name, unit, help, of, rows: in all,
 * names, cells: [row, slice, value, ...]}]} */
extern const struct jp_chart chart_util_time;

/* report_copper.c; only in plots/ */
extern const struct jp_chart chart_copper_ops, chart_copper_ranks,
    chart_copper_classes, chart_copper_series;

#endif
