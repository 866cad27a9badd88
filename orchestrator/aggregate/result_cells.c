/* result_cells.c - operations of one kind and size, summed up. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/dist.h"
#include "orchestrator/aggregate/hist.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"

/* Work space: which cell an operation is in, and the values of one quantity,
 * cell behind cell. */
struct cells {
    struct jp_result *r;
    uint64_t limit;
    struct keymap map; /* (type and function, size) */
    uint16_t *of_op;
    uint32_t *of_op_wide; /* in its place, if there are very many cells */
    size_t *start;        /* of a cell's values, n_cells + 1 */
    size_t *used;
    double *values, *scratch;
    struct hist **hists; /* of a cell; NULL: its values are kept */
    double *time;        /* of a cell's operations with a bandwidth */
    bool *barrier;       /* of a function: its ranks wait for the last one */
    struct ops_reader reader;
};

static int find_cell(struct cells *c, const struct jp_op *op, uint32_t *cell)
{
    struct jp_result *r = c->r;
    enum jp_comm_type type = r->comms[op->comm].type;
    uint64_t key = (uint64_t) type << 32 | op->coll;

    *cell = keymap_find(&c->map, key, op->bytes);
    if (*cell != KEYMAP_NONE)
        return 0;
    if (!(r->n_cells & (r->n_cells - 1))) {
        struct jp_cell *more = reallocarray(
            r->cells, r->n_cells ? 2 * r->n_cells : 1, sizeof(*more));

        if (!more)
            return -1;
        r->cells = more;
    }
    *cell = (uint32_t) r->n_cells;
    r->cells[r->n_cells++] = (struct jp_cell){
        .type = type, .coll = r->coll_names[op->coll], .bytes = op->bytes};
    return keymap_add(&c->map, key, op->bytes, *cell);
}

static inline uint32_t cell_of(const struct cells *c, size_t i)
{
    return c->of_op_wide ? c->of_op_wide[i] : c->of_op[i];
}

/* Operation i and those behind it are in cells of larger numbers. 0 or -1. */
static int widen(struct cells *c, size_t i)
{
    uint32_t *wide = reallocarray(NULL, c->r->n_ops + 1, sizeof(*wide));

    if (!wide)
        return -1;
    for (size_t k = 0; k < i; k++)
        wide[k] = c->of_op[k];
    free(c->of_op);
    c->of_op = NULL;
    c->of_op_wide = wide;
    return 0;
}

static int assign(struct cells *c)
{
    struct jp_result *r = c->r;

    c->of_op = reallocarray(NULL, r->n_ops + 1, sizeof(*c->of_op));
    if (!c->of_op)
        return -1;
    ops_want(&c->reader, OPS_BYTES | OPS_COUNTS);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&c->reader, i);
        uint32_t cell;

        if (find_cell(c, op, &cell) < 0 ||
            (cell > UINT16_MAX && !c->of_op_wide && widen(c, i) < 0))
            return -1;
        if (c->of_op_wide)
            c->of_op_wide[i] = cell;
        else
            c->of_op[i] = (uint16_t) cell;
        r->cells[cell].ops++;
        r->cells[cell].records += op->n;
    }
    return 0;
}

