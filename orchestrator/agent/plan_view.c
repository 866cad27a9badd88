/* plan_view.c - gather what a plan tells. */
#include "orchestrator/agent/plan_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "orchestrator/agent/resolve_env.h"

/* What a view's texts are borrowed from. */
struct plan_view_store {
    struct resolve_place place;
    struct resolve_choice choice;
    struct jp_jobconf conf;
    char *without;    /* names of the user's variables, or NULL */
    char foreign[64]; /* reason of a setting that the profiler ignores */
    char instead[64]; /* reason of a mode that is not the one asked for */
};

uint64_t plan_view_node(const struct plan_view *view, uint64_t bytes)
{
    return num_mul(bytes, jobshape_ranks(&view->shape));
}

uint64_t plan_view_step(const struct plan_view *view, uint64_t bytes)
{
    return num_mul(bytes, view->shape.ntasks);
}

const char *plan_view_known(char buf[16])
{
    snprintf(buf, 16, "%u.%u", JP_NCCL_KNOWN / 1000000,
             JP_NCCL_KNOWN / 1000 % 1000);
    return buf;
}

/* The user's own value of a variable, or NULL. */
static const struct jp_setting *find_row(const struct jp_jobconf *conf,
                                         const char *key)
{
    for (size_t i = 0; i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, key))
            return &conf->settings[i];
    return NULL;
}

static bool is_ours(const struct jp_jobconf *conf, const char *name)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return true;
    return false;
}

/* Not of the grammar: a variable that the user has set himself. */
static bool is_variable(const struct jp_setting *row)
{
    return strcmp(row->key, "mode") != 0 &&
           grammar_find_knob(&jp_grammar_nccl, row->key) < 0;
}

/* Does the profiler that runs read this setting? */
static bool is_read(const struct jp_setting *row, const char *runs)
{
    int k = grammar_find_knob(&jp_grammar_nccl, row->key);
    int mode = grammar_find_mode(&jp_grammar_nccl, runs);

    return k < 0 || mode < 0 || !strcmp(row->key, "mode") ||
           (jp_grammar_nccl.knobs[k].modes >> mode & 1);
}

/* Files hold settings of all profilers; option and variable are meant. */
static bool is_meant(const struct jp_setting *row)
{
    return !strcmp(row->source, plan_source_words[PLAN_OPTION]) ||
           !strcmp(row->source, plan_source_words[PLAN_ENV]);
}

static void fill_settings(struct plan_view *view)
{
    struct plan_view_store *store = view->store;
    const struct jp_jobconf *conf = &store->conf;

    snprintf(store->foreign, sizeof(store->foreign), "%s does not read it",
             resolve_title(view->runs));
    snprintf(store->instead, sizeof(store->instead), "%s is asked for",
             view->asked);
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *row = &conf->settings[i];
        bool read = is_read(row, view->runs);

        if (is_variable(row) || (!read && !is_meant(row)))
            continue;
        view->settings[view->n_settings] = *row;
        if (!read)
            view->settings[view->n_settings].reason = store->foreign;
        else if (*store->choice.reason && !strcmp(row->key, "mode"))
            view->settings[view->n_settings].reason = store->instead;
        view->n_settings++;
    }
}

static void fill_variables(struct plan_view *view)
{
    const struct jp_jobconf *conf = &view->store->conf;

    for (size_t i = 0; i < conf->n_env; i++) {
        const struct jp_envvar *var = &conf->env[i];
        const struct jp_setting *user = var->soft ? find_row(conf, var->name)
                                                  : NULL;

        view->variables[view->n_variables++] =
            (struct plan_variable){var->name, user ? user->value : var->value,
                                   user          ? user->reason
                                   : var->reason ? var->reason
                                                 : "",
                                   user != NULL};
    }
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *row = &conf->settings[i];

        if (is_variable(row) && !is_ours(conf, row->key))
            view->variables[view->n_variables++] =
                (struct plan_variable){row->key, row->value, row->reason, true};
    }
}

bool plan_view_is_full(const struct plan_view *view)
{
    uint64_t left = view->shape.disk_free_bytes;
    uint64_t step = plan_view_step(view, view->forecast.disk_bytes);

    if (!step)
        step = view->forecast.disk_bytes;
    return left && (step > left || view->min_free_bytes > left - step);
}

/* What only the view can tell: the files do not fit. */
static int warn_full(const struct plan_view *view, char **warnings,
                     struct jp_error *err)
{
    uint64_t step = plan_view_step(view, view->forecast.disk_bytes);

