/* chart_late.c - figures: when the others waited for which rank or node. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>

#define MAX_ROWS 64 /* of a heat map that can be read */
#define NO_ROW UINT32_MAX

struct row {
    uint64_t us[JP_CHART_SLICES];
};

/* A heat map: which process or node is in which row, waits by row and slice. */
struct map {
    uint32_t *places; /* by row */
    size_t n;
    uint32_t *row_of; /* by place */
    struct row *rows;
};

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    return x < y ? -1 : x > y;
}

static void map_fini(struct map *map)
{
    free(map->places);
    free(map->row_of);
    free(map->rows);
}

static int map_make(const struct jp_procs *procs, bool nodes, struct map *map)
{
    size_t all = nodes ? procs->n_nodes : procs->n;

    map->places = nodes ? procs_heaviest_nodes(procs, MAX_ROWS, &map->n)
                        : procs_heaviest(procs, MAX_ROWS, &map->n);
    map->row_of = reallocarray(NULL, all + 1, sizeof(*map->row_of));
    map->rows = calloc(MAX_ROWS, sizeof(*map->rows));
    if (!map->places || !map->row_of || !map->rows)
        return -1;
    if (nodes) /* in order of name */
        qsort(map->places, map->n, sizeof(*map->places), by_place);
    else
        procs_sort_by_rank(procs, map->places, map->n);
    for (size_t i = 0; i < all; i++)
        map->row_of[i] = NO_ROW;
    for (size_t i = 0; i < map->n; i++)
        map->row_of[map->places[i]] = (uint32_t) i;
    return 0;
}

static void add_wait(struct map *map, uint32_t place, unsigned slice,
                     uint64_t us)
{
    uint32_t row = map->row_of[place];

    if (row != NO_ROW && __builtin_add_overflow(map->rows[row].us[slice], us,
                                                &map->rows[row].us[slice]))
        map->rows[row].us[slice] = UINT64_MAX;
}

struct state {
    const struct jp_procs *procs;
    struct map ranks, nodes;
};

static void destroy(void *state)
{
    struct state *s = state;

    if (!s)
        return;
    map_fini(&s->ranks);
    map_fini(&s->nodes);
    free(s);
}

static void *make(const struct jp_chart_view *view)
{
    struct state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->procs = &view->procs;
    if (map_make(s->procs, false, &s->ranks) < 0 ||
        map_make(s->procs, true, &s->nodes) < 0) {
        destroy(s);
        return NULL;
    }
    return s;
}

static int add(void *state, const struct jp_chart_op *o)
{
    struct state *s = state;
    uint32_t place;

    if (o->slice == JP_CHART_SLICES || o->last == SIZE_MAX)
        return 0;
    place = s->procs->of_rank[o->last];
    add_wait(&s->ranks, place, o->slice, o->caused_us);
    add_wait(&s->nodes, s->procs->list[place].node, o->slice, o->caused_us);
    return 0;
}

static void put_map(struct jp_chart_json *json, const struct jp_procs *procs,
                    const struct map *map, bool nodes)
{
    char name[JP_PROC_NAME_LEN];

    chart_json_begin(json, '{');
    chart_json_put_count(json, "of", nodes ? procs->n_nodes : procs->n);
    chart_json_key(json, "names");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < map->n; i++)
        chart_json_text(json,
                        nodes ? procs->nodes[map->places[i]].host
                              : procs_name(&procs->list[map->places[i]], name));
    chart_json_end(json, ']');
    chart_json_key(json, "cells");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < map->n; i++)
        for (unsigned k = 0; k < JP_CHART_SLICES; k++) {
            if (!map->rows[i].us[k])
                continue;
            chart_json_count(json, i);
            chart_json_count(json, k);
            chart_json_count(json, map->rows[i].us[k]);
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
    chart_json_key(json, "ranks");
    put_map(json, s->procs, &s->ranks, false);
    chart_json_key(json, "nodes");
    put_map(json, s->procs, &s->nodes, true);
    chart_json_end(json, '}');
    return 0;
}

const struct jp_chart chart_late = {.name = "waits-time",
                                    .make = make,
                                    .add = add,
                                    .put = put,
                                    .destroy = destroy};
