/* chart_time.c - charts over the run, in slices of time: drift of
 * communicators, waits by rank and node, bandwidth by kind of operation, busy
 * processes.
 *
 * A chart that takes single operations has a state (make_state, add, put,
 * destroy), whose size does not depend on the length of the run. */
#include "orchestrator/report/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sorted.h"
#include "orchestrator/report/busy.h"

/* Writes the keys from, width and slices of an object over time. */
static void put_slices(const struct jp_chart_view *view,
                       struct jp_json_stream *json)
{
    json_stream_count(json, "from", view->from_us);
    json_stream_count(json, "width", view->width_us);
    json_stream_count(json, "slices", view->slices);
}

/* --- figures: each communicator's bandwidth against its own */

enum {
    MAX_COMMS = 40,  /* more rows would be unreadable */
    MAX_SERIES = 512 /* functions and sizes of all rows */
};

/* Operations of one communicator, function and size, by slice. */
struct series {
    size_t row;   /* index into drift.rows */
    double usual; /* median of the slices' means */
    double sum[JP_CHART_SLICES], us[JP_CHART_SLICES];
    uint64_t n[JP_CHART_SLICES];
};

struct drift {
    struct jp_rows rows; /* communicators, heaviest first */
    size_t of;           /* number of all communicators with several ranks */
    uint32_t *row_of;    /* by communicator: its row; MAX_COMMS: not shown */
    struct keymap map;   /* (row and function, size) -> series */
    struct series *series;
    uint32_t n;
};

/* Returns the series of an operation, new if needed; NULL if there are too many
 * or memory is short. Then the chart misses the series, which is no error. */
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

/* Adds an operation's bandwidth to its series and slice. */
static int add_to_slice(void *state, const struct jp_chart_op *o)
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
    /* the time of the last rank: the operation itself, without waits */
    s->us[o->slice] += (double) o->op->exec_min_us;
    s->n[o->slice]++;
    return 0;
}

/* Sets the usual bandwidth: the median over slices, so that a slow phase does
 * not move it. */
static void find_usual(struct series *s)
{
    double means[JP_CHART_SLICES];
    size_t n = 0;

    for (unsigned i = 0; i < JP_CHART_SLICES; i++)
        if (s->n[i])
            means[n++] = s->sum[i] / (double) s->n[i];
    qsort(means, n, sizeof(*means), sorted_ascending);
    /* the upper one of two middle values */
    s->usual = n ? means[n / 2] : 0;
}

/* Deviation of a row's bandwidth in a slice from its usual one, in percent. The
 * row's series are weighted by their time. NaN: no operations. */
static double off(const struct drift *d, size_t row, unsigned slice)
{
    double sum = 0, weights = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        const struct series *s = &d->series[i];
        double weight = s->us[slice] > 0 ? s->us[slice] : 1;

        /* the row's series in this slice */
        if (s->row != row || !s->n[slice] || !(s->usual > 0))
            continue;
        sum += weight * (s->sum[slice] / (double) s->n[slice] / s->usual - 1);
        /* by time, so that small operations hardly count */
        weights += weight;
    }
    return weights > 0 ? 100 * sum / weights : NAN;
}

/* Writes three numbers per cell: row, slice, percent with one decimal. */
static void put_cells(struct jp_json_stream *json, const struct drift *d,
                      unsigned slices)
{
    json_stream_array(json, "cells");
    for (size_t row = 0; row < d->rows.n; row++)
        for (unsigned i = 0; i < slices; i++) {
            double percent = off(d, row, i);

            if (!isfinite(percent))
                continue;
            json_stream_count(json, NULL, row);
            json_stream_count(json, NULL, i);
            json_stream_real(json, NULL, round(percent * 10) / 10);
        }
    json_stream_end_array(json);
}

/* Writes the chart's object: the slices, the communicators, the cells. */
static void put_drift(const struct jp_chart_view *view,
                      struct jp_json_stream *json, const struct drift *d)
{
    json_stream_object(json, NULL);
    put_slices(view, json);
    json_stream_count(json, "of", d->of);
    json_stream_array(json, "rows");
    for (size_t i = 0; i < d->rows.n; i++) {
        const struct jp_comm *comm = &view->result->comms[d->rows.index[i]];

        json_stream_object(json, NULL);
        json_stream_text(json, "id", comm->id);
        json_stream_text(json, "name", comm->name);
        json_stream_text(json, "type", comm_type_name(comm->type));
        json_stream_end_object(json);
    }
    json_stream_end_array(json);
    put_cells(json, d, view->slices);
    json_stream_end_object(json);
}

