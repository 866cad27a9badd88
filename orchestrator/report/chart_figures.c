/* chart_figures.c - charts with figures of their own form: spread, numbers,
 * message sizes, Send and Recv.
 *
 * Each chart ends in a struct jp_chart. Charts of single operations have a
 * state: make allocates it, add takes an operation, put writes the JSON. The
 * memory of a state is bounded, whatever the length of the run. */
#include "orchestrator/report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/sorted.h"
#include "common/splitmix.h"
#include "common/vector.h"
#include "orchestrator/aggregate/dist.h"

/* functions shown separately; all further ones become "other" */
#define MAX_COLLS 12

/* Operations of one function whose size is in [2^exponent, 2^(exponent+1)). */
struct bin {
    uint64_t ops;
    double bytes, us;
};

struct bins {
    const char *colls[MAX_COLLS]; /* borrowed from the result */
    size_t n_colls;
    struct bin list[64][MAX_COLLS + 1]; /* the last column: other functions */
};

/* Returns the function's column; MAX_COLLS if there are too many. */
static size_t coll_place(struct bins *b, const char *coll)
{
    for (size_t i = 0; i < b->n_colls; i++)
        if (!strcmp(b->colls[i], coll))
            return i;
    if (b->n_colls == MAX_COLLS)
        return MAX_COLLS;
    b->colls[b->n_colls] = coll;
    return b->n_colls++;
}

/* Adds a cell to the bin of its size and function. */
static void add_cell(struct bins *b, const struct jp_cell *c)
{
    /* the position of the highest bit; 0 and 1 share the first row */
    unsigned exponent = c->bytes ? 63 - (unsigned) __builtin_clzll(c->bytes)
                                 : 0;
    struct bin *bin = &b->list[exponent][coll_place(b, c->coll)];

    bin->ops += c->ops;
    bin->bytes += (double) c->bytes * (double) c->ops;
    if (c->exec.n)
        bin->us += c->exec.mean * (double) c->exec.n;
}

/* Writes five numbers per bin: exponent, function, operations, bytes, us. */
static void put_bins(const struct bins *b, struct jp_json_stream *json)
{
    for (size_t e = 0; e < 64; e++)
        for (size_t k = 0; k <= MAX_COLLS; k++) {
            const struct bin *bin = &b->list[e][k];

            if (!bin->ops)
                continue;
            json_stream_count(json, NULL, e);
            /* "other" is the name after the known ones */
            json_stream_count(json, NULL, k == MAX_COLLS ? b->n_colls : k);
            json_stream_count(json, NULL, bin->ops);
            json_stream_real(json, NULL, bin->bytes);
            json_stream_real(json, NULL, bin->us);
        }
}

/* Writes the chart of message sizes: the functions, then the bins. */
static int put_sizes(const struct jp_chart_view *view, void *state,
                     struct jp_json_stream *json)
{
    struct bins b = {.n_colls = 0};

    for (size_t i = 0; i < view->result->n_cells; i++)
        add_cell(&b, &view->result->cells[i]);
    json_stream_object(json, NULL);
    json_stream_array(json, "colls");
    for (size_t i = 0; i < b.n_colls; i++)
        json_stream_text(json, NULL, b.colls[i]);
    /* the name for the last column, if there may be further functions */
    if (b.n_colls == MAX_COLLS)
        json_stream_text(json, NULL, "other");
    json_stream_end_array(json);
    json_stream_array(json, "rows");
    put_bins(&b, json);
    json_stream_end_array(json);
    json_stream_end_object(json);
    return 0;
}

const struct jp_chart chart_sizes = {
    .name = "sizes",
    .caption = "Operations, data and time by message size",
    .put = put_sizes};

/* --- figures: how an operation's bandwidth varies */

enum { MAX_CELLS_SPREAD = 16, BARS = 40, QUANTILES = 100, SAMPLE = 1 << 17 };

/* The bandwidths of a cell's operations, GB/s: all, or a sample of SAMPLE. */
struct values {
    double *list; /* GB/s */
    size_t n, room;
    uint64_t seen;      /* operations so far */
    double least, most; /* over all operations */
};

