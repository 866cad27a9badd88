/* resolve_env.c - variables from the planner, respect for the user's own. */
#include "orchestrator/agent/resolve_env.h"

#include <stdlib.h>
#include <string.h>

#define PLUGIN "NCCL_PROFILER_PLUGIN"

bool resolve_env_is_ours(const struct plan_input *in, const char *name)
{
    const char *list = plan_env(in, "JOBPROF_SET");
    size_t len = strlen(name);

    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (n == len && !strncmp(list, name, n))
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

static int report_user(const char *name, const char *value,
                       struct jp_jobconf *conf, char **note,
                       struct jp_error *err)
{
    struct jp_setting one = {
        (char *) name, (char *) value, (char *) plan_source_words[PLAN_ENV],
        (char *) name, (char *) "set by the user; force=1 replaces it"};

    if (!strcmp(name, PLUGIN) &&
        resolve_note(note, err,
                     PLUGIN "=%s is set in the environment and stays "
                            "(force=1 replaces it)",
                     value) < 0)
        return -1;
    return resolve_add_setting(&conf->settings, &conf->n_settings, &one, err);
}

/* A value with a line break cannot travel to the tasks. */
static int check_values(const struct backend_env *env, struct jp_error *err)
{
    for (size_t i = 0; i < env->n; i++)
        for (const char *c = env->vars[i].value; *c; c++)
            if ((unsigned char) *c < 0x20)
                return error_set(err, "%s: a control character in its value",
                                 env->vars[i].name);
    return 0;
}

int resolve_env(const struct resolve_input *in, const struct jp_plan *plan,
                const struct resolve_choice *choice, struct jp_jobconf *conf,
                char **note, struct jp_error *err)
{
    const struct backend_planner *planner = choice->backend->planner;
    struct backend_env env = {.soft = !plan_number(&plan->nccl, "force")};

    if (planner->env && (planner->env(&choice->input, &env, err) < 0 ||
                         check_values(&env, err) < 0))
        goto fail;
    for (size_t i = 0; i < env.n && env.soft; i++) {
        const char *name = env.vars[i].name;
        const char *value = plan_env(&in->plan, name);

        if (value && !resolve_env_is_ours(&in->plan, name) &&
            report_user(name, value, conf, note, err) < 0)
            goto fail;
    }
    conf->env = calloc(env.n + 1, sizeof(*conf->env));
    if (!conf->env) {
        error_set(err, "out of memory");
        goto fail;
    }
    memcpy(conf->env, env.vars, env.n * sizeof(*conf->env));
    conf->n_env = env.n; /* the strings are conf's now */
    return 0;
fail:
    backend_env_fini(&env);
    return -1;
}
