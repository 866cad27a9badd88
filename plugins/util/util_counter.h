/* util_counter.h - a counter's last value, from which rates are made. */
#ifndef JP_UTIL_COUNTER_H
#define JP_UTIL_COUNTER_H

#include <math.h>
#include <stdint.h>

#include "plugins/util/util_kernel.h"

struct util_counter {
    uint64_t last; /* UTIL_NONE: none yet */
};

/* Growth a second over the last dt seconds, in steps of `unit`; NAN where it is
 * not known: the first value, an unknown one, one that went backwards, dt 0. */
static inline double util_rate(struct util_counter *counter, uint64_t now,
                               double unit, double dt)
{
    uint64_t last = counter->last;

    counter->last = now;
    if (last == UTIL_NONE || now == UTIL_NONE || now < last || !(dt > 0))
        return NAN;
    return (double) (now - last) * unit / dt;
}

static inline double util_known(uint64_t n)
{
    return n == UTIL_NONE ? NAN : (double) n;
}

#endif
