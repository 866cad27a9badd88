/* copper_outlier.c - ranks unlike the others of their level in the tree.
 *
 * A parent answers its children's requests, so counters and times grow or fall
 * with the level and the root is unlike all others by nature. Only ranks of
 * one level are compared, by the median and the median absolute deviation,
 * which one bad rank does not move.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/copper/copper_build.h"

#define LEAST_OF_LEVEL 4 /* fewer have no usual value */
#define Z_LIMIT 3.5      /* Iglewicz and Hoaglin's */
/* Of a normal distribution, what its standard deviation is of the median and,
 * where over half of the values are equal, of the mean absolute deviation. */
#define OF_MEDIAN (1 / 0.6745)
#define OF_MEAN 1.253314
/* A level may be so even that any difference has a large z: it must be worth
 * a look, too. Slow is what its users would notice. */
#define WORTH_SHARE 1.1
#define SLOW_SHARE 1.5
#define SLOW_COST_US 100000 /* in all: less is not worth a word */
#define LEAST_CALLS 20      /* an average over fewer says nothing */

enum metric {
    GETATTR_US,
    READ_US,
    READDIR_US,
    LATENCY_S,
    INIT_S,
    OPERATIONS,
    MISSES,
    NEGATIVES,
    TTL_EXPIRES,
    N_OUTLIER_METRICS
};

static const struct {
    const char *name;
    const char *op; /* an average of this operation */
    bool latency;   /* more is slower */
} metrics[N_OUTLIER_METRICS] = {
    [GETATTR_US] = {"getattr_us", "getattr", true},
    [READ_US] = {"read_us", "read", true},
    [READDIR_US] = {"readdir_us", "readdir", true},
    [LATENCY_S] = {"latency_without_init_s", NULL, true},
    [INIT_S] = {"init_s", NULL, true},
    [OPERATIONS] = {"counted_operations", NULL, false},
    [MISSES] = {"cache_misses", NULL, false},
    [NEGATIVES] = {"negative_results", NULL, false},
    [TTL_EXPIRES] = {"ttl_expires", NULL, false},
};

static double average(const struct jp_copper_rank *rank, const char *name)
{
    const struct copper_op *op = &rank->op[copper_op_find(name, strlen(name))];

    return rank->has_ops && op->calls >= LEAST_CALLS
               ? (double) op->time_us / (double) op->calls
               : NAN;
}

static double value_of(const struct jp_copper_rank *rank, enum metric m)
{
    const double init = (double) rank->op[copper_op_find("init", 4)].time_us;

    if (metrics[m].op)
        return average(rank, metrics[m].op);
    switch (m) {
    case LATENCY_S:
        return rank->has_ops
                   ? ((double) rank->value[COPPER_LATENCY_US] - init) / 1e6
                   : NAN;
    case INIT_S:
        return rank->has_ops && init > 0 ? init / 1e6 : NAN;
    case OPERATIONS:
        return rank->has_counts ? (double) rank->value[COPPER_OPERATIONS] : NAN;
    case MISSES:
        return rank->has_counts ? (double) rank->value[COPPER_MISSES] : NAN;
    case NEGATIVES:
        return rank->has_counts ? (double) rank->value[COPPER_NEGATIVES] : NAN;
    default:
        return rank->has_ttl ? (double) rank->value[COPPER_TTL_EXPIRES] : NAN;
    }
}

/* Microseconds of the rank in all for one unit of the metric. */
static double weight_of(const struct jp_copper_rank *rank, enum metric m)
{
    size_t len = metrics[m].op ? strlen(metrics[m].op) : 0;

    return len ? (double) rank->op[copper_op_find(metrics[m].op, len)].calls
               : 1e6;
}

static int by_real(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_real);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static int keep(struct jp_copper *c, const struct jp_copper_outlier *outlier)
{
    struct jp_copper_outlier *more = c->outliers;

    if (!(c->n_outliers & (c->n_outliers - 1))) {
        more = reallocarray(more, c->n_outliers ? 2 * c->n_outliers : 1,
                            sizeof(*more));
        if (!more)
            return -1;
        c->outliers = more;
    }
    more[c->n_outliers++] = *outlier;
    return 0;
}

/* Is the rank's value far from the level's median, and does it matter? */
static bool is_far(enum metric m, double value, double mid, double scale,
                   double weight, struct jp_copper_outlier *o)
{
    double least = fabs(mid) * (WORTH_SHARE - 1);

    if (fabs(value - mid) <= least || (mid == 0 && value < LEAST_CALLS))
        return false;
    o->z = (value - mid) / scale;
    o->cost_us = metrics[m].latency ? (value - mid) * weight : 0;
    o->slow = metrics[m].latency && mid > 0 && value >= SLOW_SHARE * mid &&
              o->cost_us >= SLOW_COST_US;
    return fabs(o->z) > Z_LIMIT;
}

static int judge(struct jp_copper *c, int level, enum metric m, double *values)
{
    double mid, scale, sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->n_ranks; i++) {
        double v = c->ranks[i].level == level ? value_of(&c->ranks[i], m) : NAN;

        if (isfinite(v))
            values[n++] = v;
    }
    if (n < LEAST_OF_LEVEL)
        return 0;
    mid = median(values, n);
    for (size_t i = 0; i < n; i++)
        sum += values[i] = fabs(values[i] - mid);
    if (sum == 0)
        return 0;
    scale = OF_MEDIAN * median(values, n);
    if (scale == 0)
        scale = OF_MEAN * sum / (double) n;
    for (size_t i = 0; i < c->n_ranks; i++) {
        struct jp_copper_outlier o = {.rank = i,
                                      .metric = metrics[m].name,
                                      .level = level,
                                      .of = (uint32_t) n,
                                      .median = mid};

        o.value = c->ranks[i].level == level ? value_of(&c->ranks[i], m) : NAN;
        if (isfinite(o.value) &&
            is_far(m, o.value, mid, scale, weight_of(&c->ranks[i], m), &o) &&
            keep(c, &o) < 0)
            return -1;
    }
    return 0;
}

static int by_z(const void *a, const void *b)
{
    const struct jp_copper_outlier *x = a, *y = b;

    if (x->slow != y->slow)
        return x->slow ? -1 : 1;
    if (fabs(x->z) != fabs(y->z))
        return fabs(x->z) > fabs(y->z) ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int copper_outliers(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    double *values = calloc(c->n_ranks ? c->n_ranks : 1, sizeof(*values));
    int deepest = -1, rc = values ? 0 : -1;

    for (size_t i = 0; i < c->n_ranks; i++)
        if (c->ranks[i].level > deepest)
            deepest = c->ranks[i].level;
    for (int level = 0; level <= deepest && rc == 0; level++)
        for (unsigned m = 0; m < N_OUTLIER_METRICS && rc == 0; m++)
            rc = judge(c, level, m, values);
    for (size_t i = 0; i < c->n_ranks && rc == 0; i++) {
        uint32_t n = 0;

        for (size_t k = 0; k < c->n_ranks && n < LEAST_OF_LEVEL; k++)
            n += c->ranks[k].level == c->ranks[i].level &&
                 c->ranks[k].has_counts;
        c->unjudged += c->ranks[i].has_counts &&
                       (c->ranks[i].level < 0 || n < LEAST_OF_LEVEL);
    }
    free(values);
    if (rc == 0 && c->n_outliers)
        qsort(c->outliers, c->n_outliers, sizeof(*c->outliers), by_z);
    return rc;
}
