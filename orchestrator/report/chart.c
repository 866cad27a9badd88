/* chart.c - the input of the charts, and the rows of figures that they build.
 *
 * A jp_chart_view is the result cut into equal slices of time. chart_view_walk
 * passes over all operations once and derives for each what charts need: its
 * slice, its bandwidths, the last rank to arrive and the wait that it caused.
 */
#include "orchestrator/report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/vector.h"
#include "orchestrator/aggregate/ops.h"

/* Returns the number of slices for a run of span us. Inspector writes its logs
 * only now and then, so the operations of a short run end at a few moments. If
 * most windows (sorted by start) are empty and the filled ones stand alone
 * between them, each of the filled ones gets its own slice. */
static unsigned count_slices(const struct jp_result *r, uint64_t span)
{
    uint64_t filled = 0, runs = 0, before = 0;
    uint64_t width = r->windows[0].t1_us - r->windows[0].t0_us;

    for (size_t i = 0; i < r->n_windows; i++) {
        uint64_t start = r->windows[i].t0_us;

        /* windows of several communicators start at the same time */
        if (i && start == before)
            continue;
        /* filled: windows with operations; runs: groups of adjacent ones */
        filled++;
        runs += !i || start - before > width;
        before = start;
    }
    /* Not separated enough, or so many filled windows that equal slices fit
     * better. */
    if (runs < 2 || filled > 2 * runs || !width || 2 * filled >= span / width)
        return JP_CHART_SLICES;
    return runs < JP_CHART_SLICES ? (unsigned) runs : JP_CHART_SLICES;
}

/* Sets the slices. The windows of the result cover all times, so the operations
 * themselves need not be read. Without windows, slices stays 0. */
static void cut_view(struct jp_chart_view *v)
{
    const struct jp_result *r = v->result;
    uint64_t end = 0, span;

    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].t1_us > end)
            end = r->windows[i].t1_us;
    if (!end || end <= r->windows[0].t0_us)
        return;
    v->from_us = r->windows[0].t0_us;
    span = end - v->from_us;
    /* rounded up, so the last slice contains the end */
    v->width_us = (span - 1) / count_slices(r, span) + 1;
    v->slices = (unsigned) ((span - 1) / v->width_us) + 1;
}

int chart_view_make(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_chart_view *view)
{
    struct jp_chart_view v = {.result = result, .processes = processes};

    v.barrier = calloc(result->n_coll_names + 1, sizeof(*v.barrier));
    if (!v.barrier)
        return -1;
    /* once per function instead of once per operation */
    for (size_t i = 0; i < result->n_coll_names; i++)
        v.barrier[i] = collective_is_barrier(result->coll_names[i]);
    cut_view(&v);
    *view = v;
    return 0;
}

void chart_view_fini(struct jp_chart_view *view)
{
    free(view->barrier);
    *view = (struct jp_chart_view){0};
}

size_t chart_view_rank(const struct jp_chart_view *view, size_t comm,
                       uint32_t rank)
{
    return comm < view->result->n_comms
               ? processes_rank(view->processes, view->result, comm, rank)
               : SIZE_MAX;
}

/* Returns the mean bandwidth over the ranks, GB/s; -1 if none is known. */
static double mean_gbs(const struct jp_op *op)
{
    return op->n_busbw
               ? (double) op->busbw_sum_micro / ((double) op->n_busbw * 1e6)
               : -1;
}

/* Returns true if all ranks of a barrier-like operation left a record. */
static bool is_whole(const struct jp_chart_view *v, const struct jp_op *op)
{
    uint32_t n_ranks = v->result->comms[op->comm].n_ranks;

    return v->barrier[op->coll] && n_ranks > 1 && op->n == n_ranks;
}

/* Returns the operation's slice, or JP_CHART_SLICES if it has no time in the
 * run, as in traces. */
static unsigned slice_of(const struct jp_chart_view *v, const struct jp_op *op)
{
    uint64_t slice;

    if (op->dump_min_us < v->from_us || !v->slices)
        return JP_CHART_SLICES;
    slice = (op->dump_min_us - v->from_us) / v->width_us;
    return slice < v->slices ? (unsigned) slice : JP_CHART_SLICES;
}

/* Finds the last rank to arrive: all ranks leave the operation together, so the
 * one with the shortest time came last. Needs a time from every rank. The wait
 * that it caused is how much longer all others were in the operation. */
