/* cmd_record.c - `jobprof record off|on`: switch the recording of a running
 * step off for a while, and on again.
 *
 * Each folder of a node's recordings gets a file record.off, or loses it. The
 * recorders look for it every 100 ms (rec_pause.c). NCCL's own way, RAS'
 * CONTROL PROFILER_MASK of 2.31, is not used. It sets one mask for all events
 * and all later communicators, so `on` had to know what each process had asked
 * for, and what is left out meanwhile is not counted. Any user of the node can
 * listen where RAS does, and there is no such port with NCCL_RAS_ENABLE=0. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/nccl_recorder/jpr.h"

struct arguments {
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "print only what failed", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "record",
    .about =
        "usage: jobprof record off|on [options] DIR|JOBID[.STEP]\n\n"
        "Switch the recorder of a running step off, or on again, without "
        "stopping the step: on all of its nodes, in all of its processes, "
        "within 100 ms. Operations that begin meanwhile are counted and not "
        "recorded. The report says from when to when. It has no effect on "
        "NCCL Inspector and on recordings that are written to a folder of "
        "each node.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 4 the step has ended or has no folder "
           "of recordings, 5 a file could not be created or removed.\n",
    .least = 2,
    .most = 2,
    .need = "takes off or on, and one DIR or JOBID[.STEP]",
};

/* Creates or removes the file in one node's folder. Returns 0 or -1. */
static int set_node(const char *raw, const char *node, bool off,
                    struct jp_error *err)
{
    char *path = text_format("%s/%s/" JPR_PAUSE_FILE, raw, node);
    int rc = 0, fd;

    if (!path)
        return error_set(err, "no memory");
    if (off) {
        fd = ownplace_create(path, err);
        rc = fd < 0 && errno != EEXIST ? -1 : 0;
        if (fd >= 0)
            close(fd);
    } else if (ownplace_unlink(path) < 0 && errno != ENOENT) {
        rc = error_set(err, "%s: %s", path, strerror(errno));
    }
    free(path);
    return rc;
}

/* The same for all nodes of a step. Returns their number, or -1. */
static long set_step(const char *dir, bool off, struct jp_error *err)
{
    char *raw = text_format("%s/raw", dir);
    DIR *folder = raw ? ownplace_opendir(raw) : NULL;
    struct dirent *entry;
    long n = 0;

    while (n >= 0 && folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.' || !stepdir_name_ok(entry->d_name))
            continue;
        n = set_node(raw, entry->d_name, off, err) < 0 ? -1 : n + 1;
    }
    if (folder)
        closedir(folder);
    free(raw);
    return n;
}

/* Whether all nodes have left the step, or its report is there. */
static bool has_ended(const char *dir)
{
    return stepdir_has(dir, "alldone") || barrier_is_reported(dir);
}

int cmd_record(int argc, char **argv)
{
    struct arguments a = {0};
    struct jp_error err = {""};
    char **dirs = NULL;
    size_t n = 0, ended = 0;
    long nodes = 0;
    int rc = cmd_options_parse(&command_line, argc, argv, &a);
    bool off;

    if (rc >= 0)
        return rc;
    off = !strcmp(argv[optind], "off");
    if (!off && strcmp(argv[optind], "on") != 0)
        return cmd_options_usage(&command_line, "the first word is off or on");
    if (cmd_inputs_steps(argv[optind + 1], a.common.config, &dirs, &n, &err) <
        0)
        return cmd_args_fail("record", JP_EXIT_NODATA, &err);
    for (size_t i = 0; i < n && nodes >= 0; i++) {
        long here = has_ended(dirs[i]) ? 0 : set_step(dirs[i], off, &err);

        ended += has_ended(dirs[i]);
        nodes = here < 0 ? -1 : nodes + here;
    }
    nodelist_free(dirs, n);
    if (nodes < 0)
        return cmd_args_fail("record", JP_EXIT_IO, &err);
    if (nodes == 0) {
        error_set(&err, "%s: %s", argv[optind + 1],
                  n && ended == n
                      ? "has ended, and nothing records any more"
                      : "no node has a folder of recordings (raw/)");
        return cmd_args_fail("record", JP_EXIT_NODATA, &err);
    }
    if (!a.common.quiet)
        quote_printf(stderr, "jobprof: recording is %s on %ld node%s\n",
                     off ? "off" : "on", nodes, nodes == 1 ? "" : "s");
    return JP_EXIT_OK;
}
