/* netpairs.c - which links between nodes are slow for Send and Recv. */
#include "orchestrator/insight/netpairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/netgroups.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

#define MIN_LIKES 5
#define MIN_PAIRS 4    /* of two pipelines, both ways */
#define MIN_US 20      /* below, whole us say little */

/* Messages from one rank to another, on two nodes. */
struct pair {
    size_t comm;
    uint32_t src, dst;
    size_t hosts[2];
    uint64_t count, bytes; /* of a message, its class */
    double us, usual_us;   /* of a message: the network's, its likes' */
    double excess_us;      /* of both sides; 0: not slow */
    bool judged;
};

struct pairs {
    const struct jp_result *r;
    const struct jp_people *p;
    struct pair *at;
    size_t n;
    double time_us; /* of all messages, both sides */
    double *scratch;
};

static double limit(enum jp_limit_id id)
{
    return limits_table[id].value;
}

/* What both sides recorded of one pair's messages: rows from..to. */
static void add_pair(struct pairs *w, size_t from, size_t to)
{
    const struct jp_p2p *first = &w->r->p2p[from];
    size_t src = people_find(w->p, w->r, first->comm, first->src);
    size_t dst = people_find(w->p, w->r, first->comm, first->dst);
    struct pair *pair = &w->at[w->n];
    double fast = 0, bytes = 0;

    *pair = (struct pair){
        .comm = first->comm, .src = first->src, .dst = first->dst};
    for (size_t i = from; i < to; i++) {
        const struct jp_p2p *row = &w->r->p2p[i];

        w->time_us += (double) row->exec_us;
        if (!row->count)
            return;
        fast = fmax(fast, row->fast_gbs); /* NAN: not known */
        bytes = (double) row->bytes / (double) row->count;
        pair->count = row->count > pair->count ? row->count : pair->count;
        pair->bytes = netcells_size(row->bytes / row->count);
    }
    if (to - from < 2 || src == SIZE_MAX || dst == SIZE_MAX || !(fast > 0))
        return; /* one side alone may have waited all along */
    pair->us = bytes / (fast * 1000);
    pair->hosts[0] = w->p->processes[w->p->of_rank[src]].host_at;
    pair->hosts[1] = w->p->processes[w->p->of_rank[dst]].host_at;
    w->n += pair->hosts[0] != pair->hosts[1];
}

static void gather(struct pairs *w)
{
    const struct jp_p2p *rows = w->r->p2p;
    size_t end, first = 0, seen = 0;

    for (size_t i = 0; i < w->r->n_p2p; i = end) {
        for (end = i + 1;
             end < w->r->n_p2p && rows[end].comm == rows[i].comm &&
             rows[end].src == rows[i].src && rows[end].dst == rows[i].dst;
             end++)
            ;
        add_pair(w, i, end);
        seen++;
        if (end < w->r->n_p2p && rows[end].comm == rows[i].comm)
            continue;
        if (netgroups_is_exchange(seen, w->r->comms[rows[i].comm].n_ranks))
            w->n = first;
        first = w->n;
        seen = 0;
    }
}

/* --- likes ---------------------------------------------------------------- */

static int order_of(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Messages of one size in communicators of a shape and label. */
static int by_kind(const void *a, const void *b, void *arg)
{
    const struct pair *x = a, *y = b;
    const struct jp_result *r = arg;
    int order = network_shape_order(&r->comms[x->comm], &r->comms[y->comm]);

    return order ? order : order_of(x->bytes, y->bytes);
}

/* ... from one rank to another: the same step of each pipeline. */
static int by_step(const void *a, const void *b, void *arg)
{
    const struct pair *x = a, *y = b;
    int order = by_kind(a, b, arg);

    order = order ? order : order_of(x->src, y->src);
    return order ? order : order_of(x->dst, y->dst);
}

static void judge_likes(struct pairs *w, struct pair *likes, size_t n)
{
    double usual, spread, least;

    if (n < MIN_LIKES)
        return;
    for (size_t i = 0; i < n; i++)
        w->scratch[i] = likes[i].us;
    usual = stats_median(w->scratch, n);
    spread = stats_spread(w->scratch, n) * (1 + 6 / (double) n);
    least = fmax(usual * (1 + limit(JP_LIMIT_NET_PAIRS)),
                 usual + limit(JP_LIMIT_LATE_SPREAD) * spread);
    for (size_t i = 0; i < n; i++) {
        struct pair *pair = &likes[i];

        pair->usual_us = usual;
        pair->judged = usual >= MIN_US &&
                       (double) pair->count >= limit(JP_LIMIT_NET_OPS);
        if (pair->judged && pair->us > least)
            pair->excess_us = 2 * (pair->us - usual) * (double) pair->count;
    }
}

static bool is_judged(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].judged)
            return true;
    return false;
}

/* Those that have not been judged with closer likes. */
static void judge_by(struct pairs *w,
                     int (*order)(const void *, const void *, void *))
{
    void *arg = (void *) (uintptr_t) w->r;
    size_t end;

    if (w->n)
        qsort_r(w->at, w->n, sizeof(*w->at), order, arg);
    for (size_t i = 0; i < w->n; i = end) {
        for (end = i + 1; end < w->n && !order(&w->at[i], &w->at[end], arg);
             end++)
            ;
        if (!is_judged(w->at + i, end - i))
            judge_likes(w, w->at + i, end - i);
    }
}