    if (!plan_view_is_full(view))
        return 0;
    return resolve_note(warnings, err,
                        "not enough free space: %s %s %s and min_free=%s, and "
                        "%s is free: records would be missing",
                        step ? "the step needs" : "a rank needs",
                        FIG_BYTES(step ? step : view->forecast.disk_bytes),
                        view->without ? "without your variables" : "of files",
                        FIG_BYTES(view->min_free_bytes),
                        FIG_BYTES(view->shape.disk_free_bytes));
}

static int fill_lines(struct plan_view *view, struct jp_error *err)
{
    struct plan_view_store *store = view->store;

    if (resolve_env_own(&store->conf, &store->without, err) < 0)
        return -1;
    view->without = store->without;
    if (warn_full(view, &store->choice.warnings, err) < 0)
        return -1;
    view->warnings = store->choice.warnings ? store->choice.warnings : "";
    view->notes = store->choice.remarks ? store->choice.remarks : "";
    return 0;
}

static void fill(struct plan_view *view, const struct jp_plan *plan)
{
    const struct plan_side *side = &plan->nccl;
    const struct plan_view_store *store = view->store;
    const struct jp_setting *mode = find_row(&store->conf, "mode");
    const struct plan_value *release = plan_find(side, "nccl");
    const struct plan_value *iterations = plan_find(side, "iterations");

    view->asked = side->grammar->modes[side->mode].name;
    if (!strcmp(view->asked, "plan"))
        view->asked = plan_get(side, "mode");
    view->runs = store->choice.backend->name;
    view->reason = mode ? mode->reason : "";
    view->plugin = resolve_env_own_value(&store->conf, RESOLVE_ENV_PLUGIN);
    view->release = release && release->value ? release->value : "";
    view->assumed = release && release->source == PLAN_DEFAULT;
    view->newer = plan_number(side, "nccl") > JP_NCCL_KNOWN;
    view->shape = store->choice.input.shape;
    view->forecast = store->choice.forecast;
    view->iterations = plan_number(side, "iterations");
    view->iterations_default = iterations && iterations->source == PLAN_DEFAULT;
    view->disk_bytes = plan_number(side, "disk");
    view->min_free_bytes = plan_number(side, "min_free");
    view->dir = store->place.step_dir;
    fill_settings(view);
    fill_variables(view);
}

/* The place by the step's facts, or one that is only named. */
static int get_place(const struct resolve_input *in, const struct jp_plan *plan,
                     const char *dir, struct resolve_place *out,
                     struct jp_error *err)
{
    struct resolve_place place = {0};

    if (!dir)
        return resolve_place(&in->plan, plan, out, err);
    place.job_dir = strdup("");
    place.step_dir = strdup(dir);
    place.final_dir = strdup("");
    if (!place.job_dir || !place.step_dir || !place.final_dir) {
        resolve_place_fini(&place);
        return error_set(err, "out of memory");
    }
    *out = place;
    return 0;
}

int plan_view_make(const struct resolve_input *in, const struct jp_plan *plan,
                   const char *dir, struct plan_view *out, struct jp_error *err)
{
    struct plan_view view = {.store = calloc(1, sizeof(*view.store))};
    struct plan_view_store *store = view.store;
    char *note = NULL;

    if (!store)
        return error_set(err, "out of memory");
    if (get_place(in, plan, dir, &store->place, err) < 0 ||
        resolve_choose(in, plan, store->place.step_dir, &store->choice, err) <
            0 ||
        resolve_conf(in, plan, &store->place, &store->choice, &store->conf,
                     &note, err) < 0)
        goto fail;
    view.settings = calloc(store->conf.n_settings + 1, sizeof(*view.settings));
    view.variables = calloc(store->conf.n_env + store->conf.n_settings + 1,
                            sizeof(*view.variables));
    if (!view.settings || !view.variables) {
        error_set(err, "out of memory");
        goto fail;
    }
    fill(&view, plan);
    if (fill_lines(&view, err) < 0)
        goto fail;
    free(note); /* the view tells the same in its own places */
    *out = view;
    return 0;
fail:
    free(note);
    plan_view_fini(&view);
    return -1;
}

void plan_view_fini(struct plan_view *view)
{
    free(view->settings);
    free(view->variables);
    if (view->store) {
        free(view->store->without);
        jobconf_fini(&view->store->conf);
        resolve_choice_fini(&view->store->choice);
        resolve_place_fini(&view->store->place);
        free(view->store);
    }
    *view = (struct plan_view){0};
}