static int by_ops(const void *a, const void *b)
{
    const struct jp_cell *x = *(struct jp_cell *const *) a;
    const struct jp_cell *y = *(struct jp_cell *const *) b;

    if (x->ops != y->ops)
        return x->ops < y->ops ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Cells whose values are too many get a histogram: the largest, until the
 * others' operations are no more than the limit. */
static int pick_exact(struct cells *c)
{
    struct jp_result *r = c->r;
    struct jp_cell **sorted = calloc(r->n_cells + 1, sizeof(*sorted));
    uint64_t sum = 0;
    int rc = sorted ? 0 : -1;

    for (size_t i = 0; sorted && i < r->n_cells; i++)
        sorted[i] = &r->cells[i];
    if (sorted)
        qsort(sorted, r->n_cells, sizeof(*sorted), by_ops);
    for (size_t i = 0; rc == 0 && i < r->n_cells; i++) {
        sum += sorted[i]->ops;
        if (sum <= c->limit)
            continue;
        sorted[i]->rounded = true;
        r->quality.rounded_cells++;
        c->hists[sorted[i] - r->cells] = calloc(1, sizeof(struct hist));
        if (!c->hists[sorted[i] - r->cells])
            rc = -1;
    }
    free(sorted);
    return rc;
}

/* Where each cell's values go, once it is known how many there are. */
static int lay_out(struct cells *c)
{
    struct jp_result *r = c->r;
    size_t most = 0;

    c->start = calloc(r->n_cells + 1, sizeof(*c->start));
    c->used = calloc(r->n_cells + 1, sizeof(*c->used));
    c->time = calloc(r->n_cells + 1, sizeof(*c->time));
    c->barrier = calloc(r->n_coll_names + 1, sizeof(*c->barrier));
    c->hists = calloc(r->n_cells + 1, sizeof(*c->hists));
    if (!c->start || !c->used || !c->time || !c->barrier || !c->hists ||
        pick_exact(c) < 0)
        return -1;
    for (size_t i = 0; i < r->n_cells; i++) {
        size_t n = c->hists[i] ? 0 : (size_t) r->cells[i].ops;

        c->start[i + 1] = c->start[i] + n;
        most = n > most ? n : most;
    }
    for (size_t i = 0; i < r->n_coll_names; i++)
        c->barrier[i] = join_is_barrier(r->coll_names[i]);
    c->values =
        reallocarray(NULL, c->start[r->n_cells] + 1, sizeof(*c->values));
    c->scratch = reallocarray(NULL, most + 1, sizeof(*c->scratch));
    return c->values && c->scratch ? 0 : -1;
}

/* An operation's value of a quantity, < 0: it has none. */
typedef double value_of(struct cells *c, const struct jp_op *op, uint32_t cell);

/* Also sums up what the time-weighted mean takes. */
static double busbw_of(struct cells *c, const struct jp_op *op, uint32_t cell)
{
    double busbw, us = (double) op->exec_max_us;

    if (!op->n_busbw)
        return -1;
    busbw = op_busbw_gbs(op);
    c->time[cell] += us;
    c->r->cells[cell].time_weighted_gbs += busbw * us;
    return busbw;
}

static double exec_of(struct cells *c, const struct jp_op *op, uint32_t cell)
{
    (void) c;
    (void) cell;
    return op->n_exec ? (double) op->exec_max_us : -1;
}

/* The last arriver waits for nobody: its bandwidth is the network's. */
static double net_of(struct cells *c, const struct jp_op *op, uint32_t cell)
{
    const struct jp_comm *comm = &c->r->comms[op->comm];

    (void) cell;
    return c->barrier[op->coll] && comm->n_ranks > 1 &&
                   op->n == comm->n_ranks && op->n_busbw == op->n
               ? (double) op->busbw_max_micro / 1e6
               : -1;
}

static const struct quantity {
    value_of *value;
    unsigned parts;
    size_t offset; /* of its struct jp_dist in a cell */
} quantities[] = {
    {busbw_of, OPS_COUNTS | OPS_BUSBW | OPS_EXEC,
     offsetof(struct jp_cell, busbw)},
    {exec_of, OPS_COUNTS | OPS_EXEC, offsetof(struct jp_cell, exec)},
    {net_of, OPS_COUNTS | OPS_BUSBW, offsetof(struct jp_cell, net_busbw)},
};

static void fill(struct cells *c, const struct quantity *quantity)
{
    struct jp_result *r = c->r;

    memset(c->used, 0, r->n_cells * sizeof(*c->used));
    ops_want(&c->reader, quantity->parts);
    for (size_t i = 0; i < r->n_ops; i++) {
        uint32_t cell = cell_of(c, i);
        double v = quantity->value(c, ops_at(&c->reader, i), cell);

        if (v >= 0 && c->hists[cell])
            hist_add(c->hists[cell], v);
        else if (v >= 0)
            c->values[c->start[cell] + c->used[cell]++] = v;
    }
    for (size_t i = 0; i < r->n_cells; i++) {
        void *to = (char *) &r->cells[i] + quantity->offset;

        if (!c->hists[i]) {
            dist_make(c->values + c->start[i], c->scratch, c->used[i], to);
            continue;
        }
        hist_make(c->hists[i], to);
        *c->hists[i] = (struct hist){0};
    }
}

/* sum(busbw * time) / sum(time); without time the plain mean. */
static void weigh(struct cells *c)
{
    for (size_t i = 0; i < c->r->n_cells; i++) {
        struct jp_cell *cell = &c->r->cells[i];

        if (c->time[i] > 0)
            cell->time_weighted_gbs /= c->time[i];
        else
            cell->time_weighted_gbs = cell->busbw.mean;
    }
}

static int by_kind(const void *a, const void *b)
{
    const struct jp_cell *x = a, *y = b;
    int order;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    order = strcmp(x->coll, y->coll);
    if (order)
        return order;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int result_cells(struct build *b)
{
    struct cells c = {.r = b->result,
                      .limit = b->row_limit,
                      .reader = {.ops = b->result->ops}};
    int rc = assign(&c) < 0 ? -1 : lay_out(&c);

    if (rc == 0) {
        for (size_t i = 0; i < sizeof(quantities) / sizeof(*quantities); i++)
            fill(&c, &quantities[i]);
        weigh(&c);
    }
    if (rc == 0 && c.r->n_cells)
        qsort(c.r->cells, c.r->n_cells, sizeof(*c.r->cells), by_kind);
    keymap_fini(&c.map);
    for (size_t i = 0; c.hists && i < c.r->n_cells; i++)
        free(c.hists[i]);
    free(c.hists);
    free(c.of_op);
    free(c.of_op_wide);
    free(c.start);
    free(c.used);
    free(c.time);
    free(c.barrier);
    free(c.values);
    free(c.scratch);
    return rc;
}