/* A pipeline that waits for a slow link makes its other messages wait a little
 * on both sides: what is slower by less than ECHO of the slowest is that. */
#define ECHO 0.5

static void drop_echoes(struct pairs *w)
{
    double most = 1;

    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].excess_us > 0)
            most = fmax(most, w->at[i].us / w->at[i].usual_us);
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].us / w->at[i].usual_us - 1 < ECHO * (most - 1))
            w->at[i].excess_us = 0;
}

/* --- whose link ------------------------------------------------------------
 */

/* What the slow pairs have in common. */
struct cause {
    size_t hosts[2], n_hosts; /* in all of them: one node, or two */
    size_t pairs;
    double excess_us, ratio;
    const struct pair *worst;
};

static bool has_host(const struct pair *pair, size_t host)
{
    return pair->hosts[0] == host || pair->hosts[1] == host;
}

#define MOST 0.6 /* a third node has half of them */

/* The part of what is slow, by time, that is the host's. */
static double part_of(const struct pairs *w, size_t host)
{
    double own = 0, all = 0;

    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].excess_us > 0) {
            all += w->at[i].excess_us;
            own += has_host(&w->at[i], host) ? w->at[i].excess_us : 0;
        }
    return own / all;
}

static bool in_all(const struct pairs *w, size_t host)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].excess_us > 0 && !has_host(&w->at[i], host))
            return false;
    return true;
}

static struct cause find_cause(const struct pairs *w)
{
    struct cause c = {.ratio = 0};

    for (size_t i = 0; i < w->n; i++) {
        const struct pair *pair = &w->at[i];

        if (!(pair->excess_us > 0))
            continue;
        c.pairs++;
        c.excess_us += pair->excess_us;
        if (!c.worst || pair->excess_us > c.worst->excess_us)
            c.worst = pair;
        c.ratio += pair->excess_us * (pair->us / pair->usual_us - 1);
    }
    if (!c.worst)
        return c;
    c.ratio /= c.excess_us;
    for (size_t side = 0; side < 2; side++)
        /* an echo or two of a link do not tell which of its nodes it is */
        if (in_all(w, c.worst->hosts[side]) ||
            (in_all(w, c.worst->hosts[!side]) &&
             part_of(w, c.worst->hosts[side]) > MOST))
            c.hosts[c.n_hosts++] = c.worst->hosts[side];
    return c;
}

static const char *host_name(const struct pairs *w, size_t host)
{
    for (size_t i = 0; i < w->p->n_processes; i++)
        if (w->p->processes[i].host_at == host)
            return w->p->processes[i].host;
    return "";
}

static int add_finding(const struct pairs *w, const struct cause *c,
                       double time_us, struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_SLOW_NETWORK);
    char where[150];

    if (!f)
        return -1;
    if (c->n_hosts == 1) {
        snprintf(f->host, sizeof(f->host), "%s", host_name(w, c->hosts[0]));
        snprintf(where, sizeof(where), "with node %.60s", f->host);
    } else {
        snprintf(where, sizeof(where), "between nodes %.60s and %.60s",
                 host_name(w, c->worst->hosts[0]),
                 host_name(w, c->worst->hosts[1]));
    }
    f->against = JP_AGAINST_LIKES;
    f->comm = c->pairs == 1 ? (int64_t) c->worst->comm : -1;
    f->cost_us = c->excess_us;
    f->share = c->excess_us / time_us;
    snprintf(
        f->text, sizeof(f->text),
        "Send and Recv took %s longer in %zu pair%s of ranks than in their "
        "likes, %s; cost %s of GPU time, %s of communication",
        FIG_SHARE(c->ratio), c->pairs, sentence_s(c->pairs), where,
        FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next), "%s",
             c->n_hosts == 1 ? "look at that node's HCAs and links: error "
                               "counters, width, speed, congestion"
                             : "look at the links and switches between them: "
                               "error counters, routes, congestion");
    return 0;
}

/* Who comes late makes messages wait, too. */
static bool has_late(const struct jp_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind == JP_FINDING_LATE_RANK ||
            findings->at[i].kind == JP_FINDING_LATE_NODE)
            return true;
    return false;
}

int netpairs_findings(const struct jp_result *r, const struct jp_people *p,
                      double time_us, struct jp_findings *findings)
{
    struct pairs w = {.r = r, .p = p};
    struct cause cause;
    int rc = -1;

    if (!r->n_p2p || !p->known || has_late(findings))
        return 0;
    w.at = calloc(r->n_p2p + 1, sizeof(*w.at));
    w.scratch = calloc(r->n_p2p + 1, sizeof(*w.scratch));
    if (w.at && w.scratch) {
        gather(&w);
        judge_by(&w, by_step);
        judge_by(&w, by_kind);
        drop_echoes(&w);
        cause = find_cause(&w);
        time_us += w.time_us;
        rc = 0;
        /* slow pairs here and there are waits of the program */
        if (cause.n_hosts && cause.pairs >= MIN_PAIRS &&
            cause.excess_us > time_us * NETGROUPS_MIN_SHARE)
            rc = add_finding(&w, &cause, time_us, findings);
    }
    free(w.at);
    free(w.scratch);
    return rc;
}
