/* launch.c - make a launch and its job.conf from settings and facts.
 *
 * launch_make fills a struct launch for display, launch_step for a step that
 * starts, and then also creates the directory. Both go through fill_launch(),
 * which calls the parts in the order in which they depend on each other. Read
 * launch.h and fill_launch() first.
 *
 * choose_backend() takes the profiler whose library the user has set; if there
 * is none, the one of the mode, and then its fallback. try_backend() decides
 * whether one of them can run. launch_check is the part of it that is certain
 * before the allocation.
 */
#include "orchestrator/agent/launch.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/knownbad.h"
#include "common/num.h"
#include "common/ownproc.h"
#include "common/sitelog.h"
#include "orchestrator/agent/settings.h"
#include "orchestrator/collect/clock.h"
#ifdef HAVE_SLURM
#include <slurm/slurm.h>
#endif

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

/* --- the profiler, and its cost ------------------------------------------- */

/* Rows for all profilers describe issues of NCCL itself. */
#define ANY_MODE (~0u)

/* The list of known-bad releases, read on first use. */
struct known {
    bool is_read;
    struct jp_knownbad list;
    char *complaints; /* lines: errors in the list, for the administrator */
    bool no_memory;
};

/* --- known issues of the NCCL release ------------------------------------- */

/* Collects the sentences about one backend, while the list of known-bad
 * releases is searched. */
struct telling {
    bool of_nccl; /* select the rows on NCCL itself, or the other rows */
    /* Lines, or NULL: issues that concern the user; notes that only the plan
     * prints. */
    char *known, *remarks;
    unsigned n_known;
    struct jp_error worst; /* sentence of the first row that demands a
                            * fallback */
    bool no_memory;
};

/* Takes one row that matches (knownbad_hit). The list is searched twice, for
 * the library's release and for NCCL's; of_nccl selects which rows count. */
static void add_issue(void *arg, const struct knownbad_row *row,
                      const char *sentence)
{
    struct telling *t = arg;
    char **list = row->action == KNOWNBAD_NOTE ? &t->remarks : &t->known;

    if ((row->modes == ANY_MODE) != t->of_nccl)
        return;
    if (row->action == KNOWNBAD_FALLBACK && !*t->worst.text)
        error_set(&t->worst, "%s [%s]", sentence, row->where);
    t->n_known += list == &t->known;
    if (lines_add(list, NULL, "%s [%s]", sentence, row->where) < 0)
        t->no_memory = true;
}

/* The release of the profiler's library, from the site file or nccl=. */
static const char *library_release(const struct jp_plan *plan,
                                   const struct launch_choice *choice)
{
    if (!choice->input.release)
        return plan_get(&plan->sides[OPTION_NCCL], "nccl");
    return plan_site_value(plan, plan->sides[OPTION_NCCL].grammar->group,
                           choice->backend->about.release)
        ->value;
}

/* Collects the issues of the library by its release, and those of NCCL by the
 * program's NCCL release. */
static void collect_issues(const struct jp_plan *plan,
                           const struct launch_choice *choice,
                           const struct jp_knownbad *list, struct telling *t)
{
    const char *name = choice->backend->about.name;

    knownbad_check(list, name, library_release(plan, choice),
                   backend_release(&choice->input), add_issue, t);
    t->of_nccl = true;
    knownbad_check(list, name, plan_get(&plan->sides[OPTION_NCCL], "nccl"),
                   plan_number(&plan->sides[OPTION_NCCL], "nccl"), add_issue,
                   t);
}

/* Takes one error in the list (knownbad_report). An error is no reason to run a
 * step unprofiled, so it becomes a remark of the plan. */
static void add_complaint(void *arg, const char *sentence)
{
    struct known *known = arg;

    if (lines_add(&known->complaints, NULL, "%s", sentence) < 0)
        known->no_memory = true;
}

/* Reads the site's list, or the installed one, once. A missing installed list
 * is an empty one. */
static void read_known(const struct jp_plan *plan, struct known *known)
{
    const char *named = plan_site(plan, "nccl.known_bad");

    if (!known->is_read)
        knownbad_load(named ? named : JP_DEF_KNOWN_BAD, named != NULL,
                      add_complaint, known, &known->list, NULL);
    known->is_read = true;
}

static void known_fini(struct known *known)
{
    knownbad_fini(&known->list);
    free(known->complaints);
}

/* Collects the ranges of releases that the backend must not profile. */
static int decline_releases(const struct known *known,
                            struct launch_choice *choice)
{
    char ranges[512] = "";

    knownbad_ranges(&known->list, choice->backend->about.name, ranges,
                    sizeof(ranges));
    free(choice->declined);
    choice->declined = strdup(ranges);
    return choice->declined ? 0 : -1;
}

/* Fills choice's known issues and remarks, each with the file and line of its
 * row. Returns -1 if choice's backend must not profile this release, whatever
 * the user's settings are; err says why. */
static int ask_known(const struct jp_plan *plan, struct known *known,
                     struct launch_choice *choice, struct jp_error *err)
{
    struct telling t = {0};

