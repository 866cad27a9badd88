/* late_spread.c - by how much ranks of a kind differ anyway.
 *
 * Two things that late.c and late_measure.c need to tell lateness from noise:
 * the spread of single ranks of a class (late_class_spread), and rare stops
 * that hit any rank and must not count as lateness (late_leave_out_stops). */
#include "orchestrator/insight/late_measure.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/limits.h"
#include "common/stats.h"

double late_times_of(size_t n)
{
    return limits_get(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n);
}

double late_deviation(const double *v, size_t n, double outlier)
{
    double squares = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (fabs(v[i]) < outlier) {
            squares += v[i] * v[i];
            kept++;
        }
    return kept ? sqrt(squares / (double) kept) : 0;
}

/* Computes the deviation without the largest value: one late rank among few
 * widens the spread, so it is judged by that of the others. */
static void leave_out_first(struct late_spread *spread, double *v, size_t n)
{
    double most = -INFINITY, squares = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, v[i]);
        squares += v[i] * v[i];
    }
    spread->rest_us = sqrt(fmax(squares - most * most, 0) / (double) (n - 1));
}

struct late_spread late_class_spread(struct late *l, size_t class)
{
    size_t n = 0, pairs = 0;
    struct late_spread spread = {0};

    for (size_t i = 0; i < l->r->n_ranks; i++) {
        const struct jp_rank *rank = &l->r->ranks[i];

        if (!l->out[i].judged || l->class_of[rank->comm] != class)
            continue;
        if (!n || l->out[i].excess_us > l->out[spread.first].excess_us)
            spread.first = i;
        l->scratch[n++] = l->out[i].excess_us;
        pairs += l->r->comms[rank->comm].n_ranks == 2;
    }
    if (n < 2)
        return spread;
    leave_out_first(&spread, l->scratch, n);
    spread.half_us = stats_spread(l->scratch, n);
    spread.times = late_times_of(n - pairs / 2);
    spread.us =
        fmax(spread.half_us,
             limits_get(JP_LIMIT_LATE_REST) *
                 late_deviation(l->scratch, n, spread.times * spread.half_us));
    return spread;
}

/* ---------------------------------- stops that come now and then, left out */

uint64_t late_steps_of(const struct late *l, size_t rank)
{
    const struct jp_process *who = &l->p->list[l->p->of_rank[rank]];
    uint64_t least = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t c = l->r->ranks[l->p->by_process[i]].comm;
        uint64_t ops = l->series->fewest[c];

        if (ops && l->r->comms[c].n_ranks > 1 && (!least || ops < least))
            least = ops;
    }
    return least;
}

/* By how many us the rank came later to single operations, over the run. */
static double stalled_sum(const struct jp_rank *x)
{
    double us = 0;

    for (unsigned s = 0; s < JP_SLICES; s++)
        us += isfinite(x->stalled_us[s]) ? (double) x->stalled_us[s] : 0;
    return us;
}

/* True if so many stops are few for the rank's number of operations. */
static bool is_rare(const struct jp_rank *x, double stops)
{
    return stops <= limits_get(JP_LIMIT_STALL_RARE) * (double) x->timed_ops;
}

/* The rank of the process in whose communicator its own stops show. In most
 * communicators ranks also pass on what they have waited for elsewhere, so it
 * is the one of the shape in which ranks come far later most rarely.
 * Communicators of all processes are the last choice: there all ranks arrive
 * together. Returns SIZE_MAX if no communicator is better than the others.
 * `often` is from count_often. */
static size_t home_of(const struct late *l, const struct jp_process *who,
                      const double *often)
{
    size_t home = SIZE_MAX, whole = SIZE_MAX, n = 0;
    uint64_t ops = 0, kernels = 0;
    double least = INFINITY, next = INFINITY;
    bool messages = false;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t at = l->p->by_process[i];
        const struct jp_rank *x = &l->r->ranks[at];
        uint32_t n_ranks = l->r->comms[x->comm].n_ranks;
        double own = often[l->class_of[x->comm]];

        if (l->kernels[x->comm] > kernels)
            kernels = l->kernels[x->comm];
        messages |= x->p2p_records && !(l->grouped_us[at] > 0);
        if (n_ranks < 2 || !x->stalled_us || !x->timed_ops)
            continue;
        ops = x->timed_ops > ops ? x->timed_ops : ops;
        if (n_ranks == l->p->n) {
            if (whole == SIZE_MAX ||
                x->stalled_ops > l->r->ranks[whole].stalled_ops)
                whole = at;
            continue;
        }
        n++;
        next = fmin(next, fmax(own, least));
        if (own < least) {
            least = own;
            home = at;
        }
    }
    /* Waits in AlltoAll are passed on everywhere, and so are waits for messages
     * if no other rank of a group gets the same ones. */
    if (kernels > ops || (messages && n < 2) ||
        next < limits_get(JP_LIMIT_LATE_STALL_OTHERS) * least)
        return SIZE_MAX;
    return home == SIZE_MAX ? whole : home;
}

