/* replay_without.c - replay the run without faults, to find what they cost.
 *
 * replay_gains is the entry. prepare finds what each cause changes, once: own
 * times of late processes (mend), or the network's times (hasten_links).
 * length_without makes the changes of some of the causes and runs one pass; own
 * times of stages (even_stages) are made of those that are left then.
 */
#include "orchestrator/replay/replay_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"

enum {
    PEERS = 16,   /* peers to compare with, at most */
    POOL = 4,     /* peers that show how own times vary by chance */
    WINDOWS = 16, /* parts of the run that are compared each by itself */
    HISTORY = 32, /* operations of a link that share one correction */
    LEAST = 5     /* operations from which the usual time is learnt, at least */
};

/* A time that is so many times as long as usual, in that part of the run and at
 * that place of a step, is a stall. */
#define STALL 1.5

/* Where more than this share of a stream's operations is hidden, those that are
 * known are not the usual ones. */
#define SELDOM 0.5

/* A link is mended only if it is slower than usual by this factor: less is
 * noise, and mending noise would invent a gain. */
#define SLOW 1.03

/* --- peers ---------------------------------------------------------------- */

/* Writes a process's events to order (room for all of them) by stream, and in
 * each as they came; streams are in the order of their first event. Returns the
 * signature of that sequence: processes with the same one do the same work and
 * have the same place in a pipeline (the first stage sends where the last one
 * receives). Uses x->streams as scratch. */
static uint64_t sort_streams(struct replay *x, size_t process, uint32_t *order)
{
    uint32_t from = x->first[process], n = replay_count(x, process), at = 0;
    uint64_t hash = n;

    for (uint32_t i = from; i < from + n; i++)
        x->streams[x->ops[x->events[i].op].comm].count = 0;
    for (uint32_t i = from; i < from + n; i++)
        x->streams[x->ops[x->events[i].op].comm].count++;
    /* Counts become indices (a counting sort). stamp 0: the stream has none
     * yet. */
    for (uint32_t i = from; i < from + n; i++)
        x->streams[x->ops[x->events[i].op].comm].stamp = 0;
    for (uint32_t i = from; i < from + n; i++) {
        struct replay_stream *s = &x->streams[x->ops[x->events[i].op].comm];

        if (!s->stamp) {
            s->stamp = 1;
            s->last = at;
            at += s->count;
        }
        order[s->last++] = i;
    }
    for (uint32_t k = 0; k < n; k++)
        hash = replay_mix(hash ^ replay_work_of(x, order[k]));
    return hash;
}

/* A process and the peers it is compared with: processes of the same signature.
 */
struct peers {
    uint32_t *mine;          /* events of the process, in order of streams */
    uint32_t *theirs[PEERS]; /* events of the others, in the same order */
    size_t n;
    uint32_t events;
};

static void peers_fini(struct peers *peers)
{
    free(peers->mine);
    for (size_t i = 0; i < PEERS; i++)
        free(peers->theirs[i]);
}

/* Finds the peers of a process, from the next one on: neighbours are most
 * alike. culprit: [process] no peers. Returns 0 or -1. */
static int find_peers(struct replay *x, const bool *culprit, size_t process,
                      struct peers *peers)
{
    uint32_t n = replay_count(x, process);
    uint64_t signature;

    *peers = (struct peers){.events = n};
    peers->mine = calloc(n + 1, sizeof(*peers->mine));
    if (!peers->mine)
        return -1;
    signature = sort_streams(x, process, peers->mine);
    for (size_t k = 1; k < x->p->n && n && peers->n < PEERS; k++) {
        size_t other = (process + k) % x->p->n;
        uint32_t *order = peers->theirs[peers->n];

        if (replay_count(x, other) != n || culprit[other])
            continue;
        if (!order && !(order = calloc(n + 1, sizeof(*order))))
            return -1;
        peers->theirs[peers->n] = order;
        peers->n += sort_streams(x, other, order) == signature;
    }
    return 0;
}

/* Returns the median of the peers' own times at position k, without one of them
 * (SIZE_MAX: with all). */
static double peers_median(const struct replay *x, const struct peers *peers,
                           uint32_t k, size_t without)
{
    double v[PEERS];
    size_t n = 0;

    for (size_t q = 0; q < peers->n; q++)
        if (q != without)
            v[n++] = (double) x->events[peers->theirs[q][k]].own_us;
    return stats_median(v, n);
}

/* --- late or stalling processes ------------------------------------------- */

/* A process's excess over its peers at position k. */
struct excess {
    double us;
    uint32_t k;
};

static int by_excess(const void *a, const void *b)
{
    const struct excess *x = a, *y = b;

    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    return x->k < y->k ? -1 : x->k > y->k;
}

