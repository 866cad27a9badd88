/* plan.c - merge settings from their sources.
 *
 * plan_make calls merge_side once for each option. merge_side merges the
 * sources from the lowest to the highest: defaults, site, user's file,
 * variables of profilers, the option's variable, the option, and a file that
 * one of them names. Then it applies the site's locks. A value keeps its source
 * and place, for messages and for job.conf.
 */
#include "common/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/grammar.h"
#include "common/num.h"
#include "common/quote.h"

/* By enum plan_source; written to job.conf, so they must not change. */
const char *const plan_source_words[6] = {
    "default", "site file", "user file", "JSON file", "environment", "option"};

const char *plan_env(const struct plan_input *in, const char *name)
{
    const char *value = in->env ? in->env(in->env_arg, name) : getenv(name);

    return value && *value ? value : NULL;
}

/* A variable, or its copy that the module has made before --export could drop
 * it (docs/dev/contracts.md, section 1). NULL: neither is set. */
static const char *env_or_copy(const struct plan_input *in, const char *name,
                               const char *copy)
{
    const char *value = plan_env(in, name);

    return value ? value : plan_env(in, copy);
}

/* Sets a value, its place and its source. Unchanged without memory. */
static int set_value(struct plan_value *slot, const char *value,
                     const char *where, enum plan_source source,
                     struct jp_error *err)
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

/* Sets the mode, its place and its source. The reason belonged to the old
 * mode. */
static int set_mode(struct plan_side *side, int mode, const char *where,
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

int plan_load_site(const char *config, struct jp_sitefile *out,
                   struct jp_error *err)
{
    return sitefile_load(config ? config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                         config != NULL, NULL, NULL, out, err);
}

/* --- the default ---------------------------------------------------------- */

/* A variable of a plan's input (jobfacts_env). */
static const char *env_of(const void *arg, const char *name)
{
    return plan_env(arg, name);
}

/* Whether the site's default applies to this job; reason: by which conditions.
 * Only the default for NCCL can have conditions. */
static bool applies(const struct plan_input *in, const struct jp_sitefile *site,
                    const struct plan_side *side, char *reason, size_t len)
{
    const struct activation_input job = {site, env_of, in, in->ask,
                                         in->ask_arg};

    reason[0] = '\0';
    return side->grammar->id != OPTION_NCCL || in->settled ||
           !activation_is_bound(site) || activation_holds(&job, reason, len);
}

/* Replaces the text in *slot. */
static int set_text(char **slot, const char *text, struct jp_error *err)
{
    free(*slot);
    *slot = strdup(text);
    return *slot ? 0 : error_set(err, "out of memory");
}

/* Sets err to the message that a mode is locked to site_mode. Returns -1. */
static int refuse_mode(const struct plan_side *side, int site_mode,
                       const char *where, struct jp_error *err)
{
    const char *from = side->mode_where && *side->mode_where
                           ? side->mode_where
                           : side->grammar->option;

    return error_set(err, "%s: mode \"%s\" is locked to \"%s\" by %s", from,
                     side->grammar->modes[side->mode].name,
                     side->grammar->modes[site_mode].name, where);
}

/* Decides between the merged mode and the site's default with its conditions
 * and its lock. site_mode: the mode as merged from the site alone. */
static int settle_mode(const struct plan_input *in,
                       const struct jp_sitefile *site, int site_mode,
                       struct plan_side *side, struct jp_error *err)
{
    const struct sitefile_value *lock =
        sitefile_lock(site, side->grammar->default_name);
    bool differs = lock && side->mode != site_mode;
    bool by_site = side->mode && side->mode_source == PLAN_SITE;
    char reason[512];
    struct jp_error refusal;

    /* The user has chosen a mode, and no lock forbids it. */
    if (!by_site && !differs)
        return 0;
    /* Neither the default nor its lock is for this job. */
    if (!applies(in, site, side, reason, sizeof(reason)))
        return by_site ? set_mode(side, 0, "", PLAN_DEFAULT, err) : 0;
    /* The default applies: note why. */
    if (!differs)
        return set_text(&side->mode_reason, reason, err);
    refuse_mode(side, site_mode, lock->where, &refusal);
    /* A check before the launch refuses; the launch itself overrules the
     * user. */
    if (in->strict)
        return error_set(err, "%s", refusal.text);
    if (set_mode(side, site_mode, lock->where, PLAN_SITE, err) < 0 ||
        set_text(&side->mode_reason, reason, err) < 0)
        return -1;
    return set_text(&side->overruled, refusal.text, err);
}

/* --- locks ---------------------------------------------------------------- */

/* The site's value of a locked knob, else its default. *where: file and line of
 * the value or of the lock. */
static const char *site_value(const struct jp_sitefile *site,
                              const struct jp_knob *knob, const char *name,
                              const char **where)
{
    const struct sitefile_value *value = sitefile_find(site, name);
    const struct sitefile_value *lock = sitefile_lock(site, name);

    *where = value ? value->where : lock->where;
    return value ? value->value : knob->def;
}

/* Refuses value for knob i if the knob is locked and the value is not equal to
 * the site's. NULL: no value. */
static int check_lock(const struct jp_sitefile *site,
                      const struct jp_grammar *grammar, size_t i,
                      const char *value, struct jp_error *err)
{
    const struct jp_knob *knob = &grammar->knobs[i];
    const char *locked, *where;
    char name[64];

    sitefile_knob_name(grammar, knob, name, sizeof(name));
    if (!value || !sitefile_lock(site, name))
        return 0;
    locked = site_value(site, knob, name, &where);
    if (locked && knob_equal(knob, value, locked))
        return 0;
    return error_set(err, "\"%s=%s\" is locked%s%s by %s", knob->name,
                     QUOTE(value), locked ? " to " : "", locked ? locked : "",
                     where);
}

/* Checks the locks of all merged values; err names the source of the bad
 * one. */
static int check_locks(const struct jp_sitefile *site,
                       const struct plan_side *side, struct jp_error *err)
{
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const struct plan_value *v = &side->values[i];

        if (check_lock(site, side->grammar, i, v->value, err) < 0) {
            const char *where = *v->where ? v->where : side->grammar->option;

            return error_wrap(err, "%s", where);
        }
    }
    return 0;
}

