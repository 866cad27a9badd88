/* stats.h - what a handful of numbers say, whatever a few of them are. */
#ifndef JP_INSIGHT_STATS_H
#define JP_INSIGHT_STATS_H

#include <stddef.h>
#include <stdint.h>

void stats_sort(double *v, size_t n);

/* Median, which reorders v; NAN of none. */
double stats_median(double *v, size_t n);

/* The shortest stretch that holds half of the values, as the standard deviation
 * of a normal quantity that would have it: what the other half does has no
 * say. Reorders v; 0 below two. */
double stats_spread(double *v, size_t n);

/* The mean without the lowest and highest fifth, and its standard error from
 * the winsorised variance (Yuen 1974). Reorders v; n >= 5. */
struct stats_trimmed {
    double mean, error;
};
struct stats_trimmed stats_trim(double *v, size_t n);

/* Of v[from] to v[to - 1]: the mean, 0 of none, and the sum of squares of what
 * they differ from it by. */
double stats_mean(const double *v, size_t from, size_t to);
double stats_squares(const double *v, size_t from, size_t to);

/* The exact one-sided binomial test (Clopper and Pearson 1934): how likely at
 * least k of n are, each with a chance of p in (0, 1). */
double stats_binomial_tail(uint64_t k, uint64_t n, double p);

/* How likely Student's t on that many degrees of freedom (from 1 on) is larger
 * than t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). Below 1e-15 it is
 * only known to be that small. */
double stats_student_tail(double t, unsigned freedom);

/* The number of n's highest bit, 0 of 0: counts of one magnitude are about as
 * many. */
static inline int stats_magnitude(uint64_t n)
{
    return 63 - __builtin_clzll(n | 1);
}

#endif
