/* cuda_launch.c - the counters of CUDA calls in a step (cuda=1 of the option
 * that takes samples): the tasks' variables. */
#include "plugins/cuda/cuda_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/knob.h"
#include "common/quote.h"
#include "common/settings.h"
#include "plugins/cuda/cuda_file.h"

#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* The library that the user has set. What an outer profiled step has left does
 * not count; srun has removed JOBPROF_SET, which lists it, but it is ours. */
static const char *own_library(const struct launch_facts *facts)
{
    const char *ours = plan_env(facts->env, "JOBPROF_SET");
    const char *own = plan_env(facts->env, CUDA_ENV_LIBRARY);

    if (!own || !strcmp(own, INSTALLED) ||
        (ours && knob_list_has(ours, CUDA_ENV_LIBRARY)))
        return NULL;
    return own;
}

/* Why CUDA calls are not counted, as a clause; NULL: they are counted. */
static const char *find_obstacle(const struct launch_facts *facts,
                                 char buf[256])
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

/* Without samples, nothing would collect the counters. */
static int complete(const struct side_step *step, struct jp_jobconf *conf,
                    char **note, struct jp_error *err)
{
    enum jp_option option = profiler_sampler();
    const struct plan_side *side;
    const struct plan_value *from;
    const char *title, *obstacle;
    bool asked, wanted;
    char buf[256];

    if (option == OPTIONS)
        return 0;
    side = &step->plan->sides[option];
    from = plan_find(side, "cuda");
    asked = from->value && plan_number(side, "cuda");
    wanted = asked && conf->policy.period_ms;
    obstacle = wanted ? find_obstacle(step->facts, buf) : NULL;
    /* Only an explicit request deserves a message. */
    if (!wanted)
        return asked && from->source >= PLAN_ENV
                   ? lines_add(
                         note, err,
                         "cuda=1: no counters, because nothing is sampled")
                   : 0;
    if (settings_add_value(
            &conf->sides[option], "cuda", obstacle ? "0" : "1", from,
            obstacle ? obstacle : "calls into CUDA are counted", err) < 0)
        return -1;
    if (obstacle)
        return lines_add(note, err, "cuda=1: no counters: %s", obstacle);
    /* The library is soft, so that a variable in the script's environment
     * stays. */
    if (jobconf_add_env(conf, CUDA_ENV_LIBRARY, strdup(INSTALLED),
                        "counts calls", true, err) < 0 ||
        jobconf_add_env(conf, CUDA_ENV_DIR,
                        text_format("%s/raw/%%N/" CUDA_DIR, step->step_dir), "",
                        false, err) < 0)
        return -1;
    return side_takes_cupti(conf, &title)
               ? lines_add(note, err,
                           "cuda=1: ranks under %s have no counters, because "
                           "%s uses CUPTI itself",
                           title, title)
               : 0;
}

/* How CUDA's driver reacts to a missing file is not under our control. */
static void adapt(struct jp_jobconf *conf, const char *ready, char *line,
                  size_t len)
{
    (void) ready;
    for (size_t i = 0; i < conf->n_env; i++) {
        struct jp_envvar *var = &conf->env[i];

        if (strcmp(var->name, CUDA_ENV_LIBRARY) != 0 ||
            access(var->value, R_OK) == 0)
            continue;
        snprintf(line, len, "no CUDA counters: %s is not on this node",
                 var->value);
        free(var->name);
        free(var->value);
        free(var->reason);
        memmove(var, var + 1, (--conf->n_env - i) * sizeof(*var));
        return;
    }
}

const struct launch_side cuda_side = {.complete = complete, .adapt = adapt};

void cuda_check_step(const struct backend_host *host,
                     const struct jp_jobconf *conf)
{
    for (size_t i = 0; i < conf->n_env; i++) {
        const struct jp_envvar *var = &conf->env[i];

        if (strcmp(var->name, CUDA_ENV_LIBRARY) != 0)
            continue;
        if (access(var->value, R_OK) < 0)
            host->add(host, BACKEND_WARN, "cuda",
                      "install it, or leave cuda=1 out: no calls are counted",
                      "%s: %s", var->value, strerror(errno));
        else
            host->add(host, BACKEND_OK, "cuda", "", "%s counts CUDA's calls",
                      var->value);
    }
}
