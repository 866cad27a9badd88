/* join_close_series.c - rows in order become operations, and what they add up
 * to. */
#include "orchestrator/aggregate/join_close.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/ingest/bandwidth.h"

/* The series being written. */
struct walk {
    struct jp_ops *ops;
    const struct join_comm *comm;
    struct join_sums *sums;
    uint32_t comm_at, func;
    struct join_stray *stray;
    size_t n_strays;
    uint64_t rows;    /* distinct sequence numbers */
    uint64_t last_sn; /* valid if rows */
    uint64_t records;
    bool ragged;   /* a rank lacks what another one has */
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
        .coll = w->func,
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
        w->rc = ops_add(w->ops, &op);
    w->records += row->n;
    w->sums->ops++;
    w->sums->ops_complete += row->n == w->comm->n_ranks;
    w->sums->bytes = join_sum(w->sums->bytes, row->bytes);
    w->sums->time_us = join_sum(w->sums->time_us, row->exec_max);
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

static void emit_block(struct walk *w, const struct join_block *block)
{
    for (unsigned k = 0; k < block->room; k++)
        if (block->rows[k].n)
            emit_row(w, block->number * JOIN_BLOCK + k, &block->rows[k],
                     block->stamps ? &block->stamps[k] : NULL);
}

/* Every rank has each sequence number that is there, and those that are not. */
static void expect(struct walk *w, const struct join_series *series)
{
    struct join_sums *sums = w->sums;
    uint64_t n_ranks = w->comm->n_ranks, seen, gaps;

    if (!w->rows)
        return;
    if (__builtin_mul_overflow(w->rows, n_ranks, &seen))
        seen = UINT64_MAX;
    if (series->shares)
        gaps = 0;
    else if (__builtin_mul_overflow(w->last_sn + 1 - w->rows, n_ranks, &gaps))
        gaps = UINT64_MAX;
    sums->expected =
        join_sum(sums->expected, seen < w->records ? w->records : seen);
    if (w->comm->gaps_lost) {
        sums->expected = join_sum(sums->expected, gaps);
        sums->overflow = join_sum(sums->overflow, gaps);
    } else {
        sums->unseen = join_sum(sums->unseen, gaps);
    }
    sums->ragged |= w->ragged;
}

int join_close_series(struct join *join, struct jp_ops *ops, uint32_t comm,
                      const struct join_series *series, void **blocks, size_t n)
{
    struct walk w = {.ops = ops,
                     .comm = join->comms[comm],
                     .sums = &join->comms[comm]->sums,
                     .comm_at = comm,
                     .func = series->func,
                     .factor = 1};

    if (w.comm->guessed)
        w.factor = bandwidth_factor(bandwidth_find(join->funcs[series->func]),
                                    w.comm->n_ranks);
    if (w.comm->strays)
        w.stray = join_find_strays(join, comm, series->func, &w.n_strays);
    for (size_t i = 0; i < n; i++)
        emit_block(&w, blocks[i]);
    expect(&w, series);
    return w.rc;
}
