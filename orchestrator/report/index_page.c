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
#include "orchestrator/table/table.h"

#define NAME_MAX_BYTES 64 /* of a metric's key, or of a library's name */
#define VERSIONS_MAX 96   /* of the versions of one library */

const char *index_page_sentence(const json_t *entry)
{
    return summary_file_sentence(json_tree_text(entry, "plain"),
                                 json_tree_text(entry, "text"));
}

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

/* Finds the kept metric of these words. Returns its index; FEATURE_KEPT_MAX:
 * none. */
static size_t kept_of(const char *scope, const char *metric,
                      struct feature_kept *kept)
{
    /* the list is short, and job.json has few rows */
    for (size_t i = 0; find_kept(i, kept); i++)
        if (strcmp(kept->scope, scope) == 0 &&
            strcmp(kept->metric, metric) == 0)
            return i;
    return FEATURE_KEPT_MAX;
}

/* The rows over all members come first and hold the maximum. The member is that
 * of the first later row with the same maximum. */
static void put_maxima(struct jp_json *j, json_t *entry,
                       const struct summary_samples *samples)
{
    json_t *maxima = json_out_object(j);
    json_t *found[FEATURE_KEPT_MAX] = {NULL};
    struct feature_kept kept;
    char key[NAME_MAX_BYTES];

    for (size_t r = 0; r < samples->n_series; r++) {
        const struct summary_series *row = &samples->series[r];
        const char *node = row->node;
        double max = row->max;
        size_t i = kept_of(row->scope, row->metric, &kept);

        if (i == FEATURE_KEPT_MAX || !isfinite(max))
            continue;
        /* the row over all members: the maximum itself */
        if (!*node && !found[i]) {
            found[i] = json_out_object(j);
            json_out_real(j, found[i], "max", max);
            json_out_put(j, maxima, key_of(&kept, key), found[i]);
        } else if (*node && found[i] && !json_object_get(found[i], "node") &&
                   max >= json_tree_real(found[i], "max")) {
            json_out_text(j, found[i], "node", node);
        }
    }
    json_out_put(j, entry, kept_key(), maxima);
}

/* Joins several versions, in the order of the list. */
static void put_framework(struct jp_json *j, json_t *to,
                          const struct summary_framework *one)
{
    const char *name = one->name, *version = one->version;
    const char *before = json_tree_text(to, name);
    char clean[NAME_MAX_BYTES], all[VERSIONS_MAX];

    if (!*name)
        return;
    clean_text(name, JP_CLEAN_ASCII, clean, sizeof(clean));
    snprintf(all, sizeof(all), "%.40s%s%.40s", before,
             *before && *version ? ", " : "", version);
    json_out_text(j, to, clean, all);
}

void index_page_step(struct jp_json *j, json_t *entry,
                     const struct summary_file *summary)
{
    json_t *frameworks = json_out_object(j);

    /* bounded, as the summary is foreign */
    for (size_t i = 0; i < summary->job.n_frameworks && i < LOADED_MAX; i++)
        put_framework(j, frameworks, &summary->job.frameworks[i]);
    json_out_put(j, entry, "frameworks", frameworks);
    if (*kept_key())
        put_maxima(j, entry, &summary->samples);
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
            const json_t *one = json_object_get(json_tree_at(entry, kept_key()),
                                                key_of(&kept, key));
            double max = json_tree_real(one, "max");

            /* of equal maxima, the first step has it */
            if (!isfinite(max) || (best && max <= json_tree_real(best, "max")))
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
        json_out_real(j, row, "max", json_tree_real(best, "max"));
        json_out_text(j, row, "step", json_tree_text(step, "id"));
        json_out_text(j, row, "node",
                      json_string_value(json_tree_at(best, "node")));
        json_out_append(j, list, row);
    }
    json_out_put(j, root, kept_key(), list);
}

/* --- the page ------------------------------------------------------------- */

/* Returns the step with this id, or NULL. */
static const json_t *step_of(const json_t *steps, const char *id)
{
    for (size_t i = 0; i < json_array_size(steps); i++)
        if (strcmp(json_tree_text(json_array_get(steps, i), "id"), id) == 0)
            return json_array_get(steps, i);
    return NULL;
}

/* A metric's maximum. */
struct maximum {
    size_t kept; /* index of the metric */
    struct feature_kept what;
    const json_t *row;  /* of job.json */
    const json_t *step; /* that had it; NULL: job.json has no such step */
};

