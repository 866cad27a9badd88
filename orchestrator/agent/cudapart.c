/* cudapart.c - decide whether a step's CUDA calls are counted. */
#include "orchestrator/agent/cudapart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/knob.h"
#include "common/lines.h"
#include "common/quote.h"
#include "orchestrator/agent/settings.h"
#include "plugins/cuda/cuda_env.h"

#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* The library that the user has set. A value left by an outer profiled step
 * does not count. */
static const char *own_library(const struct launch_facts *facts)
{
    const char *ours = plan_env(facts->env, "JOBPROF_SET");
    const char *own = plan_env(facts->env, CUDA_ENV_LIBRARY);

    return own && !(ours && knob_list_has(ours, CUDA_ENV_LIBRARY)) ? own : NULL;
}

/* Adds a variable for the tasks. Takes ownership of value. */
static int tell(struct jp_jobconf *conf, const char *name, char *value,
                const char *reason, bool soft, struct jp_error *err)
{
    struct jp_envvar *more =
        reallocarray(conf->env, conf->n_env + 1, sizeof(*more));

    if (more) {
        conf->env = more;
        more[conf->n_env++] = (struct jp_envvar){.name = strdup(name),
                                                 .value = value,
                                                 .soft = soft,
                                                 .reason = strdup(reason)};
        more += conf->n_env - 1;
    } else {
        free(value);
    }
    return more && more->name && more->value && more->reason
               ? 0
               : error_set(err, "out of memory");
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

int cudapart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err)
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
    if (tell(conf, CUDA_ENV_LIBRARY, strdup(INSTALLED), "counts calls", true,
             err) < 0 ||
        tell(conf, CUDA_ENV_DIR, fileio_path("%s/raw/%%N/" CUDA_DIR, step_dir),
             "", false, err) < 0)
        return -1;
    return jobconf_nsys(conf, "ranks")
               ? lines_add(note, err,
                           "cuda=1: ranks under nsys have no counters, because "
                           "nsys uses CUPTI itself")
               : 0;
}

bool cudapart_check(struct jp_jobconf *conf, char **path)
{
    for (size_t i = 0; i < conf->n_env; i++) {
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
