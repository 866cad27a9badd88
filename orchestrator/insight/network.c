/* network.c - findings from the series of the network's time, and the answers
 * on the network.
 *
 * find_all() has the order: steps and drifts first; if there is neither,
 * compare_speeds() with peaks, baseline and likes, then groups and pairs
 * (netgroups.c). A network that is slow from some time on would also be slow
 * against its likes, so only the first kind that explains enough becomes a
 * finding. Before that, answer_network() states how small an effect would be
 * seen.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* Sums over the series of a kind, such as those with a step. */
struct sum {
    size_t comms, ops;
    double excess_us, from_us, to_us;
    double error_us; /* of excess_us; NAN: unknown */
    bool passed;     /* all returned to normal by to_us */
    double ratio;    /* time after / before, weighted by excess */
    const struct jp_netseries *worst;
};

/* Series of one shape of communicator, function and size are alike. */
static int by_likeness(const void *a, const void *b, void *arg)
{
    const struct jp_result *r = arg;
    const struct jp_netseries *x = *(const struct jp_netseries *const *) a,
                              *y = *(const struct jp_netseries *const *) b;
    int order = likes_by_link(&r->comms[x->comm], &r->comms[y->comm]);

    order = order ? order : strcmp(x->coll, y->coll);
    return order ? order : stats_order(x->bytes, y->bytes);
}

/* The standard error of the logarithm of a series' median: that of the mean of
 * its blocks. NAN: its operations are too short to judge. */
static double median_error(const struct jp_netseries *s)
{
    return s->noise / sqrt(s->blocks);
}

/* Marks the series as slower than usual (course NET_STEP) and sets its excess
 * in us of one rank. error: standard error of the logarithm of the usual time.
 */
static void set_slow(struct jp_netseries *s, double usual_us, double error)
{
    s->course = NET_STEP;
    s->before_us = usual_us;
    s->after_us = s->median_us;
    s->excess_us = (s->median_us - usual_us) * (double) s->ops;
    s->change_error = hypot(median_error(s), error);
}

/* Marks the series that are slower than the median of n likes by
 * `net_likes_min`. The median, so that one slow link does not raise what is
 * usual. The threshold is a plain factor and no test: rings of one shape differ
 * in their paths by some tenths anyway, which is no fault. With fewer than
 * `net_comms_min` likes nothing is marked, since of two that differ either may
 * be the healthy one. */
static void judge_likes(struct jp_netseries **likes, size_t n, double *scratch)
{
    double usual, error;

    for (size_t i = 0; i < n; i++)
        scratch[i] = likes[i]->median_us;
    usual = stats_median(scratch, n);
    error = n > 1 ? stats_spread(scratch, n) / usual / sqrt((double) n) : 0;
    for (size_t i = 0;
         n >= limits_get(JP_LIMIT_NET_COMMS) && usual > 0 && i < n; i++) {
        struct jp_netseries *s = likes[i];

        if (s->median_us < usual * (1 + limits_get(JP_LIMIT_NET_LIKES)))
            continue;
        set_slow(s, usual, error);
    }
}

/* Compares the copies of all series with their likes. Returns 0 or -1. */
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

/* Keeps the series for which there is such an expectation, and marks those
 * slower than expected. Returns their number. *reports: the largest number of
 * reports of a baseline's cell. A bandwidth needs times that are long against a
 * microsecond. */
static size_t compare_expected(const struct network *w, enum jp_against against,
                               struct jp_netseries *copy, uint64_t *reports)
{
    size_t n = 0;

    for (size_t i = 0; i < w->list->n; i++) {
        struct jp_netseries *s = &copy[i];
        struct jp_expected_bw e;

        if (s->median_us < limits_get(JP_LIMIT_NET_BW_US) || !(s->gbs_us > 0))
            continue;
        expectation_find(w->expectation, &w->r->comms[s->comm], s->coll,
                         s->bytes, &e);
        if (e.against != against)
            continue;
        if (s->gbs_us / s->median_us < e.least_gbs)
            set_slow(s, s->gbs_us / e.gbs, 0);
        *reports = e.reports > *reports ? e.reports : *reports;
        copy[n++] = *s;
    }
    return n;
}

/* Returns true if some communicators of the slow ones' reach (between nodes, or
 * within one) are healthy. Without them every node looks equally slow, and none
 * must be named. */
static bool has_healthy(const struct network *w)
{
    bool span = false, healthy = false;

    for (size_t c = 0; c < w->r->n_comms; c++)
        span |= w->slow[c] && w->r->comms[c].n_hosts > 1;
    for (size_t c = 0; c < w->r->n_comms; c++)
        healthy |= w->healthy[c] && (w->r->comms[c].n_hosts > 1) == span;
    return healthy;
}

