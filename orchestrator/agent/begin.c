/* begin.c - join a profiled step: find its directory and register this node.
 *
 * begin_join is the usual way: srun has named the directory. begin_locate
 * computes it without srun. begin_background describes the hardware while the
 * tasks run, and begin_task describes one task when it starts.
 */
#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/ownproc.h"
#include "common/profiler.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/nodehw.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/noderec.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"

/* How long a node waits for job.conf, and how often it looks. The SPANK module
 * ignores answers that come later than 2 s. */
#define JOIN_WAIT_MS 1500
#define JOIN_POLL_MS 20
/* How long srun's new file may be hidden by a file system client's cache. */
#define CONF_WAIT_MS 200
/* When begin_background is ended by an alarm. Drivers may hang hwloc, and a
 * topology that comes later than this helps no step. */
#define LINGER_S 120

/* --- where srun has named no directory ---------------------------------- */

/* A variable as srun's side saw it (plan_input.env). --export may have changed
 * the variables of the tasks, so the SPANK module has carried copies. */
static const char *node_env(void *arg, const char *name)
{
    const char *carried = NULL;

    (void) arg;
    if (strcmp(name, "JOBPROF_NCCL") == 0)
        carried = getenv("SLURM_JOBPROF_NCCL");
    else if (strcmp(name, "HOME") == 0)
        carried = getenv("SLURM_JOBPROF_HOME");
    return carried ? carried : getenv(name);
}

/* Whether job.conf exists in the step directory and is readable. */
static bool has_conf(const char *dir)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, dir);
    bool there = path && access(path, R_OK) == 0;

    free(path);
    return there;
}

void begin_log_sides(const char *dir, const struct jp_jobconf *conf)
{
    for (enum jp_option i = OPTION_NCCL + 1; dir && i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);
        char *block = NULL, *rest, *line;

        if (side->block)
            side->block(conf, &block, NULL);
        rest = block;
        while ((line = strsep(&rest, "\n")))
            stepdir_log(dir, "%s", line);
        free(block);
    }
}

/* Makes the directory on this node, because no other process will. *dir (owned
 * by the caller) is NULL if only a default requests the profile and the
 * directory cannot be made. */
static int make_here(const struct launch_facts *facts,
                     const struct jp_plan *plan, char **dir,
                     struct jp_error *err)
{
    struct launch launch;

    if (launch_step(facts, plan, &launch, err) < 0)
        return -1;
    begin_log_sides(launch.place.step_dir, &launch.conf);
    *dir = launch.place.step_dir;
    launch.place.step_dir = NULL;
    launch_fini(&launch);
    return 0;
}

/* Waits until node 0 has written job.conf. end_ms: a time of
 * clock_mono_ms(). */
static int wait_for_conf(const char *dir, uint64_t end_ms, struct jp_error *err)
{
    while (!has_conf(dir)) {
        if (clock_mono_ms() >= end_ms)
            return error_set(err, "%s: no job.conf", dir);
        clock_sleep_ms(JOIN_POLL_MS);
    }
    return 0;
}

/* Finds the directory, makes it (node 0), or waits for it (other nodes). *dir
 * is NULL if the step is not profiled. */
static int join_or_make(const struct launch_facts *facts,
                        const struct jp_plan *plan, uint32_t nodeid,
                        uint64_t end_ms, char **dir, struct jp_error *err)
{
    struct launch_place place = {0};
    int rc = 0;

    if (place_find(facts, plan, &place, err) < 0)
        return -1;
    if (!has_conf(place.step_dir)) {
        /* Each component of a heterogeneous job has a node 0, so none of them
         * may make the directory. */
        if (nodeid == 0 && !facts->het) {
            place_fini(&place);
            return make_here(facts, plan, dir, err);
        }
        if (facts->het && place.hidden) {
            /* Without srun's help, a hidden directory that is not there means
             * that the site's default does not apply to this job. */
            free(place.step_dir);
            place.step_dir = NULL;
        } else {
            rc = wait_for_conf(place.step_dir, end_ms, err);
        }
    }
    if (rc == 0) {
        *dir = place.step_dir;
        place.step_dir = NULL;
    }
    place_fini(&place);
    return rc;
}

