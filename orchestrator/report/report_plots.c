/* report_plots.c - plots/: tables for gnuplot, scripts; later the pictures. */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/table.h"

/* A picture. It is NAME.tsv, NAME.gp and, rendered, NAME.png. */
struct plot {
    const char *name, *title;
    const char *x, *y;   /* what its axes count; NULL: no label */
    const char *caption; /* in a report.html without charts; NULL: not there */
    bool copper;         /* only with Copper's profiles */
    int (*write)(const struct plot *plot, const struct jp_report *report,
                 FILE *tsv, FILE *gp); /* behind the script's beginning */
};

static void put_labels(FILE *gp, const struct plot *plot)
{
    if (plot->x)
        fprintf(gp, "set xlabel '%s'\n", plot->x);
    if (plot->y)
        fprintf(gp, "set ylabel '%s'\n", plot->y);
}

static const struct jp_result *result_of(const struct jp_report *report)
{
    static const struct jp_result empty;

    return report->result ? report->result : &empty;
}

/* --- bus bandwidth over message size */

#define MAX_SERIES 12 /* more lines cannot be told apart */

struct series {
    size_t from, to; /* cells */
    double time;
};

/* Cells of one type and function stand next to each other. */
static size_t series_end(const struct jp_result *r, size_t from)
{
    size_t to = from + 1;

    while (to < r->n_cells && r->cells[to].type == r->cells[from].type &&
           !strcmp(r->cells[to].coll, r->cells[from].coll))
        to++;
    return to;
}

static int is_plottable(const struct jp_cell *cell)
{
    return cell->bytes > 0 && cell->busbw.n > 0 && cell->busbw.p50 > 0;
}

/* The MAX_SERIES series of most time, in the cells' order. Returns how many,
 * and how many there are in all. */
static size_t pick_series(const struct jp_result *r, struct series *picked,
                          size_t *total)
{
    size_t n = 0;

    *total = 0;
    for (size_t from = 0, to; from < r->n_cells; from = to) {
        struct series s = {.from = from, .to = series_end(r, from)};
        size_t least = 0;

        to = s.to;
        for (size_t i = s.from; i < s.to; i++)
            if (is_plottable(&r->cells[i]))
                s.time += (double) r->cells[i].exec.n * r->cells[i].exec.mean +
                          1e-9;
        if (s.time <= 0)
            continue;
        (*total)++;
        if (n < MAX_SERIES) {
            picked[n++] = s;
            continue;
        }
        for (size_t i = 1; i < n; i++)
            if (picked[i].time < picked[least].time)
                least = i;
        if (s.time <= picked[least].time)
            continue;
        memmove(&picked[least], &picked[least + 1],
                (n - least - 1) * sizeof(*picked));
        picked[n - 1] = s;
    }
    return n;
}

static void put_series(const struct jp_result *r, const struct series *s,
                       FILE *tsv)
{
    for (size_t i = s->from; i < s->to; i++) {
        const struct jp_cell *c = &r->cells[i];

        if (is_plottable(c))
            fprintf(tsv, "%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s\t%s\n",
                    c->bytes, c->ops, FIG_EXACT(c->busbw.min),
                    FIG_EXACT(c->busbw.p50), FIG_EXACT(c->busbw.p95),
                    FIG_EXACT(c->busbw.p99), FIG_EXACT(c->busbw.max));
    }
}

/* What the axes must span. */
struct span {
    double least, most;
};

static void widen(struct span *span, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    if (span->most == 0 || value < span->least)
        span->least = value;
    if (value > span->most)
        span->most = value;
}

/* Ticks at powers of two, few enough to be read. */
static void put_size_axis(FILE *gp, const struct span *bytes)
{
    double low = exp2(floor(log2(bytes->least)));
    double high = exp2(ceil(log2(bytes->most)));
    double step = exp2(1 + floor(log2(high / low) / 14));
    unsigned n = 0;

    fprintf(gp, "set logscale x 2\nset xrange [%s:%s]\nset xtics (",
            FIG_EXACT(low / 1.5), FIG_EXACT(high * 1.5));
    for (double size = low; size <= high && n < 40 && size < 1e19; size *= step)
        fprintf(gp, "%s'%s' %s", n++ ? ", " : "", FIG_BYTES((uint64_t) size),
                FIG_EXACT(size));
    fputs(") rotate by -40\n", gp);
}

