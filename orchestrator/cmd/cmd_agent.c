/* cmd_agent.c - `jobprof-node agent`, which begin becomes after it has
 * answered. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/num.h"
#include "common/onhang.h"
#include "common/plan.h"
#include "common/profiler.h"
#include "common/quote.h"
#include "orchestrator/agent/confine.h"
#include "orchestrator/agent/nodeagent.h"
#include "orchestrator/live/livekeep.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/node_args.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/topo/nvml.h"

#define MIN_PERIOD_MS 100

static void log_line(void *arg, const char *line)
{
    stepdir_log(arg, "%s", line);
}

/* Finds the step by the tasks' environment. */
static int find_step(struct module_place *place, struct jp_error *err)
{
    place->step = getenv("SLURM_STEP_ID");
    if (!place->step || !*place->step)
        return error_set(err, "no SLURM_STEP_ID");
    return num_parse_u64(getenv("SLURM_JOB_ID"), 1, UINT32_MAX, &place->job,
                         err);
}

/* The site's metrics settings, and the step from conf. */
struct metrics {
    struct module_metrics site;
    struct jp_jobconf conf; /* borrowed by site */
    char job[24];
};

static void take_metrics(const struct jp_sitefile *file, struct metrics *m,
                         struct module_place *place)
{
    struct jp_site_metrics site;

    sitefile_metrics(file, &site);
    if (!site.folder)
        return;
    snprintf(m->job, sizeof(m->job), "%" PRIu64, m->conf.job_id);
    m->site = (struct module_metrics){.folder = site.folder,
                                      .period_ms = site.interval_ms,
                                      .series = site.series,
                                      .job = m->job,
                                      .step = m->conf.step_id,
                                      .user = m->conf.user,
                                      .account = m->conf.account,
                                      .partition = m->conf.partition};
    place->metrics = &m->site;
}

/* Sets what the profiler's files show while they grow. */
static void find_profiler(const struct jp_jobconf *conf,
                          struct module_place *place)
{
    const struct jp_profiler *profiler = profiler_get(conf->nccl_mode);
    const char *interval = jobconf_find(conf, "interval");

    place->tells_live = profiler->tells_live;
    if (!profiler->tells_ended)
        return;
    place->profiler = profiler->name;
    if (!interval ||
        num_parse_time_us(interval, 0, UINT64_MAX, &place->batch_us, NULL) < 0)
        place->batch_us = 0;
}

/* Reads the settings of hang detection. Without job.conf it is off. */
static void read_conf(const struct node_args *args,
                      const struct jp_sitefile *site,
                      struct module_place *place, struct jp_onhang *on_hang,
                      struct metrics *metrics)
{
    const char *hash = getenv("SLURM_JOBPROF_HASH"), *what;
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, args->seat.dir);
    struct jp_jobconf conf;

    place->conf_hash = hash ? hash : "";
    if (path && jobconf_read_pinned(path, hash, &conf, NULL) == 0) {
        ceiling_apply(&conf.policy, NULL); /* the user can write to job.conf */
        what = jobconf_find(&conf, "on_hang");
        find_profiler(&conf, place);
        place->leads = conf.job_id == args->seat.component &&
                       args->seat.nodeid == 0;
        place->hang_suspect_ms = conf.policy.hang_suspect_ms;
        /* ignores an unknown word of another release: the hang is reported
         * only */
        if (what)
            (void) onhang_parse(what, jobconf_find(&conf, "after"), on_hang,
                                NULL);
        metrics->conf = conf;
        take_metrics(site, metrics, place);
    }
    free(path);
}

/* Lists the step's nodes for modules that talk to other nodes. If Slurm does
 * not name them, there are none. */
static void find_nodes(struct module_place *place, char ***names)
{
    struct jp_error err;

    if (nodelist_expand(getenv("SLURM_STEP_NODELIST") ?: "", names,
                        &place->n_nodes, &err) < 0)
        place->n_nodes = 0;
    place->nodes = (const char *const *) *names;
}

/* Reads all that begin has left on standard input. */
static bool read_clocks(struct clock_conf *clock)
{
    bool whole = read(STDIN_FILENO, clock, sizeof(*clock)) == sizeof(*clock);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
    return whole && !clock->interfaces[CLOCK_NAMES_BYTES - 1];
}

static int run(const struct node_args *args, struct jp_error *err)
{
    struct nodeagent agent = {.modules = nodeagent_modules};
    struct module_place *place = &agent.place;
    const struct sitefile_value *named;
    struct jp_sitefile site = {0};
    struct jp_onhang on_hang = {.kind = ONHANG_REPORT};
    static struct module_shared shared;
    char **nodes = NULL;
    struct metrics metrics = {.conf = {.schema = 0}};
    struct clock_conf clock;
    int rc;

    if (args->clocks && read_clocks(&clock))
        place->clock = &clock;
    if (stepdir_check_own(args->seat.dir, err) < 0 || find_step(place, err) < 0)
        return -1;
    (void) plan_load_site(args->config, &site, NULL);
    named = sitefile_find(&site, "nvml_library");
    place->dir = args->seat.dir;
    place->node = args->node;
    place->root = "";
    place->uid = getuid();
    place->nvml_library = named ? named->value : JP_NVML_LIBRARY;
    named = sitefile_find(&site, "rsmi_library");
    place->rsmi_library = named ? named->value : NULL;
    place->gpus = getenv("SLURM_STEP_GPUS") ?: getenv("SLURM_JOB_GPUS");
    place->period_ms = args->util_period_ms;
    if (place->period_ms && place->period_ms < MIN_PERIOD_MS)
        place->period_ms = MIN_PERIOD_MS;
    place->disk_bytes = (uint64_t) args->util_disk_mib << 20;
    place->log = log_line;
    place->log_arg = (void *) args->seat.dir;
    place->nodeid = args->seat.nodeid;
    place->step_nodes = args->seat.nodes;
    place->component = args->seat.component;
    place->on_hang = &on_hang;
    place->shared = &shared;
    place->take_evidence = livekeep_start;
    read_conf(args, &site, place, &on_hang, &metrics);
    find_nodes(place, &nodes);
    rc = nodeagent_run(&agent, err);
    nodelist_free(nodes, place->n_nodes);
    jobconf_fini(&metrics.conf);
    sitefile_fini(&site);
    return rc;
}

int cmd_agent(int argc, char **argv)
{
    struct node_args args;
    struct jp_error err;

    confine_self(CONFINE_AGENT, NULL, NULL);
    if (node_args_parse(argc, argv, &args, &err) < 0 || !args.seat.dir ||
        !args.util_disk_mib) {
        quote_printf(stderr, "agent: bad arguments\n");
        return JP_EXIT_USAGE;
    }
    if (run(&args, &err) == 0)
        return JP_EXIT_OK;
    stepdir_log(args.seat.dir, "%s: no agent: %s", args.node, err.text);
    return JP_EXIT_IO;
}
