/* nsys_env.h - variables that resolve sets for the program in front of a task
 * under nsys. */
#ifndef JP_NSYS_ENV_H
#define JP_NSYS_ENV_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Whether the SPANK module can put a program in front of the task's program. A
 * build without Slurm plans for one that can. */
#if !defined(HAVE_SLURM) || HAVE_DECL_SPANK_PREPEND_TASK_ARGV
#define NSYS_CAN_WRAP 1
#else
#define NSYS_CAN_WRAP 0
#endif

/* The path of that program, which the SPANK module puts in front, and what it
 * starts, for the module's message if it is missing. */
#define NSYS_ENV_TITLE "JOBPROF_WRAP_TITLE"
#define NSYS_ENV_WRAP "JOBPROF_WRAP"
#define NSYS_WRAP_NAME "jobprof-wrap"
/* The folder of the ranks' files on this node. */
#define NSYS_ENV_DIR "JOBPROF_NSYS_DIR"
/* A file in that folder with the path of the nsys that ran: the report exports
 * with it. */
#define NSYS_PROGRAM_FILE "nsys.path"
/* Which ranks: all, node0, first-per-node, or "0;8;16-23". */
#define NSYS_ENV_RANKS "JOBPROF_NSYS_RANKS"
/* Arguments for `nsys profile`, separated by blanks. */
#define NSYS_ENV_FLAGS "JOBPROF_NSYS_FLAGS"
/* Seconds that nsys may take after the end of the program. */
#define NSYS_ENV_WAIT "JOBPROF_NSYS_WAIT"
/* "1": without nsys the program does not start. */
#define NSYS_ENV_REQUIRED "JOBPROF_WRAP_REQUIRED"

#endif
