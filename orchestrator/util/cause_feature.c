/* cause_feature.c - causes, pace and limits of a job as a feature of reports:
 * finds them, and names their part of each file. The causes are columns of the
 * findings (report/tables_findings.c). */
#include "orchestrator/util/cause_feature.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/json_stream.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/util/util_feature.h"

/* --- data ----------------------------------------------------------------- */

static void destroy(void *data)
{
    struct cause_data *d = data;

    if (d)
        causes_destroy(d->causes);
    free(d);
}

/* Each part may fail on its own, which is logged. */
static int explain(const struct feature_explain *in, void **data,
                   struct jp_error *err)
{
    static const struct samples none;
    const struct util_data *sampled = util_data_of(in->features);
    const struct causes_input causes = {
        .samples = sampled ? &sampled->samples : &none,
        .nodes = in->nodes,
        .result = in->result,
        .processes = &in->insight->processes,
        .insight = in->insight,
        .places = in->labels ? in->labels->places : NULL};
    struct cause_data *d = calloc(1, sizeof(*d));
    struct jp_error why;

    if (!d)
        return error_set(err, "out of memory");
    if (causes.samples->n_slices && causes_find(&causes, &d->causes, &why) < 0)
        in->failed(in->arg, "no causes", why.text);
    causes_apply(d->causes, in->insight);
    if (iteration_find(in->result, in->dir, in->nodes, &d->iteration, &why) < 0)
        in->failed(in->arg, "no times of program steps", why.text);
    bottlenecks_find(sampled ? sampled->util : NULL, causes.samples, in->result,
                     &d->bottlenecks);
    *data = d;
    return 0;
}

/* --- what the job is bound by, and how long its steps take ---------------- */

static size_t count_bottlenecks(const struct jp_report *report)
{
    return bottlenecks_of(report) ? bottlenecks_of(report)->n : 0;
}

static void find_bottleneck(struct jp_row *row)
{
    row->at = &bottlenecks_of(row->report)->at[row->index];
}

JP_GETTER(bottleneck_kind, jp_bottleneck,
          value_text(v, bottleneck_words[at->kind]))
JP_GETTER(bottleneck_title, jp_bottleneck,
          value_text(v, bottleneck_titles[at->kind]))

JP_GETTER(bottleneck_limit, jp_bottleneck,
          value_measure(v, at->unit, at->limit))
JP_GETTER(bottleneck_unit, jp_bottleneck,
          value_text(v, util_unit_name(at->unit)))
JP_GETTER(bottleneck_text, jp_bottleneck, value_text(v, at->text))

#define FIELD(member) JP_FIELD(struct jp_bottleneck, member)
/* a row per resource that the job is bound by */
static const struct jp_column bottlenecks[] = {
    {"kind", JP_COL_WORD, 0, 1, .help = "several may hold",
     .words = bottleneck_words, .n_words = JP_BOTTLENECKS,
     .get = get_bottleneck_kind},
    {"kind", JP_COL_TEXT, 0, 0, 1, .title = "Bound by",
     .help = "several may hold", .get = get_bottleneck_title},
    {"metric", JP_COL_TEXT, 0, 2, .help = "the metric that shows it",
     FIELD(metric)},
    {"unit", JP_COL_TEXT, 0, 3, .help = "of value and limit",
     .get = get_bottleneck_unit},
    {"value", JP_COL_NUMBER, 0, 4, .help = "over the run, of all members",
     FIELD(value)},
    {"limit", JP_COL_NUMBER, 0, 5,
     .help = "the job counts as bound from this value on", FIELD(limit)},
    {"limit", JP_COL_FIGURE, 0, 0, 3, .title = "Limit",
     .help = "the job counts as bound from this value on",
     .get = get_bottleneck_limit},
    {"text", JP_COL_PROSE, 0, 6, 2, .title = "Evidence",
     .help = "the evidence, in one clause", .get = get_bottleneck_text},
};
#undef FIELD
const struct jp_table table_bottlenecks = {
    .name = "bottlenecks",
    .json = "bottlenecks",
    .help = "resources that limit the job as a whole",
    JP_COLUMNS(bottlenecks),
    .count = count_bottlenecks,
    .find = find_bottleneck,
    .max_json = JP_BOTTLENECKS,
    .max_html = JP_BOTTLENECKS,
    .unsorted = true,
};

/* One row, or none if no period was recognised. */
static size_t count_iterations(const struct jp_report *report)
{
    return iteration_of(report) && iteration_of(report)->source;
}

/* The only row. */
static void find_iteration(struct jp_row *row)
{
    row->at = iteration_of(row->report);
}

/* 0 means that the samples do not show the figure. */
static void value_above_zero(struct jp_value *v, double value)
{
    value_finite(v, value > 0 ? value : NAN);
}

JP_GETTER(iteration_source, jp_iteration,
          value_text(v, iteration_sources[at->source]))