/* Returns the first position of a window of the run. */
static uint32_t window_begin(const struct peers *peers, unsigned window)
{
    return (uint32_t) ((uint64_t) peers->events * window / WINDOWS);
}

/* Returns the window of a position. */
static unsigned window_of(const struct peers *peers, uint32_t k)
{
    return (unsigned) ((uint64_t) k * WINDOWS / peers->events);
}

/* Returns true if most peers waited in line at position k while the process did
 * not. Their own time is hidden by the wait, and unknown. */
static bool is_hidden(const struct replay *x, const struct peers *peers,
                      uint32_t k)
{
    size_t queued = 0;

    for (size_t q = 0; q < peers->n; q++)
        queued += (double) x->events[peers->theirs[q][k]].queued;
    return 2 * queued > peers->n && !x->events[peers->mine[k]].queued;
}

/* Own times of the process and of its peers, in sum. */
struct sums {
    double mine, theirs;
};

/* Gets both at position k. False: one of them is not known. */
static bool find_known(const struct replay *x, const struct peers *peers,
                       uint32_t k, struct sums *at)
{
    const struct replay_event *e = &x->events[peers->mine[k]];

    if (e->queued || is_hidden(x, peers, k))
        return false;
    at->mine = (double) e->own_us;
    at->theirs = peers_median(x, peers, k, SIZE_MAX);
    return at->mine > 0 && at->theirs > 0;
}

/* --- where peers waited in line ------------------------------------------- */

/* A position of a process, and its place: its number since an operation of its
 * stream last followed the end of the one before, as the first of a step does.
 */
struct placed {
    uint32_t stream, place, k;
    bool hidden, known;
    struct sums own; /* if known */
    double usual;    /* likewise: theirs by mine, the median of the place */
};

static void find_places(const struct replay *x, const struct peers *peers,
                        struct placed *at)
{
    uint32_t stream = UINT32_MAX, place = 0;

    for (uint32_t k = 0; k < peers->events; k++) {
        const struct replay_event *e = &x->events[peers->mine[k]];

        place = x->ops[e->op].comm == stream && e->after_start ? place + 1 : 0;
        stream = x->ops[e->op].comm;
        at[k] = (struct placed){.stream = stream,
                                .place = place,
                                .k = k,
                                .hidden = is_hidden(x, peers, k)};
        at[k].known = find_known(x, peers, k, &at[k].own);
    }
}

/* Returns the first one of another place than that of at[i], or n. */
static size_t end_of_place(const struct placed *at, size_t i, size_t n)
{
    size_t end = i;

    while (end < n && at[end].stream == at[i].stream &&
           at[end].place == at[i].place)
        end++;
    return end;
}

static int compare_places(const struct placed *x, const struct placed *y)
{
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return 0;
}

static int compare_times(double x, double y)
{
    return (x > y) - (x < y);
}

static int by_ratio(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = compare_places(x, y);

    return order ? order
                 : compare_times(x->own.theirs * y->own.mine,
                                 y->own.theirs * x->own.mine);
}

/* Those that are known first, by what the peers take. */
static int by_theirs(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = compare_places(x, y);

    if (!order && x->known != y->known)
        return x->known ? -1 : 1;
    if (!order && x->known)
        order = compare_times(x->own.theirs, y->own.theirs);
    return order ? order : (x->k > y->k) - (x->k < y->k);
}

/* Sets what is usual at the place of each position. known: room for n. */
static void set_usual(struct placed *at, size_t n, struct placed *known)
{
    size_t found = 0, end;

    for (size_t i = 0; i < n; i++)
        if (at[i].known)
            known[found++] = at[i];
    qsort(known, found, sizeof(*known), by_ratio);
    for (size_t i = 0; i < found; i = end) {
        const struct sums *middle;

        end = end_of_place(known, i, found);
        middle = &known[i + (end - i) / 2].own;
        for (size_t k = i; k < end; k++)
            at[known[k].k].usual = middle->theirs / middle->mine;
    }
}

/* Returns the peers' own times divided by those of the process, in sum over
 * positions where both are known; at most 1. Stalls do not count: what is
 * longer now and then does not make anything else longer. NAN: none is known.
 * v: room for n. */
static double ratio_of_known(const struct placed *at, size_t n, double *v)
{
    struct sums sums = {0};
    size_t found = 0;
    double usual;

    for (size_t i = 0; i < n; i++)
        if (at[i].known)
            v[found++] = at[i].own.theirs / at[i].own.mine;
    if (!found)
        return NAN;
    usual = stats_median(v, found);
    for (size_t i = 0; i < n; i++)
        if (at[i].known && at[i].own.mine * fmin(usual, at[i].usual) <=
                               STALL * at[i].own.theirs) {
            sums.mine += at[i].own.mine;
            sums.theirs += at[i].own.theirs;
        }
    return fmin(sums.theirs / sums.mine, 1);
}

