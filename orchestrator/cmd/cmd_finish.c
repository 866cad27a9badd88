/* cmd_finish.c - `jobprof-node finish`: a node leaves the step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/agent/confine.h"
#include "orchestrator/agent/finish.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/node_args.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/backend.h"

static int is_late(void *deadline_ms, uint64_t done, uint64_t total)
{
    (void) done;
    (void) total;
    return clock_mono_ms() > *(const uint64_t *) deadline_ms;
}

/* A function of type finish_partial. */
static int make_partial(const struct finish_node *of, struct jp_error *err)
{
    uint64_t deadline_ms = of->deadline_ms;
    const struct jp_aggregate_options options = {.progress = is_late,
                                                 .progress_arg = &deadline_ms,
                                                 .processes = of->processes};
    char *raw = fileio_path("%s/raw/%s", of->seat->dir, of->node);
    char *path =
        fileio_path("%s/nodes/%s/partial.jpp", of->seat->dir, of->node);
    uint64_t ms = 0;
    int rc = -1;

    if (!raw || !path)
        error_set(err, "out of memory");
    else if (!stepdir_is_folder(raw) || !(ms = partial_estimate_ms(raw)))
        rc = 0;
    else if (clock_mono_ms() + ms > deadline_ms)
        error_set(err, "reading its files takes about %" PRIu64 " ms", ms);
    else
        rc = partial_make(raw, path, &options, err) < 0 ? -1 : 0;
    free(raw);
    free(path);
    return rc;
}

/* Cleans up after Copper if Slurm has killed all of its supervisor's processes.
 * Runs after the records are written, because a file system that hangs may
 * delay it. */
static void sweep(const char *dir, const char *node, const char *hash)
{
    const struct backend *copper = backend_find("copper");
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    const struct backend_runner *runner;
    struct jp_jobconf conf = {0};

    if (path && copper && runmark_is_set(dir, node, RUNMARK_READY) &&
        !runmark_is_set(dir, node, RUNMARK_DONE) &&
        jobconf_read_pinned(path, hash, &conf, NULL) == 0) {
        runner = backend_runner_of(copper->runner, &conf);
        if (runner->sweep && runner->sweep(&conf, dir, node)) {
            stepdir_log(dir, "%s: Copper was killed with its supervisor", node);
            runmark_set(dir, node, RUNMARK_DONE, "", NULL);
        }
        jobconf_fini(&conf);
    }
    free(path);
}

int cmd_finish(int argc, char **argv)
{
    struct node_args args;
    struct finish finish;
    struct jp_error err;

    prctl(PR_SET_DUMPABLE, 0); /* prevents tracing: it may be outside of the
                                * job's cgroups */
    confine_self(CONFINE_FINISH, NULL, NULL);
    if (node_args_parse(argc, argv, &args, &err) < 0 ||
        (!args.seat.dir && error_set(&err, "--dir is missing") < 0) ||
        stepdir_check_own(args.seat.dir, &err) < 0) {
        quote_printf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    finish = (struct finish){.seat = &args.seat,
                             .node = args.node,
                             .tasks = stdin,
                             .partial = make_partial,
                             .hash = args.hash,
                             .site = args.config};
    if (finish_leave(&finish, &err) < 0) {
        quote_printf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_IO;
    }
    sweep(args.seat.dir, args.node, args.hash);
    return JP_EXIT_OK;
}
