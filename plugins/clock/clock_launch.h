/* clock_launch.h - what --clock-profile adds to a step, and how the node agent
 * reads it. */
#ifndef JP_CLOCK_LAUNCH_H
#define JP_CLOCK_LAUNCH_H

#include <stdbool.h>

#include "plugins/clock/clock_conf.h"
#include "plugins/side.h"

/* The keys of job.conf's group clock (docs/dev/contracts.md). A cadence of 0
 * means no probes. The secret signs their packets and is never shown. */
enum clock_key {
    CLOCK_CADENCE_US,
    CLOCK_WINDOW_MS,
    CLOCK_SPACING_US,
    CLOCK_SNAPSHOT_MS,
    CLOCK_CPU_PERMILLE,
    CLOCK_INTERFACES,
    CLOCK_SECRET
};

/* With xla=1, this file is written into the step's directory. */
#define CLOCK_XLA_FILE "dist_prof_config.json"

extern const struct launch_side clock_side;

/* Reads the agent's clock settings. Values outside a knob's range are clamped.
 * Returns false if clocks are not probed or job.conf has no key. */
bool clock_launch_read(const struct jp_jobconf *conf, struct clock_conf *out);

#endif
