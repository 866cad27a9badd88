/* chart_spread.c - figures: how an operation's bandwidth varies. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>

#include "orchestrator/aggregate/dist.h"

enum { MAX_CELLS = 16, BARS = 40, QUANTILES = 100, SAMPLE = 1 << 17 };

/* The bandwidths of a cell's operations, all or a sample. */
struct values {
    double *list;
    size_t n, room;
    uint64_t seen;
    double least, most; /* of all */
};

struct state {
    const struct jp_chart_view *view;
    struct jp_chart_cells cells;
    struct values values[MAX_CELLS];
};

static void destroy(void *state)
{
    struct state *s = state;

    if (!s)
        return;
    chart_cells_fini(&s->cells);
    for (size_t i = 0; i < MAX_CELLS; i++)
        free(s->values[i].list);
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

static int append(struct values *v, double gbs)
{
    if (v->n == v->room) {
        size_t room = v->room ? 2 * v->room : 1024;
        double *more = reallocarray(v->list, room, sizeof(*more));

        if (!more)
            return -1;
        v->list = more;
        v->room = room;
    }
    v->list[v->n++] = gbs;
    return 0;
}

/* Equal input gives an equal sample (splitmix64). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Beyond SAMPLE each operation so far is in it with equal chance (Vitter's
 * algorithm R). */
static int add(void *state, const struct jp_chart_op *o)
{
    struct state *s = state;
    uint32_t at = o->busbw_gbs < 0
                      ? KEYMAP_NONE
                      : chart_cells_find(s->view, &s->cells, o->op);
    struct values *v = at == KEYMAP_NONE ? NULL : &s->values[at];
    uint64_t place;

    if (!v)
        return 0;
    if (!v->seen || o->busbw_gbs < v->least)
        v->least = o->busbw_gbs;
    if (!v->seen || o->busbw_gbs > v->most)
        v->most = o->busbw_gbs;
    v->seen++;
    if (v->n < SAMPLE)
        return append(v, o->busbw_gbs);
    place = mix(v->seen) % v->seen;
    if (place < SAMPLE)
        v->list[place] = o->busbw_gbs;
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

static int put_cell(struct jp_chart_json *json, const struct jp_cell *cell,
                    struct values *v)
{
    double *scratch = reallocarray(NULL, v->n, sizeof(*scratch));
    struct jp_dist dist;

    if (!scratch)
        return -1;
    dist_make(v->list, scratch, v->n, &dist); /* sorts them */
    free(scratch);
    v->list[0] = v->least;
    v->list[v->n - 1] = v->most;
    chart_json_begin(json, '{');
    chart_json_put_text(json, "type", comm_type_name(cell->type));
    chart_json_put_text(json, "coll", cell->coll);
    chart_json_put_count(json, "bytes", cell->bytes);
    chart_json_put_count(json, "n", v->seen);
    chart_json_put_count(json, "sample", v->n);
    chart_json_key(json, "mean");
    chart_json_real(json, dist.mean);
    put_quantiles(json, v->list, v->n);
    chart_json_key(json, "hist");
    put_histogram(json, v->list, v->n);
    chart_json_end(json, '}');
    return 0;
}

static int put(const struct jp_chart_view *view, void *state,
               struct jp_chart_json *json)
{
    const struct jp_result *r = view->result;
    struct state *s = state;

    chart_json_begin(json, '{');
    chart_json_put_count(json, "of", s->cells.of);
    chart_json_key(json, "cells");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < s->cells.rows.n; i++)
        if (s->values[i].n && put_cell(json, &r->cells[s->cells.rows.index[i]],
                                       &s->values[i]) < 0)
            return -1;
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    return 0;
}

const struct jp_chart chart_spread = {
    .name = "spread", .make = make, .add = add, .put = put, .destroy = destroy};
