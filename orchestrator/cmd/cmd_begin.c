/* cmd_begin.c - `jobprof-node begin`: a node joins the step, then lingers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/quote.h"
#include "orchestrator/agent/begin.h"
#include "orchestrator/agent/cleanup.h"
#include "orchestrator/agent/confine.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/node_args.h"
#include "orchestrator/collect/stepdir.h"

#define LINGER_NICE 10 /* the tasks start at the same time */

static int find_dir(const struct node_args *args, char **dir,
                    struct jp_error *err)
{
    const struct begin_settings settings = {.config = args->config,
                                            .default_mode = args->default_mode,
                                            .nccl = args->nccl,
                                            .copper = args->copper,
                                            .util = args->util,
                                            .clock = args->clock,
                                            .nsys = args->nsys,
                                            .nodeid = args->seat.nodeid,
                                            .nodes = args->seat.nodes};

    if (!args->seat.dir)
        return begin_locate(&settings, dir, err);
    *dir = strdup(args->seat.dir);
    return *dir ? 0 : error_set(err, "out of memory");
}

/* Redirects the standard streams to /dev/null, because the SPANK module reads
 * until the end of the file. */
static int hang_up(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int rc = fflush(stdout) == 0 && fd >= 0 ? 0 : -1;

    for (int i = 0; fd >= 0 && i < 3; i++)
        if (dup2(fd, i) < 0)
            rc = -1;
    return rc;
}

/* Without srun, no process has defined the step's job.conf. Uses the one that
 * exists before the node's tasks start. */
static void pin(const char *dir)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    char hash[SHA256_HEX];

    if (!getenv("SLURM_JOBPROF_HASH") && path &&
        jobconf_hash(path, hash, NULL) == 0)
        setenv("SLURM_JOBPROF_HASH", hash, 1);
    free(path);
}

static int join(struct node_args *args, char **pairs, struct begin_told *told,
                struct jp_error *err)
{
    char *dir = NULL;

    if (find_dir(args, &dir, err) < 0)
        return -1;
    args->seat.dir = dir; /* not freed: needed until the process ends */
    if (dir) {
        pin(dir);
        return begin_join(&args->seat, args->node, pairs, told, err);
    }
    *pairs = strdup(".\n");
    return *pairs ? 0 : error_set(err, "out of memory");
}

/* Whether the user asked for a profile. A site default never prints
 * messages. */
static bool is_asked(const struct node_args *args)
{
    const char *env = getenv("SLURM_JOBPROF_NCCL");

    return !args->default_mode || args->nccl || args->copper || args->util ||
           args->clock || args->nsys || (env && *env);
}

/* Passes the clock settings to the agent's standard input. They contain a key,
 * which must not be an argument that other users can read. */
static bool tell_clocks(const struct clock_conf *clock)
{
    int ends[2];
    bool told = false;

    if (!clock->cadence_us || pipe2(ends, O_CLOEXEC) < 0)
        return false;
    told = write(ends[1], clock, sizeof(*clock)) == sizeof(*clock) &&
           dup2(ends[0], STDIN_FILENO) == STDIN_FILENO;
    close(ends[0]);
    close(ends[1]);
    return told;
}

/* Turns this process into the agent. When the step exits, the module ends the
 * agent and its whole process group. Returns only if exec fails. */
static void become_agent(const struct node_args *args,
                         const struct begin_told *told)
{
    const struct jp_policy *policy = &told->policy;
    char nodeid[12], nodes[12], component[24], period[12], disk[12];
    const char *argv[] = {"jobprof-node",
                          "agent",
                          "--dir",
                          args->seat.dir,
                          "--node",
                          args->node,
                          "--nodeid",
                          nodeid,
                          "--nodes",
                          nodes,
                          "--component",
                          component,
                          "--period",
                          period,
                          "--disk",
                          disk,
                          "--clocks",
                          tell_clocks(&told->clock) ? "1" : "0",
                          args->config ? "--config" : NULL,
                          args->config,
                          NULL};

    snprintf(nodeid, sizeof(nodeid), "%u", args->seat.nodeid);
    snprintf(nodes, sizeof(nodes), "%u", args->seat.nodes);
    snprintf(component, sizeof(component), "%llu",
             (unsigned long long) args->seat.component);
    snprintf(period, sizeof(period), "%u", policy->util_period_ms);
    snprintf(disk, sizeof(disk), "%u", policy->util_disk_mib);
    alarm(0);
    signal(SIGCHLD, SIG_IGN); /* the lingering child is not waited for */
    execv("/proc/self/exe", (char *const *) argv);
    stepdir_log(args->seat.dir, "%s: no agent: %s", args->node,
                strerror(errno));
}

/* Does the remaining work while the tasks run. Drivers may block the hardware
 * queries, so the agent does not wait for them. */
static void stay(const struct node_args *args, const struct begin_told *told)
{
    bool agent = told->policy.util_period_ms || told->clock.cadence_us ||
                 told->policy.hang_suspect_ms;
    pid_t pid = agent ? fork() : 0;

    if (pid > 0)
        become_agent(args, told);
    if (pid > 0) /* the child continues */
        return;
    confine_self(CONFINE_BEGIN, NULL, NULL);
    setpriority(PRIO_PROCESS, 0, LINGER_NICE);
    begin_linger(args->seat.dir, args->node, args->config);
}

int cmd_begin(int argc, char **argv)
{
    struct begin_told told = {0};
    struct node_args args;
    struct jp_error err;
    char *pairs = NULL;
    bool found;
    int rc;

    confine_self(CONFINE_BEGIN, NULL, NULL);
    cleanup_init();
    if (node_args_parse(argc, argv, &args, &err) < 0) {
        quote_printf(stderr, "begin: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    found = !args.seat.dir;
    rc = join(&args, &pairs, &told, &err);
    if (rc < 0 && is_asked(&args))
        quote_printf(stderr, "%s (tasks here run unprofiled)\n", err.text);
    found = found && args.seat.dir;
    if (found) /* finish needs it, even if this node does not take part */
        printf("SLURM_JOBPROF_DIR=%s\nSLURM_JOBPROF_HASH=%s\n", /* raw: pairs */
               args.seat.dir, getenv("SLURM_JOBPROF_HASH") ?: "");
    if (rc == 0 || found)
        fputs(rc == 0 ? pairs : ".\n", stdout);
    free(pairs);
    if (rc < 0) {
        free((char *) args.seat.dir);
        return JP_EXIT_NOT_PROFILED;
    }
    if (hang_up() == 0 && args.seat.dir)
        stay(&args, &told);
    free((char *) args.seat.dir);
    return JP_EXIT_OK;
}