JP_GETTER(iteration_p5, jp_iteration, value_above_zero(v, at->p5_us))
JP_GETTER(iteration_p95, jp_iteration, value_above_zero(v, at->p95_us))
/* period_us is above 0 if there is a row */
JP_GETTER(iteration_rate, jp_iteration, value_real(v, 1e6 / at->period_us))
JP_GETTER(iteration_ops, jp_iteration, value_known(v, at->ops > 0, at->ops))
JP_GETTER(iteration_drift, jp_iteration, value_finite(v, at->drift))
JP_GETTER(iteration_text, jp_iteration, value_text(v, at->text))

/* the words of the schema for iteration_sources */
static const char *const sources[] = {"collectives", "utilisation"};

#define FIELD(member) JP_FIELD(struct jp_iteration, member)
/* times are those of one iteration of the program's loop */
static const struct jp_column iteration[] = {
    {"source", JP_COL_WORD, 0, 1, 1, .title = "By",
     .help = "what it was derived from", JP_WORDS(sources),
     .get = get_iteration_source},
    {"period_us", JP_COL_US, JP_REAL, 2, 2, .title = "Step",
     .help = "how long an iteration takes: the median", FIELD(period_us)},
    {"p5_us", JP_COL_US, JP_MAYBE | JP_REAL, 3, 3, .title = "p5",
     .help = "5th percentile; null: samples do not show it",
     .get = get_iteration_p5},
    {"p95_us", JP_COL_US, JP_MAYBE | JP_REAL, 4, 4, .title = "p95",
     .help = "95th percentile, likewise", .get = get_iteration_p95},
    {"steps_per_s", JP_COL_NUMBER, 0, 5, 5, .title = "A second",
     .help = "steps a second", .get = get_iteration_rate},
    {"count", JP_COL_COUNT, 0, 6, 6, .title = "Steps",
     .help = "number of iterations that were recognised", FIELD(count)},
    {"ops", JP_COL_COUNT, JP_MAYBE, 7, 7, .title = "Operations",
     .help = "operations of a process in an iteration; null: samples do not "
             "show it",
     .get = get_iteration_ops},
    {"confidence", JP_COL_SHARE, 0, 8, 8, .title = "Confidence",
     .help = "from collectives: the share of operations that belong to such "
             "iterations; from samples: the autocorrelation",
     FIELD(confidence)},
    {"drift", JP_COL_SHARE, JP_MAYBE, 9, 9, .title = "Drift",
     .help = "how much longer the iterations of the last third are than those "
             "of the first third",
     .get = get_iteration_drift},
    {"text", JP_COL_PROSE, 0, 10, .help = "one sentence",
     .get = get_iteration_text},
};
#undef FIELD
const struct jp_table table_iteration = {
    .name = "iteration",
    .help = "duration of a step of the program's loop",
    JP_COLUMNS(iteration),
    .count = count_iterations,
    .find = find_iteration,
    .max_json = 1,
    .max_html = 1,
    .unsorted = true,
};

/* --- findings ------------------------------------------------------------- */

_Static_assert(JP_CAUSES == FEATURE_LOOKED_MAX, "summary.json states this");

static bool coincides(const void *data, size_t finding,
                      struct feature_coincidence *out)
{
    const struct cause_data *d = data;
    const struct jp_cause_look *look = causes_look(d->causes, finding);

    if (!look)
        return false;
    *out = (struct feature_coincidence){.why = look->why,
                                        .looked = look->list,
                                        .n_looked = look->n_list,
                                        .table = &table_causes,
                                        .first = look->first,
                                        .n = look->n};
    return true;
}

/* --- files of a report ---------------------------------------------------- */

/* Writes iteration{} and bottlenecks[]. */
static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    (void) key;
    /* iteration is one object, not an array: null if no period was recognised
     */
    if (count_iterations(report)) {
        json_stream_key(s, "iteration");
        table_json_row(s, &table_iteration, report, 0);
    } else {
        json_stream_null(s, "iteration");
    }
    table_json(s, &table_bottlenecks, report, NULL);
}

/* Writes how long a step takes, and what limits the job. */
static void put_lines(const struct jp_report *report, FILE *out)
{
    if (count_iterations(report)) {
        text_out_fact(out, "Pace", iteration_of(report)->text);
    }
    if (count_bottlenecks(report)) {
        text_out_fact(out, "Bound by", bottlenecks_of(report)->text);
    }
}

/* The tables are for the page only. */
static int put_text(const struct jp_report *report, FILE *out)
{
    (void) report;
    (void) out;
    return 0;
}

/* "25.2 ms a step" */
static bool put_pace(const struct jp_report *report, char *buf)
{
    const struct jp_iteration *i = iteration_of(report);

    if (!i || !i->source || !(i->period_us > 0))
        return false;
    snprintf(buf, DRAWER_FIGURE, "%s a step", FIG_US(i->period_us));
    return true;
}

/* "GPU, communication" */
static bool put_bound(const struct jp_report *report, char *buf)
{
    const struct jp_bottlenecks *b = bottlenecks_of(report);
    size_t n = 0;

    for (size_t i = 0; b && i < b->n; i++) {
        int len = snprintf(buf + n, DRAWER_FIGURE - n, "%s%s", i ? ", " : "",
                           bottleneck_titles[b->at[i].kind]);

        if (len < 0 || n + (size_t) len >= DRAWER_FIGURE)
            break;
        n += (size_t) len;
    }
    return n > 0;
}

