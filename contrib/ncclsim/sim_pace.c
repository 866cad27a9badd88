/* sim_pace.c - when the next operation may be issued, in wall time. */
#include "contrib/ncclsim/sim_pace.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

int64_t sim_pace_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void sim_pace_sleep_until(int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};

    /* an absolute time, so that an interruption needs no correction */
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

void sim_pace_init(struct jp_sim_pace *pace, double rate)
{
    *pace = (struct jp_sim_pace){.began_ns = sim_pace_now_ns()};
    if (rate <= 0.0)
        return;
    pace->interval_ns = 1e9 / rate;
    /* the default slack of 50 us is a whole interval at 20,000 operations a
     * second */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void sim_pace_wait(struct jp_sim_pace *pace, int n)
{
    int64_t due;

    if (pace->interval_ns <= 0.0)
        return;
    due = pace->began_ns +
          (int64_t) ((double) pace->issued * pace->interval_ns);
    pace->issued += (uint64_t) n;
    if (due > sim_pace_now_ns())
        sim_pace_sleep_until(due);
}

/* The coarse clock costs a quarter of the exact one. This is more than one of
 * its ticks. */
enum { COARSE_NS = 20000000 };

int64_t sim_clock_catch_up(struct jp_sim_clock *clock, int64_t ns)
{
    int64_t base = __atomic_load_n(&clock->base_ns, __ATOMIC_RELAXED);
    struct timespec ts;
    int64_t now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    if (ts.tv_sec * 1000000000LL + ts.tv_nsec + COARSE_NS < base + ns)
        /* virtual time is far ahead, as in a run that is faster than real time
         */
        return base;
    now = sim_pace_now_ns();
    while (base + ns < now &&
           !__atomic_compare_exchange_n(&clock->base_ns, &base, now - ns, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return __atomic_load_n(&clock->base_ns, __ATOMIC_RELAXED);
}
