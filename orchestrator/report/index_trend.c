/* index_trend.c - index.html's pictures: verdicts by step, and bandwidths of
 * the kinds of operations that several steps have. */
#include "orchestrator/report/index_trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/summary_file.h"

/* --- a strip of verdicts, a line for each kind of operation -------------- */

/* latest steps; kinds of one step; lines drawn */
enum { MAX_STEPS = 100, MAX_KINDS = 8, LINES = 6 };
enum { STRIP = 22, WIDTH = 360, HEIGHT = 44, EDGE = 6 }; /* px */

/* A kind over the steps. */
struct kind {
    const char *type, *coll; /* borrowed */
    uint64_t bytes;
    double time_us;
    double gbs[MAX_STEPS]; /* median; NAN: the step has none */
    unsigned n;
};

struct trend {
    const json_t *steps;
    size_t first, n; /* the range of steps shown */
    struct kind *kinds;
    size_t n_kinds;
};

static const json_t *step_at(const struct trend *t, size_t i)
{
    return json_array_get(t->steps, t->first + i);
}

static struct kind *find_kind(struct trend *t, const json_t *cell)
{
    const char *type = summary_file_text(cell, "comm_type");
    const char *coll = summary_file_text(cell, "coll");
    uint64_t bytes = 0;
    struct kind *kind;

    summary_file_count(cell, "msg_size_bytes", &bytes);
    for (size_t i = 0; i < t->n_kinds; i++)
        if (t->kinds[i].bytes == bytes && !strcmp(t->kinds[i].coll, coll) &&
            !strcmp(t->kinds[i].type, type))
            return &t->kinds[i];
    kind = &t->kinds[t->n_kinds++];
    *kind = (struct kind){.type = type, .coll = coll, .bytes = bytes};
    for (size_t i = 0; i < MAX_STEPS; i++)
        kind->gbs[i] = NAN;
    return kind;
}

static void take_step(struct trend *t, size_t i)
{
    const json_t *cells = json_object_get(step_at(t, i), "cells");

    for (size_t k = 0; k < json_array_size(cells) && k < MAX_KINDS; k++) {
        const json_t *cell = json_array_get(cells, k);
        double gbs = summary_file_real(cell, "busbw_p50_gbs");
        double time = summary_file_real(cell, "time_us");
        struct kind *kind;

        if (!(gbs > 0) || !isfinite(gbs))
            continue;
        kind = find_kind(t, cell);
        kind->n += isnan(kind->gbs[i]);
        kind->gbs[i] = gbs;
        kind->time_us += isfinite(time) ? time : 0;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    if ((x->n > 1) != (y->n > 1))
        return x->n > 1 ? -1 : 1;
    return x->time_us > y->time_us ? -1 : x->time_us < y->time_us;
}

/* ---------------------------------------------------------------- pictures */

static void put_strip(const struct trend *t, FILE *out)
{
    fprintf(out,
            "<div class=\"scroll\"><svg class=\"trend\" role=\"img\" "
            "aria-label=\"verdicts by step\" width=\"%zu\" height=\"%d\">\n",
            t->n * STRIP, STRIP + 6);
    for (size_t i = 0; i < t->n; i++) {
        const char *word = summary_file_text(step_at(t, i), "verdict");

        fputs("<g class=\"", out);
        html_out_text(out, *word ? word : "NODATA");
        fprintf(out, "\"><title>step ");
        html_out_text(out, summary_file_text(step_at(t, i), "id"));
        fputs(": ", out);
        html_out_text(out, *word ? word : "not readable");
        fprintf(out,
                "</title><rect x=\"%zu\" y=\"1\" width=\"%d\" height=\"%d\" "
                "rx=\"3\"/><text x=\"%zu\" y=\"16\">%.1s</text></g>\n",
                i * STRIP, STRIP - 3, STRIP - 3, i * STRIP + (STRIP - 3) / 2,
                *word ? word : "?");
    }
    fputs("</svg></div>\n", out);
}

static double x_of(const struct trend *t, size_t i)
{
    return EDGE +
           (double) i * (WIDTH - 2 * EDGE) / (double) (t->n > 1 ? t->n - 1 : 1);
}

static double y_of(double gbs, double most)
{
    return HEIGHT - EDGE - gbs / most * (HEIGHT - 2 * EDGE);
}

/* The axis starts at 0, so a small change looks small. */
static void put_line(const struct trend *t, const struct kind *k, FILE *out)
{
    double most = 0;

    for (size_t i = 0; i < t->n; i++)
        if (k->gbs[i] > most)
            most = k->gbs[i];
    fprintf(out,
            "<td><svg class=\"trend\" role=\"img\" aria-label=\"bus bandwidth "
            "by step\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">"
            "<path d=\"M0 %d H%d\"/><polyline points=\"",
            WIDTH, HEIGHT, WIDTH, HEIGHT, HEIGHT - EDGE, WIDTH);
    for (size_t i = 0; i < t->n; i++)
        if (!isnan(k->gbs[i]))
            fprintf(out, "%.1f,%.1f ", x_of(t, i), y_of(k->gbs[i], most));
    fputs("\"/>", out);
    for (size_t i = 0; i < t->n; i++) {
        const char *word = summary_file_text(step_at(t, i), "verdict");

        if (isnan(k->gbs[i]))
            continue;
        fputs("<circle class=\"", out);
        html_out_text(out, *word ? word : "NODATA");
        fprintf(out, "\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>step ",
                x_of(t, i), y_of(k->gbs[i], most));
        html_out_text(out, summary_file_text(step_at(t, i), "id"));
        fprintf(out, ": %s GB/s</title></circle>", FIG_GBS(k->gbs[i]));
    }
    fputs("</svg></td>", out);
}

/* ------------------------------------------------------------------- table */

static void put_kind(const struct trend *t, const struct kind *k, FILE *out)
{
    double values[MAX_STEPS], last = NAN, median, change;
    char text[JP_FIGURE_LEN];
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!isnan(k->gbs[i]))
            last = values[n++] = k->gbs[i];
    qsort(values, n, sizeof(*values), sorted_ascending);
    median = sorted_median(values, n);
    change = 100 * (last / median - 1);
    snprintf(text, sizeof(text), "%+.1f %%", change);
    html_out_row(out);
    html_out_cell(out, k->type);
    html_out_cell(out, k->coll);
    html_out_figure(out, FIG_BYTES(k->bytes), (double) k->bytes);
    html_out_figure(out, FIG_COUNT(n), (double) n);
    html_out_figure(out, FIG_GBS(values[0]), values[0]);
    html_out_figure(out, FIG_GBS(median), median);
    html_out_figure(out, FIG_GBS(last), last);
    html_out_figure(out, text, change);
    put_line(t, k, out);
    html_out_row_end(out);
}

