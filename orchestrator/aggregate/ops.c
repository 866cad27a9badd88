/* ops.c - keep operations packed, find one by its number. */
#include "orchestrator/aggregate/ops.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops_pack.h"

/* Operations of one communicator and function. */
struct ops_run {
    uint32_t comm, coll;
    size_t first, n;
    uint8_t *bytes;
    uint64_t *starts; /* of the chunks, in bytes */
};

struct jp_ops *ops_create(void)
{
    struct jp_ops *ops = calloc(1, sizeof(*ops));

    if (ops)
        ops->pending = malloc(sizeof(*ops->pending));
    if (ops && ops->pending)
        return ops;
    free(ops);
    return NULL;
}

void ops_destroy(struct jp_ops *ops)
{
    if (!ops)
        return;
    for (size_t i = 0; i < ops->n_runs; i++) {
        free(ops->runs[i].bytes);
        free(ops->runs[i].starts);
    }
    free(ops->runs);
    free(ops->pending);
    free(ops->bytes);
    free(ops->starts);
    free(ops);
}

/* Room for one more chunk. */
static int grow(struct jp_ops *ops)
{
    size_t need = ops->used + ops_pack_bound(OPS_CHUNK) + OPS_SLACK;
    size_t n = ops->n_starts;

    if (need > ops->room) {
        size_t room = ops->room + ops->room / 2;
        uint8_t *more;

        if (room < need)
            room = need;
        more = realloc(ops->bytes, room);
        if (!more)
            return -1;
        ops->bytes = more;
        ops->room = room;
    }
    if (!(n & (n - 1))) {
        uint64_t *more =
            reallocarray(ops->starts, n ? 2 * n : 1, sizeof(*more));

        if (!more)
            return -1;
        ops->starts = more;
    }
    return 0;
}

static int pack_pending(struct jp_ops *ops)
{
    if (grow(ops) < 0)
        return -1;
    ops->starts[ops->n_starts++] = ops->used;
    ops->used += ops_pack(ops->pending, ops->n_pending, ops->bytes + ops->used);
    ops->n_pending = 0;
    return 0;
}

static int begin_run(struct jp_ops *ops, const struct jp_op *op)
{
    size_t n = ops->n_runs;

    if (!(n & (n - 1))) {
        struct ops_run *more =
            reallocarray(ops->runs, n ? 2 * n : 1, sizeof(*more));

        if (!more)
            return -1;
        ops->runs = more;
    }
    ops->runs[ops->n_runs++] =
        (struct ops_run){.comm = op->comm, .coll = op->coll, .first = ops->n};
    return 0;
}

static void widen(struct jp_ops *ops, uint64_t first, uint64_t last)
{
    if (first && (!ops->dump_first || first < ops->dump_first))
        ops->dump_first = first;
    if (last > ops->dump_last)
        ops->dump_last = last;
}

uint64_t ops_run_us(const struct jp_ops *ops)
{
    uint64_t span = ops->span_last - ops->span_first;

    return span > ops->run_us ? span : ops->run_us;
}

/* Operations that lack a record may lack that of the clock that is ahead. */
static void stretch(struct jp_ops *ops, const struct jp_op *op)
{
    uint64_t at = op->dump_max_us;

    if (op->comm != ops->span_comm || op->n > ops->span_n) {
        if (op->comm != ops->span_comm)
            ops->run_us = ops_run_us(ops);
        ops->span_comm = op->comm;
        ops->span_n = op->n;
        ops->span_first = ops->span_last = at;
    }
    if (!at || op->n < ops->span_n)
        return;
    if (!ops->span_first || at < ops->span_first)
        ops->span_first = at;
    if (at > ops->span_last)
        ops->span_last = at;
}

int ops_add(struct jp_ops *ops, const struct jp_op *op)
{
    struct ops_run *run = ops->n_runs ? &ops->runs[ops->n_runs - 1] : NULL;

    if (!run || run->comm != op->comm || run->coll != op->coll) {
        if (ops_end(ops) < 0 || begin_run(ops, op) < 0)
            return -1;
        run = &ops->runs[ops->n_runs - 1];
    }
    if (ops->n_pending == OPS_CHUNK && pack_pending(ops) < 0)
        return -1;
    ops_pack_put(ops->pending, ops->n_pending++, op);
    widen(ops, op->dump_min_us, op->dump_min_us);
    stretch(ops, op);
    run->n++;
    ops->n++;
    return 0;
}

