/* chart_time.c - figures: bandwidth over the run, by function and size. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>

#define MAX_CELLS 12 /* lines that can be told apart */

struct point {
    uint64_t ops;
    double sum, least, most;
};

struct line {
    struct point points[JP_CHART_SLICES];
};

static void add(struct point *p, double gbs)
{
    if (!p->ops || gbs < p->least)
        p->least = gbs;
    if (!p->ops || gbs > p->most)
        p->most = gbs;
    p->sum += gbs;
    p->ops++;
}

static void collect(const struct jp_chart_view *view,
                    const struct jp_chart_cells *cells, struct line *lines)
{
    const struct jp_result *r = view->result;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = &r->ops[i];
        unsigned slice = chart_view_slice(view, op);
        uint32_t at;

        if (slice == JP_CHART_SLICES || !op->n_busbw)
            continue;
        at = chart_cells_find(view, cells, op);
        if (at != KEYMAP_NONE)
            add(&lines[at].points[slice], chart_view_busbw(op));
    }
}

static void put_line(struct jp_chart_json *json, const struct jp_cell *cell,
                     const struct point *points)
{
    chart_json_begin(json, '{');
    chart_json_put_text(json, "type", comm_type_name(cell->type));
    chart_json_put_text(json, "coll", cell->coll);
    chart_json_put_count(json, "bytes", cell->bytes);
    chart_json_key(json, "points");
    chart_json_begin(json, '[');
    for (unsigned i = 0; i < JP_CHART_SLICES; i++) {
        if (!points[i].ops)
            continue;
        chart_json_count(json, i);
        chart_json_count(json, points[i].ops);
        chart_json_real(json, points[i].sum / (double) points[i].ops);
        chart_json_real(json, points[i].least);
        chart_json_real(json, points[i].most);
    }
    chart_json_end(json, ']');
    chart_json_end(json, '}');
}

int chart_time_put(const struct jp_chart_view *view, struct jp_chart_json *json)
{
    struct jp_chart_cells cells;
    struct line *lines;

    if (!view->slices) {
        chart_json_null(json);
        return 0;
    }
    lines = calloc(MAX_CELLS, sizeof(*lines));
    if (!lines || chart_cells_make(view, MAX_CELLS, &cells) < 0) {
        free(lines);
        return -1;
    }
    collect(view, &cells, lines);
    chart_json_begin(json, '{');
    chart_data_put_slices(view, json);
    chart_json_put_count(json, "of", cells.of);
    chart_json_key(json, "series");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < cells.rows.n; i++)
        put_line(json, &view->result->cells[cells.rows.index[i]],
                 lines[i].points);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    chart_cells_fini(&cells);
    free(lines);
    return 0;
}