    read_known(plan, known);
    /* This may be the second backend that is tried: what the first one has left
     * in choice is replaced. */
    t.no_memory = known->no_memory;
    if (known->complaints &&
        lines_add(&t.remarks, NULL, "%s", known->complaints) < 0)
        t.no_memory = true;
    collect_issues(plan, choice, &known->list, &t);
    if (decline_releases(known, choice) < 0)
        t.no_memory = true;
    free(choice->known);
    free(choice->remarks);
    choice->known = t.known;
    choice->n_known = t.n_known;
    choice->remarks = t.remarks;
    if (t.no_memory)
        return error_set(err, "out of memory");
    if (*t.worst.text)
        return error_set(err, "%s", t.worst.text);
    return 0;
}

/* --- the backend ---------------------------------------------------------- */

/* The name of the backend for this mode. */
static const char *wanted_backend(const struct plan_side *side)
{
    const struct jp_mode *mode = &side->grammar->modes[side->mode];

    /* mode plan: the knob mode= names the profiler */
    if (!mode->of) {
        int k = grammar_find_mode(side->grammar, plan_get(side, "mode"));

        mode = k < 0 ? mode : &side->grammar->modes[k];
    }
    return mode->of ? mode->of->name : mode->name;
}

/* The site's value of one of a profiler's keys; key NULL: it has no such
 * key. */
static const char *site_text(const struct jp_plan *plan, const char *key)
{
    const struct sitefile_value *value =
        key ? plan_site_value(plan, plan->sides[OPTION_NCCL].grammar->group,
                              key)
            : NULL;

    return value ? value->value : NULL;
}

/* The release of the profiler library, from the site file; 0: unknown. */
static uint32_t release_of(const struct jp_plan *plan,
                           const struct jp_profiler *about)
{
    static const struct jp_knob knob = {.kind = JP_KNOB_VERSION};
    const char *text = site_text(plan, about->release);
    uint64_t release = 0;

    if (text)
        knob_number(&knob, text, &release, NULL);
    return (uint32_t) release;
}

/* Whether path is a regular file that we can open. NULL: no. */
static bool is_readable_file(const char *path)
{
    int fd = path ? fileio_open_regular(path, true, NULL) : -1;

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Whether both paths lead to the same file; NULL: no. */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The profiler whose library the user has set; NULL: none, or none of ours.
 * NCCL expands "inspector" to libnccl-profiler-inspector.so. */
static const struct backend *find_own(const struct launch_choice *choice)
{
    const char *own = choice->own_library;
    const struct backend *backend;

    if (!own)
        return NULL;
    if (*own == '/')
        backend = backend_of_library(own);
    else
        backend = backend_find(own);
    return backend && backend->about.option == OPTION_NCCL &&
                   backend->about.mark && backend->planner
               ? backend
               : NULL;
}

/* Sets the library's path: the site's, or the user's own. */
static void set_library(const struct jp_plan *plan, bool is_own,
                        struct launch_choice *choice)
{
    const struct jp_profiler *about = &choice->backend->about;
    const char *sites = site_text(plan, about->library);
    const char *own = is_own ? choice->own_library : NULL;

    /* A library that the user has set is found by the dynamic linker on the
     * nodes, so its existence cannot be checked here. Its release is known only
     * if it is the site's library. */
    choice->input.library = own ? own : sites;
    choice->input.library_exists = own || is_readable_file(sites);
    choice->input.release =
        !own || is_same(own, sites) ? release_of(plan, about) : 0;
}

/* Fails if the site names the library of another profiler. */
static int check_library(const struct launch_choice *choice,
                         struct jp_error *err)
{
    const struct backend *found =
        choice->input.library_exists ? backend_of_library(choice->input.library)
                                     : NULL;

    return found && found != choice->backend
               ? error_set(err,
                           "%s (nccl.%s in the site file) is the library "
                           "of %s",
                           choice->input.library,
                           choice->backend->about.library, found->about.title)
               : 0;
}

/* Fills choice with the backend of that name. is_own: the user has set its
 * library. Returns -1 if it cannot run, if a known issue excludes this release,
 * or if its data would not fit; err says why. */
static int try_backend(const struct jp_plan *plan, const char *name,
                       bool is_own, struct known *known,
                       struct launch_choice *choice, struct jp_error *err)
{
    const struct backend *backend = backend_find(name);

    if (!backend || !backend->planner)
        return error_set(err, "this build has no profiler \"%s\"", name);
    choice->backend = backend;
    set_library(plan, is_own, choice);
    choice->forecast = (struct backend_forecast){0};
    if ((backend->planner->usable &&
         backend->planner->usable(&choice->input, err) < 0) ||
        (!is_own && check_library(choice, err) < 0))
        return -1;
    if (ask_known(plan, known, choice, err) < 0)
        return -1;
    if (!backend->planner->size)
        return 0;
    return backend->planner->size(&choice->input, &choice->forecast, err);
}

/* Chooses the user's own library, whatever the mode is. Returns 1 if it runs, 0
 * if the user names none of ours, -1 if its data would not fit. */
static int choose_own(const struct jp_plan *plan, struct known *known,
                      struct launch_choice *choice, struct jp_error *why)
{
    const struct backend *own = find_own(choice);

    if (!own)
        return 0;
    if (try_backend(plan, own->about.name, true, known, choice, why) < 0)
        return -1;
    if (strcmp(own->about.name, wanted_backend(&plan->sides[OPTION_NCCL])) != 0)
        error_set(why,
                  LAUNCH_PLUGIN " in the environment names a library of "
                                "%s (force=1 replaces it)",
                  own->about.title);
    return 1;
}

/* Chooses the backend of the mode, or its fallback. *why: why it is not the
 * first choice, or "". Returns -1 if none can run; then *why is about the first
 * choice, because that is what the user has requested. */
static int choose_backend(const struct jp_plan *plan, struct known *known,
                          struct launch_choice *choice, struct jp_error *why)
{
    const char *fallback = NULL;
    int own = choose_own(plan, known, choice, why);

    if (own)
        return own > 0 ? 0 : -1;
    if (try_backend(plan, wanted_backend(&plan->sides[OPTION_NCCL]), false,
                    known, choice, why) == 0)
        return 0;
    if (choice->backend) {
        fallback = choice->backend->planner->fallback;
        choice->absent = !choice->input.library;
    }
    return fallback ? try_backend(plan, fallback, false, known, choice, NULL)
                    : -1;
}

/* Whether the recorder loads the user's own library (chain=own), which then is
 * no choice. */
static bool is_chained(const struct jp_plan *plan)
{
    const char *chain = plan_get(&plan->sides[OPTION_NCCL], "chain");

    return chain && !strcmp(chain, "own");
}

static void choice_fini(struct launch_choice *choice)
{
    free(choice->reason);
    free(choice->declined);
    free(choice->warnings);
    free(choice->known);
    free(choice->remarks);
    *choice = (struct launch_choice){0};
}

/* Chooses the profiler. A profiler whose library the user has set comes first,
 * then the backend of the mode, then its fallback if that backend cannot run or
 * does not fit. Reads the list of known-bad releases once. Returns -1 if no
 * profiler can run; err says why, and *out is unchanged. Free with
 * choice_fini. */
static int choice_make(const struct launch_facts *facts,
                       const struct jp_plan *plan, const char *step_dir,
                       struct launch_choice *out, struct jp_error *err)
{
    struct launch_choice choice = {.input = {.side = &plan->sides[OPTION_NCCL],
                                             .step_dir = step_dir,
                                             .user = facts->env}};
    struct jp_error why = {""};
    struct known known = {0};
    int rc = 0;

    /* With mode off, nothing has to be chosen; the rest of choice stays
     * empty. */
    if (plan->sides[OPTION_NCCL].mode) {
        jobshape_get(&facts->size, plan, "", step_dir, &choice.input.shape);
        if (!is_chained(plan))
            choice.own_library =
                backend_user_value(&choice.input, LAUNCH_PLUGIN);
        rc = choose_backend(plan, &known, &choice, &why);
        known_fini(&known);
    }
    if (rc < 0) {
        choice_fini(&choice);
        return error_set(err, "%s", why.text);
    }
    choice.input.declined = choice.declined;
    choice.reason = strdup(why.text);
    if (!choice.reason ||
        (*choice.forecast.assumed &&
         lines_add(&choice.warnings, err, "%s", choice.forecast.assumed) < 0)) {
        choice_fini(&choice);
        return error_set(err, "out of memory");
    }
    *out = choice;
    return 0;
}

/* --- the user's own variables --------------------------------------------- */

/* Whether the user's value of a variable is not the one that we would set. */
static bool differs(const struct launch_var *var)
{
    return strcmp(var->value, var->planned) != 0;
}

const char *launch_plugin(const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_vars; i++)
        if (!strcmp(launch->vars[i].name, LAUNCH_PLUGIN) &&
            differs(&launch->vars[i]))
            return launch->vars[i].value;
    return NULL;
}

