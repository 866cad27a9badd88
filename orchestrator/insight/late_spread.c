/* late_spread.c - what ranks of a kind differ by anyway. */
#include "orchestrator/insight/late_measure.h"

#include <math.h>

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