/* Writes the finding's text and advice. */
static void write_text(const struct network *w, struct jp_finding *f,
                       const struct sum *sum, size_t comms, uint64_t reports,
                       const char *hosts)
{
    char than[96] = "in others of their shape";
    const char *next = "compare the links of their nodes (width, speed, error "
                       "counters) and the HCA of each rank";
    struct jp_sentence text;

    if (f->against == JP_AGAINST_PEAKS)
        snprintf(than, sizeof(than), "%s expect",
                 w->expectation->peaks_path ? "the site's peaks"
                                            : "its adapters' rates");
    if (f->against == JP_AGAINST_BASELINE)
        snprintf(than, sizeof(than), "in the baseline of %s earlier steps",
                 FIG_COUNT(reports));
    if (f->against != JP_AGAINST_LIKES)
        next = "run nccl-tests on these nodes; check links (width, speed, "
               "error counters), NCCL's release and its variables";
    f->ratio = sum->ratio;
    f->comms = comms;
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text,
        "the network took %s longer in %s communicator%s than %s%s; cost %s",
        FIG_SHARE(sum->ratio - 1), FIG_COUNT(comms), plural(comms), than, hosts,
        FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s", next);
}

/* Marks the communicators with a series of that course as slow, the others with
 * series as healthy. Returns the number of slow ones. */
static size_t mark_communicators(struct network *w, enum nettrend_course course)
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

/* Returns the standard error of a series' excess: the excess is proportional to
 * after - before, and after has the relative error of the change. */
static double error_of(const struct jp_netseries *s)
{
    return s->excess_us * s->change_error * s->after_us /
           (s->after_us - s->before_us);
}

/* Adds up the series of that course. Errors of different series are
 * independent, so their squares add up. */
static struct sum add_up(const struct network *w, enum nettrend_course course)
{
    struct sum sum = {.from_us = INFINITY, .to_us = -INFINITY, .passed = true};

    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        if (s->course != course)
            continue;
        sum.passed &= s->passed;
        sum.ops += s->ops;
        sum.excess_us += s->excess_us;
        sum.error_us = hypot(sum.error_us, error_of(s));
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

/* Adds the finding on the slow ones of n copies, if they take more than
 * `net_share_min` of the time in communication. Returns 1 if it did, 0 or -1.
 */
static int add_slow(struct network *w, struct jp_netseries *copy, size_t n,
                    enum jp_against against, uint64_t reports)
{
    struct jp_netserieses list = {
        .at = copy, .n = n, .time_us = w->list->time_us};
    const struct jp_netserieses *whole = w->list;
    struct sum sum;
    struct jp_finding *f;
    char hosts[200] = "";
    size_t comms;

    for (size_t i = 0; i < list.n; i++)
        copy[i].excess_us *= w->r->comms[copy[i].comm].n_ranks;
    /* These look at w->list: lend them the copies for a moment. */
    w->list = &list;
    sum = add_up(w, NET_STEP);
    comms = mark_communicators(w, NET_STEP);
    w->list = whole;
    if (sum.excess_us <= list.time_us * limits_get(JP_LIMIT_NET_SHARE)) {
        if (against == JP_AGAINST_LIKES && comms)
            w->trifle =
                (struct network_trifle){.comms = comms,
                                        .ratio = sum.ratio,
                                        .share = sum.excess_us / list.time_us};
        return 0;
    }
    f = findings_add(w->findings, JP_FINDING_SLOW_NETWORK);
    if (!f)
        return -1;
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    finding_cost(w->findings, f, sum.excess_us);
    finding_measure(f, sum.excess_us / list.time_us,
                    sum.error_us / list.time_us);
    f->evidence = sum.ops;
    f->against = against;
    if (has_healthy(w))
        netgroups_describe_hosts(w, f, hosts, sizeof(hosts));
    write_text(w, f, &sum, comms, reports, hosts);
    return 1;
}

/* Compares with peaks, then with the baseline, then with likes; the first that
 * finds something ends the search. Returns 1 if one did, 0 or -1. */
static int compare_speeds(struct network *w)
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

/* --- changes during the run ----------------------------------------------- */

/* Adds the finding on steps or on drifts. Returns 0 or -1. */
static int add_course(struct network *w, enum nettrend_course course,
                      enum jp_finding_kind kind)
{
    struct sum sum = add_up(w, course);
    size_t comms = mark_communicators(w, course);
    struct jp_finding *f = findings_add(w->findings, kind);
    struct jp_sentence text;
    char hosts[200], when[16 + 2 * JP_FIGURE_LEN] = "";
    bool passed;

