/* node_args.h - the words that the SPANK module gives to begin and finish. */
#ifndef JP_CMD_NODE_ARGS_H
#define JP_CMD_NODE_ARGS_H

#include "common/error.h"
#include "orchestrator/collect/barrier.h"

struct node_args {
    /* NULL: not given */
    const char *config, *default_mode, *nccl, *copper, *util, *clock;
    const char *hash; /* of job.conf */
    const char *node;
    /* begin's word to the agent; clocks 1: it reads a struct clock_conf */
    uint32_t util_period_ms, util_disk_mib, clocks;
    struct jp_seat seat; /* dir NULL: not given */
};

/* Parses argv (docs/contracts.md, section 1). Strings are borrowed from it. The
 * node's name is checked: it becomes part of paths. */
int node_args_parse(int argc, char **argv, struct node_args *args,
                    struct jp_error *err);

#endif
