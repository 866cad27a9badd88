/* sorted.h - what is read off an array of numbers in ascending order. */
#ifndef JP_COMMON_SORTED_H
#define JP_COMMON_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* For qsort: doubles, the least first. None may be NaN. */
int sorted_ascending(const void *a, const void *b);

/* Likewise, uint32_t. */
int sorted_ascending_u32(const void *a, const void *b);

/* The k-th least of n, from 0; v is reordered. k is below n. */
uint32_t sorted_select_u32(uint32_t *v, size_t n, size_t k);

/* Linear between the two neighbours (quantile_cont, numpy's default); q is 0
 * to 1, n at least 1. */
double sorted_quantile(const double *sorted, size_t n, double q);

/* The middle one, or the mean of the two in the middle; n is at least 1. */
double sorted_median(const double *sorted, size_t n);

#endif
