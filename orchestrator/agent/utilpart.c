/* utilpart.c - the period of a step's samples, the user's labels for it, and
 * the counters of CUDA calls (cuda=1). */
#include "orchestrator/agent/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/settings.h"
#include "plugins/cuda/cuda_file.h"

/* Why the period differs from the setting; "": it does not. */
static const char *why(const struct plan_side *side, uint32_t period_ms)
{
    uint64_t us = plan_number(side, "period");

    if (us && period_ms > us / 1000)
        return "no shorter than 100 ms";
    return us ? "" : "the site samples only steps with the option";
}

/* Adds the period that is in effect, which may differ from the requested
 * one. */
static int add_period(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "period");
    uint32_t ms = conf->policy.util_period_ms;
    char text[32];
    struct jp_setting one = {
        (char *) "period",
        num_format_time_us((uint64_t) ms * 1000, text, sizeof(text)),
        (char *) plan_source_words[from->source], from->where,
        (char *) why(side, ms)};

    return settings_add(&conf->util_settings, &conf->n_util_settings, &one,
                        err);
}

/* Adds the user's labels, if there are any. They are kept even if nothing is
 * sampled, because the report prints them. */
static int add_labels(const struct plan_side *side, struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "labels");
    struct jp_setting one = {(char *) "labels", from->value,
                             (char *) plan_source_words[from->source],
                             from->where, (char *) ""};

    return from->value ? settings_add(&conf->util_settings,
                                      &conf->n_util_settings, &one, err)
                       : 0;
}

/* The milliseconds between two samples of utilisation in this step; 0: no
 * samples. By default, a step is sampled if the user requests any profile. A
 * step that is profiled only by a site's default is sampled only if the site's
 * default includes utilisation. */
static uint32_t period_ms_of(const struct jp_plan *plan)
{
    const struct plan_side *util = &plan->util;
    uint64_t us = plan_number(util, "period");
    bool wanted = util->mode ||
                  (util->mode_source == PLAN_DEFAULT &&
                   (plan_is_explicit(plan) || plan_is_printed(plan)));

    if (!wanted)
        return 0;
    /* period 0 in the site file: only steps with the option are sampled */
    if (!us)
        return plan_is_sampled(plan) ? JP_DEF_UTIL_PERIOD_MS : 0;
    return us < JP_UTIL_PERIOD_MIN_MS * 1000 ? JP_UTIL_PERIOD_MIN_MS
                                             : (uint32_t) (us / 1000);
}

/* --- CUDA calls --------------------------------------------------------------
 */

#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* The library that the user has set. A value left by an outer profiled step
 * does not count. */
static const char *own_library(const struct launch_facts *facts)
{
    const char *ours = plan_env(facts->env, "JOBPROF_SET");
    const char *own = plan_env(facts->env, CUDA_ENV_LIBRARY);

    return own && !(ours && knob_list_has(ours, CUDA_ENV_LIBRARY)) ? own : NULL;
}

/* Why CUDA calls are not counted, as a clause; NULL: they are counted. */
static const char *why_not(const struct launch_facts *facts, char buf[256])
{
    const char *own = own_library(facts);

    if (own) {
        snprintf(buf, 256,
                 CUDA_ENV_LIBRARY "=%.120s is set in the environment "
                                  "and stays",
                 QUOTE(own));
        return buf;
    }
    return facts->contained ? "the step runs in a container" : NULL;
}

/* With cuda=1, adds the setting and the tasks' variables. Without samples,
 * nothing would collect the counters. */
static int add_cuda(const struct launch_facts *facts,
                    const struct jp_plan *plan, const char *step_dir,
                    struct jp_jobconf *conf, char **note, struct jp_error *err)
{
    const struct plan_value *from = plan_find(&plan->util, "cuda");
    bool asked = from->value && plan_number(&plan->util, "cuda");
    bool wanted = asked && conf->policy.util_period_ms;
    char buf[256];
    const char *reason = wanted ? why_not(facts, buf) : NULL;
    const struct jp_setting one = {
        (char *) "cuda", (char *) (reason ? "0" : "1"),
        (char *) plan_source_words[from->source], from->where,
        (char *) (reason ? reason : "calls into CUDA are counted")};

    /* Only an explicit request deserves a message. */
    if (!wanted)
        return asked && from->source >= PLAN_ENV
                   ? lines_add(
                         note, err,
                         "cuda=1: no counters, because nothing is sampled")
                   : 0;
    if (settings_add(&conf->util_settings, &conf->n_util_settings, &one, err) <
        0)
        return -1;
    if (reason)
        return lines_add(note, err, "cuda=1: no counters: %s", reason);
    /* The library is soft, so that a variable in the script's environment
     * stays. */
    if (jobconf_add_env(conf, CUDA_ENV_LIBRARY, strdup(INSTALLED),
                        "counts calls", true, err) < 0 ||
        jobconf_add_env(conf, CUDA_ENV_DIR,
                        text_format("%s/raw/%%N/" CUDA_DIR, step_dir), "",
                        false, err) < 0)
        return -1;
    return jobconf_nsys(conf, "ranks")
               ? lines_add(note, err,
                           "cuda=1: ranks under nsys have no counters, because "
                           "nsys uses CUPTI itself")
               : 0;
}

/* The period is decided first: mode, period and CUDA's counters depend on
 * it. */
int utilpart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err)
{
    const struct plan_side *side = &plan->util;
    bool runs;

    conf->policy.util_period_ms = period_ms_of(plan);
    runs = conf->policy.util_period_ms > 0;
    conf->util_request = strdup(side->grammar->modes[side->mode].name);
    if (!conf->util_request)
        return error_set(err, "out of memory");
    if (runs) {
        struct jp_setting mode = {
            (char *) "mode", (char *) side->grammar->modes[1].name,
            (char *) plan_source_words[side->mode_source], side->mode_where,
            (char *) (side->mode ? "" : "as in every profiled step")};

        if (settings_add(&conf->util_settings, &conf->n_util_settings, &mode,
                         err) < 0 ||
            add_period(side, conf, err) < 0)
            return -1;
    }
    return add_labels(side, conf, err) < 0
               ? -1
               : add_cuda(facts, plan, step_dir, conf, note, err);
}

bool cudapart_check(struct jp_jobconf *conf, char **path)
{
    for (size_t i = 0; i < conf->n_env; i++) {
        /* Take the variable out of the list; its value becomes the caller's. */
        struct jp_envvar *var = &conf->env[i];

        if (strcmp(var->name, CUDA_ENV_LIBRARY) != 0 ||
            access(var->value, R_OK) == 0)
            continue;
        free(var->name);
        free(var->reason);
        *path = var->value;
        memmove(var, var + 1, (--conf->n_env - i) * sizeof(*var));
        return false;
    }
    return true;
}
