/* charts.c - all charts, and their two writers: the figures of the page, and
 * the tables and scripts of plots/.
 *
 * charts[] is the list. chart_data_write makes the JSON of the page: charts of
 * rows are built and written, the others collect operations in one common walk
 * and write their own form. report_write_plots builds the same rows again and
 * writes NAME.tsv with NAME.gp; the plot's style decides which draw_* function
 * writes the script. */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"

/* clang-format off */
const struct jp_chart *const charts[] = {
    &chart_time, &chart_drift, &chart_waits, &chart_late, &chart_nodes,
    &chart_busy, &chart_busbw, &chart_network, &chart_spread, &chart_numbers,
    &chart_sizes, &chart_p2p, &chart_windows, NULL};
/* clang-format on */

const struct jp_chart *charts_at(size_t i, const struct feature **of)
{
    size_t n = sizeof(charts) / sizeof(*charts) - 1;

    *of = NULL;
    if (i < n)
        return charts[i];
    i -= n;
    for (size_t k = 0; (*of = feature_registry[k]); k++)
        for (size_t m = 0; (*of)->charts && (*of)->charts[m]; m++)
            if (!i--)
                return (*of)->charts[m];
    return NULL;
}

/* Indices of the lines that are shown; `of` counts all. */
struct picked {
    size_t lines[JP_CHART_MAX_LINES], n, of;
};

static void figures_fini(struct jp_chart_figures *f)
{
    for (size_t i = 0; i < f->n_lines; i++)
        for (size_t k = 0; k < JP_CHART_LABELS; k++)
            free(f->lines[i].labels[k]);
    for (size_t i = 0; i < f->n_rows; i++)
        for (size_t k = 0; k < JP_CHART_COLUMNS; k++)
            if (f->rows[i].values[k].kind == JP_CHART_TEXT)
                /* chart_row has copied it */
                free((char *) f->rows[i].values[k].text);
    free(f->lines);
    free(f->rows);
    *f = (struct jp_chart_figures){0};
}

/* Builds a chart's rows. Returns 0, or -1 when out of memory. Free with
 * figures_fini only after 0. */
static int build_figures(const struct jp_chart *chart,
                         const struct jp_chart_view *view,
                         struct jp_chart_figures *f)
{
    *f = (struct jp_chart_figures){.chart = chart};
    if (chart->build(view, f) == 0 && !f->failed)
        return 0;
    figures_fini(f);
    return -1;
}

/* Returns the index after the last row of a line. */
static size_t line_end(const struct jp_chart_figures *f, size_t line)
{
    return line + 1 < f->n_lines ? f->lines[line + 1].from : f->n_rows;
}

/* Returns true if the line has a row for this face. */
static bool line_has(const struct jp_chart_figures *f, size_t line,
                     unsigned face)
{
    for (size_t i = f->lines[line].from; i < line_end(f, line); i++)
        if (f->rows[i].faces & face)
            return true;
    return false;
}

/* Picks the heaviest lines with a row for a face, at most max of them, in the
 * figures' order. *of: the number of all such lines. */
static void pick_ops(const struct jp_chart_figures *f, unsigned face,
                     size_t max, struct picked *p)
{
    *p = (struct picked){.of = 0};
    for (size_t i = 0; max && i < f->n_lines; i++) {
        size_t least = 0;

        if (!line_has(f, i, face))
            continue;
        p->of++;
        if (p->n < max) {
            p->lines[p->n++] = i;
            continue;
        }
        /* the list is short, so a search for the lightest is enough */
        for (size_t k = 1; k < p->n; k++)
            if (f->lines[p->lines[k]].weight < f->lines[p->lines[least]].weight)
                least = k;
        if (f->lines[i].weight <= f->lines[p->lines[least]].weight)
            continue;
        /* the lightest goes, and the order of the others stays */
        memmove(&p->lines[least], &p->lines[least + 1],
                (p->n - least - 1) * sizeof(*p->lines));
        p->lines[p->n - 1] = i;
    }
    /* the builder may have left out lines itself */
    if (f->of > p->of)
        p->of = f->of;
}

/* --- in the page ---------------------------------------------------------- */

enum { N_CHARTS = sizeof(charts) / sizeof(*charts) - 1 };

/* The state of each chart, in the order of charts[]. */
struct states {
    void *of[N_CHARTS]; /* NULL: the chart has no state */
};

