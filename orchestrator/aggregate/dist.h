/* dist.h - mean, extremes and percentiles of many values. */
#ifndef JP_AGGREGATE_DIST_H
#define JP_AGGREGATE_DIST_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

/* Sorts values (>= 0, finite) and fills *out; percentiles are interpolated
 * linearly between neighbours (SQL's quantile_cont). scratch has room for n.
 * n = 0 gives all zeros. */
void dist_make(double *values, double *scratch, size_t n, struct jp_dist *out);

/* Percentiles of more values than are kept: a log-linear histogram. Each power
 * of two is cut into 256 equal parts, whatever the values, so histograms of
 * parts of the data add up to that of the whole. Mean and extremes are exact. A
 * percentile is off by at most 0.2 %, half a part. */
enum {
    HIST_PARTS_BITS = 8,
    HIST_FROM = -24, /* smaller values than 2^-24 GB/s or us count as 0 */
    HIST_OCTAVES = 66,
};

struct hist {
    uint64_t n;
    double sum, min, max;
    uint64_t zeros;
    uint64_t counts[HIST_OCTAVES << HIST_PARTS_BITS];
};

/* Counts v, from 0 to below 2^42. A histogram begins as zeros. */
void hist_add(struct hist *hist, double v);
/* Fills *out as dist_make does, with rounded percentiles. */
void hist_make(const struct hist *hist, struct jp_dist *out);

#endif
