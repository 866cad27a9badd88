/* node_args.h - the arguments that the SPANK module passes to begin and
 * finish. */
#ifndef JP_CMD_NODE_ARGS_H
#define JP_CMD_NODE_ARGS_H

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

struct node_args {
    /* NULL: not given */
    const char *config, *default_mode, *nccl, *copper, *util, *clock, *nsys;
    const char *hash; /* checksum of job.conf */
    const char *node;
    /* from begin to the agent; clocks 1: the agent reads a struct clock_conf */
    uint32_t util_period_ms, util_disk_mib, clocks;
    struct jp_seat seat; /* dir NULL: not given */
};

/* Parses argv (docs/contracts.md, section 1). Strings are borrowed from it.
 * Checks the node's name, because it becomes part of paths. */
int node_args_parse(int argc, char **argv, struct node_args *args,
                    struct jp_error *err);

#endif
