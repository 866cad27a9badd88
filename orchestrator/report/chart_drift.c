/* chart_drift.c - figures: each communicator's bandwidth against its own. */
#include "orchestrator/report/chart_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COMMS = 40,  /* rows that can be read */
    MAX_SERIES = 512 /* functions and sizes of these */
};

/* Operations of one communicator, function and size, by slice. */
struct series {
    size_t row;
    double usual; /* the median of the slices' means */
    double sum[JP_CHART_SLICES], us[JP_CHART_SLICES];
    uint64_t n[JP_CHART_SLICES];
};

struct drift {
    struct jp_rows rows; /* communicators, heaviest first */
    size_t of;           /* communicators of several ranks that there are */
    uint32_t *row_of;    /* by communicator; MAX_COMMS: not shown */
    struct keymap map;   /* (row and function, size) -> series */
    struct series *series;
    uint32_t n;
};

static struct series *find_series(struct drift *d, uint32_t row,
                                  const struct jp_op *op)
{
    uint64_t key = (uint64_t) row << 32 | op->coll;
    uint32_t at = keymap_find(&d->map, key, op->bytes);

    if (at != KEYMAP_NONE)
        return &d->series[at];
    if (d->n == MAX_SERIES || keymap_add(&d->map, key, op->bytes, d->n) < 0)
        return NULL;
    d->series[d->n].row = row;
    return &d->series[d->n++];
}

static int add(void *state, const struct jp_chart_op *o)
{
    struct drift *d = state;
    uint32_t row = d->row_of[o->op->comm];
    struct series *s;

    if (o->slice == JP_CHART_SLICES || row == MAX_COMMS || !(o->net_gbs > 0))
        return 0;
    s = find_series(d, row, o->op);
    if (!s)
        return 0;
    s->sum[o->slice] += o->net_gbs;
    s->us[o->slice] += (double) o->op->exec_min_us;
    s->n[o->slice]++;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return x < y ? -1 : x > y;
}

static void find_usual(struct series *s)
{
    double means[JP_CHART_SLICES];
    size_t n = 0;

    for (unsigned i = 0; i < JP_CHART_SLICES; i++)
        if (s->n[i])
            means[n++] = s->sum[i] / (double) s->n[i];
    qsort(means, n, sizeof(*means), by_value);
    s->usual = n ? means[n / 2] : 0;
}

/* How far a row's bandwidth is off its usual one in a slice, in percent, its
 * series weighed by their time. NaN: no operations. */
static double off(const struct drift *d, size_t row, unsigned slice)
{
    double sum = 0, weights = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        const struct series *s = &d->series[i];
        double weight = s->us[slice] > 0 ? s->us[slice] : 1;

        if (s->row != row || !s->n[slice] || !(s->usual > 0))
            continue;
        sum += weight * (s->sum[slice] / (double) s->n[slice] / s->usual - 1);
        weights += weight;
    }
    return weights > 0 ? 100 * sum / weights : NAN;
}

static void put_cells(struct jp_chart_json *json, const struct drift *d,
                      unsigned slices)
{
    chart_json_key(json, "cells");
    chart_json_begin(json, '[');
    for (size_t row = 0; row < d->rows.n; row++)
        for (unsigned i = 0; i < slices; i++) {
            double percent = off(d, row, i);

            if (!isfinite(percent))
                continue;
            chart_json_count(json, row);
            chart_json_count(json, i);
            chart_json_real(json, round(percent * 10) / 10);
        }
    chart_json_end(json, ']');
}

static void put_drift(const struct jp_chart_view *view,
                      struct jp_chart_json *json, const struct drift *d)
{
    chart_json_begin(json, '{');
    chart_data_put_slices(view, json);
    chart_json_put_count(json, "of", d->of);
    chart_json_key(json, "rows");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < d->rows.n; i++) {
        const struct jp_comm *comm = &view->result->comms[d->rows.index[i]];

        chart_json_begin(json, '{');
        chart_json_put_text(json, "id", comm->id);
        chart_json_put_text(json, "name", comm->name);
        chart_json_put_text(json, "type", comm_type_name(comm->type));
        chart_json_end(json, '}');
    }
    chart_json_end(json, ']');
    put_cells(json, d, view->slices);
    chart_json_end(json, '}');
}

/* A single rank has no bandwidth. */
static double weigh(const struct jp_result *r, size_t row)
{
    return r->comms[row].n_ranks > 1 ? rows_comm_time(r, row) : -1;
}

static void destroy(void *state)
{
    struct drift *d = state;

    if (!d)
        return;
    rows_fini(&d->rows);
    keymap_fini(&d->map);
    free(d->row_of);
    free(d->series);
    free(d);
}

static void *make(const struct jp_chart_view *view)
{
    const struct jp_result *r = view->result;
    struct drift *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->row_of = reallocarray(NULL, r->n_comms + 1, sizeof(*d->row_of));
    d->series = calloc(MAX_SERIES, sizeof(*d->series));
    if (!d->row_of || !d->series ||
        rows_pick(r, r->n_comms, MAX_COMMS, weigh, true, &d->rows) < 0) {
        destroy(d);
        return NULL;
    }
    while (d->rows.n && weigh(r, d->rows.index[d->rows.n - 1]) < 0)
        d->rows.n--;
    for (size_t i = 0; i < r->n_comms; i++) {
        d->row_of[i] = MAX_COMMS;
        d->of += weigh(r, i) >= 0;
    }
    for (size_t i = 0; i < d->rows.n; i++)
        d->row_of[d->rows.index[i]] = (uint32_t) i;
    return d;
}

static int put(const struct jp_chart_view *view, void *state,
               struct jp_chart_json *json)
{
    struct drift *d = state;

    if (!view->slices) {
        chart_json_null(json);
        return 0;
    }
    for (uint32_t i = 0; i < d->n; i++)
        find_usual(&d->series[i]);
    put_drift(view, json, d);
    return 0;
}

const struct jp_chart chart_drift = {
    .name = "drift", .make = make, .add = add, .put = put, .destroy = destroy};