/* The cells that are drawn, with their values in the same order. */
struct state {
    const struct jp_chart_view *view;
    struct jp_chart_cells cells;
    struct values values[MAX_CELLS_SPREAD];
};

static void destroy(void *state)
{
    struct state *s = state;

    if (!s)
        return;
    chart_cells_fini(&s->cells);
    for (size_t i = 0; i < MAX_CELLS_SPREAD; i++)
        free(s->values[i].list);
    free(s);
}

/* Allocates the state of the spread; NULL: out of memory. */
static void *make_spread(const struct jp_chart_view *view)
{
    struct state *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->view = view;
    if (chart_cells_make(view, MAX_CELLS_SPREAD, &s->cells) < 0) {
        destroy(s);
        return NULL;
    }
    return s;
}

/* Appends a value. Returns 0, or -1 when out of memory. */
static int append_value(struct values *v, double gbs)
{
    if (VECTOR_ROOM(v->list, v->n + 1, v->room) < 0)
        return -1;
    v->list[v->n++] = gbs;
    return 0;
}

/* A fixed generator, so equal input gives an equal sample. */
static uint64_t random_of(uint64_t x)
{
    return splitmix_next(&x);
}

/* Keeps the first SAMPLE operations. After that, each operation so far is in
 * the sample with equal chance (Vitter's algorithm R). */
static int sample_operation(void *state, const struct jp_chart_op *o)
{
    struct state *s = state;
    uint32_t at = o->busbw_gbs < 0
                      ? KEYMAP_NONE
                      : chart_cells_find(s->view, &s->cells, o->op);
    /* operations of other cells are not drawn */
    struct values *v = at == KEYMAP_NONE ? NULL : &s->values[at];
    uint64_t place;

    if (!v)
        return 0;
    if (!v->seen || o->busbw_gbs < v->least)
        v->least = o->busbw_gbs;
    if (!v->seen || o->busbw_gbs > v->most)
        v->most = o->busbw_gbs;
    /* exact even if the sample misses the extreme operations */
    v->seen++;
    if (v->n < SAMPLE)
        return append_value(v, o->busbw_gbs);
    place = random_of(v->seen) % v->seen;
    if (place < SAMPLE)
        v->list[place] = o->busbw_gbs;
    return 0;
}

/* Writes {from, width, counts} over the range of the values. Equal values make
 * one bar of width 0. */
