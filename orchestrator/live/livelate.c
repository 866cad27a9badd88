/* livelate.c - find the rank that makes the others wait, from the nodes'
 * snapshots.
 *
 * livelate_add collects the processes and their memberships in communicators.
 * livelate_finish sorts the memberships by communicator, compares each member
 * with the median of the others, and averages a process's results over its
 * communicators, weighted by the time spent in each. The idea is explained in
 * livejoin.h. */
#include "orchestrator/live/livejoin.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

const struct livelate_row livelate_rows[LIVELATE_N_LIMITS] = {
    [LIVELATE_SHARE] = {"share", 0.05,
                        "less cannot be distinguished from chance in half a "
                        "minute of samples; the report detects a hundredth"},
    [LIVELATE_PART] = {"part", 0.15,
                       "means of samples of mixed sizes differ by as much"},
    [LIVELATE_SPREAD] = {"spread", 5,
                         "ranks of one kind differ among themselves anyway"},
    [LIVELATE_FEW] = {"few", 0.1, "few others do not show their spread"},
    [LIVELATE_WEIGHT] = {"weight", 0.1,
                         "ranks that rarely share operations do not wait long "
                         "for each other"},
};

#define LIMIT(name) (livelate_rows[LIVELATE_##name].value)
/* With this many other ranks, their spread is used. */
#define MANY 4

/* --- snapshots ------------------------------------------------------------ */

/* Adds the front's share of time to the membership of its process. first: index
 * of the snapshot's first process. */
static int add_member(struct livelate *late, const struct live_snap *snap,
                      const struct live_front *front, uint32_t first)
{
    const struct live_comm *comm = &snap->comms[front->comm];
    struct livelate_member *m = NULL;
    /* operations per 1,000 s times microseconds each: the share of time is the
     * product / 1e9 */
    double share = (double) front->rate_milli * (double) front->mean_us / 1e9;

    /* Fronts are sorted by communicator, so those of the same rank are near.
     * Searching backwards stops at the first other communicator. */
    for (size_t i = late->n_members; i-- > 0 && !m;) {
        struct livelate_member *at = &late->members[i];

        if (at->process < first || at->hash != comm->hash ||
            at->n_ranks != comm->n_ranks)
            break;
        if (at->process == first + front->rank)
            m = at;
    }
    if (m) {
        m->share += share;
        return 0;
    }
    if (VECTOR_ROOM(late->members, late->n_members + 1, late->members_room) < 0)
        return -1;
    late->members[late->n_members++] =
        (struct livelate_member){.hash = comm->hash,
                                 .n_ranks = comm->n_ranks,
                                 .rank = front->comm_rank,
                                 .process = first + front->rank,
                                 .share = share};
    memcpy(late->members[late->n_members - 1].name, comm->name,
           sizeof(comm->name));
    return 0;
}

int livelate_add(struct livelate *late, const struct live_snap *snap)
{
    uint32_t first = (uint32_t) late->n;

    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        const struct live_rank *r = &snap->ranks[i];
        struct livelate_process *p;

        if (VECTOR_ROOM(late->processes, late->n + 1, late->room) < 0)
            return -1;
        p = &late->processes[late->n++];
        *p = (struct livelate_process){
            .pid = r->pid,
            .task = r->task,
            .rank = -1,
            .share = (double) r->share_permille / 1000,
            .known = r->share_permille && !snap->last};
        memcpy(p->node, snap->node, sizeof(p->node));
    }
    for (uint32_t i = 0; i < snap->n_fronts; i++) {
        const struct live_front *front = &snap->fronts[i];

        /* Send and Recv wait for one named rank only, not for all. */
        if (front->kind == JPR_P2P)
            continue;
        if (add_member(late, snap, front, first) < 0)
            return -1;
    }
    return 0;
}

/* --- the rule ------------------------------------------------------------- */

