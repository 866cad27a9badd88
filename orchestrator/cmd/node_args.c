/* node_args.c - parse the arguments of jobprof-node begin and finish. */
#include "orchestrator/cmd/node_args.h"

#include <getopt.h>
#include <stddef.h>

#include "common/num.h"
#include "orchestrator/collect/stepdir.h"

enum {
    OPT_CONFIG = 256,
    OPT_DEFAULT,
    OPT_NCCL,
    OPT_COPPER,
    OPT_UTIL,
    OPT_CLOCK,
    OPT_DIR,
    OPT_HASH,
    OPT_NODE,
    OPT_NODEID,
    OPT_COMPONENT,
    OPT_NODES,
    OPT_PERIOD,
    OPT_DISK,
    OPT_CLOCKS
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    {"default", required_argument, NULL, OPT_DEFAULT},
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"copper", required_argument, NULL, OPT_COPPER},
    {"util", required_argument, NULL, OPT_UTIL},
    {"clock", required_argument, NULL, OPT_CLOCK},
    {"dir", required_argument, NULL, OPT_DIR},
    {"hash", required_argument, NULL, OPT_HASH},
    {"node", required_argument, NULL, OPT_NODE},
    {"nodeid", required_argument, NULL, OPT_NODEID},
    {"component", required_argument, NULL, OPT_COMPONENT},
    {"nodes", required_argument, NULL, OPT_NODES},
    {"period", required_argument, NULL, OPT_PERIOD},
    {"disk", required_argument, NULL, OPT_DISK},
    {"clocks", required_argument, NULL, OPT_CLOCKS},
    {0}};

static int parse_u32(const char *text, uint32_t min, uint32_t *out,
                     struct jp_error *err)
{
    uint64_t value;

    if (num_parse_u64(text, min, UINT32_MAX, &value, err) < 0)
        return -1;
    *out = (uint32_t) value;
    return 0;
}

static int take(struct node_args *args, int option, const char *value,
                struct jp_error *err)
{
    switch (option) {
    case OPT_CONFIG:
        args->config = value;
        return 0;
    case OPT_DEFAULT:
        args->default_mode = value;
        return 0;
    case OPT_NCCL:
        args->nccl = value;
        return 0;
    case OPT_COPPER:
        args->copper = value;
        return 0;
    case OPT_UTIL:
        args->util = value;
        return 0;
    case OPT_CLOCK:
        args->clock = value;
        return 0;
    case OPT_DIR:
        args->seat.dir = value;
        return 0;
    case OPT_HASH:
        args->hash = value;
        return 0;
    case OPT_NODE:
        args->node = value;
        return 0;
    case OPT_NODEID:
        return parse_u32(value, 0, &args->seat.nodeid, err);
    case OPT_PERIOD:
        return parse_u32(value, 0, &args->util_period_ms, err);
    case OPT_DISK:
        return parse_u32(value, 1, &args->util_disk_mib, err);
    case OPT_CLOCKS:
        return parse_u32(value, 0, &args->clocks, err);
    case OPT_NODES:
        return parse_u32(value, 1, &args->seat.nodes, err);
    case OPT_COMPONENT:
        return num_parse_u64(value, 1, INT64_MAX, &args->seat.component, err);
    default:
        return error_set(err, "bad arguments");
    }
}

int node_args_parse(int argc, char **argv, struct node_args *args,
                    struct jp_error *err)
{
    struct node_args out = {.seat = {.nodeid = UINT32_MAX}};
    int option;

    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (take(&out, option, optarg, err) < 0)
            return -1;
    if (optind < argc)
        return error_set(err, "unknown word \"%s\"", argv[optind]);
    if (!out.seat.nodes || !out.seat.component || out.seat.nodeid == UINT32_MAX)
        return error_set(err, "--nodeid, --component and --nodes are needed");
    if (!stepdir_name_ok(out.node))
        return error_set(err, "node name \"%s\" cannot be part of a path",
                         out.node ? out.node : "");
    if (out.seat.dir && out.seat.dir[0] != '/')
        return error_set(err, "%s: not an absolute path", out.seat.dir);
    *args = out;
    return 0;
}