static void put_histogram(struct jp_json_stream *json, const double *sorted,
                          size_t n)
{
    double from = sorted[0], width = (sorted[n - 1] - from) / BARS;
    uint64_t counts[BARS] = {0};

    for (size_t i = 0; i < n; i++) {
        size_t at = width > 0 ? (size_t) ((sorted[i] - from) / width) : 0;

        /* the greatest value is on the upper edge of the last bar */
        counts[at < BARS ? at : BARS - 1]++;
    }
    json_stream_object(json, NULL);
    json_stream_real(json, "from", from);
    json_stream_real(json, "width", width);
    json_stream_array(json, "counts");
    for (size_t i = 0; i < (width > 0 ? BARS : 1); i++)
        json_stream_count(json, NULL, counts[i]);
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes the box (its whiskers are 5 % and 95 %) and the 101 points of the
 * cumulative distribution. */
static void put_quantiles(struct jp_json_stream *json, const double *sorted,
                          size_t n)
{
    static const double box[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

    json_stream_array(json, "box");
    for (size_t i = 0; i < sizeof(box) / sizeof(*box); i++)
        json_stream_real(json, NULL, sorted_quantile(sorted, n, box[i]));
    json_stream_end_array(json);
    json_stream_array(json, "ecdf");
    for (unsigned i = 0; i <= QUANTILES; i++)
        json_stream_real(json, NULL,
                         sorted_quantile(sorted, n, (double) i / QUANTILES));
    json_stream_end_array(json);
}

/* Writes one cell. Sorts the values. Returns 0, or -1 when out of memory. */
static int put_cell(struct jp_json_stream *json, const struct jp_cell *cell,
                    struct values *v)
{
    double *scratch = reallocarray(NULL, v->n, sizeof(*scratch));
    struct jp_dist dist;

    if (!scratch)
        return -1;
    dist_make(v->list, scratch, v->n, &dist); /* sorts them */
    free(scratch);
    /* the extremes are known exactly, but may not be in the sample */
    v->list[0] = v->least;
    v->list[v->n - 1] = v->most;
    json_stream_object(json, NULL);
    json_stream_text(json, "type", comm_type_name(cell->type));
    json_stream_text(json, "coll", cell->coll);
    json_stream_count(json, "bytes", cell->bytes);
    json_stream_count(json, "n", v->seen);
    json_stream_count(json, "sample", v->n);
    json_stream_real(json, "mean", dist.mean);
    put_quantiles(json, v->list, v->n);
    json_stream_key(json, "hist");
    put_histogram(json, v->list, v->n);
    json_stream_end_object(json);
    return 0;
}

/* Writes the spread of each drawn cell. Returns 0, or -1 when out of memory. */
static int put_spread(const struct jp_chart_view *view, void *state,
                      struct jp_json_stream *json)
{
    const struct jp_result *r = view->result;
    struct state *s = state;

    json_stream_object(json, NULL);
    json_stream_count(json, "of", s->cells.of);
    json_stream_array(json, "cells");
    for (size_t i = 0; i < s->cells.rows.n; i++)
        /* a cell may have no operation with a bandwidth */
        if (s->values[i].n && put_cell(json, &r->cells[s->cells.rows.index[i]],
                                       &s->values[i]) < 0)
            return -1;
    json_stream_end_array(json);
    json_stream_end_object(json);
    return 0;
}

const struct jp_chart chart_spread = {
    .name = "spread",
    .caption = "How one kind of operation varies",
    .make = make_spread,
    .add = sample_operation,
    .put = put_spread,
    .destroy = destroy};

/* --- figures: each operation of a kind by its sequence number */

#define MAX_CELLS_NUMBERS 8
/* per kind: more cannot be seen on a screen; an even number */
#define MAX_POINTS 512

/* An operation: its sequence number, bandwidth and time. */
struct number_point {
    uint64_t sn;
    double gbs, us; /* us < 0: no time */
};

/* The slowest and the fastest may not be in the sample, so they follow it. */
struct number_line {
    struct number_point points[MAX_POINTS + 2]; /* n of them are in use */
    struct number_point least, most;
    size_t n;
    /* each point stands for `stride` operations in a row */
    uint64_t seen, stride;
};

struct numbers {
    const struct jp_chart_view *view;
    struct jp_chart_cells cells;
    struct number_line lines[MAX_CELLS_NUMBERS];
};

static void numbers_destroy(void *state)
{
    struct numbers *s = state;

    if (s)
        chart_cells_fini(&s->cells);
    free(s);
}

/* Allocates the state of the numbers; NULL: out of memory. */
static void *numbers_make(const struct jp_chart_view *view)
{
    struct numbers *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->view = view;
    if (chart_cells_make(view, MAX_CELLS_NUMBERS, &s->cells) < 0) {
        numbers_destroy(s);
        return NULL;
    }
    return s;
}

/* Drops half of the points, one of each neighbouring two. */
static void thin(struct number_line *l)
{
    for (size_t i = 0; i < MAX_POINTS / 2; i++)
        l->points[i] = l->points[2 * i + random_of(l->seen + i) % 2];
    l->n = MAX_POINTS / 2;
    /* each remaining point now stands for twice as many operations */
    l->stride *= 2;
}

/* Keeps one of every `stride` operations in a row, at a random place: a fixed
 * place could follow the rhythm of the program. When the points are full, the
 * stride doubles. */
static void keep_point(struct number_line *l, struct number_point p)
{
    uint64_t at;

    if (!l->stride)
        l->stride = 1;
    if (l->n == MAX_POINTS && l->seen % l->stride == 0)
        thin(l);
    at = l->seen++;
    /* the group's number decides the place, so equal input gives equal points
     */
    if (random_of(at / l->stride) % l->stride == at % l->stride)
        l->points[l->n++] = p;
}

/* Adds an operation to the line of its cell, and keeps the extremes. */
static int numbers_add(void *state, const struct jp_chart_op *o)
{
    struct numbers *s = state;
    uint32_t at = o->busbw_gbs < 0
                      ? KEYMAP_NONE
                      : chart_cells_find(s->view, &s->cells, o->op);
    struct number_line *l = at == KEYMAP_NONE ? NULL : &s->lines[at];
    struct number_point p = {o->op->sn, o->busbw_gbs, -1};

    if (!l)
        return 0;
    /* the mean over the ranks */
    if (o->op->n_exec)
        p.us = (double) o->op->exec_sum_us / o->op->n_exec;
    if (!l->seen || p.gbs < l->least.gbs)
        l->least = p;
    if (!l->seen || p.gbs > l->most.gbs)
        l->most = p;
    keep_point(l, p);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct number_point *x = a, *y = b;

    if (x->sn != y->sn)
        return x->sn < y->sn ? -1 : 1;
    return x->gbs < y->gbs ? -1 : x->gbs > y->gbs;
}

/* Adds a point unless it is there. */
static void add_missing(struct number_line *l, struct number_point p)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->points[i].sn == p.sn && l->points[i].gbs == p.gbs)
            return;
    l->points[l->n++] = p;
}

