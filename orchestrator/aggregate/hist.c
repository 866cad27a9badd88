/* hist.c - count values by the first bits of their doubles. */
#include "orchestrator/aggregate/hist.h"

#include <stddef.h>
#include <string.h>

#define SHIFT (52 - HIST_PARTS_BITS)
#define FIRST ((uint64_t) (1023 + HIST_FROM) << HIST_PARTS_BITS)
#define LAST (((uint64_t) HIST_OCTAVES << HIST_PARTS_BITS) - 1)

void hist_add(struct hist *hist, double v)
{
    uint64_t bits;

    if (!hist->n || v < hist->min)
        hist->min = v;
    if (v > hist->max)
        hist->max = v;
    hist->sum += v;
    hist->n++;
    memcpy(&bits, &v, sizeof(bits));
    bits >>= SHIFT; /* exponent and the first bits of the fraction */
    if (bits < FIRST)
        hist->zeros++;
    else
        hist->counts[bits - FIRST < LAST ? bits - FIRST : LAST]++;
}

/* The middle of a part. */
static double middle_of(uint64_t part)
{
    uint64_t bits = (part + FIRST) << SHIFT | UINT64_C(1) << (SHIFT - 1);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* The value at a place in order, from 0, as near as is known. */
static double at_place(const struct hist *hist, uint64_t place)
{
    uint64_t below = hist->zeros;
    double v = 0;

    for (uint64_t i = 0; below <= place && i <= LAST; i++) {
        if (!hist->counts[i])
            continue;
        below += hist->counts[i];
        v = middle_of(i);
    }
    return v < hist->min ? hist->min : v > hist->max ? hist->max : v;
}

static double quantile(const struct hist *hist, double q)
{
    double at = q * (double) (hist->n - 1);
    uint64_t place = (uint64_t) at;
    double low = at_place(hist, place);

    if (place + 1 >= hist->n)
        return low;
    return low + (at_place(hist, place + 1) - low) * (at - (double) place);
}

void hist_make(const struct hist *hist, struct jp_dist *out)
{
    *out = (struct jp_dist){.n = hist->n};
    if (!hist->n)
        return;
    out->mean = hist->sum / (double) hist->n;
    out->min = hist->min;
    out->max = hist->max;
    out->p5 = quantile(hist, 0.05);
    out->p50 = quantile(hist, 0.50);
    out->p95 = quantile(hist, 0.95);
    out->p99 = quantile(hist, 0.99);
}