int launch_own(const struct launch *launch, char **names, struct jp_error *err)
{
    char *list = NULL;

    for (size_t i = 0; i < launch->n_vars; i++) {
        char *more;

        if (!differs(&launch->vars[i]))
            continue;
        more = text_format("%s%s%s", list ? list : "", list ? ", " : "",
                           launch->vars[i].name);
        free(list);
        list = more;
        if (!list)
            return error_set(err, "out of memory");
    }
    *names = list;
    return 0;
}

/* Finds soft variables that the user has set. Variables left by an outer
 * profiled step (JOBPROF_SET) do not count. l->vars has room for all variables
 * of a planner, because it is called before the other parts add theirs. */
static void find_vars(struct launch *l)
{
    const char *ours = plan_env(l->facts->env, "JOBPROF_SET");

    for (size_t i = 0; i < l->conf.n_env; i++) {
        const struct jp_envvar *var = &l->conf.env[i];
        const char *value = var->soft ? plan_env(l->facts->env, var->name)
                                      : NULL;

        if (value && !(ours && knob_list_has(ours, var->name)))
            l->vars[l->n_vars++] =
                (struct launch_var){var->name, value, var->value};
    }
}

/* Appends one line about names, the user's own variables: "A" or "A, B".
 * plugin: the user's profiler library, which makes everything else unknown;
 * NULL: none. */
static int own_line(const char *names, const char *plugin, const char *title,
                    char **line, struct jp_error *err)
{
    bool several = strchr(names, ',') != NULL;
    struct jp_error clean; /* without line breaks, so that the message stays one
                            * line */

    /* The user's variables change only what our profiler records. */
    if (!plugin)
        return lines_add(line, err,
                         "%s %s set in the environment and %s (force=1 "
                         "replaces %s): records, memory and disk are "
                         "planned without %s",
                         names, several ? "are" : "is",
                         several ? "stay" : "stays", several ? "them" : "it",
                         several ? "them" : "it");
    /* error_set replaces control characters: the path is foreign text. */
    error_set(&clean, "%s", plugin);
    return lines_add(
        line, err,
        LAUNCH_PLUGIN
        "=%s is set in the environment and stays (force=1 replaces it): %s "
        "does not run, and it is unknown what is recorded",
        clean.text, title);
}

