/* index_page.c - index.html of a job: its steps, their trend, and the maxima of
 * utilisation, which are kept in job.json.
 *
 * index_page_step and index_page_job add what the page needs to job.json;
 * index_page_write lays out the page from that file alone, so it can be written
 * without the steps' reports. job.json may be of another version: a missing
 * member shows as "-" or is left out. */
#include "orchestrator/report/index_page.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/loaded.h"
#include "common/quote.h"
#include "common/sorted.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/report/summary_file.h"

#define NAME_MAX_BYTES 64 /* of a metric's key, or of a library's name */
#define VERSIONS_MAX 96   /* of the versions of one library */

/* Finds the kept metric i; false: there are no more, or nothing samples. */
static bool find_kept(size_t i, struct feature_kept *out)
{
    const struct feature *sampler = feature_sampler();

    return sampler && sampler->kept && i < FEATURE_KEPT_MAX &&
           sampler->kept(i, out);
}

/* The key of the maxima in job.json; "": nothing samples. */
static const char *kept_key(void)
{
    return feature_sampler() ? feature_sampler()->name : "";
}

/* "gpu.sm" */
static const char *key_of(const struct feature_kept *kept,
                          char key[NAME_MAX_BYTES])
{
    snprintf(key, NAME_MAX_BYTES, "%s.%s", kept->scope, kept->metric);
    return key;
}

/* --- a step --------------------------------------------------------------- */

/* Finds the kept metric that a row of the samples' series belongs to. Returns
 * its index; FEATURE_KEPT_MAX: none. */
static size_t kept_of(const json_t *row, struct feature_kept *kept)
{
    const char *scope = summary_file_text(row, "scope"),
               *metric = summary_file_text(row, "metric");

    /* the list is short, and job.json has few rows */
    for (size_t i = 0; find_kept(i, kept); i++)
        if (strcmp(kept->scope, scope) == 0 &&
            strcmp(kept->metric, metric) == 0)
            return i;
    return FEATURE_KEPT_MAX;
}

/* The rows over all members come first and hold the maximum. The member is that
 * of the first later row with the same maximum. */