static void put_kinds(const struct trend *t, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Type", NULL, false},
        {"Function", NULL, false},
        {"Size", NULL, true},
        {"Steps", "that have it among their heaviest", true},
        {"GB/s least", "of the steps' medians", true},
        {"median", "of the steps' medians", true},
        {"last", "the last step's median", true},
        {"change", "of the last step against the median", true},
        {"By step", "from 0 up; a point's colour is the step's verdict", false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    size_t lines = 0;

    while (lines < t->n_kinds && lines < LINES && t->kinds[lines].n > 1)
        lines++;
    if (!lines)
        return;
    html_out_table(out, columns, n_columns, false);
    for (size_t i = 0; i < lines; i++)
        put_kind(t, &t->kinds[i], out);
    html_out_table_end(out, n_columns, 0, NULL);
}

void index_trend_write(const json_t *steps, FILE *out)
{
    size_t all = json_array_size(steps);
    struct trend t = {.steps = steps,
                      .first = all > MAX_STEPS ? all - MAX_STEPS : 0};

    t.n = all - t.first;
    if (t.n < 2)
        return;
    t.kinds = calloc(t.n * MAX_KINDS, sizeof(*t.kinds));
    if (!t.kinds)
        return; /* the table of steps is complete without it */
    for (size_t i = 0; i < t.n; i++)
        take_step(&t, i);
    if (t.n_kinds)
        qsort(t.kinds, t.n_kinds, sizeof(*t.kinds), by_time);
    fputs("<section id=\"trend\"><h2>Trend</h2>\n<p class=\"note\">", out);
    if (t.first)
        fprintf(out, "The last %s of %s steps. ", FIG_COUNT(t.n),
                FIG_COUNT(all));
    fputs("Verdicts by step, by their first letter; bus bandwidth (median over "
          "operations) of the kinds of most time that several steps "
          "have.</p>\n",
          out);
    put_strip(&t, out);
    put_kinds(&t, out);
    fputs("</section>\n", out);
    free(t.kinds);
}
