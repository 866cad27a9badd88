/* whatif.c - replay the run without a fault, to find what mending it gains.
 *
 * whatif_findings is the entry. make_cause turns a finding into a cause;
 * replay_without changes times so as if the cause were gone: own times of late
 * processes (change_own), of stages (even_stages), or the network's times
 * (change_net); one pass then gives the new length. A gain is an estimate under
 * the model of replay.h; where there is nothing to compare with, none is given.
 */
#include "orchestrator/insight/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/stats.h"
#include "orchestrator/insight/limits.h"

enum {
    PEERS = 16, /* peers to compare with, at most */
    POOL = 4,   /* peers that show how own times vary by chance */
    /* parts of the run that are compared if there is a single peer */
    WINDOWS = 16,
    HISTORY = 32, /* operations of a link that share one correction */
    LEAST = 5     /* operations from which the usual time is learnt, at least */
};

/* A link is mended only if it is slower than usual by this factor: less is
 * noise, and mending noise would invent a gain. */
#define SLOW 1.03

/* Returns the number of a process's events. */
static uint32_t count_of(const struct replay *x, size_t process)
{
    return x->first[process + 1] - x->first[process];
}

/* --- peers ---------------------------------------------------------------- */

/* Writes a process's events to order (room for all of them) by stream, and in
 * each as they came; streams are in the order of their first event. Returns the
 * signature of that sequence: processes with the same one do the same work and
 * have the same place in a pipeline (the first stage sends where the last one
 * receives). Uses x->streams as scratch. */
