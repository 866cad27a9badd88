/* locate.h - a node's way to its step directory when srun has named none. */
#ifndef JP_AGENT_LOCATE_H
#define JP_AGENT_LOCATE_H

#include <stdint.h>

#include "common/error.h"

/* The settings that a resolve on this node would use; NULL: not given. */
struct jp_locate {
    const char *config, *default_mode, *nccl, *copper;
    uint32_t nodeid; /* within its component */
    uint32_t nodes;  /* of the step */
};

/* Computes the step directory from the same settings as srun, and joins it if
 * job.conf is there. Without srun (srun --async) node 0 resolves and the others
 * wait a bounded time. *dir is malloc'ed; NULL with 0: the step is not
 * profiled. */
int locate_dir(const struct jp_locate *settings, char **dir,
               struct jp_error *err);

#endif
