/* cmd_run.c - `jobprof-node run`: run a runner beside a node's tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "orchestrator/agent/supervise.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/collect/stepdir.h"

/* Sets PATH: srun's environment is nearly empty. */
static void add_path(void)
{
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
}

struct work {
    const struct backend_runner *runner;
    struct run_place place;
};

static int say(const char *node, const struct jp_error *err)
{
    quote_printf(stderr, "%s: %s\n", node, err->text);
    return JP_EXIT_IO;
}

static int run(void *arg)
{
    const struct work *work = arg;
    struct jp_error err;

    if (supervise(work->runner, &work->place, &err) == 0)
        return JP_EXIT_OK;
    return say(work->place.node, &err);
}

int cmd_run(int argc, char **argv)
{
    const struct backend *copper = backend_find("copper");
    const char *node = getenv("SLURMD_NODENAME");
    struct work work = {0};
    struct jp_error err;
    int rc;

    if ((argc != 3 && (argc != 5 || strcmp(argv[3], "--hash") != 0)) ||
        strcmp(argv[1], "--dir") != 0 || argv[2][0] != '/' ||
        !stepdir_name_ok(node) || !copper || !copper->runner) {
        fprintf(stderr, "run: bad arguments, or not a task of Slurm's\n");
        return JP_EXIT_USAGE;
    }
    add_path();
    if (stepdir_check_own(argv[2], &err) < 0)
        return say(node, &err);
    work.runner = copper->runner;
    work.place = (struct run_place){argv[2], node, argc == 5 ? argv[4] : NULL};
    rc = supervise_guard(work.runner, &work.place, run, &work, &err);
    return rc < 0 ? say(node, &err) : rc;
}
