/* chart_data.c - which charts the page has figures for. */
#include "orchestrator/report/chart_data.h"

static const struct jp_chart *const charts[] = {
    &chart_time,   &chart_drift, &chart_waits, &chart_late,
    &chart_nodes,  &chart_busy,  &chart_busbw, &chart_network,
    &chart_spread, &chart_sizes, &chart_p2p,
};
enum { N_CHARTS = sizeof(charts) / sizeof(*charts) };

void chart_data_put_slices(const struct jp_chart_view *view,
                           struct jp_chart_json *json)
{
    chart_json_put_count(json, "from", view->from_us);
    chart_json_put_count(json, "width", view->width_us);
    chart_json_put_count(json, "slices", view->slices);
}

/* Each chart's own, in the order of charts[]. */
struct states {
    void *of[N_CHARTS];
};

static int visit(void *arg, const struct jp_chart_op *op)
{
    struct states *states = arg;

    for (size_t i = 0; i < N_CHARTS; i++)
        if (charts[i]->add && charts[i]->add(states->of[i], op) < 0)
            return -1;
    return 0;
}

static int make_all(const struct jp_chart_view *view, struct states *states)
{
    for (size_t i = 0; i < N_CHARTS; i++) {
        if (!charts[i]->make)
            continue;
        states->of[i] = charts[i]->make(view);
        if (!states->of[i])
            return -1;
    }
    return chart_view_walk(view, visit, states);
}

static int put_all(const struct jp_chart_view *view, struct states *states,
                   FILE *out)
{
    struct jp_chart_json json = {.out = out};

    chart_json_begin(&json, '{');
    for (size_t i = 0; i < N_CHARTS; i++) {
        chart_json_key(&json, charts[i]->name);
        if (charts[i]->put(view, states->of[i], &json) < 0)
            return -1;
    }
    chart_json_end(&json, '}');
    return 0;
}

int chart_data_write(const struct jp_result *result,
                     const struct jp_insight *insight, FILE *out)
{
    static const struct jp_result nothing;
    struct states states = {{NULL}};
    struct jp_chart_view view;
    int rc;

    if (chart_view_make(result ? result : &nothing, &view) < 0)
        return -1;
    view.insight = insight;
    rc = make_all(&view, &states);
    if (rc == 0)
        rc = put_all(&view, &states, out);
    for (size_t i = 0; i < N_CHARTS; i++)
        if (charts[i]->destroy)
            charts[i]->destroy(states.of[i]);
    chart_view_fini(&view);
    return rc;
}
