/* chart_view.c - slices, last arrivers and cells of operations. */
#include "orchestrator/report/chart_view.h"

#include <stdlib.h>
#include <string.h>

static bool is_barrier(const char *coll)
{
    return !strcmp(coll, "AllReduce") || !strcmp(coll, "AllGather") ||
           !strcmp(coll, "ReduceScatter");
}

static void cut(struct jp_chart_view *v)
{
    const struct jp_result *r = v->result;
    uint64_t lo = UINT64_MAX, hi = 0, span;

    for (size_t i = 0; i < r->n_ops; i++) {
        uint64_t t = r->ops[i].dump_min_us;

        if (t && t < lo)
            lo = t;
        if (t > hi)
            hi = t;
    }
    if (!hi)
        return;
    span = hi - lo;
    v->from_us = lo;
    v->width_us = span / JP_CHART_SLICES + 1;
    v->slices = (unsigned) (span / v->width_us) + 1;
}

static void index_ranks(struct jp_chart_view *v)
{
    const struct jp_result *r = v->result;
    size_t at = 0;

    for (size_t comm = 0; comm <= r->n_comms; comm++) {
        while (at < r->n_ranks && r->ranks[at].comm < comm)
            at++;
        v->first_rank[comm] = at;
    }
}

int chart_view_make(const struct jp_result *result, struct jp_chart_view *view)
{
    struct jp_chart_view v = {.result = result};

    v.barrier = calloc(result->n_coll_names + 1, sizeof(*v.barrier));
    v.first_rank = calloc(result->n_comms + 1, sizeof(*v.first_rank));
    if (!v.barrier || !v.first_rank || procs_make(result, &v.procs) < 0) {
        chart_view_fini(&v);
        return -1;
    }
    for (size_t i = 0; i < result->n_coll_names; i++)
        v.barrier[i] = is_barrier(result->coll_names[i]);
    index_ranks(&v);
    cut(&v);
    *view = v;
    return 0;
}

void chart_view_fini(struct jp_chart_view *view)
{
    procs_fini(&view->procs);
    free(view->barrier);
    free(view->first_rank);
    *view = (struct jp_chart_view){0};
}

bool chart_view_knows(const struct jp_chart_view *view, const struct jp_op *op)
{
    return op->comm < view->result->n_comms &&
           op->coll < view->result->n_coll_names;
}

unsigned chart_view_slice(const struct jp_chart_view *view,
                          const struct jp_op *op)
{
    if (op->dump_min_us < view->from_us || !view->slices)
        return JP_CHART_SLICES;
    return (unsigned) ((op->dump_min_us - view->from_us) / view->width_us);
}

double chart_view_busbw(const struct jp_op *op)
{
    return op->n_busbw
               ? (double) op->busbw_sum_micro / ((double) op->n_busbw * 1e6)
               : -1;
}

/* All ranks of a barrier-like operation left a record. */
static bool is_whole(const struct jp_chart_view *v, const struct jp_op *op)
{
    uint32_t n_ranks = v->result->comms[op->comm].n_ranks;

    return v->barrier[op->coll] && n_ranks > 1 && op->n == n_ranks;
}

double chart_view_net_busbw(const struct jp_chart_view *view,
                            const struct jp_op *op)
{
    if (is_whole(view, op) && op->n_busbw == op->n)
        return (double) op->busbw_max_micro / 1e6;
    return chart_view_busbw(op);
}

size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank)
{
    const struct jp_rank *ranks = view->result->ranks;
    size_t lo, hi;

    if (comm >= view->result->n_comms)
        return SIZE_MAX;
    lo = view->first_rank[comm];
    hi = view->first_rank[comm + 1];
    if (rank < hi - lo && ranks[lo + rank].rank == rank)
        return lo + rank; /* none is missing */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (ranks[middle].rank == rank)
            return middle;
        if (ranks[middle].rank < rank)
            lo = middle + 1;
        else
            hi = middle;
    }
    return SIZE_MAX;
}

/* Operations of one sequence number and two sizes are neighbours. */
static bool has_two_sizes(const struct jp_result *r, size_t i)
{
    const struct jp_op *op = &r->ops[i];
    const struct jp_op *near[] = {i ? op - 1 : NULL,
                                  i + 1 < r->n_ops ? op + 1 : NULL};

    for (size_t k = 0; k < 2; k++)
        if (near[k] && near[k]->comm == op->comm && near[k]->coll == op->coll &&
            near[k]->sn == op->sn)
            return true;
    return false;
}

size_t chart_view_last(const struct jp_chart_view *view, size_t i,
                       uint64_t *caused_us)
{
    const struct jp_op *op = &view->result->ops[i];
    uint64_t shortest;

    if (op->min_rank == UINT32_MAX || !chart_view_knows(view, op) ||
        !is_whole(view, op) || op->n_exec != op->n ||
        has_two_sizes(view->result, i) ||
        __builtin_mul_overflow(op->exec_min_us, op->n, &shortest) ||
        shortest > op->exec_sum_us)
        return SIZE_MAX;
    *caused_us = op->exec_sum_us - shortest;
    return chart_view_rank(view, op->comm, op->min_rank);
}

static uint64_t cell_key(enum jp_comm_type type, size_t coll)
{
    return (uint64_t) type << 32 | coll;
}

int chart_cells_make(const struct jp_chart_view *view, size_t max,
                     struct jp_chart_cells *cells)
{
    const struct jp_result *r = view->result;
    struct jp_chart_cells c = {0};

    if (rows_pick(r, r->n_cells, max, rows_cell_busbw, true, &c.rows) < 0)
        return -1;
    for (size_t i = 0; i < r->n_cells; i++)
        c.of += rows_cell_busbw(r, i) >= 0;
    for (size_t i = 0; i < c.rows.n; i++) {
        const struct jp_cell *cell = &r->cells[c.rows.index[i]];

        if (rows_cell_busbw(r, c.rows.index[i]) < 0) {
            c.rows.n = i; /* the lightest */
            break;
        }
        for (size_t k = 0; k < r->n_coll_names; k++)
            if (!strcmp(r->coll_names[k], cell->coll) &&
                keymap_find(&c.map, cell_key(cell->type, k), cell->bytes) ==
                    KEYMAP_NONE &&
                keymap_add(&c.map, cell_key(cell->type, k), cell->bytes,
                           (uint32_t) i) < 0) {
                chart_cells_fini(&c);
                return -1;
            }
    }
    *cells = c;
    return 0;
}

uint32_t chart_cells_find(const struct jp_chart_view *view,
                          const struct jp_chart_cells *cells,
                          const struct jp_op *op)
{
    if (!chart_view_knows(view, op))
        return KEYMAP_NONE;
    return keymap_find(&cells->map,
                       cell_key(view->result->comms[op->comm].type, op->coll),
                       op->bytes);
}

void chart_cells_fini(struct jp_chart_cells *cells)
{
    rows_fini(&cells->rows);
    keymap_fini(&cells->map);
    *cells = (struct jp_chart_cells){0};
}