/* Puts a line before the warnings about what is unknown because of the user's
 * own variables. names NULL: nothing to warn about. The old warnings follow it
 * in a new string. */
static int warn_own(struct launch *l, const char *names, struct jp_error *err)
{
    struct launch_choice *choice = &l->choice;
    char *lines = NULL;
    int rc = 0;

    if (names)
        rc = own_line(names, launch_plugin(l), choice->backend->about.title,
                      &lines, err);
    if (rc == 0 && lines && choice->warnings)
        rc = lines_add(&lines, err, "%s", choice->warnings);
    if (rc == 0 && lines) {
        free(choice->warnings);
        choice->warnings = lines;
        lines = NULL;
    }
    free(lines);
    return rc;
}

/* --- the tasks' variables ------------------------------------------------- */

/* Refuses values with a line break, which cannot be passed to the tasks. */
static int check_values(const struct backend_env *env, struct jp_error *err)
{
    for (size_t i = 0; i < env->n; i++)
        for (const char *c = env->vars[i].value; *c; c++)
            if ((unsigned char) *c < 0x20)
                return error_set(err, "%s: a control character in its value",
                                 env->vars[i].name);
    return 0;
}

/* Adds the planner's variables. They are soft unless force=1. */
static int fill_env(struct launch *l, struct jp_error *err)
{
    const struct backend_planner *planner = l->choice.backend->planner;
    struct backend_env env = {
        .soft = !plan_number(&l->plan->sides[OPTION_NCCL], "force")};
    struct jp_jobconf *conf = &l->conf;

    if (planner->env && (planner->env(&l->choice.input, &env, err) < 0 ||
                         check_values(&env, err) < 0))
        goto fail;
    conf->env = calloc(env.n + 1, sizeof(*conf->env));
    if (!conf->env) {
        error_set(err, "out of memory");
        goto fail;
    }
    memcpy(conf->env, env.vars, env.n * sizeof(*conf->env));
    conf->n_env = env.n; /* conf owns the strings now */
    return 0;
fail:
    backend_env_fini(&env);
    return -1;
}

/* --- job.conf ------------------------------------------------------------- */

/* Copies text ("" for NULL) to *slot. Sets *ok to false without memory, so that
 * a caller can make several copies and check once. */
static void copy_to(char **slot, const char *text, bool *ok)
{
    *slot = strdup(text ? text : "");
    *ok = *ok && *slot;
}

/* The Slurm release that this build was made for: "23.11.4", or "" without
 * Slurm. Caller frees. */
static char *slurm_release(void)
{
#ifdef SLURM_VERSION_NUMBER
    return text_format("%d.%02d.%d", SLURM_VERSION_NUMBER >> 16 & 255,
                       SLURM_VERSION_NUMBER >> 8 & 255,
                       SLURM_VERSION_NUMBER & 255);
#else
    return strdup("");
#endif
}