/* How a process is mended where it is hidden. */
struct hidden {
    /* By how much it is shortened in each window of the run: who is late for a
     * part of it is so there. */
    double by_known[WINDOWS]; /* by what is known before other operations */
    double by_place[WINDOWS]; /* by what peers usually take at that place of a
                                 step */
    bool *placed;             /* [position] by_place is for it */
    bool any;                 /* something is hidden */
};

static void hidden_fini(struct hidden *h)
{
    free(h->placed);
}

/* Sets by_known. Where nothing is known in a window, the run as a whole counts.
 * at: by position. 0 or -1. */
static int set_by_known(const struct peers *peers, struct placed *at,
                        struct hidden *h)
{
    struct placed *known = calloc((size_t) peers->events + 1, sizeof(*known));
    double *v = calloc((size_t) peers->events + 1, sizeof(*v)), all;

    if (!known || !v) {
        free(known);
        free(v);
        return -1;
    }
    set_usual(at, peers->events, known);
    all = ratio_of_known(at, peers->events, v);
    for (unsigned w = 0; w < WINDOWS; w++) {
        uint32_t from = window_begin(peers, w);

        h->by_known[w] =
            ratio_of_known(at + from, window_begin(peers, w + 1) - from, v);
        if (isnan(h->by_known[w]))
            h->by_known[w] = isnan(all) ? 1 : all;
    }
    free(known);
    free(v);
    return 0;
}

/* Returns the share of hidden positions in the stream of at[i], of which that
 * is the first. Sets *end to the first one of the next stream. */
static double hidden_share(const struct placed *at, size_t i, size_t n,
                           size_t *end)
{
    size_t hidden = 0, k;

    for (k = i; k < n && at[k].stream == at[i].stream; k++)
        hidden += at[k].hidden;
    *end = k;
    return (double) hidden / (double) (k - i);
}

/* Sets by_place and placed, from positions of which the places are known often
 * enough: a rank that is always late hides all that follows its first operation
 * of a step, and what is known then is not usual. at: by_theirs. */
static void set_by_place(const struct replay *x, const struct peers *peers,
                         const struct placed *at, struct hidden *h)
{
    struct sums sums[WINDOWS] = {{0}};
    size_t end, stream = 0;
    bool often = false;

    for (size_t i = 0; i < peers->events; i = end) {
        size_t known = 0;

        if (i == stream)
            often = hidden_share(at, i, peers->events, &stream) < SELDOM;
        end = end_of_place(at, i, peers->events);
        while (i + known < end && at[i + known].known)
            known++;
        if (!often || known < LEAST)
            continue;
        for (size_t k = i; k < end; k++) {
            struct sums *to = &sums[window_of(peers, at[k].k)];

            if (!at[k].hidden)
                continue;
            h->placed[at[k].k] = true;
            to->mine += (double) x->events[peers->mine[at[k].k]].own_us;
            to->theirs += at[i + known / 2].own.theirs;
        }
    }
    for (unsigned w = 0; w < WINDOWS; w++)
        h->by_place[w] =
            sums[w].mine > 0 ? fmin(sums[w].theirs / sums[w].mine, 1) : 1;
}

/* Finds how a process is mended where it is hidden. 0 or -1. */
static int find_hidden(const struct replay *x, const struct peers *peers,
                       struct hidden *h)
{
    struct placed *at;
    int rc;

    *h = (struct hidden){.placed = NULL};
    for (uint32_t k = 0; k < peers->events && !h->any; k++)
        h->any = is_hidden(x, peers, k);
    if (!h->any)
        return 0;
    at = calloc((size_t) peers->events + 1, sizeof(*at));
    h->placed = calloc((size_t) peers->events + 1, sizeof(*h->placed));
    rc = at && h->placed ? 0 : -1;
    if (rc == 0) {
        find_places(x, peers, at);
        rc = set_by_known(peers, at, h);
    }
    if (rc == 0) {
        qsort(at, peers->events, sizeof(*at), by_theirs);
        set_by_place(x, peers, at, h);
    }
    free(at);
    return rc;
}

/* Returns what a process takes at a hidden position after it is mended. */
static float mend_hidden(const struct peers *peers, const struct hidden *h,
                         uint32_t k, float own)
{
    unsigned window = window_of(peers, k);

    return own *
           (float) (h->placed[k] ? h->by_place[window] : h->by_known[window]);
}

/* --- mended own times ----------------------------------------------------- */

/* Mends a process with a single peer, of which the median is not robust: in
 * each window of the run it takes as long as the peer where both are known,
 * distributed over the operations as before. */
