/* clock_feature.h - the part of a report that the nodes' clocks have. */
#ifndef JP_CLOCK_CLOCK_FEATURE_H
#define JP_CLOCK_CLOCK_FEATURE_H

#include "orchestrator/feature/feature.h"

extern const struct feature feature_clock;

#endif
