/* doctor_forecast.c - would memory and disk do for a profile of N ranks? */
#include "orchestrator/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "orchestrator/agent/plan_view.h"

static void check_memory(struct doctor *d, const struct plan_view *view)
{
    const struct jp_jobshape *shape = &view->shape;
    uint64_t one = view->forecast.memory_bytes;
    uint64_t all = plan_view_node(view, one);
    uint64_t room = shape->step_memory_bytes;
    bool tight = room && all > room / JP_STEP_MEMORY_PARTS;

    if (!one)
        doctor_add(d, DOCTOR_SKIP, "memory", "", "%s: not known",
                   profiler_title(view->runs));
    else
        doctor_add(d, tight ? DOCTOR_WARN : DOCTOR_OK, "memory",
                   tight ? "jobprof plan tells which settings need it" : "",
                   "%s: %s of a rank, %s of the %u on a node%s%s",
                   profiler_title(view->runs), FIG_BYTES(one), FIG_BYTES(all),
                   jobshape_ranks(shape), room ? ", of " : "",
                   room ? FIG_BYTES(room) : "");
}

static void check_disk(struct doctor *d, const struct plan_view *view)
{
    uint64_t one = view->forecast.disk_bytes;
    bool full = plan_view_is_full(view);

    if (!one)
        doctor_add(d, DOCTOR_SKIP, "disk", "", "%s: not known",
                   profiler_title(view->runs));
    else
        doctor_add(d, full ? DOCTOR_WARN : DOCTOR_OK, "disk",
                   full ? "less would be recorded: iterations=, disk=, or "
                          "another dir="
                        : "",
                   "%u ranks write about %s; %s are free", d->options->tasks,
                   FIG_BYTES(plan_view_step(view, one)),
                   view->shape.disk_free_bytes
                       ? FIG_BYTES(view->shape.disk_free_bytes)
                       : "unknown many");
}

/* Lines, the first of them: plan tells them all. */
static void check_warnings(struct doctor *d, const struct plan_view *view)
{
    if (*view->warnings)
        doctor_add(d, DOCTOR_WARN, "plan", "jobprof plan tells all", "%.*s",
                   (int) strcspn(view->warnings, "\n"), view->warnings);
}

static void check_launch(struct doctor *d, const struct launch *launch)
{
    struct plan_view view;
    struct jp_error err;

    if (plan_view_make(launch, &view, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, "plan", "", "%s", err.text);
        return;
    }
    check_memory(d, &view);
    check_disk(d, &view);
    check_warnings(d, &view);
    plan_view_fini(&view);
}

void doctor_forecast(struct doctor *d)
{
    const struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .default_mode = d->default_mode,
        .settled = true};
    struct launch_facts facts = {.nnodes = d->options->nodes ? d->options->nodes
                                                             : 1,
                                 .ntasks = d->options->tasks,
                                 .size.imagined = true};
    struct launch launch;
    struct jp_plan plan;
    struct jp_error err;

    if (plan_make(&in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, "plan", "", "%s", err.text);
        return;
    }
    if (!plan.nccl.mode) { /* nothing asks for a profile: as if auto were */
        plan.nccl.mode = grammar_find_mode(grammar_nccl(), "auto");
        plan.nccl.mode_source = PLAN_DEFAULT;
    }
    facts_get(&in, &facts);
    if (launch_make(&facts, &plan, d->options->dir, &launch, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "plan", "such steps run unprofiled", "%s",
                   err.text);
    } else {
        check_launch(d, &launch);
        launch_fini(&launch);
    }
    plan_fini(&plan);
}
