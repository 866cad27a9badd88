/* result_windows.c - communicators over time, in equal slices. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"

/* At most 200 slices, and fewer where very many communicators would make the
 * table larger than ROWS. */
enum { SLICES = 200, FEW_SLICES = 10, ROWS = 200000 };

struct slices {
    struct jp_result *r;
    uint64_t from, width;
    unsigned n;
    struct jp_window now[SLICES]; /* of the series being walked */
    uint64_t n_busbw[SLICES];
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

static void add_op(struct slices *s, const struct jp_op *op)
{
    uint64_t at = (op->dump_min_us - s->from) / s->width;
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

/* Appends the series' slices that hold something and clears them. */
static int flush(struct slices *s)
{
    struct jp_result *r = s->r;

    for (unsigned i = 0; i < s->n; i++) {
        struct jp_window *w = &s->now[i];

        if (!w->ops)
            continue;
        if (!(r->n_windows & (r->n_windows - 1))) {
            struct jp_window *more = reallocarray(
                r->windows, r->n_windows ? 2 * r->n_windows : 1, sizeof(*more));

            if (!more)
                return -1;
            r->windows = more;
        }
        if (s->n_busbw[i])
            w->busbw_mean /= (double) s->n_busbw[i];
        r->windows[r->n_windows++] = *w;
        *w = (struct jp_window){0};
        s->n_busbw[i] = 0;
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct jp_window *x = a, *y = b;

    if (x->t0_us != y->t0_us)
        return x->t0_us < y->t0_us ? -1 : 1;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->coll, y->coll);
}

int result_windows(struct build *b)
{
    struct jp_result *r = b->result;
    struct slices *s = calloc(1, sizeof(*s));
    struct series last = {UINT32_MAX, UINT32_MAX};
    int rc = 0;

    if (!s)
        return -1;
    s->r = r;
    s->reader.ops = r->ops;
    if (cut(s)) {
        ops_want(&s->reader,
                 OPS_BYTES | OPS_COUNTS | OPS_EXEC | OPS_BUSBW | OPS_DUMP);
        for (size_t i = 0; i < r->n_ops && rc == 0; i++) {
            const struct jp_op *op = ops_at(&s->reader, i);

            if (is_next(&last, op))
                rc = flush(s);
            if (op->dump_min_us)
                add_op(s, op);
        }
        if (rc == 0)
            rc = flush(s);
    }
    if (rc == 0 && r->n_windows)
        qsort(r->windows, r->n_windows, sizeof(*r->windows), by_time);
    free(s);
    return rc;
}