    if (!f)
        return -1;
    if (comms == 1)
        f->comm = (int64_t) sum.worst->comm;
    f->coll = comms == 1 ? sum.worst->coll : NULL;
    f->from_us = isfinite(sum.from_us) ? sum.from_us : NAN;
    f->to_us = isfinite(sum.to_us) ? sum.to_us : NAN;
    finding_cost(w->findings, f, sum.excess_us);
    finding_measure(f, sum.excess_us / w->list->time_us,
                    sum.error_us / w->list->time_us);
    f->evidence = sum.ops;
    f->against = JP_AGAINST_OWN;
    f->ratio = sum.ratio;
    f->comms = comms;
    netgroups_describe_hosts(w, f, hosts, sizeof(hosts));
    passed = sum.passed && isfinite(f->to_us);
    if (course == NET_STEP && isfinite(f->from_us))
        snprintf(when, sizeof(when), " from %s %s%s",
                 FIG_UTC((uint64_t) f->from_us), passed ? "to " : "on",
                 passed ? FIG_UTC((uint64_t) f->to_us) : "");
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text, "the network's time %s by %s%s in %s communicator%s%s; cost %s",
        course == NET_STEP ? "grew" : "grew steadily over the run,",
        FIG_SHARE(sum.ratio - 1), when, FIG_COUNT(comms), plural(comms), hosts,
        FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s",
             *f->host   ? "check that node's HCAs and links: error counters, "
                          "width, speed, congestion"
             : f->nodes ? "check the HCAs and links of these nodes at that "
                          "time: error counters, width, speed"
                        : "check the fabric at that time: error counters, "
                          "congestion, other jobs");
    return 0;
}

/* Returns true if a change is worth a finding. What lasts to the end of the run
 * may come again in the next one, and needs no more than to be clear. What has
 * passed by itself, such as a burst of another job, must have cost something.
 */
static bool is_worth(const struct network *w, const struct sum *sum,
                     double least_us)
{
    double gpus_us = w->findings->gpus_us;

    if (!(sum->excess_us > least_us))
        return false;
    return !sum->passed ||
           sum->excess_us > limits_get(JP_LIMIT_OWN_WORTH) *
                                (gpus_us > 0 ? gpus_us : w->list->time_us);
}

/* Says of a change that is not worth a finding that it was there: the question
 * was answered before, and "no drift over 10 %" would be false. */
static void answer_unworthy(const struct network *w, const struct sum *sum)
{
    struct jp_hypotheses *h = w->findings->hypotheses;
    double gpus_us = w->findings->gpus_us;
    bool of_run = gpus_us > 0;
    const char *cost =
        FIG_SHARE(sum->excess_us / (of_run ? gpus_us : w->list->time_us));

    if (!h || !(sum->excess_us > 0) ||
        h->of[JP_HYPOTHESIS_DRIFT].state != JP_HYPOTHESIS_NOT_FOUND)
        return;
    hypothesis_set(h, JP_HYPOTHESIS_DRIFT, JP_HYPOTHESIS_NOT_FOUND, NAN,
                   "no drift worth a search: the network %s %s slower%s, which "
                   "cost %s of %s",
                   sum->passed ? "was" : "became", FIG_SHARE(sum->ratio - 1),
                   sum->passed ? " for a time" : "", cost,
                   of_run ? "the run" : "communication");
}

/* Makes all findings on the network. *compared: links were compared with their
 * likes. Returns 0 or -1. */
static int find_all(struct network *w, bool *compared)
{
    struct sum step = add_up(w, NET_STEP), line = add_up(w, NET_LINE);
    double both = step.excess_us + line.excess_us;
    /* If there are steps and lines, the smaller part is often the other kind,
     * misread: both are noisy fits of one event. */
    double least = fmax(limits_get(JP_LIMIT_NET_MINOR) * both,
                        w->list->time_us * limits_get(JP_LIMIT_NET_SHARE));
    bool has_step, has_line;
    int rc;

    line.passed = false;
    has_step = is_worth(w, &step, least);
    has_line = is_worth(w, &line, least);
    if (has_step && add_course(w, NET_STEP, JP_FINDING_SLOW_NETWORK) < 0)
        return -1;
    if (has_line && add_course(w, NET_LINE, JP_FINDING_DRIFT) < 0)
        return -1;
    *compared = !has_step && !has_line;
    if (!*compared)
        return 0;
    answer_unworthy(w, step.excess_us > line.excess_us ? &step : &line);
    rc = compare_speeds(w);
    if (rc == 0)
        rc = netgroups_findings(w);
    return rc < 0 ? -1 : 0;
}

