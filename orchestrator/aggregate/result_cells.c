/* result_cells.c - operations summed up: by kind and size (cells), and over
 * time (windows).
 *
 * Operations are packed (ops.h), so they are read in a few passes, each of
 * which unpacks only the parts that it needs. Cells: assign finds the cell of
 * each operation, then each quantity has a pass that sorts the values into
 * their cells. Windows: count, lay out, fill. With many operations a second
 * thread does a part. */
#include "orchestrator/aggregate/result_build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/vector.h"
#include "orchestrator/aggregate/dist.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"

/* The cell of each operation, and where the cells' values lie. */
struct cells {
    struct jp_result *r;
    uint64_t limit;
    struct keymap map; /* (type and function, size) */
    uint16_t *of_op;
    uint32_t *of_op_wide; /* used instead, if there are very many cells */
    size_t *start;        /* of a cell's values, n_cells + 1 */
    size_t most;          /* values of one cell */
    double *time;         /* of a cell's operations with a bandwidth */
    bool *barrier; /* barrier-like function: its ranks wait for the last one */
};

/* Finds or makes the cell of an operation; *cell: its number. 0, or -1. */
static int find_cell(struct cells *c, const struct jp_op *op, uint32_t *cell)
{
    struct jp_result *r = c->r;
    enum jp_comm_type type = r->comms[op->comm].type;
    uint64_t key = (uint64_t) type << 32 | op->coll;

    *cell = keymap_find(&c->map, key, op->bytes);
    if (*cell != KEYMAP_NONE)
        return 0;
    if (VECTOR_DOUBLE(r->cells, r->n_cells) < 0)
        return -1;
    *cell = (uint32_t) r->n_cells;
    r->cells[r->n_cells++] = (struct jp_cell){
        .type = type, .coll = r->coll_names[op->coll], .bytes = op->bytes};
    return keymap_add(&c->map, key, op->bytes, *cell);
}

/* The cell of operation i. */
static inline uint32_t cell_of(const struct cells *c, size_t i)
{
    return c->of_op_wide ? c->of_op_wide[i] : c->of_op[i];
}

/* Switches to wide numbers of cells, because operation i has one beyond 16
 * bits. 0, or -1: no memory. */
static int widen_cell(struct cells *c, size_t i)
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

/* Fills of_op and counts the operations and records of cells. 0, or -1. */
static int assign(struct cells *c)
{
    struct jp_result *r = c->r;
    struct ops_reader reader = {.ops = r->ops, .parts = OPS_BYTES | OPS_N};

    c->of_op = reallocarray(NULL, r->n_ops + 1, sizeof(*c->of_op));
    if (!c->of_op)
        return -1;
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        uint32_t cell;

        if (find_cell(c, op, &cell) < 0 ||
            (cell > UINT16_MAX && !c->of_op_wide && widen_cell(c, i) < 0))
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

/* Cells with too many values get a histogram: the largest, until the others'
 * operations are no more than the limit. */
static int pick_exact(struct cells *c)
{
    struct jp_result *r = c->r;
    struct jp_cell **sorted = calloc(r->n_cells + 1, sizeof(*sorted));
    uint64_t sum = 0;

    for (size_t i = 0; sorted && i < r->n_cells; i++)
        sorted[i] = &r->cells[i];
    if (sorted)
        qsort(sorted, r->n_cells, sizeof(*sorted), by_ops);
    for (size_t i = 0; sorted && i < r->n_cells; i++) {
        sum += sorted[i]->ops;
        /* ascending: small cells are exact, as a histogram of them would cost
         * more */
        if (sum <= c->limit)
            continue;
        sorted[i]->rounded = true;
        r->quality.rounded_cells++;
    }
    free(sorted);
    return sorted ? 0 : -1;
}

/* Sets where each cell's values go, in the order of cells. 0, or -1: no memory.
 */
static int lay_out_cells(struct cells *c)
{
    struct jp_result *r = c->r;

    c->start = calloc(r->n_cells + 1, sizeof(*c->start));
    c->time = calloc(r->n_cells + 1, sizeof(*c->time));
    c->barrier = calloc(r->n_coll_names + 1, sizeof(*c->barrier));
    if (!c->start || !c->time || !c->barrier || pick_exact(c) < 0)
        return -1;
    for (size_t i = 0; i < r->n_cells; i++) {
        size_t n = r->cells[i].rounded ? 0 : (size_t) r->cells[i].ops;

        c->start[i + 1] = c->start[i] + n;
        c->most = n > c->most ? n : c->most;
    }
    for (size_t i = 0; i < r->n_coll_names; i++)
        c->barrier[i] = collective_is_barrier(r->coll_names[i]);
    return 0;
}

/* An operation's value of a quantity. Negative: it has none. */
typedef double value_of(struct cells *c, const struct jp_op *op, uint32_t cell);

/* Also sums up the terms of the time-weighted mean. */
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

/* The longest rank's time. */
static double exec_of(struct cells *c, const struct jp_op *op, uint32_t cell)
{
    (void) c;
    (void) cell;
    return op->n_exec ? (double) op->exec_max_us : -1;
}

/* The bandwidth of the rank with the shortest time. It came last, so it did not
 * wait, and its bandwidth is the network's. */
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
    {busbw_of, OPS_N_BUSBW | OPS_BUSBW_SUM | OPS_EXEC_MAX,
     offsetof(struct jp_cell, busbw)},
    {exec_of, OPS_N_EXEC | OPS_EXEC_MAX, offsetof(struct jp_cell, exec)},
    {net_of, OPS_N | OPS_N_BUSBW | OPS_BUSBW_MAX,
     offsetof(struct jp_cell, net_busbw)},
};

