/* facts.c - gather a step's facts from the environment. srun's side and each
 * node must compute the same facts, because both derive the step's directory
 * from them. */
#include "orchestrator/agent/launch.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"

/* Variables set by srun options that request a container: those of pyxis (SPANK
 * chooses these names) or Slurm's own. A container that a task starts itself is
 * not detected. */
static const char *const signs[] = {
    "_SLURM_SPANK_OPTION_pyxis_container_image",
    "_SLURM_SPANK_OPTION_pyxis_container_name",
    "PYXIS_CONTAINER_IMAGE",
    "PYXIS_CONTAINER_NAME",
    "SLURM_CONTAINER",
    "SLURM_CONTAINER_ID",
};

/* A variable, or the name that older releases of Slurm use for it; NULL:
 * neither is set. */
static const char *env_of(const struct plan_input *in, const char *name,
                          const char *old_name)
{
    const char *value = plan_env(in, name);

    return value ? value : plan_env(in, old_name);
}

/* A variable as a number; absent if it is not set or not a number. */
static uint64_t env_number(const struct plan_input *in, const char *name,
                           uint64_t absent)
{
    const char *text = plan_env(in, name);

    if (text)
        num_parse_u64(text, 0, UINT64_MAX, &absent, NULL);
    return absent;
}

/* The user's name from the password database, so that srun and the nodes agree
 * under any --export. */
static void user_name(const struct plan_input *in, char *buf, size_t len)
{
    const struct passwd *pw = getpwuid(getuid());
    const char *name = pw ? pw->pw_name : env_of(in, "SLURM_JOB_USER", "USER");

    if (name)
        snprintf(buf, len, "%s", name);
    else
        snprintf(buf, len, "%lu", (unsigned long) getuid());
}

/* Whether an option of this srun requests a container. */
static bool is_contained(const struct plan_input *in)
{
    bool found = false;

    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs) && !found; i++)
        found = plan_env(in, signs[i]) != NULL;
    return found;
}

bool facts_is_script(const char *step)
{
    return step && (!strcmp(step, "batch") || !strcmp(step, "interactive"));
}

int facts_enter_script(const char *step, const char *node, struct jp_error *err)
{
    static const char *const ones[] = {"SLURM_STEP_NUM_NODES",
                                       "SLURM_STEP_NUM_TASKS",
                                       "SLURM_STEP_TASKS_PER_NODE"};

    if (!facts_is_script(step))
        return error_set(err, "%s is not a step without srun", step);
    if (setenv("SLURM_STEP_ID", step, 1) < 0 ||
        (node ? setenv("SLURM_STEP_NODELIST", node, 1)
              : unsetenv("SLURM_STEP_NODELIST")) < 0)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++)
        if (setenv(ones[i], "1", 1) < 0)
            return error_set(err, "out of memory");
    return 0;
}

/* The step's id as text, or NULL. */
static const char *step_id(const struct plan_input *in)
{
    const char *step = env_of(in, "SLURM_STEP_ID", "SLURM_STEPID");
    uint64_t ignored;

    return step && (facts_is_script(step) ||
                    num_parse_u64(step, 0, UINT32_MAX, &ignored, NULL) == 0)
               ? step
               : NULL;
}

void facts_get(const struct plan_input *env, struct launch_facts *facts)
{
    const char *job = env_of(env, "SLURM_JOB_ID", "SLURM_JOBID");
    struct pattern_facts *names = &facts->names;

    /* The size comes last: jobshape_complete keeps what the caller has
     * given. */
    facts->env = env;
    names->job_id = 0;
    if (job)
        num_parse_u64(job, 1, UINT32_MAX, &names->job_id, NULL);
    names->step_id = step_id(env);
    names->job_name = plan_env(env, "SLURM_JOB_NAME");
    names->array_job_id = env_number(env, "SLURM_ARRAY_JOB_ID", names->job_id);
    names->array_task_id = env_number(env, "SLURM_ARRAY_TASK_ID", 0);
    user_name(env, facts->user, sizeof(facts->user));
    names->user = facts->user;
    facts->submit_dir = plan_env(env, "SLURM_SUBMIT_DIR");
    facts->submit_host = plan_env(env, "SLURM_SUBMIT_HOST");
    facts->account = plan_env(env, "SLURM_JOB_ACCOUNT");
    facts->partition = plan_env(env, "SLURM_JOB_PARTITION");
    facts->restart = (uint32_t) env_number(env, "SLURM_RESTART_COUNT", 0);
    facts->het = plan_env(env, "SLURM_HET_SIZE") != NULL;
    facts->contained = is_contained(env);
    facts->size.nnodes = facts->nnodes;
    facts->size.ntasks = facts->ntasks;
    jobshape_complete(env, &facts->size);
}
