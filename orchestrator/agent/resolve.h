/* resolve.h - from settings to a step directory with its job.conf.
 *
 * Used by `jobprof-node resolve` in srun, and on a node where there was no srun
 * (locate_dir in orchestrator/agent/). Job facts come from the environment
 * (SLURM_*); no RPC, no libslurm. Nothing here prints.
 */
#ifndef JP_CMD_RESOLVE_H
#define JP_CMD_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "plugins/backend.h"

/* --- resolve.c: the whole way --- */

struct resolve_input {
    struct plan_input plan;  /* file, options, environment */
    uint32_t nnodes, ntasks; /* 0: unknown */
    const char *command;     /* argv[0] of the tasks; NULL: unknown */
    bool owner;              /* an srun will come for the report */
    uint32_t kill_wait_s;    /* Slurm's KillWait; 0: unknown */
};

struct resolve_answer {
    char *dir;        /* absolute step directory; NULL: unprofiled */
    char hash[17];    /* of job.conf */
    unsigned limit_s; /* srun may wait so long for the report */
    char *note;       /* lines for the user, or NULL */
    bool runs_copper; /* its daemons are to be started (agent/launch.h) */
};

/* Merges the settings, makes the step directory and writes job.conf. 0 with
 * dir NULL: nothing asks for a profile. On failure nothing is left behind and
 * *out is unchanged; else resolve_answer_fini frees. */
int resolve_step(const struct resolve_input *in, struct resolve_answer *out,
                 struct jp_error *err);
void resolve_answer_fini(struct resolve_answer *answer);

/* Whether the user himself (option or JOBPROF_NCCL, JOBPROF_COPPER) or the
 * plugstack line asks for something: then trouble is worth a line. */
bool resolve_is_asked(const struct plan_input *in);

/* --- resolve_check.c: before the allocation --- */

/* Refuses settings that no allocation can make fit: the profiler that would run
 * has no fallback and cannot be sized with what is known here. Trouble with
 * files and variables is no refusal. */
int resolve_check(const struct plan_input *in, struct jp_error *err);

/* --- resolve_dir.c: where --- */

struct resolve_place {
    char *job_dir;   /* absolute, hidden or not */
    char *step_dir;  /* job_dir/step-ID */
    char *final_dir; /* hidden: the visible step directory; else "" */
    bool hidden;
    size_t kept; /* bytes of job_dir that were there before resolve_make */
};

/* What the environment says about the job; strings borrowed from it or from
 * the struct itself. */
struct resolve_facts {
    struct pattern_facts names;
    const char *submit_dir;
    uint32_t restart;
    char user[256];
};

/* Whether a pattern tells jobs apart: %j, %J, or %A with %a. One that does not
 * gets "-%j" at its end. */
bool resolve_names_job(const char *pattern);

/* Reads SLURM_JOB_ID, SLURM_STEP_ID, SLURM_SUBMIT_DIR ...; the first two and
 * the last must be there. */
int resolve_facts(const struct plan_input *in, struct resolve_facts *out,
                  struct jp_error *err);

/* The directory that resolve_step makes with the same settings and environment
 * (SLURM_SUBMIT_DIR, SLURM_JOB_ID, SLURM_STEP_ID ...), also on a node. *dir is
 * NULL when the step is not profiled, *hidden tells that only a default asks
 * for it. Caller frees. Creates nothing. */
int resolve_dir(const struct plan_input *in, char **dir, bool *hidden,
                struct jp_error *err);

/* The same for merged settings. */
int resolve_place(const struct plan_input *in, const struct jp_plan *plan,
                  struct resolve_place *out, struct jp_error *err);
void resolve_place_fini(struct resolve_place *place);

/* --- resolve_make.c: on disk --- */

/* Makes job and step directory (0700) with pending, done, raw and nodes, and
 * `owner` if asked for. An older step directory of the same name that is not
 * empty is renamed to step-ID.old-N. On failure what was made is removed. */
int resolve_make(struct resolve_place *place, bool owner, struct jp_error *err);
/* Takes back what resolve_make made (a later step failed). */
void resolve_unmake(const struct resolve_place *place);
/* The same without the step directory. */
void resolve_unmake_job(const struct resolve_place *place);

