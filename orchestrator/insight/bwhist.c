/* bwhist.c - count bandwidths in buckets. */
#include "orchestrator/insight/bwhist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_BITS 6
#define MICRO 1e6

uint32_t bwhist_bucket(double gbs)
{
    double micro = gbs * MICRO;
    uint64_t v = micro < 9e18 ? (uint64_t) micro : UINT64_C(1) << 62;
    unsigned shift;

    if (v < 2 * BWHIST_PARTS)
        return (uint32_t) v;
    shift = 63 - (unsigned) __builtin_clzll(v) - PARTS_BITS;
    return (uint32_t) ((shift << PARTS_BITS) + (v >> shift));
}

/* Least value of a bucket, in 1e-6 GB/s. */
static double lower(uint32_t bucket)
{
    if (bucket < 2 * BWHIST_PARTS)
        return bucket;
    return ldexp(BWHIST_PARTS + bucket % BWHIST_PARTS,
                 (int) (bucket / BWHIST_PARTS) - 1);
}

/* Makes room for a bucket. */
static int cover(struct jp_bwhist *h, uint32_t bucket)
{
    uint32_t first = h->n && h->first < bucket ? h->first : bucket;
    uint32_t last = h->n && h->first + h->n - 1 > bucket ? h->first + h->n - 1
                                                         : bucket;
    uint64_t *counts;

    if (h->n && first == h->first && last < h->first + h->n)
        return 0;
    counts = calloc(last - first + 1, sizeof(*counts));
    if (!counts)
        return -1;
    if (h->n)
        memcpy(counts + (h->first - first), h->counts, h->n * sizeof(*counts));
    free(h->counts);
    h->counts = counts;
    h->first = first;
    h->n = last - first + 1;
    return 0;
}

int bwhist_add(struct jp_bwhist *h, uint32_t bucket, uint64_t count)
{
    if (count > BWHIST_MAX_COUNT - h->total || cover(h, bucket) < 0)
        return -1;
    h->counts[bucket - h->first] += count;
    h->total += count;
    return 0;
}

int bwhist_merge(struct jp_bwhist *into, const struct jp_bwhist *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (from->counts[i] &&
            bwhist_add(into, from->first + i, from->counts[i]) < 0)
            return -1;
    return 0;
}

void bwhist_fini(struct jp_bwhist *h)
{
    free(h->counts);
    *h = (struct jp_bwhist){0};
}

double bwhist_quantile(const struct jp_bwhist *h, double q)
{
    double rank = q * ((double) h->total - 1), before = 0;

    for (uint32_t i = 0; i < h->n; i++) {
        double count = (double) h->counts[i], from, to;

        if (!h->counts[i] || before + count <= rank) {
            before += count;
            continue;
        }
        from = lower(h->first + i);
        to = lower(h->first + i + 1);
        return round(from + (to - from) * (rank - before + 0.5) / count) /
               MICRO;
    }
    return NAN;
}
