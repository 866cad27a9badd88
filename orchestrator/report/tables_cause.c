/* tables_cause.c - the columns of causes that coincide with findings, of a
 * job's bottlenecks and of its steps. See tables.c. */
#include <math.h>

#include "orchestrator/report/tables.h"

static size_t count_causes(const struct jp_report *report)
{
    return report->causes ? report->causes->n : 0;
}

static void find_cause(struct jp_row *row)
{
    row->at = &row->report->causes->at[row->index];
}

JP_GETTER(cause_what, jp_cause, value_text(v, cause_words[at->what]))
JP_GETTER(cause_scope, jp_cause, value_text(v, util_scope_name(at->scope)))
JP_GETTER(cause_node, jp_cause, value_name(v, at->node))
JP_GETTER(cause_id, jp_cause, value_name(v, at->id))
JP_GETTER(cause_unit, jp_cause, value_text(v, util_unit_name(at->unit)))
JP_GETTER(cause_peers, jp_cause, value_finite(v, at->peers))
JP_GETTER(cause_before, jp_cause, value_finite(v, at->before))
JP_GETTER(cause_deviations, jp_cause, value_finite(v, at->deviations))
JP_GETTER(cause_follows, jp_cause, value_finite(v, at->follows))
JP_GETTER(cause_text, jp_cause, value_text(v, at->text))
JP_GETTER(cause_finding, jp_cause,
          value_text(v,
                     finding_kind_name(
                         row->report->insight->findings.at[at->finding].kind)))

static const char *const scopes[] = {"step", "node", "task", "gpu", "port"};

#define FIELD(member) JP_FIELD(struct jp_cause, member)
static const struct jp_column causes[] = {
    {"what", JP_COL_WORD, 0, 1, 2, .title = "Coincides",
     .help = "the kind of cause", .words = cause_words, .n_words = JP_CAUSES,
     .get = get_cause_what},
    {"scope", JP_COL_WORD, 0, 2, .help = "what the metric belongs to",
     .path = "evidence.scope", JP_WORDS(scopes), .get = get_cause_scope},
    {"node", JP_COL_TEXT, JP_MAYBE, 3, .help = "where", .path = "evidence.node",
     .get = get_cause_node},
    {"id", JP_COL_TEXT, JP_MAYBE, 4,
     .help = "a task's rank, a GPU's bus id, a port; null: several, or a node",
     .path = "evidence.id", .get = get_cause_id},
    {"metric", JP_COL_TEXT, 0, 5, 4, .title = "Metric",
     .help = "a column of the samples, or cpu (user and system), cpu_steal "
             "(of all processors), other_cores, port_use",
     .path = "evidence.metric", FIELD(metric)},
    {"unit", JP_COL_TEXT, 0, 6, 5, .title = "Unit", .help = "of the figures",
     .path = "evidence.unit", .get = get_cause_unit},
    {"value", JP_COL_NUMBER, 0, 7, 6, .title = "Value",
     .help = "its mean during the finding", .path = "evidence.value",
     FIELD(value)},
    {"peers", JP_COL_NUMBER, JP_MAYBE | JP_TIP, 8, 7, .title = "Peers",
     .help = "median of the peers at the same time", .path = "evidence.peers",
     .get = get_cause_peers},
    {"n_peers", JP_COL_COUNT, 0, 9, .help = "number of peers",
     .path = "evidence.n_peers", .get = NULL, FIELD(n_peers)},
    {"otherwise", JP_COL_NUMBER, JP_MAYBE | JP_TIP, 10, 8, .title = "Otherwise",
     .help = "its mean in the rest of the run", .path = "evidence.otherwise",
     .get = get_cause_before},
    {"deviations", JP_COL_NUMBER, JP_MAYBE, 11,
     .help =
         "distance from the median of the peers, in their standard deviations",
     .path = "evidence.deviations", .get = get_cause_deviations},
    {"follows", JP_COL_NUMBER, JP_MAYBE, 12,
     .help = "-1 to 1: its correlation with the waits over the run; null: the "
             "waits do not vary",
     .path = "evidence.follows", .get = get_cause_follows},
    {"start_us", JP_COL_CLOCK, 0, 13, .help = "when it began to differ",
     .path = "when.start_us", FIELD(start_us)},
    {"end_us", JP_COL_CLOCK, 0, 14, .help = "when it no longer differed",
     .path = "when.end_us", FIELD(end_us)},
    {"strength", JP_COL_SHARE, 0, 15, 9, .title = "Strength",
     .help = "0 to 1: how well it would explain the finding", FIELD(strength)},
    {"text", JP_COL_PROSE, 0, 16, 3, .title = "What was seen",
     .help = "one sentence", .get = get_cause_text},
    {"finding", JP_COL_WORD, 0, 0, 1, .title = "Finding", .help = "which",
     .get = get_cause_finding},
};
#undef FIELD
const struct jp_table table_causes = {
    .name = "causes",
    .json = "findings.causes",
    .help = "what coincides with the finding, strongest first",
    JP_COLUMNS(causes),
    .count = count_causes,
    .find = find_cause,
    .max_json = 5,
    .max_html = 200,
    .unsorted = true,
};

