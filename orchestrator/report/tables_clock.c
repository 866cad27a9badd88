/* tables_clock.c - the columns of the nodes' clocks, and summary.json's object.
 * See tables.c.
 */
#include <math.h>

#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/report/tables.h"

static const struct jp_clocks *clocks_of(const struct jp_report *report)
{
    const struct jp_clocks *c = report->result ? report->result->clocks : NULL;

    return c && c->map.n_nodes > 1 ? c : NULL;
}

/* One clock needs no table. */
static size_t count_clocks(const struct jp_report *report)
{
    const struct jp_clocks *c = clocks_of(report);

    return c ? c->map.n_nodes : 0;
}

static void find_clock(struct jp_row *row)
{
    row->at = &row->report->result->clocks->nodes[row->index];
}

JP_GETTER(clock_offset, jp_clock,
          value_finite(v, at->aligned ? at->offset_us : NAN))
JP_GETTER(clock_drift, jp_clock,
          value_finite(v, at->aligned ? at->drift_ppm : NAN))
JP_GETTER(clock_unc, jp_clock, value_finite(v, at->aligned ? at->unc_us : NAN))

static double distance(const struct jp_result *result, size_t row)
{
    return fabs(result->clocks->nodes[row].offset_us);
}

#define FIELD(member) JP_FIELD(struct jp_clock, member)
static const struct jp_column clock_columns[] = {
    {"host", JP_COL_TEXT, JP_CSV, 1, 1, 1, "Node", "whose clock it is",
     FIELD(host)},
    {"reference", JP_COL_BOOL, JP_CSV, 2, 2, .title = "Reference",
     .help = "the others are compared with it", FIELD(reference)},
    {"aligned", JP_COL_BOOL, JP_CSV | JP_TIP, 3, 3, 2, "Aligned",
     "operations with other nodes tie it to the reference", FIELD(aligned)},
    {"offset_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 4, 4, 3, "Ahead, us",
     "of the reference in the middle of the run; below zero: behind",
     .get = get_clock_offset},
    {"drift_ppm", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 5, 5, 4, "Drift, ppm",
     "how much faster it runs: us a second", .get = get_clock_drift},
    {"uncertainty_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE | JP_TIP, 6, 6, 5,
     "Sure within, us",
     "how wrong times of this node may be after the "
     "correction, at most over the run",
     .brief = "within", .get = get_clock_unc},
};
#undef FIELD

const struct jp_table table_clock = {
    .name = "clock",
    .json = "clock.nodes",
    .help = "a row a node, where a step ran on several",
    JP_COLUMNS(clock_columns),
    .count = count_clocks,
    .find = find_clock,
    .weight = distance,
    .by_weight = true,
    .max_json = 4096,
    .max_html = 100,
    .max_text = 8,
    .title = "Clocks of the nodes",
};

static void put_check(struct jp_json_stream *s, const char *name,
                      const struct clocks_check *check)
{
    json_stream_object(s, name);
    json_stream_count(s, "operations", check->operations);
    json_stream_count(s, "violations", check->violations);
    json_stream_real(s, "worst_us", (double) check->worst_ns / 1000);
    json_stream_end_object(s);
}

void tables_clock_json(struct jp_json_stream *s, const struct jp_report *report)
{
    const struct jp_clocks *c = clocks_of(report);
    char text[CLOCKS_TEXT];

    json_stream_object(s, "clock");
    if (c) {
        json_stream_text(s, "method", clockmap_method_name(c->map.method));
        json_stream_text(s, "text", clocks_text(c, text));
        put_check(s, "as_recorded", &c->before);
        put_check(s, "aligned", &c->after);
        json_stream_count(s, "left_out", c->before.left_out);
        json_stream_object(s, "last_by_start_and_time");
        json_stream_count(s, "operations", c->compared);
        json_stream_count(s, "disagreed", c->disagreed);
        json_stream_end_object(s);
        table_json(s, &table_clock, report, NULL);
    }
    json_stream_end_object(s);
}
