/* resolve_check.c - refuse at once what can never fit. */
#include "orchestrator/agent/resolve.h"

#include <string.h>

#include "common/defaults.h"

/* Before the allocation nothing is known of the step: what an outer one has
 * left in the environment is not its. */
static const char *outside_env(void *arg, const char *name)
{
    const struct plan_input *in = arg;

    return strncmp(name, "SLURM_", 6) ? plan_env(in, name) : NULL;
}

int resolve_check(const struct plan_input *in, struct jp_error *err)
{
    struct plan_input outside = *in;
    struct backend_input input = {.step_dir = "/"};
    struct backend_forecast forecast = {0};
    const struct backend *backend;
    struct jp_plan plan;
    const char *mode;
    int rc = 0;

    outside.env = outside_env;
    outside.env_arg = (void *) in;
    if (plan_make(&outside, &plan, NULL) < 0)
        return 0; /* trouble in files is said when the step runs */
    mode = plan.nccl.grammar->modes[plan.nccl.mode].name;
    backend = resolve_is_profiled(&plan)
                  ? backend_find(strcmp(mode, "auto") ? mode : JP_DEF_NCCL_AUTO)
                  : NULL;
    if (backend && backend->planner && backend->planner->size &&
        !backend->planner->fallback) {
        input.side = &plan.nccl;
        jobshape_get(&outside, &plan, "", NULL, 0, 0, &input.shape);
        rc = backend->planner->size(&input, &forecast, err);
    }
    plan_fini(&plan);
    return rc;
}
