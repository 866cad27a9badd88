/* join_close.c - end a communicator with all its records: its rows become
 * packed operations, its ranks' times become sums, and both are freed.
 *
 * A communicator of n_ranks is closed when n_ranks of its ranks were read to
 * the end of their files. So memory follows the communicators that are open,
 * not all operations. A collective's record that comes later (a rank with two
 * files) sets join->conflict and join->late: the caller joins again without
 * closing early.
 *
 * Start with close_comm: write_comm marks the timed rows and packs all rows
 * (struct walk), then join_waits (join_waits.c) adds up the ranks' times.
 * join_end_file closes communicators as they become complete; join_close_all
 * closes the rest with several threads. */
#include "orchestrator/aggregate/join.h"

#include <pthread.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/ops.h"
#include "common/bandwidth.h"

/* The series being written: what is counted while its rows are packed. */
struct walk {
    struct jp_ops *ops; /* where operations go */
    const struct join_comm *comm;
    struct join_sums *sums;   /* of comm */
    uint32_t comm_at, func;   /* numbers in the join */
    struct join_stray *stray; /* the next one of this series */
    size_t n_strays;
    uint64_t rows;              /* distinct sequence numbers */
    uint64_t first_sn, last_sn; /* valid if rows is not 0 */
    uint64_t records;           /* of all rows so far */
    bool ragged;                /* a rank has no record that another rank has */
    double factor;              /* of the rows' bandwidths */
    int rc;                     /* -1: ops_add had no memory */
};

/* The bus bandwidth for a communicator of unknown size while it was joined. */
static uint64_t scale(const struct walk *w, uint64_t micro)
{
    double scaled;

    if (w->factor == 1)
        return micro;
    /* micro is integer, so the result is rounded */
    scaled = (double) micro * w->factor + 0.5;
    return scaled < (double) UINT64_MAX ? (uint64_t) scaled : UINT64_MAX;
}

/* Packs an operation from its sums and counts it. stamp may be NULL. A failure
 * is kept in w->rc, so that callers need not check every row. */
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
        .end_max_us = at->end_max,
        .phase = at->phase};

    if (w->rc == 0)
        w->rc = ops_add(w->ops, &op);
    w->records += row->n;
    w->sums->ops++;
    w->sums->ops_complete += row->n == w->comm->n_ranks;
    w->sums->bytes = num_add(w->sums->bytes, row->bytes);
    w->sums->sizeless += !row->bytes;
    w->sums->time_us = num_add(w->sums->time_us, row->exec_max);
}

/* Writes a row and the strays of its sequence number in order of size. */
static void emit_row(struct walk *w, uint64_t sn, const struct join_row *row,
                     const struct join_stamp *stamp)
{
    uint64_t before = w->records;
    bool pending = true;

    w->rows++;
    if (w->rows == 1)
        w->first_sn = sn;
    w->last_sn = sn;
    /* strays are sorted by number and size: add up each size, and put the row
     * itself where its size belongs */
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
    /* all sizes of one number together */
    w->ragged |= w->records - before < w->comm->n_ranks;
}

static void emit_block(struct walk *w, const struct join_block *block)
{
    for (unsigned k = 0; k < block->room; k++)
        if (block->rows[k].n) /* else it is a gap */
            emit_row(w, block->number * JOIN_BLOCK + k, &block->rows[k],
                     block->stamps ? &block->stamps[k] : NULL);
}

/* Counts the expected records: each rank has every sequence number that is
 * there, and the gaps. */
static void expect_rows(struct walk *w, const struct join_series *series)
{
    struct join_sums *sums = w->sums;
    uint64_t n_ranks = w->comm->n_ranks, seen, gaps;

    if (!w->rows)
        return;
    /* numbers come from files, so products may overflow */
    if (__builtin_mul_overflow(w->rows, n_ranks, &seen))
        seen = UINT64_MAX;
    if (series->shares)
        gaps = 0;
    /* numbers begin at 0 */
    else if (__builtin_mul_overflow(w->last_sn + 1 - w->rows, n_ranks, &gaps))
        gaps = UINT64_MAX;
    sums->expected =
        num_add(sums->expected, seen < w->records ? w->records : seen);
    if (w->comm->gaps_lost) {
        sums->expected = num_add(sums->expected, gaps);
        sums->overflow = num_add(sums->overflow, gaps);
    } else {
        sums->unseen = num_add(sums->unseen, gaps);
        sums->before = num_add(sums->before, num_mul(w->first_sn, n_ranks));
    }
    sums->ragged |= w->ragged;
}

