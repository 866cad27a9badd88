/* result_cells.c - operations of one kind and size, summed up. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/dist.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"

/* Work space: which cell an operation is in, and the values of one quantity,
 * cell behind cell. */
struct cells {
    struct jp_result *r;
    struct keymap map; /* (type and function, size) */
    uint32_t *of_op;
    size_t *start; /* of a cell's values, n_cells + 1 */
    size_t *used;
    double *values, *scratch;
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

static int assign(struct cells *c)
{
    struct jp_result *r = c->r;

    c->of_op = reallocarray(NULL, r->n_ops + 1, sizeof(*c->of_op));
    c->values = reallocarray(NULL, r->n_ops + 1, sizeof(*c->values));
    c->scratch = reallocarray(NULL, r->n_ops + 1, sizeof(*c->scratch));
    if (!c->of_op || !c->values || !c->scratch)
        return -1;
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&c->reader, i);

        if (find_cell(c, op, &c->of_op[i]) < 0)
            return -1;
        r->cells[c->of_op[i]].ops++;
        r->cells[c->of_op[i]].records += op->n;
    }
    c->start = calloc(r->n_cells + 1, sizeof(*c->start));
    c->used = calloc(r->n_cells + 1, sizeof(*c->used));
    if (!c->start || !c->used)
        return -1;
    for (size_t i = 0; i < r->n_cells; i++)
        c->start[i + 1] = c->start[i] + (size_t) r->cells[i].ops;
    return 0;
}

/* An operation's value of a quantity, < 0: it has none. */
typedef double value_of(const struct jp_result *r, const struct jp_op *op);

static double busbw_of(const struct jp_result *r, const struct jp_op *op)
{
    (void) r;
    return op->n_busbw ? op_busbw_gbs(op) : -1;
}

static double exec_of(const struct jp_result *r, const struct jp_op *op)
{
    (void) r;
    return op->n_exec ? (double) op->exec_max_us : -1;
}

/* The last arriver waits for nobody: its bandwidth is the network's. */
static double net_of(const struct jp_result *r, const struct jp_op *op)
{
    const struct jp_comm *comm = &r->comms[op->comm];
    const char *coll = r->coll_names[op->coll];

    if (comm->n_ranks < 2 || op->n != comm->n_ranks || op->n_busbw != op->n)
        return -1;
    if (strcmp(coll, "AllReduce") && strcmp(coll, "AllGather") &&
        strcmp(coll, "ReduceScatter"))
        return -1;
    return (double) op->busbw_max_micro / 1e6;
}

/* Fills the struct jp_dist at `offset` of every cell. */
static void fill(struct cells *c, value_of *value, size_t offset)
{
    struct jp_result *r = c->r;

    memset(c->used, 0, r->n_cells * sizeof(*c->used));
    for (size_t i = 0; i < r->n_ops; i++) {
        uint32_t cell = c->of_op[i];
        double v = value(r, ops_at(&c->reader, i));

        if (v >= 0)
            c->values[c->start[cell] + c->used[cell]++] = v;
    }
    for (size_t i = 0; i < r->n_cells; i++)
        dist_make(c->values + c->start[i], c->scratch, c->used[i],
                  (void *) ((char *) &r->cells[i] + offset));
}

/* sum(busbw * time) / sum(time); without time the plain mean. */
static int weigh(struct cells *c)
{
    struct jp_result *r = c->r;
    double *time = calloc(r->n_cells + 1, sizeof(*time));

    if (!time)
        return -1;
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&c->reader, i);

        if (!op->n_busbw)
            continue;
        time[c->of_op[i]] += (double) op->exec_max_us;
        r->cells[c->of_op[i]].time_weighted_gbs += op_busbw_gbs(op) *
                                                   (double) op->exec_max_us;
    }
    for (size_t i = 0; i < r->n_cells; i++)
        if (time[i] > 0)
            r->cells[i].time_weighted_gbs /= time[i];
        else
            r->cells[i].time_weighted_gbs = r->cells[i].busbw.mean;
    free(time);
    return 0;
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
    struct cells c = {.r = b->result, .reader = {.ops = b->result->ops}};
    int rc = assign(&c);

    if (rc == 0) {
        fill(&c, busbw_of, offsetof(struct jp_cell, busbw));
        fill(&c, exec_of, offsetof(struct jp_cell, exec));
        fill(&c, net_of, offsetof(struct jp_cell, net_busbw));
        rc = weigh(&c);
    }
    if (rc == 0 && c.r->n_cells)
        qsort(c.r->cells, c.r->n_cells, sizeof(*c.r->cells), by_kind);
    keymap_fini(&c.map);
    free(c.of_op);
    free(c.start);
    free(c.used);
    free(c.values);
    free(c.scratch);
    return rc;
}
