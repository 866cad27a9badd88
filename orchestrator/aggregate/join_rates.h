/* join_rates.h - how fast messages were: counts of bandwidths, in buckets.
 *
 * Each power of two of a bandwidth, in whole 1e-6 GB/s, is cut into 16 equal
 * parts, so a bucket is 3 to 6 % wide. Counts are whole numbers that saturate:
 * sums of histograms do not depend on their order.
 */
#ifndef JP_AGGREGATE_JOIN_RATES_H
#define JP_AGGREGATE_JOIN_RATES_H

#include <stdint.h>

#define JOIN_RATE_BUCKETS 976 /* of 64-bit numbers */

struct join;

struct join_rate {
    uint32_t bucket, count;
};

/* Those that have a count, in order; zero is empty. */
struct join_rates {
    struct join_rate *at;
    uint32_t n;
};

/* Of a message of so many bytes in so many us; JOIN_RATE_BUCKETS: it has no
 * bandwidth, for one of these is 0. */
uint32_t join_rate_bucket(uint64_t bytes, uint64_t exec_us);

/* Adds count, not 0, to a bucket below JOIN_RATE_BUCKETS, within the join's
 * bound. 0, or -1 with nothing changed. */
int join_rates_add(struct join *join, struct join_rates *rates, uint32_t bucket,
                   uint32_t count);
/* The same with all of from; what was added before a failure stays. */
int join_rates_merge(struct join *join, struct join_rates *into,
                     const struct join_rates *from);
void join_rates_fini(struct join_rates *rates);

/* Quantile q of 0..1, GB/s, spread evenly within its bucket; NAN of none. */
double join_rates_quantile(const struct join_rates *rates, double q);

/* What JP_P2P_SLOWER of them do not reach. NAN where a few are far faster
 * still: then messages are unlike, and how fast one was says little on the
 * network. */
double join_rates_fast(const struct join_rates *rates);

#endif
