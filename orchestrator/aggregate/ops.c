/* ops.c - keep operations packed, find one by its number.
 *
 * OPS_CHUNK operations are packed by column: the smallest value, then for each
 * operation what exceeds it, in as few bytes as the largest excess needs, and
 * without the zero bits that all have at the end. A column in which all are
 * equal takes its head only. ops_add packs, ops_unpack unpacks the columns of a
 * reader's parts. */
#include "orchestrator/aggregate/ops.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/vector.h"

enum {
    OPS_COLUMNS = 20,
    /* a column's head: widths, shift, least value; reading and writing touch 8
     * bytes more than a value has */
    OPS_COLUMN_HEAD = 10,
    OPS_SLACK = 8,
};

/* What n packed operations take at most. */
static inline size_t ops_pack_bound(size_t n)
{
    return OPS_COLUMNS * (OPS_COLUMN_HEAD + 8 * n);
}

/* One chunk's columns before they are packed. */
struct ops_columns {
    uint64_t values[OPS_COLUMNS][OPS_CHUNK];
};

/* The columns in a packed chunk's order. "- x" is stored as a difference to the
 * column x, as differences are small. */
enum column {
    SN,
    BYTES,
    N,
    UNTIMED,  /* n - n_exec */
    NO_BUSBW, /* n - n_busbw */
    N_START,
    RANK,      /* min_rank + 1, so that none is 0 */
    EXEC_MIN,  /* shortest */
    SECOND,    /* - shortest */
    EXEC_MAX,  /* - shortest */
    EXEC_SUM,  /* - n_exec * shortest */
    BUSBW_MIN, /* least */
    BUSBW_MAX, /* - least */
    BUSBW_SUM, /* - n_busbw * least */
    DUMP_MIN,  /* first */
    DUMP_MAX,  /* - first */
    START_MIN, /* first */
    START_MAX, /* - first */
    END_MAX,   /* - first start */
    PHASE,     /* several is 1, so that all are small */
};
_Static_assert(PHASE + 1 == OPS_COLUMNS, "a column is missing");

/* For each column, the parts that are read from it or computed with it. */
static const unsigned parts_of[OPS_COLUMNS] = {
    [SN] = OPS_SN,
    [BYTES] = OPS_BYTES,
    [N] = OPS_N | OPS_N_EXEC | OPS_N_BUSBW | OPS_EXEC_OTHERS | OPS_BUSBW_SUM,
    [UNTIMED] = OPS_N_EXEC | OPS_EXEC_OTHERS,
    [NO_BUSBW] = OPS_N_BUSBW | OPS_BUSBW_SUM,
    [N_START] = OPS_N_START,
    [RANK] = OPS_RANK,
    [EXEC_MIN] = OPS_EXEC,
    [SECOND] = OPS_EXEC_OTHERS,
    [EXEC_MAX] = OPS_EXEC_MAX,
    [EXEC_SUM] = OPS_EXEC_OTHERS,
    [BUSBW_MIN] = OPS_BUSBW,
    [BUSBW_MAX] = OPS_BUSBW_MAX,
    [BUSBW_SUM] = OPS_BUSBW_SUM,
    [DUMP_MIN] = OPS_DUMP,
    [DUMP_MAX] = OPS_DUMP_MAX,
    [START_MIN] = OPS_STARTS,
    [START_MAX] = OPS_STARTS,
    [END_MAX] = OPS_STARTS,
    [PHASE] = OPS_PHASE,
};

