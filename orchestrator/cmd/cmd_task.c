/* cmd_task.c - `jobprof-node task`: record what a task can see before it
 * starts. */
#include <unistd.h>

#include "orchestrator/agent/start.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/node_args.h"
#include "orchestrator/collect/stepdir.h"

/* The calling process becomes the task. */
int cmd_task(int argc, char **argv)
{
    struct node_args args;
    struct jp_error err;

    if (node_args_parse(argc, argv, &args, &err) < 0 || !args.seat.dir ||
        stepdir_check_own(args.seat.dir, &err) < 0)
        return JP_EXIT_USAGE;
    if (start_write(&args.seat, args.node, getppid(), "/dev", &err) == 0)
        return JP_EXIT_OK;
    stepdir_log(args.seat.dir, "%s: no start record: %s", args.node, err.text);
    return JP_EXIT_IO;
}
