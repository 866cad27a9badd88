/* launch.h - everything known about a step before its tasks start, as one
 * value.
 *
 * merged settings (common/plan.h) and facts (plugins/side.h) -> a place
 * (below), a profiler, the tasks' variables and the other options'
 * parts (plugins/side.h) -> job.conf. `jobprof-node resolve` makes the launch
 * once: in srun, or on node 0 if there is no srun. The same value is printed as
 * a plan (plan_view.h). Nothing here prints.
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
#include "plugins/side.h"

/* A variable of the tasks by which the SPANK module knows that it has to set
 * theirs again when a task starts (policy.task_env = "last"). */
#define JP_TASK_ENV "JOBPROF_TASK_ENV"

/* --- facts.c ------------------------------------------------------------ */

/* Completes the given facts from the environment (SLURM_JOB_ID ...), which must
 * live as long as the facts. Facts missing there stay unknown. */
void facts_get(const struct plan_input *env, struct launch_facts *facts);

/* Whether it is a step that srun has not started: "batch" is sbatch's script,
 * "interactive" is the shell that salloc starts on a node. It has one task, and
 * its directory is hidden until there is a record: most scripts only start
 * steps. Some options are for steps of srun only. */
bool facts_is_script(const char *step);

/* Sets the variables of such a step, which Slurm does not set, in the
 * environment of this process. node NULL: unknown. */
int facts_enter_script(const char *step, const char *node,
                       struct jp_error *err);

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

/* --- launch.c ----------------------------------------------------------- */

/* NCCL reads the name of its profiler library from this variable. */
#define LAUNCH_PLUGIN "NCCL_PROFILER_PLUGIN"

/* The profiler of a step, and its cost. */
struct launch_choice {
    const struct backend *backend; /* NULL: the mode is off */
    char *reason; /* why the requested profiler is not used, or "" */
    bool absent;  /* it is not installed, which the report says; the others
                   * are faults, which are said at once */
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
    enum jp_option beside;  /* whose runner starts beside the tasks (agent.h);
                             * OPTIONS: none */
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

/* Runs before the allocation. Refuses settings that cannot fit in any job: the
 * profiler has no fallback, and even the certain facts leave no room for it.
 * Only the option (in->given) and the site file can cause a refusal; unreadable
 * files cannot. */
int launch_check(const struct plan_input *in, struct jp_error *err);

/* Whether a step needs a directory: something is profiled or runs in it. */
bool launch_is_wanted(const struct launch_facts *facts,
                      const struct jp_plan *plan);
/* The option whose runner starts beside the tasks of the step, or OPTIONS. */
enum jp_option launch_beside(const struct launch_facts *facts,
                             const struct jp_plan *plan);

/* Maximum time in seconds that srun waits for the step's report. */
unsigned launch_limit_s(const struct launch *launch);

/* Names of the user's variables whose values differ from ours: "A, B"; NULL:
 * none. Caller frees. */
int launch_own(const struct launch *launch, char **names, struct jp_error *err);
/* The user's own profiler library, which runs instead of ours; NULL: none. */
const char *launch_plugin(const struct launch *launch);

void launch_fini(struct launch *launch);

#endif
