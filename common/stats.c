/* stats.c - medians, spreads, trimmed means, and two tests. */
#include "common/stats.h"

#include <math.h>
#include <stdlib.h>

#include "common/sorted.h"

enum { FEW = 32 }; /* sorted faster by insertion */

void stats_sort(double *v, size_t n)
{
    if (n > FEW) {
        qsort(v, n, sizeof(*v), sorted_ascending);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        double value = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > value; k--)
            v[k] = v[k - 1];
        v[k] = value;
    }
}

int stats_order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static void swap(double *a, double *b)
{
    double kept = *a;

    *a = *b;
    *b = kept;
}

/* Moves the k-th smallest value to index k, smaller ones before it and larger
 * ones after it (Hoare's FIND: quickselect, O(n) on average). */
static void place_smallest(double *v, ptrdiff_t n, ptrdiff_t k)
{
    for (ptrdiff_t lo = 0, hi = n - 1; lo < hi;) {
        double pivot = v[k];
        ptrdiff_t i = lo, j = hi;

        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (pivot < v[j])
                j--;
            if (i <= j)
                swap(&v[i++], &v[j--]);
        }
        if (j < k)
            lo = i;
        if (k < i)
            hi = j;
    }
}

double stats_median(double *v, size_t n)
{
    double below = -INFINITY;

    if (!n)
        return NAN;
    place_smallest(v, (ptrdiff_t) n, (ptrdiff_t) (n / 2));
    if (n % 2)
        return v[n / 2];
    /* place_smallest() left the lower half before n / 2; the median of an even
     * number of values also needs the largest of these. */
    for (size_t i = 0; i < n / 2; i++)
        below = v[i] > below ? v[i] : below;
    return (below + v[n / 2]) / 2;
}

/* The width of the middle half of a normal distribution, in standard
 * deviations. */
#define NORMAL_HALF 1.349

double stats_spread(double *v, size_t n)
{
    size_t half = n / 2;
    double least = INFINITY;

    if (n < 2)
        return 0;
    stats_sort(v, n);
    /* The shortest interval with n / 2 of the sorted values ("shorth"): robust
     * against 50 % outliers, and the outliers may be on one side. */
    for (size_t i = 0; i + half <= n; i++)
        least = fmin(least, v[i + half - 1] - v[i]);
    /* n / 2 values span only n / 2 - 1 gaps: correct the width for that. */
    return half > 1 ? least / NORMAL_HALF * (double) half / (double) (half - 1)
                    : 0;
}

struct stats_trimmed stats_trim(double *v, size_t n)
{
    size_t cut = n / 5, kept = n - 2 * cut;
    double sum = 0, mean = 0, squares = 0;

    stats_sort(v, n);
    for (size_t i = cut; i < n - cut; i++)
        sum += v[i];
    for (size_t i = 0; i < n; i++) {
        size_t at = i < cut ? cut : i < n - cut ? i : n - cut - 1;

        v[i] = v[at];
        mean += v[i] / (double) n;
    }
    for (size_t i = 0; i < n; i++)
        /* v is winsorised by now: the cut values count as the nearest kept one.
         */
        squares += (v[i] - mean) * (v[i] - mean);
    return (struct stats_trimmed){
        sum / (double) kept,
        sqrt(squares / (double) (n - 1) * (double) n) / (double) kept};
}

double stats_mean(const double *v, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += v[i];
    return to > from ? sum / (double) (to - from) : 0;
}

double stats_squares(const double *v, size_t from, size_t to)
{
    double mean = stats_mean(v, from, to), sum = 0;

    for (size_t i = from; i < to; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

double stats_binomial_tail(uint64_t k, uint64_t n, double p)
{
    double term, sum;

    if (!k || (double) k <= p * (double) n)
        return 1; /* the exact value is a half or more: no evidence */
    if (k > n)
        return 0;
    /* The probability of exactly k, by logarithms, because factorials overflow.
     * The terms above k follow from the ratio of neighbours and fall fast. */
    term = exp(lgamma((double) n + 1) - lgamma((double) k + 1) -
               lgamma((double) (n - k) + 1) + (double) k * log(p) +
               (double) (n - k) * log1p(-p));
    sum = term;
    for (; k < n && term > sum * 1e-12; k++) {
        term *= (double) (n - k) / (double) (k + 1) * p / (1 - p);
        sum += term;
    }
    return fmin(sum, 1);
}

/* So many degrees of freedom are nearly endless ones. */
#define FREEDOM_MANY 2000

/* The finite series of Abramowitz and Stegun 26.7.3 (odd degrees of freedom)
 * and 26.7.4 (even ones): exact, without an incomplete beta function. It takes
 * as many terms as degrees of freedom. Of many, the normal distribution with
 * Wallace's transformation (1959) is off by less than 1 in 100,000. */
double stats_student_tail(double t, unsigned freedom)
{
    double root = sqrt(freedom), angle = atan(t / root);
    double c = cos(angle), square = c * c;
    double term = freedom % 2 ? c : 1, sum = 0, within;

    if (freedom > FREEDOM_MANY && t > 0) {
        double f = freedom;
        double z = (8 * f + 1) / (8 * f + 3) * sqrt(f * log1p(t * t / f));

        return fmax(erfc(z / sqrt(2)) / 2, 1e-16);
    }
    for (unsigned k = freedom % 2 ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= square * (k - 1) / k;
    }
    within = freedom % 2 ? 2 / M_PI * (angle + sin(angle) * sum)
                         : sin(angle) * sum;
    return fmin(1, fmax((1 - within) / 2, 1e-16));
}

double stats_student_quantile(double chance, unsigned freedom)
{
    double low = 0, high = 1e4;

    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;

        if (stats_student_tail(mid, freedom) > chance)
            low = mid;
        else
            high = mid;
    }
    return high;
}