/* --- merging ---------------------------------------------------------------
 */

/* Starts with mode off and the knobs' defaults. */
static int merge_defaults(struct plan_side *side, struct jp_error *err)
{
    if (set_mode(side, 0, "", PLAN_DEFAULT, err) < 0)
        return -1;
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const char *def = side->grammar->knobs[i].def;

        if (def && set_value(&side->values[i], def, "", PLAN_DEFAULT, err) < 0)
            return -1;
    }
    return 0;
}

/* Sets the values that are given (not NULL), except for knobs that a higher
 * source has set. */
static int merge_values(struct plan_side *side, char *const *values,
                        enum plan_source source, const char *where,
                        struct jp_error *err)
{
    for (size_t i = 0; i < side->grammar->n_knobs; i++)
        /* The same source may set a knob twice: its mode's settings first, then
         * its own key. */
        if (values[i] && side->values[i].source <= source &&
            set_value(&side->values[i], values[i], where, source, err) < 0)
            return -1;
    return 0;
}

/* Sets the knobs that the mode's word stands for, as if they were given with
 * it. */
static int merge_sets(struct plan_side *side, enum plan_source source,
                      const char *where, struct jp_error *err)
{
    const char *sets = side->grammar->modes[side->mode].sets;
    struct jp_request request = {0};
    char *text = sets ? text_format("%s,%s", side->grammar->modes[1].name, sets)
                      : NULL;
    int rc = sets ? -1 : 0;

    if (sets && !text)
        error_set(err, "out of memory");
    else if (sets && request_parse(side->grammar, text, &request, err) == 0)
        rc = merge_values(side, request.values, source, where, err);
    request_fini(&request);
    free(text);
    return rc;
}

/* Merges a settings file: the option's default, then its knobs. */
static int merge_file(struct plan_side *side, const struct jp_sitefile *file,
                      enum plan_source source, struct jp_error *err)
{
    const struct jp_grammar *grammar = side->grammar;
    const struct sitefile_value *from;
    char name[64];

    from = sitefile_find(file, grammar->default_name);
    if (from && set_mode(side, grammar_find_mode(grammar, from->value),
                         from->where, source, err) < 0)
        return -1;
    if (from && merge_sets(side, source, from->where, err) < 0)
        return -1;
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        from =
            sitefile_find(file, sitefile_knob_name(grammar, &grammar->knobs[i],
                                                   name, sizeof(name)));
        if (from && set_value(&side->values[i], from->value, from->where,
                              source, err) < 0)
            return -1;
    }
    return 0;
}

