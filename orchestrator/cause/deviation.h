/* deviation.h - how likely it is that one of a few members is so far off. */
#ifndef JP_CAUSE_DEVIATION_H
#define JP_CAUSE_DEVIATION_H

#include <stddef.h>

/* One-sided tail of Student's t, P(T >= t); dof > 0. */
double deviation_t_tail(double t, double dof);

/* The chance that a further member is `excess` or more off the median of n
 * peers (n >= 1), which are reordered. usual: what members differ by anyway, a
 * standard deviation; > 0. Their variance is moderated by it, as if
 * JP_LIMIT_CAUSE_PRIOR peers more had told that. *deviations: standard ones. */
double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations);

/* The same of two means, of a and b values, that have the pooled variance of n
 * values. */
double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations);

#endif
