/* plan.h - settings merged by key: option, environment, user file, site file,
 * default, in this order.
 *
 * Pure but for the two settings files. What profiler runs, and where, is
 * decided later (orchestrator/agent/resolve.h).
 */
#ifndef JP_COMMON_PLAN_H
#define JP_COMMON_PLAN_H

#include <stdbool.h>

#include "common/error.h"
#include "common/grammar.h"
#include "common/jobconf.h"
#include "common/sitefile.h"

enum plan_source {
    PLAN_DEFAULT,
    PLAN_SITE,
    PLAN_USER,
    PLAN_ENV,
    PLAN_OPTION,
};

/* "default", "site file", "user file", "environment", "option". */
extern const char *const plan_source_words[5];

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
    struct plan_value values[JP_KNOBS_MAX]; /* by knob */
};

struct jp_plan {
    struct plan_side nccl, copper;
    struct jp_policy policy;
    /* the site's libraries; NULL: not named */
    char *inspector, *example, *recorder;
};

struct plan_input {
    const char *config;       /* --config; NULL: JP_DEF_SITE_FILE if there */
    const char *default_mode; /* the plugstack line's default=; NULL: off */
    const char *nccl;         /* --nccl-profile; NULL: not given */
    const char *copper;       /* --copper-profile; NULL: not given */
    /* a variable's value or NULL; NULL: getenv */
    const char *(*env)(void *arg, const char *name);
    void *env_arg;
    bool strict; /* locks hold also where the mode is off */
};

/* A variable through in->env; NULL if it is absent or empty. */
const char *plan_env(const struct plan_input *in, const char *name);

/* Merges. Errors name option, variable or file and line. On failure *out is
 * unchanged; else plan_fini frees. */
int plan_make(const struct plan_input *in, struct jp_plan *out,
              struct jp_error *err);
void plan_fini(struct jp_plan *plan);

/* Checks one option's value: grammar, ranges and the site's locks. Trouble with
 * the site file itself is no refusal. */
int plan_check(const struct jp_grammar *grammar, const char *text,
               const char *config, struct jp_error *err);

/* Effective value of a knob, NULL if it has none; its number, 0 if it has none
 * or is a text. Borrowed. */
const char *plan_get(const struct plan_side *side, const char *knob);
uint64_t plan_number(const struct plan_side *side, const char *knob);
/* The same with its source, NULL for an unknown knob. */
const struct plan_value *plan_find(const struct plan_side *side,
                                   const char *knob);

/* Path of the user's file, NULL without HOME and XDG_CONFIG_HOME. Caller
 * frees. */
char *plan_user_path(const struct plan_input *in);

#endif
