/* nettrend.c - fits steps, humps and lines to the network's times.
 *
 * nettrend_fit() makes the blocks, fits each model, and takes the simplest that
 * explains them. nettrend.h has the estimator.
 */
#include "orchestrator/insight/nettrend.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "orchestrator/insight/limits.h"

#define EDGE 2          /* least number of blocks on each side of a step */
#define GROWTH_MOST 5.0 /* logarithm of the largest growth that is tried */

/* The medians of the blocks. */
struct blocks {
    double v[NETTREND_BLOCKS];
    unsigned n;
};

/* A model fitted to the blocks by least squares. */
struct fit {
    double rest; /* sum of squares of the residuals */
    /* standard error of change, in units of the blocks' scatter */
    double error;
    double before; /* the level before the step, or at the line's start */
    double change; /* from there to the level after it, or at the line's end */
    unsigned at;   /* first block after the step */
    unsigned to;   /* first block after the hump */
};

/* --- blocks --------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct nettrend_op *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static int by_log(const void *a, const void *b)
{
    const struct nettrend_op *x = a, *y = b;

    return (x->log > y->log) - (x->log < y->log);
}

/* Returns the value that has half of the weight below it, and half above. Sorts
 * the operations. */
static double weighted_median(struct nettrend_op *ops, size_t n)
{
    double all = 0, below = 0;

    qsort(ops, n, sizeof(*ops), by_log);
    for (size_t i = 0; i < n; i++)
        all += ops[i].usual_us;
    for (size_t i = 0; i < n; i++) {
        below += ops[i].usual_us;
        if (i + 1 < n && 2 * below == all)
            return (ops[i].log + ops[i + 1].log) / 2;
        if (2 * below >= all)
            return ops[i].log;
    }
    return ops[n - 1].log; /* sums were rounded */
}

/* The first of n operations in block b. */
static size_t block_start(size_t n, const struct blocks *blocks, unsigned b)
{
    return n * b / blocks->n;
}

/* --- models --------------------------------------------------------------- */

/* Fits two constants. Every place is tried with EDGE blocks on each side at
 * least, because the mean of one block follows any outlier. */
static struct fit fit_step(const struct blocks *b)
{
    struct fit best = {.rest = INFINITY};

    for (unsigned at = EDGE; at <= b->n - EDGE; at++) {
        double rest = stats_squares(b->v, 0, at) +
                      stats_squares(b->v, at, b->n);
        double before = stats_mean(b->v, 0, at);

        if (rest < best.rest)
            best = (struct fit){.rest = rest,
                                .error = sqrt(1.0 / at + 1.0 / (b->n - at)),
                                .before = before,
                                .change = stats_mean(b->v, at, b->n) - before,
                                .at = at,
                                .to = b->n};
    }
    return best;
}

/* Fits a hump: the blocks before and after it share one constant. O(n^3), with
 * n = 20 at most. */
static struct fit fit_hump(const struct blocks *b)
{
    struct fit best = {.rest = INFINITY};

    for (unsigned at = EDGE; at + 2 * EDGE <= b->n; at++)
        for (unsigned to = at + EDGE; to + EDGE <= b->n; to++) {
            unsigned out = b->n - (to - at);
            double usual = (stats_mean(b->v, 0, at) * at +
                            stats_mean(b->v, to, b->n) * (b->n - to)) /
                           out;
            double rest = stats_squares(b->v, at, to);

            for (unsigned i = 0; i < b->n; i++)
                if (i < at || i >= to)
                    rest += (b->v[i] - usual) * (b->v[i] - usual);
            if (rest < best.rest)
                best =
                    (struct fit){.rest = rest,
                                 .error = sqrt(1.0 / out + 1.0 / (b->n - out)),
                                 .before = usual,
                                 .change = stats_mean(b->v, at, to) - usual,
                                 .at = at,
                                 .to = to};
        }
    return best;
}

/* Fits a straight line: times that grow by the same factor in each block. */
static struct fit fit_line(const struct blocks *b)
{
    double middle = (b->n - 1) / 2.0, m = stats_mean(b->v, 0, b->n), xy = 0,
           xx = 0, slope;
    struct fit fit = {0};

    for (unsigned i = 0; i < b->n; i++) {
        xy += (i - middle) * (b->v[i] - m);
        xx += (i - middle) * (i - middle);
    }
    slope = xy / xx;
    for (unsigned i = 0; i < b->n; i++) {
        double left = b->v[i] - m - slope * (i - middle);

        fit.rest += left * left;
    }
    fit.before = m - slope * middle;
    fit.change = slope * (b->n - 1);
    fit.error = (b->n - 1) / sqrt(xx);
    return fit;
}

/* Fits times that grow by as much in each block: log(1 + growth * x), with x
 * from 0 at the first block to 1 at the last. Such a curve is bent where the
 * growth is large, and a straight line would leave more of it than a step. */
static struct fit fit_growth(const struct blocks *b)
{
    double low = -GROWTH_MOST, high = GROWTH_MOST, bent[NETTREND_BLOCKS];
    struct fit fit = fit_line(b);

