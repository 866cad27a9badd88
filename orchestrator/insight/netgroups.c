/* netgroups.c - slow groups and slow pairs, and the nodes that these share.
 *
 * The estimator is the time of the network alone: of an AlltoAll the shortest
 * time of any rank, of a message the time at the rate of its fastest messages.
 * looks.h has the reasons. Each is compared with the median of its likes; slow
 * is what is beyond both a factor and `late_spread_min` times the spread of the
 * likes. The spread is taken 1 + 6/n times for n likes, because the closest
 * half of a few may be close by luck: this guards against false alarms in small
 * jobs.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/netcells.h"
#include "common/stats.h"
#include "common/vector.h"

/* --- which nodes the slow communicators share ----------------------------- */

#define HOSTS_NAMED 4

static bool spans_hosts(const struct network *w, size_t comm)
{
    return w->r->comms[comm].n_hosts > 1;
}

/* Counts for each host its slow and healthy communicators that span hosts, or
 * those within one. stamp: the last communicator counted there, plus 1, so that
 * several ranks on a host count once. */
static void count_hosts(struct network *w, bool span)
{
    memset(w->slow_at, 0, w->p->n_hosts * sizeof(*w->slow_at));
    memset(w->healthy_at, 0, w->p->n_hosts * sizeof(*w->healthy_at));
    memset(w->stamp, 0, w->p->n_hosts * sizeof(*w->stamp));
    for (size_t c = 0; c < w->r->n_comms; c++) {
        if ((!w->slow[c] && !w->healthy[c]) || spans_hosts(w, c) != span)
            continue;
        for (size_t i = w->p->comm_start[c]; i < w->p->comm_start[c + 1]; i++) {
            size_t h = w->p->list[w->p->of_rank[i]].host_at;

            if (w->stamp[h] == c + 1)
                continue;
            w->stamp[h] = c + 1;
            w->slow_at[h] += w->slow[c];
            w->healthy_at[h] += w->healthy[c];
        }
    }
}

/* Writes to buf the hosts that all of `between` slow communicators share. only:
 * leaves out those with a healthy one. *first: the first of them. Returns their
 * number; at most HOSTS_NAMED are written. */
static size_t name_hosts(const struct network *w, size_t between, bool only,
                         char *buf, size_t size, size_t *first)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t h = 0; between && h < w->p->n_hosts; h++) {
        size_t len = strlen(buf);

        if (w->slow_at[h] < between || (only && w->healthy_at[h]))
            continue;
        if (n < HOSTS_NAMED)
            snprintf(buf + len, size - len, "%s%.36s", n ? " and " : "",
                     w->p->hosts[h].host);
        *first = n++ ? *first : h;
    }
    return n;
}

/* First looks for nodes that are only in slow communicators. If there is none,
 * it is a link: its two nodes are slow together and healthy with others. */
void netgroups_describe_hosts(struct network *w, struct jp_finding *f,
                              char *buf, size_t size)
{
    size_t between = 0, first = 0, n;
    bool only = true, span = false;
    char names[160];

    for (size_t c = 0; c < w->r->n_comms; c++)
        span |= w->slow[c] && spans_hosts(w, c);
    for (size_t c = 0; c < w->r->n_comms; c++)
        between += w->slow[c] && spans_hosts(w, c) == span;
    count_hosts(w, span);
    n = name_hosts(w, between, true, names, sizeof(names), &first);
    if (!n) {
        only = false;
        n = name_hosts(w, between, false, names, sizeof(names), &first);
    }
    buf[0] = '\0';
    if (n > HOSTS_NAMED && n < w->p->n_hosts) {
        f->nodes = n;
        f->of_nodes = w->p->n_hosts;
        snprintf(buf, size, ", all with the same %s of %s nodes (%.36s, ...)",
                 FIG_COUNT(n), FIG_COUNT(w->p->n_hosts),
                 w->p->hosts[first].host);
    }
    if (n == 0 || n > HOSTS_NAMED)
        return;
    snprintf(buf, size, ", all with %s%.120s%s", n == 1 ? "node " : "nodes ",
             names, only ? " and no other" : "");
    if (n == 1)
        snprintf(f->host, sizeof(f->host), "%s", w->p->hosts[first].host);
}

/* --- pairs of nodes ------------------------------------------------------- */