/* Weighs a communicator by its time. A single rank has no bandwidth, and -1
 * drops it. */
static double weigh_row(const struct jp_result *r, size_t row)
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

/* Allocates the state with the communicators of most time; NULL: out of memory.
 */
static void *make_state(const struct jp_chart_view *view)
{
    const struct jp_result *r = view->result;
    struct drift *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->row_of = reallocarray(NULL, r->n_comms + 1, sizeof(*d->row_of));
    d->series = calloc(MAX_SERIES, sizeof(*d->series));
    if (!d->row_of || !d->series ||
        rows_pick(r, r->n_comms, MAX_COMMS, weigh_row, true, &d->rows) < 0) {
        destroy(d);
        return NULL;
    }
    /* the heaviest come first, so the dropped ones are at the end */
    while (d->rows.n && weigh_row(r, d->rows.index[d->rows.n - 1]) < 0)
        d->rows.n--;
    /* first nothing is shown, then the picked ones get their rows */
    for (size_t i = 0; i < r->n_comms; i++) {
        d->row_of[i] = MAX_COMMS;
        d->of += weigh_row(r, i) >= 0;
    }
    for (size_t i = 0; i < d->rows.n; i++)
        d->row_of[d->rows.index[i]] = (uint32_t) i;
    return d;
}

/* Writes the drift; null if no operation has a time. */
static int put_drifts(const struct jp_chart_view *view, void *state,
                      struct jp_json_stream *json)
{
    struct drift *d = state;

    /* no operation has a time */
    if (!view->slices) {
        json_stream_null(json, NULL);
        return 0;
    }
    for (uint32_t i = 0; i < d->n; i++)
        find_usual(&d->series[i]);
    put_drift(view, json, d);
    return 0;
}

const struct jp_chart chart_drift = {
    .name = "drift",
    .caption = "Each communicator's bandwidth against its usual one",
    .make = make_state,
    .add = add_to_slice,
    .put = put_drifts,
    .destroy = destroy};

/* --- figures: when the others waited for which rank or node */

#define MAX_ROWS 64 /* rows of a readable heat map */
#define NO_ROW UINT32_MAX

/* The wait caused in each slice, us. */
struct row {
    uint64_t us[JP_CHART_SLICES]; /* by slice */
};

/* A heat map: which process or node has which row, and the waits by row and
 * slice. */
struct map {
    uint32_t *places; /* by row: process or node */
    size_t n;
    uint32_t *row_of; /* by process or node: its row */
    struct row *rows;
};

static void map_fini(struct map *map)
{
    free(map->places);
    free(map->row_of);
    free(map->rows);
}

/* Chooses the processes or nodes that caused the most wait. Returns 0, or -1
 * when out of memory; call map_fini in any case. */
static int map_make(const struct jp_processes *procs, bool nodes,
                    struct map *map)
{
    size_t all = nodes ? procs->n_hosts : procs->n;

    map->places = nodes ? processes_heaviest_hosts(procs, MAX_ROWS, &map->n)
                        : processes_heaviest(procs, MAX_ROWS, &map->n);
    map->row_of = reallocarray(NULL, all + 1, sizeof(*map->row_of));
    map->rows = calloc(MAX_ROWS, sizeof(*map->rows));
    if (!map->places || !map->row_of || !map->rows)
        return -1;
    if (nodes) /* sort by name */
        qsort(map->places, map->n, sizeof(*map->places), sorted_ascending_u32);
    else
        processes_sort_by_rank(procs, map->places, map->n);
    /* those not shown have no row */
    for (size_t i = 0; i < all; i++)
        map->row_of[i] = NO_ROW;
    for (size_t i = 0; i < map->n; i++)
        map->row_of[map->places[i]] = (uint32_t) i;
    return 0;
}

/* Adds a wait to a row. A sum that overflows stays at the maximum. */
static void add_wait(struct map *map, uint32_t place, unsigned slice,
                     uint64_t us)
{
    uint32_t row = map->row_of[place];

    if (row != NO_ROW && __builtin_add_overflow(map->rows[row].us[slice], us,
                                                &map->rows[row].us[slice]))
        map->rows[row].us[slice] = UINT64_MAX;
}

struct state {
    const struct jp_processes *procs;
    struct map ranks, nodes; /* the same waits, by process and by node */
};

static void late_destroy(void *state)
{
    struct state *s = state;

    if (!s)
        return;
    map_fini(&s->ranks);
    map_fini(&s->nodes);
    free(s);
}

/* Allocates both heat maps; NULL: out of memory. */
static void *late_make(const struct jp_chart_view *view)
{
    struct state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->procs = view->processes;
    if (map_make(s->procs, false, &s->ranks) < 0 ||
        map_make(s->procs, true, &s->nodes) < 0) {
        late_destroy(s);
        return NULL;
    }
    return s;
}

