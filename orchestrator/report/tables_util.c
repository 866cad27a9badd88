/* tables_util.c - the columns of utilisation. See tables.c. */
#include "orchestrator/report/tables.h"

static size_t count_util(const struct jp_report *report)
{
    return report->util ? report->util->n_rows : 0;
}

static void find_util(struct jp_row *row)
{
    row->at = &row->report->util->rows[row->index];
}

/* Rows of all members come first. */
static size_t count_util_totals(const struct jp_report *report)
{
    size_t n = 0;

    while (n < count_util(report) && !*report->util->rows[n].node)
        n++;
    return n;
}

JP_GETTER(util_scope, jp_util_row, value_text(v, util_scope_name(at->scope)))
JP_GETTER(util_node, jp_util_row, value_name(v, at->node))
JP_GETTER(util_id, jp_util_row, value_name(v, at->id))
JP_GETTER(util_metric, jp_util_row, value_text(v, at->column->name))
JP_GETTER(util_unit, jp_util_row,
          value_text(v, util_unit_name(at->column->unit)))
JP_GETTER(util_help, jp_util_row, value_text(v, at->column->help))
JP_GETTER(util_imbalance, jp_util_row, value_finite(v, at->imbalance))

static const char *const scopes[] = {"step", "node", "task", "gpu", "port"};

#define FIELD(member) JP_FIELD(struct jp_util_row, member)
static const struct jp_column util[] = {
    {"scope", JP_COL_WORD, JP_CSV, 1, 1, 1, "Of", "what was sampled",
     JP_WORDS(scopes), .get = get_util_scope},
    {"node", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2,
     .help = "empty: all members together", .get = get_util_node},
    {"id", JP_COL_TEXT, JP_CSV | JP_MAYBE, 3,
     .help = "a task's rank, a GPU's bus id, a port", .get = get_util_id},
    {"metric", JP_COL_TEXT, JP_CSV, 4, 2, 2, "Metric",
     "a column of the samples", .width = 18, .get = get_util_metric},
    {"unit", JP_COL_TEXT, JP_CSV, 5, 3, 3, "Unit", "of the figures behind it",
     .width = 6, .get = get_util_unit},
    {"members", JP_COL_COUNT, JP_CSV, 6, 4, 0, "Members",
     "nodes, tasks, GPUs or ports", FIELD(members)},
    {"samples", JP_COL_COUNT, JP_CSV, 7, 5, 0, "Samples", "of all members",
     FIELD(samples)},
    {"mean", JP_COL_NUMBER, JP_CSV, 8, 6, 4, "Mean", "of all samples",
     FIELD(mean)},
    {"p50", JP_COL_NUMBER, JP_CSV, 9, 7, 5, "Median",
     "of samples; of all members: of their means", FIELD(p50)},
    {"p95", JP_COL_NUMBER, JP_CSV, 10, 8, 6, "95 %",
     "95th percentile, likewise", FIELD(p95)},
    {"min", JP_COL_NUMBER, JP_CSV, 11, 9, 7, "Least", "sample", FIELD(min)},
    {"max", JP_COL_NUMBER, JP_CSV, 12, 10, 8, "Most", "sample", FIELD(max)},
    {"imbalance", JP_COL_NUMBER, JP_CSV | JP_MAYBE | JP_TIP, 13, 11, 9,
     "Imbalance", "the largest mean of a member over the mean of all",
     .get = get_util_imbalance},
    {"first_us", JP_COL_CLOCK, JP_CSV, 14, .help = "first sample",
     FIELD(first_us)},
    {"last_us", JP_COL_CLOCK, JP_CSV, 15, .help = "last sample",
     FIELD(last_us)},
    {"help", JP_COL_TEXT, 0, 0, 12, 0, "What it is", "of the metric",
     .get = get_util_help},
};
#undef FIELD

const struct jp_table table_util = {
    .name = "util",
    .json = "util.series",
    .help = "a row a metric of all nodes, tasks, GPUs or ports together, then "
            "one a metric of each",
    JP_COLUMNS(util),
    .count = count_util,
    .find = find_util,
    .max_json = 2000,
};

/* The same of all members together: what readers see first. */
const struct jp_table table_util_totals = {
    .name = "util",
    .help = "a row a metric of all nodes, tasks, GPUs or ports together",
    JP_COLUMNS(util),
    .count = count_util_totals,
    .find = find_util,
    .max_html = 200,
    .max_text = 60,
    .title = "Utilisation",
};
