/* result_ops.c - operations in order, and what they add up to. */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "orchestrator/aggregate/join_parts.h"
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

static void emit(struct walk *w, uint64_t sn, const struct join_row *row)
{
    struct jp_result *r = w->b->result;

    r->ops[r->n_ops++] = (struct jp_op){
        .comm = w->comm_at,
        .coll = w->coll,
        .sn = sn,
        .bytes = row->bytes,
        .n = row->n,
        .n_busbw = row->n_busbw,
        .n_exec = row->n_exec,
        .min_rank = row->n_exec < row->n ? JOIN_NO_RANK : row->min_rank,
        .exec_min_us = row->exec_min,
        .exec_max_us = row->exec_max,
        .exec_sum_us = row->exec_sum,
        .busbw_sum_micro = scale(w, row->busbw_sum),
        .busbw_min_micro = scale(w, row->busbw_min),
        .busbw_max_micro = scale(w, row->busbw_max),
        .dump_min_us = row->dump_min,
        .dump_max_us = row->dump_max};
    w->records += row->n;
    w->comm->ops++;
    w->comm->ops_complete += row->n == w->comm->n_ranks;
    w->comm->bytes = join_sum(w->comm->bytes, row->bytes);
    w->comm->time_us = join_sum(w->comm->time_us, row->exec_max);
}

/* Emits a row and the strays of its sequence number in order of size. */
static void emit_row(struct walk *w, uint64_t sn, const struct join_row *row)
{
    uint64_t before = w->records;
    bool pending = true;

    w->rows++;
    w->last_sn = sn;
    while (w->n_strays && w->stray->sn == sn) {
        struct join_row sum = {0};
        uint64_t bytes = w->stray->row.bytes;

        for (;
             w->n_strays && w->stray->sn == sn && w->stray->row.bytes == bytes;
             w->stray++, w->n_strays--)
            join_row_fold(&sum, &w->stray->row);
        if (pending && row->bytes < bytes) {
            emit(w, sn, row);
            pending = false;
        }
        emit(w, sn, &sum);
    }
    if (pending)
        emit(w, sn, row);
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

/* Writes a series and frees its blocks. *freed counts them over all series. */
static void write_series(struct build *b, uint32_t comm, uint32_t from,
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
        struct join_block *block = blocks[i];

        for (unsigned k = 0; k < JOIN_BLOCK; k++)
            if (block->rows[k].n)
                emit_row(&w, block->number * JOIN_BLOCK + k, &block->rows[k]);
        free(block);
        give_back(++*freed);
    }
    blockmap_fini(&series->blocks);
    expect(&w, series);
}

static size_t count_rows(const struct join_series *series)
{
    size_t n = 0;

    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        const struct join_block *block = (void *) series->blocks.slots[i];

        for (unsigned k = 0; block && k < JOIN_BLOCK; k++)
            n += block->rows[k].n != 0;
    }
    return n;
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
    struct join *join = b->join;
    size_t n = join->n_strays, freed = 0;

    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
            n += count_rows(join->comms[i]->series[k]);
    b->result->ops = reallocarray(NULL, n + 1, sizeof(*b->result->ops));
    if (!b->result->ops)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++) {
        uint32_t from = b->comm_from[i];
        struct join_comm *comm = join->comms[from];

        sort_series(b, comm);
        for (uint32_t k = 0; k < comm->n_series; k++)
            write_series(b, i, from, comm->series[k], &freed);
    }
    return 0;
}
