/* blame.c - from late ranks to findings: once for each cause. */
#include "orchestrator/insight/late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"

#define MAX_LATE_RANKS 4 /* more are no single cause */

/* A process and the rank of it that says most about its lateness. */
struct suspect {
    size_t process;
    size_t rank; /* of the result: where it synchronises most often */
    double cost_us;
};

struct blame {
    const struct jp_result *r;
    const struct jp_people *p;
    const struct jp_lateness *lateness;
    struct suspect *suspects, *likes; /* likes: late as all of their role */
    size_t n, n_likes;
    double *told_us; /* [process] excess of those told; 0: others */
    struct jp_findings *findings;
};

static const struct jp_rank *rank_of(const struct blame *b,
                                     const struct suspect *s)
{
    return &b->r->ranks[s->rank];
}

/* What a communicator's other ranks waited for this one in AlltoAll. */
static double grouped_cost(const struct blame *b, size_t rank)
{
    size_t c = b->r->ranks[rank].comm;
    double own = b->lateness[rank].grouped_us, cost = 0;

    for (size_t k = b->p->comm_start[c]; own > 0 && k < b->p->comm_start[c + 1];
         k++)
        cost += fmax(b->lateness[k].grouped_us - own, 0);
    return cost;
}

/* What others waited for it, in all its communicators. */
static double cost_of(const struct blame *b, size_t process)
{
    const struct jp_process *who = &b->p->processes[process];
    double cost = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];

        cost += (double) b->r->ranks[rank].caused_us + grouped_cost(b, rank);
    }
    return cost;
}

/* Of the process' ranks that are so, the one that synchronises most often. */
static size_t most_telling(const struct blame *b, size_t process, bool likes)
{
    const struct jp_process *who = &b->p->processes[process];
    size_t best = SIZE_MAX;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];
        const struct jp_lateness *x = &b->lateness[rank];

        if ((likes ? x->with_likes : x->late) &&
            (best == SIZE_MAX ||
             b->r->ranks[rank].timed_ops > b->r->ranks[best].timed_ops))
            best = rank;
    }
    return best;
}

static void collect(struct blame *b)
{
    for (size_t p = 0; p < b->p->n_processes; p++) {
        size_t rank = most_telling(b, p, false);

        if (rank != SIZE_MAX)
            b->suspects[b->n++] = (struct suspect){p, rank, cost_of(b, p)};
        rank = most_telling(b, p, true);
        if (rank != SIZE_MAX)
            b->likes[b->n_likes++] = (struct suspect){p, rank, 0};
    }
}

/* Did others wait for it long enough to be told? */
static bool costs_much(const struct blame *b, const struct suspect *s)
{
    return s->cost_us > limits_table[JP_LIMIT_LATE_SHARE].value *
                            b->lateness[s->rank].peers_us;
}

/* Does the process share a communicator with a suspect that is told, and later
 * than that excess? */
static bool is_near_later(const struct blame *b, size_t process,
                          double excess_us)
{
    const struct jp_process *who = &b->p->processes[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t c = b->r->ranks[b->p->by_process[i]].comm;

        for (size_t k = b->p->comm_start[c]; k < b->p->comm_start[c + 1]; k++)
            if (b->told_us[b->p->of_rank[k]] > excess_us)
                return true;
    }
    return false;
}

/* Who is late, but never last, kept nobody waiting; unless behind somebody who
 * is later still, or who waits for such a one elsewhere: were that one mended,
 * it would be the last. */
static bool is_behind(const struct blame *b, const struct suspect *s)
{
    size_t c = rank_of(b, s)->comm;
    const struct jp_lateness *own = &b->lateness[s->rank];

    for (size_t k = b->p->comm_start[c]; k < b->p->comm_start[c + 1]; k++)
        if (b->lateness[k].arrival_us > own->arrival_us &&
            is_near_later(b, b->p->of_rank[k], own->excess_us))
            return true;
    return false;
}

/* The first process of a set of them, sets being trees. */
static size_t root_of(size_t *up, size_t process)
{
    while (up[process] != process)
        process = up[process] = up[up[process]];
    return process;
}

/* Fills up[]: processes that communicators join, but for one of all of them. A
 * pipeline's stages share none of these. */
static void join_stages(const struct blame *b, size_t *up)
{
    for (size_t i = 0; i < b->p->n_processes; i++)
        up[i] = i;
    for (size_t c = 0; c < b->r->n_comms; c++) {
        size_t from = b->p->comm_start[c], to = b->p->comm_start[c + 1];

        if (to - from < 2 || to - from == b->p->n_processes)
            continue;
        for (size_t k = from + 1; k < to; k++)
            up[root_of(up, b->p->of_rank[k])] =
                root_of(up, b->p->of_rank[from]);
    }
}