static void put_axes(FILE *gp, const struct plot *plot,
                     const struct jp_result *r, const struct series *picked,
                     size_t n)
{
    struct span bytes = {0}, gbs = {0};

    for (size_t k = 0; k < n; k++)
        for (size_t i = picked[k].from; i < picked[k].to; i++) {
            const struct jp_cell *c = &r->cells[i];

            if (!is_plottable(c))
                continue;
            widen(&bytes, (double) c->bytes);
            widen(&gbs, c->busbw.min);
            widen(&gbs, c->busbw.p50);
            widen(&gbs, c->busbw.p95);
        }
    put_labels(gp, plot);
    put_size_axis(gp, &bytes);
    fprintf(gp, "set logscale y %d\nset yrange [%s:%s]\n",
            plot_script_log_base(gbs.least, gbs.most),
            FIG_EXACT(gbs.least / 1.5), FIG_EXACT(gbs.most * 1.5));
    fputs("set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n"
          "set bars 0.6\n",
          gp);
}

/* Bus bandwidth over message size, one line for a type and function: median,
 * and the range from the least to the 95th percentile. */
static int plot_busbw(const struct plot *plot, const struct jp_report *report,
                      FILE *tsv, FILE *gp)
{
    const struct jp_result *result = result_of(report);
    struct series picked[MAX_SERIES];
    size_t total, n = pick_series(result, picked, &total);

    fputs("# msg_size_bytes\tops\tmin\tp50\tp95\tp99\tmax (GB/s)\n", tsv);
    if (!n) {
        plot_script_nothing(gp, "no operation with a bandwidth");
        return 0;
    }
    put_axes(gp, plot, result, picked, n);
    if (n < total)
        fprintf(gp,
                "set label 1 'the %zu of %zu lines with most time' at "
                "graph 0.01,0.98 left\n",
                n, total);
    fputs("plot ", gp);
    for (size_t i = 0; i < n; i++) {
        const struct jp_cell *c = &result->cells[picked[i].from];
        char name[25];

        plot_script_name(c->coll, name, sizeof(name));
        fprintf(tsv, "%s# %s %s\n", i ? "\n\n" : "", comm_type_name(c->type),
                name);
        put_series(result, &picked[i], tsv);
        fprintf(gp,
                "%s'busbw.tsv' index %zu using 1:4:3:5 with yerrorlines "
                "linetype %zu title '%s %s'",
                i ? ", \\\n     " : "", i, i + 1, comm_type_name(c->type),
                name);
    }
    fputc('\n', gp);
    return 0;
}

/* --- for whom the others waited */

#define MAX_RANKS 24

static void put_row(const struct jp_result *r, const struct jp_rank *k,
                    FILE *tsv)
{
    char host[32], name[32];

    plot_script_name(k->host ? k->host : "", host, sizeof(host));
    plot_script_comm(rows_comm(r, k->comm), name, sizeof(name));
    fprintf(tsv, "%s rank %" PRIu32 ", %s\t%s\t%s\t%s\n", name, k->rank, host,
            FIG_EXACT((double) k->caused_us / 1e6),
            FIG_EXACT((double) k->wait_us / 1e6), FIG_EXACT(k->last_share));
}

/* Lying bars: the labels are long. */
static void put_bars(FILE *gp, const struct plot *plot, size_t n)
{
    put_labels(gp, plot);
    fputs("set format x '%.1s %cs'\n"
          "set rmargin 5\n"
          "set xrange [0:*]\n",
          gp);
    fprintf(gp, "set yrange [%zu:-1]\n", n);
    fputs("unset grid\n"
          "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
          "set ytics font ',10'\n"
          "set style fill solid 0.9 noborder\n"
          "set key outside top center horizontal Left reverse samplen 2\n"
          "plot 'waits.tsv' using 2:0:(0):2:($0-0.4):($0):ytic(1) "
          "with boxxyerror linetype 2 title 'the others waited for it', \\\n"
          "     '' using 3:0:(0):3:($0):($0+0.4) with boxxyerror "
          "linetype 1 title 'it waited for others'\n",
          gp);
}

