/* launch.h - everything known about a step before its tasks start, as one
 * value.
 *
 * merged settings (common/plan.h) and facts (below) -> a place (below), a
 * profiler (choice.c), the tasks' variables and Copper's part (below) ->
 * job.conf. `jobprof-node resolve` makes the launch once: in srun, or on node 0
 * if there is no srun. The same value is printed as a plan (plan_view.h).
 * Nothing here prints.
 */
#ifndef JP_AGENT_LAUNCH_H
#define JP_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/jobshape.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "plugins/backend.h"
#include "plugins/clock/clock_conf.h"

/* A variable of the tasks by which the SPANK module knows that it has to set
 * theirs again when a task starts (policy.task_env = "last"). */
#define JP_TASK_ENV "JOBPROF_TASK_ENV"

/* --- facts.c ------------------------------------------------------------ */

/* What is known of a step before its tasks start.
 *
 * The facts are gathered once. On srun's side they come from srun and from
 * Slurm's variables; on a node, from the variables alone. `jobprof plan` and
 * doctor have no step and supply the facts of an imagined one. Uses neither
 * RPCs nor libslurm.
 */

/* Strings are borrowed, from the environment or from the caller. NULL: unknown.
 * Do not copy this struct: names.user points to `user`. */
struct launch_facts {
    /* given by the caller; zeros: unknown */
    uint32_t nnodes, ntasks; /* of the step, as srun reports them */
    const char *command;     /* argv[0] of the tasks */
    bool owner;              /* an srun will make the report */
    uint32_t kill_wait_s;    /* KillWait of slurm.conf */
    struct jp_stepsize size; /* set by facts_get, except values already given */
    /* from the environment */
    const struct plan_input *env; /* source of the user's own variables */
    struct pattern_facts names;   /* job_id 0, step_id NULL: unknown */
    const char *submit_dir, *submit_host, *account, *partition;
    uint32_t restart;
    char user[256];
    bool het;       /* a component of a heterogeneous job */
    bool contained; /* an option requests a container */
};

/* Completes the given facts from the environment (SLURM_JOB_ID ...), which must
 * live as long as the facts. Facts missing there stay unknown. */
void facts_get(const struct plan_input *env, struct launch_facts *facts);

/* Whether it is a step that srun has not started: "batch" is sbatch's script,
 * "interactive" is the shell that salloc starts on a node. It has one task, and
 * its directory is hidden until there is a record: most scripts only start
 * steps. Copper, nsys and clocks are for steps of srun. */
bool facts_is_script(const char *step);

/* Sets the variables of such a step, which Slurm does not set, in the
 * environment of this process. node NULL: unknown. */
int facts_enter_script(const char *step, const char *node,
                       struct jp_error *err);

/* What each option besides --nccl-profile adds to a launch: its
 * settings in job.conf, its variables, a line that describes it. */

/* --- utilisation and CUDA calls ------------------------------------------ */

/* Fills conf->util_* and policy.util_period_ms (0: this step takes no samples).
 * With cuda=1, also adds the tasks' variables that count calls; a CUDA
 * injection library that the user has set is kept. conf->policy must already be
 * the site's, and conf->nsys_* must be filled. Lines for the user are appended
 * to *note. */
int utilpart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Removes the library from conf->env if this node does not have it. Returns
 * false then, and *path is the library's path (caller frees; NULL without
 * memory). */
bool cudapart_check(struct jp_jobconf *conf, char **path);

/* --- clocks -------------------------------------------------------------- */

/* Fills conf->clock_*. The cadence is 0 if this step does not probe clocks;
 * otherwise a new key is generated. conf must already have the number of nodes
 * and the other settings. xla=1 adds variables for the tasks. Lines for the
 * user are appended to *note. */
int clockpart_fill(const struct jp_plan *plan, const struct plan_input *env,
                   const char *step_dir, struct jp_jobconf *conf, char **note,
                   struct jp_error *err);

/* Appends the reason why the clocks of this step cannot be probed, if there is
 * one. */
int clockpart_note_trouble(const struct jp_plan *plan, uint32_t nodes,
                           char **note, struct jp_error *err);