/* The first of the sorted strays of comm and func; *n: how many there are.
 * Borrowed. NULL: none. */
static struct join_stray *find_strays(const struct join *join, uint32_t comm,
                                      uint32_t func, size_t *n)
{
    size_t lo = 0, hi = join->n_strays, end;

    /* the first one is found by bisection */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct join_stray *s = &join->strays[mid];

        if (s->comm < comm || (s->comm == comm && s->func < func))
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo; end < join->n_strays && join->strays[end].comm == comm &&
                   join->strays[end].func == func;)
        end++;
    *n = end - lo;
    return *n ? &join->strays[lo] : NULL;
}

/* Writes a series' rows to ops and counts them. Its n sorted blocks keep their
 * rows. 0 or -1. */
static int write_series(struct join *join, struct jp_ops *ops, uint32_t comm,
                        const struct join_series *series, void **blocks,
                        size_t n)
{
    struct walk w = {.ops = ops,
                     .comm = join->comms[comm],
                     .sums = &join->comms[comm]->sums,
                     .comm_at = comm,
                     .func = series->func,
                     .factor = 1};

    /* bandwidths were kept for an unknown size; now the size is known */
    if (w.comm->guessed)
        w.factor = bandwidth_factor(bandwidth_find(join->funcs[series->func]),
                                    w.comm->n_ranks);
    if (w.comm->strays)
        w.stray = find_strays(join, comm, series->func, &w.n_strays);
    for (size_t i = 0; i < n; i++)
        emit_block(&w, blocks[i]);
    expect_rows(&w, series);
    return w.rc;
}

/* --- the timed operations of a communicator, and its end --- */

/* The communicator being closed. */
struct closing {
    struct join *join;
    uint32_t at; /* its number */
    struct join_comm *comm;
    struct jp_ops *ops; /* where operations go */
    struct join_member *
        *of_rank; /* NULL: a rank is missing, so nothing is timed */
};

/* Adds a timed row: what its ranks waited for the last one was caused by that
 * one. Where two ranks were last, no rank is charged. */
static void time_row(const struct closing *c, const struct join_row *row)
{
    struct join_sums *sums = &c->comm->sums;
    uint64_t waited = row->exec_sum - row->n * row->exec_min;

    sums->timed_ops++;
    sums->shortest_us = num_add(sums->shortest_us, row->exec_min);
    if (row->min_rank != JOIN_NO_RANK) {
        struct join_member *last = c->of_rank[row->min_rank];

        last->last_ops++;
        last->caused_us = num_add(last->caused_us, waited);
    }
}

/* Marks the timed rows and adds them up. A row that is marked already carries
 * two sizes, and its mark is removed. */
static void time_block(const struct closing *c, struct join_block *block)
{
    uint32_t n_ranks = c->comm->n_ranks;
    uint64_t two_sizes = block->timed;

    block->timed = 0;
    for (unsigned k = 0; k < block->room; k++) {
        const struct join_row *row = &block->rows[k];

        if (row->n != n_ranks || row->n_exec != n_ranks ||
            row->exec_max >= JOIN_LONG_US || two_sizes >> k & 1)
            continue; /* incomplete, without a time, too long, two sizes */
        block->timed |= UINT64_C(1) << k;
        time_row(c, row);
    }
}

/* Marks the rows with a sequence number that came with a second size. */
static void mark_strays(const struct closing *c, struct join_series *series)
{
    size_t n;
    struct join_stray *stray = find_strays(c->join, c->at, series->func, &n);

    for (; n; n--, stray++) {
        struct join_block *block =
            blockmap_find(&series->blocks, stray->sn / JOIN_BLOCK);

        if (block)
            block->timed |= UINT64_C(1) << stray->sn % JOIN_BLOCK;
    }
}

/* Marks the timed rows of a series and packs all rows. The blocks stay, because
 * join_waits reads the marks. */
static int close_series(const struct closing *c, struct join_series *series)
{
    size_t n = series->blocks.n;
    bool timed = series->barrier && c->of_rank;
    void **blocks;

    if (timed && c->comm->strays)
        mark_strays(c, series);
    for (size_t i = 0; timed && i < blockmap_slots(&series->blocks); i++)
        if (series->blocks.slots[i])
            time_block(c, (void *) series->blocks.slots[i]);
    blocks = blockmap_copy(&series->blocks);
    if (!blocks ||
        write_series(c->join, c->ops, c->at, series, blocks, n) < 0) {
        free(blocks);
        return -1;
    }
    free(blocks);
    return 0;
}