#define SAME_EXCESS 0.7 /* of another's, to be explained by it */

/* Does the suspect's lateness come from a leading one's, in another stage? */
static bool follows(const struct blame *b, const struct suspect *s,
                    uint64_t most, size_t *up)
{
    double excess = 0;

    if (rank_of(b, s)->timed_ops == most)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *lead = &b->suspects[i];

        if (rank_of(b, lead)->timed_ops != most)
            continue;
        if (root_of(up, lead->process) == root_of(up, s->process))
            return false;
        excess = fmax(excess, b->lateness[lead->rank].excess_us);
    }
    return b->lateness[s->rank].excess_us * SAME_EXCESS <= excess;
}

/* Without a record of Send and Recv the waits of a pipeline do not show: the
 * other stages of a late rank's replica look late themselves where replicas
 * meet. The cause is who is late where ranks synchronise most often. */
static int drop_followers(struct blame *b)
{
    size_t *up, kept = 0;
    uint64_t most = 0;
    bool *drop;
    int rc = -1;

    if (b->r->quality.p2p_records)
        return 0;
    up = calloc(b->p->n_processes + 1, sizeof(*up));
    drop = calloc(b->n + 1, sizeof(*drop));
    if (up && drop) {
        join_stages(b, up);
        for (size_t i = 0; i < b->n; i++)
            if (rank_of(b, &b->suspects[i])->timed_ops > most)
                most = rank_of(b, &b->suspects[i])->timed_ops;
        for (size_t i = 0; i < b->n; i++)
            drop[i] = follows(b, &b->suspects[i], most, up);
        for (size_t i = 0; i < b->n; i++)
            if (!drop[i])
                b->suspects[kept++] = b->suspects[i];
        b->n = kept;
        rc = 0;
    }
    free(drop);
    free(up);
    return rc;
}

/* Processes of each host, and the late ones among them. */
static void count_hosts(const struct blame *b, size_t *all, size_t *late)
{
    for (size_t i = 0; i < b->p->n_processes; i++)
        all[b->p->processes[i].host_at]++;
    for (size_t i = 0; i < b->n; i++)
        late[b->p->processes[b->suspects[i].process].host_at]++;
}

static const char *name_of(const struct jp_comm *comm)
{
    return *comm->name && strcmp(comm->name, "unknown") ? comm->name : comm->id;
}

/* Its excess a share of what its peers spend in communication. */
static double share_of(const struct jp_lateness *l)
{
    return l->peers_us > 0 ? fmin(l->excess_us / l->peers_us, 1) : NAN;
}

static int add_rank(struct blame *b, const struct suspect *s)
{
    const struct jp_process *who = &b->p->processes[s->process];
    const struct jp_rank *rank = rank_of(b, s);
    const struct jp_comm *comm = &b->r->comms[rank->comm];
    const struct jp_lateness *l = &b->lateness[s->rank];
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_LATE_RANK);
    char world[40] = "";

    if (!f)
        return -1;
    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->share = share_of(l);
    f->cost_us = s->cost_us;
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    if (who->world_rank >= 0 && comm->n_ranks < b->p->n_processes)
        snprintf(world, sizeof(world), ", %lld of the job",
                 (long long) who->world_rank);
    snprintf(f->text, sizeof(f->text),
             "rank %u of %.40s%s (%.64s, pid %lld) arrived late on its own: by "
             "%s an operation, last in %s of %s; cost %s of GPU time, %s of "
             "communication",
             rank->rank, name_of(comm), world, who->host, (long long) who->pid,
             FIG_US(l->arrival_us / (double) rank->timed_ops),
             FIG_SHARE(rank->last_share), FIG_COUNT(rank->timed_ops),
             FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "look at that process: clocks and temperature of its GPU, data "
             "loading, garbage collection, other work on its cores");
    return 0;
}

