/* result_ops.c - operations in order, and what they add up to. */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/ingest/bandwidth.h"

/* The series being written: its sorted blocks and strays. */
struct walk {
    struct build *b;
    struct jp_comm *comm;
    uint32_t comm_at, coll;
    struct join_stray *stray;
    size_t n_strays;
    uint64_t rows;    /* distinct sequence numbers */
    uint64_t last_sn; /* valid if rows */
    uint64_t records;
    bool ragged; /* a rank lacks what another one has */
    bool gaps_lost;
    double factor; /* of the rows' bandwidths */
    int rc;
};

/* A bandwidth of a communicator whose size was not told while it was joined. */
static uint64_t scale(const struct walk *w, uint64_t micro)
{
    double scaled;

    if (w->factor == 1)
        return micro;
    scaled = (double) micro * w->factor + 0.5;
    return scaled < (double) UINT64_MAX ? (uint64_t) scaled : UINT64_MAX;
}

/* An operation's sums; stamp may be NULL. */
static void emit(struct walk *w, uint64_t sn, const struct join_row *row,
                 const struct join_stamp *stamp)
{
    static const struct join_stamp none;
    const struct join_stamp *at = stamp ? stamp : &none;
    const struct jp_op op = {
        .comm = w->comm_at,
        .coll = w->coll,
        .sn = sn,
        .bytes = row->bytes,
        .n = row->n,
        .n_busbw = row->n_busbw,
        .n_exec = row->n_exec,
        .min_rank = row->n_exec < row->n ? JOIN_NO_RANK : row->min_rank,
        .exec_min_us = row->exec_min,
        .exec_second_us = row->n_exec > 1 ? row->exec_second : row->exec_min,
        .exec_max_us = row->exec_max,
        .exec_sum_us = row->exec_sum,
        .busbw_sum_micro = scale(w, row->busbw_sum),
        .busbw_min_micro = scale(w, row->busbw_min),
        .busbw_max_micro = scale(w, row->busbw_max),
        .dump_min_us = row->dump_min,
        .dump_max_us = row->dump_max,
        .n_start = at->n,
        .start_min_us = at->start_min,
        .start_max_us = at->start_max,
        .end_max_us = at->end_max};

    if (w->rc == 0)
        w->rc = ops_add(w->b->result->ops, &op);
    w->records += row->n;
    w->comm->ops++;
    w->comm->ops_complete += row->n == w->comm->n_ranks;
    w->comm->bytes = join_sum(w->comm->bytes, row->bytes);
    w->comm->time_us = join_sum(w->comm->time_us, row->exec_max);
}

/* Emits a row and the strays of its sequence number in order of size. */
static void emit_row(struct walk *w, uint64_t sn, const struct join_row *row,
                     const struct join_stamp *stamp)
{
    uint64_t before = w->records;
    bool pending = true;

    w->rows++;
    w->last_sn = sn;
    while (w->n_strays && w->stray->sn == sn) {
        struct join_row sum = {0};
        struct join_stamp stamps = {0};
        uint64_t bytes = w->stray->row.bytes;

        for (;
             w->n_strays && w->stray->sn == sn && w->stray->row.bytes == bytes;
             w->stray++, w->n_strays--) {
            join_row_fold(&sum, &w->stray->row);
            join_stamp_fold(&stamps, &w->stray->stamp);
        }
        if (pending && row->bytes < bytes) {
            emit(w, sn, row, stamp);
            pending = false;
        }
        emit(w, sn, &sum, &stamps);
    }
    if (pending)
        emit(w, sn, row, stamp);
    w->ragged |= w->records - before < w->comm->n_ranks;
}

/* Every rank has each sequence number that is there, and those that are not. */
static void expect(struct walk *w, const struct join_series *series)
{
    struct build *b = w->b;
    uint64_t n_ranks = w->comm->n_ranks, seen, gaps;

    if (!w->rows)
        return;
    if (__builtin_mul_overflow(w->rows, n_ranks, &seen))
        seen = UINT64_MAX;
    if (series->shares)
        gaps = 0;
    else if (__builtin_mul_overflow(w->last_sn + 1 - w->rows, n_ranks, &gaps))
        gaps = UINT64_MAX;
    b->expected = join_sum(b->expected, seen < w->records ? w->records : seen);
    if (w->gaps_lost) {
        b->expected = join_sum(b->expected, gaps);
        b->overflow = join_sum(b->overflow, gaps);
    } else {
        b->unseen = join_sum(b->unseen, gaps);
    }
    b->ragged |= w->ragged;
}

/* Blocks are freed while operations are written: pages go back to the system
 * now and then, so that the two are not in memory at once. */
static void give_back(size_t blocks)
{
#ifdef __GLIBC__
    if (blocks % ((4u << 20) / sizeof(struct join_block)) == 1)
        malloc_trim(0);
#else
    (void) blocks;
#endif
}

static void write_block(struct walk *w, const struct join_block *block)
{
    for (unsigned k = 0; k < JOIN_BLOCK; k++)
        if (block->rows[k].n)
            emit_row(w, block->number * JOIN_BLOCK + k, &block->rows[k],
                     block->stamps ? &block->stamps[k] : NULL);
}

/* Writes a series and frees its blocks. *freed counts them over all series.
 * 0, or -1 without memory. */
static int write_series(struct build *b, uint32_t comm, uint32_t from,
                        struct join_series *series, size_t *freed)
{
    struct walk w = {.b = b,
                     .comm = &b->result->comms[comm],
                     .comm_at = comm,
                     .coll = b->func_at[series->func],
                     .gaps_lost = b->join->comms[from]->gaps_lost,
                     .factor = 1};
    size_t n = series->blocks.n;
    void **blocks = blockmap_sort(&series->blocks);

    if (w.comm->guessed)
        w.factor = bandwidth_factor(
            bandwidth_find(b->join->funcs[series->func]), w.comm->n_ranks);
    w.stray = join_find_strays(b->join, from, series->func, &w.n_strays);
    for (size_t i = 0; i < n; i++) {
        write_block(&w, blocks[i]);
        join_block_destroy(blocks[i]);
        give_back(++*freed);
    }
    blockmap_fini(&series->blocks);
    expect(&w, series);
    return w.rc;
}

/* Series in order of their functions' names. */
static void sort_series(const struct build *b, struct join_comm *comm)
{
    for (uint32_t i = 1; i < comm->n_series; i++) {
        struct join_series *series = comm->series[i];
        uint32_t k = i;

        for (; k > 0 &&
               b->func_at[comm->series[k - 1]->func] > b->func_at[series->func];
             k--)
            comm->series[k] = comm->series[k - 1];
        comm->series[k] = series;
    }
}

int result_ops(struct build *b)
{
    struct jp_result *r = b->result;
    struct join *join = b->join;
    size_t freed = 0;

    r->ops = ops_create();
    if (!r->ops)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++) {
        uint32_t from = b->comm_from[i];
        struct join_comm *comm = join->comms[from];

        sort_series(b, comm);
        for (uint32_t k = 0; k < comm->n_series; k++)
            if (write_series(b, i, from, comm->series[k], &freed) < 0)
                return -1;
    }
    r->n_ops = r->ops->n;
    return ops_end(r->ops);
}
