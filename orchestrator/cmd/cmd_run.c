/* cmd_run.c - `jobprof-node run`: what runs beside a node's tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/agent/guard.h"
#include "orchestrator/agent/supervise.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/collect/stepdir.h"

/* srun has given us an environment of next to nothing. */
static void add_path(void)
{
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
}

struct work {
    const struct backend_runner *runner;
    const char *dir, *node;
};

static int say(const char *node, const struct jp_error *err)
{
    fprintf(stderr, "%s: %s\n", node, err->text);
    return JP_EXIT_IO;
}

static int run(void *arg)
{
    const struct work *work = arg;
    struct jp_error err;

    if (supervise(work->runner, work->dir, work->node, &err) == 0)
        return JP_EXIT_OK;
    return say(work->node, &err);
}

int cmd_run(int argc, char **argv)
{
    const struct backend *copper = backend_find("copper");
    struct work work = {.node = getenv("SLURMD_NODENAME")};
    struct jp_error err;
    int rc;

    if (argc != 3 || strcmp(argv[1], "--dir") != 0 || argv[2][0] != '/' ||
        !stepdir_name_ok(work.node) || !copper || !copper->runner) {
        fprintf(stderr, "run: bad arguments, or not a task of Slurm's\n");
        return JP_EXIT_USAGE;
    }
    add_path();
    if (stepdir_check_own(argv[2], &err) < 0)
        return say(work.node, &err);
    work.runner = copper->runner;
    work.dir = argv[2];
    rc = guard(work.runner, work.dir, work.node, run, &work, &err);
    return rc < 0 ? say(work.node, &err) : rc;
}