/* Hands an operation to each chart that takes operations. */
static int visit_op(void *arg, const struct jp_chart_op *op)
{
    struct states *states = arg;

    for (size_t i = 0; i < N_CHARTS; i++)
        if (charts[i]->add && charts[i]->add(states->of[i], op) < 0)
            return -1;
    return 0;
}

/* Makes the states and fills them in one walk. Returns 0, or -1 when out of
 * memory; the states made so far are destroyed by the caller. */
static int make_all(const struct jp_chart_view *view, struct states *states)
{
    for (size_t i = 0; i < N_CHARTS; i++) {
        if (!charts[i]->make)
            continue;
        states->of[i] = charts[i]->make(view);
        if (!states->of[i])
            return -1;
    }
    return chart_view_walk(view, visit_op, states);
}

/* Writes a value in JSON's type. */
static void page_value(struct jp_json_stream *json,
                       const struct jp_chart_value *v)
{
    if (v->kind == JP_CHART_TEXT)
        json_stream_text(json, NULL, v->text);
    else if (v->kind == JP_CHART_COUNT)
        json_stream_count(json, NULL, v->count);
    else if (v->kind == JP_CHART_REAL)
        json_stream_real(json, NULL, v->real);
    else
        json_stream_null(json, NULL);
}

/* Writes the row's columns that the page shows. */
static void page_values(struct jp_json_stream *json,
                        const struct jp_chart *chart,
                        const struct jp_chart_row *row)
{
    for (size_t i = 0; i < chart->n_columns; i++)
        if (chart->columns[i].faces & JP_CHART_PAGE)
            page_value(json, &row->values[i]);
}

