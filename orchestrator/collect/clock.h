/* clock.h - the two clocks of the protocol: calendar time for records,
 * monotonic time for waits. */
#ifndef JP_COLLECT_CLOCK_H
#define JP_COLLECT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_REALTIME in microseconds, for records and claims. */
static inline uint64_t clock_real_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* CLOCK_MONOTONIC in milliseconds, for waits and limits. */
static inline uint64_t clock_mono_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

static inline void clock_sleep_ms(uint32_t ms)
{
    struct timespec ts = {ms / 1000, (long) (ms % 1000) * 1000000};

    nanosleep(&ts, NULL);
}

#endif