/* Merges MODE[,key=value...] of the option or its variable. NULL: nothing.
 * where "": the option itself. */
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
    /* The word's settings before the keys, which are more specific. */
    if (set_mode(side, request.mode, where, source, err) == 0 &&
        merge_sets(side, source, where, err) == 0)
        rc = merge_values(side, request.values, source, where, err);
out:
    request_fini(&request);
    return rc;
}

char *plan_user_path(const struct plan_input *in)
{
    const char *xdg = plan_env(in, "XDG_CONFIG_HOME");
    const char *home = env_or_copy(in, "HOME", "SLURM_JOBPROF_HOME");

    /* Relative paths are invalid by the XDG specification. */
    if (xdg && *xdg == '/')
        return text_format("%s/jobprof/jobprof.conf", xdg);
    if (home && *home == '/')
        return text_format("%s/.config/jobprof/jobprof.conf", home);
    return NULL;
}

/* Loads the user's file; it is empty if it does not exist or has no path. */
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

/* Merges the profilers' own variables that the user has set; they count as the
 * knobs. Variables of an outer profiled step (JOBPROF_SET) do not count. */
static int merge_variables(const struct plan_input *in, struct plan_side *side,
                           struct jp_error *err)
{
    const char *ours = plan_env(in, "JOBPROF_SET");

    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const struct jp_knob *knob = &side->grammar->knobs[i];
        const char *name = knob->variable;
        const char *value = name ? plan_env(in, name) : NULL;

        if (!value || (ours && knob_list_has(ours, name)))
            continue;
        if (knob_check(knob, value, err) < 0)
            return error_wrap(err, "%s", name);
        if (set_value(&side->values[i], value, name, PLAN_ENV, err) < 0)
            return -1;
    }
    return 0;
}

/* --- another program's settings ------------------------------------------- */

/* The index of the knob that names a file of settings; -1: there is none. */
static int find_file_knob(const struct jp_grammar *grammar)
{
    for (size_t i = 0; i < grammar->n_knobs; i++)
        if (grammar->knobs[i].kind == JP_KNOB_FILE)
            return (int) i;
    return -1;
}

/* Merges the file that the settings name. It ranks below variables and the
 * option, so it only sets what they leave open. */
static int merge_named(const struct plan_input *in, struct plan_side *side,
                       struct jp_error *err)
{
    int i = find_file_knob(side->grammar);
    const char *path = i < 0 ? NULL : side->values[i].value;
    struct jp_request request;
    int rc;

    if (!path)
        return 0;
    if (request_read(side->grammar, path, plan_env(in, "PWD"), &request, err) <
        0)
        return -1;
    rc = merge_values(side, request.values, PLAN_JSON, path, err);
    request_fini(&request);
    return rc;
}

/* The rank of a source for settle_switch: by source, and within the environment
 * the option's own variable is above variables of another program. */
static int rank(const struct plan_side *side, enum plan_source source,
                const char *where)
{
    return 2 * (int) source + (where && !strcmp(where, side->grammar->env));
}

/* Decides between the mode and the knob that turns the option on or off
 * (on of struct jp_option_form). The higher source wins; within one source, the
 * knob's "off" wins. */
static int settle_switch(struct plan_side *side, struct jp_error *err)
{
    const struct jp_grammar *grammar = side->grammar;
    const char *name = grammar->form->on;
    const struct plan_value *on = name ? plan_find(side, name) : NULL;
    int above;
    bool yes;

    if (!on || !on->value)
        return 0;
    yes = plan_number(side, name) != 0;
    above = rank(side, on->source, on->where) -
            rank(side, side->mode_source, side->mode_where);
    if (!yes)
        return above < 0 ? 0 : set_mode(side, 0, on->where, on->source, err);
    if (above <= 0 || side->mode)
        return 0;
    if (set_mode(side, grammar_find_mode(grammar, grammar->form->on_mode),
                 on->where, on->source, err) < 0)
        return -1;
    return merge_sets(side, PLAN_DEFAULT, "", err);
}

/* Handles a mistake in another program's variables or file. It is an error only
 * if the option is checked strictly; otherwise it keeps this option out of the
 * step, and all others go on. */