/* Writes the line's points as one array. */
static void page_points(struct jp_json_stream *json,
                        const struct jp_chart_figures *f, size_t at)
{
    const struct jp_chart_line *line = &f->lines[at];

    json_stream_object(json, NULL);
    for (size_t i = 0; i < JP_CHART_LABELS && f->chart->labels[i]; i++)
        json_stream_text(json, f->chart->labels[i], line->labels[i]);
    json_stream_array(json, "points");
    for (size_t i = line->from; i < line_end(f, at); i++)
        if (f->rows[i].faces & JP_CHART_PAGE)
            page_values(json, f->chart, &f->rows[i]);
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes the lines: the heaviest ones, or all if the chart has no limit. */
static void page_lines(struct jp_json_stream *json,
                       const struct jp_chart_figures *f)
{
    struct picked picked;

    pick_ops(f, JP_CHART_PAGE, f->chart->max_lines, &picked);
    json_stream_array(json, "series");
    for (size_t i = 0; i < picked.n; i++)
        page_points(json, f, picked.lines[i]);
    for (size_t i = 0; !f->chart->max_lines && i < f->n_lines; i++)
        if (line_has(f, i, JP_CHART_PAGE))
            page_points(json, f, i);
    json_stream_end_array(json);
    if (f->chart->max_lines)
        json_stream_count(json, "of", picked.of);
}

/* Writes a chart without lines: one array per row. */
static void page_arrays(struct jp_json_stream *json,
                        const struct jp_chart_figures *f)
{
    json_stream_count(json, "of", f->of);
    json_stream_array(json, "rows");
    for (size_t i = 0; i < f->n_rows; i++) {
        if (!(f->rows[i].faces & JP_CHART_PAGE))
            continue;
        json_stream_array(json, NULL);
        page_values(json, f->chart, &f->rows[i]);
        json_stream_end_array(json);
    }
    json_stream_end_array(json);
}

/* Writes a chart of rows for the page. */
static int page_rows(const struct jp_chart *chart,
                     const struct jp_chart_view *view,
                     struct jp_json_stream *json)
{
    struct jp_chart_figures f;

    if (build_figures(chart, view, &f) < 0)
        return -1;
    json_stream_object(json, NULL);
    /* a chart with labels has lines, one without has rows */
    (chart->labels[0] ? page_lines : page_arrays)(json, &f);
    json_stream_end_object(json);
    figures_fini(&f);
    return 0;
}

/* Writes the object with one key per chart. A chart without a name is only in
 * plots/. */
static int page_all(const struct jp_chart_view *view, struct states *states,
                    FILE *out)
{
    const struct jp_chart *chart;
    struct jp_json_stream json;

    json_stream_open(&json, JSON_SCRIPT, out);
    for (size_t i = 0; i < N_CHARTS; i++) {
        if (!charts[i]->name)
            continue;
        json_stream_key(&json, charts[i]->name);
        if ((charts[i]->build ? page_rows(charts[i], view, &json)
                              : charts[i]->put(view, states->of[i], &json)) < 0)
            return -1;
    }
    for (size_t i = 0; feature_registry[i]; i++)
        for (size_t k = 0; feature_registry[i]->charts &&
                           (chart = feature_registry[i]->charts[k]);
             k++) {
            if (!chart->name)
                continue;
            json_stream_key(&json, chart->name);
            if ((chart->build ? page_rows(chart, view, &json)
                              : chart->put(view, NULL, &json)) < 0)
                return -1;
        }
    json_stream_close(&json, NULL); /* a failure shows in the stream */
    return 0;
}

int chart_data_write(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_insight *insight,
                     const struct feature_set *features, FILE *out)
{
    static const struct jp_result nothing;
    static const struct jp_processes nobody;
    struct states states = {{NULL}};
    struct jp_chart_view view;
    int rc;

    if (chart_view_make(result ? result : &nothing,
                        result ? processes : &nobody, &view) < 0)
        return -1;
    view.insight = insight;
    view.features = features;
    /* a failure leaves the states that were made; the loop below frees them */
    rc = make_all(&view, &states);
    if (rc == 0)
        rc = page_all(&view, &states, out);
    for (size_t i = 0; i < N_CHARTS; i++)
        if (charts[i]->destroy)
            charts[i]->destroy(states.of[i]);
    chart_view_fini(&view);
    return rc;
}

const struct jp_chart *chart_find(const char *name)
{
    const struct jp_chart *chart;
    const struct feature *of;

    /* no check of the end: the caller's name must exist */
    for (size_t i = 0; (chart = charts_at(i, &of)); i++)
        if (chart->name && !strcmp(chart->name, name))
            break;
    return chart;
}

/* --- plots/NAME.tsv --- */

/* A plot while it is written; n_rows counts its rows. */
struct drawn {
    const struct jp_chart_figures *figures;
    const struct jp_chart_plot *plot;
    struct picked picked;
    size_t n_rows; /* rows that plots show */
};

/* Returns the number in the k-th column (from 1) of the row's .tsv; NAN: not a
 * number. */
static double number_at(const struct drawn *d, const struct jp_chart_row *row,
                        unsigned k)
{
    const struct jp_chart_column *c = d->figures->chart->columns;
    const struct jp_chart_value *v = row->values;

    /* count only the columns that the .tsv has */
    for (; !(c->faces & JP_CHART_PLOT) || --k; c++)
        v++;
    return v->kind == JP_CHART_COUNT  ? (double) v->count / c->unit
           : v->kind == JP_CHART_REAL ? v->real / c->unit
                                      : NAN;
}

/* Writes a field. A text is reduced to characters that gnuplot takes literally.
 */
static void put_value(FILE *tsv, const struct jp_chart_value *v, double unit)
{
    char text[80];

    if (v->kind == JP_CHART_TEXT)
        fputs(plot_script_name(v->text, text, sizeof(text)), tsv);
    else if (v->kind == JP_CHART_COUNT && unit == 1)
        fprintf(tsv, "%" PRIu64, v->count);
    else if (v->kind == JP_CHART_COUNT)
        fputs(FIG_EXACT((double) v->count / unit), tsv);
    else
        fputs(FIG_EXACT(v->kind == JP_CHART_REAL ? v->real / unit : NAN), tsv);
}

/* Writes the rows [from, to) that plots show, separated by tabs. */
static void put_rows(FILE *tsv, const struct jp_chart_figures *f, size_t from,
                     size_t to)
{
    const struct jp_chart *chart = f->chart;

    for (size_t i = from; i < to; i++) {
        const char *tab = "";

        if (!(f->rows[i].faces & JP_CHART_PLOT))
            continue;
        for (size_t k = 0; k < chart->n_columns; k++) {
            if (!(chart->columns[k].faces & JP_CHART_PLOT))
                continue;
            fputs(tab, tsv);
            put_value(tsv, &f->rows[i].values[k], chart->columns[k].unit);
            tab = "\t";
        }
        fputc('\n', tsv);
    }
}

/* Writes the headings as a comment of gnuplot. */
static void put_headings(FILE *tsv, const struct jp_chart *chart)
{
    const char *before = "# ";

    for (size_t i = 0; i < chart->n_columns; i++)
        if (chart->columns[i].faces & JP_CHART_PLOT) {
            fprintf(tsv, "%s%s", before, chart->columns[i].heading);
            before = "\t";
        }
    fputc('\n', tsv);
}

/* "mixed AllReduce": the labels of a line, cleaned. */
static const char *line_name(const struct drawn *d, size_t i, char buf[80])
{
    const struct jp_chart_line *line = &d->figures->lines[d->picked.lines[i]];
    char text[2][40] = {"", ""};

    /* a missing label leaves a blank */
    for (size_t k = 0; k < JP_CHART_LABELS; k++)
        plot_script_name(line->labels[k] ? line->labels[k] : "", text[k],
                         d->plot->label_size);
    snprintf(buf, 80, "%s %s", text[0], text[1]);
    return buf;
}

/* Writes the table. Lines of a chart become data sets, which a script can name
 * by index. */
static void put_tsv(const struct drawn *d, FILE *tsv)
{
    const struct jp_chart_figures *f = d->figures;
    char name[80];

    put_headings(tsv, f->chart);
    /* a chart of bars has rows without lines */
    if (!f->n_lines)
        put_rows(tsv, f, 0, f->n_rows);
    /* one blank line ends a line of the plot, two begin a data set */
    for (size_t i = 0; !d->plot->max_lines && i < f->n_lines; i++) {
        fputs(i ? "\n" : "", tsv);
        put_rows(tsv, f, f->lines[i].from, line_end(f, i));
    }
    for (size_t i = 0; i < d->picked.n; i++) {
        fprintf(tsv, "%s# %s\n", i ? "\n\n" : "", line_name(d, i, name));
        put_rows(tsv, f, f->lines[d->picked.lines[i]].from,
                 line_end(f, d->picked.lines[i]));
    }
}

/* --- NAME.gp -------------------------------------------------------------- */

static void put_labels(FILE *gp, const struct jp_chart_plot *plot)
{
    if (plot->x)
        fprintf(gp, "set xlabel '%s'\n", plot->x);
    if (plot->y)
        fprintf(gp, "set ylabel '%s'\n", plot->y);
}

/* The range of an axis. */
struct span {
    double least, most;
};

/* Extends the range by a value. A logarithmic axis has no place for 0. */
static void widen_span(struct span *span, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    if (span->most == 0 || value < span->least)
        span->least = value;
    if (value > span->most)
        span->most = value;
}

/* Writes ticks at powers of two, few enough to be readable. */
static void put_size_axis(FILE *gp, const struct span *bytes)
{
    double low = exp2(floor(log2(bytes->least)));
    double high = exp2(ceil(log2(bytes->most)));
    /* at most 14 ticks */
    double step = exp2(1 + floor(log2(high / low) / 14));
    unsigned n = 0;

    fprintf(gp, "set logscale x 2\nset xrange [%s:%s]\nset xtics (",
            FIG_EXACT(low / 1.5), FIG_EXACT(high * 1.5));
    for (double size = low; size <= high && n < 40 && size < 1e19; size *= step)
        fprintf(gp, "%s'%s' %s", n++ ? ", " : "", FIG_BYTES((uint64_t) size),
                FIG_EXACT(size));
    fputs(") rotate by -40\n", gp);
}

/* Returns the range of the columns [from, to] over the rows that are drawn. */
static struct span span_of(const struct drawn *d, unsigned from, unsigned to)
{
    const struct jp_chart_figures *f = d->figures;
    struct span span = {0};

    for (size_t i = 0; i < d->picked.n; i++)
        for (size_t k = f->lines[d->picked.lines[i]].from;
             k < line_end(f, d->picked.lines[i]); k++)
            for (unsigned c = from; c <= to; c++)
                if (f->rows[k].faces & JP_CHART_PLOT)
                    widen_span(&span, number_at(d, &f->rows[k], c));
    return span;
}

/* Returns 2 or 10: the base that gives enough, but not too many, ticks. */
static int log_base(double least, double most)
{
    return most / least < 500 ? 2 : 10;
}

/* Writes a logarithmic y axis with a margin on both sides. */
static void put_log_axis(FILE *gp, const struct span *span)
{
    fprintf(gp, "set logscale y %d\nset yrange [%s:%s]\n",
            log_base(span->least, span->most), FIG_EXACT(span->least / 1.5),
            FIG_EXACT(span->most * 1.5));
}

/* Writes the plot command with one clause per line. after: further properties.
 */
static void draw_lines(const struct drawn *d, const char *after, FILE *gp)
{
    char name[80];

    if (d->picked.n < d->picked.of)
        fprintf(gp,
                "set label 1 'the %zu of %zu lines with most time' at "
                "graph 0.01,0.98 left\n",
                d->picked.n, d->picked.of);
    fputs("plot ", gp);
    for (size_t i = 0; i < d->picked.n; i++)
        fprintf(gp, "%s'%s.tsv' index %zu using %s linetype %zu%s title '%s'",
                i ? ", \\\n     " : "", d->plot->name, i, d->plot->using, i + 1,
                after, line_name(d, i, name));
    fputc('\n', gp);
}

/* Draws lines over message size; both axes are logarithmic. */
static void draw_sizes(const struct drawn *d, FILE *gp)
{
    struct span bytes = span_of(d, 1, 1);
    struct span gbs = span_of(d, d->plot->from, d->plot->to);

    put_labels(gp, d->plot);
    put_size_axis(gp, &bytes);
    put_log_axis(gp, &gbs);
    fputs("set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n"
          "set bars 0.6\n",
          gp);
    draw_lines(d, "", gp);
}

#define WIDE 5 /* most / least beyond which an axis is logarithmic */

/* Draws lines over time. The y axis is logarithmic only if the values differ
 * much, such as those of a fast and a slow network. */
static void draw_time(const struct drawn *d, FILE *gp)
{
    struct span span = span_of(d, d->plot->from, d->plot->to);

    put_labels(gp, d->plot);
    fputs("set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n",
          gp);
    if (span.most > WIDE * span.least) /* fast and slow networks */
        put_log_axis(gp, &span);
    else
        fputs("set yrange [0:*]\n"
              "set offsets 0, 0, graph 0.08, 0\n",
              gp);
    draw_lines(d, " pointsize 0.6", gp);
}

/* Draws horizontal bars, row by row, because labels are long. types: the
 * colours. */
static void draw_bars(const struct drawn *d, const unsigned types[2], FILE *gp)
{
    fprintf(gp,
            "plot '%s.tsv' using 2:0:(0):2:($0-0.4):($0):ytic(1) with "
            "boxxyerror linetype %u title '%s', \\\n"
            "     '' using 3:0:(0):3:($0):($0+0.4) with boxxyerror linetype %u "
            "title '%s'\n",
            d->plot->name, types[0], d->plot->bars[0], types[1],
            d->plot->bars[1]);
}

/* Draws two horizontal bars per row, in seconds. */
static void draw_seconds(const struct drawn *d, FILE *gp)
{
    put_labels(gp, d->plot);
    fputs("set format x '%.1s %cs'\n"
          "set rmargin 5\n"
          "set xrange [0:*]\n",
          gp);
    /* reversed, so the first row is on top */
    fprintf(gp, "set yrange [%zu:-1]\n", d->n_rows);
    fputs("unset grid\n"
          "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
          "set ytics font ',10'\n"
          "set style fill solid 0.9 noborder\n"
          "set key outside top center horizontal Left reverse samplen 2\n",
          gp);
    draw_bars(d, (const unsigned[]){2, 1}, gp);
}

/* Draws two horizontal bars per row, in percent. */
static void draw_percents(const struct drawn *d, FILE *gp)
{
    fprintf(gp, "set xrange [0:100]\nset yrange [%zu:-1]\n", d->n_rows);
    put_labels(gp, d->plot);
    fputs("unset grid\n"
          "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
          "set style fill solid 0.9 noborder\nset rmargin 5\n"
          "set key outside top center horizontal Left reverse samplen 2\n",
          gp);
    draw_bars(d, (const unsigned[]){1, 2}, gp);
}

/* Draws a point per rank over its level. */
static void draw_levels(const struct drawn *d, FILE *gp)
{
    put_labels(gp, d->plot);
    fprintf(gp,
            "set yrange [0:*]\nset xtics 1\nset offsets "
            "0.5,0.5,0,0\nunset key\n"
            "plot '%s.tsv' using 1:2 with points linetype 1",
            d->plot->name);
    if (d->n_rows <= 64) /* more names would be unreadable */
        fputs(", \\\n     '' using 1:2:4 with labels left offset 1,0 font "
              "',9' noenhanced",
              gp);
    fputs("\n", gp);
}

/* Draws a line per rank; its colour follows from the rank. */
static void draw_snapshots(const struct drawn *d, FILE *gp)
{
    put_labels(gp, d->plot);
    fprintf(gp,
            "set yrange [0:*]\n"
            "unset key\n"
            "plot '%s.tsv' using 1:2:(column(4)+1) with linespoints "
            "linecolor variable\n",
            d->plot->name);
}

/* by enum jp_plot_style */
static void (*const styles[])(const struct drawn *, FILE *) = {
    [JP_PLOT_SIZES] = draw_sizes,     [JP_PLOT_TIME] = draw_time,
    [JP_PLOT_SECONDS] = draw_seconds, [JP_PLOT_PERCENTS] = draw_percents,
    [JP_PLOT_LEVELS] = draw_levels,   [JP_PLOT_SNAPSHOTS] = draw_snapshots,
};

/* Writes the script. If there is nothing to draw, the picture has the reason in
 * it. */
static void put_script(const struct drawn *d, FILE *gp)
{
    const char *why = d->figures->why;

    plot_script_begin(gp, d->plot->name, d->plot->title, 1200, 720);
    if (d->n_rows && !why)
        styles[d->plot->style](d, gp);
    else
        plot_script_nothing(gp, why ? why : d->plot->nothing);
}

/* --- plots/: tables for gnuplot, scripts; later the pictures -------------- */

/* Writes <dir>/NAME.<suffix> by temp + rename. */
static int write_file(const struct drawn *d, const char *dir,
                      const char *suffix,
                      void (*put)(const struct drawn *, FILE *),
                      struct jp_error *err)
{
    char *path = text_format("%s/%s.%s", dir, d->plot->name, suffix);
    struct jp_tempfile file;
    int rc = path ? fileio_temp_open(&file, path, err)
                  : error_set(err, "out of memory");

    free(path);
    if (rc < 0)
        return -1;
    /* a failed write shows when the file is committed */
    put(d, file.stream);
    return fileio_temp_commit(&file, err);
}

/* Builds a chart and writes its table and its script. Returns 0, or -1 and err.
 */
static int write_plot(const struct jp_chart *chart,
                      const struct jp_chart_view *view, const char *dir,
                      struct jp_error *err)
{
    struct drawn d = {.plot = chart->plot};
    struct jp_chart_figures f;
    int rc;

    if (build_figures(chart, view, &f) < 0)
        return error_set(err, "out of memory");
    d.figures = &f;
    /* rows that only the page shows do not count */
    for (size_t i = 0; i < f.n_rows; i++)
        d.n_rows += (f.rows[i].faces & JP_CHART_PLOT) != 0;
    pick_ops(&f, JP_CHART_PLOT, d.plot->max_lines, &d.picked);
    /* the table first, so a script never stands without its data */
    rc = write_file(&d, dir, "tsv", put_tsv, err);
    if (rc == 0)
        rc = write_file(&d, dir, "gp", put_script, err);
    figures_fini(&f);
    return rc;
}

int report_write_plots(const struct jp_report *report, const char *plots_dir,
                       struct jp_error *err)
{
    static const struct jp_result nothing;
    static const struct jp_processes nobody;
    const struct jp_chart_view view = {
        .result = report->result ? report->result : &nothing,
        .processes = report->result ? report->processes : &nobody,
        .insight = report->insight,
        .features = report->features};
    const struct jp_chart *chart;
    const struct feature *of;

    if (fileio_mkdir(plots_dir, err) < 0)
        return -1;
    /* all scripts go first, also those that this report does not write again */
    for (size_t i = 0; (chart = charts_at(i, &of)); i++)
        if (chart->plot)
            gnuplot_remove(plots_dir, chart->plot->name, "gp");
    for (size_t i = 0; (chart = charts_at(i, &of)); i++) {
        if (!chart->plot || (of && !report_has(report, of)))
            continue;
        gnuplot_remove(plots_dir, chart->plot->name, "png");
        if (write_plot(chart, &view, plots_dir, err) < 0)
            return -1;
    }
    return 0;
}