static void take_shares(const struct replay *x, const struct peers *peers,
                        float *own)
{
    for (unsigned w = 0; w < WINDOWS; w++) {
        uint32_t from = window_begin(peers, w);
        uint32_t to = window_begin(peers, w + 1);
        double mine = 0, theirs = 0;

        for (uint32_t k = from; k < to; k++) {
            if (is_hidden(x, peers, k))
                continue;
            mine += (double) x->events[peers->mine[k]].own_us;
            theirs += (double) x->events[peers->theirs[0][k]].own_us;
        }
        for (uint32_t k = from; mine > 0 && theirs >= 0 && k < to; k++)
            own[peers->mine[k]] *= (float) (theirs / mine);
    }
}

/* Mends a process: its excess over the peers' median, sorted by size, becomes
 * what a peer exceeds the other peers by, at the same rank of size. So it still
 * varies by chance as its peers do, and its own order of long and short times
 * is kept. Replacing it by the median would remove that scatter as well and
 * overestimate the gain. Returns 0 or -1. */
static int take_excess(const struct replay *x, const struct peers *peers,
                       float *own)
{
    uint32_t n = peers->events;
    size_t pools = peers->n < POOL ? peers->n : POOL;
    struct excess *mine = calloc(n + 1, sizeof(*mine));
    double *pool = calloc(pools * n + 1, sizeof(*pool));
    int rc = mine && pool ? 0 : -1;
    struct hidden hidden = {.placed = NULL};

    if (rc == 0)
        rc = find_hidden(x, peers, &hidden);
    for (uint32_t k = 0; rc == 0 && k < n; k++) {
        mine[k].k = k;
        mine[k].us = (double) x->events[peers->mine[k]].own_us -
                     peers_median(x, peers, k, SIZE_MAX);
        for (size_t q = 0; q < pools; q++)
            pool[q * n + k] = (double) x->events[peers->theirs[q][k]].own_us -
                              peers_median(x, peers, k, q);
    }
    if (rc == 0 && n) {
        qsort(mine, n, sizeof(*mine), by_excess);
        stats_sort(pool, pools * n);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        float *to = &own[peers->mine[mine[i].k]];

        if (is_hidden(x, peers, mine[i].k))
            *to = mend_hidden(peers, &hidden, mine[i].k, *to);
        else
            *to = (float) fmax((double) *to - mine[i].us +
                                   pool[i * pools + pools / 2],
                               fmin((double) *to, 0));
    }
    hidden_fini(&hidden);
    free(mine);
    free(pool);
    return rc;
}

/* Mends a process of a run by its order. By durations alone, own times vary
 * against each other, as whoever is last makes others early: scatter that was
 * put back would be somebody else's. So they become the peers' median. */
static void take_median(const struct replay *x, const struct peers *peers,
                        float *own)
{
    for (uint32_t k = 0; k < peers->events; k++)
        own[peers->mine[k]] = (float) peers_median(x, peers, k, SIZE_MAX);
}

/* Gives a process the own times that it would have without the cause. Nothing
 * changes without a peer. Returns 0 or -1. */
static int mend(struct replay *x, const struct peers *peers, float *own)
{
    if (peers->n == 1)
        take_shares(x, peers, own);
    if (peers->n > 1 && x->kinds) {
        take_median(x, peers, own);
        return 0;
    }
    return peers->n > 1 ? take_excess(x, peers, own) : 0;
}

/* A process that is late or stalls, with its mended own times. */
struct culprit {
    size_t process;
    uint32_t *order; /* its events, in order of streams */
    float *own;      /* of its events, as they come */
    bool hides;      /* others stood in line for it */
};

/* Finds the peers of a culprit: none that is one, too, unless all are. Returns
 * 0 or -1. */
static int find_likes(struct replay *x, const bool *culprit, bool *only,
                      size_t process, struct peers *peers)
{
    int rc = find_peers(x, culprit, process, peers);

    if (rc < 0 || peers->n)
        return rc;
    peers_fini(peers);
    return find_peers(x, only, process, peers);
}

/* Fills a culprit. culprit: [process] of all causes; only: of this one. own:
 * room for all events. Returns 1; 0 if it has no peers; -1 without memory. */