/* With xla=1, CLOCKPART_FILE is written into the step's directory. */
#define CLOCKPART_FILE "dist_prof_config.json"
int clockpart_write(const struct jp_jobconf *conf, const char *step_dir,
                    struct jp_error *err);

/* The settings in effect, in the format of XLA's guide, each with its source.
 * *block is NULL if clocks are not probed. Caller frees. */
int clockpart_block(const struct jp_jobconf *conf, char **block,
                    struct jp_error *err);
/* The same for settings without a step. */
int clockpart_block_of(const struct jp_plan *plan, const struct plan_input *env,
                       char **block, struct jp_error *err);

/* Reads the agent's clock settings. Values outside a knob's range are clamped.
 * Returns false if clocks are not probed or job.conf has no key. */
bool clockpart_read(const struct jp_jobconf *conf, struct clock_conf *out);

/* --- nsys: which ranks run under it, and how ----------------------------- */

/* Refuses a value of the option that this Slurm cannot carry out. text must
 * have passed the option's grammar. err contains a command line that does it by
 * hand. */
int nsyspart_check(const char *text, struct jp_error *err);

/* Fills conf->nsys_* and adds the tasks' variables to conf->env. Lines for the
 * user are appended to *note. */
int nsyspart_fill(const struct launch_facts *facts, const struct jp_plan *plan,
                  const char *step_dir, struct jp_jobconf *conf, char **note,
                  struct jp_error *err);

/* Appends the reason why nsys does not run, if it was requested. */
int nsyspart_note(const struct jp_plan *plan, char **note,
                  struct jp_error *err);

/* --- Copper's daemons beside the tasks ----------------------------------- */

/* Why Copper does not run in this step; NULL: it runs. */
const char *copperpart_refusal(const struct launch_facts *facts,
                               const struct jp_plan *plan);

/* Fills Copper's settings in job.conf, which must already have the job's ids,
 * and adds COPPER_MOUNT to its variables. Lines for the user are appended to
 * *note. */
int copperpart_fill(const struct launch_facts *facts,
                    const struct jp_plan *plan, struct jp_jobconf *conf,
                    char **note, struct jp_error *err);

/* --- place.c ------------------------------------------------------------ */

/* The step's directories: derived from its facts, created on disk. */

/* Strings are owned. */
struct launch_place {
    char *job_dir;   /* absolute path; may be hidden */
    char *step_dir;  /* job_dir/step-ID */
    char *final_dir; /* if hidden: path of the visible step directory; else
                      * "" */
    bool hidden;
    size_t kept; /* length of the part of job_dir that existed before
                  * place_make */
};

/* Whether a pattern gives each job its own name: it has %j, %J, or %A with %a.
 * A pattern without them gets "-%j" appended. */
bool place_names_job(const char *pattern);

/* The pattern of a job's directory, without trailing slashes, and with "-%j" if
 * it needs one. Caller frees; NULL: no memory. */
char *place_pattern(const char *pattern);

/* Derives the step's directory from its facts and the merged settings. srun's
 * host and each node get the same result. The directory is hidden if only a
 * default requests the profile. Creates nothing. *out is unchanged on failure;
 * otherwise free with place_fini. */
int place_find(const struct launch_facts *facts, const struct jp_plan *plan,
               struct launch_place *out, struct jp_error *err);
void place_fini(struct launch_place *place);

/* Creates the job and step directories (0700) with pending, done, raw and
 * nodes, and `owner` if an srun will make the report. A non-empty step
 * directory of the same name is renamed to step-ID.old-N. Returns -1 if it
 * belongs to another job that may still be running. On failure, everything
 * created is removed. */
int place_make(struct launch_place *place, const struct launch_facts *facts,
               struct jp_error *err);
/* Removes what place_make has created, after a later stage has failed. */
void place_unmake(const struct launch_place *place);

/* --- choose the profiler of a step and estimate its cost ----------------- */

/* NCCL reads the name of its profiler library from this variable. */
#define CHOICE_LIBRARY "NCCL_PROFILER_PLUGIN"