/* Work space to compute some quantities, one after the other. Two threads may
 * have one each. */
struct pass {
    struct cells *c;
    const struct quantity *quantity; /* the first one */
    unsigned n;
    double *values, *scratch; /* of one quantity, cell after cell */
    size_t *used;             /* of a cell's */
    struct hist **hists;      /* of a cell; NULL: its values are kept */
    struct ops_reader reader;
    int rc;
};

/* 0, or -1: no memory; pass_fini frees what is there. */
static int pass_init(struct pass *p)
{
    const struct cells *c = p->c;
    size_t n = c->r->n_cells;

    p->used = calloc(n + 1, sizeof(*p->used));
    p->hists = calloc(n + 1, sizeof(*p->hists));
    p->values = reallocarray(NULL, c->start[n] + 1, sizeof(*p->values));
    p->scratch = reallocarray(NULL, c->most + 1, sizeof(*p->scratch));
    if (!p->used || !p->hists || !p->values || !p->scratch)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (c->r->cells[i].rounded &&
            !(p->hists[i] = calloc(1, sizeof(*p->hists[i]))))
            return -1;
    return 0;
}

static void pass_fini(struct pass *p)
{
    for (size_t i = 0; p->hists && i < p->c->r->n_cells; i++)
        free(p->hists[i]);
    free(p->hists);
    free(p->used);
    free(p->values);
    free(p->scratch);
}

/* Computes one quantity of all cells. */
static void fill_cells(struct pass *p, const struct quantity *quantity)
{
    struct cells *c = p->c;
    struct jp_result *r = c->r;

    memset(p->used, 0, r->n_cells * sizeof(*p->used));
    ops_want(&p->reader, quantity->parts);
    for (size_t i = 0; i < r->n_ops; i++) {
        uint32_t cell = cell_of(c, i);
        double v = quantity->value(c, ops_at(&p->reader, i), cell);

        if (v >= 0 && p->hists[cell]) /* a cell with too many values */
            hist_add(p->hists[cell], v);
        else if (v >= 0)
            p->values[c->start[cell] + p->used[cell]++] = v;
    }
    for (size_t i = 0; i < r->n_cells; i++) {
        void *to = (char *) &r->cells[i] + quantity->offset;

        if (!p->hists[i]) {
            dist_make(p->values + c->start[i], p->scratch, p->used[i], to);
            continue;
        }
        hist_make(p->hists[i], to);
        *p->hists[i] = (struct hist){0};
    }
}

static void *run_pass(void *arg)
{
    struct pass *p = arg;

    p->reader.ops = p->c->r->ops;
    p->rc = pass_init(p);
    for (unsigned i = 0; p->rc == 0 && i < p->n; i++)
        fill_cells(p, &p->quantity[i]);
    pass_fini(p);
    return NULL;
}

/* All quantities. A second thread computes the first one, if allowed. 0 or -1.
 */