static uint64_t sort_streams(struct replay *x, size_t process, uint32_t *order)
{
    uint32_t from = x->first[process], n = count_of(x, process), at = 0;
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
        hash = replay_mix(hash ^ replay_kind_of(x, order[k]) ^
                          x->events[order[k]].role);
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

/* Returns true if the process is part of the cause; such a process is no peer.
 */
static bool is_in(const struct replay_cause *cause, size_t process)
{
    for (size_t i = 0; i < cause->n; i++)
        if (cause->processes[i] == process)
            return true;
    return false;
}

/* Finds the peers of a process, from the next one on: neighbours are most
 * alike. Returns 0 or -1. */
static int find_peers(struct replay *x, const struct replay_cause *cause,
                      size_t process, struct peers *peers)
{
    uint32_t n = count_of(x, process);
    uint64_t signature;

    *peers = (struct peers){.events = n};
    peers->mine = calloc(n + 1, sizeof(*peers->mine));
    if (!peers->mine)
        return -1;
    signature = sort_streams(x, process, peers->mine);
    for (size_t k = 1; k < x->p->n && n && peers->n < PEERS; k++) {
        size_t other = (process + k) % x->p->n;
        uint32_t *order = peers->theirs[peers->n];

        if (count_of(x, other) != n || is_in(cause, other))
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
            v[n++] = x->events[peers->theirs[q][k]].own_us;
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

/* Mends a process with a single peer, of which the median is not robust: in
 * each window of the run it takes as long as the peer, distributed over the
 * operations as before. */
static void take_shares(const struct replay *x, const struct peers *peers,
                        double *own)
{
    for (unsigned w = 0; w < WINDOWS; w++) {
        uint32_t from = (uint32_t) ((uint64_t) peers->events * w / WINDOWS);
        uint32_t to = (uint32_t) ((uint64_t) peers->events * (w + 1) / WINDOWS);
        double mine = 0, theirs = 0;

        for (uint32_t k = from; k < to; k++) {
            mine += x->events[peers->mine[k]].own_us;
            theirs += x->events[peers->theirs[0][k]].own_us;
        }
        for (uint32_t k = from; mine > 0 && theirs >= 0 && k < to; k++)
            own[peers->mine[k]] *= theirs / mine;
    }
}

/* Returns true if most peers waited in line at position k while the process did
 * not. Their own time is hidden by the wait, and unknown. */
static bool is_hidden(const struct replay *x, const struct peers *peers,
                      uint32_t k)
{
    size_t queued = 0;

    for (size_t q = 0; q < peers->n; q++)
        queued += x->events[peers->theirs[q][k]].queued;
    return 2 * queued > peers->n && !x->events[peers->mine[k]].queued;
}

/* Returns the peers' own times divided by those of the process, at positions
 * where they are known; at most 1. Hidden positions are shortened by it. */
static double hidden_ratio(const struct replay *x, const struct peers *peers)
{
    double mine = 0, theirs = 0;

    for (uint32_t k = 0; k < peers->events; k++)
        if (!is_hidden(x, peers, k) && !x->events[peers->mine[k]].queued) {
            mine += x->events[peers->mine[k]].own_us;
            theirs += peers_median(x, peers, k, SIZE_MAX);
        }
    return mine > 0 && theirs > 0 ? fmin(theirs / mine, 1) : 1;
}

/* Shortens the operations of other processes that stood in line for the
 * culprit: they take no longer than the culprit does after it is mended. A
 * process that stood in line for several culprits keeps the longest of these
 * times. released: [event] already shortened for another culprit. Returns 0 or
 * -1. */
static int release(struct replay *x, const struct peers *peers, size_t process,
                   double *own, bool *released)
{
    uint32_t n = peers->events, *order = calloc(n + 1, sizeof(*order));
    uint64_t signature;
    bool any = false;

    if (!order)
        return -1;
    for (uint32_t k = 0; k < n && !any; k++)
        any = is_hidden(x, peers, k);
    signature = any ? sort_streams(x, process, order) : 0;
    for (size_t p = 0; any && p < x->p->n; p++) {
        if (p == process || count_of(x, p) != n ||
            sort_streams(x, p, order) != signature)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = order[k], culprit = peers->mine[k];
            double most = fmin(x->events[i].own_us, own[culprit]);

            if (!x->events[i].queued || x->events[culprit].queued)
                continue;
            own[i] = released[i] ? fmax(own[i], most) : most;
            released[i] = true;
        }
    }
    free(order);
    return 0;
}

/* Mends a process: its excess over the peers' median, sorted by size, becomes
 * what a peer exceeds the other peers by, at the same rank of size. So it still
 * varies by chance as its peers do, and its own order of long and short times
 * is kept. Replacing it by the median would remove that scatter as well and
 * overestimate the gain. Returns 0 or -1. */
static int take_excess(const struct replay *x, const struct peers *peers,
                       double *own)
{
    uint32_t n = peers->events;
    size_t pools = peers->n < POOL ? peers->n : POOL;
    struct excess *mine = calloc(n + 1, sizeof(*mine));
    double *pool = calloc(pools * n + 1, sizeof(*pool));
    int rc = mine && pool ? 0 : -1;
    double shorter = rc < 0 ? 1 : hidden_ratio(x, peers);

    for (uint32_t k = 0; rc == 0 && k < n; k++) {
        mine[k].k = k;
        mine[k].us = x->events[peers->mine[k]].own_us -
                     peers_median(x, peers, k, SIZE_MAX);
        for (size_t q = 0; q < pools; q++)
            pool[q * n + k] = x->events[peers->theirs[q][k]].own_us -
                              peers_median(x, peers, k, q);
    }
    if (rc == 0 && n) {
        qsort(mine, n, sizeof(*mine), by_excess);
        stats_sort(pool, pools * n);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        double *to = &own[peers->mine[mine[i].k]];

        if (is_hidden(x, peers, mine[i].k))
            *to *= shorter;
        else
            *to = fmax(*to - mine[i].us + pool[i * pools + pools / 2],
                       fmin(*to, 0));
    }
    free(mine);
    free(pool);
    return rc;
}

/* Gives a process the own times that it would have without the cause. Nothing
 * changes without a peer. Returns 0 or -1. */
static int mend(struct replay *x, const struct peers *peers, double *own)
{
    if (peers->n == 1)
        take_shares(x, peers, own);
    return peers->n > 1 ? take_excess(x, peers, own) : 0;
}

/* Mends all processes of a cause. Returns 1; 0 if one of them has no peers,
 * since then the gain is unknown; -1 without memory. */
static int change_own(struct replay *x, const struct replay_cause *cause,
                      double *own)
{
    struct peers *peers = calloc(cause->n + 1, sizeof(*peers));
    bool *released = calloc((size_t) x->n_events + 1, sizeof(*released));
    int rc = peers && released ? 0 : -1;
    size_t told = 0;

    for (size_t i = 0; rc == 0 && i < cause->n; i++) {
        rc = find_peers(x, cause, cause->processes[i], &peers[i]);
        if (rc == 0)
            rc = mend(x, &peers[i], own);
        told += peers[i].events && peers[i].n;
    }
    /* Release only after all are mended: culprits may have waited for each
     * other. */
    for (size_t i = 0; rc == 0 && i < cause->n; i++)
        if (peers[i].n > 1)
            rc = release(x, &peers[i], cause->processes[i], own, released);
    for (size_t i = 0; peers && i < cause->n; i++)
        peers_fini(&peers[i]);
    free(peers);
    free(released);
    return rc < 0 ? -1 : told && told == cause->n;
}

/* --- stages --------------------------------------------------------------- */

/* Returns the sum of a process's own times. */
static double sum_own(const struct replay *x, size_t process)
{
    double sum = 0;

    for (uint32_t i = x->first[process]; i < x->first[process + 1]; i++)
        sum += x->events[i].own_us;
    return sum;
}

/* Scales own times so that each stage's processes spend the mean of all stages:
 * the work stays, evenly divided. Returns 1, 0 if there is a single stage, -1
 * without memory. */
static int even_stages(const struct replay *x, const struct replay_cause *cause,
                       double *own)
{
    uint32_t stages = 0;
    double *sum, *count, mean = 0;

    for (size_t i = 0; i < cause->n; i++)
        if (cause->stage[i] >= stages)
            stages = cause->stage[i] + 1;
    sum = calloc(2 * (size_t) stages + 1, sizeof(*sum));
    if (!sum)
        return -1;
    count = sum + stages;
    for (size_t i = 0; i < cause->n; i++) {
        sum[cause->stage[i]] += sum_own(x, cause->processes[i]);
        count[cause->stage[i]]++;
    }
    for (uint32_t s = 0; s < stages; s++)
        mean += count[s] > 0 ? sum[s] / count[s] / stages : 0;
    for (size_t i = 0; i < cause->n; i++) {
        size_t p = cause->processes[i];
        double stage = sum[cause->stage[i]] / count[cause->stage[i]];

        for (uint32_t k = x->first[p]; stage > 0 && k < x->first[p + 1]; k++)
            own[k] *= mean / stage;
    }
    free(sum);
    return stages > 1;
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
 * the usual time. For a steady growth these are the first tenth. 0: none. */
static size_t count_before(const struct linked *list, size_t n,
                           const struct replay_cause *cause)
{
    size_t before = 0;

    if (!isfinite(cause->from_us))
        return cause->grows ? n / 10 : 0;
    while (before < n && list[before].at_us < cause->from_us)
        before++;
    return before;
}

/* Scales a link's operations to usual_us, in groups of `step` by the median of
 * each group, where that is clearly slower. Small groups follow a gradual
 * change. Returns true if anything changed. */
static bool hasten(struct replay *x, const struct linked *list, size_t n,
                   size_t step, double usual_us, double *scratch)
{
    bool any = false;

    for (size_t i = 0; i < n; i += step) {
        size_t m = n - i < step ? n - i : step;
        double now = median_net(x, list + i, m, scratch);

        if (!(now > SLOW * usual_us))
            continue;
        for (size_t k = i; k < i + m; k++)
            x->ops[list[k].op].scale = (float) (usual_us / now);
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
static bool compare_kind(struct replay *x, const struct linked *list, size_t n,
                         const struct replay_cause *cause, double *medians,
                         double *scratch)
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
                          median_net(x, list + i, before, scratch), scratch);
        else if (!own && isfinite(usual))
            any |= hasten(x, list + i, end - i, end - i, usual, scratch);
    }
    return any;
}

/* Mends the network. Returns 1, 0 if nothing could be mended, -1 without
 * memory. */
static int change_net(struct replay *x, const struct replay_cause *cause)
{
    struct linked *list = calloc(x->n_ops + 1, sizeof(*list));
    double *medians = calloc(x->n_ops + 1, sizeof(*medians));
    double *scratch = calloc(x->n_ops + 1, sizeof(*scratch)), own;
    size_t n, end;
    int rc = list && medians && scratch ? 0 : -1;

    if (rc < 0)
        goto out;
    replay_pass(x, &own); /* with the original times */
    n = list_links(x, cause, list);
    qsort(list, n, sizeof(*list), by_link);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && list[end].kind == list[i].kind; end++)
            ;
        rc |= compare_kind(x, list + i, end - i, cause, medians, scratch);
    }
out:
    free(list);
    free(medians);
    free(scratch);
    return rc;
}

