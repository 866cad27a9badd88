/* sorted.c - quantiles of arrays in ascending order, and the comparators to
 * sort them. */
#include "common/sorted.h"

#include <stdint.h>

int sorted_ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return x < y ? -1 : x > y;
}

int sorted_ascending_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

    return x < y ? -1 : x > y;
}

double sorted_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double) (n - 1);
    size_t below = (size_t) at;
    double part = at - (double) below;

    /* q is 1, or n is 1. */
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (sorted[below + 1] - sorted[below]) * part;
}

double sorted_median(const double *sorted, size_t n)
{
    /* Both indices are equal if n is odd. */
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* Hoare's FIND: partitions v until the k-th smallest is in its place. Linear on
 * average, and without the memory of a sort. */
uint32_t sorted_select_u32(uint32_t *v, size_t n, size_t k)
{
    for (ptrdiff_t lo = 0, hi = (ptrdiff_t) n - 1, at = (ptrdiff_t) k;
         lo < hi;) {
        /* Everything before lo is at most v[k], and everything after hi at
         * least v[k]. */
        uint32_t pivot = v[k], kept;
        ptrdiff_t i = lo, j = hi;

        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (pivot < v[j])
                j--;
            if (i > j)
                break;
            kept = v[i];
            v[i++] = v[j];
            v[j--] = kept;
        }
        lo = j < at ? i : lo;
        hi = at < i ? j : hi;
    }
    return v[k];
}
