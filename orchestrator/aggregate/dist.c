/* dist.c - percentiles by a radix sort of doubles. */
#include "orchestrator/aggregate/dist.h"

#include <stdint.h>
#include <string.h>

#include "common/sorted.h"

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

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits; /* ordered as the value, because it is not negative */
}

/* One stable pass by the digit at shift. False: all digits are equal and
 * nothing was moved. */
static int radix_pass(const double *from, double *to, size_t n, unsigned shift)
{
    size_t count[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        count[bits_of(from[i]) >> shift & (DIGITS - 1)]++;
    if (count[bits_of(from[0]) >> shift & (DIGITS - 1)] == n)
        return 0;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t c = count[d];

        count[d] = sum;
        sum += c;
    }
    for (size_t i = 0; i < n; i++)
        to[count[bits_of(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
    return 1;
}

static void sort(double *values, double *scratch, size_t n)
{
    double *from = values, *to = scratch, *swap;

    if (n <= SMALL) {
        insertion_sort(values, n);
        return;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if (radix_pass(from, to, n, shift)) {
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
    sort(values, scratch, n);
    out->mean = sum / (double) n;
    out->min = values[0];
    out->p5 = sorted_quantile(values, n, 0.05);
    out->p50 = sorted_quantile(values, n, 0.50);
    out->p95 = sorted_quantile(values, n, 0.95);
    out->p99 = sorted_quantile(values, n, 0.99);
    out->max = values[n - 1];
}
