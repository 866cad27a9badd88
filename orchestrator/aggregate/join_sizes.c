/* join_sizes.c - sizes of communicators that NCCL did not tell. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"

static int by_comm_and_host(const void *a, const void *b)
{
    const struct join_member *x = *(struct join_member *const *) a;
    const struct join_member *y = *(struct join_member *const *) b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->host, y->host);
}

int join_guess_sizes(struct join *join)
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
    for (uint32_t i = 0; i < join->n_members; i++) {
        struct join_comm *comm = join->comms[sorted[i]->comm];

        if (!comm->guessed)
            continue;
        if (comm->n_ranks <= sorted[i]->rank)
            comm->n_ranks = sorted[i]->rank + 1;
        comm->nnodes += !i || by_comm_and_host(&sorted[i - 1], &sorted[i]);
    }
    for (uint32_t i = 0; i < join->n_comms; i++)
        if (join->comms[i]->n_ranks == 1) /* nobody waits there */
            for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
                join->comms[i]->series[k]->barrier = false;
    free(sorted);
    return 0;
}
