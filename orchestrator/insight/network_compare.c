/* network_compare.c - series of the network's time that are longer than they
 * should be all along: than expected, or than their likes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/network_parts.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

#define MIN_SIBLINGS 3
#define MIN_US 20 /* below, whole us are too coarse for a bandwidth */

static int order_of(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int order_of_words(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

int network_shape_order(const struct jp_comm *x, const struct jp_comm *y)
{
    int order = order_of(x->n_ranks, y->n_ranks);

    order = order ? order : order_of(x->nnodes, y->nnodes);
    order = order ? order : order_of(x->n_hosts, y->n_hosts);
    order = order ? order : order_of(x->type, y->type);
    order = order ? order : order_of_words(x->fabric, y->fabric);
    return order ? order : order_of_words(x->inter, y->inter);
}

static int by_likeness(const void *a, const void *b, void *arg)
{
    const struct jp_result *r = arg;
    const struct jp_netseries *x = *(const struct jp_netseries *const *) a,
                              *y = *(const struct jp_netseries *const *) b;
    int order = network_shape_order(&r->comms[x->comm], &r->comms[y->comm]);

    order = order ? order : strcmp(x->coll, y->coll);
    return order ? order : order_of(x->bytes, y->bytes);
}

/* Slower than usual: of course NET_STEP. */
static void set_slow(struct jp_netseries *s, double usual_us)
{
    s->course = NET_STEP;
    s->before_us = usual_us;
    s->after_us = s->median_us;
    s->excess_us = (s->median_us - usual_us) * (double) s->ops;
}

/* Marks the series that are slower than their likes. */
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
        set_slow(s, usual);
    }
}

/* Of copies, which are steady. */
static int compare_likes(const struct network *w, struct jp_netseries *copy)
{
    size_t n = w->list->n, end;
    struct jp_netseries **order = calloc(n + 1, sizeof(*order));
    double *scratch = calloc(n + 1, sizeof(*scratch));
    int rc = order && scratch ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++) {
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

/* Keeps the series that the peaks, or the baseline, expect something of, those
 * slow that are expected to be faster. Returns how many. *reports: the most
 * that a cell's baseline is of. */
static size_t compare_expected(const struct network *w, enum jp_against against,
                               struct jp_netseries *copy, uint64_t *reports)
{
    size_t n = 0;

    for (size_t i = 0; i < w->list->n; i++) {
        struct jp_netseries *s = &copy[i];
        struct jp_expected_bw e;

        if (s->median_us < MIN_US || !(s->gbs_us > 0))
            continue;
        expectation_find(w->expectation, &w->r->comms[s->comm], s->coll,
                         s->bytes, &e);
        if (e.against != against)
            continue;
        if (s->gbs_us / s->median_us < e.least_gbs)
            set_slow(s, s->gbs_us / e.gbs);
        *reports = e.reports > *reports ? e.reports : *reports;
        copy[n++] = *s;
    }
    return n;
}

/* Some of the kind of the slow ones are well: nodes can be told apart. */
static bool has_healthy(const struct network *w)
{
    bool span = false, healthy = false;

    for (size_t c = 0; c < w->r->n_comms; c++)
        span |= w->slow[c] && w->r->comms[c].n_hosts > 1;
    for (size_t c = 0; c < w->r->n_comms; c++)
        healthy |= w->healthy[c] && (w->r->comms[c].n_hosts > 1) == span;
    return healthy;
}

static void say(struct jp_finding *f, const struct network_sum *sum,
                size_t comms, uint64_t reports, const char *hosts)
{
    char than[96] = "in others of their shape";
    const char *next = "compare the links of their nodes: width, speed, error "
                       "counters; which HCA each rank uses";
    struct jp_sentence text;

    if (f->against == JP_AGAINST_PEAKS)
        snprintf(than, sizeof(than), "the site's peaks expect");
    if (f->against == JP_AGAINST_BASELINE)
        snprintf(than, sizeof(than), "in the baseline of %s earlier steps",
                 FIG_COUNT(reports));
    if (f->against != JP_AGAINST_LIKES)
        next = "run nccl-tests on these nodes; look at links (width, speed, "
               "error counters), NCCL's release and its variables";
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text,
        "the network took %s longer in %zu communicator%s than %s%s; cost "
        "%s of GPU time, %s of communication",
        FIG_SHARE(sum->ratio - 1), comms, sentence_s(comms), than, hosts,
        FIG_US(f->cost_us), FIG_SHARE(f->share));
    snprintf(f->next, sizeof(f->next), "%s", next);
}

/* The finding on the slow ones of the copies, if they take enough. 1: made. */
static int add_slow(struct network *w, struct jp_netseries *copy, size_t n,
                    enum jp_against against, uint64_t reports)
{
    struct jp_netserieses list = {copy, n, w->list->time_us, NULL};
    const struct jp_netserieses *whole = w->list;
    struct network_sum sum;
    struct jp_finding *f;
    char hosts[200] = "";
    size_t comms;

    for (size_t i = 0; i < list.n; i++)
        copy[i].excess_us *= w->r->comms[copy[i].comm].n_ranks;
    w->list = &list;
    sum = network_add_up(w, NET_STEP);
    comms = network_mark(w, NET_STEP);
    w->list = whole;
    if (sum.excess_us <= list.time_us * limits_table[JP_LIMIT_NET_SHARE].value)
        return 0;
    f = findings_add(w->findings, JP_FINDING_SLOW_NETWORK);
    if (!f)
        return -1;
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    f->cost_us = sum.excess_us;
    f->share = sum.excess_us / list.time_us;
    f->against = against;
    if (has_healthy(w))
        network_say_hosts(w, f, hosts, sizeof(hosts));
    say(f, &sum, comms, reports, hosts);
    return 1;
}

int network_compare(struct network *w)
{
    static const enum jp_against order[] = {
        JP_AGAINST_PEAKS, JP_AGAINST_BASELINE, JP_AGAINST_LIKES};
    struct jp_netseries *copy = calloc(w->list->n + 1, sizeof(*copy));
    int rc = copy ? 0 : -1;

    for (size_t k = 0; rc == 0 && k < sizeof(order) / sizeof(*order); k++) {
        size_t n = w->list->n;
        uint64_t reports = 0;

        for (size_t i = 0; i < n; i++) {
            copy[i] = w->list->at[i];
            copy[i].course = NET_STEADY;
            copy[i].excess_us = 0;
        }
        if (order[k] == JP_AGAINST_LIKES)
            rc = compare_likes(w, copy);
        else
            n = compare_expected(w, order[k], copy, &reports);
        if (rc == 0)
            rc = add_slow(w, copy, n, order[k], reports);
    }
    free(copy);
    return rc;
}
