/* plan.c - merge settings from their five sources. */
#include "common/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/plan_site.h"
#include "common/request.h"

const char *const plan_source_words[5] = {"default", "site file", "user file",
                                          "environment", "option"};

const char *const plan_copper_keys[PLAN_COPPER_KEYS] = {
    "cu_fuse", "address_book", "net_type", "cores", "cache_size", "args"};

const char *plan_env(const struct plan_input *in, const char *name)
{
    const char *value = in->env ? in->env(in->env_arg, name) : getenv(name);

    return value && *value ? value : NULL;
}

/* A variable, or its copy that the module made before --export could drop it
 * (docs/internals.md, section 1). */
static const char *env_or_copy(const struct plan_input *in, const char *name,
                               const char *copy)
{
    const char *value = plan_env(in, name);

    return value ? value : plan_env(in, copy);
}

static int set(struct plan_value *slot, const char *value, const char *where,
               enum plan_source source, struct jp_error *err)
{
    char *new_value = strdup(value), *new_where = strdup(where);

    if (!new_value || !new_where) {
        free(new_value);
        free(new_where);
        return error_set(err, "out of memory");
    }
    free(slot->value);
    free(slot->where);
    *slot = (struct plan_value){new_value, new_where, source};
    return 0;
}

int plan_set_mode(struct plan_side *side, int mode, const char *where,
                  enum plan_source source, struct jp_error *err)
{
    char *copy = strdup(where);

    if (!copy)
        return error_set(err, "out of memory");
    free(side->mode_where);
    free(side->mode_reason);
    side->mode_reason = NULL;
    side->mode_where = copy;
    side->mode = mode;
    side->mode_source = source;
    return 0;
}

static int merge_defaults(struct plan_side *side, struct jp_error *err)
{
    if (plan_set_mode(side, 0, "", PLAN_DEFAULT, err) < 0)
        return -1;
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const char *def = side->grammar->knobs[i].def;

        if (def && set(&side->values[i], def, "", PLAN_DEFAULT, err) < 0)
            return -1;
    }
    return 0;
}

static int merge_file(struct plan_side *side, const struct jp_sitefile *file,
                      enum plan_source source, struct jp_error *err)
{
    const struct jp_grammar *grammar = side->grammar;
    const struct sitefile_value *from;
    char name[64];

    from = sitefile_find(file, plan_default_name(grammar));
    if (from && plan_set_mode(side, grammar_find_mode(grammar, from->value),
                              from->where, source, err) < 0)
        return -1;
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        from =
            sitefile_find(file, sitefile_knob_name(grammar, &grammar->knobs[i],
                                                   name, sizeof(name)));
        if (from &&
            set(&side->values[i], from->value, from->where, source, err) < 0)
            return -1;
    }
    return 0;
}

static int merge_text(struct plan_side *side, const char *text,
                      enum plan_source source, const char *where,
                      struct jp_error *err)
{
    struct jp_request request = {0};
    int rc = -1;

    if (!text)
        return 0;
    if (request_parse(side->grammar, text, &request, err) < 0) {
        error_wrap(err, "%s", *where ? where : side->grammar->option);
        goto out;
    }
    if (plan_set_mode(side, request.mode, where, source, err) < 0)
        goto out;
    for (size_t i = 0; i < side->grammar->n_knobs; i++)
        if (request.values[i] &&
            set(&side->values[i], request.values[i], where, source, err) < 0)
            goto out;
    rc = 0;
out:
    request_fini(&request);
    return rc;
}

char *plan_user_path(const struct plan_input *in)
{
    const char *xdg = plan_env(in, "XDG_CONFIG_HOME");
    const char *home = env_or_copy(in, "HOME", "SLURM_JOBPROF_HOME");

    if (xdg && *xdg == '/')
        return fileio_path("%s/jobprof/jobprof.conf", xdg);
    if (home && *home == '/')
        return fileio_path("%s/.config/jobprof/jobprof.conf", home);
    return NULL;
}

static int load_user(const struct plan_input *in, struct jp_sitefile *out,
                     struct jp_error *err)
{
    char *path = plan_user_path(in);
    int rc = 0;

    if (path)
        rc = sitefile_load(path, SITEFILE_USER, false, NULL, NULL, out, err);
    free(path);
    return rc;
}

static int copy_text(const struct jp_sitefile *site, const char *name,
                     char **out, struct jp_error *err)
{
    const struct sitefile_value *value = sitefile_find(site, name);

    if (!value)
        return 0;
    *out = strdup(value->value);
    return *out ? 0 : error_set(err, "out of memory");
}

static int copy_copper(const struct jp_sitefile *site, struct jp_plan *plan,
                       struct jp_error *err)
{
    for (size_t i = 0; i < PLAN_COPPER_KEYS; i++) {
        const struct sitefile_value *from;
        char name[64];

        snprintf(name, sizeof(name), "copper.%s", plan_copper_keys[i]);
        from = sitefile_find(site, name);
        if (from && set(&plan->copper_site[i], from->value, from->where,
                        PLAN_SITE, err) < 0)
            return -1;
    }
    return 0;
}