static int bear(const struct plan_input *in, struct plan_side *side,
                const struct jp_error *why, struct jp_error *err)
{
    if (!side->grammar->form->on || in->strict)
        return error_set(err, "%s", why->text);
    return side->trouble ? 0 : set_text(&side->trouble, why->text, err);
}

/* Merges the plugstack line's default, then the site file. */
static int merge_site(const struct plan_input *in, struct plan_side *side,
                      const struct jp_sitefile *site, struct jp_error *err)
{
    if (side->grammar->id == OPTION_NCCL && in->default_mode &&
        merge_text(side, in->default_mode, PLAN_SITE, "plugstack.conf", err) <
            0)
        return -1;
    return merge_file(side, site, PLAN_SITE, err);
}

/* Reads the memory of the site's smallest node; unchanged if it is not set. */
static int read_node_memory(struct jp_plan *plan, struct jp_error *err)
{
    const char *text = plan_site(plan, "nccl.node_memory");

    return text ? num_parse_size(text, 0, UINT64_MAX, &plan->node_memory_bytes,
                                 err)
                : 0;
}

/* Merges all sources of one option, from the lowest to the highest. */
static int merge_side(const struct plan_input *in, struct plan_side *side,
                      const struct jp_sitefile *site,
                      const struct jp_sitefile *user, struct jp_error *err)
{
    bool nccl = side->grammar->id == OPTION_NCCL;
    const char *env = side->grammar->env;
    const char *text = nccl ? env_or_copy(in, env, "SLURM_JOBPROF_NCCL")
                            : plan_env(in, env);
    struct jp_error why;
    int site_mode;

    if (merge_defaults(side, err) < 0 || merge_site(in, side, site, err) < 0 ||
        settle_switch(side, err) < 0)
        return -1;
    /* The mode without the user, to which a lock leads back. */
    site_mode = side->mode;
    if (merge_file(side, user, PLAN_USER, err) < 0 ||
        (merge_variables(in, side, &why) < 0 && bear(in, side, &why, err) < 0))
        return -1;
    if (merge_text(side, text, PLAN_ENV, env, err) < 0 ||
        merge_text(side, in->given[side->grammar->id], PLAN_OPTION, "", err) <
            0 ||
        (merge_named(in, side, &why) < 0 && bear(in, side, &why, err) < 0) ||
        settle_switch(side, err) < 0 ||
        settle_mode(in, site, site_mode, side, err) < 0)
        return -1;
    /* With the option off, a locked knob has no effect. */
    if ((side->mode || in->strict) && check_locks(site, side, &why) < 0)
        return bear(in, side, &why, err);
    return 0;
}

/* Sets plan->site: the caller's, or one that is read now and owned by the
 * plan. */
static int get_site(const struct plan_input *in, struct jp_plan *plan,
                    struct jp_error *err)
{
    plan->site = in->site;
    if (plan->site)
        return 0;
    plan->own_site = calloc(1, sizeof(*plan->own_site));
    plan->site = plan->own_site;
    return plan->site ? plan_load_site(in->config, plan->own_site, err)
                      : error_set(err, "out of memory");
}

/* All sides are merged with the same site and user file, each of which is read
 * once. */
int plan_make(const struct plan_input *in, struct jp_plan *out,
              struct jp_error *err)
{
    struct jp_plan plan = {.node_memory_bytes = 0};
    struct jp_sitefile user = {0};
    int rc = -1;

    if (get_site(in, &plan, err) < 0 || load_user(in, &user, err) < 0)
        goto out;
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        plan.sides[i].grammar = grammar_of(i);
        if (merge_side(in, &plan.sides[i], plan.site, &user, err) < 0)
            goto out;
    }
    if (read_node_memory(&plan, err) < 0)
        goto out;
    sitefile_policy(plan.site, &plan.policy);
    *out = plan;
    /* The result owns everything now. */
    plan = (struct jp_plan){0};
    rc = 0;
out:
    plan_fini(&plan);
    sitefile_fini(&user);
    return rc;
}

const char *plan_site(const struct jp_plan *plan, const char *name)
{
    const struct sitefile_value *value =
        plan->site ? sitefile_find(plan->site, name) : NULL;

    return value ? value->value : NULL;
}

