/* nccl_knobs.h - knobs that several NCCL profilers take: the same row in each.
 */
#ifndef JP_PLUGINS_NCCL_KNOBS_H
#define JP_PLUGINS_NCCL_KNOBS_H

#include "common/knob.h"

/* 5,800 collectives a second and communicator were measured with tiny messages
 * in a tight loop. */
#define NCCL_KNOB_RATE                                                         \
    {                                                                          \
        JP_KNOB("rate", JP_KNOB_RATE, 1, 10000000, NULL, "5000",               \
                "peak rate of collectives in one communicator"),               \
            .place = JP_KNOB_LOAD                                              \
    }

/* As many as the example plugin can hold, so that its memory is bounded. NCCL
 * takes 2 to 32. */
#define NCCL_KNOB_CHANNELS                                                     \
    {                                                                          \
        JP_KNOB("channels", JP_KNOB_COUNT, 1, 64, NULL, "32",                  \
                "channels of an operation that the plan assumes"),             \
            .place = JP_KNOB_LOAD                                              \
    }

#endif
