/* network.c - from series of the network's time to findings. */
#include "orchestrator/insight/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

#define MINOR 0.3 /* a kind with less of all excess is the other, misread */
#define MIN_SIBLINGS 3
#define HOSTS_NAMED 2

struct network {
    const struct jp_result *r;
    const struct jp_people *p;
    const struct jp_netserieses *list;
    struct jp_findings *findings;
    bool *slow;    /* [communicator] with a slow series of the kind at hand */
    bool *healthy; /* with series, none of them slow */
    size_t *slow_at, *healthy_at; /* [host] communicators */
    size_t *stamp;
};

static bool spans_hosts(const struct network *w, size_t comm)
{
    return w->r->comms[comm].n_hosts > 1;
}

/* Marks the communicators of a kind of series, and those that are well. */
static size_t mark(struct network *w, enum netseries_course course)
{
    size_t n = 0;

    memset(w->slow, 0, w->r->n_comms * sizeof(*w->slow));
    memset(w->healthy, 0, w->r->n_comms * sizeof(*w->healthy));
    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        w->healthy[s->comm] = true;
        if (s->course == course && !w->slow[s->comm]) {
            w->slow[s->comm] = true;
            n++;
        }
    }
    for (size_t c = 0; c < w->r->n_comms; c++)
        w->healthy[c] &= !w->slow[c];
    return n;
}

static void count_hosts(struct network *w)
{
    memset(w->slow_at, 0, w->p->n_hosts * sizeof(*w->slow_at));
    memset(w->healthy_at, 0, w->p->n_hosts * sizeof(*w->healthy_at));
    memset(w->stamp, 0, w->p->n_hosts * sizeof(*w->stamp));
    for (size_t c = 0; c < w->r->n_comms; c++) {
        if ((!w->slow[c] && !w->healthy[c]) || !spans_hosts(w, c))
            continue;
        for (size_t i = w->p->comm_start[c]; i < w->p->comm_start[c + 1]; i++) {
            size_t h = w->p->processes[w->p->of_rank[i]].host_at;

            if (w->stamp[h] == c + 1)
                continue;
            w->stamp[h] = c + 1;
            w->slow_at[h] += w->slow[c];
            w->healthy_at[h] += w->healthy[c];
        }
    }
}

static const char *host_name(const struct network *w, size_t host)
{
    for (size_t i = 0; i < w->p->n_processes; i++)
        if (w->p->processes[i].host_at == host)
            return w->p->processes[i].host;
    return "";
}

/* The nodes that all of `between` slow communicators share and, where `only`,
 * no healthy one has, into buf; returns how many. */
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
            snprintf(buf + len, size - len, "%s%.60s", n ? " and " : "",
                     host_name(w, h));
        *first = n++ ? *first : h;
    }
    return n;
}

/* What the series of a kind add up to. */
struct sum {
    size_t comms, ops;
    double excess_us, from_us, to_us;
    double ratio; /* of times, weighed by excess */
    const struct jp_netseries *worst;
};

static struct sum add_up(const struct network *w, enum netseries_course course)
{
    struct sum sum = {.from_us = INFINITY, .to_us = -INFINITY};

    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        if (s->course != course)
            continue;
        sum.ops += s->ops;
        sum.excess_us += s->excess_us;
        sum.ratio += s->excess_us * s->after_us / s->before_us;
        sum.from_us = fmin(sum.from_us, s->from_us);
        sum.to_us = fmax(sum.to_us, s->to_us);
        if (!sum.worst || s->excess_us > sum.worst->excess_us)
            sum.worst = s;
    }
    if (sum.excess_us > 0)
        sum.ratio /= sum.excess_us;
    return sum;
}

/* Which node it is, if the communicators tell, or between which two: these are
 * slow together, and well with others. */