static int mend_culprit(struct replay *x, const bool *culprit, bool *only,
                        float *own, struct culprit *to)
{
    uint32_t n = replay_count(x, to->process);
    struct peers peers;
    int rc = find_likes(x, culprit, only, to->process, &peers);
    bool any = rc == 0 && n && peers.n;

    to->own = calloc((size_t) n + 1, sizeof(*to->own));
    if (rc < 0 || !to->own) {
        peers_fini(&peers);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        own[x->first[to->process] + i] =
            x->events[x->first[to->process] + i].own_us;
    rc = any ? mend(x, &peers, own) : 0;
    memcpy(to->own, own + x->first[to->process], n * sizeof(*own));
    for (uint32_t k = 0; any && k < n && !to->hides; k++)
        to->hides = is_hidden(x, &peers, k);
    to->order = peers.mine;
    peers.mine = NULL;
    peers_fini(&peers);
    return rc < 0 ? -1 : any;
}

/* Shortens the operations of other processes that stood in line for the
 * culprit: they take no longer than the culprit does after it is mended. A
 * process that stood in line for several culprits keeps the longest of these
 * times. released: [event] already shortened for another culprit. Returns 0 or
 * -1. */
static int release(struct replay *x, const struct culprit *c, float *own,
                   bool *released)
{
    uint32_t n = replay_count(x, c->process);
    uint32_t *order = calloc(n + 1, sizeof(*order));
    uint64_t signature;

    if (!order)
        return -1;
    signature = sort_streams(x, c->process, order);
    for (size_t p = 0; p < x->p->n; p++) {
        if (p == c->process || replay_count(x, p) != n ||
            sort_streams(x, p, order) != signature)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = order[k], culprit = c->order[k];
            float most = fminf(x->events[i].own_us, own[culprit]);

            if (!x->events[i].queued || x->events[culprit].queued)
                continue;
            own[i] = released[i] ? fmaxf(own[i], most) : most;
            released[i] = true;
        }
    }
    free(order);
    return 0;
}

/* --- stages --------------------------------------------------------------- */

/* Returns the sum of a process's own times. */
static double sum_own(const struct replay *x, size_t process, const float *own)
{
    double sum = 0;

    for (uint32_t i = x->first[process]; i < x->first[process + 1]; i++)
        sum += (double) own[i];
    return sum;
}

static uint32_t count_stages(const struct replay_cause *cause)
{
    uint32_t stages = 0;

    for (size_t i = 0; i < cause->n; i++)
        if (cause->stage[i] >= stages)
            stages = cause->stage[i] + 1;
    return stages;
}

/* Scales own times so that each stage's processes spend the mean of all stages:
 * the work stays, evenly divided. Returns 0 or -1. */
static int even_stages(const struct replay *x, const struct replay_cause *cause,
                       float *own)
{
    uint32_t stages = count_stages(cause);
    double *sum = calloc(2 * (size_t) stages + 1, sizeof(*sum));
    double *count, mean = 0;

    if (!sum)
        return -1;
    count = sum + stages;
    for (size_t i = 0; i < cause->n; i++) {
        sum[cause->stage[i]] += sum_own(x, cause->processes[i], own);
        count[cause->stage[i]]++;
    }
    for (uint32_t s = 0; s < stages; s++)
        mean += count[s] > 0 ? sum[s] / count[s] / stages : 0;
    for (size_t i = 0; i < cause->n; i++) {
        size_t p = cause->processes[i];
        double stage = sum[cause->stage[i]] / count[cause->stage[i]];

        for (uint32_t k = x->first[p]; stage > 0 && k < x->first[p + 1]; k++)
            own[k] *= (float) (mean / stage);
    }
    free(sum);
    return 0;
}

/* --- slow links ----------------------------------------------------------- */

/* A complete operation, which is compared with its likes. kind: function, sizes
 * and reach; key: the link, that is the communicator and function, or the pair.
 */
struct linked {
    uint64_t kind;
    double at_us;
    uint32_t key, op;
    bool touched; /* by what the finding calls slow */
};