/* The ranks for which the others waited longest. */
static int plot_waits(const struct plot *plot, const struct jp_report *report,
                      FILE *tsv, FILE *gp)
{
    const struct jp_result *result = result_of(report);
    struct jp_rows rows;
    size_t n = 0;

    if (rows_pick(result, result->n_ranks, MAX_RANKS, rows_rank_caused, true,
                  &rows) < 0)
        return -1;
    fputs("# communicator, rank and host\tcaused_s\twaited_s\tlast_share\n",
          tsv);
    for (size_t i = 0; i < rows.n; i++) {
        const struct jp_rank *k = &result->ranks[rows.index[i]];

        if (!k->timed_ops || (!k->caused_us && !k->wait_us))
            continue;
        put_row(result, k, tsv);
        n++;
    }
    rows_fini(&rows);
    if (!n) {
        plot_script_nothing(gp, "no operation in which a rank waited");
        return 0;
    }
    put_bars(gp, plot, n);
    return 0;
}

/* --- bus bandwidth over the run */

#define MAX_SERIES_WINDOWS 8
#define WIDE 5 /* most / least beyond which the axis is logarithmic */

/* One communicator and function. */
struct windows_series {
    size_t comm;
    const char *coll;
    double time;
};

static int by_owner(const void *a, const void *b)
{
    const struct windows_series *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->coll, y->coll);
}

static int by_time(const void *a, const void *b)
{
    const struct windows_series *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return by_owner(a, b);
}

/* Adds a window's time to its windows_series. 0 or -1. */
static int add_window(struct windows_series *list, size_t *n,
                      struct keymap *map, const struct jp_window *w)
{
    /* names are the result's own, each there once */
    uint64_t coll = (uintptr_t) w->coll;
    uint32_t at = keymap_find(map, w->comm, coll);

    if (at == KEYMAP_NONE) {
        at = (uint32_t) *n;
        if (keymap_add(map, w->comm, coll, at) < 0)
            return -1;
        list[(*n)++] = (struct windows_series){w->comm, w->coll, 0};
    }
    list[at].time += (double) w->time_us;
    return 0;
}

/* All windows_series, most time first; caller frees. NULL: out of memory. */
static struct windows_series *list_series(const struct jp_result *r, size_t *n)
{
    struct windows_series *list = calloc(r->n_windows + 1, sizeof(*list));
    struct keymap map = {0};
    int rc = list ? 0 : -1;

    for (size_t i = 0; i < r->n_windows && rc == 0; i++)
        rc = add_window(list, n, &map, &r->windows[i]);
    keymap_fini(&map);
    if (rc == 0) {
        qsort(list, *n, sizeof(*list), by_time);
        return list;
    }
    free(list);
    return NULL;
}

static void windows_put_series(const struct jp_result *r,
                               const struct windows_series *s, FILE *tsv)
{
    uint64_t start = r->windows[0].t0_us; /* sorted by t0 */

    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jp_window *w = &r->windows[i];
        double middle =
            ((double) (w->t0_us - start) + (double) (w->t1_us - start)) / 2e6;

        if (w->comm == s->comm && !strcmp(w->coll, s->coll))
            fprintf(tsv, "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n",
                    FIG_EXACT(middle), FIG_EXACT(w->busbw_mean), w->ops,
                    w->bytes);
    }
}

static void find_span(const struct jp_result *r, double *least, double *most)
{
    *least = INFINITY;
    *most = 0;
    for (size_t i = 0; i < r->n_windows; i++) {
        double gbs = r->windows[i].busbw_mean;

        if (!(gbs > 0) || !isfinite(gbs))
            continue;
        *least = gbs < *least ? gbs : *least;
        *most = gbs > *most ? gbs : *most;
    }
}

static void windows_put_axes(const struct plot *plot, const struct jp_result *r,
                             FILE *gp)
{
    double least, most;

    find_span(r, &least, &most);
    put_labels(gp, plot);
    fputs("set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n",
          gp);
    if (most > WIDE * least) /* lines of a fast and a slow network */
        fprintf(gp, "set logscale y %d\nset yrange [%s:%s]\n",
                plot_script_log_base(least, most), FIG_EXACT(least / 1.5),
                FIG_EXACT(most * 1.5));
    else
        fputs("set yrange [0:*]\n"
              "set offsets 0, 0, graph 0.08, 0\n",
              gp);
}

