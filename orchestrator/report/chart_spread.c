/* chart_spread.c - figures: how an operation's bandwidth varies. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>

#include "orchestrator/aggregate/dist.h"

enum { MAX_CELLS = 16, BARS = 40, QUANTILES = 100 };

/* The bandwidths of the cells, one cell behind the other. */
struct values {
    struct jp_chart_cells cells;
    size_t n[MAX_CELLS], start[MAX_CELLS];
    double *list, *scratch;
};

static int collect(const struct jp_chart_view *view, struct values *v)
{
    const struct jp_result *r = view->result;
    size_t total = 0, used[MAX_CELLS] = {0};

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->n_ops; i++) {
            double gbs = chart_view_busbw(&r->ops[i]);
            uint32_t at = gbs < 0
                              ? KEYMAP_NONE
                              : chart_cells_find(view, &v->cells, &r->ops[i]);

            if (at == KEYMAP_NONE)
                continue;
            if (pass)
                v->list[v->start[at] + used[at]++] = gbs;
            else
                v->n[at]++;
        }
        if (pass)
            break;
        for (size_t i = 0; i < MAX_CELLS; total += v->n[i++])
            v->start[i] = total;
        v->list = reallocarray(NULL, total + 1, sizeof(*v->list));
        v->scratch = reallocarray(NULL, total + 1, sizeof(*v->scratch));
        if (!v->list || !v->scratch)
            return -1;
    }
    return 0;
}

static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double) (n - 1);
    size_t below = (size_t) at;

    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] +
           (sorted[below + 1] - sorted[below]) * (at - (double) below);
}

static void put_histogram(struct jp_chart_json *json, const double *sorted,
                          size_t n)
{
    double from = sorted[0], width = (sorted[n - 1] - from) / BARS;
    uint64_t counts[BARS] = {0};

    for (size_t i = 0; i < n; i++) {
        size_t at = width > 0 ? (size_t) ((sorted[i] - from) / width) : 0;

        counts[at < BARS ? at : BARS - 1]++;
    }
    chart_json_begin(json, '{');
    chart_json_key(json, "from");
    chart_json_real(json, from);
    chart_json_key(json, "width");
    chart_json_real(json, width);
    chart_json_key(json, "counts");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < (width > 0 ? BARS : 1); i++)
        chart_json_count(json, counts[i]);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
}

static void put_quantiles(struct jp_chart_json *json, const double *sorted,
                          size_t n)
{
    static const double box[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

    chart_json_key(json, "box");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < sizeof(box) / sizeof(*box); i++)
        chart_json_real(json, quantile(sorted, n, box[i]));
    chart_json_end(json, ']');
    chart_json_key(json, "ecdf");
    chart_json_begin(json, '[');
    for (unsigned i = 0; i <= QUANTILES; i++)
        chart_json_real(json, quantile(sorted, n, (double) i / QUANTILES));
    chart_json_end(json, ']');
}

static void put_cell(struct jp_chart_json *json, const struct jp_cell *cell,
                     double *values, double *scratch, size_t n)
{
    struct jp_dist dist;

    dist_make(values, scratch, n, &dist); /* sorts them */
    chart_json_begin(json, '{');
    chart_json_put_text(json, "type", comm_type_name(cell->type));
    chart_json_put_text(json, "coll", cell->coll);
    chart_json_put_count(json, "bytes", cell->bytes);
    chart_json_put_count(json, "n", n);
    chart_json_key(json, "mean");
    chart_json_real(json, dist.mean);
    put_quantiles(json, values, n);
    chart_json_key(json, "hist");
    put_histogram(json, values, n);
    chart_json_end(json, '}');
}

int chart_spread_put(const struct jp_chart_view *view,
                     struct jp_chart_json *json)
{
    const struct jp_result *r = view->result;
    struct values v = {.list = NULL};
    int rc = chart_cells_make(view, MAX_CELLS, &v.cells);

    if (rc == 0)
        rc = collect(view, &v);
    if (rc == 0) {
        chart_json_begin(json, '{');
        chart_json_put_count(json, "of", v.cells.of);
        chart_json_key(json, "cells");
        chart_json_begin(json, '[');
        for (size_t i = 0; i < v.cells.rows.n; i++)
            if (v.n[i])
                put_cell(json, &r->cells[v.cells.rows.index[i]],
                         v.list + v.start[i], v.scratch, v.n[i]);
        chart_json_end(json, ']');
        chart_json_end(json, '}');
    }
    chart_cells_fini(&v.cells);
    free(v.list);
    free(v.scratch);
    return rc;
}
