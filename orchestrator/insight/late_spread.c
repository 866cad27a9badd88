/* late_spread.c - what ranks of a kind differ by anyway, and stops that come to
 * any of them. */
#include "orchestrator/insight/late_measure.h"

#include <math.h>
#include <stdlib.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

double late_times_of(size_t n)
{
    return limits_get(JP_LIMIT_LATE_SPREAD) * (1 + 6 / (double) n);
}

/* Of a rank that is proved to come last: it may still be the slowest of n that
 * differ anyway, the largest of n normal values. */
static double times_of_proved(size_t n)
{
    double largest = sqrt(2 * log((double) (n > 1 ? n : 2)));

    return fmin(late_times_of(n),
                fmax(limits_get(JP_LIMIT_LATE_PROVED_LUCK) * late_times_of(n),
                     largest + limits_get(JP_LIMIT_LATE_PROVED_ABOVE)));
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

/* One late rank makes the spread of few larger: it is judged by the others'. */
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
    spread.proved = times_of_proved(n - pairs / 2);
    spread.us =
        fmax(spread.half_us,
             limits_get(JP_LIMIT_LATE_REST) *
                 late_deviation(l->scratch, n, spread.times * spread.half_us));
    return spread;
}

static bool is_with(const struct late *l, size_t c, size_t host)
{
    for (size_t k = l->p->comm_start[c]; k < l->p->comm_start[c + 1]; k++)
        if (late_host_of(l, k) == host)
            return true;
    return false;
}

double late_spread_without(struct late *l, size_t class, size_t host)
{
    size_t n = 0;
    double half, all;

    for (size_t i = 0; i < l->r->n_ranks; i++) {
        size_t c = l->r->ranks[i].comm;

        if (l->out[i].judged && l->class_of[c] == class && !is_with(l, c, host))
            l->scratch[n++] = l->out[i].excess_us;
    }
    if (n < limits_get(JP_LIMIT_LATE_NODE_OTHERS))
        return INFINITY;
    half = stats_spread(l->scratch, n);
    all = late_deviation(l->scratch, n, late_times_of(n) * half);
    return fmax(half, limits_get(JP_LIMIT_LATE_REST) * all) *
           (1 + 6 / (double) n);
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

static double stalled_sum(const struct jp_rank *x)
{
    double us = 0;

    for (unsigned s = 0; s < JP_SLICES; s++)
        us += isfinite(x->stalled_us[s]) ? (double) x->stalled_us[s] : 0;
    return us;
}

static bool is_rare(const struct jp_rank *x, double stops)
{
    return stops <= limits_get(JP_LIMIT_STALL_RARE) * (double) x->timed_ops;
}

/* The rank of the process whose stops are its own: in communicators of the
 * shape in which ranks come far later most rarely, as in others they pass on
 * what they have waited, and in one of all processes come together. SIZE_MAX:
 * none. */
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
    /* waits in AlltoAll, or for messages that no mates get, are passed on, too
     */
    if (kernels > ops || (messages && n < 2) ||
        next < limits_get(JP_LIMIT_LATE_STALL_OTHERS) * least)
        return SIZE_MAX;
    return home == SIZE_MAX ? whole : home;
}

/* How many operations of communicators of each shape ranks come far later to,
 * at the mean; behind these: of the ranks that rarely do (of none: NAN). NULL
 * without memory. */
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

/* What it comes later by at the mean, without the stops. */
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

int late_leave_out_stops(struct late *l)
{
    double *often = count_often(l);

    for (size_t p = 0; often && p < l->p->n; p++) {
        size_t home = home_of(l, &l->p->list[p], often);
        const struct jp_rank *x = home == SIZE_MAX ? NULL : &l->r->ranks[home];
        double all, usual, most;

        /* where they are twice as rare nobody is above by chance */
        if (!x || !x->stalled_ops || !is_rare(x, (double) x->stalled_ops) ||
            !is_rare(x, 2 * often[l->classes + l->class_of[x->comm]]))
            continue;
        all = stalled_sum(x);
        usual = usual_late(l, home, all) * (double) x->stalled_ops;
        if (!(all > limits_get(JP_LIMIT_LATE_STALL) * usual))
            continue;
        /* where it is late in many operations of a part, it is late for a time
         */
        most = all / (double) x->stalled_ops *
               fmax(2, fmin(limits_get(JP_LIMIT_LATE_STALL_PART) *
                                (double) x->timed_ops,
                            limits_get(JP_LIMIT_LATE_STALL_STEPS) *
                                (double) late_steps_of(l, home)) /
                           JP_SLICES);
        /* programs warm up in the first one, which the mean leaves out */
        for (unsigned s = 1; s < JP_SLICES; s++)
            if ((double) x->stalled_us[s] <= most)
                l->total[p * JP_SLICES + s] += (double) x->stalled_us[s] *
                                               (1 - usual / all);
    }
    free(often);
    return often ? 0 : -1;
}
