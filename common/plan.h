/* plan.h - settings merged by key: option, environment, another program's file,
 * user file, site file, default, in this order.
 *
 * Pure but for the settings files. What profiler runs, and where, is
 * decided later (orchestrator/agent/launch.h).
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
 * The site file may bind its default to partitions, accounts, generic resources
 * and a least time limit (nccl.default_*). All that are given must hold; what
 * cannot be known does not hold.
 */

/* What is known of a job. "" and 0: not known. */
struct jp_jobfacts {
    char partition[128];
    char account[128];
    char gres[256];         /* names, commas between: "gpu,nvme" */
    uint64_t time_limit_us; /* UINT64_MAX: none */
};

/* Fills what is still unknown in *facts, in bounded time; it may fail to. */
typedef void jobfacts_ask(void *arg, struct jp_jobfacts *facts);
/* A variable's value, or NULL. */
typedef const char *jobfacts_env(const void *arg, const char *name);

struct activation_input {
    const struct jp_sitefile *site;
    jobfacts_env *env;
    const void *env_arg;
    jobfacts_ask *ask; /* called once at most, where env is not enough; NULL */
    void *ask_arg;
};

/* Are there any conditions? */
bool activation_is_bound(const struct jp_sitefile *site);
/* Do they hold? reason gets "default for partition gpu and account ai", or ""
 * where there are none. */
bool activation_holds(const struct activation_input *in, char *reason,
                      size_t len);

enum plan_source {
    PLAN_DEFAULT,
    PLAN_SITE,
    PLAN_USER,
    PLAN_JSON, /* the file that a knob of the kind JP_KNOB_FILE names */
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

/* One option family's effective settings. */
struct plan_side {
    const struct jp_grammar *grammar;
    int mode; /* index in grammar->modes; 0 is off */
    enum plan_source mode_source;
    char *mode_where;
    char *mode_reason; /* the conditions that a site's default meets, or "" */
    char *overruled; /* the message for the user if the site's lock overrules a
                        mode, else NULL */
    char *trouble;   /* a mistake in another program's variables or file, which
                        keeps this option out of the step; NULL: none */
    struct plan_value values[JP_KNOBS_MAX]; /* by knob */
};

struct jp_plan {
    struct plan_side nccl, copper, util, clock, nsys;
    struct jp_policy policy;
    const struct jp_sitefile *site; /* for plan_site */
    struct jp_sitefile *own_site;   /* the same, where the plan has read it */
    uint64_t node_memory_bytes;     /* nccl.node_memory; 0: not set */
};

struct plan_input {
    const char *config; /* --config; NULL: JP_DEF_SITE_FILE if there */
    const struct jp_sitefile *site; /* it, where it is read already; borrowed by
                                       the plan, too; NULL: it is read */
    const char *default_mode; /* the plugstack line's default=; NULL: off */
    const char *nccl;         /* --nccl-profile; NULL: not given */
    const char *copper;       /* --copper-profile; NULL: not given */
    const char *util;         /* --util-profile; NULL: not given */
    const char *clock;        /* --clock-profile; NULL: not given */
    const char *nsys;         /* --nsys-profile; NULL: not given */
    /* a variable's value or NULL; NULL: getenv */
    const char *(*env)(void *arg, const char *name);
    void *env_arg;
    /* asks Slurm what the environment lacks of the job's facts; only where a
     * condition of the site's default needs it; NULL: nobody to ask */
    jobfacts_ask *ask;
    void *ask_arg;
    bool settled; /* somebody else has decided that the conditions hold */
    bool strict;  /* locks hold also where the mode is off, and a locked default
                     is not only overruled */
};

/* A variable through in->env; NULL if it is absent or empty. */
const char *plan_env(const struct plan_input *in, const char *name);

/* Merges. Errors name option, variable or file and line. A site's default
 * whose conditions do not hold leaves the mode off; a locked one that applies
 * stays whatever the user says (overruled). On failure *out is unchanged; else
 * plan_fini frees. */
int plan_make(const struct plan_input *in, struct jp_plan *out,
              struct jp_error *err);
void plan_fini(struct jp_plan *plan);

/* Does any setting ask for an NCCL profile of the step (plan only prints)? */
bool plan_is_profiled(const struct jp_plan *plan);
/* Is a plan requested? */
bool plan_is_printed(const struct jp_plan *plan);
/* Does the user request utilisation samples? Then the step has a report, even
 * if everything else is off. */
bool plan_is_sampled(const struct jp_plan *plan);
/* Does the user request clock probes, by option or JOBPROF_CLOCK? Then the step
 * has a report. */
bool plan_is_clocked(const struct jp_plan *plan);
/* Does the user request runs under nsys? Then the step has a report. */
bool plan_is_traced(const struct jp_plan *plan);
/* Are clocks probed in a step of so many nodes (0: not known) that has a
 * report? They are where anybody says so, and, unless somebody says no, in
 * steps of several nodes whose user asks for an NCCL profile. trouble: what
 * would be, were it not for a mistake. */
bool plan_probes_clocks(const struct jp_plan *plan, uint32_t nodes,
                        bool trouble);
/* Did the user ask, by option or variable, rather than a default? */
bool plan_is_explicit(const struct jp_plan *plan);
/* Does the user or the plugstack line request something? Then a problem gets a
 * line, even if no settings could be merged. */
bool plan_is_asked(const struct plan_input *in);

/* Reads the site's file: config, or JP_DEF_SITE_FILE if it is there. */
int plan_load_site(const char *config, struct jp_sitefile *out,
                   struct jp_error *err);

/* Checks one option's value: grammar, ranges and the site's locks, but for a
 * lock on a default with conditions: the job is not known yet. site: empty
 * where it cannot be read, which is no refusal. */
int plan_check(const struct jp_grammar *grammar, const char *text,
               const struct jp_sitefile *site, struct jp_error *err);

/* Effective value of a knob, NULL if it has none; its number, 0 if it has none
 * or is a text. Borrowed. */
const char *plan_get(const struct plan_side *side, const char *knob);
uint64_t plan_number(const struct plan_side *side, const char *knob);
/* The same with its source, NULL for an unknown knob. */
const struct plan_value *plan_find(const struct plan_side *side,
                                   const char *knob);

/* The site file's value of a key that is not a knob ("nccl.known_bad",
 * "copper.cores", "container_binds"), or NULL. plan_site_value also returns its
 * place. Borrowed. */
const char *plan_site(const struct jp_plan *plan, const char *name);
const struct sitefile_value *
plan_site_value(const struct jp_plan *plan, const char *group, const char *key);

/* Path of the user's file, NULL without HOME and XDG_CONFIG_HOME. Caller
 * frees. */
char *plan_user_path(const struct plan_input *in);

#endif