static void put_maxima(struct jp_json *j, json_t *entry, const json_t *series)
{
    json_t *maxima = json_out_object(j);
    json_t *found[FEATURE_KEPT_MAX] = {NULL};
    struct feature_kept kept;
    char key[NAME_MAX_BYTES];

    for (size_t r = 0; r < json_array_size(series); r++) {
        const json_t *row = json_array_get(series, r);
        const char *node = summary_file_text(row, "node");
        double max = summary_file_real(row, "max");
        size_t i = kept_of(row, &kept);

        if (i == FEATURE_KEPT_MAX || !isfinite(max))
            continue;
        /* the row over all members: the maximum itself */
        if (!*node && !found[i]) {
            found[i] = json_out_object(j);
            json_out_real(j, found[i], "max", max);
            json_out_put(j, maxima, key_of(&kept, key), found[i]);
        } else if (*node && found[i] && !json_object_get(found[i], "node") &&
                   max >= summary_file_real(found[i], "max")) {
            json_out_text(j, found[i], "node", node);
        }
    }
    json_out_put(j, entry, kept_key(), maxima);
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

void index_page_step(struct jp_json *j, json_t *entry, const json_t *summary)
{
    const json_t *list =
        json_object_get(json_object_get(summary, "job"), "frameworks");
    json_t *frameworks = json_out_object(j);

    /* bounded, as the summary is foreign */
    for (size_t i = 0; i < json_array_size(list) && i < LOADED_MAX; i++)
        put_framework(j, frameworks, json_array_get(list, i));
    json_out_put(j, entry, "frameworks", frameworks);
    if (*kept_key())
        put_maxima(
            j, entry,
            json_object_get(json_object_get(summary, kept_key()), "series"));
}

/* --- the job -------------------------------------------------------------- */

void index_page_job(struct jp_json *j, json_t *root, const json_t *steps)
{
    json_t *list;
    struct feature_kept kept;
    char key[NAME_MAX_BYTES];

    if (!*kept_key())
        return;
    list = json_out_array(j);
    for (size_t i = 0; find_kept(i, &kept); i++) {
        const json_t *best = NULL, *step = NULL;
        json_t *row;

        for (size_t k = 0; k < json_array_size(steps); k++) {
            const json_t *entry = json_array_get(steps, k);
            const json_t *one = json_object_get(
                json_object_get(entry, kept_key()), key_of(&kept, key));
            double max = summary_file_real(one, "max");

            /* of equal maxima, the first step has it */
            if (!isfinite(max) ||
                (best && max <= summary_file_real(best, "max")))
                continue;
            best = one;
            step = entry;
        }
        if (!best)
            continue;
        row = json_out_object(j);
        json_out_text(j, row, "scope", kept.scope);
        json_out_text(j, row, "metric", kept.metric);
        json_out_text(j, row, "unit", kept.unit);
        json_out_real(j, row, "max", summary_file_real(best, "max"));
        json_out_text(j, row, "step", summary_file_text(step, "id"));
        json_out_text(j, row, "node",
                      json_string_value(json_object_get(best, "node")));
        json_out_append(j, list, row);
    }
    json_out_put(j, root, kept_key(), list);
}

/* --- the page ------------------------------------------------------------- */

/* Returns the step with this id, or NULL. */
static const json_t *step_of(const json_t *steps, const char *id)
{
    for (size_t i = 0; i < json_array_size(steps); i++)
        if (strcmp(summary_file_text(json_array_get(steps, i), "id"), id) == 0)
            return json_array_get(steps, i);
    return NULL;
}

/* Writes one metric's maximum, with a link to the step's report. */
static void put_maximum(const json_t *job, size_t i,
                        const struct feature_kept *kept, const json_t *row,
                        FILE *out)
{
    const char *id = summary_file_text(row, "step");
    const json_t *step = step_of(json_object_get(job, "steps"), id);
    double max = summary_file_real(row, "max");
    char buf[JP_FIGURE_LEN];

    html_out_row(out);
    html_out_cell(out, kept->scope);
    html_out_cell(out, kept->metric);
    html_out_figure(out, feature_sampler()->kept_figure(i, max, buf), max);
    fputs("<td><a href=\"", out);
    html_out_text(out, summary_file_text(step, "report"));
    fputs("\">", out);
    html_out_text(out, id);
    fputs("</a></td>", out);
    html_out_cell(out, summary_file_text(row, "node"));
    html_out_prose(out, kept->help);
    html_out_row_end(out);
}

/* Writes the section of index.html; nothing if no step was sampled. */
static void write_maxima(const json_t *job, FILE *out)
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
    const json_t *list = json_object_get(job, kept_key());
    struct feature_kept kept;
    const char *title;

    if (json_array_size(list) == 0)
        return;
    title = feature_sampler()->title;
    fprintf(out, "<section id=\"%s\"><h2>%c%s at most</h2>\n", kept_key(),
            toupper((unsigned char) *title), title + 1);
    html_out_table(out, columns, n_columns, true);
    for (size_t r = 0; r < json_array_size(list); r++) {
        const json_t *row = json_array_get(list, r);
        size_t i = kept_of(row, &kept);

        /* a metric of another version is left out */
        if (i < FEATURE_KEPT_MAX)
            put_maximum(job, i, &kept, row, out);
    }
    html_out_table_end(out, n_columns, 0, NULL);
    fputs("</section>\n", out);
}

/* Formats an object of texts as "a 1, b 2". Returns the length; a text that
 * does not fit is cut. */
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

/* Formats a step's entry into buf: "model gpt, run 7; torch 2.4.0". Returns
 * buf. */
