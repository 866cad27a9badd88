/* result_ranks.c - who waited for whom, communicator by communicator. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/result_build.h"

static int by_comm_and_rank(const void *a, const void *b)
{
    const struct jp_rank *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* slices: room for the rank's; NULL where no times were kept. */
static int fill_rank(struct build *b, struct jp_rank *rank,
                     const struct join_member *member, float *slices)
{
    const struct join_sums *sums = &b->join->comms[member->comm]->sums;

    double fast = join_rates_fast(&member->rates);

    *rank = (struct jp_rank){.comm = b->comm_at[member->comm],
                             .rank = member->rank,
                             .host = strdup(member->host),
                             .pid = member->pid,
                             .records = member->records,
                             .p2p_records = member->p2p_records,
                             .p2p_fast_gbs = fast,
                             .timed_ops = sums->timed_ops,
                             .last_ops = member->last_ops,
                             .exec_us = slices ? member->exec_us : 0,
                             .caused_us = member->caused_us,
                             .slice_us = slices};
    if (slices && member->slices)
        memcpy(slices, member->slices, JP_SLICES * sizeof(*slices));
    if (sums->timed_ops)
        rank->last_share = (double) rank->last_ops / (double) sums->timed_ops;
    if (rank->exec_us > sums->shortest_us)
        rank->wait_us = rank->exec_us - sums->shortest_us;
    return rank->host ? 0 : -1;
}

int result_ranks(struct build *b)
{
    struct join *join = b->join;
    struct jp_result *r = b->result;
    bool journal = !atomic_load(&join->budget->journal_off);

    r->ranks = calloc(join->n_members + 1, sizeof(*r->ranks));
    r->slices = journal ? calloc((size_t) join->n_members + 1,
                                 JP_SLICES * sizeof(*r->slices))
                        : NULL;
    if (!r->ranks || (journal && !r->slices))
        return -1;
    for (uint32_t i = 0; i < join->n_members; i++) {
        const struct join_member *member = join->members[i];

        r->quality.shared_ranks += member->shared;
        if (fill_rank(b, &r->ranks[r->n_ranks++], member,
                      journal ? r->slices + (size_t) i * JP_SLICES : NULL) < 0)
            return -1;
    }
    if (r->n_ranks)
        qsort(r->ranks, r->n_ranks, sizeof(*r->ranks), by_comm_and_rank);
    r->quality.waits_unknown = !journal;
    return 0;
}
