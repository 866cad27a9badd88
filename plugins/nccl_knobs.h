/* nccl_knobs.h - rows of knobs that several NCCL profilers share. */
#ifndef JP_PLUGINS_NCCL_KNOBS_H
#define JP_PLUGINS_NCCL_KNOBS_H

#include "common/knob.h"

/* Tiny messages in a tight loop were measured at 5,800 collectives a second in
 * one communicator. */
#define NCCL_KNOB_RATE                                                         \
    {                                                                          \
        JP_KNOB("rate", JP_KNOB_RATE, 1, 10000000, NULL, "5000",               \
                "peak rate of collectives in one communicator"),               \
            .place = JP_KNOB_LOAD                                              \
    }

/* The most that the example plugin can hold, so that its memory is bounded.
 * NCCL uses 2 to 32. */
#define NCCL_KNOB_CHANNELS                                                     \
    {                                                                          \
        JP_KNOB("channels", JP_KNOB_COUNT, 1, 64, NULL, "32",                  \
                "channels of an operation that the plan assumes"),             \
            .place = JP_KNOB_LOAD                                              \
    }

#endif
