/* join_close.c - who waited for whom in a communicator, and its end. */
#include "orchestrator/aggregate/join_close.h"

#include <stdlib.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/join_slices.h"

/* The communicator being closed. */
struct closing {
    struct join *join;
    uint32_t at;
    struct join_comm *comm;
    struct jp_ops *ops;
    struct join_member **of_rank; /* NULL: not all are there, none is timed */
};

static void time_row(const struct closing *c, const struct join_row *row)
{
    struct join_sums *sums = &c->comm->sums;
    uint64_t waited = row->exec_sum - row->n * row->exec_min;

    sums->timed_ops++;
    sums->shortest_us = join_sum(sums->shortest_us, row->exec_min);
    if (row->min_rank != JOIN_NO_RANK) {
        struct join_member *last = c->of_rank[row->min_rank];

        last->last_ops++;
        last->caused_us = join_sum(last->caused_us, waited);
    }
}

/* Marks the rows that are timed and adds them up. A row already marked here
 * carries two sizes; its mark is turned round. */
static void time_block(const struct closing *c, struct join_block *block)
{
    uint32_t n_ranks = c->comm->n_ranks;
    uint64_t two_sizes = block->timed;

    block->timed = 0;
    for (unsigned k = 0; k < block->room; k++) {
        const struct join_row *row = &block->rows[k];

        if (row->n != n_ranks || row->n_exec != n_ranks ||
            row->exec_max >= JOIN_LONG_US || two_sizes >> k & 1)
            continue;
        block->timed |= UINT64_C(1) << k;
        time_row(c, row);
    }
}

/* Marks the rows whose sequence number came with a second size, too. */
static void mark_strays(const struct closing *c, struct join_series *series)
{
    size_t n;
    struct join_stray *stray =
        join_find_strays(c->join, c->at, series->func, &n);

    for (; n; n--, stray++) {
        struct join_block *block =
            blockmap_find(&series->blocks, stray->sn / JOIN_BLOCK);

        if (block)
            block->timed |= UINT64_C(1) << stray->sn % JOIN_BLOCK;
    }
}

/* NULL: the series is not timed after all, as its communicator turned out to
 * have one rank. cuts ends with one of no series. */
static const struct slice_cut *find_cut(const struct slice_cut *cuts,
                                        const struct join_series *series)
{
    for (; cuts->series; cuts++)
        if (cuts->series == series)
            return cuts;
    return NULL;
}

/* Adds up a member's lanes of collectives and frees them; those of Send and
 * Recv tell repetitions on. cuts: of all series that keep times. */
static int close_member(struct join *join, struct join_member *member,
                        const struct slice_cut *cuts)
{
    bool journal = !atomic_load(&join->budget->journal_off);
    uint32_t kept = 0;

    if (journal && !member->slices &&
        !(member->slices = calloc(JP_SLICES, sizeof(*member->slices))))
        return -1;
    for (uint32_t i = 0; i < member->n_lanes; i++) {
        struct join_lane *lane = member->lanes[i];

        if (!lane->series) {
            member->lanes[kept++] = lane;
            continue;
        }
        if (journal && lane->journal) {
            const struct slice_cut *cut = find_cut(cuts, lane->series);

            if (cut)
                member->exec_us = join_sum(
                    member->exec_us, slice_cut_add(cut, lane, member->slices));
        }
        join_lane_free(join, lane);
    }
    member->n_lanes = kept;
    if (!kept) {
        free(member->lanes);
        member->lanes = NULL;
    }
    return 0;
}

/* Closes all members of a communicator whose series are closed. */
static int close_members(struct join *join, const struct join_comm *comm)
{
    struct slice_cut *cuts = calloc((size_t) comm->n_series + 1, sizeof(*cuts));
    struct slice_cut *next = cuts;
    int rc = cuts ? 0 : -1;

    for (uint32_t i = 0; rc == 0 && i < comm->n_series; i++)
        if (comm->series[i]->barrier)
            slice_cut_make(next++, comm->series[i]);
    for (uint32_t i = 0; rc == 0 && i < comm->n_members; i++)
        rc = close_member(join, join->members[comm->members[i]], cuts);
    free(cuts);
    return rc;
}

/* Times, writes and keeps the blocks until the lanes have asked them. */
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
        join_close_series(c->join, c->ops, c->at, series, blocks, n) < 0) {
        free(blocks);
        return -1;
    }
    free(blocks);
    return 0;
}

/* Ranks are distinct and below n_ranks: all are there where they are as many.
 */
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

int join_close_comm(struct join *join, struct jp_ops *ops, uint32_t at)
{
    struct join_comm *comm = join->comms[at];

    if (comm->closed)
        return 0;
    if (write_comm(join, ops, at) < 0 || close_members(join, comm) < 0)
        return -1;
    for (uint32_t i = 0; i < comm->n_series; i++)
        join_series_empty(join, comm->series[i]);
    comm->closed = true;
    return 0;
}

/* Nothing more may come: all ranks are there, and no second size needs the
 * order of all files. */
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

        comm->read += !member->read;
        member->read = true;
        if (join->budget->keep || !is_complete(comm))
            continue;
        if (!join->ops && !(join->ops = ops_create()))
            return -1;
        rc = join_close_comm(join, join->ops, member->comm);
    }
    join->n_touched = 0;
    return rc;
}
