/* join_rates.c - count bandwidths in buckets. */
#include "orchestrator/aggregate/join_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/aggregate.h"

#define PARTS 16
#define PARTS_BITS 4
#define FIRST_ROOM 8

uint32_t join_rate_bucket(uint64_t bytes, uint64_t exec_us)
{
    uint64_t micro;
    unsigned shift;

    if (!bytes || !exec_us)
        return JOIN_RATE_BUCKETS;
    /* GB/s are 1000 bytes a us */
    if (__builtin_mul_overflow(bytes, UINT64_C(1000), &micro))
        micro = UINT64_MAX;
    micro /= exec_us;
    if (micro < 2 * PARTS)
        return (uint32_t) micro;
    shift = 63 - (unsigned) __builtin_clzll(micro) - PARTS_BITS;
    return (uint32_t) ((shift << PARTS_BITS) + (micro >> shift));
}

/* Least value of a bucket, in 1e-6 GB/s. */
static double lower(uint32_t bucket)
{
    if (bucket < 2 * PARTS)
        return bucket;
    return ldexp(PARTS + bucket % PARTS, (int) (bucket / PARTS) - 1);
}

/* The first that is not below bucket. */
static uint32_t place_of(const struct join_rates *rates, uint32_t bucket)
{
    uint32_t from = 0, to = rates->n;

    while (from < to) {
        uint32_t middle = (from + to) / 2;

        if (rates->at[middle].bucket < bucket)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Room for one more; it doubles at powers of two. */
static int grow(struct join *join, struct join_rates *rates)
{
    uint32_t n = rates->n, room = n ? 2 * n : FIRST_ROOM;
    struct join_rate *more;

    if (n && (n < FIRST_ROOM || (n & (n - 1))))
        return 0;
    if (!join_charge(join, (room - n) * sizeof(*more)))
        return -1;
    more = reallocarray(rates->at, room, sizeof(*more));
    if (!more)
        return -1;
    rates->at = more;
    return 0;
}

int join_rates_add(struct join *join, struct join_rates *rates, uint32_t bucket,
                   uint32_t count)
{
    uint32_t at = place_of(rates, bucket);
    struct join_rate *rate;

    if (at < rates->n && rates->at[at].bucket == bucket) {
        rate = &rates->at[at];
        if (__builtin_add_overflow(rate->count, count, &rate->count))
            rate->count = UINT32_MAX;
        return 0;
    }
    if (grow(join, rates) < 0)
        return -1;
    rate = rates->at + at;
    memmove(rate + 1, rate, (rates->n - at) * sizeof(*rate));
    *rate = (struct join_rate){bucket, count};
    rates->n++;
    return 0;
}

int join_rates_merge(struct join *join, struct join_rates *into,
                     const struct join_rates *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (join_rates_add(join, into, from->at[i].bucket, from->at[i].count) <
            0)
            return -1;
    return 0;
}

void join_rates_fini(struct join_rates *rates)
{
    free(rates->at);
    *rates = (struct join_rates){0};
}

double join_rates_quantile(const struct join_rates *rates, double q)
{
    double total = 0, before = 0, rank;

    for (uint32_t i = 0; i < rates->n; i++)
        total += rates->at[i].count;
    rank = q * (total - 1);
    for (uint32_t i = 0; i < rates->n; i++) {
        double count = rates->at[i].count, from = lower(rates->at[i].bucket);
        double part = (rank - before + 0.5) / count;

        if (before + count > rank)
            return (from +
                    (lower(rates->at[i].bucket + 1) - from) * fmin(part, 1)) /
                   1e6;
        before += count;
    }
    return NAN;
}

#define FASTEST 0.97
#define ALIKE 1.15

double join_rates_fast(const struct join_rates *rates)
{
    double fast = join_rates_quantile(rates, JP_P2P_SLOWER);

    return join_rates_quantile(rates, FASTEST) > ALIKE * fast ? NAN : fast;
}