/* --- how small a change would have been seen ------------------------------ */

/* Returns the smallest relative growth that would have been seen in a series of
 * median noise; NAN: no series could be judged. */
static double least_change(const struct network *w, double *scratch)
{
    unsigned blocks = 0;
    double least = NAN; /* of so many blocks: most series have equally many */
    size_t n = 0;

    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];

        if (!s->blocks)
            continue;
        if (s->blocks != blocks)
            least = nettrend_least(s->blocks);
        blocks = s->blocks;
        scratch[n++] = s->noise * least;
    }
    if (!n)
        return NAN;
    return fmax(limits_get(JP_LIMIT_NET_CHANGE),
                exp(stats_median(scratch, n)) - 1);
}

/* Returns the share of the network's time that is in series, which need enough
 * operations. timed: only in series whose operations are long enough to judge.
 */
static double share_of_series(const struct network *w, bool timed)
{
    double us = 0;

    for (size_t i = 0; i < w->list->n; i++)
        if (!timed || isfinite(w->list->at[i].noise))
            us += w->list->at[i].net_us;
    return w->list->net_us > 0 ? us / w->list->net_us : 1;
}

/* Answers "not judged" and returns true if less than half of the network's time
 * could be judged: the larger part could be slow without being seen. */
static bool is_minor(double share, enum jp_hypothesis_id id,
                     struct jp_hypotheses *h)
{
    if (share >= limits_get(JP_LIMIT_NET_JUDGED))
        return false;
    hypothesis_set(
        h, id, JP_HYPOTHESIS_NOT_JUDGED, NAN,
        "only %s of the network's time has %.0f operations of a size",
        FIG_SHARE(share), limits_get(JP_LIMIT_NET_OPS));
    return true;
}

/* Answers whether the network changed during the run. */
static void answer_drift(const struct network *w, double *scratch,
                         struct jp_hypotheses *h)
{
    double least = least_change(w, scratch);

    if (!w->list->n)
        hypothesis_set(h, JP_HYPOTHESIS_DRIFT, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "fewer than %.0f operations of a size",
                       limits_get(JP_LIMIT_NET_OPS));
    else if (!isfinite(least))
        hypothesis_set(h, JP_HYPOTHESIS_DRIFT, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "operations take less than %s",
                       FIG_US(limits_get(JP_LIMIT_NET_US)));
    else if (!is_minor(share_of_series(w, true), JP_HYPOTHESIS_DRIFT, h))
        hypothesis_set(h, JP_HYPOTHESIS_DRIFT, JP_HYPOTHESIS_NOT_FOUND, least,
                       NULL);
}

/* Answers how fast the network was: the time due by peaks or baseline, as a
 * share of the time it took. Series without an expectation do not count. */
static void answer_speed(const struct network *w, struct jp_hypotheses *h)
{
    double took = 0, due = 0, least = 0, judged_us = 0;
    enum jp_against by = JP_AGAINST_NOTHING;
    bool known = w->expectation &&
                 (w->expectation->peaks || w->expectation->baseline);
    uint64_t reports = 0;

    for (size_t i = 0; i < w->list->n; i++) {
        const struct jp_netseries *s = &w->list->at[i];
        struct jp_expected_bw e;

        if (s->median_us < limits_get(JP_LIMIT_NET_BW_US) || !(s->gbs_us > 0))
            continue;
        expectation_find(w->expectation, &w->r->comms[s->comm], s->coll,
                         s->bytes, &e);
        reports = e.reports > reports ? e.reports : reports;
        if (e.against == JP_AGAINST_NOTHING)
            continue;
        by = by == JP_AGAINST_PEAKS ? by : e.against;
        took += s->median_us * (double) s->ops;
        due += s->gbs_us /
               (e.against == JP_AGAINST_PEAKS ? e.high_gbs : e.gbs) *
               (double) s->ops;
        least = fmax(least, e.gbs / e.least_gbs - 1);
        judged_us += s->net_us;
    }
    if (by == JP_AGAINST_NOTHING && reports > 0)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_NETWORK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN,
                       "the baseline has %s of the %.0f steps that it needs",
                       FIG_COUNT(reports), limits_get(JP_LIMIT_NET_REPORTS));
    else if (known && !w->list->n)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_NETWORK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "fewer than %.0f operations of a size",
                       limits_get(JP_LIMIT_NET_OPS));
    else if (by == JP_AGAINST_NOTHING)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_NETWORK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "%s",
                       known ? "peaks and baseline have none of its operations"
                             : "no peaks and no baseline");
    else if (judged_us < limits_get(JP_LIMIT_NET_JUDGED) * w->list->net_us)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_NETWORK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN,
                       "only operations with %s of the network's time could "
                       "be compared",
                       FIG_SHARE(judged_us / w->list->net_us));
    else
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_NETWORK, JP_HYPOTHESIS_NOT_FOUND,
                       least, "network %s of its %s", FIG_SHARE(due / took),
                       by != JP_AGAINST_PEAKS       ? "baseline"
                       : w->expectation->peaks_path ? "peaks"
                                                    : "adapters' rates");
}