/* The host's suspects become one finding. */
static int add_node(struct blame *b, size_t host, size_t late, size_t all)
{
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_LATE_NODE);
    double share = 0, cost = 0, arrival = 0;
    const struct suspect *first = NULL;

    if (!f)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];
        const struct jp_lateness *l = &b->lateness[s->rank];

        if (b->p->processes[s->process].host_at != host)
            continue;
        first = first ? first : s;
        share += share_of(l) / (double) late;
        cost += s->cost_us;
        arrival += l->arrival_us / (double) rank_of(b, s)->timed_ops /
                   (double) late;
    }
    f->comm = first ? (int64_t) rank_of(b, first)->comm : -1;
    f->share = share;
    f->cost_us = cost;
    if (first)
        snprintf(f->host, sizeof(f->host), "%s",
                 b->p->processes[first->process].host);
    snprintf(
        f->text, sizeof(f->text),
        "node %.64s arrived late: %zu of its %zu ranks, by %s an operation; "
        "cost %s of GPU time, %s of communication",
        f->host, late, all, FIG_US(arrival), FIG_US(cost), FIG_SHARE(share));
    snprintf(f->next, sizeof(f->next),
             "look at that node: power and clock limits, cooling, file system "
             "mounts, other jobs' processes");
    return 0;
}

/* Late ranks where most of a node is late are the node; so are half of many,
 * and nobody elsewhere: the others' lateness is too little to be told then. */
static bool is_node(const struct blame *b, size_t late, size_t all)
{
    return (late >= 2 && 4 * late >= 3 * all) ||
           (late >= 3 && 2 * late >= all && late == b->n);
}

/* Too many for one cause, or all of one role: a program that gives some ranks
 * more to do. */
static int add_many(struct blame *b, const struct suspect *list, size_t n)
{
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_IMBALANCE);
    double share = 0;

    if (!f)
        return -1;
    for (size_t i = 0; i < n; i++)
        share += share_of(&b->lateness[list[i].rank]) / (double) n;
    f->share = share;
    snprintf(f->text, sizeof(f->text),
             "%zu of %zu ranks arrive late on their own, among them rank %u of "
             "%.40s: some have more to do than others (%s of communication)",
             n, b->p->n_processes, rank_of(b, list)->rank,
             name_of(&b->r->comms[rank_of(b, list)->comm]), FIG_SHARE(share));
    snprintf(f->next, sizeof(f->next),
             "look at how layers, experts or samples are split among ranks");
    return 0;
}

/* Nodes that are late are told, and their ranks no suspects any more. */
static int tell_nodes(struct blame *b, const size_t *all, const size_t *late)
{
    bool *is = calloc(b->p->n_hosts + 1, sizeof(*is));
    size_t kept = 0;
    int rc = is ? 0 : -1;

    for (size_t h = 0; rc == 0 && h < b->p->n_hosts; h++) {
        is[h] = is_node(b, late[h], all[h]);
        rc = is[h] ? add_node(b, h, late[h], all[h]) : 0;
    }
    for (size_t i = 0; rc == 0 && i < b->n; i++) {
        size_t process = b->suspects[i].process;

        if (is[b->p->processes[process].host_at])
            b->told_us[process] = b->lateness[b->suspects[i].rank].excess_us;
        else
            b->suspects[kept++] = b->suspects[i];
    }
    b->n = kept;
    free(is);
    return rc;
}

static int tell_ranks(struct blame *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (costs_much(b, &b->suspects[i]))
            b->told_us[b->suspects[i].process] =
                b->lateness[b->suspects[i].rank].excess_us;
    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];

        if ((costs_much(b, s) || is_behind(b, s)) && add_rank(b, s) < 0)
            return -1;
    }
    return 0;
}

static int tell(struct blame *b, const size_t *all, const size_t *late)
{
    if (!b->n && b->n_likes)
        return add_many(b, b->likes, b->n_likes);
    if (tell_nodes(b, all, late) < 0)
        return -1;
    return b->n > MAX_LATE_RANKS ? add_many(b, b->suspects, b->n)
                                 : tell_ranks(b);
}

int late_findings(const struct jp_result *r, const struct jp_people *p,
                  const struct jp_lateness *lateness,
                  struct jp_findings *findings)
{
    struct blame b = {
        .r = r, .p = p, .lateness = lateness, .findings = findings};
    size_t *all = calloc(p->n_hosts + 1, sizeof(*all));
    size_t *late = calloc(p->n_hosts + 1, sizeof(*late));
    int rc = -1;

    b.suspects = calloc(p->n_processes + 1, sizeof(*b.suspects));
    b.likes = calloc(p->n_processes + 1, sizeof(*b.likes));
    b.told_us = calloc(p->n_processes + 1, sizeof(*b.told_us));
    if (all && late && b.suspects && b.likes && b.told_us) {
        collect(&b);
        rc = drop_followers(&b);
        count_hosts(&b, all, late);
        rc = rc < 0 ? rc : tell(&b, all, late);
    }
    free(b.suspects);
    free(b.likes);
    free(b.told_us);
    free(all);
    free(late);
    return rc;
}
