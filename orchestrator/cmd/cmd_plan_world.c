/* cmd_plan_world.c - stand in for the facts of a step that is not there. */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

#define MIB (UINT64_C(1) << 20)

int plan_world_init(struct plan_world *world, uint64_t memory_bytes,
                    bool shaped, struct jp_error *err)
{
    const char *submit = getenv("SLURM_SUBMIT_DIR");
    struct plan_world w = {.shaped = shaped};

    if (memory_bytes)
        snprintf(w.memory_mib, sizeof(w.memory_mib), "%llu",
                 (unsigned long long) (memory_bytes / MIB));
    w.submit_dir = submit && *submit == '/' ? strdup(submit) : getcwd(NULL, 0);
    if (!w.submit_dir)
        return error_set(err, "the working directory cannot be found");
    *world = w;
    return 0;
}

void plan_world_fini(struct plan_world *world)
{
    free(world->submit_dir);
    *world = (struct plan_world){0};
}

static const char *env_or(const char *name, const char *absent)
{
    const char *value = getenv(name);

    return value && *value ? value : absent;
}

const char *plan_world_env(void *arg, const char *name)
{
    const struct plan_world *world = arg;

    if (*world->memory_mib && !strncmp(name, "SLURM_MEM_PER_", 14))
        return strcmp(name, "SLURM_MEM_PER_NODE") ? NULL : world->memory_mib;
    if (world->shaped && !strncmp(name, "SLURM_", 6) &&
        strstr(name, "TASKS_PER_NODE"))
        return NULL;
    if (!strcmp(name, "SLURM_SUBMIT_DIR"))
        return world->submit_dir;
    /* the ids reach nothing that a plan shows: its directory is a pattern */
    if (!strcmp(name, "SLURM_JOB_ID"))
        return env_or(name, "1");
    if (!strcmp(name, "SLURM_STEP_ID"))
        return "0";
    return getenv(name);
}

char *plan_world_dir(const struct plan_world *world, const char *pattern,
                     struct jp_error *err)
{
    size_t n = strlen(pattern);
    char *dir;

    while (n > 1 && pattern[n - 1] == '/')
        n--;
    dir = fileio_path("%s%s%.*s%s/step-%%s",
                      *pattern == '/' ? "" : world->submit_dir,
                      *pattern == '/' ? "" : "/", (int) n, pattern,
                      resolve_names_job(pattern) ? "" : "-%j");
    if (!dir)
        error_set(err, "out of memory");
    return dir;
}