/* --- replay --------------------------------------------------------------- */

int replay_without(struct replay *x, const struct replay_cause *cause,
                   double *gain)
{
    double *own = calloc((size_t) x->n_events + 1, sizeof(*own)), one;
    int rc = own ? 0 : -1;

    *gain = NAN;
    for (uint32_t i = 0; own && i < x->n_events; i++)
        own[i] = x->events[i].own_us;
    if (rc == 0)
        rc = cause->kind == REPLAY_NET      ? change_net(x, cause)
             : cause->kind == REPLAY_STAGES ? even_stages(x, cause, own)
                                            : change_own(x, cause, own);
    /* By noise a replay may take longer than the run: the gain is 0 then. */
    if (rc > 0) {
        x->own = own;
        *gain = fmax(1 - replay_pass(x, &one) / x->base_us, 0);
        x->own = NULL;
    }
    for (uint32_t i = 0; i < x->n_ops; i++)
        x->ops[i].scale = 1;
    free(own);
    return rc < 0 ? -1 : 0;
}

/* --- from findings to causes ---------------------------------------------- */

/* Lists the processes that a finding on lateness is about: one, or those of a
 * host. Returns their number. */
static size_t list_late(const struct jp_processes *p,
                        const struct jp_finding *f, size_t *list)
{
    size_t n = 0;

    if (f->kind != JP_FINDING_LATE_NODE) {
        if (f->process >= 0)
            list[n++] = (size_t) f->process;
        return n;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->list[i].host, f->host))
            list[n++] = i;
    return n;
}

