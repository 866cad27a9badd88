/* dist.h - mean, extremes and percentiles of many values. */
#ifndef JP_AGGREGATE_DIST_H
#define JP_AGGREGATE_DIST_H

#include <stddef.h>

#include "orchestrator/aggregate/aggregate.h"

/* Sorts values (>= 0, finite) and fills *out; percentiles are interpolated
 * linearly between neighbours (SQL's quantile_cont). scratch has room for n.
 * n = 0 gives all zeros. */
void dist_make(double *values, double *scratch, size_t n, struct jp_dist *out);

#endif