/* Fills the job's identity, the user and the place of submission. */
static int fill_job(const struct launch_facts *facts, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    char host[65] = "", array[48] = "";
    bool ok = true;

    /* If Slurm does not name the submit host, it is this one, because srun runs
     * here. */
    if (!facts->submit_host && gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    conf->schema = JP_JOBCONF_SCHEMA;
    conf->created_us = clock_real_us();
    conf->job_id = facts->names.job_id;
    conf->restart = facts->restart;
    conf->uid = (uint32_t) getuid();
    conf->nnodes = facts->nnodes;
    conf->ntasks = facts->ntasks;
    if (plan_env(facts->env, "SLURM_ARRAY_TASK_ID"))
        snprintf(array, sizeof(array), "%llu_%llu",
                 (unsigned long long) facts->names.array_job_id,
                 (unsigned long long) facts->names.array_task_id);
    copy_to(&conf->array, array, &ok);
    copy_to(&conf->version, PACKAGE_VERSION, &ok);
    copy_to(&conf->step_id, facts->names.step_id, &ok);
    copy_to(&conf->user, facts->user, &ok);
    copy_to(&conf->job_name, facts->names.job_name, &ok);
    copy_to(&conf->account, facts->account, &ok);
    copy_to(&conf->partition, facts->partition, &ok);
    copy_to(&conf->submit_dir, facts->submit_dir, &ok);
    copy_to(&conf->submit_host, facts->submit_host ? facts->submit_host : host,
            &ok);
    copy_to(&conf->command, facts->command, &ok);
    copy_to(&conf->site_file, facts->env->config, &ok);
    conf->slurm_version = slurm_release();
    return ok && conf->slurm_version ? 0 : error_set(err, "out of memory");
}

/* Adds the row "mode": the profiler that runs, and why. */
static int add_mode_row(const struct plan_side *side, const char *mode,
                        const char *reason, struct jp_setting **list, size_t *n,
                        struct jp_error *err)
{
    struct jp_setting one = {(char *) "mode", (char *) mode,
                             (char *) plan_source_words[side->mode_source],
                             side->mode_where, (char *) reason};

    return settings_add(list, n, &one, err);
}

/* Lists the mode first, then the knobs. The plan's own knob "mode" is left out,
 * because the row above has that key. */
static int fill_settings(const struct plan_side *side, const char *mode,
                         const char *reason, struct jp_setting **out, size_t *n,
                         struct jp_error *err)
{
    struct jp_setting *knobs = NULL;
    size_t n_knobs = 0;
    int rc;

    if (settings_list(side, &knobs, &n_knobs, err) < 0)
        return -1;
    rc = add_mode_row(side, mode, reason, out, n, err);
    for (size_t i = 0; i < n_knobs && rc == 0; i++)
        if (strcmp(knobs[i].key, "mode") != 0)
            rc = settings_add(out, n, &knobs[i], err);
    settings_free(knobs, n_knobs);
    return rc;
}

/* Fills the forecast for one rank. own: names of variables that the user has
 * set himself, in which case the amount of data is unknown; NULL: none. */
static int fill_forecast(const struct backend_forecast *forecast,
                         const char *own, struct jp_jobconf *conf,
                         struct jp_error *err)
{
    conf->lost = own ? text_format("unknown: the user's %s is kept", own)
                     : strdup(forecast->lost);
    if (!conf->lost)
        return error_set(err, "out of memory");
    if (own)
        return 0;
    conf->memory_bytes = forecast->memory_bytes;
    conf->disk_bytes = forecast->disk_bytes;
    conf->planned_ops = forecast->planned_ops;
    conf->kept_ops = forecast->kept_ops;
    return 0;
}

/* Stores a line with the number of known issues of the release. It is printed
 * when the step has ended, and only if the step used NCCL; printing it at the
 * start would warn every step of a site. */
static int fill_known(const struct launch_choice *choice, const char *release,
                      struct jp_jobconf *conf, struct jp_error *err)
{
    char text[128] = "";

    if (choice->known)
        snprintf(text, sizeof(text),
                 "%u known issue%s of NCCL %.32s; `jobprof plan` lists %s",
                 choice->n_known, plural(choice->n_known), release,
                 choice->n_known == 1 ? "it" : "them");
    conf->known_issues = strdup(text);
    return conf->known_issues ? 0 : error_set(err, "out of memory");
}

/* Composes srun's message at the start: a change of profiler, missing data, and
 * the warnings. */
static int fill_note(const struct launch_choice *choice, bool own, char **note,
                     struct jp_error *err)
{
    const char *title = choice->backend->about.title;

    if (*choice->reason && !choice->absent &&
        lines_add(note, err, "%s; %s runs", choice->reason, title) < 0)
        return -1;
    if (*choice->forecast.lost && !own &&
        lines_add(note, err, "%s %s", title, choice->forecast.lost) < 0)
        return -1;
    return choice->warnings ? lines_add(note, err, "%s", choice->warnings) : 0;
}

/* Fills the settings of a step whose NCCL is not profiled. */
static int fill_off(const struct plan_side *side, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    bool ok = true;

    copy_to(&conf->nccl_request, "off", &ok);
    copy_to(&conf->nccl_mode, "off", &ok);
    copy_to(&conf->lost, "", &ok);
    copy_to(&conf->known_issues, "", &ok);
    if (!ok)
        return error_set(err, "out of memory");
    return add_mode_row(side, "off", "", &conf->settings, &conf->n_settings,
                        err);
}

/* Describes the value that auto has chosen for the requested iterations. */
static const char *describe_auto(const struct launch *l, char *buf, size_t len)
{
    const struct backend_forecast *f = &l->choice.forecast;
    const struct plan_value *iterations =
        plan_find(&l->plan->sides[OPTION_NCCL], "iterations");

    snprintf(buf, len,
             "auto chose the recorder. It streams, so no pool has to hold the "
             "%s operations of %s%s iterations; %s%s",
             FIG_COUNT(f->planned_ops),
             iterations && iterations->source == PLAN_DEFAULT ? "an assumed "
                                                              : "",
             FIG_COUNT(plan_number(&l->plan->sides[OPTION_NCCL], "iterations")),
             f->kept_ops < f->planned_ops ? "the first " : "all",
             f->kept_ops < f->planned_ops ? FIG_COUNT(f->kept_ops) : "");
    snprintf(buf + strlen(buf), len - strlen(buf), " are kept in %s of files",
             FIG_BYTES(f->disk_bytes));
    return buf;
}

/* What srun prints at the end: as an option says, that of NCCL first, as the
 * other ones may stand alone. */
static enum jp_summary summary_of(const struct jp_plan *plan)
{
    const struct plan_side *of = &plan->sides[OPTION_NCCL];

    for (enum jp_option i = OPTION_NCCL; i < OPTIONS; i++) {
        const struct plan_side *side = &plan->sides[i];
        const struct plan_value *value = plan_find(side, "summary");

        if (value && value->value && value->source != PLAN_DEFAULT) {
            of = side;
            break;
        }
    }
    return (enum jp_summary) plan_number(of, "summary");
}

/* Fills everything about NCCL: settings, the tasks' variables, forecast,
 * warnings. The order matters: the variables must be known before the user's
 * own ones can be found among them. */
static int fill_nccl(struct launch *l, struct jp_error *err)
{
    char text[256];
    const struct plan_side *side = &l->plan->sides[OPTION_NCCL];
    const char *request = side->grammar->modes[side->mode].name;
    const char *reason = l->choice.reason;
    struct jp_jobconf *conf = &l->conf;
    char *own = NULL;
    bool ok = true;
    int rc = -1;

    conf->summary = summary_of(l->plan);
    conf->explicit_request = plan_is_explicit(l->plan);
    if (!l->choice.backend)
        return fill_off(side, conf, err);
    /* Nothing replaced the requested profiler: explain what auto has chosen. */
    if (!*reason && !strcmp(request, "auto"))
        reason = describe_auto(l, text, sizeof(text));
    copy_to(&conf->nccl_request, request, &ok);
    copy_to(&conf->nccl_mode, l->choice.backend->about.name, &ok);
    if (!ok)
        return error_set(err, "out of memory");
    if (fill_settings(side, l->choice.backend->about.name, reason,
                      &conf->settings, &conf->n_settings, err) < 0 ||
        fill_env(l, err) < 0)
        return -1;
    find_vars(l);
    if (launch_own(l, &own, err) == 0 && warn_own(l, own, err) == 0 &&
        fill_forecast(&l->choice.forecast, own, conf, err) == 0 &&
        fill_known(&l->choice, plan_get(side, "nccl"), conf, err) == 0)
        rc = fill_note(&l->choice, own != NULL, &l->note, err);
    free(own);
    return rc;
}

/* --- containers ----------------------------------------------------------- */

/* A pyxis option: srun's own, or the variable that stands for it. NULL: neither
 * is set. */
static const char *pyxis_option(const struct plan_input *in, const char *option,
                                const char *variable)
{
    const char *value = plan_env(in, option);

    return value ? value : plan_env(in, variable);
}

/* Whether a pyxis mount "SRC[:DST[:FLAG+FLAG]]" covers dir with something else
 * or makes it read-only. Writes to mount. */
static bool lies_over(char *mount, const char *dir)
{
    char *rest = mount, *from = strsep(&rest, ":"), *to = strsep(&rest, ":");
    size_t n;

    if (!to || !*to)
        to = from;
    /* Compare whole path components: "/scratch" covers "/scratch/x" but not
     * "/scratch2". A mount at "/" covers everything. */
    n = strlen(to);
    while (n > 1 && to[n - 1] == '/')
        n--;
    if (*to != '/' || strncmp(dir, to, n) != 0 ||
        (dir[n] && dir[n] != '/' && n > 1))
        return false;
    for (char *flag; (flag = strsep(&rest, "+"));)
        if (!strcmp(flag, "ro"))
            return true;
    /* A mount of a path to itself shows the same files and hides nothing. */
    return strcmp(from, to) != 0;
}

/* Describes what pyxis' options may hide from the tasks. A running container
 * has only the mounts from its start. The user's own mounts come after ours:
 * they may cover dir, the step's directory, or make it read-only. Returns one
 * sentence, "" if nothing is hidden, NULL without memory (caller frees). *over:
 * a mount covers dir or makes it read-only. */
static char *note_container(const struct plan_input *env, const char *dir,
                            bool *over)
{
    const char *name = pyxis_option(env,
                                    "_SLURM_SPANK_OPTION_pyxis_container_name",
                                    "PYXIS_CONTAINER_NAME");
    const char *mounts =
        pyxis_option(env, "_SLURM_SPANK_OPTION_pyxis_container_mounts",
                     "PYXIS_CONTAINER_MOUNTS");
    char *copy = strdup(mounts ? mounts : ""), *rest = copy, *one;
    char *note = NULL;

    *over = false;
    while (copy && !note && (one = strsep(&rest, ","))) {
        char *mount = strdup(one);

        if (mount && lies_over(mount, dir)) {
            *over = true;
            note = text_format("--container-mounts: %s covers %s in the "
                               "container, to which the profiler writes",
                               one, dir);
        }
        free(mount);
    }
    free(copy);
    if (*over)
        return note;
    return name ? text_format("--container-name=%s: an existing container "
                              "keeps the mounts of its start and does not see "
                              "jobprof's library and folder",
                              name)
                : strdup("");
}

/* Stores the container settings. Paths are mapped only if the step is known to
 * run in containers, or if the site file says that all steps do
 * (container_steps). A note about mounts that hide the step's directory is also
 * shown to the user. */
static int fill_container(struct launch *l, struct jp_error *err)
{
    const char *steps = plan_site(l->plan, "container_steps");
    const char *binds = plan_site(l->plan, "container_binds");
    const char *paths = plan_site(l->plan, "container_paths");
    bool ok = true, over;

    if (!l->facts->contained && !(steps && !strcmp(steps, "all")))
        paths = NULL;
    copy_to(&l->conf.container_binds, binds, &ok);
    copy_to(&l->conf.container_paths, paths, &ok);
    l->conf.container_note =
        note_container(l->facts->env, l->place.step_dir, &over);
    if (!ok || !l->conf.container_note)
        return error_set(err, "out of memory");
    return over ? lines_add(&l->note, err, "%s", l->conf.container_note) : 0;
}

/* --- the whole launch ----------------------------------------------------- */

/* Calls what each option besides --nccl-profile adds to a step, then what
 * depends on the others, also of folders that only add knobs to an option. */
static int fill_sides(struct launch *l, struct jp_error *err)
{
    const struct side_step step = {l->facts, l->plan, l->place.step_dir};

    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);

        if (side->fill && side->fill(&step, &l->conf, &l->note, err) < 0)
            return -1;
    }
    for (size_t i = 0; backend_registry[i]; i++) {
        const struct launch_side *side = backend_registry[i]->side;

        if (side && side->complete &&
            side->complete(&step, &l->conf, &l->note, err) < 0)
            return -1;
    }
    return 0;
}