/* Returns true for a kind of finding that a replay can assess. */
static bool has_cause(const struct jp_finding *f)
{
    switch (f->kind) {
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
    case JP_FINDING_STALL:
    case JP_FINDING_LONG_WAIT:
    case JP_FINDING_SLOW_NETWORK:
    case JP_FINDING_DRIFT:
    case JP_FINDING_IMBALANCE:
        return true;
    default:
        return false;
    }
}

/* Fills list with all processes and stage[] with the pipeline stage of each.
 * Collectives connect processes of one stage only, except for a communicator of
 * all processes. Returns the number of stages. */
static uint32_t find_stages(const struct jp_result *r,
                            const struct jp_processes *p, size_t *list,
                            uint32_t *stage)
{
    uint32_t n = 0;
    bool changed = true;

    for (size_t i = 0; i < p->n; i++) {
        list[i] = i;
        stage[i] = (uint32_t) i;
    }
    while (changed) { /* the smallest number spreads */
        changed = false;
        for (size_t c = 0; c < r->n_comms; c++) {
            size_t from = p->comm_start[c], to = p->comm_start[c + 1];
            uint32_t least = UINT32_MAX;

            if (!r->comms[c].ops || to - from == p->n)
                continue;
            for (size_t k = from; k < to; k++)
                if (stage[p->of_rank[k]] < least)
                    least = stage[p->of_rank[k]];
            for (size_t k = from; k < to; k++) {
                changed |= stage[p->of_rank[k]] != least;
                stage[p->of_rank[k]] = least;
            }
        }
    }
    for (size_t i = 0; i < p->n;
         i++) /* each group starts with the number of its first process */
        stage[i] = stage[i] == i ? n++ : stage[stage[i]];
    return n;
}