/* Messages from one rank to another one on a different node. */
struct pair {
    size_t comm;
    uint32_t src, dst;
    size_t hosts[2];
    uint64_t count, bytes; /* messages; class of their size (netcells_size) */
    /* time of a message in the network alone; median of its likes */
    double us, usual_us;
    double excess_us; /* of all messages, both sides; 0: not slow */
    /* what the spread of its likes makes of excess_us */
    double error_us;
    bool judged;
};

struct pairs {
    const struct jp_result *r;
    const struct jp_processes *p;
    /* the slowdown (times usual) that would have been found in each kind of
     * likes; 0: not judged */
    double least;
    struct pair *at;
    size_t n;
    double time_us; /* time of all messages, both sides */
    double *scratch;
};

/* Adds one pair's messages: rows from..to - 1, one or two sides. The faster of
 * both sides counts, because the other one has waited. */
static void add_pair(struct pairs *w, size_t from, size_t to)
{
    const struct jp_p2p *first = &w->r->p2p[from];
    size_t src = processes_rank(w->p, w->r, first->comm, first->src);
    size_t dst = processes_rank(w->p, w->r, first->comm, first->dst);
    struct pair *pair = &w->at[w->n];
    double fast = 0, bytes = 0;

    *pair = (struct pair){
        .comm = first->comm, .src = first->src, .dst = first->dst};
    for (size_t i = from; i < to; i++) {
        const struct jp_p2p *row = &w->r->p2p[i];

        w->time_us += (double) row->exec_us;
        if (!row->count)
            return;
        fast = fmax(fast, row->fast_gbs); /* NAN: unknown */
        bytes = (double) row->bytes / (double) row->count;
        pair->count = row->count > pair->count ? row->count : pair->count;
        pair->bytes = netcells_size(row->bytes / row->count);
    }
    if (to - from < 2 || src == SIZE_MAX || dst == SIZE_MAX || !(fast > 0))
        return; /* with one side only, all of its time may be waits */
    pair->us = bytes / (fast * 1000);
    pair->hosts[0] = w->p->list[w->p->of_rank[src]].host_at;
    pair->hosts[1] = w->p->list[w->p->of_rank[dst]].host_at;
    w->n += pair->hosts[0] != pair->hosts[1];
}

/* Collects all pairs between nodes. Rows of a pair are neighbours, as are pairs
 * of a communicator. Communicators that exchange with all are left out again:
 * their messages are AlltoAlls, which are compared as groups. */
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

/* Any two ranks in communicators of equal shape and label, messages of one
 * size. */
static int by_kind(const void *a, const void *b, void *arg)
{
    const struct pair *x = a, *y = b;
    const struct jp_result *r = arg;
    int order = likes_by_link(&r->comms[x->comm], &r->comms[y->comm]);

    return order ? order : stats_order(x->bytes, y->bytes);
}

/* The same two ranks in addition: the same step of each pipeline. Their paths
 * are the most alike. */
static int by_step(const void *a, const void *b, void *arg)
{
    const struct pair *x = a, *y = b;
    int order = by_kind(a, b, arg);

    order = order ? order : stats_order(x->src, y->src);
    return order ? order : stats_order(x->dst, y->dst);
}

/* Compares n pairs with each other. Pairs with few or short messages serve for
 * comparison, but are not judged themselves. */
static void judge_pairs(struct pairs *w, struct pair *likes, size_t n)
{
    double usual, spread, least;

    if (n < limits_get(JP_LIMIT_PAIRS_LIKES))
        return;
    for (size_t i = 0; i < n; i++)
        w->scratch[i] = likes[i].us;
    /* Limits: a factor that healthy links do not reach, and an outlier by the
     * spread. */
    usual = stats_median(w->scratch, n);
    spread = stats_spread(w->scratch, n) * (1 + 6 / (double) n);
    least = fmax(usual * (1 + limits_get(JP_LIMIT_NET_PAIRS)),
                 usual + limits_get(JP_LIMIT_LATE_SPREAD) * spread);
    for (size_t i = 0; i < n; i++) {
        struct pair *pair = &likes[i];

        pair->usual_us = usual;
        /* Both sides wait for a slow message, hence the factor 2 below. */
        pair->judged = usual >= limits_get(JP_LIMIT_NET_BW_US) &&
                       (double) pair->count >= limits_get(JP_LIMIT_NET_OPS);
        if (pair->judged && pair->us > least)
            pair->excess_us = 2 * (pair->us - usual) * (double) pair->count;
        pair->error_us = 2 * spread * (double) pair->count;
        if (pair->judged)
            w->least = fmax(w->least, least / usual);
    }
}

