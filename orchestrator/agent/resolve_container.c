/* resolve_container.c - what job.conf says about the tasks' containers. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "orchestrator/agent/resolve.h"

/* Set by an option of srun's that asks for a container, pyxis' (SPANK gives
 * options these names) or Slurm's own. What a task itself starts is not known
 * before it does so. */
static const char *const signs[] = {
    "_SLURM_SPANK_OPTION_pyxis_container_image",
    "_SLURM_SPANK_OPTION_pyxis_container_name",
    "PYXIS_CONTAINER_IMAGE",
    "PYXIS_CONTAINER_NAME",
    "SLURM_CONTAINER",
};

static bool is_contained(const struct plan_input *in,
                         const struct jp_plan *plan)
{
    bool found = plan->container_steps && !strcmp(plan->container_steps, "all");

    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs) && !found; i++)
        found = plan_env(in, signs[i]) != NULL;
    return found;
}

int resolve_container(const struct resolve_input *in,
                      const struct jp_plan *plan, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const char *binds = plan->container_binds;
    const char *paths = plan->container_paths;

    if (!is_contained(&in->plan, plan))
        paths = NULL;
    conf->container_binds = strdup(binds ? binds : "");
    conf->container_paths = strdup(paths ? paths : "");
    return conf->container_binds && conf->container_paths
               ? 0
               : error_set(err, "out of memory");
}