/* --- resolve_conf.c: what --- */

struct resolve_choice;

/* Fills job.conf for the profiler of resolve_choose; the user's own variables
 * that stay are added to choice's warnings. *note (may be set on success) is
 * lines for the user; caller frees. -1: the step cannot be profiled so; *out is
 * unchanged. */
int resolve_conf(const struct resolve_input *in, const struct jp_plan *plan,
                 const struct resolve_place *place,
                 struct resolve_choice *choice, struct jp_jobconf *out,
                 char **note, struct jp_error *err);

/* Appends a line to *note (NULL: none yet). -1: no memory. */
int resolve_note(char **note, struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Did the user ask, by option or variable, rather than a default? */
bool resolve_is_explicit(const struct jp_plan *plan);
/* Does any setting ask for an NCCL profile of the step (plan only prints)? */
bool resolve_is_profiled(const struct jp_plan *plan);

/* --- resolve_container.c: how the tasks see it --- */

/* Sets conf's container_binds and container_paths; the latter only where the
 * step is known to run in containers, or the site says that all do. */
int resolve_container(const struct resolve_input *in,
                      const struct jp_plan *plan, struct jp_jobconf *conf,
                      struct jp_error *err);

/* --- resolve_copper.c: the daemons beside the tasks --- */

/* Why Copper does not run in this step, or NULL: it does. */
const char *resolve_copper_refusal(const struct resolve_input *in,
                                   const struct jp_plan *plan);
/* Fills Copper's settings of job.conf and adds COPPER_MOUNT; note as for
 * resolve_conf. */
int resolve_copper(const struct resolve_input *in, const struct jp_plan *plan,
                   struct jp_jobconf *conf, char **note, struct jp_error *err);

/* --- resolve_backend.c: by which profiler --- */

struct resolve_choice {
    const struct backend *backend;
    char *reason; /* why it is not the one that was asked for, or "" */
    struct backend_input input;       /* borrows from plan and step_dir */
    struct backend_forecast forecast; /* zeros: not known for this profiler */
    /* what the user has to know, lines; NULL: none. Known trouble of the
     * release, what sizing assumed, and (resolve_conf) variables of his own */
    char declined[512]; /* for input.declined: releases kept from backend */
    char *warnings;
    char *remarks; /* known trouble that is rare: for the plan only */
};

/* A profiler's name in a sentence: "NVIDIA's Inspector", "the recorder". */
const char *resolve_title(const char *backend);

/* Takes the mode's backend (none where the mode is off), or its fallback when
 * that one cannot run or does not fit. -1: none can, and why.
 * resolve_choice_fini frees. */
int resolve_choose(const struct resolve_input *in, const struct jp_plan *plan,
                   const char *step_dir, struct resolve_choice *out,
                   struct jp_error *err);
void resolve_choice_fini(struct resolve_choice *choice);

/* --- resolve_known.c: trouble of NCCL's release --- */

/* Fills choice's warnings and remarks from the list of known-bad releases, each
 * with the file and line of its row. -1: the release is not to be profiled by
 * choice's backend, whatever the user says; err says why. */
int resolve_known(const struct jp_plan *plan, struct resolve_choice *choice,
                  struct jp_error *err);

/* --- resolve_print.c: for people --- */

/* The answer of mode plan: settings, variables and cost, as a table. */
int resolve_print(FILE *out, const struct resolve_input *in,
                  struct jp_error *err);
/* One table of settings: key, value, source, reason. */
void resolve_print_settings(FILE *out, const struct jp_setting *settings,
                            size_t n);

/* --- resolve_settings.c: settings as lists --- */

/* One side's settings as a list (knobs of its mode, or all where the mode is
 * off). Caller frees with resolve_free_settings. */
int resolve_settings(const struct plan_side *side, struct jp_setting **out,
                     size_t *n, struct jp_error *err);
void resolve_free_settings(struct jp_setting *settings, size_t n);
/* Appends one setting. */
int resolve_add_setting(struct jp_setting **list, size_t *n,
                        const struct jp_setting *one, struct jp_error *err);

#endif
