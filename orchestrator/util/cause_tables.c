/* cause_tables.c - the columns of causes that coincide with findings. See
 * tables.c.
 *
 * In summary.json the causes are part of their finding; in the page they are a
 * table of their own. For both, a row is an element of causes_of(report). */
#include "orchestrator/util/cause_feature.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/util/util_feature.h"

/* No rows if utilisation was not sampled. */
static size_t count_causes(const struct jp_report *report)
{
    return causes_of(report) ? causes_of(report)->n : 0;
}

/* Causes of one finding are neighbours. */
static void find_cause(struct jp_row *row)
{
    row->at = &causes_of(row->report)->at[row->index];
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
JP_GETTER(cause_value_unit, jp_cause, value_measure(v, at->unit, at->value))
JP_GETTER(cause_peers_unit, jp_cause, value_measure(v, at->unit, at->peers))
JP_GETTER(cause_before_unit, jp_cause, value_measure(v, at->unit, at->before))
JP_GETTER(cause_text, jp_cause, value_text(v, at->text))
JP_GETTER(cause_finding, jp_cause,
          value_text(v,
                     finding_kind_name(
                         row->report->insight->findings.at[at->finding].kind)))

/* the words of the schema; util_scope_name prints the same */
static const char *const scopes[] = {"step", "node", "task", "gpu", "port"};

#define FIELD(member) JP_FIELD(struct jp_cause, member)
/* evidence.*: what was measured; when.*: when it differed from the rest */
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
    {"metric", JP_COL_WORD, 0, 5, 4, .title = "Metric",
     .help = "a column of the samples, or cpu (user and system), cpu_steal "
             "(of all processors), other_cores, port_use",
     .path = "evidence.metric", FIELD(metric)},
    {"unit", JP_COL_TEXT, 0, 6, .help = "of the figures",
     .path = "evidence.unit", .get = get_cause_unit},
    {"value", JP_COL_NUMBER, 0, 7, .help = "its mean during the finding",
     .path = "evidence.value", FIELD(value)},
    {"value", JP_COL_FIGURE, 0, 0, 6, .title = "Value",
     .help = "its mean during the finding", .get = get_cause_value_unit},
    {"peers", JP_COL_NUMBER, JP_MAYBE, 8,
     .help = "median of the peers at the same time", .path = "evidence.peers",
     .get = get_cause_peers},
    {"peers", JP_COL_FIGURE, JP_MAYBE | JP_TIP, 0, 7, .title = "Peers",
     .help = "median of the peers at the same time",
     .get = get_cause_peers_unit},
    {"n_peers", JP_COL_COUNT, 0, 9, .help = "number of peers",
     .path = "evidence.n_peers", .get = NULL, FIELD(n_peers)},
    {"otherwise", JP_COL_NUMBER, JP_MAYBE, 10,
     .help = "its mean in the rest of the run", .path = "evidence.otherwise",
     .get = get_cause_before},
    {"otherwise", JP_COL_FIGURE, JP_MAYBE | JP_TIP, 0, 8, .title = "Otherwise",
     .help = "its mean in the rest of the run", .get = get_cause_before_unit},
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
     .help = "0 to 1: how well it explains the finding", FIELD(strength)},
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
