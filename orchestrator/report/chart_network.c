/* chart_network.c - figures: the network's bandwidth by message size, and what
 * was expected of it. */
#include "orchestrator/report/chart_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "orchestrator/report/netnames.h"

#define MAX_SERIES 12

/* Cells are sorted so that those of a series follow each other. */
struct run {
    size_t from, to;
    double time_us;
};

static bool is_same(const struct jp_netkey *a, const struct jp_netkey *b)
{
    struct jp_netkey x = *a;

    x.size = b->size;
    return !netkey_compare(&x, b);
}

static struct run next_run(const struct jp_netcells *cells, size_t from)
{
    struct run run = {from, from, 0};

    while (run.to < cells->n &&
           is_same(&cells->at[from].key, &cells->at[run.to].key))
        run.time_us += cells->at[run.to++].time_us;
    return run;
}

/* The runs of most time, in the cells' order; returns how many. */
static size_t pick(const struct jp_netcells *cells, struct run *runs,
                   size_t *of)
{
    size_t n = 0;

    *of = 0;
    for (size_t i = 0; i < cells->n; ++*of) {
        struct run run = next_run(cells, i);
        size_t least = 0;

        i = run.to;
        if (n < MAX_SERIES) {
            runs[n++] = run;
            continue;
        }
        for (size_t k = 1; k < n; k++)
            if (runs[k].time_us < runs[least].time_us)
                least = k;
        if (run.time_us <= runs[least].time_us)
            continue;
        memmove(&runs[least], &runs[least + 1],
                (n - least - 1) * sizeof(*runs));
        runs[n - 1] = run;
    }
    return n;
}

static void put_point(struct jp_chart_json *json, const struct jp_netcell *c,
                      const struct jp_expected_bw *e)
{
    bool told = e->against != JP_AGAINST_OWN;

    chart_json_count(json, c->bytes);
    chart_json_count(json, c->gbs.total);
    chart_json_real(json, bwhist_quantile(&c->gbs, 0.05));
    chart_json_real(json, bwhist_quantile(&c->gbs, 0.5));
    chart_json_real(json, bwhist_quantile(&c->gbs, 0.95));
    chart_json_real(json, told ? e->low_gbs : NAN);
    chart_json_real(json, told ? e->gbs : NAN);
    chart_json_real(json, told ? e->high_gbs : NAN);
}

static void put_series(const struct jp_insight *x, const struct run *run,
                       struct jp_chart_json *json)
{
    char name[NETNAMES_LEN];

    chart_json_begin(json, '{');
    chart_json_put_text(json, "name",
                        netnames_series(&x->network.at[run->from].key, name));
    chart_json_key(json, "points");
    chart_json_begin(json, '[');
    for (size_t i = run->from; i < run->to; i++)
        put_point(json, &x->network.at[i], &x->expected[i]);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
}

static int put_network(const struct jp_chart_view *view, void *state,
                       struct jp_chart_json *json)
{
    const struct jp_insight *x = view->insight;
    struct run runs[MAX_SERIES];
    size_t of = 0, n = x ? pick(&x->network, runs, &of) : 0;

    (void) state;
    chart_json_begin(json, '{');
    chart_json_key(json, "series");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < n; i++)
        put_series(x, &runs[i], json);
    chart_json_end(json, ']');
    chart_json_put_count(json, "of", of);
    chart_json_end(json, '}');
    return 0;
}

const struct jp_chart chart_network = {.name = "network-size",
                                       .put = put_network};
