/* chart_data.h - the figures behind report.html's charts, as one JSON object.
 *
 * A key a chart; web/src has the drawing half under the same name. What is
 * written is bounded: the heaviest rows and JP_CHART_SLICES slices of time, and
 * "of" tells how many rows there were. Times are microseconds, bandwidths GB/s.
 */
#ifndef JP_REPORT_CHART_DATA_H
#define JP_REPORT_CHART_DATA_H

#include <stdio.h>

#include "common/json_stream.h"
#include "orchestrator/report/chart_view.h"

/* One chart. state is what make gave, NULL without make. */
struct jp_chart {
    const char *name; /* its key, and data-chart in the page */
    /* For charts of operations: room for their figures, or NULL: out of
     * memory; then add with each operation (0, or -1 when out of memory). */
    void *(*make)(const struct jp_chart_view *view);
    int (*add)(void *state, const struct jp_chart_op *op);
    /* One value, null where there is nothing to draw. Returns 0, or -1 when
     * out of memory. */
    int (*put)(const struct jp_chart_view *view, void *state,
               struct jp_json_stream *json);
    void (*destroy)(void *state); /* takes NULL */
};

/* {series: [{type, coll, points: [bytes, ops, p5, p50, p95, net p50 or null,
 * ...]}]} */
extern const struct jp_chart chart_busbw;
/* {colls, rows: [exponent of 2, coll, ops, bytes, us, ...]} */
extern const struct jp_chart chart_sizes;
/* {cells: [{type, coll, bytes, n, sample, mean, box: [min, p5, p25, p50, p75,
 * p95, max], hist: {from, width, counts}, ecdf: [101 quantiles]}], of} */
extern const struct jp_chart chart_spread;
/* {series: [{type, coll, bytes, n, points: [sequence number, GB/s, us or null,
 * ...]}], of}; of the n operations one of so many in a row that they fit, with
 * the slowest and the fastest */
extern const struct jp_chart chart_numbers;
/* {rows: [[rank or null, host, caused, waited or null, share last, named],
 * ...], of}; named: 1 where a finding says that it, or its node, is late.
 * Without a rank in the job: "3 of TP1", "host pid 4711" */
extern const struct jp_chart chart_waits;
/* {rows: [[host, ranks, caused, waited or null, share last, named], ...], of}
 */
extern const struct jp_chart chart_nodes;
/* {by: "rank" or "node", names, cells: [from, to, bytes, us, ...], of} */
extern const struct jp_chart chart_p2p;

/* {from, width, slices, metrics: [{scope, name, unit, help, of members, score:
 * how much the first of out stands out, low, mid, high: of the others, a value
 * or null a slice, out: [{name, values}]}]}; null: nobody sampled */
extern const struct jp_chart chart_util;
/* {from, width, slices, maps: [{scope, name, unit, help, of, rows: in all,
 * names, cells: [row, slice, value, ...]}]} */
extern const struct jp_chart chart_util_time;

/* The whole object. All but processes of a result may be NULL. */
int chart_data_write(const struct jp_result *result,
                     const struct jp_processes *processes,
                     const struct jp_insight *insight,
                     const struct samples *samples, FILE *out);

#endif