static void put_plot(const struct jp_result *r,
                     const struct windows_series *list, size_t n, FILE *tsv,
                     FILE *gp)
{
    fputs("plot ", gp);
    for (size_t i = 0; i < n; i++) {
        char coll[32], name[32];

        plot_script_name(list[i].coll, coll, sizeof(coll));
        plot_script_comm(rows_comm(r, list[i].comm), name, sizeof(name));
        fprintf(tsv, "%s# %s %s\n", i ? "\n\n" : "", name, coll);
        windows_put_series(r, &list[i], tsv);
        fprintf(gp,
                "%s'windows.tsv' index %zu using 1:2 with linespoints "
                "linetype %zu pointsize 0.6 title '%s %s'",
                i ? ", \\\n     " : "", i, i + 1, name, coll);
    }
    fputc('\n', gp);
}

/* Mean bus bandwidth over the run, for each communicator and function. */
static int plot_windows(const struct plot *plot, const struct jp_report *report,
                        FILE *tsv, FILE *gp)
{
    const struct jp_result *result = result_of(report);
    size_t total = 0;
    struct windows_series *list = list_series(result, &total);
    size_t n = total < MAX_SERIES_WINDOWS ? total : MAX_SERIES_WINDOWS;

    if (!list)
        return -1;
    fputs("# seconds\tbusbw_gbs\tops\tbytes\n", tsv);
    if (n) {
        windows_put_axes(plot, result, gp);
        if (n < total)
            fprintf(gp,
                    "set label 1 'the %zu of %zu lines with most time' at "
                    "graph 0.01,0.98 left\n",
                    n, total);
        put_plot(result, list, n, tsv, gp);
    } else {
        plot_script_nothing(gp, "no operation with a time");
    }
    free(list);
    return 0;
}

/* --- Copper: operations, ranks by level, classes, snapshots over time ----- */

#define MAX_COPPER_RANKS 20000
#define MAX_POINTS 20000

/* Lying bars of two shares, row by row. */
static void put_percents(FILE *gp, const struct plot *plot, size_t n,
                         const char *first, const char *second)
{
    fprintf(gp, "set xrange [0:100]\nset yrange [%zu:-1]\n", n);
    put_labels(gp, plot);
    fputs("unset grid\n"
          "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
          "set style fill solid 0.9 noborder\nset rmargin 5\n"
          "set key outside top center horizontal Left reverse samplen 2\n",
          gp);
    fprintf(gp,
            "plot '%s.tsv' using 2:0:(0):2:($0-0.4):($0):ytic(1) with "
            "boxxyerror linetype 1 title '%s', \\\n"
            "     '' using 3:0:(0):3:($0):($0+0.4) with boxxyerror linetype 2 "
            "title '%s'\n",
            plot->name, first, second);
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double) part / (double) all : 0;
}

static int plot_copper_ops(const struct plot *plot,
                           const struct jp_report *report, FILE *tsv, FILE *gp)
{
    const struct jp_copper *c = report->copper;
    size_t init = copper_op_find("init", 4), n = 0;
    uint64_t calls = 0, us = 0;

    fputs("# operation\trequests_percent\ttime_percent\n", tsv);
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        calls += c->op[i].calls;
        us += i == init ? 0 : c->op[i].time_us;
    }
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls || i == init)
            continue;
        fprintf(tsv, "%s\t%s\t%s\n", copper_op_names[i],
                FIG_EXACT(percent(op->calls, calls)),
                FIG_EXACT(percent(op->time_us, us)));
        n++;
    }
    if (n)
        put_percents(gp, plot, n, "requests", "time");
    else
        plot_script_nothing(gp, "no table of operations");
    return 0;
}

/* A point a rank: its level and what a getattr takes. */
static int plot_copper_ranks(const struct plot *plot,
                             const struct jp_report *report, FILE *tsv,
                             FILE *gp)
{
    const struct jp_copper *c = report->copper;
    size_t getattr = copper_op_find("getattr", 7), n = 0;

    fputs("# level\tgetattr_us\tlatency_without_init_s\thost\n", tsv);
    for (size_t i = 0; i < c->n_ranks && n < MAX_COPPER_RANKS; i++) {
        const struct jp_copper_rank *r = &c->ranks[i];
        const struct copper_op *op = &r->op[getattr];
        uint64_t init = r->op[copper_op_find("init", 4)].time_us;
        char host[64];

        if (!r->has_ops || !op->calls)
            continue;
        fprintf(
            tsv, "%d\t%s\t%s\t%s\n", r->level,
            FIG_EXACT((double) op->time_us / (double) op->calls),
            FIG_EXACT(((double) r->value[COPPER_LATENCY_US] - (double) init) /
                      1e6),
            plot_script_name(r->host, host, sizeof(host)));
        n++;
    }
    if (!n) {
        plot_script_nothing(gp, "no rank with a getattr");
        return 0;
    }
    put_labels(gp, plot);
    fputs("set yrange [0:*]\nset xtics 1\nset offsets "
          "0.5,0.5,0,0\nunset key\n"
          "plot 'copper_ranks.tsv' using 1:2 with points linetype 1",
          gp);
    if (n <= 64)
        fputs(", \\\n     '' using 1:2:4 with labels left offset 1,0 font "
              "',9' noenhanced",
              gp);
    fputs("\n", gp);
    return 0;
}

