/* copper_snap.h - have a daemon write its counters, and keep them. */
#ifndef JP_PLUGINS_COPPER_SNAP_H
#define JP_PLUGINS_COPPER_SNAP_H

#include "common/error.h"
#include "plugins/copper/copper_target.h"

/* Asks the daemon by ioctl to write its counters, and copies them to the folder
 * `to`, which is made. What was copied is whole. Waits for the daemon. */
int copper_snap(const struct copper_target *target, const char *to,
                struct jp_error *err);

#endif