static int by_link(const void *a, const void *b)
{
    const struct linked *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* Returns whether the operation leaves a host. *touched: it is on the host and
 * in the communicator of the cause, as far as the cause names these. */
static bool crosses(const struct replay *x, const struct replay_op *op,
                    const struct replay_cause *cause, bool *touched)
{
    bool away = false, at = false;
    uint32_t home = 0;

    for (uint32_t k = op->first; k < op->first + op->n; k++) {
        const struct jp_process *p =
            &x->p->list[x->events[x->members[k]].process];

        if (k == op->first)
            home = p->host_at;
        away |= p->host_at != home;
        at |= cause->host && *cause->host && !strcmp(p->host, cause->host);
    }
    *touched = (at || !cause->host || !*cause->host) &&
               (cause->comm < 0 || op->comm == (uint64_t) cause->comm);
    return away;
}

/* Lists the complete operations. Returns their number. at_us is their time
 * since 1970 by the process's own clock. */
static size_t list_links(const struct replay *x,
                         const struct replay_cause *cause, struct linked *list)
{
    size_t n = 0;

    for (uint32_t i = 0; i < x->n_ops; i++) {
        const struct replay_op *op = &x->ops[i];
        uint32_t event = x->members[op->first];
        uint32_t p = x->events[event].process;
        struct linked *to = &list[n];
        bool away;

        if (op->n < op->expected)
            continue;
        away = crosses(x, op, cause, &to->touched);
        to->kind = replay_mix(replay_mix(replay_kind_of(x, event) + away) ^
                              (op->loose ? 0 : op->bytes) << 1 ^
                              x->r->comms[op->comm].n_hosts);
        to->key = op->key;
        to->op = i;
        to->at_us = x->arrive[event] - x->begin[p] + (double) x->from_us[p];
        n++;
    }
    return n;
}

/* Returns the median network time of n operations. */
static double median_net(const struct replay *x, const struct linked *list,
                         size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = (double) x->ops[list[i].op].net_us;
    return stats_median(scratch, n);
}

/* Returns how many of a link's operations came before it became slow; they show
 * the usual time. For a steady growth these are the first tenth, and as many as
 * a usual time needs. 0: none. */
static size_t count_before(const struct linked *list, size_t n,
                           const struct replay_cause *cause)
{
    size_t before = 0;

    if (isfinite(cause->from_us)) {
        while (before < n && list[before].at_us < cause->from_us)
            before++;
        return before;
    }
    if (!cause->grows || n <= 2 * (size_t) LEAST)
        return 0;
    return n / 10 > LEAST ? n / 10 : LEAST;
}

/* Scales a link's operations to usual_us, in groups of `step` by the median of
 * each group, where that is clearly slower. Small groups follow a gradual
 * change. scale: [op]. Returns true if anything changed. */
static bool hasten(const struct replay *x, const struct linked *list, size_t n,
                   size_t step, double usual_us, float *scale, double *scratch)
{
    bool any = false;

    for (size_t i = 0; i < n; i += step) {
        size_t m = n - i < step ? n - i : step;
        double now = median_net(x, list + i, m, scratch);

        if (!(now > SLOW * usual_us))
            continue;
        for (size_t k = i; k < i + m; k++)
            scale[list[k].op] = (float) (usual_us / now);
        any = true;
    }
    return any;
}

/* Returns the usual time of a kind: the median of its links' medians. Links
 * that the cause does not touch are used if there are three, since the cause
 * may touch most of them. NAN: too few links. */
static double usual_net(const struct replay *x, const struct linked *list,
                        size_t n, double *medians, double *scratch)
{
    size_t links, end;

    for (int all = 0; all < 2; all++) {
        links = 0;
        for (size_t i = 0; i < n; i = end) {
            for (end = i + 1; end < n && list[end].key == list[i].key; end++)
                ;
            if (all || !list[i].touched)
                medians[links++] = median_net(x, list + i, end - i, scratch);
        }
        if (links > 2)
            return stats_median(medians, links);
    }
    return NAN;
}

/* Mends the links of one kind, by their own past if the finding has a
 * beginning, else by their likes. Returns true if anything changed. */
static bool compare_kind(const struct replay *x, const struct linked *list,
                         size_t n, const struct replay_cause *cause,
                         float *scale, double *medians, double *scratch)
{
    bool own = isfinite(cause->from_us) || cause->grows, any = false;
    double usual = own ? NAN : usual_net(x, list, n, medians, scratch);
    size_t end;

    for (size_t i = 0; i < n; i = end) {
        size_t before;

        for (end = i + 1; end < n && list[end].key == list[i].key; end++)
            ;
        if (!list[i].touched)
            continue;
        before = count_before(list + i, end - i, cause);
        if (own && before >= LEAST)
            any |= hasten(x, list + i + before, end - i - before, HISTORY,
                          median_net(x, list + i, before, scratch), scale,
                          scratch);
        else if (!own && isfinite(usual))
            any |= hasten(x, list + i, end - i, end - i, usual, scale, scratch);
    }
    return any;
}

/* Fills scale[op] of the operations that become faster; 1: as before. Returns
 * 1, 0 if nothing could be mended, -1 without memory. */
static int hasten_links(struct replay *x, const struct replay_cause *cause,
                        float *scale)
{
    struct linked *list = calloc(x->n_ops + 1, sizeof(*list));
    double *medians = calloc(x->n_ops + 1, sizeof(*medians));
    double *scratch = calloc(x->n_ops + 1, sizeof(*scratch)), own;
    size_t n, end;
    int rc = list && medians && scratch ? 0 : -1;

    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < x->n_ops; i++)
        scale[i] = 1;
    replay_pass(x, &own); /* with the original times */
    n = list_links(x, cause, list);
    qsort(list, n, sizeof(*list), by_link);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && list[end].kind == list[i].kind; end++)
            ;
        rc |=
            compare_kind(x, list + i, end - i, cause, scale, medians, scratch);
    }
out:
    free(list);
    free(medians);
    free(scratch);
    return rc;
}