int begin_locate(const struct begin_settings *settings, char **dir,
                 struct jp_error *err)
{
    struct slurmjob_memo memo = {0};
    struct plan_input in = {.config = settings->config,
                            .default_mode = settings->default_mode,
                            .env = node_env,
                            .ask = slurmjob_ask,
                            .ask_arg = &memo,
                            /* with several components, srun decides for
                             * all before the launch */
                            .settled = getenv("SLURM_HET_SIZE") != NULL};
    uint64_t end_ms = clock_mono_ms() + JOIN_WAIT_MS, tasks = 0;
    struct launch_facts facts = {.nnodes = settings->nodes};
    struct jp_plan plan;
    int rc = 0;

    memcpy(in.given, settings->given, sizeof(in.given));
    if (plan_make(&in, &plan, err) < 0)
        return -1;
    num_parse_u64(getenv("SLURM_STEP_NUM_TASKS"), 0, UINT32_MAX, &tasks, NULL);
    facts.ntasks = (uint32_t) tasks;
    facts_get(&in, &facts);
    if (facts_is_script(facts.names.step_id))
        plan_drop_srun(&plan);
    *dir = NULL;
    if (launch_is_wanted(&facts, &plan))
        rc = join_or_make(&facts, &plan, settings->nodeid, end_ms, dir, err);
    plan_fini(&plan);
    return rc;
}

/* --- join --------------------------------------------------------------- */

/* Reads job.conf if its checksum is the one that srun has passed on. Waits a
 * short time for the file to appear. */
static int read_conf(const char *dir, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, dir);
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    for (int waited = 0;; waited += 20) {
        rc = access(path, R_OK) < 0 && errno == ENOENT ? -1 : 0;
        if (rc == 0 || waited >= CONF_WAIT_MS)
            break;
        clock_sleep_ms(20);
    }
    rc = jobconf_read_pinned(path, getenv("SLURM_JOBPROF_HASH"), conf, err);
    free(path);
    return rc;
}

/* Takes this node out of the step, so that no other node waits for it. finish
 * still runs and counts the node. The node must not start the watcher: it would
 * be killed with the tasks. */
static void step_aside(const struct jp_seat *seat, const char *node,
                       const struct jp_error *why)
{
    char *path =
        text_format("%s/nodes/%s/" JP_NODES_UNPROFILED, seat->dir, node);
    struct jp_seat uncounted = *seat;
    enum barrier_state out;

    uncounted.nodes = UINT32_MAX; /* never reached, so alldone/ is not made */
    if (path)                     /* the report prints the reason, too */
        fileio_write(path, why->text, strlen(why->text), NULL);
    free(path);
    stepdir_log(seat->dir, "%s runs unprofiled: %s", node, why->text);
    barrier_leave(&uncounted, &out, NULL);
}

/* Lets each backend change the variables to what holds on this node. */
static void adapt_sides(const char *dir, const char *node,
                        struct jp_jobconf *conf)
{
    for (size_t i = 0; backend_registry[i]; i++) {
        const struct backend *backend = backend_registry[i];
        char line[512] = "", *ready;

        if (!backend->side || !backend->side->adapt)
            continue;
        ready = backend->runner ? runmark_text(dir, node, RUNMARK_READY) : NULL;
        backend->side->adapt(conf, ready, line, sizeof(line));
        if (*line)
            stepdir_log(dir, "%s: %s", node, line);
        free(ready);
    }
}

/* Registers the node and composes the answer. The order matters: everything
 * that can make the node unprofiled comes before barrier_enter, after which
 * other nodes wait for this one. */
static int register_node(const struct jp_seat *seat, const char *node,
                         struct jp_jobconf *conf, char **pairs,
                         struct jp_error *err)
{
    char *text = NULL;

