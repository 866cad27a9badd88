/* tables_cause.c - the columns of what coincides with findings. See tables.c.
 */
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
    {"what", JP_COL_WORD, 0, 1, 2, .title = "Coincides", .help = "by its kind",
     .words = cause_words, .n_words = JP_CAUSES, .get = get_cause_what},
    {"scope", JP_COL_WORD, 0, 2, .help = "whose metric it is",
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
     .help = "its mean in the time of the finding", .path = "evidence.value",
     FIELD(value)},
    {"peers", JP_COL_NUMBER, JP_MAYBE | JP_TIP, 8, 7, .title = "Peers",
     .help = "the median of theirs at the same time", .path = "evidence.peers",
     .get = get_cause_peers},
    {"n_peers", JP_COL_COUNT, 0, 9, .help = "how many those are",
     .path = "evidence.n_peers", .get = NULL, FIELD(n_peers)},
    {"otherwise", JP_COL_NUMBER, JP_MAYBE | JP_TIP, 10, 8, .title = "Otherwise",
     .help = "its own in the rest of the run", .path = "evidence.otherwise",
     .get = get_cause_before},
    {"deviations", JP_COL_NUMBER, JP_MAYBE, 11,
     .help = "it is off the peers by so many standard deviations of theirs",
     .path = "evidence.deviations", .get = get_cause_deviations},
    {"follows", JP_COL_NUMBER, JP_MAYBE, 12,
     .help = "-1 to 1: how it comes and goes with the waits, their correlation "
             "over the run; null: the waits do not vary",
     .path = "evidence.follows", .get = get_cause_follows},
    {"start_us", JP_COL_CLOCK, 0, 13, .help = "when it began to differ",
     .path = "when.start_us", FIELD(start_us)},
    {"end_us", JP_COL_CLOCK, 0, 14, .help = "when it ended to",
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