/* Fills the rest of the launch, once the place is known. The other options need
 * the job's ids and the number of nodes. */
static int fill_launch(struct launch *l, struct jp_error *err)
{
    struct jp_jobconf *conf = &l->conf;
    const char *again;
    bool ok = true;

    conf->policy = l->plan->policy;
    conf->hidden = l->place.hidden;
    copy_to(&conf->final_dir, l->place.final_dir, &ok);
    if (!ok)
        return error_set(err, "out of memory");
    if (choice_make(l->facts, l->plan, l->place.step_dir, &l->choice, err) <
            0 ||
        fill_job(l->facts, conf, err) < 0 || fill_nccl(l, err) < 0 ||
        fill_container(l, err) < 0 || fill_sides(l, err) < 0)
        return -1;
    again = plan_site(l->plan, "policy.task_env");
    if (again && !strcmp(again, "last") &&
        jobconf_add_env(conf, JP_TASK_ENV, strdup("last"), "policy.task_env",
                        false, err) < 0)
        return -1;
    if (facts_is_script(conf->step_id) &&
        jobconf_add_env(conf, JP_STEP_VARIABLE, strdup(conf->step_id),
                        "Slurm names no step in a script", false, err) < 0)
        return -1;
    l->beside = launch_beside(l->facts, l->plan);
    return 0;
}