    if (pairs_check_plugin(conf, err) < 0 ||
        pairs_contain(conf, seat->dir, node, err) < 0 ||
        !(text = pairs_format(conf, node, err)) ||
        barrier_enter(seat, err) < 0 || noderec_write(seat, node, err) < 0 ||
        ownfolder_note(seat->dir, node, conf, getenv("PWD"), err) < 0) {
        free(text);
        return -1;
    }
    *pairs = text;
    return 0;
}

/* Whether hangs can be detected, which needs the profiler's files as they grow.
 */
static bool watches_hangs(const struct jp_jobconf *conf)
{
    const struct jp_profiler *profiler = profiler_get(conf->nccl_mode);
    const char *on_hang = jobconf_find(conf, "on_hang");

    return (profiler->records_live || profiler->records_ended) &&
           (!on_hang || strcmp(on_hang, "off") != 0);
}

int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct begin_told *told, struct jp_error *err)
{
    struct jp_jobconf conf = {0};
    int rc = -1;

    /* The directory may have been replaced since srun created it, and a report
     * that exists already must not be disturbed. */
    if (stepdir_hold(seat->dir, err) < 0)
        return -1;
    if (barrier_is_reported(seat->dir))
        return error_set(err, "%s: this step has its report already",
                         seat->dir);
    if (read_conf(seat->dir, &conf, err) < 0)
        return -1;
    if (stepdir_prepare(seat->dir, node, err) < 0)
        goto out;
    adapt_sides(seat->dir, node, &conf);
    ceiling_apply(&conf.policy, NULL); /* the user can write to job.conf */
    if (!watches_hangs(&conf))
        conf.policy.hang_suspect_ms = 0;
    rc = register_node(seat, node, &conf, pairs, err);
    *told = (struct begin_told){.policy = conf.policy};
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (backend_side(i)->tell)
            backend_side(i)->tell(&conf, &told->modules);
    if (rc < 0)
        step_aside(seat, node, err);
out:
    jobconf_fini(&conf);
    return rc;
}

void begin_background(const char *dir, const char *node, const char *config)
{
    char *job_dir = stepdir_job_dir(dir);
    struct jp_error err = {""};

    alarm(LINGER_S);
    if (job_dir && nodehw_share(job_dir, node, config, &err) < 0)
        stepdir_log(dir, "no hardware.json of %s: %s", node, err.text);
    else if (job_dir && err.text[0])
        stepdir_log(dir, "topology of %s: %s", node, err.text);
    free(job_dir);
}

/* --- describe a task: its process and the GPUs it may use ---------------- */

/* The highest number of a /dev/nvidia<N>, plus 1. */
#define DEVICES_MAX 64
/* A single write of this size keeps the lines of concurrent tasks intact. */
#define LINE_MAX_BYTES 16384

/* Variables that decide which GPUs a program sees, and where NCCL logs. */
static const char *const variables[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "SLURM_STEP_GPUS",      "SLURM_JOB_GPUS",    "SLURM_GPUS_ON_NODE",
    "NCCL_DEBUG",           "NCCL_DEBUG_FILE",   "NCCL_PROFILER_PLUGIN",
};

/* A number in decimal digits; null if it is none. NULL: null. */
static json_t *number_of(const char *text)
{
    int64_t value;

    return num_parse_i64(text, 0, INT64_MAX, &value, NULL) == 0
               ? json_integer((json_int_t) value)
               : json_null();
}

/* A JSON string; null if text is NULL or not UTF-8, which jansson refuses. */
static json_t *text_of(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;

    return json ? json : json_null();
}

/* The number if it is known, otherwise null. */
static json_t *number_or_null(uint64_t value)
{
    return value ? json_integer((json_int_t) value) : json_null();
}

/* What distinguishes the task from a later process with the same id: its start
 * time in ticks after boot; and its PID namespace, because NCCL logs the
 * process id as seen inside the namespace. */