static int plot_copper_classes(const struct plot *plot,
                               const struct jp_report *report, FILE *tsv,
                               FILE *gp)
{
    const struct jp_copper *c = report->copper;
    uint64_t top = 0, all = 0;
    size_t n = 0;

    fputs("# class\ttop_percent\tfull_percent\n", tsv);
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        top += c->classes[i].top_events;
        all += c->classes[i].events;
    }
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (!s->top_rows && !s->paths)
            continue;
        fprintf(tsv, "%s\t%s\t%s\n", copper_class_names[s->class],
                FIG_EXACT(percent(s->top_events, top)),
                FIG_EXACT(percent(s->events, all)));
        n++;
    }
    if (n)
        put_percents(gp, plot, n, "busiest paths of each rank", "all paths");
    else
        plot_script_nothing(gp, "no paths were recorded");
    return 0;
}

static int plot_copper_series(const struct plot *plot,
                              const struct jp_report *report, FILE *tsv,
                              FILE *gp)
{
    const struct jp_copper *c = report->copper;
    int64_t first = c->n_points ? c->points[0].time_us : 0;

    fputs("# seconds\toperations\tlatency_s\trank\n", tsv);
    if (c->n_points < 2 || c->times_lost) {
        plot_script_nothing(gp, c->times_lost
                                    ? "the files were copied without their "
                                      "times"
                                    : "fewer than two snapshots");
        return 0;
    }
    for (size_t i = 0; i < c->n_points; i++)
        if (c->points[i].time_us < first)
            first = c->points[i].time_us;
    for (size_t i = 0; i < c->n_points && i < MAX_POINTS; i++) {
        const struct jp_copper_point *p = &c->points[i];

        /* a blank line ends a rank's line in the picture */
        fprintf(tsv, "%s%s\t%" PRIu64 "\t%s\t%zu\n",
                i && p->rank != p[-1].rank ? "\n" : "",
                FIG_EXACT((double) (p->time_us - first) / 1e6),
                p->value[COPPER_OPERATIONS],
                FIG_EXACT((double) p->value[COPPER_LATENCY_US] / 1e6), p->rank);
    }
    put_labels(gp, plot);
    fputs("set yrange [0:*]\n"
          "unset key\n"
          "plot 'copper_series.tsv' using 1:2:(column(4)+1) with linespoints "
          "linecolor variable\n",
          gp);
    return 0;
}

/* --- plots/: tables for gnuplot, scripts; later the pictures */

#define RENDER_LIMIT_MS 5000 /* a picture takes 0.3 s */

static const struct plot plots[] = {
    {"windows", "Bus bandwidth over the run",
     "time since the first record was written (s)", "mean bus bandwidth (GB/s)",
     "Bus bandwidth over the run", false, plot_windows},
    {"waits", "Ranks that arrived last: how long the others waited for them",
     "time, summed over operations", NULL, "Ranks that arrived last", false,
     plot_waits},
    {"busbw",
     "Bus bandwidth by message size: median, bars from least to 95th "
     "percentile",
     "message size (bytes, powers of 1024)", "bus bandwidth (GB/s)",
     "Bus bandwidth by message size", false, plot_busbw},
    {"copper_ops", "Copper: share of requests and of time (start-up left out)",
     "percent", NULL, NULL, true, plot_copper_ops},
    {"copper_ranks", "Copper: what a getattr takes, by level in the tree",
     "level in the tree (root 0; -1 unknown)", "us", NULL, true,
     plot_copper_ranks},
    {"copper_classes", "Copper: events by class of path", "percent", NULL, NULL,
     true, plot_copper_classes},
    {"copper_series", "Copper: counted operations at each snapshot",
     "seconds since the first snapshot", "operations of a rank so far", NULL,
     true, plot_copper_series},
};
enum { N_PLOTS = sizeof(plots) / sizeof(*plots) };