static void say_hosts(struct network *w, struct jp_finding *f, char *buf,
                      size_t size)
{
    size_t between = 0, first = 0, n;
    bool only = true;
    char names[160];

    count_hosts(w);
    for (size_t c = 0; c < w->r->n_comms; c++)
        between += w->slow[c] && spans_hosts(w, c);
    n = name_hosts(w, between, true, names, sizeof(names), &first);
    if (!n) {
        only = false;
        n = name_hosts(w, between, false, names, sizeof(names), &first);
    }
    buf[0] = '\0';
    if (n == 0 || n > HOSTS_NAMED)
        return;
    snprintf(buf, size, ", all with %s%.120s%s", n == 1 ? "node " : "nodes ",
             names, only ? " and no other" : "");
    if (n == 1)
        snprintf(f->host, sizeof(f->host), "%s", host_name(w, first));
}

static int add_course(struct network *w, enum netseries_course course,
                      enum jp_finding_kind kind)
{
    struct sum sum = add_up(w, course);
    size_t comms = mark(w, course);
    struct jp_finding *f = findings_add(w->findings, kind);
    struct jp_sentence text;
    char hosts[200], when[16 + JP_FIGURE_LEN] = "";

    if (!f)
        return -1;
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    f->from_us = isfinite(sum.from_us) ? sum.from_us : NAN;
    f->to_us = isfinite(sum.to_us) ? sum.to_us : NAN;
    f->cost_us = sum.excess_us;
    f->share = w->list->time_us > 0 ? sum.excess_us / w->list->time_us : NAN;
    say_hosts(w, f, hosts, sizeof(hosts));
    if (course == NET_STEP && isfinite(f->from_us))
        snprintf(when, sizeof(when), " from %s on",
                 FIG_UTC((uint64_t) f->from_us));
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text,
        "the network's time %s by %s%s in %zu communicator%s%s; cost %s of "
        "GPU time, %s of communication",
        course == NET_STEP ? "grew" : "grew steadily, over the run",
        FIG_SHARE(sum.ratio - 1), when, comms, sentence_s(comms), hosts,
        FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next), "%s",
             *f->host ? "look at that node's HCAs and links: error counters, "
                        "width, speed, congestion"
                      : "look at the fabric at that time: error counters, "
                        "congestion, other jobs");
    return 0;
}

/* --- slower than their likes ---------------------------------------------- */

static int by_likeness(const void *a, const void *b, void *arg)
{
    const struct jp_result *r = arg;
    const struct jp_netseries *x = *(const struct jp_netseries *const *) a,
                              *y = *(const struct jp_netseries *const *) b;
    const struct jp_comm *cx = &r->comms[x->comm], *cy = &r->comms[y->comm];
    int order = strcmp(x->coll, y->coll);

    if (cx->n_ranks != cy->n_ranks)
        return cx->n_ranks < cy->n_ranks ? -1 : 1;
    if (cx->nnodes != cy->nnodes)
        return cx->nnodes < cy->nnodes ? -1 : 1;
    if (cx->n_hosts != cy->n_hosts)
        return cx->n_hosts < cy->n_hosts ? -1 : 1;
    if (order)
        return order;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Marks, by course NET_STEP, the series that are slower than their likes. */
static void judge_likes(struct jp_netseries **likes, size_t n, double *scratch)
{
    double usual;

    for (size_t i = 0; i < n; i++)
        scratch[i] = likes[i]->median_us;
    usual = stats_median(scratch, n);
    for (size_t i = 0; n >= MIN_SIBLINGS && usual > 0 && i < n; i++) {
        struct jp_netseries *s = likes[i];

        if (s->median_us < usual * (1 + limits_table[JP_LIMIT_NET_LIKES].value))
            continue;
        s->course = NET_STEP;
        s->before_us = usual;
        s->after_us = s->median_us;
        s->excess_us = (s->median_us - usual) * (double) s->ops;
    }
}

/* A copy of the series, each steady but for those slower than their likes. */
static int compare_likes(struct network *w, struct jp_netseries *copy)
{
    size_t n = w->list->n, end;
    struct jp_netseries **order = calloc(n + 1, sizeof(*order));
    double *scratch = calloc(n + 1, sizeof(*scratch));
    int rc = order && scratch ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        copy[i] = w->list->at[i];
        copy[i].course = NET_STEADY;
        copy[i].excess_us = 0;
        order[i] = &copy[i];
    }
    if (rc == 0 && n)
        qsort_r(order, n, sizeof(*order), by_likeness,
                (void *) (uintptr_t) w->r);
    for (size_t i = 0; rc == 0 && i < n; i = end) {
        for (end = i + 1; end < n && !by_likeness(&order[i], &order[end],
                                                  (void *) (uintptr_t) w->r);
             end++)
            ;
        judge_likes(order + i, end - i, scratch);
    }
    free(order);
    free(scratch);
    return rc;
}

