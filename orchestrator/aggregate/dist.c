/* dist.c - percentiles of many values, by a radix sort of doubles, or of very
 * many by a histogram. */
#include "orchestrator/aggregate/dist.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/sorted.h"

/* Six digits of 11 bits make a double. Up to SMALL values are sorted by
 * insertion. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, SMALL = 64 };

static void insertion_sort(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double x = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* A value's bits, which have the order of the values. */
static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits; /* ordered as the value, because it is not negative */
}

/* One stable pass by the digit at shift. */
static void radix_pass(const double *from, double *to, size_t n, unsigned shift)
{
    size_t count[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        count[bits_of(from[i]) >> shift & (DIGITS - 1)]++;
    /* counts become the places where each digit's values go */
    for (size_t d = 0; d < DIGITS; d++) {
        size_t c = count[d];

        count[d] = sum;
        sum += c;
    }
    for (size_t i = 0; i < n; i++)
        to[count[bits_of(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorts n values; scratch also has room for n. */
static void sort_values(double *values, double *scratch, size_t n)
{
    double *from = values, *to = scratch, *swap;
    uint64_t differ = 0;

    if (n <= SMALL) {
        insertion_sort(values, n);
        return;
    }
    /* bits in which the values differ: a digit that all share needs no pass */
    for (size_t i = 1; i < n; i++)
        differ |= bits_of(values[i]) ^ bits_of(values[0]);
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if (differ >> shift & (DIGITS - 1)) { /* else all digits are equal */
            radix_pass(from, to, n, shift);
            swap = from;
            from = to;
            to = swap;
        }
    if (from != values)
        memcpy(values, from, n * sizeof(*values));
}

void dist_make(double *values, double *scratch, size_t n, struct jp_dist *out)
{
    double sum = 0;

    *out = (struct jp_dist){.n = n};
    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    sort_values(values, scratch, n);
    out->mean = sum / (double) n;
    out->min = values[0];
    out->p5 = sorted_quantile(values, n, 0.05);
    out->p50 = sorted_quantile(values, n, 0.50);
    out->p95 = sorted_quantile(values, n, 0.95);
    out->p99 = sorted_quantile(values, n, 0.99);
    out->max = values[n - 1];
}

/* --- the histogram: values are counted by the first bits of their doubles ---
 */

/* A double's first bits are its exponent, then its fraction: shifted by SHIFT
 * they are the number of a bucket, from FIRST on, LAST at most. */
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
    /* too small to have a bucket */
    if (bits < FIRST)
        hist->zeros++;
    else
        hist->counts[bits - FIRST < LAST ? bits - FIRST : LAST]++;
}

/* The value in the middle of a bucket. */
static double middle_of(uint64_t part)
{
    uint64_t bits = (part + FIRST) << SHIFT | UINT64_C(1) << (SHIFT - 1);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* The value at a position (from 0) of the sorted values, within half a bucket.
 * It never lies outside of what was seen. */
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

/* A quantile, interpolated linearly between two positions. */
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
