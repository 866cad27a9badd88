/* copper_runner.h - the runner of a daemon of the step's own
 * (plugins/backend.h). */
#ifndef JP_COPPER_RUNNER_H
#define JP_COPPER_RUNNER_H

#include "plugins/backend.h"

extern const struct backend_runner copper_runner;

#endif
