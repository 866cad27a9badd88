/* index_util.c - the maxima of utilisation over the steps of a job. */
#include "orchestrator/report/index_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/util/util.h"
#include "plugins/util/util_loaded.h"

#define NAME_MAX_BYTES 64
#define VERSIONS_MAX 96

/* The metrics kept per step, in the page's order. */
static const struct {
    enum jp_util_scope scope;
    enum util_kind kind;
    unsigned column;
} kept[] = {
    {JP_UTIL_GPU, UTIL_GPU, GPU_SM},
    {JP_UTIL_GPU, UTIL_GPU, GPU_MEMORY_BUSY},
    {JP_UTIL_GPU, UTIL_GPU, GPU_MEMORY_USED},
    {JP_UTIL_GPU, UTIL_GPU, GPU_PCIE_IN},
    {JP_UTIL_GPU, UTIL_GPU, GPU_PCIE_OUT},
    {JP_UTIL_GPU, UTIL_GPU, GPU_POWER},
    {JP_UTIL_GPU, UTIL_GPU, GPU_TEMPERATURE},
    {JP_UTIL_STEP, UTIL_TASK, TASK_USER},
    {JP_UTIL_STEP, UTIL_TASK, TASK_SYSTEM},
    {JP_UTIL_STEP, UTIL_TASK, TASK_MEMORY},
    {JP_UTIL_STEP, UTIL_TASK, TASK_READ},
    {JP_UTIL_STEP, UTIL_TASK, TASK_WRITE},
    {JP_UTIL_NODE, UTIL_NODE, NODE_BUSY},
    {JP_UTIL_NODE, UTIL_NODE, NODE_MEMORY_USED},
    {JP_UTIL_NODE, UTIL_NODE, NODE_NET_IN},
    {JP_UTIL_NODE, UTIL_NODE, NODE_NET_OUT},
    {JP_UTIL_NODE, UTIL_NODE, NODE_DISK_READ},
    {JP_UTIL_NODE, UTIL_NODE, NODE_DISK_WRITE},
    {JP_UTIL_PORT, UTIL_PORT, PORT_IN},
    {JP_UTIL_PORT, UTIL_PORT, PORT_OUT},
};
#define N_KEPT (sizeof(kept) / sizeof(*kept))

static const struct util_column *column_of(size_t i)
{
    return &util_tables[kept[i].kind].columns[kept[i].column];
}

/* "gpu.sm" */
static const char *key_of(size_t i, char key[NAME_MAX_BYTES])
{
    snprintf(key, NAME_MAX_BYTES, "%s.%s", util_scope_name(kept[i].scope),
             column_of(i)->name);
    return key;
}

/* --- a step --------------------------------------------------------------- */

/* Finds the kept metric that a row of summary.json's util.series belongs to;
 * N_KEPT: none. */
static size_t find_kept(const json_t *row)
{
    const char *scope = summary_file_text(row, "scope"),
               *metric = summary_file_text(row, "metric");

    for (size_t i = 0; i < N_KEPT; i++)
        if (strcmp(util_scope_name(kept[i].scope), scope) == 0 &&
            strcmp(column_of(i)->name, metric) == 0)
            return i;
    return N_KEPT;
}

/* The rows over all members come first and hold the maximum. The member is that
 * of the first later row with the same maximum. */
static void put_maxima(struct jp_json *j, json_t *entry, const json_t *series)
{
    json_t *util = json_out_object(j);
    json_t *found[N_KEPT] = {NULL};
    char key[NAME_MAX_BYTES];

    for (size_t r = 0; r < json_array_size(series); r++) {
        const json_t *row = json_array_get(series, r);
        const char *node = summary_file_text(row, "node");
        double max = summary_file_real(row, "max");
        size_t i = find_kept(row);

        if (i == N_KEPT || !isfinite(max))
            continue;
        if (!*node && !found[i]) {
            found[i] = json_out_object(j);
            json_out_real(j, found[i], "max", max);
            json_out_put(j, util, key_of(i, key), found[i]);
        } else if (*node && found[i] && !json_object_get(found[i], "node") &&
                   max >= summary_file_real(found[i], "max")) {
            json_out_text(j, found[i], "node", node);
        }
    }
    json_out_put(j, entry, "util", util);
}

/* Joins several versions, in the order of the list. */
static void put_framework(struct jp_json *j, json_t *to, const json_t *one)
{
    const char *name = summary_file_text(one, "name"),
               *version = summary_file_text(one, "version");
    const char *before = summary_file_text(to, name);
    char clean[NAME_MAX_BYTES], all[VERSIONS_MAX];

    if (!*name)
        return;
    clean_text(name, JP_CLEAN_ASCII, clean, sizeof(clean));
    snprintf(all, sizeof(all), "%.40s%s%.40s", before,
             *before && *version ? ", " : "", version);
    json_out_text(j, to, clean, all);
}

void index_util_step(struct jp_json *j, json_t *entry, const json_t *summary)
{
    const json_t *list =
        json_object_get(json_object_get(summary, "job"), "frameworks");
    json_t *frameworks = json_out_object(j);

    for (size_t i = 0; i < json_array_size(list) && i < UTIL_LOADED_MAX; i++)
        put_framework(j, frameworks, json_array_get(list, i));
    json_out_put(j, entry, "frameworks", frameworks);
    put_maxima(j, entry,
               json_object_get(json_object_get(summary, "util"), "series"));
}