/* Returns true if one of them was judged with closer likes. */
static bool is_judged(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pairs[i].judged)
            return true;
    return false;
}

/* Judges pairs by this order of likeness, except those that were judged
 * already. */
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
            judge_pairs(w, w->at + i, end - i);
    }
}

/* Drops echoes. A pipeline that waits for a slow link delays its other messages
 * a little on both sides. A slowdown below `pairs_echo_min` of the largest one
 * is taken as such an echo: naming it would accuse healthy links. */
static void drop_echoes(struct pairs *w)
{
    double most = 1;

    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].excess_us > 0)
            most = fmax(most, w->at[i].us / w->at[i].usual_us);
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].us / w->at[i].usual_us - 1 <
            limits_get(JP_LIMIT_PAIRS_ECHO) * (most - 1))
            w->at[i].excess_us = 0;
}

/* --- the slow node or link ------------------------------------------------ */

/* What the slow pairs have in common. */
struct cause {
    size_t hosts[2], n_hosts; /* hosts that are in all slow pairs: a node, or
                                 the two of a link */
    size_t pairs;
    double excess_us, error_us, ratio;
    uint64_t messages;
    const struct pair *worst;
};

static bool has_host(const struct pair *pair, size_t host)
{
    return pair->hosts[0] == host || pair->hosts[1] == host;
}

/* Returns the share of the slow pairs' excess that is with this host. */
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

/* Returns true if the host is in each slow pair. */
static bool in_all(const struct pairs *w, size_t host)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].excess_us > 0 && !has_host(&w->at[i], host))
            return false;
    return true;
}

/* Finds what the slow pairs share. A host of the worst pair is named if it is
 * in all of them. One that is in most of them is also named beside it. */
static struct cause find_cause(const struct pairs *w)
{
    struct cause c = {.ratio = 0};

    for (size_t i = 0; i < w->n; i++) {
        const struct pair *pair = &w->at[i];

        if (!(pair->excess_us > 0))
            continue;
        c.pairs++;
        c.excess_us += pair->excess_us;
        c.error_us += pair->error_us;
        c.messages += pair->count;
        if (!c.worst || pair->excess_us > c.worst->excess_us)
            c.worst = pair;
        c.ratio += pair->excess_us * (pair->us / pair->usual_us - 1);
    }
    if (!c.worst)
        return c;
    c.ratio /= c.excess_us;
    for (size_t side = 0; side < 2; side++)
        /* One or two echoes of a link do not show which of its two nodes is the
         * cause: then both are named. */
        if (in_all(w, c.worst->hosts[side]) ||
            (in_all(w, c.worst->hosts[!side]) &&
             part_of(w, c.worst->hosts[side]) >
                 limits_get(JP_LIMIT_PAIRS_MOST)))
            c.hosts[c.n_hosts++] = c.worst->hosts[side];
    return c;
}

static int add_finding(const struct pairs *w, const struct cause *c,
                       double time_us, struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_SLOW_NETWORK);
    char where[150];

    if (!f)
        return -1;
    if (c->n_hosts == 1) {
        snprintf(f->host, sizeof(f->host), "%s", w->p->hosts[c->hosts[0]].host);
        snprintf(where, sizeof(where), "with node %.60s", f->host);
    } else {
        snprintf(f->between, sizeof(f->between), "%.60s and %.60s",
                 w->p->hosts[c->worst->hosts[0]].host,
                 w->p->hosts[c->worst->hosts[1]].host);
        snprintf(where, sizeof(where), "between nodes %s", f->between);
    }
    f->against = JP_AGAINST_LIKES;
    f->ratio = 1 + c->ratio;
    f->comms = c->pairs;
    f->messages = true;
    f->comm = c->pairs == 1 ? (int64_t) c->worst->comm : -1;
    finding_cost(findings, f, c->excess_us);
    finding_measure(f, c->excess_us / time_us, c->error_us / time_us);
    f->evidence = c->messages;
    snprintf(f->text, sizeof(f->text),
             "Send and Recv took %s longer in %s pair%s of ranks than in "
             "their peers, %s; cost %s",
             FIG_SHARE(c->ratio), FIG_COUNT(c->pairs), plural(c->pairs), where,
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s",
             c->n_hosts == 1 ? "check that node's HCAs and links: error "
                               "counters, width, speed, congestion"
                             : "check the links and switches between them: "
                               "error counters, routes, congestion");
    return 0;
}