/* Writes a line's points, sorted by sequence number. */
static void put_numbers_line(struct jp_json_stream *json,
                             const struct jp_cell *cell, struct number_line *l)
{
    /* outliers are what readers look for, so they must not be thinned out */
    add_missing(l, l->least);
    add_missing(l, l->most);
    qsort(l->points, l->n, sizeof(*l->points), by_number);
    json_stream_object(json, NULL);
    json_stream_text(json, "type", comm_type_name(cell->type));
    json_stream_text(json, "coll", cell->coll);
    json_stream_count(json, "bytes", cell->bytes);
    json_stream_count(json, "n", l->seen);
    json_stream_array(json, "points");
    for (size_t i = 0; i < l->n; i++) {
        json_stream_count(json, NULL, l->points[i].sn);
        json_stream_real(json, NULL, l->points[i].gbs);
        json_stream_real(json, NULL,
                         l->points[i].us < 0 ? NAN : l->points[i].us);
    }
    json_stream_end_array(json);
    json_stream_end_object(json);
}

static int numbers_put(const struct jp_chart_view *view, void *state,
                       struct jp_json_stream *json)
{
    struct numbers *s = state;

    json_stream_object(json, NULL);
    json_stream_count(json, "of", s->cells.of);
    json_stream_array(json, "series");
    for (size_t i = 0; i < s->cells.rows.n; i++)
        /* a cell may have no operation with a bandwidth */
        if (s->lines[i].seen)
            put_numbers_line(json, &view->result->cells[s->cells.rows.index[i]],
                             &s->lines[i]);
    json_stream_end_array(json);
    json_stream_end_object(json);
    return 0;
}

const struct jp_chart chart_numbers = {
    .name = "numbers",
    .caption = "Each operation by its sequence number",
    .make = numbers_make,
    .add = numbers_add,
    .put = numbers_put,
    .destroy = numbers_destroy};

/* --- figures: who sends how much to whom */

#define MAX_NAMES 64 /* rows and columns that stay readable */
#define NO_PLACE UINT32_MAX

/* Traffic from one process or node to another. */
struct flow {
    double bytes, us; /* data, and the sum of the messages' times */
};

struct matrix {
    bool nodes;         /* true: rows are nodes, false: processes */
    size_t all;         /* number of those that send or receive */
    uint32_t *place_of; /* by process or node: its row, or NO_PLACE */
    uint32_t *names;    /* by row: process or node */
    size_t n;
    struct flow *flows; /* n x n: sender x receiver */
};

/* Returns a pair's data as recorded by the side with more of it. The rows of a
 * pair are neighbours. Sets *next to the row after them. */
static struct flow pair_flow(const struct jp_result *r, size_t i, size_t *next)
{
    const struct jp_p2p *first = &r->p2p[i];
    struct flow most = {0, 0};

