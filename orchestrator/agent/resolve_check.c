/* resolve_check.c - refuse at once what can never fit. */
#include "orchestrator/agent/resolve.h"

#include <string.h>

#include "common/defaults.h"

/* Only the option and the site file refuse; what is wrong in the environment
 * or in the user's file is one line when the step runs. */
static const char *no_env(void *arg, const char *name)
{
    (void) arg;
    (void) name;
    return NULL;
}

/* Of the nodes only what the site file says is certain: this host is another
 * one. */
static struct jp_jobshape certain_shape(const struct jp_plan *plan)
{
    return (struct jp_jobshape){
        .step_memory_bytes = plan->node_memory_bytes,
        .node.ram_bytes = plan->node_memory_bytes,
        .node.overcommit = plan->node_memory_bytes ? 0 : 1,
        .ram_known = plan->node_memory_bytes > 0,
    };
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

    outside.env = no_env;
    if (plan_make(&outside, &plan, NULL) < 0)
        return 0; /* trouble in files is said when the step runs */
    mode = plan.nccl.grammar->modes[plan.nccl.mode].name;
    backend = resolve_is_profiled(&plan)
                  ? backend_find(strcmp(mode, "auto") ? mode : JP_DEF_NCCL_AUTO)
                  : NULL;
    if (backend && backend->planner && backend->planner->size &&
        !backend->planner->fallback) {
        input.side = &plan.nccl;
        input.shape = certain_shape(&plan);
        rc = backend->planner->size(&input, &forecast, err);
    }
    plan_fini(&plan);
    return rc;
}