/* The plugstack line's default and the site file. */
static int merge_site(const struct plan_input *in, struct plan_side *side,
                      const struct jp_sitefile *site, struct jp_error *err)
{
    if (side->grammar == &jp_grammar_nccl && in->default_mode &&
        merge_text(side, in->default_mode, PLAN_SITE, "plugstack.conf", err) <
            0)
        return -1;
    return merge_file(side, site, PLAN_SITE, err);
}

static int copy_node_memory(const struct jp_sitefile *site,
                            struct jp_plan *plan, struct jp_error *err)
{
    const struct sitefile_value *value =
        sitefile_find(site, "nccl.node_memory");

    plan->node_memory_where = strdup(value ? value->where : "");
    if (!plan->node_memory_where)
        return error_set(err, "out of memory");
    return value ? num_parse_size(value->value, 0, UINT64_MAX,
                                  &plan->node_memory_bytes, err)
                 : 0;
}

static int merge_side(const struct plan_input *in, struct plan_side *side,
                      const struct jp_sitefile *site,
                      const struct jp_sitefile *user, struct jp_error *err)
{
    bool nccl = side->grammar == &jp_grammar_nccl;
    const char *env = side->grammar->env;
    const char *text = nccl ? env_or_copy(in, env, "SLURM_JOBPROF_NCCL")
                            : plan_env(in, env);
    int site_mode;

    if (merge_defaults(side, err) < 0 || merge_site(in, side, site, err) < 0)
        return -1;
    site_mode = side->mode;
    if (merge_file(side, user, PLAN_USER, err) < 0 ||
        merge_text(side, text, PLAN_ENV, env, err) < 0 ||
        merge_text(side, nccl ? in->nccl : in->copper, PLAN_OPTION, "", err) <
            0 ||
        plan_settle_mode(in, site, site_mode, side, err) < 0)
        return -1;
    return side->mode || in->strict ? plan_check_locks(site, side, err) : 0;
}

int plan_make(const struct plan_input *in, struct jp_plan *out,
              struct jp_error *err)
{
    struct jp_plan plan = {.nccl.grammar = &jp_grammar_nccl,
                           .copper.grammar = &jp_grammar_copper};
    struct jp_sitefile site = {0}, user = {0};
    int rc = -1;

    if (plan_load_site(in->config, &site, err) < 0 ||
        load_user(in, &user, err) < 0 ||
        merge_side(in, &plan.nccl, &site, &user, err) < 0 ||
        merge_side(in, &plan.copper, &site, &user, err) < 0 ||
        copy_text(&site, "nccl.inspector", &plan.inspector, err) < 0 ||
        copy_text(&site, "nccl.example", &plan.example, err) < 0 ||
        copy_text(&site, "nccl.recorder", &plan.recorder, err) < 0 ||
        copy_text(&site, "nccl.known_bad", &plan.known_bad, err) < 0 ||
        copy_text(&site, "nccl.node_huge_pages", &plan.node_huge_pages, err) <
            0 ||
        copy_text(&site, "nccl.inspector_release", &plan.inspector_release,
                  err) < 0 ||
        copy_text(&site, "nccl.example_release", &plan.example_release, err) <
            0 ||
        copy_text(&site, "container_binds", &plan.container_binds, err) < 0 ||
        copy_text(&site, "container_paths", &plan.container_paths, err) < 0 ||
        copy_text(&site, "container_steps", &plan.container_steps, err) < 0 ||
        copy_copper(&site, &plan, err) < 0 ||
        copy_node_memory(&site, &plan, err) < 0)
        goto out;
    sitefile_policy(&site, &plan.policy);
    *out = plan;
    plan = (struct jp_plan){0};
    rc = 0;
out:
    plan_fini(&plan);
    sitefile_fini(&user);
    sitefile_fini(&site);
    return rc;
}

const struct plan_value *plan_find(const struct plan_side *side,
                                   const char *knob)
{
    int i = grammar_find_knob(side->grammar, knob);

    return i < 0 ? NULL : &side->values[i];
}

const char *plan_get(const struct plan_side *side, const char *knob)
{
    const struct plan_value *value = plan_find(side, knob);

    return value ? value->value : NULL;
}

uint64_t plan_number(const struct plan_side *side, const char *knob)
{
    int i = grammar_find_knob(side->grammar, knob);
    uint64_t v = 0;

    if (i >= 0 && side->values[i].value)
        knob_number(&side->grammar->knobs[i], side->values[i].value, &v, NULL);
    return v;
}

static void side_fini(struct plan_side *side)
{
    for (size_t i = 0; i < JP_KNOBS_MAX; i++) {
        free(side->values[i].value);
        free(side->values[i].where);
    }
    free(side->mode_where);
    free(side->mode_reason);
    free(side->overruled);
}

void plan_fini(struct jp_plan *plan)
{
    if (!plan)
        return;
    side_fini(&plan->nccl);
    side_fini(&plan->copper);
    for (size_t i = 0; i < PLAN_COPPER_KEYS; i++) {
        free(plan->copper_site[i].value);
        free(plan->copper_site[i].where);
    }
    free(plan->inspector);
    free(plan->example);
    free(plan->recorder);
    free(plan->known_bad);
    free(plan->node_memory_where);
    free(plan->container_binds);
    free(plan->container_paths);
    free(plan->container_steps);
    free(plan->node_huge_pages);
    free(plan->inspector_release);
    free(plan->example_release);
    *plan = (struct jp_plan){0};
}