static void find_last(const struct jp_chart_view *v, struct jp_chart_op *o)
{
    const struct jp_op *op = o->op;
    uint64_t shortest;

    o->last = SIZE_MAX;
    o->caused_us = 0;
    if (op->min_rank == UINT32_MAX || op->n_exec != op->n || !is_whole(v, op) ||
        __builtin_mul_overflow(op->exec_min_us, op->n, &shortest) ||
        shortest > op->exec_sum_us)
        return;
    o->caused_us = op->exec_sum_us - shortest;
    o->last = chart_view_rank(v, op->comm, op->min_rank);
}

/* Derives the figures of one operation. two_sizes: it shares its sequence
 * number with a neighbour of another size, so no rank can be blamed. */
static void look_at(const struct jp_chart_view *v, struct jp_chart_op *o,
                    bool two_sizes)
{
    const struct jp_op *op = o->op;

    o->slice = slice_of(v, op);
    o->busbw_gbs = mean_gbs(op);
    /* the rank that came last waited for no other: it has the greatest
     * bandwidth */
    o->net_gbs = is_whole(v, op) && op->n_busbw == op->n
                     ? (double) op->busbw_max_micro / 1e6
                     : o->busbw_gbs;
    find_last(v, o);
    if (two_sizes)
        o->last = SIZE_MAX;
}

/* Returns false for indices that a damaged input could have. */
static bool is_known(const struct jp_result *r, const struct jp_op *op)
{
    return op->comm < r->n_comms && op->coll < r->n_coll_names;
}

/* The common key of neighbouring operations with one sequence number, two sizes
 * and no blamed rank. */
struct number {
    uint32_t comm, coll;
    uint64_t sn;
};

static bool has_number(const struct jp_op *op, const struct number *n)
{
    return op->sn == n->sn && op->coll == n->coll && op->comm == n->comm;
}

int chart_view_walk(const struct jp_chart_view *view,
                    int (*visit)(void *arg, const struct jp_chart_op *op),
                    void *arg)
{
    const struct jp_result *r = view->result;
    struct ops_reader reader = {.ops = r->ops};
    struct number before = {UINT32_MAX, UINT32_MAX, 0}, number;
    /* a copy, because the reader unpacks the next ones meanwhile */
    struct jp_op kept;
    struct jp_chart_op o;

    ops_want(&reader, ~(unsigned) OPS_STARTS);
    for (size_t i = 0; i < r->n_ops; i++) {
        bool two_sizes;

        o.op = ops_at(&reader, i);
        number = (struct number){o.op->comm, o.op->coll, o.op->sn};
        two_sizes = has_number(o.op, &before);
        if (i + 1 < r->n_ops) {
            /* unpacking the next chunk overwrites the operation in hand */
            if (i + 1 - reader.first >= reader.n) {
                kept = *o.op;
                o.op = &kept;
            }
            /* operations with one number are neighbours, before or after */
            two_sizes |= has_number(ops_at(&reader, i + 1), &number);
        }
        before = number;
        if (!is_known(r, o.op))
            continue;
        look_at(view, &o, two_sizes);
        if (visit(arg, &o) < 0)
            return -1;
    }
    return 0;
}

/* Packs a communicator type and a function into one half of a map's key. */
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
            c.rows.n = i; /* drops the lightest */
            break;
        }
        /* an operation has the index of its function, a cell its name */
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

/* --- rows of figures ------------------------------------------------------ */

/* Returns a copy that the figures own; NULL for NULL. */
static char *copy_text(struct jp_chart_figures *f, const char *text)
{
    char *copied = text ? strdup(text) : NULL;

    f->failed |= text && !copied;
    return copied;
}

void chart_line(struct jp_chart_figures *f, const char *label,
                const char *second)
{
    f->failed |= VECTOR_DOUBLE(f->lines, f->n_lines) < 0;
    if (f->failed)
        return;
    /* the line's rows are those that follow */
    f->lines[f->n_lines++] = (struct jp_chart_line){
        .labels = {copy_text(f, label), copy_text(f, second)},
        .from = f->n_rows};
}

void chart_row(struct jp_chart_figures *f, unsigned faces,
               const struct jp_chart_value *values)
{
    struct jp_chart_row *row;

    f->failed |= VECTOR_DOUBLE(f->rows, f->n_rows) < 0;
    if (f->failed)
        return;
    row = &f->rows[f->n_rows++];
    *row = (struct jp_chart_row){.faces = faces};
    for (size_t i = 0; i < f->chart->n_columns; i++) {
        row->values[i] = values[i];
        if (values[i].kind == JP_CHART_TEXT)
            row->values[i].text = copy_text(f, values[i].text);
    }
}
