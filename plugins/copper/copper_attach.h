/* copper_attach.h - the runner of attach=1 (plugins/backend.h): a daemon that
 * runs already writes its counters before and after the step. */
#ifndef JP_PLUGINS_COPPER_ATTACH_H
#define JP_PLUGINS_COPPER_ATTACH_H

#include "plugins/backend.h"

extern const struct backend_runner copper_attach;

#endif
