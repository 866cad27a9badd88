/* trial_stats.c - which configuration is fastest, and whether the difference is
 * more than noise.
 *
 * trial.h explains the method. The way through it: level_of gives the error
 * rate of this look, measure the mean and variance of each configuration,
 * compare the p of each pair (t test, Holm), judge the standing of each
 * configuration against the best one, and conclude the finding. All figures are
 * of logarithms of times, so that differences are factors. */
#include "orchestrator/trial/trial.h"

#include <math.h>
#include <stdlib.h>

const struct trial_limit_row trial_limits[TRIAL_LIMITS] = {
    [TRIAL_ALPHA] = {"trial_alpha", 0.01,
                     "of 100 trials without a difference, at most one may name "
                     "a winner, so that of any 20 at least 19 are right; 0.05 "
                     "misses this one time in four"},
    [TRIAL_EFFECT] = {"trial_effect", 0.01,
                      "a change of less than 1 % is not worth editing a "
                      "script, even if the difference is certain"},
    [TRIAL_RESOLUTION] =
        {"trial_resolution", 0.002,
         "no run's time is more exact than 0.2 %: equal figures of few runs do "
         "not prove that there is no noise"},
    [TRIAL_FIRST_LOOK] = {"trial_first_look", 2,
                          "rounds before the first comparison: a variance "
                          "needs two runs"},
};

/* The displayed intervals have 95 %; no decision depends on them. */
#define INTERVAL 0.05

/* --- distributions -------------------------------------------------------- */

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun
 * 26.5.8), computed by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;

    /* Lentz: a denominator of 0 is replaced by a tiny number */
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    h = d;
    /* each turn adds an even and an odd term of the fraction */
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x /
                     ((a + 2 * m) * (a + 2 * m + 1));
        double before = h;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
        h *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
        h *= d * c;
        /* converges within about sqrt(max(a, b)) turns */
        if (fabs(h - before) <= 1e-14 * fabs(h))
            break;
    }
    return h;
}

/* The regularised incomplete beta function; x in [0, 1]. */
static double beta_incomplete(double x, double a, double b)
{
    double front;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    /* the fraction converges fast on this side; the other side follows by
     * symmetry */
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double trial_stats_t_tail(double t, double df)
{
    if (!(df > 0) || isnan(t))
        return NAN;
    /* Abramowitz and Stegun 26.7.1 */
    return isinf(t) ? 0 : beta_incomplete(df / (df + t * t), df / 2, 0.5);
}

double trial_stats_t_quantile(double p, double df)
{
    double low = 0, high = 1;

    if (!(df > 0) || !(p > 0 && p < 1))
        return NAN;
    /* the tail falls with t, so a bisection finds it */
    while (high < 1e12 && trial_stats_t_tail(high, df) > p)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double mid = (low + high) / 2;

        if (trial_stats_t_tail(mid, df) > p)
            low = mid;
        else
            high = mid;
    }
    return high;
}

/* The error rate that is spent when this share of the information is known: 2
 * (1 - Phi(z / sqrt(share))), with z the normal quantile of the whole rate. */
static double spent(double share)
{
    double alpha = trial_limits[TRIAL_ALPHA].value, low = 0, high = 10;

    for (int i = 0; i < 100; i++) { /* search for z */
        double mid = (low + high) / 2;

        if (erfc(mid / sqrt(2)) > alpha)
            low = mid;
        else
            high = mid;
    }
    /* small shares get very little: early looks need strong evidence */
    return share >= 1 ? alpha : erfc(low / sqrt(2 * share));
}

/* Returns the level of the look after `round` of `rounds`: what this look adds
 * to the spent error rate. */
static double level_of(size_t round, size_t rounds, bool final)
{
    size_t first = (size_t) trial_limits[TRIAL_FIRST_LOOK].value;
    double before = 0;

    /* no look is taken, and nothing is spent */
    if (round < first)
        return 0;
    if (round > first)
        before = spent((double) (round - 1) / (double) rounds);
    /* the last look gets the rest, even if rounds are missing */
    return spent(final ? 1 : (double) round / (double) rounds) - before;
}

/* --- one look ------------------------------------------------------------- */