    while (high - low > 1e-3) {
        double at[2] = {low + (high - low) / 3, high - (high - low) / 3};
        double rest[2];

        for (int k = 0; k < 2; k++) {
            for (unsigned i = 0; i < b->n; i++)
                bent[i] = b->v[i] - log1p(expm1(at[k]) * i / (b->n - 1));
            rest[k] = stats_squares(bent, 0, b->n);
            if (rest[k] < fit.rest) {
                fit.rest = rest[k];
                fit.change = at[k];
                fit.before = stats_mean(bent, 0, b->n);
            }
        }
        if (rest[0] < rest[1])
            high = at[1];
        else
            low = at[0];
    }
    return fit;
}

/* --- the choice ----------------------------------------------------------- */

/* The probability that a constant with independent noise looks as much like a
 * model of one more parameter: F with 1 degree of freedom is the square of
 * Student's t. One side, as only growth is looked for. */
static double chance_of(double f, unsigned blocks)
{
    return stats_student_tail(sqrt(f), blocks - 2);
}

/* A step of size d in the middle explains n d^2 / 4 of n blocks' squares. */
double nettrend_least(unsigned blocks)
{
    return 2 / sqrt(blocks) *
           stats_student_quantile(limits_get(JP_LIMIT_NET_CHANCE), blocks - 2);
}

/* Returns true if the model is significant and large enough. all: the sum of
 * squares of a constant; floor: a variance that needs no explanation. */
static bool explains(const struct fit *fit, const struct blocks *b, double all,
                     double floor)
{
    double rest = fit->rest / (b->n - 2) + floor;

    return chance_of(fmax(0, all - fit->rest) / rest, b->n) <=
               limits_get(JP_LIMIT_NET_CHANCE) &&
           exp(fit->change) - 1 > limits_get(JP_LIMIT_NET_CHANGE);
}

static void take_fit(struct nettrend *trend, const struct fit *fit,
                     enum nettrend_course course)
{
    trend->course = course;
    trend->before = fit->before;
    trend->after = fit->before + fit->change;
    trend->error = fit->error * trend->noise;
}

/* Takes the simplest model that explains the blocks. A hump has one more edge
 * to fit with, so it must leave less than half of what the others leave. A step
 * and a line have equally many parameters. Returns the step or hump, or NULL.
 */
static const struct fit *choose(struct nettrend *trend, const struct blocks *b,
                                struct fit *step, struct fit *hump,
                                double floor)
{
    double all = stats_squares(b->v, 0, b->n);
    struct fit line = fit_line(b);
    double least;

    *step = fit_step(b);
    if (explains(step, b, all, floor) || explains(&line, b, all, floor))
        line = fit_growth(b);
    *hump = fit_hump(b);
    least = fmin(step->rest, line.rest);
    trend->noise = sqrt(least / (b->n - 2) + floor);
    if (hump->rest < limits_get(JP_LIMIT_NET_HUMP) * least &&
        explains(hump, b, all, floor)) {
        take_fit(trend, hump, NET_STEP);
        trend->passed = true;
        return hump;
    }
    if (step->rest <= line.rest && explains(step, b, all, floor)) {
        take_fit(trend, step, NET_STEP);
        return step;
    }
    if (explains(&line, b, all, floor))
        take_fit(trend, &line, NET_LINE);
    return NULL;
}

void nettrend_fit(struct nettrend_op *ops, size_t n, struct nettrend *trend)
{
    double starts[NETTREND_BLOCKS + 1], times = 0, weights = 0, quantum;
    struct blocks b = {.n = n < NETTREND_BLOCKS ? (unsigned) n
                                                : NETTREND_BLOCKS};
    const struct fit *edges;
    struct fit step, hump;

    *trend = (struct nettrend){.noise = NAN, .from = -INFINITY, .to = INFINITY};
    for (size_t i = 0; i < n; i++) {
        times += ops[i].usual_us * ops[i].usual_us;
        weights += ops[i].usual_us;
    }
    /* Times are in whole microseconds: short ones are mostly rounding. */
    if ((double) n < limits_get(JP_LIMIT_NET_OPS) ||
        times < limits_get(JP_LIMIT_NET_US) * weights)
        return;
    trend->blocks = b.n;
    quantum = 0.5 * weights / times;
    qsort(ops, n, sizeof(*ops), by_time);
    for (unsigned k = 0; k < b.n; k++)
        starts[k] = ops[block_start(n, &b, k)].at;
    starts[b.n] = INFINITY;
    for (unsigned k = 0; k < b.n; k++) {
        size_t from = block_start(n, &b, k), to = block_start(n, &b, k + 1);

        b.v[k] = weighted_median(ops + from, to - from);
    }
    edges = choose(trend, &b, &step, &hump,
                   limits_get(JP_LIMIT_NET_FLOOR) + quantum * quantum);
    if (edges) {
        trend->from = starts[edges->at];
        trend->to = starts[edges->to];
    }
}
