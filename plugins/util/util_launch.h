/* util_launch.h - what --util-profile adds to a step. */
#ifndef JP_UTIL_LAUNCH_H
#define JP_UTIL_LAUNCH_H

#include "plugins/side.h"

/* NVML's figures are averages over 1/6 s to 1 s. One sample per second of 16
 * tasks and 8 GPUs costs at most 0.3 % of a processor. */
#define UTIL_PERIOD_MS 1000
/* Below this period, NVML returns the same figures again, and sampling costs
 * more than it is worth. */
#define UTIL_PERIOD_MIN_MS 100

extern const struct launch_side util_side;

#endif
