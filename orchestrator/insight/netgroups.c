/* netgroups.c - which groups' AlltoAll the network makes slow. */
#include "orchestrator/insight/netgroups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/netcells.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

#define MIN_LIKES 3
#define MIN_US 20 /* below, whole us are too coarse */
#define COLLECTIVE "AlltoAll"

/* The AlltoAll of one communicator and size. */
struct group {
    size_t comm;
    const char *coll; /* "" where it is Send and Recv */
    uint64_t bytes;   /* a class of sizes, where it is */
    uint64_t count;
    double us, usual_us;
    bool slow;
};

struct groups {
    struct network *w;
    struct group *at;
    size_t n;
    double time_us; /* of all ranks, Send and Recv among them */
};

static double limit(enum jp_limit_id id)
{
    return limits_table[id].value;
}

static struct group *add(struct groups *g, const struct group *group)
{
    if (!(g->n & (g->n - 1))) {
        struct group *more =
            reallocarray(g->at, g->n ? 2 * g->n : 1, sizeof(*more));

        if (!more)
            return NULL;
        g->at = more;
    }
    g->at[g->n] = *group;
    return &g->at[g->n++];
}

/* --- Send and Recv -------------------------------------------------------- */

/* The rows of one communicator, from..to. */
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
    return add(g, &group) ? 0 : -1;
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

/* Operations of one communicator's function, size by size. */
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
        if (!add(g, &group))
            return -1;
    }
    return 0;
}

static bool has_collectives(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (!strncmp(r->coll_names[i], COLLECTIVE, strlen(COLLECTIVE)))
            return true;
    return false;
}

static bool is_wanted(const struct jp_result *r, const struct jp_op *op)
{
    uint32_t n_ranks = r->comms[op->comm].n_ranks;

    return n_ranks > 1 && op->n == n_ranks && op->n_exec == n_ranks &&
           !strncmp(r->coll_names[op->coll], COLLECTIVE, strlen(COLLECTIVE));
}

static int walk(struct groups *g, struct ops_reader *reader, struct sample *ops,
                double *scratch)
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
        rc = walk(g, reader, ops, scratch);
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
    int order = network_shape_order(&r->comms[x->comm], &r->comms[y->comm]);

    order = order ? order : strcmp(x->coll, y->coll);
    if (order)
        return order;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void judge_likes(struct group *likes, size_t n, double *scratch)
{
    double usual, spread, least;

    for (size_t i = 0; i < n; i++)
        scratch[i] = likes[i].us;
    usual = stats_median(scratch, n);
    spread = stats_spread(scratch, n) * (1 + 6 / (double) n);
    least = fmax(usual * (1 + limit(JP_LIMIT_NET_LIKES)),
                 usual + limit(JP_LIMIT_LATE_SPREAD) * spread);
    for (size_t i = 0; i < n && n >= MIN_LIKES && usual >= MIN_US; i++) {
        struct group *group = &likes[i];

        group->usual_us = usual;
        if ((double) group->count >= limit(JP_LIMIT_NET_OPS))
            group->slow = group->us > least;
    }
}

static int judge(struct groups *g)
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
        judge_likes(g->at + i, end - i, scratch);
    }
    free(scratch);
    return 0;
}

/* --- the finding ---------------------------------------------------------- */

/* What the slow ones cost, and how much longer they take; marks them. */
static double add_up(struct groups *g, double *ratio, size_t *comms)
{
    struct network *w = g->w;
    double cost = 0;

    memset(w->slow, 0, w->r->n_comms * sizeof(*w->slow));
    memset(w->healthy, 0, w->r->n_comms * sizeof(*w->healthy));
    *ratio = 0;
    *comms = 0;
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
        *ratio += us * (group->us / group->usual_us - 1);
    }
    for (size_t c = 0; c < w->r->n_comms; c++)
        w->healthy[c] &= !w->slow[c];
    if (cost > 0)
        *ratio /= cost;
    return cost;
}

static int tell(struct groups *g)
{
    double ratio, all_us = g->w->list->time_us + g->time_us;
    size_t comms;
    double cost = add_up(g, &ratio, &comms);
    struct jp_sentence text;
    struct jp_finding *f;
    char hosts[200];

    if (!comms || cost <= all_us * NETGROUPS_MIN_SHARE)
        return 0;
    f = findings_add(g->w->findings, JP_FINDING_SLOW_NETWORK);
    if (!f)
        return -1;
    f->against = JP_AGAINST_LIKES;
    f->cost_us = cost;
    f->share = cost / all_us;
    network_say_hosts(g->w, f, hosts, sizeof(hosts));
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(&text,
                 "the network took %s longer for the AlltoAll of %zu "
                 "communicator%s than in others of their shape%s; cost %s of "
                 "GPU time, %s of communication",
                 FIG_SHARE(ratio), comms, sentence_s(comms), hosts,
                 FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "compare the links of their nodes: width, speed, error counters; "
             "which HCA each rank uses");
    return 1;
}

int netgroups_findings(struct network *w)
{
    struct groups g = {.w = w};
    int rc = -1;

    if (!w->p->known)
        return 0;
    if (add_exchanges(&g) == 0 && add_collectives(&g) == 0 && judge(&g) == 0)
        rc = tell(&g);
    free(g.at);
    return rc;
}