/* The statistics of one configuration. */
struct moments {
    double mean, variance; /* of the logarithms */
    bool judged;
};

/* A comparison of two configurations. adjusted: Holm's p. */
struct pair {
    size_t a, b;
    double p, adjusted;
};

/* The data of one look. pooled: variance of a run over all configurations, with
 * df degrees of freedom. */
struct look {
    struct trial_arm *arms;
    size_t n, judged;
    struct moments m[TRIAL_ARMS_MAX];
    double pooled, df;
};

/* Computes mean and variance of each configuration, and the variance of all
 * together. */
static void measure(struct look *l)
{
    double floor = pow(trial_limits[TRIAL_RESOLUTION].value, 2);
    double squares = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct trial_arm *arm = &l->arms[i];
        struct moments *m = &l->m[i];
        double sum = 0, own = 0;

        *m = (struct moments){.mean = NAN, .variance = NAN};
        for (size_t k = 0; k < arm->n; k++)
            sum += log(arm->us[k]);
        if (arm->n)
            /* the logarithm of the geometric mean */
            m->mean = sum / (double) arm->n;
        for (size_t k = 0; k < arm->n; k++)
            own += pow(log(arm->us[k]) - m->mean, 2);
        if (arm->n < 2)
            continue;
        m->variance = own / (double) (arm->n - 1);
        m->judged = !arm->failed;
        l->judged += m->judged;
        /* the good runs of a failed arm also measure the noise */
        squares += own;
        l->df += (double) (arm->n - 1);
    }
    l->pooled = l->df > 0 ? squares / l->df : NAN;
    /* equal times by chance would make any difference certain */
    if (l->pooled < floor)
        l->pooled = floor;
}

/* Returns the larger one of a configuration's own variance and the pooled one.
 * Errs on the safe side. */
static double variance_of(const struct look *l, size_t i)
{
    return l->m[i].variance > l->pooled ? l->m[i].variance : l->pooled;
}

/* The standard error of the difference of two means. */
static double error_of(const struct look *l, size_t a, size_t b)
{
    double own = (l->m[a].variance * (double) (l->arms[a].n - 1) +
                  l->m[b].variance * (double) (l->arms[b].n - 1)) /
                 (double) (l->arms[a].n + l->arms[b].n - 2);
    double variance = own > l->pooled ? own : l->pooled;

    return sqrt(variance *
                (1 / (double) l->arms[a].n + 1 / (double) l->arms[b].n));
}

/* Orders by p, the smallest first. */
static int by_p(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->p < y->p ? -1 : x->p > y->p;
}

/* Compares all pairs that can be judged and computes Holm's p of each. Counts
 * as many comparisons as the trial has planned, even if some have no data. */
static size_t compare_pairs(const struct look *l, struct pair *pairs)
{
    size_t all = l->n * (l->n - 1) / 2, n = 0;
    double least = 0;

    for (size_t a = 0; a < l->n; a++) {
        for (size_t b = a + 1; b < l->n; b++) {
            double t;

            if (!l->m[a].judged || !l->m[b].judged)
                continue;
            /* with the degrees of freedom of the pooled variance */
            t = (l->m[a].mean - l->m[b].mean) / error_of(l, a, b);
            pairs[n++] =
                (struct pair){.a = a, .b = b, trial_stats_t_tail(t, l->df)};
        }
    }
    qsort(pairs, n, sizeof(*pairs), by_p);
    /* Holm: the i-th smallest p counts all - i times, and never less than the
     * one before */
    for (size_t i = 0; i < n; i++) {
        double p = pairs[i].p * (double) (all - i);

        least = p > least ? p : least;
        pairs[i].adjusted = least < 1 ? least : 1;
    }
    return n;
}

/* Sets the mean and its 95 % interval. All other results are unknown until
 * judge. */
static void describe(const struct look *l, struct trial_arm *arm, size_t i)
{
    double half;

    arm->standing = TRIAL_UNJUDGED;
    arm->mean_us = arm->n ? exp(l->m[i].mean) : NAN;
    arm->low_us = arm->high_us = NAN;
    arm->slower = arm->slower_low = arm->slower_high = arm->p = NAN;
    if (arm->n < 2)
        return;
    half = trial_stats_t_quantile(INTERVAL, l->df) *
           sqrt(variance_of(l, i) / (double) arm->n);
    arm->low_us = exp(l->m[i].mean - half);
    arm->high_us = exp(l->m[i].mean + half);
}