/* Compares pairs, and adds one finding: the node that all slow pairs share, or
 * two nodes. Nothing if ranks are late, because messages wait for them. Returns
 * 0 or -1. */
static int pairs_findings(struct network *network)
{
    struct pairs w = {.r = network->r, .p = network->p};
    double time_us = network->list->time_us;
    struct cause cause;
    int rc = -1;

    if (!w.r->n_p2p || !w.p->known)
        return 0;
    network->waits = findings_has_late(network->findings);
    if (network->waits)
        return 0;
    w.at = calloc(w.r->n_p2p + 1, sizeof(*w.at));
    w.scratch = calloc(w.r->n_p2p + 1, sizeof(*w.scratch));
    if (w.at && w.scratch) {
        gather(&w);
        judge_by(&w, by_step);
        judge_by(&w, by_kind);
        network->likes_least = fmax(network->likes_least, w.least - 1);
        drop_echoes(&w);
        cause = find_cause(&w);
        time_us += w.time_us;
        rc = 0;
        /* Slow pairs that share no node are waits of the program, not of the
         * network. */
        if (cause.n_hosts && cause.pairs >= limits_get(JP_LIMIT_PAIRS_MIN) &&
            cause.excess_us > time_us * limits_get(JP_LIMIT_NET_CLEAR))
            rc = add_finding(&w, &cause, time_us, network->findings);
    }
    free(w.at);
    free(w.scratch);
    return rc;
}

/* --- groups with a slow AlltoAll ------------------------------------------ */

#define COLLECTIVE "AlltoAll"

/* The AlltoAll of one communicator and size. */
struct group {
    size_t comm;
    const char *coll; /* "" for Send and Recv */
    uint64_t bytes;   /* class of sizes for Send and Recv */
    uint64_t count;
    /* us: of the network alone; usual_us: median of its likes; spread_us: their
     * standard deviation */
    double us, usual_us, spread_us;
    bool slow;
};

struct groups {
    struct network *w;
    struct group *at;
    size_t n;
    double time_us; /* of all ranks, including Send and Recv */
};

static struct group *add_group(struct groups *g, const struct group *group)
{
    if (VECTOR_DOUBLE(g->at, g->n) < 0)
        return NULL;
    g->at[g->n] = *group;
    return &g->at[g->n++];
}

/* --- Send and Recv -------------------------------------------------------- */

/* Adds the AlltoAll that the messages of one communicator form, rows from..to -
 * 1, if they are one. Its time is that of a mean message at the best rate of
 * any rank: the rank that comes last waits least. Returns 0 or -1. */
static int add_exchange(struct groups *g, size_t from, size_t to)
{
    const struct jp_result *r = g->w->r;
    const struct jp_p2p *rows = r->p2p;
    struct group group = {.comm = rows[from].comm, .coll = ""};
    size_t pairs = 0, first = g->w->p->comm_start[group.comm],
           end = g->w->p->comm_start[group.comm + 1];
    uint64_t count = 0;
    double bytes = 0, fast = 0;

    for (size_t i = from; i < to; i++) {
        pairs += i == from || rows[i].src != rows[i - 1].src ||
                 rows[i].dst != rows[i - 1].dst;
        g->time_us += (double) rows[i].exec_us;
        bytes += (double) rows[i].bytes;
        count += rows[i].count;
        if (rows[i].count > group.count)
            group.count = rows[i].count;
    }
    for (size_t i = first; i < end; i++)
        fast = fmax(fast, r->ranks[i].p2p_fast_gbs);
    if (!netgroups_is_exchange(pairs, r->comms[group.comm].n_ranks) ||
        end - first < r->comms[group.comm].n_ranks || !(fast > 0))
        return 0;
    bytes /= (double) count;
    group.us = bytes / (fast * 1000);
    group.bytes = netcells_size((uint64_t) bytes);
    return add_group(g, &group) ? 0 : -1;
}

