/* stats.h - robust statistics of a few numbers. */
#ifndef JP_COMMON_STATS_H
#define JP_COMMON_STATS_H

#include <stddef.h>
#include <stdint.h>

void stats_sort(double *v, size_t n);

/* The order of two numbers, as qsort needs it. */
int stats_order(uint64_t a, uint64_t b);

/* Median; NAN if n is 0. Reorders v. */
double stats_median(double *v, size_t n);

/* The width of the shortest interval that holds half of the values, scaled to
 * the standard deviation of a normal distribution. The other half has no
 * influence. Reorders v. 0 for fewer than four values: half of them is at most
 * one, which has no width. */
double stats_spread(double *v, size_t n);

/* The mean without the lowest and highest fifth, and its standard error from
 * the winsorised variance s^2: s sqrt(n) / kept, with `kept` values in the
 * mean. Yuen (1974) has s sqrt((n - 1) / (kept (kept - 1))), which is a little
 * more. Sorts v and overwrites the values that were cut; n >= 5. */
struct stats_trimmed {
    double mean, error;
};
struct stats_trimmed stats_trim(double *v, size_t n);

/* Mean of v[from] to v[to - 1] (0 if there are none), and the sum of the
 * squared differences from it. */
double stats_mean(const double *v, size_t from, size_t to);
double stats_squares(const double *v, size_t from, size_t to);

/* The exact one-sided binomial test (Clopper and Pearson 1934): the probability
 * of at least k successes in n, each with probability p in (0, 1). Returns 1,
 * an upper bound, if k is no more than the expected number n p. */
double stats_binomial_tail(uint64_t k, uint64_t n, double p);

/* The probability that Student's t with these degrees of freedom (1 or more) is
 * larger than t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). Results below
 * 1e-15 are only known to be that small. */
double stats_student_tail(double t, unsigned freedom);

/* How large Student's t must be so that a larger one has that probability. */
double stats_student_quantile(double chance, unsigned freedom);

/* Returns the number of n's highest bit; 0 for 0. Counts with the same number
 * have the same magnitude. */
static inline int stats_magnitude(uint64_t n)
{
    return 63 - __builtin_clzll(n | 1);
}

/* The greatest common divisor (Euclid); that of n and 0 is n. */
static inline uint64_t stats_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