/* Compares an arm with the best. */
static void compare_arm(const struct look *l, struct trial_arm *arm, size_t i,
                        const struct pair *pairs, size_t n_pairs,
                        const struct trial_look *look)
{
    double alpha = trial_limits[TRIAL_ALPHA].value, apart, half;

    if (!l->m[i].judged)
        return;
    apart = l->m[i].mean - l->m[look->best].mean;
    /* a difference of logarithms becomes a relative one */
    arm->slower = expm1(apart);
    if (i == look->best) {
        arm->standing = TRIAL_BEST;
        arm->slower_low = arm->slower_high = 0;
        return;
    }
    half = trial_stats_t_quantile(INTERVAL, l->df) * error_of(l, i, look->best);
    arm->slower_low = expm1(apart - half);
    arm->slower_high = expm1(apart + half);
    arm->standing = TRIAL_EVEN;
    for (size_t k = 0; k < n_pairs; k++) {
        if ((pairs[k].a == i && pairs[k].b == look->best) ||
            (pairs[k].b == i && pairs[k].a == look->best))
            /* scaled to the error rate of the whole trial */
            arm->p = look->level > 0
                         ? fmin(1, pairs[k].adjusted * alpha / look->level)
                         : 1;
    }
    /* a certain difference that is too small to matter does not drop it */
    if (arm->p <= alpha && arm->slower >= trial_limits[TRIAL_EFFECT].value &&
        !arm->dropped) {
        arm->dropped = true;
        arm->dropped_p = arm->p;
    }
    /* also if a later look would find less: the decision is final */
    if (arm->dropped) {
        arm->standing = TRIAL_WORSE;
        arm->p = arm->dropped_p;
    }
}

/* The shortest mean among those that no look has found worse. */
static size_t find_best(const struct look *l)
{
    size_t best = l->n;

    for (size_t i = 0; i < l->n; i++) {
        if (l->m[i].judged && !l->arms[i].dropped &&
            (best == l->n || l->m[i].mean < l->m[best].mean))
            best = i;
    }
    return best;
}

/* Sets the finding from the standings. */
static void conclude(const struct look *l, struct trial_look *look)
{
    size_t even = 0, worse = 0;

    for (size_t i = 0; i < l->n; i++) {
        even += l->arms[i].standing == TRIAL_EVEN;
        worse += l->arms[i].standing == TRIAL_WORSE;
    }
    look->finding = l->judged < 2 ? TRIAL_TOO_LITTLE
                    : !worse      ? TRIAL_NO_DIFFERENCE
                    : even        ? TRIAL_SEVERAL
                                  : TRIAL_WINNER;
}

void trial_stats_look(struct trial_arm *arms, size_t n, size_t round,
                      size_t rounds, bool final, struct trial_look *look)
{
    struct look l = {.arms = arms, .n = n};
    struct pair *pairs = calloc(n * n + 1, sizeof(*pairs));
    size_t n_pairs = 0;

    *look = (struct trial_look){.finding = TRIAL_TOO_LITTLE,
                                .level = level_of(round, rounds, final),
                                .detectable = NAN,
                                .noise = NAN};
    measure(&l);
    for (size_t i = 0; i < n; i++)
        describe(&l, &arms[i], i);
    look->best = find_best(&l);
    if (!isnan(l.pooled))
        look->noise = sqrt(l.pooled);
    if (look->best < n && pairs) {
        n_pairs = compare_pairs(&l, pairs);
        for (size_t i = 0; i < n; i++)
            compare_arm(&l, &arms[i], i, pairs, n_pairs, look);
        conclude(&l, look);
    }
    if (look->best < n && l.judged > 1 && look->level > 0)
        /* the t of the pair's level times the standard error: Bonferroni, the
         * first step of Holm */
        look->detectable =
            expm1(trial_stats_t_quantile(
                      look->level / ((double) (n * (n - 1)) / 2), l.df) *
                  sqrt(l.pooled * 2 / (double) arms[look->best].n));
    free(pairs);
}