/* Reads eight bytes, little-endian. */
static uint64_t load_word(const uint8_t *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* Writes eight bytes, of which the first `width` are valid. The next value
 * overwrites the others. */
static inline uint8_t *put_number(uint8_t *out, uint64_t v, unsigned width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(out, &v, sizeof(v));
    return out + width;
}

/* The number of bytes that a value needs; 0 for 0. */
static unsigned width_of(uint64_t v)
{
    return v ? (71 - (unsigned) __builtin_clzll(v)) / 8 : 0;
}

static uint64_t mask_of(unsigned width)
{
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
}

/* Packs a column of n > 0 values. Returns its end. */
static uint8_t *put_column(uint8_t *out, const uint64_t *v, size_t n)
{
    uint64_t least = v[0], bits = 0;
    unsigned width, shift;

    for (size_t i = 1; i < n; i++)
        bits |= v[i] ^ least;
    if (bits) { /* most columns are of one number */
        for (size_t i = 1; i < n; i++)
            least = v[i] < least ? v[i] : least;
        bits = 0;
        for (size_t i = 0; i < n; i++)
            bits |= v[i] - least;
    }
    /* sizes are mostly multiples of a large power of two */
    shift = bits ? (unsigned) __builtin_ctzll(bits) : 0;
    width = width_of(bits >> shift);
    *out++ = (uint8_t) (width | width_of(least) << 4);
    *out++ = (uint8_t) shift;
    out = put_number(out, least, width_of(least));
    for (size_t i = 0; i < n && width; i++)
        out = put_number(out, (v[i] - least) >> shift, width);
    return out;
}

/* A packed column, ready for reading. */
struct view {
    const uint8_t *at;
    uint64_t least, mask;
    unsigned width, shift;
};

/* Reads a column's head. Returns the column's end, where the next one begins.
 */
static const uint8_t *view_column(const uint8_t *in, size_t n,
                                  struct view *view)
{
    unsigned width = *in & 15, base = *in >> 4;

    *view = (struct view){.at = in + 2 + base,
                          .least = load_word(in + 2) & mask_of(base),
                          .mask = mask_of(width),
                          .width = width,
                          .shift = in[1]};
    return view->at + n * width;
}

/* Stores operation i < OPS_CHUNK without comm and coll, which its run has.
 * Differences may be negative (modulo 2^64) for odd input. */
static void put_op(struct ops_columns *columns, size_t i, const struct jp_op *o)
{
    uint64_t(*c)[OPS_CHUNK] = columns->values;

    c[SN][i] = o->sn;
    c[BYTES][i] = o->bytes;
    c[N][i] = o->n;
    c[UNTIMED][i] = (uint32_t) (o->n - o->n_exec);
    c[NO_BUSBW][i] = (uint32_t) (o->n - o->n_busbw);
    c[N_START][i] = o->n_start;
    c[RANK][i] = (uint32_t) (o->min_rank + 1);
    c[EXEC_MIN][i] = o->exec_min_us;
    c[SECOND][i] = o->exec_second_us - o->exec_min_us;
    c[EXEC_MAX][i] = o->exec_max_us - o->exec_min_us;
    c[EXEC_SUM][i] = o->exec_sum_us - o->n_exec * o->exec_min_us;
    c[BUSBW_MIN][i] = o->busbw_min_micro;
    c[BUSBW_MAX][i] = o->busbw_max_micro - o->busbw_min_micro;
    c[BUSBW_SUM][i] = o->busbw_sum_micro - o->n_busbw * o->busbw_min_micro;
    c[DUMP_MIN][i] = o->dump_min_us;
    c[DUMP_MAX][i] = o->dump_max_us - o->dump_min_us;
    c[START_MIN][i] = o->start_min_us;
    c[START_MAX][i] = o->start_max_us - o->start_min_us;
    c[END_MAX][i] = o->end_max_us - o->start_min_us;
    c[PHASE][i] = !o->phase                      ? 0
                  : o->phase == JP_PHASE_SEVERAL ? 1
                                                 : o->phase + UINT64_C(1);
}

/* Packs the first n operations. Returns the bytes used. */
static size_t pack_columns(const struct ops_columns *columns, size_t n,
                           uint8_t *out)
{
    uint8_t *const from = out;

    for (unsigned k = 0; k < OPS_COLUMNS; k++)
        out = put_column(out, columns->values[k], n);
    return (size_t) (out - from);
}

/* Unpacks one column of n operations. The columns before it are unpacked,
 * because it may be a difference to one of them. Most columns of a chunk hold
 * one number, so that case has a loop of its own. */
static void take_column(enum column column, const struct view *view, size_t n,
                        struct jp_op *o)
{
    const struct view c = *view;

#define TAKE(name, member, value)                                              \
    case name:                                                                 \
        for (size_t i = 0; !c.width && i < n; i++) {                           \
            const uint64_t V = c.least;                                        \
                                                                               \
            o[i].member = (value);                                             \
        }                                                                      \
        for (size_t i = 0; c.width && i < n; i++) {                            \
            const uint64_t V =                                                 \
                c.least +                                                      \
                ((load_word(c.at + i * c.width) & c.mask) << c.shift);         \
                                                                               \
            o[i].member = (value);                                             \
        }                                                                      \
        break

    switch (column) {
        TAKE(SN, sn, V);
        TAKE(BYTES, bytes, V);
        TAKE(N, n, (uint32_t) V);
        TAKE(UNTIMED, n_exec, o[i].n - (uint32_t) V);
        TAKE(NO_BUSBW, n_busbw, o[i].n - (uint32_t) V);
        TAKE(N_START, n_start, (uint32_t) V);
        TAKE(RANK, min_rank, (uint32_t) V - 1);
        TAKE(EXEC_MIN, exec_min_us, V);
        TAKE(SECOND, exec_second_us, V + o[i].exec_min_us);
        TAKE(EXEC_MAX, exec_max_us, V + o[i].exec_min_us);
        TAKE(EXEC_SUM, exec_sum_us, V + o[i].n_exec * o[i].exec_min_us);
        TAKE(BUSBW_MIN, busbw_min_micro, V);
        TAKE(BUSBW_MAX, busbw_max_micro, V + o[i].busbw_min_micro);
        TAKE(BUSBW_SUM, busbw_sum_micro,
             V + o[i].n_busbw * o[i].busbw_min_micro);
        TAKE(DUMP_MIN, dump_min_us, V);
        TAKE(DUMP_MAX, dump_max_us, V + o[i].dump_min_us);
        TAKE(START_MIN, start_min_us, V);
        TAKE(START_MAX, start_max_us, V + o[i].start_min_us);
        TAKE(END_MAX, end_max_us, V + o[i].start_min_us);
        TAKE(PHASE, phase,
             V == 1 ? JP_PHASE_SEVERAL
             : V    ? (uint32_t) V - 1
                    : 0);
    }
#undef TAKE
}

/* Unpacks the given parts of n operations. */
static void unpack_rows(const uint8_t *bytes, size_t n, unsigned parts,
                        struct jp_op *ops)
{
    for (unsigned k = 0; k < OPS_COLUMNS; k++) {
        struct view view;

        bytes = view_column(bytes, n, &view);
        if (!parts || parts & parts_of[k]) /* 0: all */
            take_column((enum column) k, &view, n, ops);
    }
}

/* --- keep operations packed, find one by its number --- */

/* Operations of one communicator and function: chunks one after the other. */
struct ops_run {
    uint32_t comm, coll;
    size_t first, n;
    uint8_t *bytes;
    size_t used;      /* bytes, without OPS_SLACK behind them */
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

static void free_runs(struct ops_run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(runs[i].bytes);
        free(runs[i].starts);
    }
    free(runs);
}

void ops_destroy(struct jp_ops *ops)
{
    if (!ops)
        return;
    free_runs(ops->runs, ops->n_runs);
    free(ops->pending);
    free(ops->bytes);
    free(ops->starts);
    free(ops);
}

/* Packs the operations that were added last. 0, or -1: no memory. */
static int pack_pending(struct jp_ops *ops)
{
    size_t need = ops->used + ops_pack_bound(OPS_CHUNK) + OPS_SLACK;

    if (VECTOR_ROOM(ops->bytes, need, ops->room) < 0 ||
        VECTOR_DOUBLE(ops->starts, ops->n_starts) < 0)
        return -1;
    ops->starts[ops->n_starts++] = ops->used;
    ops->used +=
        pack_columns(ops->pending, ops->n_pending, ops->bytes + ops->used);
    ops->n_pending = 0;
    return 0;
}

/* Begins a run at an operation. 0, or -1: no memory. */
static int begin_run(struct jp_ops *ops, const struct jp_op *op)
{
    size_t n = ops->n_runs;

    if (VECTOR_DOUBLE(ops->runs, n) < 0)
        return -1;
    ops->runs[ops->n_runs++] =
        (struct ops_run){.comm = op->comm, .coll = op->coll, .first = ops->n};
    return 0;
}

/* Extends the range of dump times; 0 is no time. */
static void widen_span(struct jp_ops *ops, uint64_t first, uint64_t last)
{
    if (first && (!ops->dump_first || first < ops->dump_first))
        ops->dump_first = first;
    if (last > ops->dump_last)
        ops->dump_last = last;
}

uint64_t ops_run_us(const struct jp_ops *ops)
{
    uint64_t walked = ops->walked_us > ops->walked_most ? ops->walked_us
                                                        : ops->walked_most;
    uint64_t span = ops->stepped ? walked : ops->span_last - ops->span_first;

    return span > ops->run_us ? span : ops->run_us;
}

/* Records are written in batches, so that the distance of two operations
 * differs from rank to rank. By more than this it differs only if a clock was
 * set. */
#define STEP_US 60000000

/* Returns how far it is from one time to another, cut to +-FAR_US. Times are
 * foreign numbers. */
#define FAR_US (INT64_MAX / 4)
static int64_t distance(uint64_t from, uint64_t to)
{
    uint64_t us = to > from ? to - from : from - to;
    int64_t cut = us < FAR_US ? (int64_t) us : FAR_US;

    return to > from ? cut : -cut;
}

/* Walks from operation to operation of a function. Where the earliest and the
 * latest clock disagree about the distance, a clock was set: the one that went
 * back, or that went on for longer. Where both went back, all were set. */
static void walk(struct jp_ops *ops, const struct jp_op *op)
{
    int64_t by_min = distance(ops->before_min, op->dump_min_us);
    int64_t by_max = distance(ops->before_max, op->dump_max_us);
    int64_t least = by_min < by_max ? by_min : by_max;
    int64_t most = by_min < by_max ? by_max : by_min;
    bool first = !ops->before_max || op->coll != ops->walked_coll;

    if (!op->dump_min_us)
        return;
    if (first) {
        /* functions take place side by side: the longest walk counts */
        if (ops->walked_us > ops->walked_most)
            ops->walked_most = ops->walked_us;
        ops->walked_us = 0;
    }
    if (!first && (most - least > STEP_US || most < -STEP_US)) {
        ops->stepped = true;
        most = least > 0 ? least : most;
    } else if (!first) {
        most = by_max;
    }
    if (!first && most > 0 && most < FAR_US)
        ops->walked_us = num_add(ops->walked_us, (uint64_t) most);
    ops->before_min = op->dump_min_us;
    ops->before_max = op->dump_max_us;
    ops->walked_coll = op->coll;
}

/* Extends the span of the last communicator. Only operations with the most
 * records count: those with fewer may miss the record of the clock that is
 * ahead. */
static void stretch(struct jp_ops *ops, const struct jp_op *op)
{
    uint64_t at = op->dump_max_us;

    if (op->comm != ops->span_comm || op->n > ops->span_n) {
        if (op->comm != ops->span_comm)
            ops->run_us = ops_run_us(ops);
        ops->span_comm = op->comm;
        ops->span_n = op->n;
        ops->span_first = ops->span_last = at;
        ops->walked_us = ops->walked_most = 0;
        ops->before_min = ops->before_max = 0;
        ops->stepped = false;
    }
    if (!at || op->n < ops->span_n)
        return;
    if (!ops->span_first || at < ops->span_first)
        ops->span_first = at;
    if (at > ops->span_last)
        ops->span_last = at;
    walk(ops, op);
}

int ops_add(struct jp_ops *ops, const struct jp_op *op)
{
    struct ops_run *run = ops->n_runs ? &ops->runs[ops->n_runs - 1] : NULL;

    if (!run || run->comm != op->comm || run->coll != op->coll) {
        if (ops_end(ops) < 0 || begin_run(ops, op) < 0)
            return -1;
        run = &ops->runs[ops->n_runs - 1];
    }
    /* packed when the next one comes, so no run ends with an empty chunk */
    if (ops->n_pending == OPS_CHUNK && pack_pending(ops) < 0)
        return -1;
    put_op(ops->pending, ops->n_pending++, op);
    widen_span(ops, op->dump_min_us, op->dump_min_us);
    stretch(ops, op);
    run->n++;
    ops->n++;
    return 0;
}

/* Ends the run: copies its arrays to their exact size, as ops->bytes is reused.
 */
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
    run->used = ops->used;
    ops->packed += ops->used;
    ops->used = 0;
    ops->n_starts = 0;
    return 0;
}

