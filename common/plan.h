/* plan.h - settings merged by key: option, environment, another program's file,
 * user file, site file, default, in this order.
 *
 * Apart from reading the settings files, this has no side effects. Which
 * profiler runs, and where, is decided later (orchestrator/agent/launch.h).
 */
#ifndef JP_COMMON_PLAN_H
#define JP_COMMON_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/grammar.h"
#include "common/jobconf.h"
#include "common/sitefile.h"

/* --- whether a site's default applies to this job.
 *
 * The site file may restrict its default to partitions, accounts, generic
 * resources and a minimum time limit (nccl.default_*). All conditions that are
 * given must hold; one that depends on an unknown fact does not hold.
 */

/* Facts about a job. "" and 0: unknown. */
struct jp_jobfacts {
    char partition[128];
    char account[128];
    char gres[256];         /* names, separated by commas: "gpu,nvme" */
    uint64_t time_limit_us; /* UINT64_MAX: none */
};

/* Fills facts that are still unknown, in bounded time. It may fail. */
typedef void jobfacts_ask(void *arg, struct jp_jobfacts *facts);
/* A variable's value, or NULL. */
typedef const char *jobfacts_env(const void *arg, const char *name);

struct activation_input {
    const struct jp_sitefile *site;
    jobfacts_env *env;
    const void *env_arg;
    jobfacts_ask *ask; /* called at most once, if env is not enough; or NULL */
    void *ask_arg;
};

/* Whether the site file has any condition. */
bool activation_is_bound(const struct jp_sitefile *site);
/* Whether all conditions hold. reason becomes "default for partition gpu and
 * account ai", or "" without conditions. */
bool activation_holds(const struct activation_input *in, char *reason,
                      size_t len);

enum plan_source {
    PLAN_DEFAULT,
    PLAN_SITE,
    PLAN_USER,
    PLAN_JSON, /* the file named by a knob of the kind JP_KNOB_FILE */
    PLAN_ENV,
    PLAN_OPTION,
};

/* "default", "site file", "user file", "JSON file", "environment", "option". */
extern const char *const plan_source_words[6];

struct plan_value {
    char *value; /* NULL: not set and no default */
    char *where; /* "file:line", a variable's name or "" */
    enum plan_source source;
};

/* The effective settings of one option. */
struct plan_side {
    const struct jp_grammar *grammar;
    int mode; /* index in grammar->modes; 0 is off */
    enum plan_source mode_source;
    char *mode_where;
    char *mode_reason; /* the conditions that are met by the job, if a site's
                          default has some; or "" */
    char *overruled; /* message for the user if a lock of the site has overruled
                        the mode, or NULL */
    char *trouble; /* a mistake in another program's variables or file, because
                      of which the option is off; NULL: none */
    struct plan_value values[JP_KNOBS_MAX]; /* by index of the knob */
};

struct jp_plan {
    struct plan_side sides[OPTIONS];
    struct jp_policy policy;
    const struct jp_sitefile *site; /* the site file, for plan_site */
    struct jp_sitefile *own_site;   /* the same if read by the plan, or NULL */
    uint64_t node_memory_bytes;     /* nccl.node_memory; 0: not set */
};

struct plan_input {
    const char *config; /* --config; NULL: JP_DEF_SITE_FILE if it exists */
    /* the site file if the caller has read it, borrowed by the plan as well;
     * NULL: it is read */
    const struct jp_sitefile *site;
    const char *default_mode;   /* the plugstack line's default=; NULL: off */
    const char *given[OPTIONS]; /* the options' values; NULL: not given */
    /* a variable's value or NULL; NULL: getenv */
    const char *(*env)(void *arg, const char *name);
    void *env_arg;
    /* asks Slurm for facts that the environment does not have, if a condition
     * of the site's default depends on them; NULL: cannot ask */
    jobfacts_ask *ask;
    void *ask_arg;
    bool settled; /* the conditions are known to hold: srun has decided */
    bool strict; /* locks also apply if the mode is off, and a locked default is
                    an error instead of being overruled */
};

/* A variable through in->env; NULL if it is absent or empty. */
const char *plan_env(const struct plan_input *in, const char *name);

/* Merges all sources. Errors contain option, variable, or file and line. If the
 * conditions of a site's default do not hold, the mode stays off. If a locked
 * default applies, the user cannot change it (overruled). On failure *out is
 * unchanged; otherwise free with plan_fini. */
int plan_make(const struct plan_input *in, struct jp_plan *out,
              struct jp_error *err);
void plan_fini(struct jp_plan *plan);

/* Whether an NCCL profile of the step is requested (mode plan only prints). */
bool plan_is_profiled(const struct jp_plan *plan);
/* Whether mode plan is requested. */
bool plan_is_printed(const struct jp_plan *plan);
/* Whether the user requests what an option besides --nccl-profile does. Then
 * the step has a report, even if everything else is off. */
bool plan_side_is_asked(const struct plan_side *side);
/* Whether an option was requested by itself or by its own variable, not by
 * variables or a file of another program. */
bool plan_side_is_own(const struct plan_side *side);
/* Turns off what only a step of srun can have. */
void plan_drop_srun(struct jp_plan *plan);
/* Whether the user has requested anything, by option or variable, instead of a
 * default. */
bool plan_is_explicit(const struct jp_plan *plan);
/* Whether the user requests anything. Then a problem is reported even if the
 * settings could not be merged. Otherwise the site is told (sitelog.h). */
bool plan_is_asked(const struct plan_input *in);

/* Reads the site file: config, or JP_DEF_SITE_FILE if it exists. */
int plan_load_site(const char *config, struct jp_sitefile *out,
                   struct jp_error *err);

/* Checks the value of one option: grammar, ranges and the site's locks. A lock
 * on a default with conditions is not checked, because the job is not known
 * yet. site: empty if it cannot be read, which is no reason to refuse. */
int plan_check(const struct jp_grammar *grammar, const char *text,
               const struct jp_sitefile *site, struct jp_error *err);

/* The effective value of a knob (borrowed), or NULL; its number, or 0 if it has
 * none or is a text. */
const char *plan_get(const struct plan_side *side, const char *knob);
uint64_t plan_number(const struct plan_side *side, const char *knob);
/* The value with its source; NULL: unknown knob. Borrowed. */
const struct plan_value *plan_find(const struct plan_side *side,
                                   const char *knob);

/* The value of a site key that is not a knob ("nccl.known_bad",
 * "container_binds"), or NULL. plan_site_value also returns its place.
 * Borrowed. */
const char *plan_site(const struct jp_plan *plan, const char *name);
const struct sitefile_value *
plan_site_value(const struct jp_plan *plan, const char *group, const char *key);

/* The path of the user's file; NULL: neither HOME nor XDG_CONFIG_HOME is set,
 * or no memory. Caller frees. */
char *plan_user_path(const struct plan_input *in);

#endif
