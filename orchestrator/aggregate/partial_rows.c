/* partial_rows.c - pack the operations of a series, column by column.
 *
 * A block has up to PARTIAL_ROWS operations: their numbers, sizes, which ranks
 * have a record, and the ranks' times. What can be computed from these is
 * written as a difference to the computed value, which is mostly 0: sums and
 * extremes of times, and bandwidths (partial_rate). put_chunk has the order of
 * the columns; partial_rows_in.c reads them. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial_parts.h"

/* Packs signed numbers (modulo 2^64) that are mostly 0: as nothing, as the
 * others with their positions, or as all. The first number shows which: 0, how
 * many others there are, or n + 1. */
static void put_column(struct jpr_out *out, const uint64_t *values, size_t n)
{
    size_t others = 0, last = 0;

    for (size_t i = 0; i < n; i++)
        others += values[i] != 0;
    jpr_put_u64(out, others > n / 2 ? n + 1 : others);
    for (size_t i = 0; i < n; i++) {
        if (others <= n / 2 && !values[i])
            continue;
        if (others <= n / 2)
            jpr_put_u64(out, i - last);
        jpr_put_i64(out, (int64_t) values[i]);
        last = i;
    }
}

/* Up to PARTIAL_ROWS operations of a series, and the members with records of
 * it. */
struct chunk {
    uint32_t comm, n_ranks; /* of the series */
    const struct join_series *series;
    enum bandwidth_rule rule; /* of the function */
    size_t n;                 /* operations so far */
    uint64_t sn[PARTIAL_ROWS];
    const struct join_row *rows[PARTIAL_ROWS];
    const struct join_stamp *stamps[PARTIAL_ROWS];
    uint64_t sizes[PARTIAL_ROWS]; /* distinct ones, ascending */
    size_t n_sizes;
    uint16_t size_at[PARTIAL_ROWS]; /* index into sizes */
    struct join_lane **lanes; /* NULL: the member has none of the series */
    struct join_member *const *members;
    uint32_t n_members, n_lanes; /* n_lanes: with the series */
    bool derived; /* the rows' times can be computed from the lanes */
    uint64_t rate_sum[PARTIAL_ROWS]; /* can be computed from the times */
    /* the current lane */
    bool there[PARTIAL_ROWS];
    uint32_t exec[PARTIAL_ROWS];
    /* the current column */
    uint64_t column[PARTIAL_ROWS];
};

/* Writes sequence numbers as runs: the gap before each, and its length. */
static void put_numbers(struct jpr_out *out, const struct chunk *c)
{
    size_t runs = 0, end;
    uint64_t next = 0;

    for (size_t i = 0; i < c->n; i++)
        runs += i == 0 || c->sn[i] != c->sn[i - 1] + 1;
    jpr_put_u64(out, runs);
    for (size_t i = 0; i < c->n; i = end) {
        for (end = i + 1; end < c->n && c->sn[end] == c->sn[end - 1] + 1;)
            end++;
        jpr_put_u64(out, c->sn[i] - next);
        jpr_put_u64(out, end - i);
        next = c->sn[end - 1] + 1;
    }
}

/* Writes the distinct sizes, and for each operation the index of its size,
 * unless all have one size. */
static void put_sizes(struct jpr_out *out, const struct chunk *c)
{
    jpr_put_u64(out, c->n_sizes);
    for (size_t i = 0; i < c->n_sizes; i++)
        jpr_put_u64(out, i ? c->sizes[i] - c->sizes[i - 1] : c->sizes[0]);
    for (size_t i = 0; i < c->n && c->n_sizes > 1; i++)
        jpr_put_u64(out, c->size_at[i]);
}

/* Fills there[] and exec[] of the chunk for one member. */
static void gather(struct chunk *c, const struct join_lane *lane)
{
    const struct join_lane_block *block = NULL;

    for (size_t i = 0; i < c->n; i++) {
        uint64_t number = c->sn[i] / JOIN_BLOCK;
        unsigned k = c->sn[i] % JOIN_BLOCK;

        /* numbers ascend, so each block is looked up once */
        if (i == 0 || number != c->sn[i - 1] / JOIN_BLOCK)
            block = blockmap_find(&lane->blocks, number);
        c->there[i] = block && block->seen >> k & 1;
        c->exec[i] = c->there[i] && lane->journal ? join_time(block, k) : 0;
    }
}

