/* begin.c - make a node's folders, token and record; then its topology. */
#include "orchestrator/agent/begin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "orchestrator/agent/cleanup.h"
#include "orchestrator/agent/container.h"
#include "orchestrator/agent/pairs.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/agent/topofile.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/noderec.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/collect/stepdir.h"

/* A client's cache may say "not there" of what srun has just written. */
#define CONF_WAIT_MS 200
/* Drivers may hang hwloc; no step is served by a topology this late. */
#define LINGER_S 120

static int check_hash(const char *path, struct jp_error *err)
{
    const char *wanted = getenv("SLURM_JOBPROF_HASH");
    char hash[17];

    if (!wanted || !*wanted)
        return 0;
    if (jobconf_hash(path, hash, err) < 0)
        return -1;
    if (strcmp(hash, wanted) != 0)
        return error_set(err, "%s: not the one that srun wrote", path);
    return 0;
}

static int read_conf(const char *dir, struct jp_jobconf *conf,
                     struct jp_error *err)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    for (int waited = 0;; waited += 20) {
        rc = access(path, R_OK) < 0 && errno == ENOENT ? -1 : 0;
        if (rc == 0 || waited >= CONF_WAIT_MS)
            break;
        clock_sleep_ms(20);
    }
    rc = check_hash(path, err);
    if (rc == 0)
        rc = jobconf_read(path, conf, err);
    free(path);
    return rc;
}

/* This node stays out of the step: nobody is to wait for it. Its finish still
 * comes and counts: here a watcher would end with the tasks. */
static void step_aside(const struct jp_seat *seat, const char *node,
                       const struct jp_error *why)
{
    struct jp_seat uncounted = *seat;
    enum jp_lastout out;

    uncounted.nodes = UINT32_MAX; /* never all: no alldone/ */
    stepdir_log(seat->dir, "%s runs unprofiled: %s", node, why->text);
    lastout_leave(&uncounted, &out, NULL);
}

static void free_var(struct jp_envvar *var)
{
    free(var->name);
    free(var->value);
    free(var->reason);
}

/* Where the node's own mark says that Copper is; where it is not mounted, the
 * tasks are not told that it is. */
static void tell_mount(const char *dir, const char *node,
                       struct jp_jobconf *conf)
{
    char *place = runmark_text(dir, node, RUNMARK_READY);
    size_t kept = 0;

    for (size_t i = 0; i < conf->n_env; i++) {
        struct jp_envvar *var = &conf->env[i];

        if (strcmp(var->name, JP_COPPER_MOUNT) != 0) {
            conf->env[kept++] = *var;
        } else if (place && *place == '/') {
            free(var->value);
            var->value = place;
            place = NULL;
            conf->env[kept++] = *var;
        } else {
            free_var(var);
        }
    }
    conf->n_env = kept;
    free(place);
}

/* What it lacks the report says, too. */
static int check_plugin(const char *dir, const char *node,
                        const struct jp_jobconf *conf, struct jp_error *err)
{
    char *path = fileio_path("%s/nodes/%s/" JP_NODES_UNPROFILED, dir, node);
    int rc = pairs_check_plugin(conf, err);

    if (rc < 0 && path)
        fileio_write(path, err->text, strlen(err->text), NULL);
    free(path);
    return rc;
}

static int join(const struct jp_seat *seat, const char *node,
                struct jp_jobconf *conf, char **pairs, struct jp_error *err)
{
    char *text = NULL;

    if (check_plugin(seat->dir, node, conf, err) < 0 ||
        container_apply(conf, seat->dir, node, err) < 0 ||
        !(text = pairs_format(conf, node, err)) ||
        lastout_enter(seat, err) < 0 || noderec_write(seat, node, err) < 0) {
        free(text);
        return -1;
    }
    *pairs = text;
    return 0;
}

int begin_join(const struct jp_seat *seat, const char *node, char **pairs,
               struct jp_error *err)
{
    struct jp_jobconf conf = {0};
    int rc = -1;

    if (stepdir_check_own(seat->dir, err) < 0)
        return -1;
    if (lastout_is_reported(seat->dir))
        return error_set(err, "%s: this step is reported already", seat->dir);
    if (read_conf(seat->dir, &conf, err) < 0)
        return -1;
    if (stepdir_prepare(seat->dir, node, err) < 0)
        goto out;
    tell_mount(seat->dir, node, &conf);
    rc = join(seat, node, &conf, pairs, err);
    if (rc < 0)
        step_aside(seat, node, err);
out:
    jobconf_fini(&conf);
    return rc;
}

void begin_linger(const char *dir, const char *node, const char *config)
{
    char *job_dir = stepdir_job_dir(dir);
    struct jp_error err = {""};

    alarm(LINGER_S);
    if (job_dir && topofile_make(job_dir, node, config, &err) < 0)
        stepdir_log(dir, "no hardware.json of %s: %s", node, err.text);
    else if (job_dir && err.text[0])
        stepdir_log(dir, "topology of %s: %s", node, err.text);
    free(job_dir);
}