int ops_take(struct jp_ops *into, struct jp_ops *from, const uint32_t *comm_at,
             const uint32_t *coll_at)
{
    size_t n = 1;

    if (ops_end(into) < 0 || ops_end(from) < 0)
        return -1;
    while (n < into->n_runs + from->n_runs)
        n *= 2; /* as begin_run has it */
    if (vector_resize(&into->runs, n, sizeof(*into->runs)) < 0)
        return -1;
    for (size_t i = 0; i < from->n_runs; i++) {
        struct ops_run *run = &into->runs[into->n_runs++];

        *run = from->runs[i];
        run->comm = comm_at[run->comm];
        run->coll = coll_at[run->coll];
        run->first += into->n;
    }
    into->n += from->n;
    into->packed += from->packed;
    widen_span(into, from->dump_first, from->dump_last);
    if (ops_run_us(from) > into->run_us)
        into->run_us = ops_run_us(from);
    /* now owned by the other one */
    from->n_runs = 0;
    return 0;
}

void ops_move(struct jp_ops *ops)
{
    struct ops_run *moved;
    size_t done = 0;

    if (vector_copy(&moved, ops->runs, ops->n_runs, sizeof(*moved)) < 0)
        return;
    while (done < ops->n_runs) {
        const struct ops_run *from = &ops->runs[done];
        struct ops_run *to = &moved[done];

        if (vector_copy(&to->bytes, from->bytes, from->used + OPS_SLACK, 1) < 0)
            break;
        if (vector_copy(&to->starts, from->starts,
                        (from->n + OPS_CHUNK - 1) / OPS_CHUNK,
                        sizeof(*to->starts)) < 0) {
            free(to->bytes);
            break;
        }
        done++;
    }
    if (done < ops->n_runs) {
        free_runs(moved, done);
        return;
    }
    free_runs(ops->runs, ops->n_runs);
    ops->runs = moved;
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

/* The run with operation i. It is mostly the last one used, or the next. */
static size_t find_run(const struct ops_reader *reader, size_t i)
{
    const struct jp_ops *ops = reader->ops;
    size_t lo = 0, hi = ops->n_runs;

    for (size_t at = reader->run; at < hi && at < reader->run + 2; at++)
        if (i - ops->runs[at].first < ops->runs[at].n)
            return at;
    /* else by bisection */
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
    unpack_rows(run->bytes + run->starts[at], reader->n, reader->parts,
                reader->rows);
    for (size_t k = 0; k < reader->n; k++) {
        reader->rows[k].comm = run->comm;
        reader->rows[k].coll = run->coll;
    }
    if (reader->ops->phase_at[1] &&
        (!reader->parts || reader->parts & OPS_PHASE))
        for (size_t k = 0; k < reader->n; k++)
            if (reader->rows[k].phase != JP_PHASE_SEVERAL)
                reader->rows[k].phase =
                    reader->ops->phase_at[reader->rows[k].phase];
    return &reader->rows[i - reader->first];
}
