/* result_ranks.c - who waited for whom, from complete operations. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"

/* Sums over a communicator's timed operations: equal for all its ranks,
 * because each of them is in every complete operation. */
struct timing {
    uint64_t ops, shortest_us;
};

static void time_row(struct join *join, uint32_t comm,
                     const struct join_row *row, struct timing *timing)
{
    uint64_t key = (uint64_t) comm << 32 | row->min_rank;
    uint64_t waited = row->exec_sum - row->n * row->exec_min;

    timing->ops++;
    timing->shortest_us = join_sum(timing->shortest_us, row->exec_min);
    if (row->min_rank != JOIN_NO_RANK) {
        struct join_member *last =
            join->members[keymap_find(&join->member_map, key, 0)];

        last->last_ops++;
        last->caused_us = join_sum(last->caused_us, waited);
    }
}

/* Marks the rows that are timed and adds them up. A row already marked here
 * carries two sizes; its mark is turned round. */
static void time_series(struct join *join, uint32_t comm,
                        struct join_series *series, struct timing *timing)
{
    uint32_t n_ranks = join->comms[comm]->n_ranks;

    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        struct join_block *block = (void *) series->blocks.slots[i];
        uint64_t two_sizes = block ? block->timed : 0;

        if (!block)
            continue;
        block->timed = 0;
        for (unsigned k = 0; k < JOIN_BLOCK; k++) {
            const struct join_row *row = &block->rows[k];

            if (row->n != n_ranks || row->n_exec != n_ranks ||
                row->exec_max >= JOIN_LONG_US || two_sizes >> k & 1)
                continue;
            block->timed |= UINT64_C(1) << k;
            time_row(join, comm, row, timing);
        }
    }
}

/* Marks the rows whose sequence number came with a second size, too. */
static void mark_strays(struct join *join, uint32_t comm,
                        struct join_series *series)
{
    size_t n;
    struct join_stray *stray = join_find_strays(join, comm, series->func, &n);

    for (; n; n--, stray++) {
        struct join_block *block =
            blockmap_find(&series->blocks, stray->sn / JOIN_BLOCK);

        if (block)
            block->timed |= UINT64_C(1) << stray->sn % JOIN_BLOCK;
    }
}

static void time_comm(struct join *join, uint32_t comm, struct timing *timing)
{
    for (uint32_t i = 0; i < join->comms[comm]->n_series; i++) {
        struct join_series *series = join->comms[comm]->series[i];

        if (!series->barrier)
            continue;
        mark_strays(join, comm, series);
        time_series(join, comm, series, timing);
    }
}

/* Adds the rank's own times of timed operations from its journal. */
static void add_lane(struct join_member *member, const struct join_lane *lane)
{
    for (size_t i = 0; i < blockmap_slots(&lane->blocks); i++) {
        const struct join_lane_block *mine = (void *) lane->blocks.slots[i];
        const struct join_block *block;
        uint64_t both;

        if (!mine)
            continue;
        block = blockmap_find(&lane->series->blocks, mine->number);
        for (both = block ? block->timed & mine->seen : 0; both;
             both &= both - 1)
            member->exec_us =
                join_sum(member->exec_us, mine->exec[__builtin_ctzll(both)]);
    }
}

static int by_comm_and_rank(const void *a, const void *b)
{
    const struct jp_rank *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int fill_rank(struct build *b, struct jp_rank *rank,
                     struct join_member *member, const struct timing *timing,
                     bool journal)
{
    for (uint32_t i = 0; journal && i < member->n_lanes; i++)
        if (member->lanes[i]->journal)
            add_lane(member, member->lanes[i]);
    *rank = (struct jp_rank){.comm = b->comm_at[member->comm],
                             .rank = member->rank,
                             .host = strdup(member->host),
                             .pid = member->pid,
                             .records = member->records,
                             .p2p_records = member->p2p_records,
                             .timed_ops = timing->ops,
                             .last_ops = member->last_ops,
                             .exec_us = member->exec_us,
                             .caused_us = member->caused_us};
    if (timing->ops)
        rank->last_share = (double) rank->last_ops / (double) timing->ops;
    if (rank->exec_us > timing->shortest_us)
        rank->wait_us = rank->exec_us - timing->shortest_us;
    return rank->host ? 0 : -1;
}

int result_ranks(struct build *b)
{
    struct join *join = b->join;
    struct jp_result *r = b->result;
    bool journal = !atomic_load(&join->budget->journal_off);
    struct timing *timings = calloc(join->n_comms + 1, sizeof(*timings));
    int rc = -1;

    r->ranks = calloc(join->n_members + 1, sizeof(*r->ranks));
    if (!timings || !r->ranks)
        goto out;
    for (uint32_t i = 0; i < join->n_comms; i++)
        time_comm(join, i, &timings[i]);
    for (uint32_t i = 0; i < join->n_members; i++) {
        struct join_member *member = join->members[i];

        r->quality.shared_ranks += member->shared;
        if (fill_rank(b, &r->ranks[r->n_ranks++], member,
                      &timings[member->comm], journal) < 0)
            goto out;
    }
    if (r->n_ranks)
        qsort(r->ranks, r->n_ranks, sizeof(*r->ranks), by_comm_and_rank);
    r->quality.waits_unknown = !journal;
    join_free_lanes(join);
    rc = 0;
out:
    free(timings);
    return rc;
}