/* The run's own copies are as long as they need be. */
int ops_end(struct jp_ops *ops)
{
    struct ops_run *run;

    if (!ops->n_pending)
        return 0;
    if (pack_pending(ops) < 0)
        return -1;
    run = &ops->runs[ops->n_runs - 1];
    run->bytes = malloc(ops->used + OPS_SLACK);
    run->starts = reallocarray(NULL, ops->n_starts, sizeof(*run->starts));
    if (!run->bytes || !run->starts)
        return -1;
    memcpy(run->bytes, ops->bytes, ops->used);
    memset(run->bytes + ops->used, 0, OPS_SLACK);
    memcpy(run->starts, ops->starts, ops->n_starts * sizeof(*run->starts));
    ops->packed += ops->used;
    ops->used = 0;
    ops->n_starts = 0;
    return 0;
}

int ops_take(struct jp_ops *into, struct jp_ops *from, const uint32_t *comm_at,
             const uint32_t *coll_at)
{
    struct ops_run *more;
    size_t n = 1;

    if (ops_end(into) < 0 || ops_end(from) < 0)
        return -1;
    while (n < into->n_runs + from->n_runs)
        n *= 2; /* as begin_run has it */
    more = reallocarray(into->runs, n, sizeof(*more));
    if (!more)
        return -1;
    into->runs = more;
    for (size_t i = 0; i < from->n_runs; i++) {
        struct ops_run *run = &more[into->n_runs++];

        *run = from->runs[i];
        run->comm = comm_at[run->comm];
        run->coll = coll_at[run->coll];
        run->first += into->n;
    }
    into->n += from->n;
    into->packed += from->packed;
    widen(into, from->dump_first, from->dump_last);
    if (ops_run_us(from) > into->run_us)
        into->run_us = ops_run_us(from);
    from->n_runs = 0;
    return 0;
}

static int by_comm_and_coll(const void *a, const void *b)
{
    const struct ops_run *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->coll < y->coll ? -1 : x->coll > y->coll;
}

void ops_renumber(struct jp_ops *ops, const uint32_t *comm_at,
                  const uint32_t *coll_at)
{
    size_t first = 0;

    for (size_t i = 0; i < ops->n_runs; i++) {
        ops->runs[i].comm = comm_at[ops->runs[i].comm];
        ops->runs[i].coll = coll_at[ops->runs[i].coll];
    }
    if (ops->n_runs)
        qsort(ops->runs, ops->n_runs, sizeof(*ops->runs), by_comm_and_coll);
    for (size_t i = 0; i < ops->n_runs; i++) {
        ops->runs[i].first = first;
        first += ops->runs[i].n;
    }
}

/* The run that holds operation i; most often the last one or the next. */
static size_t find_run(const struct ops_reader *reader, size_t i)
{
    const struct jp_ops *ops = reader->ops;
    size_t lo = 0, hi = ops->n_runs;

    for (size_t at = reader->run; at < hi && at < reader->run + 2; at++)
        if (i - ops->runs[at].first < ops->runs[at].n)
            return at;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (ops->runs[mid].first <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

const struct jp_op *ops_unpack(struct ops_reader *reader, size_t i)
{
    const struct ops_run *run;
    size_t at;

    reader->run = find_run(reader, i);
    run = &reader->ops->runs[reader->run];
    at = (i - run->first) / OPS_CHUNK;
    reader->first = run->first + at * OPS_CHUNK;
    reader->n = run->n - at * OPS_CHUNK;
    if (reader->n > OPS_CHUNK)
        reader->n = OPS_CHUNK;
    ops_unpack_rows(run->bytes + run->starts[at], reader->n, reader->parts,
                    reader->rows);
    for (size_t k = 0; k < reader->n; k++) {
        reader->rows[k].comm = run->comm;
        reader->rows[k].coll = run->coll;
    }
    return &reader->rows[i - reader->first];
}