static int add_likes(struct network *w)
{
    struct jp_netseries *copy = calloc(w->list->n + 1, sizeof(*copy));
    struct jp_netserieses list = {copy, w->list->n, w->list->time_us, NULL};
    const struct jp_netserieses *whole = w->list;
    struct jp_finding *f;
    struct sum sum;
    char hosts[200];
    size_t comms;
    int rc = -1;

    if (!copy || compare_likes(w, copy) < 0)
        goto out;
    rc = 0;
    w->list = &list;
    for (size_t i = 0; i < list.n; i++)
        copy[i].excess_us *= w->r->comms[copy[i].comm].n_ranks;
    sum = add_up(w, NET_STEP);
    comms = mark(w, NET_STEP);
    if (sum.excess_us <= list.time_us * limits_table[JP_LIMIT_NET_SHARE].value)
        goto out;
    f = findings_add(w->findings, JP_FINDING_SLOW_NETWORK);
    if (!f) {
        rc = -1;
        goto out;
    }
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    f->cost_us = sum.excess_us;
    f->share = sum.excess_us / list.time_us;
    say_hosts(w, f, hosts, sizeof(hosts));
    snprintf(f->text, sizeof(f->text),
             "the network took %s longer in %zu communicator%s than in others "
             "of their shape%s; cost %s of GPU time, %s of communication",
             FIG_SHARE(sum.ratio - 1), comms, sentence_s(comms), hosts,
             FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next),
             "compare the links of their nodes: width, speed, error counters; "
             "which HCA each rank uses");
out:
    w->list = whole;
    free(copy);
    return rc;
}

static int tell(struct network *w)
{
    struct sum step = add_up(w, NET_STEP), line = add_up(w, NET_LINE);
    double both = step.excess_us + line.excess_us;
    double least =
        fmax(MINOR * both,
             w->list->time_us * limits_table[JP_LIMIT_NET_SHARE].value);

    if (step.excess_us > least &&
        add_course(w, NET_STEP, JP_FINDING_SLOW_NETWORK) < 0)
        return -1;
    if (line.excess_us > least && add_course(w, NET_LINE, JP_FINDING_DRIFT) < 0)
        return -1;
    if (step.excess_us > least || line.excess_us > least)
        return 0;
    return add_likes(w);
}

int network_findings(const struct jp_result *r, const struct jp_people *p,
                     const struct jp_netserieses *list,
                     struct jp_findings *findings)
{
    struct network w = {.r = r, .p = p, .list = list, .findings = findings};
    int rc = -1;

    w.slow = calloc(r->n_comms + 1, sizeof(*w.slow));
    w.healthy = calloc(r->n_comms + 1, sizeof(*w.healthy));
    w.slow_at = calloc(p->n_hosts + 1, sizeof(*w.slow_at));
    w.healthy_at = calloc(p->n_hosts + 1, sizeof(*w.healthy_at));
    w.stamp = calloc(p->n_hosts + 1, sizeof(*w.stamp));
    if (w.slow && w.healthy && w.slow_at && w.healthy_at && w.stamp)
        rc = tell(&w);
    free(w.slow);
    free(w.healthy);
    free(w.slow_at);
    free(w.healthy_at);
    free(w.stamp);
    return rc;
}
