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
    struct suspect *suspects;
    size_t n;
    struct jp_findings *findings;
};

/* What others waited for it, in all its communicators. */
static double cost_of(const struct blame *b, size_t process)
{
    const struct jp_process *who = &b->p->processes[process];
    double cost = 0;

    for (size_t i = who->first; i < who->first + who->n; i++)
        cost += (double) b->r->ranks[b->p->by_process[i]].caused_us;
    return cost;
}

static void collect(struct blame *b)
{
    for (size_t p = 0; p < b->p->n_processes; p++) {
        const struct jp_process *who = &b->p->processes[p];
        size_t best = SIZE_MAX;

        for (size_t i = who->first; i < who->first + who->n; i++) {
            size_t rank = b->p->by_process[i];

            if (b->lateness[rank].late &&
                (best == SIZE_MAX ||
                 b->r->ranks[rank].timed_ops > b->r->ranks[best].timed_ops))
                best = rank;
        }
        if (best != SIZE_MAX)
            b->suspects[b->n++] = (struct suspect){p, best, cost_of(b, p)};
    }
}

/* Did others wait for it long enough to matter? Who is late, but never last,
 * kept nobody waiting. */
static bool matters(const struct blame *b, const struct suspect *s)
{
    return s->cost_us > limits_table[JP_LIMIT_LATE_SHARE].value *
                            b->lateness[s->rank].peers_us;
}

#define SAME_EXCESS 0.7 /* of another's, to be explained by it */

/* Without a record of Send and Recv the waits of a pipeline do not show: the
 * other stages of a late rank's replica look late themselves where replicas
 * meet. The cause is who is late where ranks synchronise most often. */
static void drop_followers(struct blame *b)
{
    uint64_t most = 0;
    double excess = 0;
    size_t kept = 0;

    if (b->r->quality.p2p_records)
        return;
    for (size_t i = 0; i < b->n; i++)
        if (b->r->ranks[b->suspects[i].rank].timed_ops > most)
            most = b->r->ranks[b->suspects[i].rank].timed_ops;
    for (size_t i = 0; i < b->n; i++)
        if (b->r->ranks[b->suspects[i].rank].timed_ops == most)
            excess = fmax(excess, b->lateness[b->suspects[i].rank].excess_us);
    for (size_t i = 0; i < b->n; i++) {
        size_t rank = b->suspects[i].rank;

        if (b->r->ranks[rank].timed_ops == most ||
            b->lateness[rank].excess_us * SAME_EXCESS > excess)
            b->suspects[kept++] = b->suspects[i];
    }
    b->n = kept;
}

/* Processes of each host, and the late ones among them. */
static void count_hosts(const struct blame *b, size_t *all, size_t *late)
{
    for (size_t i = 0; i < b->p->n_processes; i++)
        all[b->p->processes[i].host_at]++;
    for (size_t i = 0; i < b->n; i++)
        late[b->p->processes[b->suspects[i].process].host_at]++;
}

static const struct jp_rank *rank_of(const struct blame *b,
                                     const struct suspect *s)
{
    return &b->r->ranks[s->rank];
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

/* Too many for one cause: a program that gives some ranks more to do. */
static int add_many(struct blame *b, size_t n)
{
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_IMBALANCE);
    double share = 0;

    if (!f)
        return -1;
    for (size_t i = 0; i < b->n; i++)
        share += share_of(&b->lateness[b->suspects[i].rank]) / (double) b->n;
    f->share = share;
    snprintf(f->text, sizeof(f->text),
             "%zu of %zu ranks arrive late on their own, among them rank %u of "
             "%.40s: some have more to do than others (%s of communication)",
             n, b->p->n_processes, rank_of(b, b->suspects)->rank,
             name_of(&b->r->comms[rank_of(b, b->suspects)->comm]),
             FIG_SHARE(share));
    snprintf(f->next, sizeof(f->next),
             "look at how layers, experts or samples are split among ranks");
    return 0;
}

/* Are they all ranks of one communicator that spans nodes, and nobody else? A
 * stage of a pipeline that has more layers than others is so. */
static bool is_stage(const struct blame *b)
{
    size_t *late = calloc(b->r->n_comms + 1, sizeof(*late));
    bool found = false;

    for (size_t i = 0; late && i < b->n; i++) {
        const struct jp_process *who = &b->p->processes[b->suspects[i].process];

        for (size_t k = who->first; k < who->first + who->n; k++)
            late[b->r->ranks[b->p->by_process[k]].comm]++;
    }
    for (size_t c = 0; late && c < b->r->n_comms; c++)
        found |= late[c] == b->n && b->r->comms[c].n_ranks == b->n &&
                 b->r->comms[c].n_hosts > 1;
    free(late);
    return found && b->n > MAX_LATE_RANKS;
}

static int tell(struct blame *b, const size_t *all, const size_t *late)
{
    size_t single = 0;

    if (is_stage(b))
        return add_many(b, b->n);
    for (size_t i = 0; i < b->n; i++) {
        size_t host = b->p->processes[b->suspects[i].process].host_at;

        single += !is_node(b, late[host], all[host]);
    }
    for (size_t h = 0; h < b->p->n_hosts; h++)
        if (is_node(b, late[h], all[h]) && add_node(b, h, late[h], all[h]) < 0)
            return -1;
    if (single > MAX_LATE_RANKS)
        return add_many(b, single);
    for (size_t i = 0; i < b->n; i++) {
        size_t host = b->p->processes[b->suspects[i].process].host_at;

        if (!is_node(b, late[host], all[host]) && matters(b, &b->suspects[i]) &&
            add_rank(b, &b->suspects[i]) < 0)
            return -1;
    }
    return 0;
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
    if (all && late && b.suspects) {
        collect(&b);
        drop_followers(&b);
        count_hosts(&b, all, late);
        rc = tell(&b, all, late);
    }
    free(b.suspects);
    free(all);
    free(late);
    return rc;
}