const char *plots_in_page(size_t i, const char **caption)
{
    if (i >= N_PLOTS || !plots[i].caption)
        return NULL;
    *caption = plots[i].caption;
    return plots[i].name;
}

/* Opens dir/name.suffix as a file to be renamed. */
static int open_part(struct jp_tempfile *file, const char *dir,
                     const char *name, const char *suffix, struct jp_error *err)
{
    char *path = fileio_path("%s/%s.%s", dir, name, suffix);
    int rc = path ? fileio_temp_open(file, path, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* Opens both files of a plot; 0: write into them. */
static int open_plot(struct jp_tempfile *tsv, struct jp_tempfile *gp,
                     const char *dir, const char *name, struct jp_error *err)
{
    if (open_part(tsv, dir, name, "tsv", err) < 0)
        return -1;
    if (open_part(gp, dir, name, "gp", err) == 0)
        return 0;
    fileio_temp_abort(tsv);
    return -1;
}

/* rc: of what was written into them. */
static int close_plot(struct jp_tempfile *tsv, struct jp_tempfile *gp, int rc,
                      struct jp_error *err)
{
    if (rc < 0) {
        fileio_temp_abort(tsv);
        fileio_temp_abort(gp);
        return error_set(err, "out of memory");
    }
    if (fileio_temp_commit(tsv, err) < 0) {
        fileio_temp_abort(gp);
        return -1;
    }
    return fileio_temp_commit(gp, err);
}

static int write_plot(const struct jp_report *report, const char *dir,
                      const struct plot *plot, struct jp_error *err)
{
    struct jp_tempfile tsv, gp;

    if (open_plot(&tsv, &gp, dir, plot->name, err) < 0)
        return -1;
    plot_script_begin(gp.stream, plot->name, plot->title, 1200, 720);
    return close_plot(&tsv, &gp,
                      plot->write(plot, report, tsv.stream, gp.stream), err);
}

/* Removes a picture that gnuplot left half done, or of older data. */
static void remove_picture(const char *dir, const char *name)
{
    char *path = fileio_path("%s/%s.png", dir, name);

    if (path)
        unlink(path);
    free(path);
}

/* A script may run programs: none but those that are written now is drawn. */
static void remove_scripts(const char *dir)
{
    for (size_t i = 0; i < N_PLOTS; i++) {
        char *path = fileio_path("%s/%s.gp", dir, plots[i].name);

        if (path)
            unlink(path);
        free(path);
    }
}

/* Draws NAME.gp where there is one. */
static int render_one(const char *dir, const char *name, struct jp_error *err)
{
    char *path = fileio_path("%s/%s.gp", dir, name);
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    rc = access(path, R_OK) < 0
             ? 0
             : gnuplot_run(dir, &name, 1, RENDER_LIMIT_MS, err);
    free(path);
    if (rc != 0)
        remove_picture(dir, name);
    return rc;
}

/* Pictures are an extra: where gnuplot is absent or fails, plots/NOTE says so
 * and the report stands. */
int plots_render(const char *dir, struct jp_error *err)
{
    struct jp_error why = {""};
    char *note = fileio_path("%s/NOTE", dir);
    int rc = 0;

    if (!note)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < N_PLOTS && rc == 0; i++)
        rc = render_one(dir, plots[i].name, &why);
    if (rc != 0) {
        error_wrap(&why, "no pictures (render them by: gnuplot -d *.gp)");
        rc = fileio_write(note, why.text, strlen(why.text), err);
    } else {
        unlink(note);
    }
    free(note);
    return rc;
}

int report_write_plots(const struct jp_report *report, const char *plots_dir,
                       struct jp_error *err)
{
    if (fileio_mkdir(plots_dir, err) < 0)
        return -1;
    remove_scripts(plots_dir);
    for (size_t i = 0; i < N_PLOTS; i++) {
        if (plots[i].copper && !report->copper)
            continue;
        remove_picture(plots_dir, plots[i].name);
        if (write_plot(report, plots_dir, &plots[i], err) < 0)
            return -1;
    }
    return 0;
}