/* Sorts memberships by communicator, then by rank. */
static int by_comm(const void *a, const void *b)
{
    const struct livelate_member *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Median of sorted values without the one at index `but`, in O(1): the middle
 * indices shift by one if they are at or after it. n is at least 2. */
static double median_without(const double *sorted, size_t n, size_t but)
{
    size_t upper = (n - 1) / 2, lower = (n - 2) / 2;

    upper += upper >= but;
    lower += lower >= but;
    return (n - 1) % 2 ? sorted[upper] : (sorted[lower] + sorted[upper]) / 2;
}

/* One communicator: the shares of its processes, sorted, and their distances
 * from the median, sorted. */
struct peers {
    double *shares, *off;
    size_t n;
    double spread, weight; /* spread: median distance; weight: mean share of
                              time spent in this communicator */
};

/* How much less than `typical` a rank must communicate to be called late: the
 * largest of the limits. With few ranks the spread is unreliable, so a higher
 * fixed limit takes its place. */
static double excess_needed(const struct peers *peers, double typical)
{
    double least = peers->n > MANY ? LIMIT(SHARE) : LIMIT(FEW),
           part = LIMIT(PART) * typical,
           spread = peers->n > MANY ? LIMIT(SPREAD) * peers->spread : 0;

    least = part > least ? part : least;
    return spread > least ? spread : least;
}

static void judge_member(struct livelate *late, const struct peers *peers,
                         const struct livelate_member *m)
{
    struct livelate_process *p = &late->processes[m->process];
    size_t at = 0;
    double typical, seen;

    /* Index of the process's own share, which is left out of the median. */
    while (at + 1 < peers->n && peers->shares[at] < p->share)
        at++;
    typical = median_without(peers->shares, peers->n, at);
    /* Positive: it communicates less than the others, so it spends more time on
     * its own. */
    seen = peers->weight * (typical - p->share);
    p->excess += seen;
    p->needed += peers->weight * excess_needed(peers, typical);
    p->weight += peers->weight;
    /* Remember the communicator that shows most of the excess; the message
     * names it. */
    if (!p->judged || seen > p->most) {
        p->most = seen;
        p->hash = m->hash;
        memcpy(p->name, m->name, sizeof(p->name));
        p->rank = m->rank;
        p->n_ranks = m->n_ranks;
    }
    p->judged = true;
}

/* Whether the member has recent operations here. Nothing is known about the
 * others. */
static bool takes_part(const struct livelate *late,
                       const struct livelate_member *m)
{
    return late->processes[m->process].known && m->share > 0;
}

static void judge_comm(struct livelate *late, struct peers *peers,
                       const struct livelate_member *members, size_t n)
{
    double typical;

    peers->n = 0;
    peers->weight = 0;
    for (size_t i = 0; i < n; i++) {
        if (takes_part(late, &members[i])) {
            peers->shares[peers->n++] =
                late->processes[members[i].process].share;
            peers->weight += members[i].share;
        }
    }
    if (peers->n < 2)
        return;
    qsort(peers->shares, peers->n, sizeof(double), by_value);
    typical = median(peers->shares, peers->n);
    peers->weight /= (double) peers->n;
    /* Ranks that rarely meet in this communicator do not wait long for each
     * other. */
    if (peers->weight <= LIMIT(WEIGHT) * typical)
        return;
    for (size_t i = 0; i < peers->n; i++)
        peers->off[i] = peers->shares[i] > typical ? peers->shares[i] - typical
                                                   : typical - peers->shares[i];
    qsort(peers->off, peers->n, sizeof(double), by_value);
    peers->spread = median(peers->off, peers->n);
    for (size_t i = 0; i < n; i++)
        if (takes_part(late, &members[i]))
            judge_member(late, peers, &members[i]);
}

/* Late processes first, then judged ones, each by falling excess. */
static int by_excess(const void *a, const void *b)
{
    const struct livelate_process *x = a, *y = b;

    if (x->late != y->late)
        return x->late ? -1 : 1;
    if (x->judged != y->judged)
        return x->judged ? -1 : 1;
    return (x->excess < y->excess) - (x->excess > y->excess);
}

int livelate_finish(struct livelate *late)
{
    struct peers peers = {.shares = calloc(late->n_members + 1, sizeof(double)),
                          .off = calloc(late->n_members + 1, sizeof(double))};
    size_t end;
    int rc = peers.shares && peers.off ? 0 : -1;

    if (late->n_members)
        qsort(late->members, late->n_members, sizeof(*late->members), by_comm);
    for (size_t i = 0; rc == 0 && i < late->n_members; i = end) {
        for (end = i + 1;
             end < late->n_members &&
             late->members[end].hash == late->members[i].hash &&
             late->members[end].n_ranks == late->members[i].n_ranks;)
            end++;
        judge_comm(late, &peers, &late->members[i], end - i);
    }
    for (size_t i = 0; i < late->n; i++) {
        struct livelate_process *p = &late->processes[i];

        if (!p->judged)
            continue;
        /* Both sums were weighted by the time spent in each communicator. */
        p->excess /= p->weight;
        p->late = p->excess > p->needed / p->weight;
        late->n_late += p->late;
    }
    if (late->n)
        qsort(late->processes, late->n, sizeof(*late->processes), by_excess);
    free(peers.shares);
    free(peers.off);
    return rc;
}

void livelate_fini(struct livelate *late)
{
    free(late->processes);
    free(late->members);
    *late = (struct livelate){.n = 0};
}