static char *words_of(const json_t *entry, char *buf, size_t size)
{
    size_t len = say_pairs(json_object_get(entry, "labels"), buf, size);

    if (json_object_size(json_object_get(entry, "frameworks")) == 0)
        return buf;
    /* labels and frameworks are separated by "; " */
    if (len && len + 2 < size) {
        memcpy(buf + len, "; ", 3);
        len += 2;
    }
    say_pairs(json_object_get(entry, "frameworks"), buf + len, size - len);
    return buf;
}

/* --- a strip of verdicts, a line for each kind of operation -------------- */

/* latest steps; kinds of one step; lines drawn */
enum { MAX_STEPS = 100, MAX_KINDS = 8, LINES = 6 };

/* A kind over the steps. */
struct kind {
    const char *type, *coll; /* borrowed */
    uint64_t bytes;
    double time_us;        /* over all steps */
    double gbs[MAX_STEPS]; /* median; NAN: the step has none */
    unsigned n;
};

/* The steps shown, and the kinds of operations that they have. */
struct trend {
    const json_t *steps; /* all steps of job.json; borrowed */
    size_t first, n;     /* the range of steps shown */
    struct kind *kinds;
    size_t n_kinds;
};

/* Returns the i-th step that is shown. */
static const json_t *step_at(const struct trend *t, size_t i)
{
    return json_array_get(t->steps, t->first + i);
}

/* Finds the kind of a cell, or adds it. There is room for MAX_KINDS per step.
 */
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

/* Takes the kinds of step i. job.json has only the heaviest cells of a step. */
static void take_step(struct trend *t, size_t i)
{
    const json_t *cells = json_object_get(step_at(t, i), "cells");

    for (size_t k = 0; k < json_array_size(cells) && k < MAX_KINDS; k++) {
        const json_t *cell = json_array_get(cells, k);
        double gbs = summary_file_real(cell, "busbw_p50_gbs");
        double time = summary_file_real(cell, "time_us");
        struct kind *kind;

        /* also false for NaN */
        if (!(gbs > 0) || !isfinite(gbs))
            continue;
        kind = find_kind(t, cell);
        /* a step counts once, even if it has the kind twice */
        kind->n += isnan(kind->gbs[i]);
        kind->gbs[i] = gbs;
        kind->time_us += isfinite(time) ? time : 0;
    }
}

/* Kinds of several steps first, then most time first. */
static int by_time(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    if ((x->n > 1) != (y->n > 1))
        return x->n > 1 ? -1 : 1;
    return x->time_us > y->time_us ? -1 : x->time_us < y->time_us;
}

/* --- pictures of the trend */

/* Draws a square per step, in the colour of its verdict, with its first letter.
 */
static void put_strip(const struct trend *t, FILE *out)
{
    struct jp_json_stream figures;

    fputs("<div class=\"scroll\">", out);
    picture_begin(&figures, "verdicts", out);
    json_stream_text(&figures, "label", "verdicts by step");
    json_stream_array(&figures, "steps");
    for (size_t i = 0; i < t->n; i++) {
        const char *word = summary_file_text(step_at(t, i), "verdict");
        char words[128];

        snprintf(words, sizeof(words), "step %.60s: %.20s",
                 summary_file_text(step_at(t, i), "id"),
                 *word ? word : "not readable");
        json_stream_array(&figures, NULL);
        json_stream_text(&figures, NULL, words);
        json_stream_text(&figures, NULL, word);
        json_stream_end_array(&figures);
    }
    json_stream_end_array(&figures);
    picture_end(&figures);
    fputs("</div>\n", out);
}

/* Draws a kind's bandwidth over the steps, and a point for each step that has
 * it. */