static int add_exchanges(struct groups *g)
{
    const struct jp_result *r = g->w->r;
    size_t end;

    for (size_t i = 0; i < r->n_p2p; i = end) {
        for (end = i + 1; end < r->n_p2p && r->p2p[end].comm == r->p2p[i].comm;
             end++)
            ;
        if (add_exchange(g, i, end) < 0)
            return -1;
    }
    return 0;
}

/* --- collectives ---------------------------------------------------------- */

struct sample {
    uint64_t bytes;
    double us;
};

static int by_bytes(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Adds one group for each size of a communicator's function, with the median
 * time. ops: n operations, which are sorted by size here. scratch: room for n.
 * Returns 0 or -1. */
static int add_sizes(struct groups *g, size_t comm, const char *coll,
                     struct sample *ops, size_t n, double *scratch)
{
    size_t end;

    if (n)
        qsort(ops, n, sizeof(*ops), by_bytes);
    for (size_t i = 0; i < n; i = end) {
        struct group group = {.comm = comm, .coll = coll};

        for (end = i; end < n && ops[end].bytes == ops[i].bytes; end++)
            scratch[end - i] = ops[end].us;
        group.bytes = ops[i].bytes;
        group.count = end - i;
        group.us = stats_median(scratch, end - i);
        if (!add_group(g, &group))
            return -1;
    }
    return 0;
}

/* Returns true for AlltoAlls of uneven sizes. Others are compared as all
 * collectives are (netseries.c). */
static bool is_uneven(const char *name)
{
    return !strncmp(name, COLLECTIVE, strlen(COLLECTIVE)) &&
           !collective_is_barrier(name);
}

static bool has_collectives(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (is_uneven(r->coll_names[i]))
            return true;
    return false;
}

static bool is_wanted(const struct jp_result *r, const struct jp_op *op)
{
    uint32_t n_ranks = r->comms[op->comm].n_ranks;

    return n_ranks > 1 && op->n == n_ranks && op->n_exec == n_ranks &&
           is_uneven(r->coll_names[op->coll]);
}

/* Walks over all operations, which are sorted by communicator and function, and
 * adds those of AlltoAll collectives. Returns 0 or -1. */
static int add_all_operations(struct groups *g, struct ops_reader *reader,
                              struct sample *ops, double *scratch)
{
    const struct jp_result *r = g->w->r;
    uint32_t comm = 0, coll = 0;
    size_t n = 0;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (n && (op->comm != comm || op->coll != coll)) {
            if (add_sizes(g, comm, r->coll_names[coll], ops, n, scratch) < 0)
                return -1;
            n = 0;
        }
        if (!is_wanted(r, op))
            continue;
        comm = op->comm;
        coll = op->coll;
        g->time_us += (double) op->exec_sum_us;
        ops[n++] = (struct sample){op->bytes, (double) op->exec_min_us};
    }
    return add_sizes(g, comm, n ? r->coll_names[coll] : "", ops, n, scratch);
}

static int add_collectives(struct groups *g)
{
    const struct jp_result *r = g->w->r;
    struct ops_reader *reader;
    struct sample *ops;
    double *scratch;
    int rc = -1;

    if (!has_collectives(r))
        return 0;
    reader = calloc(1, sizeof(*reader));
    ops = calloc(r->n_ops + 1, sizeof(*ops));
    scratch = calloc(r->n_ops + 1, sizeof(*scratch));
    if (reader && ops && scratch) {
        reader->ops = r->ops;
        ops_want(reader, OPS_BYTES | OPS_COUNTS | OPS_EXEC);
        rc = add_all_operations(g, reader, ops, scratch);
    }
    free(reader);
    free(ops);
    free(scratch);
    return rc;
}

/* --- likes ---------------------------------------------------------------- */