static void put_presence(struct jpr_out *out, const struct chunk *c)
{
    size_t there = 0;

    for (size_t i = 0; i < c->n; i++)
        there += c->there[i];
    /* mostly all are there: then no bits follow */
    jpr_put_u64(out, there < c->n);
    for (size_t i = 0; i < c->n && there < c->n; i += 8) {
        uint8_t bits = 0;

        for (size_t k = 0; k < 8 && i + k < c->n; k++)
            bits |= (uint8_t) (c->there[i + k] << k);
        jpr_put_bytes(out, &bits, 1);
    }
}

/* Writes which members have a lane of the series, and of which operations each
 * has a record. */
static void put_lanes(struct jpr_out *out, struct chunk *c)
{
    uint32_t next = 0;

    jpr_put_u64(out, c->n_lanes);
    for (uint32_t i = 0; i < c->n_members && !out->full; i++) {
        if (!c->lanes[i])
            continue;
        jpr_put_u64(out, i - next);
        next = i + 1;
        gather(c, c->lanes[i]);
        put_presence(out, c);
    }
}

/* The shortest times, each as the difference to the last one of the same size.
 */
static void put_shortest(struct jpr_out *out, struct chunk *c)
{
    /* by size, as operations of one size take similar times */
    memset(c->column, 0, sizeof(c->column));
    for (size_t i = 0; i < c->n; i++) {
        uint64_t *last = &c->column[c->size_at[i]];

        jpr_put_delta(out, c->rows[i]->exec_min, *last);
        *last = c->rows[i]->exec_min;
    }
}

/* Writes the members' times: 0 for no time, else the time above the shortest
 * and 1, or as the journal has them if the rows' times cannot be derived. Adds
 * up the bandwidths that follow from the times. */
static void put_times(struct jpr_out *out, struct chunk *c)
{
    memset(c->rate_sum, 0, sizeof(c->rate_sum));
    for (uint32_t i = 0; i < c->n_members && !out->full; i++) {
        if (!c->lanes[i])
            continue;
        gather(c, c->lanes[i]);
        for (size_t k = 0; k < c->n; k++) {
            uint64_t bytes = c->rows[k]->bytes;

            if (!c->there[k])
                continue;
            c->rate_sum[k] += partial_rate(
                partial_work(c->rule, c->n_ranks, bytes), c->exec[k]);
            if (!c->derived)
                jpr_put_u64(out, c->exec[k]);
            /* a single lane's time is the shortest itself */
            else if (c->n_lanes > 1)
                jpr_put_u64(out, c->exec[k]
                                     ? c->exec[k] + 1 - c->rows[k]->exec_min
                                     : 0);
        }
    }
}

/* Writes what cannot be computed from the lanes: how many records have no time,
 * the longest time, the sum, the second-shortest time, and the last rank.
 * Bandwidths are then compared with those of the mean time. */
static void put_sums(struct jpr_out *out, struct chunk *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->n - c->rows[i]->n_exec;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->exec_max - c->rows[i]->exec_min;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->exec_sum -
                       c->rows[i]->n_exec * c->rows[i]->exec_min;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->n_exec > 1
                           ? c->rows[i]->exec_second - c->rows[i]->exec_min
                           : 0;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++) /* JOIN_NO_RANK becomes 0 */
        c->column[i] = c->rows[i]->n == 1 ? 0 : c->rows[i]->min_rank + 1;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++) {
        double work = partial_work(c->rule, c->n_ranks, c->rows[i]->bytes);
        uint32_t n = c->rows[i]->n_exec;

        c->rate_sum[i] = n ? n * partial_rate(work, c->rows[i]->exec_sum / n)
                           : 0;
    }
}

/* Writes sum, minimum and maximum of the bandwidths as differences to those
 * that follow from times and size, and how many records have none. */
static void put_bandwidths(struct jpr_out *out, struct chunk *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->busbw_sum - c->rate_sum[i];
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] =
            c->rows[i]->busbw_min -
            partial_rate(partial_work(c->rule, c->n_ranks, c->rows[i]->bytes),
                         c->rows[i]->exec_max);
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] =
            c->rows[i]->busbw_max -
            partial_rate(partial_work(c->rule, c->n_ranks, c->rows[i]->bytes),
                         c->rows[i]->exec_min);
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->n - c->rows[i]->n_busbw;
    put_column(out, c->column, c->n);
}

/* Writes the first dump time as difference to the operation before, and the
 * last one as difference to the first. */
static void put_dumps(struct jpr_out *out, struct chunk *c)
{
    uint64_t last = 0;

    for (size_t i = 0; i < c->n; i++) {
        c->column[i] = c->rows[i]->dump_min - last;
        last = c->rows[i]->dump_min;
    }
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->rows[i]->dump_max - c->rows[i]->dump_min;
    put_column(out, c->column, c->n);
}

