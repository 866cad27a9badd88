/* locate.c - compute, join or make the step directory on a node. */
#include "orchestrator/agent/locate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/agent/resolve.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/slurmjob.h"

/* The module takes no answer that comes after 2 s. */
#define JOIN_WAIT_MS 1500
#define JOIN_POLL_MS 20

/* The user's variables as srun's side saw them: --export may have changed what
 * the tasks get. */
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

static bool has_conf(const char *dir)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    bool there = path && access(path, R_OK) == 0;

    free(path);
    return there;
}

/* Nobody has made the directory and nobody else will: this node does. */
static int resolve_here(const struct plan_input *plan,
                        const struct jp_locate *settings, char **dir,
                        struct jp_error *err)
{
    struct resolve_input in = {.plan = *plan, .nnodes = settings->nodes};
    struct resolve_answer answer = {0};
    uint64_t tasks = 0;

    num_parse_u64(getenv("SLURM_STEP_NUM_TASKS"), 0, UINT32_MAX, &tasks, NULL);
    in.ntasks = (uint32_t) tasks;
    if (resolve_step(&in, &answer, err) < 0)
        return -1;
    *dir = answer.dir;
    answer.dir = NULL;
    resolve_answer_fini(&answer);
    return 0;
}

static int wait_for_conf(const char *dir, uint64_t end_ms, struct jp_error *err)
{
    while (!has_conf(dir)) {
        if (clock_mono_ms() >= end_ms)
            return error_set(err, "%s: no job.conf", dir);
        clock_sleep_ms(JOIN_POLL_MS);
    }
    return 0;
}

int locate_dir(const struct jp_locate *settings, char **dir,
               struct jp_error *err)
{
    struct slurmjob_memo memo = {0};
    /* srun has decided for all components before it launched them */
    bool het = getenv("SLURM_HET_SIZE") != NULL, hidden = false;
    const struct plan_input plan = {.config = settings->config,
                                    .default_mode = settings->default_mode,
                                    .nccl = settings->nccl,
                                    .copper = settings->copper,
                                    .env = node_env,
                                    .ask = slurmjob_ask,
                                    .ask_arg = &memo,
                                    .settled = het};
    uint64_t end_ms = clock_mono_ms() + JOIN_WAIT_MS;
    char *found = NULL;

    if (resolve_dir(&plan, &found, &hidden, err) < 0)
        return -1;
    if (found && !has_conf(found)) {
        if (settings->nodeid == 0 && !het) {
            free(found);
            return resolve_here(&plan, settings, dir, err);
        }
        if (het && hidden) { /* the default is not for this job */
            free(found);
            found = NULL;
        } else if (wait_for_conf(found, end_ms, err) < 0) {
            free(found);
            return -1;
        }
    }
    *dir = found;
    return 0;
}
