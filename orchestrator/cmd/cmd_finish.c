/* cmd_finish.c - `jobprof-node finish`: a node leaves. */
#include <stdio.h>

#include "orchestrator/agent/finish.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/node_args.h"

int cmd_finish(int argc, char **argv)
{
    struct node_args args;
    struct jp_error err;

    if (node_args_parse(argc, argv, &args, &err) < 0 ||
        (!args.seat.dir && error_set(&err, "--dir is needed") < 0)) {
        fprintf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    if (finish_leave(&args.seat, args.node, stdin, &err) < 0) {
        fprintf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_IO;
    }
    return JP_EXIT_OK;
}