static int fill_all(struct cells *c, bool beside)
{
    enum { ALL = sizeof(quantities) / sizeof(*quantities) };
    struct pass others = {.c = c, .quantity = quantities + 1, .n = ALL - 1};
    struct pass first = {.c = c, .quantity = quantities, .n = 1};
    pthread_t thread;

    if (!beside || pthread_create(&thread, NULL, run_pass, &others) != 0) {
        /* alone, one after the other: half the memory */
        first.n = ALL;
        run_pass(&first);
        return first.rc;
    }
    run_pass(&first);
    pthread_join(thread, NULL);
    return first.rc < 0 ? -1 : others.rc;
}

/* sum(busbw * time) / sum(time). Without times, the plain mean. */
static void weigh_cells(struct cells *c)
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

static void cells_destroy(struct cells *c)
{
    if (!c)
        return;
    keymap_fini(&c->map);
    free(c->of_op);
    free(c->of_op_wide);
    free(c->start);
    free(c->time);
    free(c->barrier);
    free(c);
}

/* Finds the cell of each operation. NULL without memory. */
static struct cells *cells_create(struct build *b)
{
    struct cells *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->r = b->result;
    c->limit = b->row_limit;
    if (assign(c) == 0 && lay_out_cells(c) == 0)
        return c;
    cells_destroy(c);
    return NULL;
}

/* Computes the figures of the cells. beside: a second thread may compute some.
 */
static int cells_fill(struct cells *c, bool beside)
{
    if (fill_all(c, beside) < 0)
        return -1;
    weigh_cells(c);
    if (c->r->n_cells)
        qsort(c->r->cells, c->r->n_cells, sizeof(*c->r->cells), by_kind);
    return 0;
}

/* --- communicators over time, in equal slices ---------------------------- */

/* At most 200 slices, and fewer where very many communicators, or phases, would
 * make the table larger than ROWS (3 MB). */
enum { SLICES = 200, FEW_SLICES = 10, ROWS = 50000 };

struct slices {
    struct jp_result *r;
    uint64_t from, width;
    unsigned n;
    size_t phases; /* of the result, none, and several */
    /* of the series being walked: slice after slice, and in each by phase */
    struct slice {
        struct jp_window window;
        uint64_t n_busbw;
    } * now;
    size_t next[SLICES]; /* first the number of a slice's windows, then where
                            the next one goes */
    struct ops_reader reader;
};

/* The series of the operation before. */
struct series {
    uint32_t comm, coll;
};

/* Whether an operation begins another series than the one before. */
static bool is_next(struct series *last, const struct jp_op *op)
{
    bool next = last->comm != op->comm || last->coll != op->coll;

    *last = (struct series){op->comm, op->coll};
    return next;
}

/* Chooses the slices. False: no operation has a time. */
static bool cut_slices(struct slices *s)
{
    uint64_t lo = s->r->ops->dump_first, hi = s->r->ops->dump_last, span;
    size_t series = s->r->ops->n_runs * (s->r->n_phases ? s->r->n_phases : 1);

    if (!hi)
        return false;
    s->n = ROWS / series < SLICES ? (unsigned) (ROWS / series) : SLICES;
    if (s->n < FEW_SLICES)
        s->n = FEW_SLICES;
    span = hi - lo + 1;
    s->from = lo;
    s->width = span / s->n + (span % s->n != 0);
    return true;
}

static uint64_t slice_of(const struct slices *s, const struct jp_op *op)
{
    return (op->dump_min_us - s->from) / s->width;
}

/* Where the window of an operation's time and phase is in now. */
static size_t place_of(const struct slices *s, const struct jp_op *op)
{
    return slice_of(s, op) * s->phases +
           (op->phase == JP_PHASE_SEVERAL ? s->phases - 1 : op->phase);
}

/* Adds an operation to its window. */
static void add_op(struct slices *s, const struct jp_op *op)
{
    uint64_t at = slice_of(s, op);
    struct slice *slice = &s->now[place_of(s, op)];
    struct jp_window *w = &slice->window;

    if (!w->ops)
        *w = (struct jp_window){.t0_us = s->from + at * s->width,
                                .t1_us = s->from + (at + 1) * s->width,
                                .comm = op->comm,
                                .coll = s->r->coll_names[op->coll],
                                .phase = op->phase};
    w->ops++;
    w->bytes = num_add(w->bytes, op->bytes);
    w->sizeless += !op->bytes;
    w->time_us = num_add(w->time_us, op->exec_max_us);
    if (op->n_busbw) {
        w->busbw_mean += op_busbw_gbs(op); /* a sum until flush() */
        slice->n_busbw++;
    }
}