static int by_likeness(const void *a, const void *b, void *arg)
{
    const struct group *x = a, *y = b;
    const struct jp_result *r = arg;
    int order = likes_by_link(&r->comms[x->comm], &r->comms[y->comm]);

    order = order ? order : strcmp(x->coll, y->coll);
    if (order)
        return order;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void judge_likes(struct groups *g, struct group *likes, size_t n,
                        double *scratch)
{
    double usual, spread, least;

    for (size_t i = 0; i < n; i++)
        scratch[i] = likes[i].us;
    usual = stats_median(scratch, n);
    spread = stats_spread(scratch, n) * (1 + 6 / (double) n);
    least = fmax(usual * (1 + limits_get(JP_LIMIT_NET_LIKES)),
                 usual + limits_get(JP_LIMIT_LATE_SPREAD) * spread);
    for (size_t i = 0; i < n && n >= limits_get(JP_LIMIT_NET_GROUPS) &&
                       usual >= limits_get(JP_LIMIT_NET_BW_US);
         i++) {
        struct group *group = &likes[i];

        group->usual_us = usual;
        group->spread_us = spread;
        if ((double) group->count < limits_get(JP_LIMIT_NET_OPS))
            continue;
        group->slow = group->us > least;
        g->w->likes_least = fmax(g->w->likes_least, least / usual - 1);
    }
}

static int judge_groups(struct groups *g)
{
    void *arg = (void *) (uintptr_t) g->w->r;
    double *scratch = calloc(g->n + 1, sizeof(*scratch));
    size_t end;

    if (!scratch)
        return -1;
    if (g->n)
        qsort_r(g->at, g->n, sizeof(*g->at), by_likeness, arg);
    for (size_t i = 0; i < g->n; i = end) {
        for (end = i + 1;
             end < g->n && !by_likeness(&g->at[i], &g->at[end], arg); end++)
            ;
        judge_likes(g, g->at + i, end - i, scratch);
    }
    free(scratch);
    return 0;
}

/* --- the finding ---------------------------------------------------------- */

/* Sums up the slow groups' cost (us of all ranks) and slowdown, and marks the
 * communicators as slow or healthy for netgroups_describe_hosts. */
static double add_up(struct groups *g, double *ratio, double *error_us,
                     uint64_t *ops, size_t *comms)
{
    struct network *w = g->w;
    double cost = 0;

    memset(w->slow, 0, w->r->n_comms * sizeof(*w->slow));
    memset(w->healthy, 0, w->r->n_comms * sizeof(*w->healthy));
    *ratio = *error_us = 0;
    *comms = *ops = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct group *group = &g->at[i];
        double us = (group->us - group->usual_us) * (double) group->count *
                    w->r->comms[group->comm].n_ranks;

        w->healthy[group->comm] = true;
        if (!group->slow)
            continue;
        *comms += !w->slow[group->comm];
        w->slow[group->comm] = true;
        cost += us;
        *ops += group->count;
        *error_us += group->spread_us * (double) group->count *
                     w->r->comms[group->comm].n_ranks;
        *ratio += us * (group->us / group->usual_us - 1);
    }
    for (size_t c = 0; c < w->r->n_comms; c++)
        w->healthy[c] &= !w->slow[c];
    if (cost > 0)
        *ratio /= cost;
    return cost;
}

/* Adds the finding on slow groups. Returns 1 if there is one, 0 or -1. */
static int add_slow_groups(struct groups *g)
{
    double ratio, error_us, all_us = g->w->list->time_us + g->time_us;
    uint64_t ops;
    size_t comms;
    double cost = add_up(g, &ratio, &error_us, &ops, &comms);
    struct jp_sentence text;
    struct jp_finding *f;
    char hosts[200];

    if (!comms || cost <= all_us * limits_get(JP_LIMIT_NET_CLEAR))
        return 0;
    f = findings_add(g->w->findings, JP_FINDING_SLOW_NETWORK);
    if (!f)
        return -1;
    f->against = JP_AGAINST_LIKES;
    f->ratio = 1 + ratio;
    f->comms = comms;
    finding_cost(g->w->findings, f, cost);
    finding_measure(f, cost / all_us, error_us / all_us);
    f->evidence = ops;
    netgroups_describe_hosts(g->w, f, hosts, sizeof(hosts));
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(&text,
                 "the network took %s longer for the AlltoAll of %s "
                 "communicator%s than in others of their shape%s; cost %s",
                 FIG_SHARE(ratio), FIG_COUNT(comms), plural(comms), hosts,
                 FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "compare the links of their nodes (width, speed, error counters) "
             "and the HCA of each rank");
    return 1;
}

int netgroups_findings(struct network *w)
{
    struct groups g = {.w = w};
    int rc = -1;

    if (!w->p->known)
        return 0;
    if (add_exchanges(&g) == 0 && add_collectives(&g) == 0 &&
        judge_groups(&g) == 0)
        rc = add_slow_groups(&g);
    free(g.at);
    return rc ? (rc < 0 ? -1 : 0) : pairs_findings(w);
}
