/* result_windows.c - communicators over time, in equal slices. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"

/* At most 200 slices, and fewer where very many communicators would make the
 * table larger than ROWS (3 MB). */
enum { SLICES = 200, FEW_SLICES = 10, ROWS = 50000 };

struct slices {
    struct jp_result *r;
    uint64_t from, width;
    unsigned n;
    struct jp_window now[SLICES]; /* of the series being walked */
    uint64_t n_busbw[SLICES];
    size_t next[SLICES]; /* where a slice's next window goes: first how many
                            there are of it */
    struct ops_reader reader;
};

/* Of the operation before, which is of the same series? */
struct series {
    uint32_t comm, coll;
};

static bool is_next(struct series *last, const struct jp_op *op)
{
    bool next = last->comm != op->comm || last->coll != op->coll;

    *last = (struct series){op->comm, op->coll};
    return next;
}

/* Chooses the slices. False: no operation has a time. */
static bool cut(struct slices *s)
{
    uint64_t lo = s->r->ops->dump_first, hi = s->r->ops->dump_last, span;
    size_t series = s->r->ops->n_runs;

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

static void add_op(struct slices *s, const struct jp_op *op)
{
    uint64_t at = slice_of(s, op);
    struct jp_window *w = &s->now[at];

    if (!w->ops)
        *w = (struct jp_window){.t0_us = s->from + at * s->width,
                                .t1_us = s->from + (at + 1) * s->width,
                                .comm = op->comm,
                                .coll = s->r->coll_names[op->coll]};
    w->ops++;
    w->bytes = join_sum(w->bytes, op->bytes);
    w->time_us = join_sum(w->time_us, op->exec_max_us);
    if (op->n_busbw) {
        w->busbw_mean += op_busbw_gbs(op); /* a sum until flush() */
        s->n_busbw[at]++;
    }
}

/* Puts the series' slices that hold something in their places and clears them.
 */
static void flush(struct slices *s)
{
    struct jp_result *r = s->r;

    for (unsigned i = 0; i < s->n; i++) {
        struct jp_window *w = &s->now[i];

        if (!w->ops)
            continue;
        if (s->n_busbw[i])
            w->busbw_mean /= (double) s->n_busbw[i];
        r->windows[s->next[i]++] = *w;
        *w = (struct jp_window){0};
        s->n_busbw[i] = 0;
    }
}

/* How many windows each slice will have. */
static void count(struct slices *s)
{
    struct series last = {UINT32_MAX, UINT32_MAX};
    bool seen[SLICES] = {false};

    ops_want(&s->reader, OPS_DUMP_MIN);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&s->reader, i);

        if (is_next(&last, op))
            memset(seen, 0, sizeof(seen));
        if (!op->dump_min_us || seen[slice_of(s, op)])
            continue;
        seen[slice_of(s, op)] = true;
        s->next[slice_of(s, op)]++;
    }
}

/* Room for all of them, slice behind slice. 0 or -1. */
static int lay_out(struct slices *s)
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

/* Series come in order of communicator and function, so each slice's windows
 * do.
 */
static void fill(struct slices *s)
{
    struct series last = {UINT32_MAX, UINT32_MAX};

    ops_want(&s->reader, OPS_BYTES | OPS_N_BUSBW | OPS_EXEC_MAX |
                             OPS_BUSBW_SUM | OPS_DUMP_MIN);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(&s->reader, i);

        if (is_next(&last, op))
            flush(s);
        if (op->dump_min_us)
            add_op(s, op);
    }
    flush(s);
}

int result_windows(struct build *b)
{
    struct slices *s = calloc(1, sizeof(*s));
    int rc = 0;

    if (!s)
        return -1;
    s->r = b->result;
    s->reader.ops = b->result->ops;
    if (cut(s)) {
        count(s);
        rc = lay_out(s);
        if (rc == 0)
            fill(s);
    }
    free(s);
    return rc;
}
