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

static void add_point(struct point *p, double gbs)
{
    if (!p->ops || gbs < p->least)
        p->least = gbs;
    if (!p->ops || gbs > p->most)
        p->most = gbs;
    p->sum += gbs;
    p->ops++;
}

struct state {
    const struct jp_chart_view *view;
    struct jp_chart_cells cells;
    struct line lines[MAX_CELLS];
};

static void destroy(void *state)
{
    struct state *s = state;

    if (s)
        chart_cells_fini(&s->cells);
    free(s);
}

static void *make(const struct jp_chart_view *view)
{
    struct state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->view = view;
    if (chart_cells_make(view, MAX_CELLS, &s->cells) < 0) {
        destroy(s);
        return NULL;
    }
    return s;
}

static int add(void *state, const struct jp_chart_op *o)
{
    struct state *s = state;
    uint32_t at;

    if (o->slice == JP_CHART_SLICES || o->busbw_gbs < 0)
        return 0;
    at = chart_cells_find(s->view, &s->cells, o->op);
    if (at != KEYMAP_NONE)
        add_point(&s->lines[at].points[o->slice], o->busbw_gbs);
    return 0;
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

static int put(const struct jp_chart_view *view, void *state,
               struct jp_chart_json *json)
{
    struct state *s = state;

    if (!view->slices) {
        chart_json_null(json);
        return 0;
    }
    chart_json_begin(json, '{');
    chart_data_put_slices(view, json);
    chart_json_put_count(json, "of", s->cells.of);
    chart_json_key(json, "series");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < s->cells.rows.n; i++)
        put_line(json, &view->result->cells[s->cells.rows.index[i]],
                 s->lines[i].points);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    return 0;
}

const struct jp_chart chart_time = {.name = "busbw-time",
                                    .make = make,
                                    .add = add,
                                    .put = put,
                                    .destroy = destroy};
