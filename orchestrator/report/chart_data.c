/* chart_data.c - which charts the page has figures for. */
#include "orchestrator/report/chart_data.h"

static const struct chart {
    const char *name;
    chart_put *put;
} charts[] = {
    {"busbw-time", chart_time_put},  {"drift", chart_drift_put},
    {"busbw-size", chart_busbw_put}, {"spread", chart_spread_put},
    {"sizes", chart_sizes_put},      {"waits", chart_waits_put},
    {"waits-time", chart_late_put},  {"nodes", chart_nodes_put},
    {"p2p", chart_p2p_put},
};

void chart_data_put_slices(const struct jp_chart_view *view,
                           struct jp_chart_json *json)
{
    chart_json_put_count(json, "from", view->from_us);
    chart_json_put_count(json, "width", view->width_us);
    chart_json_put_count(json, "slices", view->slices);
}

int chart_data_write(const struct jp_result *result, FILE *out)
{
    static const struct jp_result nothing;
    struct jp_chart_json json = {.out = out};
    struct jp_chart_view view;
    int rc = 0;

    if (chart_view_make(result ? result : &nothing, &view) < 0)
        return -1;
    chart_json_begin(&json, '{');
    for (size_t i = 0; i < sizeof(charts) / sizeof(*charts) && rc == 0; i++) {
        chart_json_key(&json, charts[i].name);
        rc = charts[i].put(&view, &json);
    }
    chart_json_end(&json, '}');
    chart_view_fini(&view);
    return rc;
}
