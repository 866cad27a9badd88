/* copper_launch.h - what --copper-profile adds to a step, and the names that
 * its daemons and their readers share. */
#ifndef JP_COPPER_LAUNCH_H
#define JP_COPPER_LAUNCH_H

#include "plugins/side.h"

/* The variable of the tasks with Copper's mount point. */
#define COPPER_MOUNT "COPPER_MOUNT"
/* In raw/: the nodes on which Copper was to run, one per line. */
#define COPPER_NODES "node_file.txt"

extern const struct launch_side copper_side;

#endif
