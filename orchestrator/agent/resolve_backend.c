/* resolve_backend.c - choose the profiler. */
#include "orchestrator/agent/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"

/* The mode's word as a backend's name. */
static const char *wanted(const struct plan_side *side)
{
    const char *mode = side->grammar->modes[side->mode].name;

    if (!strcmp(mode, "auto"))
        return JP_DEF_NCCL_AUTO;
    if (!strcmp(mode, "plan"))
        return plan_get(side, "mode");
    return mode;
}

static const char *library_of(const struct jp_plan *plan, const char *name)
{
    if (!strcmp(name, "inspector"))
        return plan->inspector;
    if (!strcmp(name, "example"))
        return plan->example;
    if (!strcmp(name, "recorder"))
        return plan->recorder;
    return NULL;
}

static const struct {
    const char *backend, *title;
} titles[] = {{"inspector", "NVIDIA's Inspector"},
              {"example", "NVIDIA's example plugin"},
              {"recorder", "the recorder"}};

const char *resolve_title(const char *backend)
{
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        if (!strcmp(titles[i].backend, backend))
            return titles[i].title;
    return backend;
}

/* The release that the site says its library is of; 0: not said. */
static uint32_t release_of(const struct jp_plan *plan, const char *name)
{
    static const struct jp_knob knob = {.kind = JP_KNOB_VERSION};
    const char *text = !strcmp(name, "inspector") ? plan->inspector_release
                       : !strcmp(name, "example") ? plan->example_release
                                                  : NULL;
    uint64_t release = 0;

    if (text)
        knob_number(&knob, text, &release, NULL);
    return (uint32_t) release;
}

static bool readable(const char *path)
{
    int fd = path ? fileio_open_regular(path, true, NULL) : -1;

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Fills choice with the backend of that name. -1: it cannot run. */
static int try_backend(const struct jp_plan *plan, const char *name,
                       struct resolve_choice *choice, struct jp_error *err)
{
    const struct backend *backend = backend_find(name);

    if (!backend || !backend->planner)
        return error_set(err, "no profiler \"%s\" in this build", name);
    choice->backend = backend;
    choice->input.library = library_of(plan, name);
    choice->input.library_exists = readable(choice->input.library);
    choice->input.release = release_of(plan, name);
    choice->forecast = (struct backend_forecast){0};
    if (backend->planner->usable &&
        backend->planner->usable(&choice->input, err) < 0)
        return -1;
    if (resolve_known(plan, choice, err) < 0)
        return -1;
    if (!backend->planner->size)
        return 0;
    return backend->planner->size(&choice->input, &choice->forecast, err);
}

int resolve_choose(const struct resolve_input *in, const struct jp_plan *plan,
                   const char *step_dir, struct resolve_choice *out,
                   struct jp_error *err)
{
    const char *name = wanted(&plan->nccl), *fallback = NULL;
    struct resolve_choice choice = {
        .input = {.side = &plan->nccl, .step_dir = step_dir}};
    struct jp_error why = {""};

    if (!plan->nccl.mode) {
        choice.reason = strdup("");
        if (!choice.reason)
            return error_set(err, "out of memory");
        *out = choice;
        return 0;
    }
    jobshape_get(&in->plan, plan, "", step_dir, in->nnodes, in->ntasks,
                 &choice.input.shape);

    if (try_backend(plan, name, &choice, &why) < 0) {
        if (choice.backend)
            fallback = choice.backend->planner->fallback;
        if (!fallback || try_backend(plan, fallback, &choice, err) < 0) {
            resolve_choice_fini(&choice);
            return error_set(err, "%s", why.text);
        }
    }
    choice.reason = strdup(why.text);
    if (!choice.reason || (*choice.forecast.assumed &&
                           resolve_note(&choice.warnings, err, "%s",
                                        choice.forecast.assumed) < 0)) {
        resolve_choice_fini(&choice);
        return error_set(err, "out of memory");
    }
    *out = choice;
    return 0;
}

void resolve_choice_fini(struct resolve_choice *choice)
{
    free(choice->reason);
    free(choice->warnings);
    free(choice->remarks);
    *choice = (struct resolve_choice){0};
}