    /* sender and receiver recorded the same messages: do not add them up */
    for (; i < r->n_p2p && r->p2p[i].comm == first->comm &&
           r->p2p[i].src == first->src && r->p2p[i].dst == first->dst;
         i++)
        if ((double) r->p2p[i].bytes > most.bytes)
            most = (struct flow){(double) r->p2p[i].bytes,
                                 (double) r->p2p[i].exec_us};
    *next = i;
    return most;
}

/* Returns the process or node of one end of a pair. */
static uint32_t end_of(const struct jp_chart_view *v, bool nodes, size_t comm,
                       uint32_t rank)
{
    size_t row = chart_view_rank(v, comm, rank);
    uint32_t proc;

    if (row == SIZE_MAX)
        return NO_PLACE;
    proc = (uint32_t) v->processes->of_rank[row];
    return nodes ? v->processes->list[proc].host_at : proc;
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

/* Chooses the rows with the most data. */
static int choose_matrix(const struct jp_chart_view *v, struct matrix *m)
{
    size_t total = m->nodes ? v->processes->n_hosts : v->processes->n, next;
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
    /* a process counts with what it sends and what it receives */
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
    /* sorted by data, so those without any are at the end */
    while (m->all < total && list[m->all].bytes > 0)
        m->all++;
    m->n = m->all < MAX_NAMES ? m->all : MAX_NAMES;
    for (size_t i = 0; i < m->n; i++)
        m->names[i] = list[i].place;
    /* heaviest first was for the choice; readers look for a rank or a node */
    if (m->nodes)
        qsort(m->names, m->n, sizeof(*m->names), sorted_ascending_u32);
    else
        processes_sort_by_rank(v->processes, m->names, m->n);
    for (size_t i = 0; i < m->n; i++)
        m->place_of[m->names[i]] = (uint32_t) i;
    free(list);
    return 0;
}

/* Adds up the flows between the chosen rows. Returns 0, or -1 when out of
 * memory. */
static int fill_matrix(const struct jp_chart_view *v, struct matrix *m)
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
        /* a row may have several ranks, so flows add up */
        cell = &m->flows[m->place_of[from] * m->n + m->place_of[to]];
        cell->bytes += flow.bytes;
        cell->us += flow.us;
    }
    return 0;
}

/* Writes the names and four numbers per cell with data: sender, receiver,
 * bytes, us. */
static void put_matrix(const struct jp_chart_view *v,
                       struct jp_json_stream *json, const struct matrix *m)
{
    char name[JP_PROCESS_NAME_LEN];

    json_stream_object(json, NULL);
    json_stream_text(json, "by", m->nodes ? "node" : "rank");
    json_stream_count(json, "of", m->all);
    json_stream_array(json, "names");
    for (size_t i = 0; i < m->n; i++)
        json_stream_text(
            json, NULL,
            m->nodes ? v->processes->hosts[m->names[i]].host
                     : processes_name(v->processes, v->result,
                                      &v->processes->list[m->names[i]], name));
    json_stream_end_array(json);
    json_stream_array(json, "cells");
    /* most pairs exchange nothing, so cells without data are left out */
    for (size_t i = 0; i < m->n * m->n; i++) {
        if (!(m->flows[i].bytes > 0))
            continue;
        json_stream_count(json, NULL, i / m->n);
        json_stream_count(json, NULL, i % m->n);
        json_stream_real(json, NULL, m->flows[i].bytes);
        json_stream_real(json, NULL, m->flows[i].us);
    }
    json_stream_end_array(json);
    json_stream_end_object(json);
}

/* Writes the matrix of Send and Recv; null without messages. */
static int put_p2p(const struct jp_chart_view *view, void *state,
                   struct jp_json_stream *json)
{
    struct matrix m = {.nodes = view->processes->n > MAX_NAMES &&
                                view->processes->n_hosts > 1};
    /* rows are nodes if there are too many processes */
    int rc = choose_matrix(view, &m);

    if (rc == 0)
        rc = fill_matrix(view, &m);
    if (rc == 0 && m.n)
        put_matrix(view, json, &m);
    else if (rc == 0)
        json_stream_null(json, NULL);
    free(m.place_of);
    free(m.names);
    free(m.flows);
    return rc;
}

const struct jp_chart chart_p2p = {
    .name = "p2p", .caption = "Who sends how much to whom", .put = put_p2p};