/* Writes starts and ends, as differences to the first start of the operation
 * before. An end is written with 1 added, as 0 is no end. */
static void put_stamps(struct jpr_out *out, struct chunk *c)
{
    uint64_t last = 0;

    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->stamps[i]->n;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++) {
        c->column[i] = c->stamps[i]->n ? c->stamps[i]->start_min - last : 0;
        last += c->column[i];
    }
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->stamps[i]->start_max - c->stamps[i]->start_min;
    put_column(out, c->column, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->column[i] = c->stamps[i]->end_max
                           ? c->stamps[i]->end_max - c->stamps[i]->start_max + 1
                           : 0;
    put_column(out, c->column, c->n);
}

static void put_chunk(struct jpr_out *out, const void *arg)
{
    /* a callback's argument is const, but the chunk has work space */
    struct chunk *c = (struct chunk *) (uintptr_t) arg;

    jpr_put_u64(out, c->comm);
    jpr_put_u64(out, c->series->func);
    jpr_put_u64(out, c->rule);
    jpr_put_u64(out, c->n);
    put_numbers(out, c);
    put_sizes(out, c);
    put_lanes(out, c);
    jpr_put_u64(out, !c->derived);
    put_shortest(out, c);
    if (c->derived || c->series->barrier)
        put_times(out, c);
    if (!c->derived)
        put_sums(out, c);
    put_bandwidths(out, c);
    put_dumps(out, c);
    put_stamps(out, c);
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* Makes the table of sizes, and finds out whether all times are in the lanes:
 * those of a barrier-like series are, unless one is too long for the journal.
 */
static void prepare(struct chunk *c)
{
    size_t kept = 0;

    c->derived = c->series->barrier;
    for (size_t i = 0; i < c->n; i++) {
        c->sizes[i] = c->rows[i]->bytes;
        c->derived = c->derived && c->rows[i]->exec_max < JOIN_LONG_US;
    }
    qsort(c->sizes, c->n, sizeof(*c->sizes), compare_rows);
    for (size_t i = 0; i < c->n; i++)
        if (i == 0 || c->sizes[i] != c->sizes[kept - 1])
            c->sizes[kept++] = c->sizes[i];
    c->n_sizes = kept;
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t *at = bsearch(&c->rows[i]->bytes, c->sizes, kept,
                                     sizeof(*c->sizes), compare_rows);

        c->size_at[i] = (uint16_t) (at - c->sizes);
    }
}

/* Collects rows from blocks and writes a chunk whenever the next block might
 * not fit. 0, or -1 with err. */
static int put_blocks(struct partial_out *w, struct chunk *c, void **blocks,
                      size_t n)
{
    static const struct join_stamp none;

    for (size_t i = 0; i < n; i++) {
        const struct join_block *block = blocks[i];

        for (unsigned k = 0; k < block->room; k++)
            if (block->rows[k].n) {
                c->sn[c->n] = block->number * JOIN_BLOCK + k;
                c->stamps[c->n] = block->stamps ? &block->stamps[k] : &none;
                c->rows[c->n++] = &block->rows[k];
            }
        if (!c->n || (i + 1 < n && c->n + JOIN_BLOCK <= PARTIAL_ROWS))
            continue;
        prepare(c);
        if (partial_put_block(w, PARTIAL_OPS, put_chunk, c) < 0)
            return -1;
        c->n = 0;
    }
    return 0;
}

int partial_put_series(struct partial_out *w, uint32_t comm,
                       struct join_series *series)
{
    struct chunk *c = calloc(1, sizeof(*c));
    size_t n = series->blocks.n;
    int rc = -1;

    if (!c)
        return error_set(w->err, "out of memory");
    c->comm = comm;
    c->n_ranks = w->join->comms[comm]->n_ranks;
    c->series = series;
    c->rule = bandwidth_find(w->join->funcs[series->func]);
    c->members = w->members + w->first[comm];
    c->n_members = w->first[comm + 1] - w->first[comm];
    c->lanes = calloc((size_t) c->n_members + 1, sizeof(struct join_lane *));
    if (!c->lanes) {
        error_set(w->err, "out of memory");
        goto out;
    }
    for (uint32_t i = 0; i < c->n_members; i++)
        for (uint32_t k = 0; k < c->members[i]->n_lanes; k++)
            if (c->members[i]->lanes[k]->series == series) {
                c->lanes[i] = c->members[i]->lanes[k];
                c->n_lanes++;
            }
    rc = put_blocks(w, c, blockmap_sort(&series->blocks), n);
out:
    free(c->lanes);
    free(c);
    return rc;
}
