/* chart_data.h - the figures behind report.html's charts, as one JSON object.
 *
 * A key a chart; web/src has the drawing half under the same name. What is
 * written is bounded: the heaviest rows and JP_CHART_SLICES slices of time, and
 * "of" tells how many rows there were. Times are microseconds, bandwidths GB/s.
 */
#ifndef JP_REPORT_CHART_DATA_H
#define JP_REPORT_CHART_DATA_H

#include <stdio.h>

#include "orchestrator/report/chart_json.h"
#include "orchestrator/report/chart_view.h"

/* One value, null where there is nothing to draw. Returns 0, or -1 when out of
 * memory. */
typedef int chart_put(const struct jp_chart_view *view,
                      struct jp_chart_json *json);

chart_put chart_busbw_put;  /* {series: [{type, coll, points: [bytes, ops, p5,
                               p50, p95, net p50 or null, ...]}]} */
chart_put chart_sizes_put;  /* {colls, rows: [exponent of 2, coll, ops, bytes,
                               us, ...]} */
chart_put chart_spread_put; /* {cells: [{type, coll, bytes, n, mean, box: [min,
                               p5, p25, p50, p75, p95, max], hist: {from, width,
                               counts}, ecdf: [101 quantiles]}], of} */
chart_put chart_time_put;   /* {from, width, slices, series: [{type, coll,
                               bytes, points: [slice, ops, mean, min, max,
                               ...]}], of} */
chart_put chart_drift_put;  /* {from, width, slices, rows: [{name, type}],
                               cells: [row, slice, percent off, ...], of} */
chart_put chart_waits_put;  /* {rows: [[rank or null, host, caused, waited or
                               null, share last], ...], of} */
chart_put chart_late_put;   /* {from, width, slices, ranks: {names, cells: [row,
                               slice, us, ...], of}, nodes: {...}} */
chart_put chart_nodes_put;  /* {rows: [[host, ranks, caused, waited or null,
                               share last], ...], of} */
chart_put chart_p2p_put;    /* {by: "rank" or "node", names, cells: [from, to,
                               bytes, us, ...], of} */

/* The keys from, width and slices of an object over time. */
void chart_data_put_slices(const struct jp_chart_view *view,
                           struct jp_chart_json *json);

/* The whole object. result may be NULL. */
int chart_data_write(const struct jp_result *result, FILE *out);

#endif
