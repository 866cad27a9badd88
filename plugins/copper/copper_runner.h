/* copper_runner.h - Copper's runner face (plugins/backend.h). */
#ifndef JP_COPPER_RUNNER_H
#define JP_COPPER_RUNNER_H

#include "plugins/backend.h"

extern const struct backend_runner copper_runner;

#endif
