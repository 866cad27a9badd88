/* late_spread.c - by how much ranks of a kind differ anyway, without lateness.
 */
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
