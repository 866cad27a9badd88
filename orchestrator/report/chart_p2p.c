/* chart_p2p.c - figures: who sends how much to whom. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>

#define MAX_NAMES 64 /* rows and columns that can be read */
#define NO_PLACE UINT32_MAX

/* Traffic from one process, or node, to another. */
struct flow {
    double bytes, us;
};

struct matrix {
    bool nodes;         /* rows are nodes, not processes */
    size_t all;         /* that send or receive */
    uint32_t *place_of; /* by process or node: its row, NO_PLACE */
    uint32_t *names;    /* by row */
    size_t n;
    struct flow *flows; /* n x n, from x to */
};

/* A pair's data by the side that recorded more of it; the rows of a pair
 * follow each other. Sets *next to the row behind. */
static struct flow pair_flow(const struct jp_result *r, size_t i, size_t *next)
{
    const struct jp_p2p *first = &r->p2p[i];
    struct flow most = {0, 0};

    for (; i < r->n_p2p && r->p2p[i].comm == first->comm &&
           r->p2p[i].src == first->src && r->p2p[i].dst == first->dst;
         i++)
        if ((double) r->p2p[i].bytes > most.bytes)
            most = (struct flow){(double) r->p2p[i].bytes,
                                 (double) r->p2p[i].exec_us};
    *next = i;
    return most;
}

/* The process or node of one end of a pair. */
static uint32_t end_of(const struct jp_chart_view *v, bool nodes, size_t comm,
                       uint32_t rank)
{
    size_t row = chart_view_rank(v, comm, rank);
    uint32_t proc;

    if (row == SIZE_MAX)
        return NO_PLACE;
    proc = v->procs.of_rank[row];
    return nodes ? v->procs.list[proc].node : proc;
}

struct weighed {
    double bytes;
    uint32_t place;
};

static int most_first(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    return x < y ? -1 : x > y;
}

/* Chooses the rows: those of most data. */
static int choose(const struct jp_chart_view *v, struct matrix *m)
{
    size_t total = m->nodes ? v->procs.n_nodes : v->procs.n, next;
    struct weighed *list = calloc(total + 1, sizeof(*list));

    m->place_of = reallocarray(NULL, total + 1, sizeof(*m->place_of));
    m->names = calloc(MAX_NAMES, sizeof(*m->names));
    if (!list || !m->place_of || !m->names) {
        free(list);
        return -1;
    }
    for (size_t i = 0; i < total; i++) {
        list[i].place = (uint32_t) i;
        m->place_of[i] = NO_PLACE;
    }
    for (size_t i = 0; i < v->result->n_p2p; i = next) {
        const struct jp_p2p *p = &v->result->p2p[i];
        struct flow flow = pair_flow(v->result, i, &next);
        uint32_t from = end_of(v, m->nodes, p->comm, p->src);
        uint32_t to = end_of(v, m->nodes, p->comm, p->dst);

        if (from == NO_PLACE || to == NO_PLACE)
            continue;
        list[from].bytes += flow.bytes;
        list[to].bytes += flow.bytes;
    }
    qsort(list, total, sizeof(*list), most_first);
    while (m->all < total && list[m->all].bytes > 0)
        m->all++;
    m->n = m->all < MAX_NAMES ? m->all : MAX_NAMES;
    for (size_t i = 0; i < m->n; i++)
        m->names[i] = list[i].place;
    if (m->nodes)
        qsort(m->names, m->n, sizeof(*m->names), by_place);
    else
        procs_sort_by_rank(&v->procs, m->names, m->n);
    for (size_t i = 0; i < m->n; i++)
        m->place_of[m->names[i]] = (uint32_t) i;
    free(list);
    return 0;
}

static int fill(const struct jp_chart_view *v, struct matrix *m)
{
    size_t next;

    m->flows = calloc(m->n * m->n + 1, sizeof(*m->flows));
    if (!m->flows)
        return -1;
    for (size_t i = 0; i < v->result->n_p2p; i = next) {
        const struct jp_p2p *p = &v->result->p2p[i];
        struct flow flow = pair_flow(v->result, i, &next), *cell;
        uint32_t from = end_of(v, m->nodes, p->comm, p->src);
        uint32_t to = end_of(v, m->nodes, p->comm, p->dst);

        if (from == NO_PLACE || to == NO_PLACE ||
            m->place_of[from] == NO_PLACE || m->place_of[to] == NO_PLACE)
            continue;
        cell = &m->flows[m->place_of[from] * m->n + m->place_of[to]];
        cell->bytes += flow.bytes;
        cell->us += flow.us;
    }
    return 0;
}

static void put_matrix(const struct jp_chart_view *v,
                       struct jp_chart_json *json, const struct matrix *m)
{
    char name[JP_PROC_NAME_LEN];

    chart_json_begin(json, '{');
    chart_json_put_text(json, "by", m->nodes ? "node" : "rank");
    chart_json_put_count(json, "of", m->all);
    chart_json_key(json, "names");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < m->n; i++)
        chart_json_text(
            json, m->nodes ? v->procs.nodes[m->names[i]].host
                           : procs_name(&v->procs.list[m->names[i]], name));
    chart_json_end(json, ']');
    chart_json_key(json, "cells");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < m->n * m->n; i++) {
        if (!(m->flows[i].bytes > 0))
            continue;
        chart_json_count(json, i / m->n);
        chart_json_count(json, i % m->n);
        chart_json_real(json, m->flows[i].bytes);
        chart_json_real(json, m->flows[i].us);
    }
    chart_json_end(json, ']');
    chart_json_end(json, '}');
}

static int put_p2p(const struct jp_chart_view *view, void *state,
                   struct jp_chart_json *json)
{
    struct matrix m = {.nodes = view->procs.n > MAX_NAMES &&
                                view->procs.n_nodes > 1};
    int rc = choose(view, &m);

    if (rc == 0)
        rc = fill(view, &m);
    if (rc == 0 && m.n)
        put_matrix(view, json, &m);
    else if (rc == 0)
        chart_json_null(json);
    free(m.place_of);
    free(m.names);
    free(m.flows);
    return rc;
}

const struct jp_chart chart_p2p = {.name = "p2p", .put = put_p2p};
