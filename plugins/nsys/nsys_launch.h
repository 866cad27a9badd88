/* nsys_launch.h - what --nsys-profile adds to a step. */
#ifndef JP_NSYS_LAUNCH_H
#define JP_NSYS_LAUNCH_H

#include "plugins/side.h"

/* Up to this number of tasks, all of them run under nsys; otherwise the first
 * of each node. Each writes a file that is exported and read. */
#define JP_NSYS_ALL_MAX 32

/* What nsys traces: the sources of the report's tables. */
#define JP_DEF_NSYS_TRACE "cuda;nvtx"

/* Seconds that nsys may take after the end of its program to write its file.
 * Files of a GiB have taken more than a minute; the job cannot end before. */
#define JP_DEF_NSYS_WAIT_S 120

extern const struct launch_side nsys_side;

#endif
