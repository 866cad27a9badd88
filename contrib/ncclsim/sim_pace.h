/* sim_pace.h - when the next operation may be issued, in wall time. */
#ifndef JP_SIM_PACE_H
#define JP_SIM_PACE_H

#include <stdint.h>

struct jp_sim_pace {
    int64_t began_ns;
    double interval_ns; /* time between two operations; 0: no pause */
    uint64_t issued;
};

/* CLOCK_MONOTONIC. */
int64_t sim_pace_now_ns(void);
void sim_pace_sleep_until(int64_t ns);

/* Begins now, with `rate` operations per second at equal intervals; 0: as fast
 * as possible. */
void sim_pace_init(struct jp_sim_pace *pace, double rate);

/* Waits until the next `n` operations are due. A late caller catches up. */
void sim_pace_wait(struct jp_sim_pace *pace, int n);

/* Relates virtual time to the host's. Virtual time may run ahead, in a run that
 * is faster than real time. It is moved forward where it would fall behind. */
struct jp_sim_clock {
    int64_t base_ns; /* CLOCK_MONOTONIC at virtual time 0; never decreases */
};

/* Moves virtual time so that `ns` is not in the past. Returns CLOCK_MONOTONIC
 * at virtual time 0. Thread-safe. */
int64_t sim_clock_catch_up(struct jp_sim_clock *clock, int64_t ns);

#endif