/* Moves the series' non-empty slices to their places and clears them. */
static void flush(struct slices *s)
{
    struct jp_result *r = s->r;

    for (size_t i = 0; i < s->n * s->phases; i++) {
        struct jp_window *w = &s->now[i].window;

        if (!w->ops)
            continue;
        if (s->now[i].n_busbw)
            w->busbw_mean /= (double) s->now[i].n_busbw;
        r->windows[s->next[i / s->phases]++] = *w;
        s->now[i] = (struct slice){0};
    }
}

/* Counts how many windows each slice will have: one for each series and phase
 * with an operation in it. */
static void count_slices(struct slices *s)
{
    struct series last = {UINT32_MAX, UINT32_MAX};

    ops_want(&s->reader, OPS_DUMP_MIN | OPS_PHASE);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&s->reader, i);

        if (is_next(&last, op))
            memset(s->now, 0, s->n * s->phases * sizeof(*s->now));
        if (!op->dump_min_us || s->now[place_of(s, op)].window.ops)
            continue;
        s->now[place_of(s, op)].window.ops = 1; /* seen */
        s->next[slice_of(s, op)]++;
    }
    memset(s->now, 0, s->n * s->phases * sizeof(*s->now));
}

/* Allocates all windows, slice after slice. 0 or -1. */
static int lay_out_windows(struct slices *s)
{
    size_t sum = 0;

    for (unsigned i = 0; i < s->n; i++) {
        size_t n = s->next[i];

        s->next[i] = sum;
        sum += n;
    }
    s->r->windows = calloc(sum + 1, sizeof(*s->r->windows));
    if (!s->r->windows)
        return -1;
    s->r->n_windows = sum;
    return 0;
}

/* Fills the windows. Series come in order of communicator and function, so each
 * slice's windows are in that order as well. */
static void fill_windows(struct slices *s)
{
    struct series last = {UINT32_MAX, UINT32_MAX};

    ops_want(&s->reader, OPS_BYTES | OPS_N_BUSBW | OPS_EXEC_MAX |
                             OPS_BUSBW_SUM | OPS_DUMP_MIN | OPS_PHASE);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&s->reader, i);

        if (is_next(&last, op))
            flush(s);
        if (op->dump_min_us)
            add_op(s, op);
    }
    flush(s);
}

/* Makes the windows of the result; none if no operation has a time. 0, or -1.
 */
static int make_windows(struct build *b)
{
    struct slices *s = calloc(1, sizeof(*s));
    int rc = 0;

    if (!s)
        return -1;
    s->r = b->result;
    s->reader.ops = b->result->ops;
    s->phases = s->r->n_phases + 2;
    if (cut_slices(s)) {
        s->now = calloc(s->n * s->phases, sizeof(*s->now));
        if (s->now)
            count_slices(s);
        rc = s->now ? lay_out_windows(s) : -1;
        if (rc == 0)
            fill_windows(s);
    }
    free(s->now);
    free(s);
    return rc;
}

/* --- cells and windows, side by side where that pays --------------------- */

#define BESIDE_OPS 20000 /* a second thread pays from so many operations on */

/* Makes the windows in a second thread. */
struct beside {
    struct build *build;
    int rc;
};

static void *work_on_windows(void *arg)
{
    struct beside *beside = arg;

    beside->rc = make_windows(beside->build);
    return NULL;
}

/* Computes the cells while another thread makes the windows. They share no
 * data. *rc: result of the windows. */
static struct cells *assign_beside(struct build *b, int *rc)
{
    struct beside windows = {.build = b};
    struct cells *cells;
    pthread_t thread;

    if (pthread_create(&thread, NULL, work_on_windows, &windows) != 0) {
        *rc = make_windows(b);
        return cells_create(b);
    }
    cells = cells_create(b);
    pthread_join(thread, NULL);
    *rc = windows.rc;
    return cells;
}

/* With one thread the windows come last, after the work space of the cells is
 * freed. */
int result_cells_and_windows(struct build *b)
{
    bool beside = b->threads >= 2 && b->result->n_ops >= BESIDE_OPS;
    int rc = 0;
    struct cells *cells = beside ? assign_beside(b, &rc) : cells_create(b);

    if (rc == 0)
        rc = cells ? cells_fill(cells, beside) : -1;
    cells_destroy(cells);
    return rc == 0 && !beside ? make_windows(b) : rc;
}