/* Makes the cause of a finding. list, stage: room for all processes. Returns
 * false if a replay cannot take the fault away. */
static bool make_cause(const struct jp_result *r, const struct jp_processes *p,
                       const struct jp_finding *f, size_t *list,
                       uint32_t *stage, struct replay_cause *cause)
{
    *cause =
        (struct replay_cause){.processes = list, .comm = -1, .from_us = NAN};
    switch (f->kind) {
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
    case JP_FINDING_STALL:
    case JP_FINDING_LONG_WAIT:
        cause->kind = REPLAY_LATE;
        cause->n = list_late(p, f, list);
        return cause->n > 0;
    case JP_FINDING_SLOW_NETWORK:
        cause->kind = REPLAY_NET;
        cause->host = f->host;
        cause->comm = f->comm;
        cause->from_us = f->from_us;
        return f->against == JP_AGAINST_LIKES || isfinite(f->from_us);
    case JP_FINDING_DRIFT:
        cause->kind = REPLAY_NET;
        cause->grows = true;
        return true;
    case JP_FINDING_IMBALANCE: /* of messages: within a communicator */
        cause->kind = REPLAY_STAGES;
        cause->stage = stage;
        cause->n = p->n;
        return f->comm < 0 && find_stages(r, p, list, stage) > 1;
    default:
        return false;
    }
}

/* Adds the gain to the finding's text. */
static void say(struct jp_finding *f)
{
    size_t n = strlen(f->text);

    snprintf(f->text + n, sizeof(f->text) - n, "; %s %s would take %s less",
             f->kind == JP_FINDING_IMBALANCE ? "evened," : "without it",
             f->gain_kind == JP_GAIN_PART ? "the part of the run that was "
                                            "replayed"
                                          : "the run",
             FIG_SHARE(f->gain));
}

/* Gains below this share of the run are not known well enough to correct a
 * cost. */
#define SURE 0.005
/* ... nor is one that is that many times smaller than what the others wait */
#define SURED 4

/* Returns true if the findings have another cause, which may hide what mending
 * one saves. */
static bool has_others(const struct jp_findings *findings)
{
    size_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        n += has_cause(&findings->at[i]) && !findings->at[i].minor;
    return n > 1;
}

/* Makes the cost of ranks that come late what the others lose by the replay, if
 * the whole run was replayed. Where operations run beside the computation, the
 * others wait for one delay in each operation until the next one that the
 * computation needs, so the sum of waits has it several times. A cost that is a
 * least one is only one communicator's part of it. */
static void correct_cost(struct jp_findings *findings, struct jp_finding *f,
                         const struct jp_processes *p, size_t late)
{
    bool rank = f->kind == JP_FINDING_LATE_RANK ||
                f->kind == JP_FINDING_LATE_NODE || finding_is_stall(f->kind);
    double most = f->gain * findings->run_us *
                  ((double) p->at_once - (double) late);

    if (rank && f->gain_kind == JP_GAIN_REPLAYED && f->gain > SURE &&
        most > 0 && !has_others(findings) &&
        (f->cost_us > most || (f->at_least && !findings->part)))
        finding_recost(findings, f, most);
}

static bool is_of_own_time(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_LATE_RANK && f->by_own_time && f->process >= 0;
}

/* Replays without all late ranks that own times name, since each may hide what
 * another one costs. list: room for all processes. *gain: by all of them; 0:
 * there is one, or none. 0, or -1: no memory. */