/* Fills c->of_rank if all ranks are there. They are distinct and below n_ranks,
 * so their number is enough. 0, or -1: no memory. */
static int find_ranks(struct closing *c)
{
    const struct join_comm *comm = c->comm;

    if (comm->n_members != comm->n_ranks)
        return 0;
    c->of_rank = calloc(comm->n_ranks + UINT64_C(1), sizeof(*c->of_rank));
    for (uint32_t i = 0; c->of_rank && i < comm->n_members; i++) {
        struct join_member *member = c->join->members[comm->members[i]];

        c->of_rank[member->rank] = member;
    }
    return c->of_rank ? 0 : -1;
}

/* Packs all series of a communicator. 0, or -1: no memory. */
static int write_comm(struct join *join, struct jp_ops *ops, uint32_t at)
{
    struct closing c = {
        .join = join, .at = at, .comm = join->comms[at], .ops = ops};
    int rc = find_ranks(&c);

    for (uint32_t i = 0; rc == 0 && i < c.comm->n_series; i++)
        rc = close_series(&c, c.comm->series[i]);
    free(c.of_rank);
    return rc;
}

/* Closes a communicator that is open and writes its operations to ops. Threads
 * may close different ones at once. 0, or -1: no memory. */
static int close_comm(struct join *join, struct jp_ops *ops, uint32_t at)
{
    struct join_comm *comm = join->comms[at];

    if (comm->closed)
        return 0;
    if (write_comm(join, ops, at) < 0 || join_waits(join, comm) < 0)
        return -1;
    for (uint32_t i = 0; i < comm->n_series; i++)
        join_series_empty(join, comm->series[i]);
    comm->closed = true;
    return 0;
}

/* Whether nothing more can come: all ranks are there, and there is no second
 * size, which would need the order of all files. */
static bool is_complete(const struct join_comm *comm)
{
    return comm->n_ranks && comm->read == comm->n_ranks && !comm->strays &&
           !comm->closed;
}

int join_end_file(struct join *join)
{
    int rc = 0;

    for (uint32_t i = 0; i < join->n_touched && rc == 0; i++) {
        struct join_member *member = join->members[join->touched[i]];
        struct join_comm *comm = join->comms[member->comm];

        /* a rank with several files counts once */
        comm->read += !member->read;
        member->read = true;
        if (join->budget->keep || !is_complete(comm))
            continue;
        if (!join->ops && !(join->ops = ops_create()))
            return -1;
        rc = close_comm(join, join->ops, member->comm);
    }
    join->n_touched = 0;
    return rc;
}

/* --- sizes of communicators that NCCL did not record --- */

static int by_comm_and_host(const void *a, const void *b)
{
    const struct join_member *x = *(struct join_member *const *) a;
    const struct join_member *y = *(struct join_member *const *) b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->host, y->host);
}

/* Guesses the sizes that NCCL before 2.27 does not record: n_ranks from the
 * largest rank, nnodes from the number of hosts. 0, or -1: no memory. */
static int guess_sizes(struct join *join)
{
    struct join_member **sorted =
        calloc(join->n_members + 1, sizeof(struct join_member *));

    if (!sorted)
        return -1;
    for (uint32_t i = 0; i < join->n_members; i++)
        sorted[i] = join->members[i];
    if (join->n_members)
        qsort(sorted, join->n_members, sizeof(*sorted), by_comm_and_host);
    for (uint32_t i = 0; i < join->n_comms; i++)
        join->comms[i]->guessed = !join->comms[i]->n_ranks;
    /* every rank that was seen raises n_ranks, and every further host nnodes */
    for (uint32_t i = 0; i < join->n_members; i++) {
        struct join_comm *comm = join->comms[sorted[i]->comm];

        if (!comm->guessed)
            continue;
        if (comm->n_ranks <= sorted[i]->rank)
            comm->n_ranks = sorted[i]->rank + 1;
        comm->nnodes += !i || by_comm_and_host(&sorted[i - 1], &sorted[i]);
    }
    for (uint32_t i = 0; i < join->n_comms; i++)
        /* in a communicator of one rank, no rank waits for another one */
        if (join->comms[i]->n_ranks == 1)
            for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
                join->comms[i]->series[k]->barrier = false;
    free(sorted);
    return 0;
}

