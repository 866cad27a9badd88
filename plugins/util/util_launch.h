/* util_launch.h - what --util-profile adds to a step. */
#ifndef JP_UTIL_LAUNCH_H
#define JP_UTIL_LAUNCH_H

#include "plugins/side.h"

extern const struct launch_side util_side;

#endif
