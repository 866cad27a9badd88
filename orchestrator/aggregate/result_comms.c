/* result_comms.c - functions and communicators in their order. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/comm_type.h"
#include "orchestrator/aggregate/join_close.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Names of collectives only: a function that is only sent point to point has no
 * series. */
static int make_funcs(struct build *b)
{
    struct jp_result *r = b->result;
    struct join *join = b->join;
    bool used[JOIN_MAX_FUNCS] = {false};

    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
            used[join->comms[i]->series[k]->func] = true;
    r->coll_names = calloc(join->n_funcs + 1, sizeof(*r->coll_names));
    b->func_at = calloc(join->n_funcs + 1, sizeof(*b->func_at));
    if (!r->coll_names || !b->func_at)
        return -1;
    for (uint32_t i = 0; i < join->n_funcs; i++)
        if (used[i] &&
            !(r->coll_names[r->n_coll_names++] = strdup(join->funcs[i])))
            return -1;
    if (r->n_coll_names)
        qsort(r->coll_names, r->n_coll_names, sizeof(char *), by_name);
    for (uint32_t i = 0; i < join->n_funcs; i++)
        for (uint32_t k = 0; k < r->n_coll_names; k++)
            if (!strcmp(join->funcs[i], r->coll_names[k]))
                b->func_at[i] = k;
    return 0;
}

struct sortable {
    const struct join_comm *comm;
    uint32_t from;
    bool seen; /* it has members */
};

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_type_and_id(const void *a, const void *b)
{
    const struct sortable *sx = a, *sy = b;
    const struct join_comm *x = sx->comm, *y = sy->comm;
    int order = compare(!sx->seen, !sy->seen);

    if (!order)
        order = compare(comm_type_of(x->n_ranks, x->nnodes),
                        comm_type_of(y->n_ranks, y->nnodes));
    if (!order)
        order = strcmp(x->id, y->id);
    if (!order)
        order = strcmp(x->name ? x->name : "", y->name ? y->name : "");
    if (!order)
        order = compare(x->n_ranks, y->n_ranks);
    if (!order)
        order = compare(x->nnodes, y->nnodes);
    /* one id with a shape told, and another time guessed as the same */
    return order ? order : compare(x->guessed, y->guessed);
}

/* Those that no rank has a record of, only counters, come last and are no part
 * of the result. */
static int make_order(struct build *b)
{
    uint32_t n = b->join->n_comms;
    struct sortable *sorted = calloc(n + 1, sizeof(*sorted));

    b->comm_at = calloc(n + 1, sizeof(*b->comm_at));
    b->comm_from = calloc(n + 1, sizeof(*b->comm_from));
    if (!sorted || !b->comm_at || !b->comm_from) {
        free(sorted);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct sortable){b->join->comms[i], i, false};
    for (uint32_t i = 0; i < b->join->n_members; i++)
        sorted[b->join->members[i]->comm].seen = true;
    qsort(sorted, n, sizeof(*sorted), by_type_and_id);
    for (uint32_t i = 0; i < n; i++) {
        b->comm_at[sorted[i].from] = i;
        b->comm_from[i] = sorted[i].from;
        b->result->n_comms += sorted[i].seen;
    }
    free(sorted);
    return 0;
}

/* Counts members and collects their hosts, each once a member for now. */
static int collect_hosts(struct build *b)
{
    struct join *join = b->join;

    for (uint32_t i = 0; i < join->n_members; i++)
        b->result->comms[b->comm_at[join->members[i]->comm]].ranks_seen++;
    for (uint32_t i = 0; i < join->n_members; i++) {
        const struct join_member *member = join->members[i];
        struct jp_comm *comm = &b->result->comms[b->comm_at[member->comm]];

        if (!comm->hosts)
            comm->hosts = calloc(comm->ranks_seen, sizeof(char *));
        if (!comm->hosts)
            return -1;
        if (!*member->host)
            continue;
        comm->hosts[comm->n_hosts] = strdup(member->host);
        if (!comm->hosts[comm->n_hosts])
            return -1;
        comm->n_hosts++;
    }
    return 0;
}

static void unique_hosts(struct jp_comm *comm)
{
    size_t kept = 0;

    if (!comm->n_hosts)
        return;
    qsort(comm->hosts, comm->n_hosts, sizeof(char *), by_name);
    for (size_t i = 0; i < comm->n_hosts; i++) {
        if (kept && !strcmp(comm->hosts[kept - 1], comm->hosts[i]))
            free(comm->hosts[i]);
        else
            comm->hosts[kept++] = comm->hosts[i];
    }
    comm->n_hosts = kept;
}

static int fill_comm(struct jp_comm *comm, const struct join_comm *from)
{
    memcpy(comm->id, from->id, sizeof(comm->id));
    comm->name = strdup(from->name ? from->name : "");
    comm->n_ranks = from->n_ranks;
    comm->nnodes = from->nnodes;
    comm->guessed = from->guessed;
    comm->type = comm_type_of(from->n_ranks, from->nnodes);
    comm->records = from->records;
    comm->p2p_records = from->p2p_records;
    comm->counted = from->counted;
    comm->produced = from->counts.produced;
    comm->lost = from->counts.lost;
    comm->capped = from->counts.left_out;
    comm->ops = from->sums.ops;
    comm->ops_complete = from->sums.ops_complete;
    comm->bytes = from->sums.bytes;
    comm->time_us = from->sums.time_us;
    return comm->name ? 0 : -1;
}

int result_comms(struct build *b)
{
    struct jp_result *r = b->result;

    if (join_guess_sizes(b->join) < 0 ||
        join_close_all(b->join, b->threads) < 0 || make_funcs(b) < 0 ||
        make_order(b) < 0)
        return -1;
    r->comms = calloc(r->n_comms + 1, sizeof(*r->comms));
    if (!r->comms) {
        r->n_comms = 0;
        return -1;
    }
    for (size_t i = 0; i < r->n_comms; i++) {
        const struct join_comm *from = b->join->comms[b->comm_from[i]];

        if (fill_comm(&r->comms[i], from) < 0)
            return -1;
        b->expected = join_sum(b->expected, from->sums.expected);
        b->unseen = join_sum(b->unseen, from->sums.unseen);
        b->overflow = join_sum(b->overflow, from->sums.overflow);
        b->ragged |= from->sums.ragged;
    }
    if (collect_hosts(b) < 0)
        return -1;
    for (size_t i = 0; i < r->n_comms; i++) {
        unique_hosts(&r->comms[i]);
        if (comm_type_explain(&r->comms[i]) < 0)
            return -1;
    }
    return 0;
}
