/* hist.h - percentiles of more values than are kept: a log-linear histogram.
 *
 * Each power of two is cut into 256 equal parts, whatever the values, so
 * histograms of parts of the data add up to that of the whole. Mean and
 * extremes are exact; a percentile is off by at most 0.2 %, half a part.
 */
#ifndef JP_AGGREGATE_HIST_H
#define JP_AGGREGATE_HIST_H

#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

enum {
    HIST_PARTS_BITS = 8,
    HIST_FROM = -24, /* 2^-24 GB/s or us: what is less counts as 0 */
    HIST_OCTAVES = 66,
};

struct hist {
    uint64_t n;
    double sum, min, max;
    uint64_t zeros;
    uint64_t counts[HIST_OCTAVES << HIST_PARTS_BITS];
};

/* v >= 0 and below 2^42. hist begins as zeros. */
void hist_add(struct hist *hist, double v);
/* As dist_make would, but for the percentiles. */
void hist_make(const struct hist *hist, struct jp_dist *out);

#endif