/* --- the job -------------------------------------------------------------- */

void index_util_job(struct jp_json *j, json_t *root, const json_t *steps)
{
    json_t *list = json_out_array(j);
    char key[NAME_MAX_BYTES];

    for (size_t i = 0; i < N_KEPT; i++) {
        const json_t *best = NULL, *step = NULL;
        json_t *row;

        for (size_t k = 0; k < json_array_size(steps); k++) {
            const json_t *entry = json_array_get(steps, k);
            const json_t *one =
                json_object_get(json_object_get(entry, "util"), key_of(i, key));
            double max = summary_file_real(one, "max");

            if (!isfinite(max) ||
                (best && max <= summary_file_real(best, "max")))
                continue;
            best = one;
            step = entry;
        }
        if (!best)
            continue;
        row = json_out_object(j);
        json_out_text(j, row, "scope", util_scope_name(kept[i].scope));
        json_out_text(j, row, "metric", column_of(i)->name);
        json_out_text(j, row, "unit", util_unit_name(column_of(i)->unit));
        json_out_real(j, row, "max", summary_file_real(best, "max"));
        json_out_text(j, row, "step", summary_file_text(step, "id"));
        json_out_text(j, row, "node",
                      json_string_value(json_object_get(best, "node")));
        json_out_append(j, list, row);
    }
    json_out_put(j, root, "util", list);
}

/* --- the page ------------------------------------------------------------- */

static const json_t *step_of(const json_t *steps, const char *id)
{
    for (size_t i = 0; i < json_array_size(steps); i++)
        if (strcmp(summary_file_text(json_array_get(steps, i), "id"), id) == 0)
            return json_array_get(steps, i);
    return NULL;
}

/* Formats a figure in its usual unit. */
static const char *say_figure(enum util_unit unit, double v,
                              char buf[JP_FIGURE_LEN])
{
    if (unit == UTIL_SHARE)
        return figure_share(v, buf);
    if (unit == UTIL_BYTES && v >= 0 && v < 0x1p63)
        return figure_bytes((uint64_t) v, buf);
    if (unit == UTIL_BYTES_S)
        snprintf(buf, JP_FIGURE_LEN, "%s MB/s", FIG_REAL(v / 1e6));
    else
        snprintf(buf, JP_FIGURE_LEN, "%s %s", FIG_REAL(v),
                 util_unit_name(unit));
    return buf;
}

static void put_row(const json_t *job, size_t i, const json_t *row, FILE *out)
{
    const char *id = summary_file_text(row, "step");
    const json_t *step = step_of(json_object_get(job, "steps"), id);
    double max = summary_file_real(row, "max");
    char buf[JP_FIGURE_LEN];

    html_out_row(out);
    html_out_cell(out, util_scope_name(kept[i].scope));
    html_out_cell(out, column_of(i)->name);
    html_out_figure(out, say_figure(column_of(i)->unit, max, buf), max);
    fputs("<td><a href=\"", out);
    html_out_text(out, summary_file_text(step, "report"));
    fputs("\">", out);
    html_out_text(out, id);
    fputs("</a></td>", out);
    html_out_cell(out, summary_file_text(row, "node"));
    html_out_prose(out, column_of(i)->help);
    html_out_row_end(out);
}

void index_util_write(const json_t *job, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Of", "one member of the step", false},
        {"Metric", "a column of the samples", false},
        {"Most", "the largest sample of all steps", true},
        {"Step", "that had it", false},
        {"Node", "likewise", false},
        {"What it is", NULL, false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    const json_t *list = json_object_get(job, "util");

    if (json_array_size(list) == 0)
        return;
    fputs("<section id=\"util\"><h2>Utilisation at most</h2>\n", out);
    html_out_table(out, columns, n_columns, true);
    for (size_t r = 0; r < json_array_size(list); r++) {
        const json_t *row = json_array_get(list, r);
        size_t i = find_kept(row);

        if (i < N_KEPT)
            put_row(job, i, row, out);
    }
    html_out_table_end(out, n_columns, 0, NULL);
    fputs("</section>\n", out);
}

/* Formats an object of texts as "a 1, b 2". */
static size_t say_pairs(const json_t *object, char *buf, size_t size)
{
    const char *key;
    json_t *value;
    size_t len = 0;

    *buf = '\0';
    json_object_foreach((json_t *) object, key, value)
    {
        const char *text = json_string_value(value) ?: "";

        if (len < size)
            len += (size_t) snprintf(buf + len, size - len, "%s%.64s%s%.96s",
                                     len ? ", " : "", key, *text ? " " : "",
                                     text);
    }
    return len < size ? len : size - 1;
}

char *index_util_words(const json_t *entry, char *buf, size_t size)
{
    size_t len = say_pairs(json_object_get(entry, "labels"), buf, size);

    if (json_object_size(json_object_get(entry, "frameworks")) == 0)
        return buf;
    if (len && len + 2 < size) {
        memcpy(buf + len, "; ", 3);
        len += 2;
    }
    say_pairs(json_object_get(entry, "frameworks"), buf + len, size - len);
    return buf;
}

/* Index.html's pictures: verdicts by step, and bandwidths of
 * the kinds of operations that several steps have. */

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
