/* resolve_env.c - variables from the planner, respect for the user's own. */
#include "orchestrator/agent/resolve_env.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

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
                       struct jp_jobconf *conf, struct jp_error *err)
{
    struct jp_setting one = {
        (char *) name, (char *) value, (char *) plan_source_words[PLAN_ENV],
        (char *) name, (char *) "set by the user; force=1 replaces it"};

    return resolve_add_setting(&conf->settings, &conf->n_settings, &one, err);
}

static const char *value_of(const struct jp_jobconf *conf, const char *key)
{
    for (size_t i = 0; i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, key))
            return conf->settings[i].value;
    return NULL;
}

static const char *own_value(const struct jp_jobconf *conf,
                             const struct jp_envvar *var)
{
    const char *value = var->soft ? value_of(conf, var->name) : NULL;

    return value && strcmp(value, var->value) != 0 ? value : NULL;
}

const char *resolve_env_own_value(const struct jp_jobconf *conf,
                                  const char *name)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return own_value(conf, &conf->env[i]);
    return NULL;
}

int resolve_env_own(const struct jp_jobconf *conf, char **names,
                    struct jp_error *err)
{
    char *list = NULL;

    for (size_t i = 0; i < conf->n_env; i++) {
        char *more;

        if (!own_value(conf, &conf->env[i]))
            continue;
        more = fileio_path("%s%s%s", list ? list : "", list ? ", " : "",
                           conf->env[i].name);
        free(list);
        list = more;
        if (!list)
            return error_set(err, "out of memory");
    }
    *names = list;
    return 0;
}

/* One line on names, the user's own variables. */
static int own_line(const char *names, const char *plugin, const char *title,
                    char **line, struct jp_error *err)
{
    bool several = strchr(names, ',') != NULL;
    struct jp_error clean; /* a line break would be a line of its own */

    if (!plugin)
        return resolve_note(line, err,
                            "%s %s set in the environment and %s (force=1 "
                            "replaces %s): records, memory and disk are "
                            "planned without %s",
                            names, several ? "are" : "is",
                            several ? "stay" : "stays", several ? "them" : "it",
                            several ? "them" : "it");
    error_set(&clean, "%s", plugin);
    return resolve_note(line, err,
                        RESOLVE_ENV_PLUGIN
                        "=%s is set in the environment and stays (force=1 "
                        "replaces it): %s does not run, and what is recorded "
                        "is not known",
                        clean.text, title);
}

/* Puts what the user's own variables leave unknown in front of the warnings. */
static int warn_own(const struct jp_jobconf *conf,
                    struct resolve_choice *choice, struct jp_error *err)
{
    char *names = NULL, *lines = NULL;
    int rc = resolve_env_own(conf, &names, err);

    if (names)
        rc = own_line(names, resolve_env_own_value(conf, RESOLVE_ENV_PLUGIN),
                      resolve_title(choice->backend->name), &lines, err);
    if (rc == 0 && lines && choice->warnings)
        rc = resolve_note(&lines, err, "%s", choice->warnings);
    if (rc == 0 && lines) {
        free(choice->warnings);
        choice->warnings = lines;
        lines = NULL;
    }
    free(lines);
    free(names);
    return rc;
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
                struct resolve_choice *choice, struct jp_jobconf *conf,
                struct jp_error *err)
{
    const struct backend_planner *planner = choice->backend->planner;
    struct backend_env env = {.soft = !plan_number(&plan->nccl, "force")};

    choice->input.declined = choice->declined;
    if (planner->env && (planner->env(&choice->input, &env, err) < 0 ||
                         check_values(&env, err) < 0))
        goto fail;
    for (size_t i = 0; i < env.n && env.soft; i++) {
        const char *name = env.vars[i].name;
        const char *value = plan_env(&in->plan, name);

        if (value && !resolve_env_is_ours(&in->plan, name) &&
            report_user(name, value, conf, err) < 0)
            goto fail;
    }
    conf->env = calloc(env.n + 1, sizeof(*conf->env));
    if (!conf->env) {
        error_set(err, "out of memory");
        goto fail;
    }
    memcpy(conf->env, env.vars, env.n * sizeof(*conf->env));
    conf->n_env = env.n; /* the strings are conf's now */
    return warn_own(conf, choice, err);
fail:
    backend_env_fini(&env);
    return -1;
}