/* Fills the place with a directory for display only; nothing is created
 * there. */
static int name_place(const char *dir, struct launch_place *place,
                      struct jp_error *err)
{
    bool ok = true;

    copy_to(&place->job_dir, "", &ok);
    copy_to(&place->step_dir, dir, &ok);
    copy_to(&place->final_dir, "", &ok);
    return ok ? 0 : error_set(err, "out of memory");
}

int launch_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *dir, struct launch *out, struct jp_error *err)
{
    struct launch l = {.plan = plan, .facts = facts, .beside = OPTIONS};
    int rc = dir ? name_place(dir, &l.place, err)
                 : place_find(facts, plan, &l.place, err);

    if (rc < 0 || fill_launch(&l, err) < 0) {
        launch_fini(&l);
        return -1;
    }
    *out = l;
    return 0;
}

/* --- a step --------------------------------------------------------------- */

/* The settings as job.conf has them. The reason of the mode is followed by the
 * reason why the site's default applies to this job, and the knobs are followed
 * by the user's own variables. NULL without memory. The array and the first
 * row's reason are owned by the caller; everything else is borrowed from l. */
static struct jp_setting *list_rows(const struct launch *l, size_t *n)
{
    const struct jp_jobconf *conf = &l->conf;
    const char *why = l->plan->sides[OPTION_NCCL].mode_reason;
    const char *reason = conf->settings[0].reason;
    struct jp_setting *rows =
        calloc(conf->n_settings + l->n_vars, sizeof(*rows));

    if (!rows)
        return NULL;
    memcpy(rows, conf->settings, conf->n_settings * sizeof(*rows));
    *n = conf->n_settings;
    for (size_t i = 0; i < l->n_vars; i++)
        rows[(*n)++] = (struct jp_setting){
            (char *) l->vars[i].name, (char *) l->vars[i].value,
            (char *) plan_source_words[PLAN_ENV], (char *) l->vars[i].name,
            (char *) LAUNCH_VAR_REASON};
    rows[0].reason =
        why && *why ? text_format("%s%s%s", reason, *reason ? "; " : "", why)
                    : strdup(reason);
    if (rows[0].reason)
        return rows;
    free(rows);
    return NULL;
}

/* Writes job.conf and hashes it. The nodes refuse a job.conf with another hash,
 * because the tasks could have changed the file. */
static int write_conf(struct launch *l, struct jp_error *err)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, l->place.step_dir);
    struct jp_jobconf conf = l->conf; /* shares everything with l->conf except
                                       * the rows */
    int rc = -1;

    conf.settings = list_rows(l, &conf.n_settings);
    if (!path || !conf.settings)
        error_set(err, "out of memory");
    else if (jobconf_write(path, &conf, err) == 0 &&
             jobconf_hash(path, l->hash, err) == 0)
        rc = 0;
    if (conf.settings)
        free(conf.settings[0].reason);
    free(conf.settings);
    free(path);
    return rc;
}

/* Writes the other options' files into the new directory. */
static int write_sides(const struct launch *l, struct jp_error *err)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);

        if (side->write && side->write(&l->conf, l->place.step_dir, err) < 0)
            return -1;
    }
    return 0;
}

/* Makes the directory with its job.conf. If a file cannot be written, the
 * directory is removed again. */
static int write_place(struct launch *l, struct jp_error *err)
{
    if (place_make(&l->place, l->facts, err) < 0)
        return -1;
    if (write_sides(l, err) == 0 && write_conf(l, err) == 0)
        return 0;
    place_unmake(&l->place);
    return -1;
}

/* Handles an unusable directory. If only a default requested a profile, the
 * step runs without one, and the site gets the message. */
