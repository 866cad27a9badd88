/* launch.h - everything known about a step before its tasks start, as one
 * value.
 *
 * merged settings (common/plan.h) and facts (facts.h) -> a place (place.h), a
 * profiler (choice.c), the tasks' variables and Copper's part (parts.h) ->
 * job.conf. `jobprof-node resolve` makes the launch once: in srun, or on node 0
 * if there is no srun. The same value is printed as a plan (plan_view.h).
 * Nothing here prints.
 */
#ifndef JP_AGENT_LAUNCH_H
#define JP_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"
#include "orchestrator/agent/place.h"
#include "plugins/backend.h"

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

/* Maximum time in seconds that srun waits for the step's report. */
unsigned launch_limit_s(const struct launch *launch);

/* Names of the user's variables whose values differ from ours: "A, B"; NULL:
 * none. Caller frees. */
int launch_own(const struct launch *launch, char **names, struct jp_error *err);
/* The user's own profiler library, which runs instead of ours; NULL: none. */
const char *launch_plugin(const struct launch *launch);

void launch_fini(struct launch *launch);

#endif