/* For each class, the mean number of operations to which its ranks come far
 * later. The second `classes` values are the means over the ranks for which
 * this is rare (NAN if there are none). Caller frees; NULL without memory. */
static double *count_often(const struct late *l)
{
    size_t n = l->classes;
    double *often = calloc(4 * n + 1, sizeof(*often));

    for (size_t i = 0; often && i < l->r->n_ranks; i++) {
        const struct jp_rank *x = &l->r->ranks[i];
        double *of = often + l->class_of[x->comm];

        for (int k = 0; k <= is_rare(x, (double) x->stalled_ops); k++) {
            of[k * n] += (double) x->stalled_ops;
            of[(2 + k) * n]++;
        }
    }
    for (size_t k = 0; often && k < 2 * n; k++)
        often[k] /= often[2 * n + k];
    return often;
}

/* By how many us the rank comes later to an operation on average, without the
 * stops; at least 0. */
static double usual_late(struct late *l, size_t rank, double stalled_us)
{
    const struct jp_rank *x = &l->r->ranks[rank];
    size_t from = l->p->comm_start[x->comm], n = 0;
    double late;

    for (size_t k = from; k < l->p->comm_start[x->comm + 1]; k++)
        if (k != rank)
            l->scratch[n++] = (double) l->r->ranks[k].exec_us;
    late = stats_median(l->scratch, n) - (double) x->exec_us - stalled_us;
    return fmax(0, late) / (double) (x->timed_ops - x->stalled_ops);
}

/* True if the "stops" are lateness with an onset: every part from one on has
 * some, and more parts before it have none than n random stops would leave
 * empty. A part stays empty with probability (1 - 1 / parts)^n; the number of
 * empty parts is tested by the exact binomial test, times the number of
 * processes. The first part does not count, because programs warm up in it. */
static bool is_late_since(const struct late *l, const struct jp_rank *x)
{
    double all = stalled_sum(x), first = (double) x->stalled_us[0], stops;
    unsigned none = 0, s = 1;

    while (s < JP_SLICES && !(x->stalled_us[s] > 0))
        s++;
    none = s - 1;
    while (s < JP_SLICES && x->stalled_us[s] > 0)
        s++;
    if (s < JP_SLICES || !(all > 0))
        return false;
    stops = (double) x->stalled_ops * (1 - (isfinite(first) ? first / all : 0));
    return (double) l->p->n *
               stats_binomial_tail(none, JP_SLICES - 1,
                                   pow(1 - 1.0 / (JP_SLICES - 1), stops)) <
           limits_get(JP_LIMIT_LATE_CHANCE);
}

int late_leave_out_stops(struct late *l)
{
    double *often = count_often(l);

    for (size_t p = 0; often && p < l->p->n; p++) {
        size_t home = home_of(l, &l->p->list[p], often);
        const struct jp_rank *x = home == SIZE_MAX ? NULL : &l->r->ranks[home];
        double all, usual, most;

        /* The factor 2 keeps a margin: if stops are rare by far in this class,
         * no rank has too many by chance alone. */
        if (!x || !x->stalled_ops || !is_rare(x, (double) x->stalled_ops) ||
            !is_rare(x, 2 * often[l->classes + l->class_of[x->comm]]) ||
            is_late_since(l, x))
            continue;
        all = stalled_sum(x);
        usual = usual_late(l, home, all) * (double) x->stalled_ops;
        if (!(all > limits_get(JP_LIMIT_LATE_STALL) * usual))
            continue;
        /* The most that counts as stops in one part. A rank that is late in
         * many operations of a part is late for a time, which must stay
         * visible. */
        most = all / (double) x->stalled_ops *
               fmax(2, fmin(limits_get(JP_LIMIT_LATE_STALL_PART) *
                                (double) x->timed_ops,
                            limits_get(JP_LIMIT_LATE_STALL_STEPS) *
                                (double) late_steps_of(l, home)) /
                           JP_SLICES);
        /* Part 0 is left as it is: programs warm up in it, so the trimmed mean
         * usually leaves it out. */
        for (unsigned s = 1; s < JP_SLICES; s++)
            if ((double) x->stalled_us[s] <= most)
                l->total[p * JP_SLICES + s] += (double) x->stalled_us[s] *
                                               (1 - usual / all);
    }
    free(often);
    return often ? 0 : -1;
}
