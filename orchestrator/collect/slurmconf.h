/* slurmconf.h - what the controller says of its configuration. */
#ifndef JP_COLLECT_SLURMCONF_H
#define JP_COLLECT_SLURMCONF_H

#include <limits.h>
#include <stdbool.h>

/* "" unknown. */
struct slurmconf {
    char version[64];           /* of the controller */
    char path[PATH_MAX];        /* slurm.conf */
    char plugstack[PATH_MAX];   /* plugstack.conf */
    char plugin_dirs[PATH_MAX]; /* colons between them */
};

/* Asks the controller, for at most wait_ms. False: no Slurm, no answer. Not
 * after threads were started. */
bool slurmconf_get(unsigned wait_ms, struct slurmconf *out);

#endif