/* --- end all communicators that are open, some at a time --- */

/* A further thread pays only for this many rows and times. */
enum { CLOSER_BYTES = 4 << 20, MAX_CLOSERS = 64 };

/* Shared by the threads. */
struct closers {
    struct join *join;
    uint32_t *order; /* the communicators, those with the most records first */
    _Atomic uint32_t next; /* of these */
    atomic_bool failed;    /* no memory: the others stop */
};

struct closer {
    pthread_t thread;
    struct closers *all;
    struct jp_ops *ops;
};

/* Gives pages back to the system once at least so many bytes were freed. Only
 * glibc keeps freed pages for long. */
static void give_back(struct join *join, uint64_t least)
{
    if (atomic_load(&join->freed) < least)
        return;
    atomic_store(&join->freed, 0);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Closes communicators that no other thread has taken. */
static void *close_comms(void *arg)
{
    struct closer *c = arg;
    struct join *join = c->all->join;
    uint32_t i;

    while (!atomic_load(&c->all->failed) &&
           (i = atomic_fetch_add(&c->all->next, 1)) < join->n_comms) {
        if (close_comm(join, c->ops, c->all->order[i]) < 0)
            atomic_store(&c->all->failed, true);
        /* rows and the operations made from them should not be in memory
         * together; while files are read, freed memory is used again anyway */
        give_back(join, 4u << 20);
    }
    return NULL;
}

/* The operations that another thread wrote become the join's. */
static int take_operations(struct join *join, struct jp_ops *ops,
                           const uint32_t *same)
{
    int rc = ops_take(join->ops, ops, same, same);

    ops_destroy(ops);
    return rc;
}

/* The identity mapping of numbers. NULL: no memory. */
static uint32_t *make_same(uint32_t n)
{
    uint32_t *same = calloc((size_t) n + 1, sizeof(*same));

    if (!same)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        same[i] = i;
    return same;
}

/* Uses n - 1 more threads, or as many as can be created. */
static int close_beside(struct closers *all, unsigned n)
{
    struct closer first = {.all = all, .ops = all->join->ops};
    struct closer more[MAX_CLOSERS];
    unsigned started = 0; /* of more */
    uint32_t *same = make_same(all->join->n_comms + JOIN_MAX_FUNCS);
    int rc = same ? 0 : -1;

    /* fewer threads than wanted are no error: this thread works as well */
    for (; rc == 0 && started + 1 < n; started++) {
        struct closer *c = &more[started];

        *c = (struct closer){.all = all, .ops = ops_create()};
        if (c->ops && pthread_create(&c->thread, NULL, close_comms, c) == 0)
            continue;
        ops_destroy(c->ops);
        break;
    }
    if (rc == 0)
        close_comms(&first);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(more[i].thread, NULL);
        if (take_operations(all->join, more[i].ops, same) < 0)
            rc = -1;
    }
    free(same);
    return atomic_load(&all->failed) ? -1 : rc;
}

/* The largest communicators first, so that threads end together. */
static int by_records(const void *a, const void *b, void *arg)
{
    const struct join *join = arg;
    uint32_t i = *(const uint32_t *) a, k = *(const uint32_t *) b;
    uint64_t x = join->comms[i]->records, y = join->comms[k]->records;

    return x != y ? (x > y ? -1 : 1) : i < k ? -1 : i > k;
}

/* Closes the communicators in order of size, with as many threads as pay. */
static int close_ordered(struct join *join, unsigned threads)
{
    struct closers all = {.join = join, .order = make_same(join->n_comms)};
    /* as a measure of the work: the bytes that rows and times take */
    uint64_t worth = atomic_load(&join->charged) / CLOSER_BYTES;
    unsigned n = threads < MAX_CLOSERS ? threads : MAX_CLOSERS;

    int rc;

    if (!all.order)
        return -1;
    if (join->n_comms)
        qsort_r(all.order, join->n_comms, sizeof(*all.order), by_records, join);
    rc = close_beside(&all, worth < n ? (unsigned) worth : n);
    free(all.order);
    return rc;
}

int join_close_all(struct join *join, unsigned threads)
{
    if (guess_sizes(join) < 0)
        return -1;
    if (!join->ops && !(join->ops = ops_create()))
        return -1;
    if (close_ordered(join, threads) < 0)
        return -1;
    give_back(join, 64u << 10);
    return ops_end(join->ops);
}