struct launch_choice {
    const struct backend *backend; /* NULL: the mode is off */
    char *reason; /* why the requested profiler is not used, or "" */
    struct backend_input input; /* borrows from the plan, the facts and the
                                 * directory */
    const char *own_library;    /* library that the user has set; NULL: none;
                                 * borrowed */
    struct backend_forecast forecast; /* zeros: no forecast for this profiler */
    char *declined; /* copy of input.declined: releases excluded for it, or
                     * NULL */
    /* Lines of text; NULL: none. warnings: assumptions of the sizing that the
     * user has to know. remarks: rare known issues and errors in the list of
     * known-bad releases; only the plan prints them. */
    char *warnings, *remarks;
    /* Lines: known issues of the release that concern the user. The plan prints
     * them all; srun prints only their number, when a step that used NCCL has
     * ended. */
    char *known;
    unsigned n_known;
};

/* Chooses the profiler. A profiler whose library the user has set comes first,
 * then the backend of the mode, then its fallback if that backend cannot run or
 * does not fit. Reads the list of known-bad releases once. Returns -1 if no
 * profiler can run; err says why, and *out is unchanged. Free with
 * choice_fini. */
int choice_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *step_dir, struct launch_choice *out,
                struct jp_error *err);
void choice_fini(struct launch_choice *choice);

/* Runs before the allocation. Refuses settings that cannot fit in any job: the
 * profiler has no fallback, and even the certain facts leave no room for it.
 * Only the option (in->nccl) and the site file can cause a refusal; unreadable
 * files cannot. */
int choice_check(const struct plan_input *in, struct jp_error *err);

#define LAUNCH_PLUGIN CHOICE_LIBRARY
#define LAUNCH_VAR_REASON "set by the user; force=1 replaces it"

/* A variable of the tasks that the user has set; the user's value is kept.
 * Strings are borrowed: name and planned from conf, value from the
 * environment. */
struct launch_var {
    const char *name;
    const char *value;
    const char *planned; /* our value; may equal the user's */
};

struct launch {
    const struct jp_plan *plan;       /* borrowed */
    const struct launch_facts *facts; /* borrowed */
    struct launch_place place;        /* step_dir NULL: the step is not
                                       * profiled */
    struct launch_choice choice;
    struct launch_var vars[BACKEND_ENV_MAX];
    size_t n_vars;
    struct jp_jobconf conf; /* as written to the file, except vars */
    char *note;             /* lines for the user, or NULL */
    bool runs_copper;       /* start Copper's daemons (agent.h) */
    char hash[SHA256_HEX];  /* checksum of job.conf, if it is written */
};

/* Makes a launch from settings and facts. Creates nothing on disk. dir: a step
 * directory for display only, which may contain codes like %j; NULL: the step's
 * own. Returns -1 if the step cannot run this way or does not fit; *out is
 * unchanged then. Free with launch_fini. */
int launch_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *dir, struct launch *out, struct jp_error *err);

/* Makes a launch for a step that is about to start. If a profile is requested,
 * also creates the directory and writes job.conf there. Leaves nothing behind
 * on failure. If only a default requests the profile, an unusable directory
 * leaves the step unprofiled, without a message. */
int launch_step(const struct launch_facts *facts, const struct jp_plan *plan,
                struct launch *out, struct jp_error *err);

/* Describes in one line what an option besides --nccl-profile does in this
 * step: "utilisation: a sample every 1 s, ...", "clocks: no probes between
 * nodes". "" for options that have no such line. Returns buf. */
const char *launch_describe(const struct jp_jobconf *conf,
                            enum jp_option option, char *buf, size_t len);

/* Maximum time in seconds that srun waits for the step's report. */
unsigned launch_limit_s(const struct launch *launch);

/* Names of the user's variables whose values differ from ours: "A, B"; NULL:
 * none. Caller frees. */
int launch_own(const struct launch *launch, char **names, struct jp_error *err);
/* The user's own profiler library, which runs instead of ours; NULL: none. */
const char *launch_plugin(const struct launch *launch);

void launch_fini(struct launch *launch);

#endif