static void name_task(pid_t task, json_t **start, json_t **pid_namespace)
{
    int dir = ownproc_hold("", task);
    char stat[4096] = "";

    if (dir >= 0)
        ownproc_read(dir, "stat", stat, sizeof(stat));
    *start = number_or_null(ownproc_start(stat));
    *pid_namespace = number_or_null(dir >= 0 ? ownproc_namespace(dir) : 0);
    if (dir >= 0)
        close(dir);
}

/* The id of this boot of the kernel; null if it is unknown. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json = json_null();

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) == 0) {
        id[strcspn(id, "\n")] = '\0';
        json = text_of(id);
    }
    free(id);
    return json;
}

/* The CPUs of this process as "0-15,64"; the task has the same ones. null:
 * unknown. */
static json_t *own_cpus(void)
{
    char text[2048] = "";
    size_t used = 0;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return json_null();
    for (int i = 0, end; i < CPU_SETSIZE && used < sizeof(text); i = end + 1) {
        for (end = i; end < CPU_SETSIZE && CPU_ISSET(end, &set); end++)
            ;
        if (end == i)
            continue;
        used += (size_t) snprintf(text + used, sizeof(text) - used,
                                  end - i > 1 ? "%s%d-%d" : "%s%d",
                                  used ? "," : "", i, end - 1);
    }
    return json_string(text);
}

/* Minor numbers of the devices that may be opened. The device cgroup gives
 * access(2) the same answer as open(2). null: there are no devices. */
static json_t *open_devices(const char *dev)
{
    json_t *json = json_array();
    bool any = false;

    for (int i = 0; i < DEVICES_MAX; i++) {
        char *path = text_format("%s/nvidia%d", dev, i);
        struct stat st;

        if (path && stat(path, &st) == 0) {
            any = true;
            if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
                json_array_append_new(json, json_integer(i));
        }
        free(path);
    }
    if (any)
        return json;
    json_decref(json);
    return json_null();
}

/* Composes the task's line (docs/dev/hardware-format.md). */
static json_t *make_task(const struct jp_seat *seat, pid_t task,
                         const char *dev)
{
    json_t *env = json_object(), *start, *pid_namespace;
    struct utsname uts = {0};

    uname(&uts);
    name_task(task, &start, &pid_namespace);
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (getenv(variables[i]))
            json_object_set_new(env, variables[i],
                                text_of(getenv(variables[i])));
    return json_pack(
        "{s:i, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o}",
        "schema", 1, "job", number_of(getenv("SLURM_JOB_ID")), "step",
        number_of(getenv("SLURM_STEP_ID")), "nodeid", (json_int_t) seat->nodeid,
        "procid", number_of(getenv("SLURM_PROCID")), "localid",
        number_of(getenv("SLURM_LOCALID")), "pid", (json_int_t) task, "start",
        start, "pid_ns", pid_namespace, "hostname", text_of(uts.nodename),
        "boot_id", boot_id(), "cpus", own_cpus(), "devices", open_devices(dev),
        "env", env);
}

/* Appends the line and its line break in one write, so that lines of tasks that
 * start at the same time do not mix. The file may be on a shared file system
 * and in a folder of the user: links, FIFOs and devices are refused. */
static int append_line(const char *path, const char *line, struct jp_error *err)
{
    size_t n = strlen(line);
    int fd, rc = 0;

    if (n > LINE_MAX_BYTES)
        return error_set(err, "%s: a line of %zu bytes", path, n);
    fd = ownplace_append(path, err);
    if (fd < 0)
        return -1;
    if (write(fd, line, n) != (ssize_t) n)
        rc = error_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

int begin_task(const struct jp_seat *seat, const char *node, pid_t task,
               const char *dev, struct jp_error *err)
{
    char *path = text_format("%s/nodes/%s/starts.jsonl", seat->dir, node);
    json_t *json = make_task(seat, task, dev);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    char *line = text ? text_format("%s\n", text) : NULL;
    int rc = -1;

    if (path && line)
        rc = append_line(path, line, err);
    else
        error_set(err, "out of memory");
    free(line);
    free(text);
    free(path);
    json_decref(json);
    return rc;
}
