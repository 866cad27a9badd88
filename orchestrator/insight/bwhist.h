/* bwhist.h - a distribution of bandwidths that adds up: a log-linear histogram.
 *
 * Bandwidths are taken as whole 1e-6 GB/s; each power of two is cut into
 * BWHIST_PARTS equal parts (below 2 * BWHIST_PARTS each number has its own), so
 * a bucket is at most 1.6 % wide. Counts are whole numbers: the sum of
 * histograms does not depend on their order.
 */
#ifndef JP_INSIGHT_BWHIST_H
#define JP_INSIGHT_BWHIST_H

#include <stdint.h>

#define BWHIST_PARTS 64
#define BWHIST_BUCKETS 3776
#define BWHIST_MAX_COUNT (UINT64_C(1) << 53) /* in all; more does not fit */

/* Zero is empty. */
struct jp_bwhist {
    uint32_t first, n; /* buckets that are kept */
    uint64_t *counts;
    uint64_t total;
};

/* The bucket of a bandwidth, GB/s, finite and not negative. */
uint32_t bwhist_bucket(double gbs);

/* Adds count to a bucket below BWHIST_BUCKETS. -1: no memory, or over
 * BWHIST_MAX_COUNT; nothing is changed. */
int bwhist_add(struct jp_bwhist *hist, uint32_t bucket, uint64_t count);
/* The same with all counts of from; what was added before a failure stays. */
int bwhist_merge(struct jp_bwhist *into, const struct jp_bwhist *from);
void bwhist_fini(struct jp_bwhist *hist);

/* Quantile q of 0..1, GB/s, spread evenly within its bucket and
 * rounded to 1e-6; NAN of none. */
double bwhist_quantile(const struct jp_bwhist *hist, double q);

#endif