/* Returns true if so many communicators have series of one shape, function and
 * size that these can be compared. order: room for all series. */
static bool has_likes(const struct network *w,
                      const struct jp_netseries **order)
{
    void *arg = (void *) (uintptr_t) w->r;
    size_t most = 0, likes = 0;

    for (size_t i = 0; i < w->list->n; i++)
        order[i] = &w->list->at[i];
    if (w->list->n)
        qsort_r(order, w->list->n, sizeof(*order), by_likeness, arg);
    for (size_t i = 0; i < w->list->n; i++) {
        likes = i && !by_likeness(&order[i - 1], &order[i], arg) ? likes + 1
                                                                 : 1;
        most = likes > most ? likes : most;
    }
    return (double) most >= limits_get(JP_LIMIT_NET_COMMS);
}

/* Answers for links that were compared, of which none is a finding. */
static void answer_compared(const struct network *w, struct jp_hypotheses *h)
{
    const struct network_trifle *t = &w->trifle;

    if (!t->comms)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_NOT_FOUND,
                       w->likes_least, NULL);
    else
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_NOT_FOUND, NAN,
                       "no slow link worth a search: %s communicator%s took %s "
                       "longer than peers, which cost %s of communication",
                       FIG_COUNT(t->comms), plural(t->comms),
                       FIG_SHARE(t->ratio - 1), FIG_SHARE(t->share));
}

/* Answers for links: communicators, groups of an AlltoAll, and pairs of ranks.
 */
static void answer_links(const struct network *w, bool compared,
                         struct jp_hypotheses *h)
{
    if (!compared)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "the network changed during the run");
    else if (w->likes_least > 0) {
        if (!is_minor(share_of_series(w, false), JP_HYPOTHESIS_SLOW_LINK, h))
            answer_compared(w, h);
    } else if (w->waits)
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "messages wait for late ranks");
    else
        hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "too few communicators or links of one shape");
}

/* Sets the answers on drift and speed, before any finding is made. Returns 0 or
 * -1. */
static int answer_network(struct network *w)
{
    struct jp_hypotheses *h = w->findings->hypotheses;
    const struct jp_netseries **order;
    double *scratch;
    int rc = -1;

    if (!h)
        return 0;
    order = calloc(w->list->n + 1, sizeof(*order));
    scratch = calloc(w->list->n + 1, sizeof(*scratch));
    if (order && scratch) {
        answer_drift(w, scratch, h);
        answer_speed(w, h);
        if (has_likes(w, order))
            w->likes_least = limits_get(JP_LIMIT_NET_LIKES);
        rc = 0;
    }
    free(order);
    free(scratch);
    return rc;
}

int network_findings(const struct jp_result *r, const struct jp_processes *p,
                     const struct jp_netserieses *list,
                     const struct jp_expectation *expectation,
                     struct jp_findings *findings)
{
    struct network w = {.r = r,
                        .p = p,
                        .list = list,
                        .expectation = expectation,
                        .findings = findings};
    bool compared = false;
    int rc = -1;

    w.slow = calloc(r->n_comms + 1, sizeof(*w.slow));
    w.healthy = calloc(r->n_comms + 1, sizeof(*w.healthy));
    w.slow_at = calloc(p->n_hosts + 1, sizeof(*w.slow_at));
    w.healthy_at = calloc(p->n_hosts + 1, sizeof(*w.healthy_at));
    w.stamp = calloc(p->n_hosts + 1, sizeof(*w.stamp));
    if (w.slow && w.healthy && w.slow_at && w.healthy_at && w.stamp)
        rc = answer_network(&w) < 0 ? -1 : find_all(&w, &compared);
    if (rc == 0 && findings->hypotheses)
        answer_links(&w, compared, findings->hypotheses);
    free(w.slow);
    free(w.healthy);
    free(w.slow_at);
    free(w.healthy_at);
    free(w.stamp);
    return rc;
}