/* --- one cause, or several ------------------------------------------------ */

/* What a cause changes. */
struct change {
    const struct replay_cause *cause;
    bool known; /* it can be taken away */
    struct culprit *culprits;
    size_t n;
    float *scale; /* [op] NET */
};

static void free_changes(struct change *changes, size_t n)
{
    for (size_t i = 0; changes && i < n; i++) {
        for (size_t k = 0; k < changes[i].n; k++) {
            free(changes[i].culprits[k].order);
            free(changes[i].culprits[k].own);
        }
        free(changes[i].culprits);
        free(changes[i].scale);
    }
    free(changes);
}

/* Mends all processes of a cause. It is unknown if one of them has no peers.
 * culprit: [process] of all causes; only, own: scratch. Returns 0 or -1. */
static int prepare_late(struct replay *x, const bool *culprit, bool *only,
                        float *own, struct change *to)
{
    const struct replay_cause *cause = to->cause;
    size_t known = 0;

    memset(only, 0, x->p->n * sizeof(*only));
    for (size_t i = 0; i < cause->n; i++)
        only[cause->processes[i]] = true;
    to->culprits = calloc(cause->n + 1, sizeof(*to->culprits));
    if (!to->culprits)
        return -1;
    for (; to->n < cause->n; to->n++) {
        int rc;

        to->culprits[to->n].process = cause->processes[to->n];
        rc = mend_culprit(x, culprit, only, own, &to->culprits[to->n]);
        if (rc < 0) {
            to->n++;
            return -1;
        }
        known += rc > 0;
    }
    to->known = known && known == cause->n;
    return 0;
}

/* Finds what each cause changes. Returns 0 or -1. */
static int prepare(struct replay *x, const struct replay_cause *causes,
                   size_t n, float *own, struct change *changes)
{
    bool *culprit = calloc(2 * x->p->n + 1, sizeof(*culprit));
    int rc = culprit ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        for (size_t k = 0; causes[i].kind == REPLAY_LATE && k < causes[i].n;
             k++)
            culprit[causes[i].processes[k]] = true;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct change *to = &changes[i];

        to->cause = &causes[i];
        if (causes[i].kind == REPLAY_LATE) {
            rc = prepare_late(x, culprit, culprit + x->p->n, own, to);
        } else if (causes[i].kind == REPLAY_STAGES) {
            to->known = count_stages(&causes[i]) > 1;
        } else if (!x->kinds) {
            to->scale = calloc((size_t) x->n_ops + 1, sizeof(*to->scale));
            rc = to->scale ? hasten_links(x, &causes[i], to->scale) : -1;
            to->known = rc > 0;
            rc = rc < 0 ? -1 : 0;
        }
    }
    free(culprit);
    return rc;
}

/* Makes the own times of a run without the chosen causes. Others stood in line
 * for several culprits, so these are mended before. released: scratch. Returns
 * 0 or -1. */
static int change_own(struct replay *x, const struct change *changes,
                      const bool *chosen, size_t n, float *own, bool *released)
{
    int rc = 0;

    for (uint32_t i = 0; i < x->n_events; i++) {
        own[i] = x->events[i].own_us;
        released[i] = false;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; chosen[i] && k < changes[i].n; k++) {
            const struct culprit *c = &changes[i].culprits[k];

            memcpy(own + x->first[c->process], c->own,
                   replay_count(x, c->process) * sizeof(*own));
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; rc == 0 && chosen[i] && k < changes[i].n; k++)
            if (changes[i].culprits[k].hides)
                rc = release(x, &changes[i].culprits[k], own, released);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (chosen[i] && changes[i].cause->kind == REPLAY_STAGES)
            rc = even_stages(x, changes[i].cause, own);
    return rc;
}

/* Scratch for all that is asked of a list of causes. */
struct asked {
    struct change *changes;
    size_t n;
    bool *chosen;
    float *own;
    bool *released;
    const struct replay_evening *evening; /* NULL: nothing is evened */
};

/* Sets *gain to what the run is shorter by without the chosen causes. By noise
 * a replay may take longer than the run: the gain is 0 then. Returns 0 or -1.
 */
static int gain_without(struct replay *x, const struct asked *a, double *gain)
{
    double one;

    if (change_own(x, a->changes, a->chosen, a->n, a->own, a->released) < 0)
        return -1;
    if (a->evening && replay_even(x, a->evening, a->own) < 0)
        return -1;
    for (size_t i = 0; i < a->n; i++)
        for (uint32_t k = 0;
             a->chosen[i] && a->changes[i].scale && k < x->n_ops; k++)
            x->ops[k].scale = fminf(x->ops[k].scale, a->changes[i].scale[k]);
    x->own = a->own;
    *gain = fmax(1 - replay_pass(x, &one) / x->base_us, 0);
    x->own = NULL;
    for (uint32_t i = 0; i < x->n_ops; i++)
        x->ops[i].scale = 1;
    return 0;
}