JP_GETTER(maximum_scope, maximum, value_text(v, at->what.scope))
JP_GETTER(maximum_metric, maximum, value_text(v, at->what.metric))
JP_GETTER(maximum_help, maximum, value_text(v, at->what.help))
JP_GETTER(maximum_most, maximum, {
    v->real = json_tree_real(at->row, "max");
    value_text(v, feature_sampler()->kept_figure(at->kept, v->real, v->buf));
})
JP_GETTER(maximum_step, maximum, value_text(v, json_tree_text(at->row, "step"));
          v->more = json_tree_text(at->step, "report"))
JP_GETTER(maximum_node, maximum, value_text(v, json_tree_text(at->row, "node")))

/* key, kind, flags, places in JSON, on the page and in text */
static const struct jp_column maximum_columns[] = {
    {"scope", JP_COL_TEXT, JP_TIP, 0, 1, 0, "Of", "one member of the step",
     .get = get_maximum_scope},
    {"metric", JP_COL_TEXT, JP_TIP, 0, 2, 0, "Metric",
     "a column of the samples", .get = get_maximum_metric},
    {"max", JP_COL_FIGURE, JP_TIP, 0, 3, 0, "Most",
     "the largest sample of all steps", .get = get_maximum_most},
    {"step", JP_COL_LINK, JP_TIP, 0, 4, 0, "Step", "that had it",
     .get = get_maximum_step},
    {"node", JP_COL_TEXT, JP_TIP, 0, 5, 0, "Node", "likewise", .none = "",
     .get = get_maximum_node},
    {"help", JP_COL_PROSE, 0, 0, 6, 0, "What it is", .get = get_maximum_help},
};
static const struct jp_table maximum_table = {
    .name = "maxima",
    JP_COLUMNS(maximum_columns),
    .row_size = sizeof(struct maximum),
    .max_html = SIZE_MAX};

/* Writes the section of index.html; nothing if no step was sampled. Returns -1
 * without memory. */
