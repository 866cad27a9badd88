/* choice.c - choose the profiler by the mode, the known issues of the release,
 * and the cost.
 *
 * choose_backend() takes the backend whose library the user has set; if there
 * is none, the one of the mode, and then its fallback. try_backend() decides
 * whether one of them can run. choice_check is the part of it that is certain
 * before the allocation.
 */
#include "orchestrator/agent/launch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/knownbad.h"
#include "orchestrator/agent/settings.h"

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
                  CHOICE_LIBRARY " in the environment names a library of "
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

int choice_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *step_dir, struct launch_choice *out,
                struct jp_error *err)
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
                backend_user_value(&choice.input, CHOICE_LIBRARY);
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

void choice_fini(struct launch_choice *choice)
{
    free(choice->reason);
    free(choice->declined);
    free(choice->warnings);
    free(choice->known);
    free(choice->remarks);
    *choice = (struct launch_choice){0};
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

int choice_check(const struct plan_input *in, struct jp_error *err)
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