static int replay_together(struct replay *x, const struct jp_findings *findings,
                           size_t *list, double *gain)
{
    struct replay_cause cause = {
        .kind = REPLAY_LATE, .processes = list, .comm = -1, .from_us = NAN};

    *gain = 0;
    for (size_t i = 0; i < findings->n; i++)
        if (is_of_own_time(&findings->at[i]))
            list[cause.n++] = (size_t) findings->at[i].process;
    return cause.n < 2 ? 0 : replay_without(x, &cause, gain);
}

/* Returns true if the replay says that a late rank or node costs next to
 * nothing, where its waits do not say more: it is late beside others that are
 * last anyway. Who is named by own times costs more than is worth a search, and
 * the replay must agree: about one, or about all that are late; about a node,
 * unless sums of waits name it, too. all_gain: by replay_together. */
static bool is_nothing(const struct jp_finding *f, double all_gain)
{
    if ((f->kind != JP_FINDING_LATE_RANK && f->kind != JP_FINDING_LATE_NODE) ||
        f->gain_kind != JP_GAIN_REPLAYED)
        return false;
    if (!f->by_own_time || (f->confirmed && f->kind == JP_FINDING_LATE_NODE))
        return f->gain < limits_get(JP_LIMIT_LATE_TOLD) && !(f->of_run > SURE);
    return fmax(f->gain, is_of_own_time(f) ? all_gain : 0) <
           limits_get(JP_LIMIT_OWN_WORTH);
}

/* Replays the first WHATIF_FINDINGS findings that have a cause, and drops those
 * that are none. part: only the start of the run is replayed. Returns 0 or -1.
 */
static int replay(struct replay *x, const struct jp_result *r,
                  const struct jp_processes *p, bool part,
                  struct jp_findings *findings)
{
    size_t *list = calloc(p->n + 1, sizeof(*list)), done = 0, kept = 0;
    uint32_t *stage = calloc(p->n + 1, sizeof(*stage));
    double all_gain = 0;
    int rc = list && stage ? replay_together(x, findings, list, &all_gain) : -1;

    for (size_t i = 0; rc == 0 && i < findings->n && done < WHATIF_FINDINGS;
         i++) {
        struct jp_finding *f = &findings->at[i];
        struct replay_cause cause;

        if (!make_cause(r, p, f, list, stage, &cause))
            continue;
        rc = replay_without(x, &cause, &f->gain);
        done++;
        if (rc < 0 || !isfinite(f->gain))
            continue;
        /* The others wait, and the replay says that nothing is saved: it does
         * not follow the order in which operations overlap. */
        if (f->gain < SURE && f->of_run > SURED * f->gain && f->of_run > SURE) {
            f->gain = NAN;
            continue;
        }
        f->gain_kind = part ? JP_GAIN_PART : JP_GAIN_REPLAYED;
        correct_cost(findings, f, p, cause.n);
        say(f);
    }
    for (size_t i = 0; rc == 0 && i < findings->n; i++)
        if (!is_nothing(&findings->at[i], all_gain))
            findings->at[kept++] = findings->at[i];
    if (rc == 0)
        findings->n = kept;
    free(list);
    free(stage);
    return rc;
}

int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state)
{
    bool any = false;
    struct replay *x;
    int rc = 0;

    *state = (struct replay_state){0};
    for (size_t i = 0; i < findings->n; i++) {
        /* Unless a replay succeeds, all waits are an upper bound of the gain.
         */
        if (isfinite(findings->at[i].cost_us))
            findings->at[i].gain_kind = JP_GAIN_BOUND;
        any |= has_cause(&findings->at[i]);
    }
    if (!any || !result->n_timelines || !processes->known || findings->part)
        return 0;
    x = replay_create(result, processes, state);
    if (!x)
        return -1;
    /* a clock was set in between: its times are not those of the run */
    if (findings->run_us > 0 && x->base_us > 2 * findings->run_us)
        state->usable = false;
    if (state->usable)
        rc = replay(x, result, processes, state->part, findings);
    replay_destroy(x);
    return rc;
}
