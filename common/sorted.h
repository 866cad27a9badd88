/* sorted.h - quantiles of arrays of numbers in ascending order. */
#ifndef JP_COMMON_SORTED_H
#define JP_COMMON_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Compares doubles for qsort, ascending. None may be NaN. */
int sorted_ascending(const void *a, const void *b);

/* The same for uint32_t. */
int sorted_ascending_u32(const void *a, const void *b);

/* The k-th smallest of n numbers, counted from 0; v is reordered. k is below
 * n. */
uint32_t sorted_select_u32(uint32_t *v, size_t n, size_t k);

/* The quantile q (0 to 1), linear between the two neighbours (DuckDB's
 * quantile_cont, numpy's default). n is at least 1. */
double sorted_quantile(const double *sorted, size_t n, double q);

/* The median: the middle number, or the mean of the two in the middle. n is at
 * least 1. */
double sorted_median(const double *sorted, size_t n);

#endif
