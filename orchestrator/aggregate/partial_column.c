/* partial_column.c - a column of numbers that are mostly 0. */
#include <string.h>

#include "orchestrator/aggregate/partial_parts.h"

void partial_put_column(struct jpr_out *out, const uint64_t *values, size_t n)
{
    size_t others = 0, last = 0;

    for (size_t i = 0; i < n; i++)
        others += values[i] != 0;
    jpr_put_u64(out, others > n / 2 ? n + 1 : others);
    for (size_t i = 0; i < n; i++) {
        if (others <= n / 2 && !values[i])
            continue;
        if (others <= n / 2)
            jpr_put_u64(out, i - last);
        jpr_put_i64(out, (int64_t) values[i]);
        last = i;
    }
}

bool partial_get_column(struct jpr_in *in, uint64_t *values, size_t n)
{
    uint64_t others = partial_get(in);
    size_t at = 0;

    if (others == n + 1) {
        for (size_t i = 0; i < n; i++)
            values[i] = partial_get_signed(in);
        return !in->bad;
    }
    if (in->bad || others > n / 2)
        return false;
    memset(values, 0, n * sizeof(*values));
    for (; others; others--) {
        uint64_t distance = partial_get(in);

        if (distance >= n - at)
            return false;
        at += (size_t) distance;
        values[at] = partial_get_signed(in);
    }
    return !in->bad;
}
