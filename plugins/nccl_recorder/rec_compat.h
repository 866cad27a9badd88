/* rec_compat.h - pthreads and dlopen of older glibcs; the clock. */
#ifndef JP_REC_COMPAT_H
#define JP_REC_COMPAT_H

#include <stdint.h>
#include <time.h>

#include "common/oldglibc.h"

/* --- the clock of all host times ----------------------------------------- */

static inline uint64_t rec_clock_of(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t) ts.tv_sec * 1000000000U + (uint64_t) ts.tv_nsec;
}

static inline uint64_t rec_clock_ns(void)
{
    return rec_clock_of(CLOCK_MONOTONIC);
}

#endif