/* The wait counts for the rank that arrived last, and for its node. */
static int late_add(void *state, const struct jp_chart_op *o)
{
    struct state *s = state;
    uint32_t place;

    if (o->slice == JP_CHART_SLICES || o->last == SIZE_MAX)
        return 0;
    place = (uint32_t) s->procs->of_rank[o->last];
    add_wait(&s->ranks, place, o->slice, o->caused_us);
    add_wait(&s->nodes, s->procs->list[place].host_at, o->slice, o->caused_us);
    return 0;
}

/* Writes one heat map: names of the rows, then row, slice and us per cell with
 * a wait. */
static void put_map(struct jp_json_stream *json,
                    const struct jp_chart_view *view, const struct map *map,
                    bool nodes)
{
    const struct jp_processes *procs = view->processes;
    char name[JP_PROCESS_NAME_LEN];

    json_stream_object(json, NULL);
    json_stream_count(json, "of", nodes ? procs->n_hosts : procs->n);
    json_stream_array(json, "names");
    for (size_t i = 0; i < map->n; i++)
        json_stream_text(json, NULL,
                         nodes ? procs->hosts[map->places[i]].host
                               : processes_name(procs, view->result,
                                                &procs->list[map->places[i]],
                                                name));
    json_stream_end_array(json);
    json_stream_array(json, "cells");
    for (size_t i = 0; i < map->n; i++)
        /* cells without a wait are left out */
        for (unsigned k = 0; k < JP_CHART_SLICES; k++) {
            if (!map->rows[i].us[k])
                continue;
            json_stream_count(json, NULL, i);
            json_stream_count(json, NULL, k);
            json_stream_count(json, NULL, map->rows[i].us[k]);
        }
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes both heat maps; the page lets the reader choose. */
static int late_put(const struct jp_chart_view *view, void *state,
                    struct jp_json_stream *json)
{
    struct state *s = state;

    if (!view->slices) {
        json_stream_null(json, NULL);
        return 0;
    }
    json_stream_object(json, NULL);
    put_slices(view, json);
    json_stream_key(json, "ranks");
    put_map(json, view, &s->ranks, false);
    json_stream_key(json, "nodes");
    put_map(json, view, &s->nodes, true);
    json_stream_end_object(json);
    return 0;
}

const struct jp_chart chart_late = {
    .name = "waits-time",
    .caption = "When the others waited for which rank",
    .make = late_make,
    .add = late_add,
    .put = late_put,
    .destroy = late_destroy};

/* --- figures: bandwidth over the run, by function and size */

#define MAX_CELLS 12 /* more lines cannot be distinguished */

/* The operations of one kind in one slice; bandwidths in GB/s. */
struct point {
    uint64_t ops;
    double sum, least, most; /* GB/s */
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

struct time_state {
    const struct jp_chart_view *view;
    struct jp_chart_cells cells;
    struct line lines[MAX_CELLS];
};

static void time_destroy(void *time_state)
{
    struct time_state *s = time_state;

    if (s)
        chart_cells_fini(&s->cells);
    free(s);
}

/* Allocates the lines of the heaviest cells; NULL: out of memory. */
static void *time_make(const struct jp_chart_view *view)
{
    struct time_state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->view = view;
    if (chart_cells_make(view, MAX_CELLS, &s->cells) < 0) {
        time_destroy(s);
        return NULL;
    }
    return s;
}

/* Adds an operation to the line of its cell, if that is drawn. */
static int time_add(void *time_state, const struct jp_chart_op *o)
{
    struct time_state *s = time_state;
    uint32_t at;

    if (o->slice == JP_CHART_SLICES || o->busbw_gbs < 0)
        return 0;
    at = chart_cells_find(s->view, &s->cells, o->op);
    if (at != KEYMAP_NONE)
        add_point(&s->lines[at].points[o->slice], o->busbw_gbs);
    return 0;
}

/* Writes five numbers per slice with operations: slice, operations, mean,
 * least, most. */
static void put_line(struct jp_json_stream *json, const struct jp_cell *cell,
                     const struct point *points)
{
    json_stream_object(json, NULL);
    json_stream_text(json, "type", comm_type_name(cell->type));
    json_stream_text(json, "coll", cell->coll);
    json_stream_count(json, "bytes", cell->bytes);
    json_stream_array(json, "points");
    for (unsigned i = 0; i < JP_CHART_SLICES; i++) {
        if (!points[i].ops)
            continue;
        json_stream_count(json, NULL, i);
        json_stream_count(json, NULL, points[i].ops);
        json_stream_real(json, NULL, points[i].sum / (double) points[i].ops);
        json_stream_real(json, NULL, points[i].least);
        json_stream_real(json, NULL, points[i].most);
    }
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes the lines; null if no operation has a time. */
static int time_put(const struct jp_chart_view *view, void *time_state,
                    struct jp_json_stream *json)
{
    struct time_state *s = time_state;

    if (!view->slices) {
        json_stream_null(json, NULL);
        return 0;
    }
    json_stream_object(json, NULL);
    put_slices(view, json);
    json_stream_count(json, "of", s->cells.of);
    json_stream_array(json, "series");
    for (size_t i = 0; i < s->cells.rows.n; i++)
        put_line(json, &view->result->cells[s->cells.rows.index[i]],
                 s->lines[i].points);
    json_stream_end_array(json);
    json_stream_end_object(json);
    return 0;
}

const struct jp_chart chart_time = {
    .name = "busbw-time",
    .caption = "Bus bandwidth over the run, by function and message size",
    .make = time_make,
    .add = time_add,
    .put = time_put,
    .destroy = time_destroy};

/* --- figures: how busy processes were over the run */

/* Picks the processes to show, by rank: all, or, if there are too many, half of
 * the rows for the least busy and half for the most busy. */
static size_t pick_rows(const struct jp_result *r,
                        const struct jp_busy_rows *rows,
                        size_t picked[MAX_ROWS])
{
    bool *is_picked = calloc(r->n_busy + 1, sizeof(*is_picked));
    size_t n = 0;

    /* told[] is sorted by share, by_rank[] by rank */
    for (size_t i = 0; is_picked && i < rows->n_told; i++)
        if (i < MAX_ROWS / 2 || rows->n_told - i <= MAX_ROWS / 2)
            is_picked[rows->told[i]] = true;
    for (size_t i = 0; is_picked && i < r->n_busy; i++)
        if (is_picked[rows->by_rank[i]])
            picked[n++] = rows->by_rank[i];
    free(is_picked);
    return n;
}

/* Writes the process's name. A process that left no rank is named by host and
 * pid. */
static void put_name(struct jp_json_stream *json,
                     const struct jp_chart_view *view, const struct jp_busy *b)
{
    /* a process without ranks in the result */
    const struct jp_process silent = {
        .host = b->host, .pid = b->pid, .world_rank = -1};
    const struct jp_process *found =
        processes_find(view->processes, b->host, b->pid, b->instance);
    char name[JP_PROCESS_NAME_LEN];

    json_stream_text(json, NULL,
                     processes_name(view->processes, view->result,
                                    found ? found : &silent, name));
}

/* Writes shares in per mille, because integers are short. */
static void busy_put_cells(struct jp_json_stream *json,
                           const struct jp_result *r, const size_t *picked,
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r->n_busy_slices; k++) {
            double share = busy_slice_share(r, &r->busy[picked[i]], k);

            /* it did not run in this slice */
            if (isnan(share))
                continue;
            json_stream_count(json, NULL, i);
            json_stream_count(json, NULL, k);
            json_stream_count(json, NULL, (uint64_t) (1000 * share + 0.5));
        }
}

/* Writes the busy shares. They have slices of their own, as they also cover
 * Send and Recv. */
static int busy_put(const struct jp_chart_view *view, void *state,
                    struct jp_json_stream *json)
{
    const struct jp_result *r = view->result;
    struct jp_busy_rows rows;
    size_t picked[MAX_ROWS], n;

    (void) state;
    if (busy_rows_make(r, view->processes, &rows) < 0)
        return -1;
    /* nothing to draw: out of memory in pick, or no known share */
    n = pick_rows(r, &rows, picked);
    if (!n) {
        json_stream_null(json, NULL);
    } else {
        json_stream_object(json, NULL);
        json_stream_count(json, "from", r->busy_from_us);
        json_stream_count(json, "width", r->busy_slice_us);
        json_stream_count(json, "slices", r->n_busy_slices);
        json_stream_count(json, "of", rows.n_told);
        json_stream_array(json, "names");
        for (size_t i = 0; i < n; i++)
            put_name(json, view, &r->busy[picked[i]]);
        json_stream_end_array(json);
        json_stream_array(json, "cells");
        busy_put_cells(json, r, picked, n);
        json_stream_end_array(json);
        json_stream_end_object(json);
    }
    busy_rows_fini(&rows);
    return 0;
}

const struct jp_chart chart_busy = {
    .name = "busy",
    .caption = "Share of time with an operation in flight, over the run",
    .put = busy_put};
