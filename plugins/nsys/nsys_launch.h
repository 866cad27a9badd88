/* nsys_launch.h - what --nsys-profile adds to a step. */
#ifndef JP_NSYS_LAUNCH_H
#define JP_NSYS_LAUNCH_H

#include "plugins/side.h"

extern const struct launch_side nsys_side;

#endif