static int write_maxima(const json_t *job, FILE *out)
{
    const json_t *list = *kept_key() ? json_tree_at(job, kept_key()) : NULL;
    size_t n = json_array_size(list);
    struct table_source source = {0};
    struct feature_kept kept;
    struct maximum *maxima;
    const char *title;
    int rc;

    if (!n)
        return 0;
    maxima = calloc(n, sizeof(*maxima));
    if (!maxima)
        return -1;
    source.rows = maxima;
    for (size_t r = 0; r < n; r++) {
        const json_t *row = json_array_get(list, r);
        size_t i = kept_of(json_tree_text(row, "scope"),
                           json_tree_text(row, "metric"), &kept);

        /* a metric of another version is left out */
        if (i < FEATURE_KEPT_MAX)
            maxima[source.n++] =
                (struct maximum){i, kept, row,
                                 step_of(json_tree_at(job, "steps"),
                                         json_tree_text(row, "step"))};
    }
    title = feature_sampler()->title;
    fprintf(out, "<section id=\"%s\"><h2>%c%s at most</h2>\n", kept_key(),
            toupper((unsigned char) *title), title + 1);
    rc = table_write_html(&maximum_table, &source, out);
    fputs("</section>\n", out);
    free(maxima);
    return rc;
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
    size_t len = say_pairs(json_tree_at(entry, "labels"), buf, size);

    if (json_object_size(json_tree_at(entry, "frameworks")) == 0)
        return buf;
    /* labels and frameworks are separated by "; " */
    if (len && len + 2 < size) {
        memcpy(buf + len, "; ", 3);
        len += 2;
    }
    say_pairs(json_tree_at(entry, "frameworks"), buf + len, size - len);
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
    double least, median, last; /* of gbs; known of kinds that are shown */
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
    const char *type = json_tree_text(cell, "comm_type");
    const char *coll = json_tree_text(cell, "coll");
    uint64_t bytes = 0;
    struct kind *kind;

    json_tree_count(cell, "msg_size_bytes", &bytes);
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
    const json_t *cells = json_tree_at(step_at(t, i), "cells");

    for (size_t k = 0; k < json_array_size(cells) && k < MAX_KINDS; k++) {
        const json_t *cell = json_array_get(cells, k);
        double gbs = json_tree_real(cell, "busbw_p50_gbs");
        double time = json_tree_real(cell, "time_us");
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
        const char *word = json_tree_text(step_at(t, i), "verdict");
        char words[128];

        snprintf(words, sizeof(words), "step %.60s: %.20s",
                 json_tree_text(step_at(t, i), "id"),
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
static void draw_line(FILE *out, const struct jp_row *row)
{
    const struct trend *t = row->extra;
    const struct kind *k = row->at;
    struct jp_json_stream figures;

    picture_begin(&figures, "trend", out);
    json_stream_text(&figures, "label", "bus bandwidth by step");
    json_stream_array(&figures, "steps");
    for (size_t i = 0; i < t->n; i++) {
        char words[128];

        snprintf(words, sizeof(words), "step %.60s: %s GB/s",
                 json_tree_text(step_at(t, i), "id"), FIG_GBS(k->gbs[i]));
        json_stream_array(&figures, NULL);
        json_stream_text(&figures, NULL, words);
        json_stream_text(&figures, NULL,
                         json_tree_text(step_at(t, i), "verdict"));
        json_stream_real(&figures, NULL, k->gbs[i]);
        json_stream_end_array(&figures);
    }
    json_stream_end_array(&figures);
    picture_end(&figures);
}

/* --- table of the trend */

JP_GETTER(kind_steps, kind, value_count(v, at->n))
JP_GETTER(kind_change, kind, {
    v->real = 100 * (at->last / at->median - 1);
    snprintf(v->buf, sizeof(v->buf), "%+.1f %%", v->real);
    value_text(v, v->buf);
})

#define FIELD(member) JP_FIELD(struct kind, member)
/* key, kind, flags, places in JSON, on the page and in text */
static const struct jp_column kind_columns[] = {
    {"comm_type", JP_COL_TEXT, 0, 0, 1, 0, "Type", .none = "", FIELD(type)},
    {"coll", JP_COL_TEXT, 0, 0, 2, 0, "Function", .none = "", FIELD(coll)},
    {"msg_size_bytes", JP_COL_BYTES, JP_MAYBE, 0, 3, 0, "Size", FIELD(bytes),
     JP_IF(struct kind, bytes)},
    {"steps", JP_COL_COUNT, JP_TIP, 0, 4, 0, "Steps",
     "that have it among their heaviest", .get = get_kind_steps},
    {"least_gbs", JP_COL_GBS, JP_TIP, 0, 5, 0, "GB/s least",
     "of the steps' medians", FIELD(least)},
    {"median_gbs", JP_COL_GBS, JP_TIP, 0, 6, 0, "median",
     "of the steps' medians", FIELD(median)},
    {"last_gbs", JP_COL_GBS, JP_TIP, 0, 7, 0, "last", "the last step's median",
     FIELD(last)},
    {"change", JP_COL_FIGURE, JP_TIP, 0, 8, 0, "change",
     "of the last step against the median", .get = get_kind_change},
    {"by_step", JP_COL_PICTURE, JP_TIP, 0, 9, 0, "By step",
     "from 0 up; a point's colour is the step's verdict", .draw = draw_line},
};
#undef FIELD
static const struct jp_table kind_table = {.name = "trend",
                                           JP_COLUMNS(kind_columns),
                                           .row_size = sizeof(struct kind),
                                           .max_html = LINES,
                                           .unsorted = true};

/* Computes a kind's figures over the steps. */
static void sum_up(const struct trend *t, struct kind *k)
{
    double values[MAX_STEPS];
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!isnan(k->gbs[i]))
            k->last = values[n++] = k->gbs[i];
    qsort(values, n, sizeof(*values), sorted_ascending);
    /* the last step is compared with all, also with itself */
    k->median = sorted_median(values, n);
    k->least = values[0];
}

/* Writes the table of the trend: the kinds of most time that several steps
 * have. Returns -1 without memory. */
static int put_kinds(const struct trend *t, FILE *out)
{
    struct table_source source = {.rows = t->kinds, .extra = t};

    /* sorted: those of a single step come last and show no trend */
    while (source.n < t->n_kinds && source.n < LINES &&
           t->kinds[source.n].n > 1)
        sum_up(t, &t->kinds[source.n++]);
    return source.n ? table_write_html(&kind_table, &source, out) : 0;
}

/* Writes the section on the steps in job.json; nothing for fewer than two
 * steps. It shows bandwidths by kind (type, function, size). Only kinds of
 * several steps count; of these, the ones of most time are shown. Returns -1
 * without memory. */
static int write_trend(const json_t *steps, FILE *out)
{
    size_t all = json_array_size(steps);
    struct trend t = {.steps = steps,
                      .first = all > MAX_STEPS ? all - MAX_STEPS : 0};

    int rc;

    t.n = all - t.first;
    /* one step has no trend */
    if (t.n < 2)
        return 0;
    t.kinds = calloc(t.n * MAX_KINDS, sizeof(*t.kinds));
    if (!t.kinds)
        return -1;
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
    rc = put_kinds(&t, out);
    fputs("</section>\n", out);
    free(t.kinds);
    return rc;
}

/* --- the page: the list of steps, and all of it --------------------------- */

#define MAX_ROWS 500 /* the worst steps; of equally bad ones the latest */

/* Returns the step's word as a number, 0 for the worst. A missing or unknown
 * word counts as NODATA. */
static unsigned badness(const json_t *step)
{
    const char *word = json_tree_text(step, "verdict");
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
    html_out_text(out, json_tree_text(worst, "report"));
    fputs(joined ? "\">Steps " : "\">Step ", out);
    html_out_text(out, json_tree_text(worst, joined ? "steps" : "id"));
    fputs(joined ? "</a>, whose ranks are one NCCL job: " : "</a>: ", out);
    html_out_text(out, index_page_sentence(worst));
    fputs("</p></div>\n", out);
    put_counts(out, steps, n);
    fputs("</div>\n", out);
}

/* A step or a run of job.json, as a row of its table. */
struct entry {
    const json_t *of;
    uint64_t until_us; /* of a run: until the next one; 0: unknown */
    char labels[600];  /* of a step; the page cuts it there */
};

/* The word, in its colour; "-" if there is none. */
JP_GETTER(word, entry, {
    const char *word = json_tree_text(at->of, "verdict");

    value_text(v, word);
    v->more = *word ? word : "NODATA";
})
JP_GETTER(sentence, entry, value_text(v, index_page_sentence(at->of)))

/* A member that is a count, and may be missing. */
static void count_member(const struct entry *at, const char *key,
                         struct jp_value *v)
{
    uint64_t n = 0;
    bool known = json_tree_count(at->of, key, &n);

    value_known(v, known, n);
}

JP_GETTER(nodes, entry, count_member(at, "nodes", v))
JP_GETTER(tasks, entry, count_member(at, "ntasks", v))
JP_GETTER(coverage, entry, value_finite(v, json_tree_real(at->of, "coverage")))
JP_GETTER(started, entry, {
    uint64_t created = 0;

    json_tree_count(at->of, "created_us", &created);
    value_text(v, figure_utc(created, v->buf));
})
JP_GETTER(command, entry, value_text(v, json_tree_text(at->of, "command")))
JP_GETTER(step, entry, value_text(v, json_tree_text(at->of, "id"));
          v->more = json_tree_text(at->of, "report"))

/* key, kind, flags, places in JSON, on the page and in text */
static const struct jp_column step_columns[] = {
    {"id", JP_COL_LINK, 0, 0, 1, 0, "Step", .get = get_step},
    {"verdict", JP_COL_VERDICT, 0, 0, 2, 0, "Verdict", .get = get_word},
    {"summary", JP_COL_PROSE, 0, 0, 3, 0, "Summary", .none = "",
     .get = get_sentence},
    {"nodes", JP_COL_COUNT, 0, 0, 4, 0, "Nodes", .get = get_nodes},
    {"ntasks", JP_COL_COUNT, 0, 0, 5, 0, "Tasks", .get = get_tasks},
    {"coverage", JP_COL_SHARE, JP_TIP, 0, 6, 0, "Coverage",
     "records read of those expected", .get = get_coverage},
    {"created", JP_COL_TEXT, 0, 0, 7, 0, "Started", .get = get_started},
    {"command", JP_COL_PROSE, 0, 0, 8, 0, "Command", .none = "",
     .get = get_command},
    {"labels", JP_COL_PROSE, JP_TIP, 0, 9, 0, "Labels",
     "in the user's words, and what the tasks loaded", .none = "",
     JP_CHARS(struct entry, labels)},
};
static const struct jp_table step_table = {.name = "steps",
                                           JP_COLUMNS(step_columns),
                                           .row_size = sizeof(struct entry),
                                           .max_html = MAX_ROWS,
                                           /* has all steps */
                                           .rest = "job.json"};

/* Writes the list of steps, in this order. Returns -1 without memory. */
static int put_steps(const json_t *steps, const size_t *order, size_t n,
                     FILE *out)
{
    struct entry *rows = calloc(n + 1, sizeof(*rows));
    int rc = -1;

    for (size_t i = 0; rows && i < n; i++) {
        rows[i].of = json_array_get(steps, order[i]);
        words_of(rows[i].of, rows[i].labels, sizeof(rows[i].labels));
    }
    if (rows)
        rc = table_write_html(
            &step_table, &(const struct table_source){.rows = rows, .n = n},
            out);
    free(rows);
    return rc;
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
        const char *on = json_tree_text(json_array_get(runs, i), "failed_on");

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

JP_GETTER(run, entry, {
    size_t half = sizeof(v->buf) / 2;
    uint64_t restart = 0;

    json_tree_count(at->of, "restart", &restart);
    snprintf(v->buf, half, "%" PRIu64, restart);
    value_text(v, v->buf);
    /* the folder's name has at most 255 bytes */
    snprintf(v->buf + half, sizeof(v->buf) - half, "../%s/index.html",
             json_tree_text(at->of, "dir"));
    v->more = v->buf + half;
})
JP_GETTER(failed_on, entry, value_text(v, json_tree_text(at->of, "failed_on")))

/* key, kind, flags, places in JSON, on the page and in text */
static const struct jp_column run_columns[] = {
    {"restart", JP_COL_LINK, JP_TIP, 0, 1, 0, "Run",
     "0: before the first requeue", .get = get_run},
    {"verdict", JP_COL_VERDICT, 0, 0, 2, 0, "Verdict", .get = get_word},
    {"summary", JP_COL_PROSE, JP_TIP, 0, 3, 0, "Summary", "of its worst step",
     .none = "", .get = get_sentence},
    {"failed_on", JP_COL_TEXT, JP_TIP, 0, 4, 0, "Failed on",
     "the node where a task died first, by itself", .none = "",
     .get = get_failed_on},
    {"created", JP_COL_TEXT, 0, 0, 5, 0, "Started", .get = get_started},
    {"until_next", JP_COL_US, JP_TIP, 0, 6, 0, "Until the next",
     "from its last report to the next run's first step",
     JP_FIELD(struct entry, until_us), JP_IF(struct entry, until_us)},
};
static const struct jp_table run_table = {.name = "runs",
                                          JP_COLUMNS(run_columns),
                                          .row_size = sizeof(struct entry),
                                          .max_html = SIZE_MAX};

/* Writes the runs of a job that was requeued. Returns -1 without memory. */
static int write_runs(const json_t *runs, FILE *out)
{
    size_t n = json_array_size(runs);
    struct entry *rows;
    int rc;

    if (n < 2)
        return 0;
    rows = calloc(n, sizeof(*rows));
    if (!rows)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t written = 0, after = 0;

        rows[i].of = json_array_get(runs, i);
        json_tree_count(rows[i].of, "written_us", &written);
        if (i + 1 < n)
            json_tree_count(json_array_get(runs, i + 1), "created_us", &after);
        if (written && after > written)
            rows[i].until_us = after - written;
    }
    fputs("<section id=\"runs\"><h2>Runs</h2>\n", out);
    put_failures(out, runs);
    rc = table_write_html(
        &run_table, &(const struct table_source){.rows = rows, .n = n}, out);
    fputs("</section>\n", out);
    free(rows);
    return rc;
}

/* Writes the job's id, name and user; foreign text. */
static void put_heading(FILE *out, const json_t *facts)
{
    uint64_t id = 0;

    fputs("<h1>jobprof", out);
    if (json_tree_count(facts, "id", &id)) {
        fputs(" &middot; job ", out);
        if (*json_tree_text(facts, "array"))
            html_out_short(out, json_tree_text(facts, "array"), 60);
        else
            fprintf(out, "%" PRIu64, id);
        fputs(" &middot; ", out);
        html_out_short(out, json_tree_text(facts, "name"), 200);
        fputs(" &middot; ", out);
        html_out_short(out, json_tree_text(facts, "user"), 200);
    }
    fputs("</h1>\n", out);
}

int index_page_write(const json_t *job, FILE *out)
{
    const json_t *steps = json_tree_at(job, "steps");
    size_t n = json_array_size(steps);
    size_t *order = sort_steps(steps, n);
    int rc = order ? 0 : -1;

    html_out_begin(out, "jobprof: steps of the job");
    fputs("<main class=\"job\">\n", out);
    put_heading(out, json_tree_at(job, "job"));
    if (rc == 0 && n)
        put_answer(out, json_tree_at(job, "joined"), steps, order, n);
    if (rc == 0)
        rc = write_runs(json_tree_at(job, "runs"), out);
    fputs("<section id=\"steps\"><h2>Steps, worst first</h2>\n", out);
    if (rc == 0)
        rc = put_steps(steps, order, n, out);
    fputs("</section>\n", out);
    if (rc == 0)
        rc = write_trend(steps, out);
    if (rc == 0)
        rc = write_maxima(job, out);
    fputs("</main>\n", out);
    free(order);
    html_out_end(out);
    return rc;
}