const struct sitefile_value *plan_site_value(const struct jp_plan *plan,
                                             const char *group, const char *key)
{
    char name[128];

    snprintf(name, sizeof(name), "%s.%s", group, key);
    return plan->site ? sitefile_find(plan->site, name) : NULL;
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

/* Frees the strings of one option. */
static void side_fini(struct plan_side *side)
{
    for (size_t i = 0; i < JP_KNOBS_MAX; i++) {
        free(side->values[i].value);
        free(side->values[i].where);
    }
    free(side->mode_where);
    free(side->mode_reason);
    free(side->overruled);
    free(side->trouble);
}

void plan_fini(struct jp_plan *plan)
{
    if (!plan)
        return;
    for (enum jp_option i = 0; i < OPTIONS; i++)
        side_fini(&plan->sides[i]);
    if (plan->own_site)
        sitefile_fini(plan->own_site);
    free(plan->own_site);
    *plan = (struct jp_plan){0};
}

/* --- what is asked for ---------------------------------------------------- */

bool plan_is_printed(const struct jp_plan *plan)
{
    const struct plan_side *nccl = &plan->sides[OPTION_NCCL];

    return nccl->mode && nccl->mode == grammar_find_mode(nccl->grammar, "plan");
}

bool plan_is_profiled(const struct jp_plan *plan)
{
    return plan->sides[OPTION_NCCL].mode && !plan_is_printed(plan);
}

void plan_drop_srun(struct jp_plan *plan)
{
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (grammar_of(i)->form->only_srun)
            plan->sides[i].mode = 0;
}

bool plan_side_is_asked(const struct plan_side *side)
{
    bool (*is_asked)(const struct plan_side *) = side->grammar->form->is_asked;

    return is_asked ? is_asked(side)
                    : side->mode && side->mode_source >= PLAN_ENV;
}

bool plan_side_is_own(const struct plan_side *side)
{
    return side->mode && (side->mode_source == PLAN_OPTION ||
                          !strcmp(side->mode_where, side->grammar->env));
}

bool plan_is_explicit(const struct jp_plan *plan)
{
    if (plan_is_profiled(plan) &&
        plan->sides[OPTION_NCCL].mode_source >= PLAN_ENV)
        return true;
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++)
        if (plan_side_is_asked(&plan->sides[i]))
            return true;
    return false;
}

/* Whether the value of an option or variable requests anything. */
static bool asks(const char *text)
{
    return text && *text && strcmp(text, "off") != 0;
}

bool plan_is_asked(const struct plan_input *in)
{
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (asks(in->given[i]) || asks(plan_env(in, grammar_of(i)->env)))
            return true;
    return false;
}

/* --- one option alone ----------------------------------------------------- */

/* Checks the mode against a locked default of the site file. A default with
 * conditions is not checked, because the job is not known yet, and neither is
 * that of the plugstack line. */
static int check_mode(const struct jp_sitefile *site,
                      const struct jp_request *request, struct jp_error *err)
{
    const struct jp_grammar *grammar = request->grammar;
    const char *name = grammar->default_name;
    const struct sitefile_value *lock = sitefile_lock(site, name);
    const struct sitefile_value *value = sitefile_find(site, name);
    const char *mode = grammar->modes[request->mode].name;

    if (!lock || !value || !strcmp(mode, value->value) ||
        (grammar->id == OPTION_NCCL && activation_is_bound(site)))
        return 0;
    return error_set(err, "mode \"%s\" is locked to \"%s\" by %s", mode,
                     value->value, lock->where);
}

/* Reads the file that the option names, to report its errors early. */
static int check_named(const struct jp_grammar *grammar,
                       const struct jp_request *request, struct jp_error *err)
{
    int i = find_file_knob(grammar);
    struct jp_request read;

    if (i < 0 || !request->values[i])
        return 0;
    if (request_read(grammar, request->values[i], getenv("PWD"), &read, err) <
        0)
        return -1;
    request_fini(&read);
    return 0;
}

int plan_check(const struct jp_grammar *grammar, const char *text,
               const struct jp_sitefile *site, struct jp_error *err)
{
    struct jp_request request;
    int rc;

    if (request_parse(grammar, text, &request, err) < 0)
        return -1;
    rc = check_mode(site, &request, err);
    for (size_t i = 0; i < grammar->n_knobs && rc == 0; i++)
        rc = check_lock(site, grammar, i, request.values[i], err);
    if (rc == 0)
        rc = check_named(grammar, &request, err);
    request_fini(&request);
    return rc;
}