/* Fills alone and last of one cause. known: how many can be taken away. Returns
 * 0 or -1. */
static int ask_one(struct replay *x, struct asked *a, size_t which,
                   size_t known, double all, struct replay_gain *gain)
{
    double others;

    if (known == 1) {
        gain->alone = gain->last = all;
        return 0;
    }
    for (size_t i = 0; i < a->n; i++)
        a->chosen[i] = i == which;
    if (gain_without(x, a, &gain->alone) < 0)
        return -1;
    for (size_t i = 0; i < a->n; i++)
        a->chosen[i] = a->changes[i].known && i != which;
    if (gain_without(x, a, &others) < 0)
        return -1;
    gain->last = fmax(all - others, 0);
    return 0;
}

static int ask_gains(struct replay *x, struct asked *a,
                     struct replay_gain *gains, double *all)
{
    size_t known = 0;
    double worth = 0;

    for (size_t i = 0; i < a->n; i++)
        known += a->chosen[i] = a->changes[i].known;
    if (!known)
        return 0;
    if (gain_without(x, a, all) < 0)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        if (!a->changes[i].known)
            continue;
        if (ask_one(x, a, i, known, *all, &gains[i]) < 0)
            return -1;
        worth += replay_worth(&gains[i]);
    }
    for (size_t i = 0; i < a->n; i++)
        if (a->changes[i].known)
            gains[i].share = worth > 0 ? *all * replay_worth(&gains[i]) / worth
                                       : 0;
    return 0;
}

/* Makes scratch for n causes. 0, or -1: no memory; asked_fini in any case. */
static int asked_init(struct asked *a, struct replay *x,
                      const struct replay_cause *causes, size_t n)
{
    *a = (struct asked){
        .changes = calloc(n + 1, sizeof(*a->changes)),
        .n = n,
        .chosen = calloc(n + 1, sizeof(*a->chosen)),
        .own = calloc((size_t) x->n_events + 1, sizeof(*a->own)),
        .released = calloc((size_t) x->n_events + 1, sizeof(*a->released))};
    return a->changes && a->chosen && a->own && a->released
               ? prepare(x, causes, n, a->own, a->changes)
               : -1;
}

static void asked_fini(struct asked *a)
{
    free_changes(a->changes, a->n);
    free(a->chosen);
    free(a->own);
    free(a->released);
}

int replay_gains(struct replay *x, const struct replay_cause *causes, size_t n,
                 struct replay_gain *gains, double *all)
{
    struct asked a;
    int rc;

    *all = NAN;
    for (size_t i = 0; i < n; i++)
        gains[i] = (struct replay_gain){NAN, NAN, NAN};
    rc = asked_init(&a, x, causes, n);
    if (rc == 0)
        rc = ask_gains(x, &a, gains, all);
    asked_fini(&a);
    return rc;
}

int replay_evened(struct replay *x, const struct replay_cause *causes, size_t n,
                  const uint32_t *role, double from, struct replay_evened *out)
{
    struct replay_evening evening = {.role = role, .from = from};
    struct asked a;
    int rc = asked_init(&a, x, causes, n);

    for (size_t i = 0; rc == 0 && i < n; i++)
        a.chosen[i] = a.changes[i].known;
    a.evening = &evening;
    if (rc == 0)
        rc = gain_without(x, &a, &out->whole);
    evening.each = true;
    if (rc == 0)
        rc = gain_without(x, &a, &out->each);
    asked_fini(&a);
    return rc;
}

int replay_scaled(struct replay *x, const double *rate, double from,
                  double *longer_us, double *added_us)
{
    float *own = calloc((size_t) x->n_events + 1, sizeof(*own));
    double one;

    if (!own)
        return -1;
    for (size_t p = 0; p < x->p->n; p++) {
        uint32_t kept = (uint32_t) (from * (double) replay_count(x, p));

        added_us[p] = 0;
        for (uint32_t i = x->first[p]; i < x->first[p + 1]; i++) {
            /* the first one has no own time */
            bool scaled = i > x->first[p] && i >= x->first[p] + kept;
            float was = x->events[i].own_us;
            float more = !scaled       ? 0
                         : x->by_order ? fmaxf((float) rate[p], -was)
                                       : was * (float) rate[p];

            if (x->events[i].place) { /* of one launch: one interval */
                own[i] = own[i - 1];
                continue;
            }
            own[i] = was + more;
            added_us[p] += (double) more;
        }
    }
    x->own = own;
    *longer_us = replay_pass(x, &one) - x->base_us;
    x->own = NULL;
    free(own);
    return 0;
}