void tables_cause_json(struct jp_json_stream *s, const struct jp_row *row)
{
    const struct jp_cause_look *look =
        causes_look(row->report->causes, row->index);

    json_stream_array(s, "causes");
    for (size_t i = 0; look && i < look->n; i++)
        table_json_row(s, &table_causes, row->report, look->first + i);
    json_stream_end_array(s);
}

/* --- what the job is bound by, and how long its steps take ---------------- */

static size_t count_bottlenecks(const struct jp_report *report)
{
    return report->bottlenecks ? report->bottlenecks->n : 0;
}

static void find_bottleneck(struct jp_row *row)
{
    row->at = &row->report->bottlenecks->at[row->index];
}

JP_GETTER(bottleneck_kind, jp_bottleneck,
          value_text(v, bottleneck_words[at->kind]))
JP_GETTER(bottleneck_unit, jp_bottleneck,
          value_text(v, util_unit_name(at->unit)))
JP_GETTER(bottleneck_text, jp_bottleneck, value_text(v, at->text))

#define FIELD(member) JP_FIELD(struct jp_bottleneck, member)
static const struct jp_column bottlenecks[] = {
    {"kind", JP_COL_WORD, 0, 1, 1, .title = "Bound by",
     .help = "several may hold", .words = bottleneck_words,
     .n_words = JP_BOTTLENECKS, .get = get_bottleneck_kind},
    {"metric", JP_COL_TEXT, 0, 2, .help = "the metric that shows it",
     FIELD(metric)},
    {"unit", JP_COL_TEXT, 0, 3, .help = "of value and limit",
     .get = get_bottleneck_unit},
    {"value", JP_COL_NUMBER, 0, 4, .help = "over the run, of all members",
     FIELD(value)},
    {"limit", JP_COL_NUMBER, 0, 5, 3, .title = "Limit",
     .help = "the job counts as bound from this value on", FIELD(limit)},
    {"text", JP_COL_PROSE, 0, 6, 2, .title = "Evidence",
     .help = "the evidence, in one clause", .get = get_bottleneck_text},
};
#undef FIELD
const struct jp_table table_bottlenecks = {
    .name = "bottlenecks",
    .json = "bottlenecks",
    .help = "what the job as a whole is bound by",
    JP_COLUMNS(bottlenecks),
    .count = count_bottlenecks,
    .find = find_bottleneck,
    .max_json = JP_BOTTLENECKS,
    .max_html = JP_BOTTLENECKS,
    .unsorted = true,
};

static size_t count_iterations(const struct jp_report *report)
{
    return report->iteration && report->iteration->source;
}

static void find_iteration(struct jp_row *row)
{
    row->at = row->report->iteration;
}

static void value_positive(struct jp_value *v, double value)
{
    value_finite(v, value > 0 ? value : NAN);
}

JP_GETTER(iteration_source, jp_iteration,
          value_text(v, iteration_sources[at->source]))
JP_GETTER(iteration_p5, jp_iteration, value_positive(v, at->p5_us))
JP_GETTER(iteration_p95, jp_iteration, value_positive(v, at->p95_us))
JP_GETTER(iteration_rate, jp_iteration, value_real(v, 1e6 / at->period_us))
JP_GETTER(iteration_ops, jp_iteration, value_known(v, at->ops > 0, at->ops))
JP_GETTER(iteration_drift, jp_iteration, value_finite(v, at->drift))
JP_GETTER(iteration_text, jp_iteration, value_text(v, at->text))

static const char *const sources[] = {"collectives", "utilisation"};

#define FIELD(member) JP_FIELD(struct jp_iteration, member)
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
    .help = "how long a step of the program's loop takes",
    JP_COLUMNS(iteration),
    .count = count_iterations,
    .find = find_iteration,
    .max_json = 1,
    .max_html = 1,
    .unsorted = true,
};

void tables_pace_json(struct jp_json_stream *s, const struct jp_report *report)
{
    if (count_iterations(report)) {
        json_stream_key(s, "iteration");
        table_json_row(s, &table_iteration, report, 0);
    } else {
        json_stream_null(s, "iteration");
    }
    table_json(s, &table_bottlenecks, report, NULL);
}
