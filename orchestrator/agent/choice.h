/* choice.h - choose the profiler of a step and estimate its cost. */
#ifndef JP_AGENT_CHOICE_H
#define JP_AGENT_CHOICE_H

#include "common/error.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"
#include "plugins/backend.h"

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

#endif