static void put_line(const struct trend *t, const struct kind *k, FILE *out)
{
    struct jp_json_stream figures;

    fputs("<td>", out);
    picture_begin(&figures, "trend", out);
    json_stream_text(&figures, "label", "bus bandwidth by step");
    json_stream_array(&figures, "steps");
    for (size_t i = 0; i < t->n; i++) {
        char words[128];

        snprintf(words, sizeof(words), "step %.60s: %s GB/s",
                 summary_file_text(step_at(t, i), "id"), FIG_GBS(k->gbs[i]));
        json_stream_array(&figures, NULL);
        json_stream_text(&figures, NULL, words);
        json_stream_text(&figures, NULL,
                         summary_file_text(step_at(t, i), "verdict"));
        json_stream_real(&figures, NULL, k->gbs[i]);
        json_stream_end_array(&figures);
    }
    json_stream_end_array(&figures);
    picture_end(&figures);
    fputs("</td>", out);
}

/* --- table of the trend */

/* Writes a row of the table of kinds: figures over the steps, and the curve. */
static void put_kind(const struct trend *t, const struct kind *k, FILE *out)
{
    double values[MAX_STEPS], last = NAN, median, change;
    char text[JP_FIGURE_LEN];
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!isnan(k->gbs[i]))
            last = values[n++] = k->gbs[i];
    qsort(values, n, sizeof(*values), sorted_ascending);
    /* the last step is compared with all, also with itself */
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

/* Writes the table of the trend: the kinds of most time that several steps
 * have. */
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

    /* sorted: those of a single step come last and show no trend */
    while (lines < t->n_kinds && lines < LINES && t->kinds[lines].n > 1)
        lines++;
    if (!lines)
        return;
    html_out_table(out, columns, n_columns, false);
    for (size_t i = 0; i < lines; i++)
        put_kind(t, &t->kinds[i], out);
    html_out_table_end(out, n_columns, 0, NULL);
}

/* Writes the section on the steps in job.json; nothing for fewer than two
 * steps. It shows bandwidths by kind (type, function, size). Only kinds of
 * several steps count; of these, the ones of most time are shown. */