static int no_place(struct launch *l, const struct jp_error *err)
{
    int rc = plan_is_explicit(l->plan) ? -1 : 0;

    if (rc == 0)
        sitelog("job %" PRIu64 ", uid %lu: %s (the step runs unprofiled)",
                l->facts->names.job_id, (unsigned long) geteuid(), err->text);

    launch_fini(l);
    return rc;
}

/* Finds a place, fills the launch and writes it. Returns 0 with no step_dir if
 * only a default requested the profile and the place cannot be used. */
static int make_step(struct launch *l, struct jp_error *err)
{
    if (place_find(l->facts, l->plan, &l->place, err) < 0)
        return no_place(l, err);
    if (fill_launch(l, err) < 0)
        return -1;
    return write_place(l, err) < 0 ? no_place(l, err) : 0;
}

/* Reports settings of the user that a locked default has overruled. */
static int note_locks(const struct jp_plan *plan, char **note,
                      struct jp_error *err)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (plan->sides[i].overruled &&
            lines_add(note, err, "%s", plan->sides[i].overruled) < 0)
            return -1;
    return 0;
}

bool launch_is_wanted(const struct launch_facts *facts,
                      const struct jp_plan *plan)
{
    if (plan_is_profiled(plan))
        return true;
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);

        if (side->runs && side->runs(facts, plan))
            return true;
    }
    return false;
}

enum jp_option launch_beside(const struct launch_facts *facts,
                             const struct jp_plan *plan)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct backend *backend = backend_of_option(i);

        if (backend && backend->runner && backend->side->runs &&
            backend->side->runs(facts, plan))
            return i;
    }
    return OPTIONS;
}

/* Explains why nothing runs, if the user has requested something that cannot
 * run. -1 and err: that is an error. */
static int explain_idle(const struct launch_facts *facts,
                        const struct jp_plan *plan, char **note,
                        struct jp_error *err)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);

        if (side->idle && side->idle(facts, plan, note, err) < 0)
            return -1;
    }
    return 0;
}

int launch_step(const struct launch_facts *facts, const struct jp_plan *plan,
                struct launch *out, struct jp_error *err)
{
    struct launch l = {.plan = plan, .facts = facts, .beside = OPTIONS};
    int rc = launch_is_wanted(facts, plan)
                 ? make_step(&l, err)
                 : explain_idle(facts, plan, &l.note, err);

    /* notes on limits of a site default would only surprise users */
    if (rc == 0 && l.place.step_dir && !plan_is_explicit(plan)) {
        free(l.note);
        l.note = NULL;
    }
    if (rc == 0)
        rc = note_locks(plan, &l.note, err);
    if (rc < 0) {
        launch_fini(&l);
        return -1;
    }
    *out = l;
    return 0;
}

unsigned launch_limit_s(const struct launch *launch)
{
    /* What runs beside the tasks writes its files within KillWait after them;
     * srun's report waits for it. */
    const char *kill_wait =
        launch->beside < OPTIONS
            ? jobconf_side_find(&launch->conf, launch->beside, "kill_wait")
            : NULL;

    return (launch->plan->policy.report_limit_ms + 999) / 1000 +
           (unsigned) strtoul(kill_wait ? kill_wait : "0", NULL, 10);
}

void launch_fini(struct launch *launch)
{
    const struct launch empty = {
        .plan = launch->plan, .facts = launch->facts, .beside = OPTIONS};

    jobconf_fini(&launch->conf);
    choice_fini(&launch->choice);
    place_fini(&launch->place);
    free(launch->note);
    *launch = empty;
}

/* --- before the allocation ------------------------------------------------ */

/* Hides the environment: only the option and the site file may refuse a job.
 * Errors in the environment or in the user's file become one line when the step
 * runs. */
static const char *no_env(void *arg, const char *name)
{
    (void) arg;
    (void) name;
    return NULL;
}

/* The shape of a node from the site file. The memory of this host is not used,
 * because it is not one of the job's nodes. */
static struct jp_jobshape certain_shape(const struct jp_plan *plan)
{
    return (struct jp_jobshape){
        .step_memory_bytes = plan->node_memory_bytes,
        .node.ram_bytes = plan->node_memory_bytes,
        .node.overcommit = plan->node_memory_bytes ? 0 : 1,
        .ram_known = plan->node_memory_bytes > 0,
    };
}

int launch_check(const struct plan_input *in, struct jp_error *err)
{
    struct plan_input outside = *in;
    struct backend_input input = {.step_dir = "/"};
    struct backend_forecast forecast = {0};
    const struct jp_profiler *profiler;
    const struct backend *backend;
    struct jp_plan plan;
    int rc = 0;

    /* Whatever remains after this is certain for every job with this option. */
    outside.env = no_env;
    if (plan_make(&outside, &plan, NULL) < 0)
        return 0; /* errors in files are reported when the step runs */
    profiler =
        plan.sides[OPTION_NCCL].grammar->modes[plan.sides[OPTION_NCCL].mode].of;
    backend = profiler ? backend_find(profiler->name) : NULL;
    /* A profiler with a fallback is never refused: the fallback runs
     * instead. */
    if (backend && backend->planner && backend->planner->size &&
        !backend->planner->fallback) {
        input.side = &plan.sides[OPTION_NCCL];
        input.release = release_of(&plan, profiler);
        input.shape = certain_shape(&plan);
        rc = backend->planner->size(&input, &forecast, err);
    }
    plan_fini(&plan);
    return rc;
}
