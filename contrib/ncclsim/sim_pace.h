/* When the next operation may be issued, in wall time. */
#ifndef JP_SIM_PACE_H
#define JP_SIM_PACE_H

#include <stdint.h>

struct jp_sim_pace {
    int64_t began_ns;
    double interval_ns; /* between two operations; 0: at once */
    uint64_t issued;
};

/* CLOCK_MONOTONIC. */
int64_t sim_pace_now_ns(void);
void sim_pace_sleep_until(int64_t ns);

/* Begins now; `rate` operations a second, evenly; 0: as fast as possible. */
void sim_pace_init(struct jp_sim_pace *pace, double rate);

/* Waits until the next `n` operations are due. Who is late catches up. */
void sim_pace_wait(struct jp_sim_pace *pace, int n);

#endif