/* The section is the answer where nothing was profiled. */
static bool is_answer(const struct jp_report *report)
{
    return !quality_has_nccl(report) && !feature_first(report->features);
}

/* "3 things coincide" */
static bool put_number(const struct jp_report *report, char *buf)
{
    size_t n = causes_of(report) ? causes_of(report)->n : 0;

    if (n)
        snprintf(buf, DRAWER_FIGURE, "%s thing%s coincide%s", FIG_COUNT(n),
                 plural(n), n == 1 ? "s" : "");
    return n > 0;
}

static const struct jp_html_section sections[] = {
    {.id = "causes",
     .title = "Why",
     .note = "Samples during a finding that differ from the peers or from "
             "earlier samples, strongest first. They coincide with the "
             "finding, which does not prove that they are its cause.",
     .kind = JP_HTML_WIDE,
     .table = &table_causes,
     .figure = put_number,
     .after = "findings"},
    {.id = "pace",
     .title = "Pace",
     .note = "How long a step of the program&#39;s loop takes: by operations "
             "that repeat themselves in the same order, else by samples of "
             "utilisation.",
     .kind = JP_HTML_WIDE,
     .table = &table_iteration,
     .figure = put_pace,
     .before = "operations",
     .order = 1},
    {.id = "bottlenecks",
     .title = "What the job is bound by",
     .note = "Of all nodes together, over the whole run; several may hold.",
     .kind = JP_HTML_WIDE,
     .open = is_answer,
     .table = &table_bottlenecks,
     .figure = put_bound,
     .before = "operations",
     .order = 1},
    {.id = NULL},
};

/* --- the first screen, and the card --------------------------------------- */

/* What limits the job. */
static bool tile_bound(const struct jp_report *report,
                       struct first_screen_tile *t)
{
    const struct jp_bottlenecks *b = bottlenecks_of(report);

    if (!b || !b->n)
        return false;
    t->label = "Bound by";
    SAY(t->value, "%s", bottleneck_titles[b->at[0].kind]);
    SAY(t->note, "%.120s", b->at[0].text);
    return true;
}

/* How long a step of the program's loop takes. */
static bool tile_pace(const struct jp_report *report,
                      struct first_screen_tile *t)
{
    const struct jp_iteration *i = iteration_of(report);

    if (!i || !i->source || !(i->period_us > 0))
        return false;
    t->label = "Pace";
    SAY(t->value, "%s", FIG_US(i->period_us));
    if (i->ops)
        SAY(t->note, "a step of %s operation%s", FIG_COUNT(i->ops),
            plural(i->ops));
    else
        SAY(t->note, "a step, by samples of utilisation");
    return true;
}

static size_t put_tiles(const struct jp_report *report,
                        struct first_screen_tile *tiles, size_t room)
{
    return room && tile_bound(report, tiles);
}

/* "GPU" of "gpu_bound". */
static const char *bound_title(const char *word)
{
    for (int i = 0; i < JP_BOTTLENECKS; i++)
        if (!strcmp(word, bottleneck_words[i]))
            return bottleneck_titles[i];
    return word; /* of another version */
}

/* What summary.json has of what bounds the step. */
struct bound {
    const char *kind;
};
struct bounds {
    struct bound *bottlenecks;
    size_t n_bottlenecks;
};
static const struct json_field bound_fields[] = {
    JSON_FIELD(struct bound, kind)};
static const struct json_fields bound_read =
    JSON_FIELDS(struct bound, bound_fields);
static const struct json_field bounds_fields[] = {
    JSON_FIELD_ROWS(struct bounds, bottlenecks, n_bottlenecks, bound_read)};
static const struct json_fields bounds_read =
    JSON_FIELDS(struct bounds, bounds_fields);

/* "bound by GPU; a step takes 412 ms, 3 % longer at the end" */
static void put_card(const struct summary_file *summary, unsigned columns,
                     FILE *out)
{
    char pace[120], text[600] = "";
    struct bounds own;

    clean_text(summary->iteration.text, JP_CLEAN_ASCII, pace, sizeof(pace));
    summary_file_own(summary, &bounds_read, &own);
    for (size_t i = 0; i < own.n_bottlenecks; i++) {
        size_t len = strlen(text);

        snprintf(text + len, sizeof(text) - len, "%s%.40s",
                 i ? " and " : "bound by ",
                 bound_title(own.bottlenecks[i].kind));
    }
    json_fields_fini(&bounds_read, &own);
    /* either part may be missing */
    if (*pace)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 *text ? "; " : "", pace);
    if (*text)
        text_out_clauses(out, columns, "pace", text);
}

/* --- the feature ---------------------------------------------------------- */

const struct feature feature_cause = {
    .name = CAUSE_FEATURE,
    .title = "causes",
    .role = FEATURE_FIGURES,
    .explain = explain,
    .destroy = destroy,
    .limits = cause_limits,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
    .coincides = coincides,
    .further_tiles = put_tiles,
    .tile_bound = tile_bound,
    .tile_pace = tile_pace,
    .card = put_card,
};
