/* rec_clock.h - the clock of all host times. */
#ifndef JP_REC_CLOCK_H
#define JP_REC_CLOCK_H

#include <stdint.h>
#include <time.h>

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