static void write_trend(const json_t *steps, FILE *out)
{
    size_t all = json_array_size(steps);
    struct trend t = {.steps = steps,
                      .first = all > MAX_STEPS ? all - MAX_STEPS : 0};

    t.n = all - t.first;
    /* one step has no trend */
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

/* --- the page: the list of steps, and all of it --------------------------- */

#define MAX_ROWS 500 /* the worst steps; of equally bad ones the latest */

/* Returns the step's word as a number, 0 for the worst. A missing or unknown
 * word counts as NODATA. */
static unsigned badness(const json_t *step)
{
    const char *word = summary_file_text(step, "verdict");
    unsigned i = 0;

    while (i <= JP_VERDICT_OK &&
           strcmp(word, verdict_word_name((enum jp_verdict_word) i)) != 0)
        i++;
    return i <= JP_VERDICT_OK ? i : JP_VERDICT_NODATA;
}

/* Worst first; of equally bad ones the latest first. */
static int by_badness(const void *a, const void *b, void *arg)
{
    const json_t *steps = arg;
    size_t x = *(const size_t *) a, y = *(const size_t *) b;
    unsigned bx = badness(json_array_get(steps, x));
    unsigned by = badness(json_array_get(steps, y));

    if (bx != by)
        return bx < by ? -1 : 1;
    return x > y ? -1 : 1;
}

/* Returns the indices of the steps, worst first; the caller frees them. NULL:
 * out of memory. */
static size_t *sort_steps(const json_t *steps, size_t n)
{
    size_t *order = calloc(n + 1, sizeof(*order));

    for (size_t i = 0; order && i < n; i++)
        order[i] = i;
    if (order && n)
        qsort_r(order, n, sizeof(*order), by_badness, (void *) steps);
    return order;
}

/* "12 steps: 1 HANG, 2 SLOW, 9 OK." */
static void put_counts(FILE *out, const json_t *steps, size_t n)
{
    size_t count[JP_VERDICT_OK + 1] = {0};

    for (size_t i = 0; i < n; i++)
        count[badness(json_array_get(steps, i))]++;
    html_out_verdicts(out, "step", n, count);
}

/* The job's verdict is that of the report of its steps together, if some have
 * ranks of the same communicators; else that of its worst step. */
static void put_answer(FILE *out, const json_t *joined, const json_t *steps,
                       const size_t *order, size_t n)
{
    const json_t *worst = joined ? joined : json_array_get(steps, order[0]);
    const char *word = verdict_word_name((enum jp_verdict_word) badness(worst));

    fprintf(out,
            "<div id=\"answer\" class=\"%s\">\n<div class=\"verdict\">"
            "<strong>%s</strong><p><a href=\"",
            word, word);
    html_out_text(out, summary_file_text(worst, "report"));
    fputs(joined ? "\">Steps " : "\">Step ", out);
    html_out_text(out, summary_file_text(worst, joined ? "steps" : "id"));
    fputs(joined ? "</a>, whose ranks are one NCCL job: " : "</a>: ", out);
    html_out_text(out, summary_file_sentence(worst));
    fputs("</p></div>\n", out);
    put_counts(out, steps, n);
    fputs("</div>\n", out);
}

/* Writes the verdict as a cell in its colour. */
static void put_word(FILE *out, const char *word)
{
    const char *name = *word ? word : "NODATA";

    fputs("<td><b class=\"", out);
    html_out_text(out, name);
    fputs("\">", out);
    html_out_text(out, *word ? word : "-");
    fputs("</b></td>", out);
}

/* Writes a member of the step as a figure; "-" if it is missing. */
static void put_number(FILE *out, const json_t *step, const char *key)
{
    uint64_t n;

    if (summary_file_count(step, key, &n))
        html_out_figure(out, FIG_COUNT(n), (double) n);
    else
        html_out_figure(out, "-", NAN);
}

/* Writes a row of the list of steps. */
static void put_step(FILE *out, const json_t *step)
{
    double coverage = summary_file_real(step, "coverage");
    uint64_t created = 0;
    char words[600];

    summary_file_count(step, "created_us", &created);
    html_out_row(out);
    fputs("<td><a href=\"", out);
    html_out_text(out, summary_file_text(step, "report"));
    fputs("\">", out);
    html_out_text(out, summary_file_text(step, "id"));
    fputs("</a></td>", out);
    put_word(out, summary_file_text(step, "verdict"));
    html_out_prose(out, summary_file_sentence(step));
    put_number(out, step, "nodes");
    put_number(out, step, "ntasks");
    html_out_figure(out, FIG_SHARE(coverage), coverage);
    html_out_cell(out, FIG_UTC(created));
    html_out_prose(out, summary_file_text(step, "command"));
    html_out_prose(out, words_of(step, words, sizeof(words)));
    html_out_row_end(out);
}

const json_t *index_page_worst(const json_t *steps)
{
    size_t n = json_array_size(steps);
    size_t *order = n ? sort_steps(steps, n) : NULL;
    const json_t *worst = order ? json_array_get(steps, order[0]) : NULL;

    free(order);
    return worst;
}

/* Writes the sentence about the nodes on which runs failed. That the same one
 * began each failure is worth a look; that it is the cause is not said. */
static void put_failures(FILE *out, const json_t *runs)
{
    size_t failures = 0, same = 0;
    const char *node = "";

    for (size_t i = 0; i < json_array_size(runs); i++) {
        const char *on =
            summary_file_text(json_array_get(runs, i), "failed_on");

        if (!*on)
            continue;
        if (!failures++)
            node = on;
        same += !strcmp(on, node);
    }
    if (failures < 2)
        return;
    fputs("<p class=\"note\">", out);
    if (same == failures) {
        fprintf(out, "Each of the %s failures began on ", FIG_COUNT(failures));
        html_out_text(out, node);
        fputs(".</p>\n", out);
    } else {
        fprintf(out, "%s runs failed, not all on one node.</p>\n",
                FIG_COUNT(failures));
    }
}

/* Writes the runs of a job that was requeued. */
static void write_runs(const json_t *runs, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Run", "0: before the first requeue", true},
        {"Verdict", NULL, false},
        {"Summary", "of its worst step", false},
        {"Failed on", "the node where a task died first, by itself", false},
        {"Started", NULL, false},
        {"Until the next", "from its last report to the next run's first step",
         true},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    size_t n = json_array_size(runs);

    if (n < 2)
        return;
    fputs("<section id=\"runs\"><h2>Runs</h2>\n", out);
    put_failures(out, runs);
    html_out_table(out, columns, n_columns, true);
    for (size_t i = 0; i < n; i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *next = i + 1 < n ? json_array_get(runs, i + 1) : NULL;
        uint64_t restart = 0, began = 0, written = 0, after = 0;

        summary_file_count(run, "restart", &restart);
        summary_file_count(run, "created_us", &began);
        summary_file_count(run, "written_us", &written);
        summary_file_count(next, "created_us", &after);
        html_out_row(out);
        fputs("<td><a href=\"../", out);
        html_out_text(out, summary_file_text(run, "dir"));
        fprintf(out, "/index.html\">%" PRIu64 "</a></td>", restart);
        put_word(out, summary_file_text(run, "verdict"));
        html_out_prose(out, summary_file_sentence(run));
        html_out_cell(out, summary_file_text(run, "failed_on"));
        html_out_cell(out, FIG_UTC(began));
        if (written && after > written)
            html_out_figure(out, FIG_US((double) (after - written)),
                            (double) (after - written));
        else
            html_out_figure(out, "-", NAN);
        html_out_row_end(out);
    }
    html_out_table_end(out, n_columns, 0, NULL);
    fputs("</section>\n", out);
}

/* Writes the job's id, name and user; foreign text. */
static void put_heading(FILE *out, const json_t *facts)
{
    uint64_t id = 0;

    fputs("<h1>jobprof", out);
    if (summary_file_count(facts, "id", &id)) {
        fputs(" &middot; job ", out);
        if (*summary_file_text(facts, "array"))
            html_out_short(out, summary_file_text(facts, "array"), 60);
        else
            fprintf(out, "%" PRIu64, id);
        fputs(" &middot; ", out);
        html_out_short(out, summary_file_text(facts, "name"), 200);
        fputs(" &middot; ", out);
        html_out_short(out, summary_file_text(facts, "user"), 200);
    }
    fputs("</h1>\n", out);
}

void index_page_write(const json_t *job, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Step", NULL, false},
        {"Verdict", NULL, false},
        {"Summary", NULL, false},
        {"Nodes", NULL, true},
        {"Tasks", NULL, true},
        {"Coverage",
         "records read of those "
         "expected",
         true},
        {"Started", NULL, false},
        {"Command", NULL, false},
        {"Labels", "in the user's words, and what the tasks loaded", false},
    };
    const size_t n_columns = sizeof(columns) / sizeof(*columns);
    const json_t *steps = json_object_get(job, "steps");
    size_t n = json_array_size(steps);
    size_t shown = n < MAX_ROWS ? n : MAX_ROWS;
    size_t *order = sort_steps(steps, n);

    html_out_begin(out, "jobprof: steps of the job");
    fputs("<main class=\"job\">\n", out);
    put_heading(out, json_object_get(job, "job"));
    /* without memory for the order, the page has no rows but is valid */
    if (order && n)
        put_answer(out, json_object_get(job, "joined"), steps, order, n);
    write_runs(json_object_get(job, "runs"), out);
    fputs("<section id=\"steps\"><h2>Steps, worst first</h2>\n", out);
    html_out_table(out, columns, n_columns, true);
    for (size_t i = 0; order && i < shown; i++)
        put_step(out, json_array_get(steps, order[i]));
    /* job.json has all steps */
    html_out_table_end(out, n_columns, n - shown, "job.json");
    fputs("</section>\n", out);
    write_trend(steps, out);
    write_maxima(job, out);
    fputs("</main>\n", out);
    free(order);
    html_out_end(out);
}
