/* cause_limits.h - the limits that decide about causes, the length of a step,
 * and what limits the job. The page lists them with insight's. */
#ifndef JP_UTIL_CAUSE_LIMITS_H
#define JP_UTIL_CAUSE_LIMITS_H

#include "orchestrator/insight/limits.h"

enum cause_limit_id {
    LIMIT_CAUSE_CHANCE,
    LIMIT_CAUSE_CONTRAST,
    LIMIT_CAUSE_SAMPLES,
    LIMIT_CAUSE_USUAL,
    LIMIT_CAUSE_EXACT,
    LIMIT_CAUSE_PRIOR,
    LIMIT_CAUSE_FULL,
    LIMIT_CAUSE_THROTTLE,
    LIMIT_CAUSE_CLOCK,
    LIMIT_CAUSE_PCIE,
    LIMIT_CAUSE_XID,
    LIMIT_CAUSE_ECC,
    LIMIT_CAUSE_REPLAYS,
    LIMIT_CAUSE_OTHERS,
    LIMIT_CAUSE_MEMORY_BUSY,
    LIMIT_CAUSE_HELD,
    LIMIT_CAUSE_SWITCHES,
    LIMIT_CAUSE_PRESSURE,
    LIMIT_CAUSE_CORES,
    LIMIT_CAUSE_OWN,
    LIMIT_CAUSE_FAULTS,
    LIMIT_CAUSE_MINOR,
    LIMIT_CAUSE_BYTES,
    LIMIT_CAUSE_PORT_ERRORS,
    LIMIT_CAUSE_PORT_WAITS,
    LIMIT_CAUSE_PORT_USE,
    LIMIT_STEP_COUNT,
    LIMIT_STEP_LIKE,
    LIMIT_STEP_UNEVEN,
    LIMIT_STEP_CORRELATION,
    LIMIT_STEP_PEAK,
    LIMIT_STEP_DRIFT,
    LIMIT_BOUND_GPU,
    LIMIT_BOUND_IDLE,
    LIMIT_BOUND_CPU,
    LIMIT_BOUND_THROTTLED,
    LIMIT_BOUND_IO,
    LIMIT_BOUND_READS,
    LIMIT_BOUND_MEMORY,
    LIMIT_BOUND_FAULTS,
    LIMIT_BOUND_COMM,
    LIMIT_BOUND_PORT,
    LIMIT_BOUND_GPU_MEMORY,
    LIMIT_BOUND_IMBALANCE,
    LIMIT_BOUND_LIMITED,
    LIMIT_BOUND_UNUSED,
    N_CAUSE_LIMITS
};

/* The last row has no name. */
extern const struct jp_limit cause_limits[N_CAUSE_LIMITS + 1];

static inline double cause_limit(enum cause_limit_id id)
{
    return cause_limits[id].value;
}

#endif
