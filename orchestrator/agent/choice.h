/* choice.h - which profiler a step gets, and what that costs. */
#ifndef JP_AGENT_CHOICE_H
#define JP_AGENT_CHOICE_H

#include "common/error.h"
#include "common/plan.h"
#include "orchestrator/agent/facts.h"
#include "plugins/backend.h"

/* The variable by which NCCL finds its profiler. */
#define CHOICE_LIBRARY "NCCL_PROFILER_PLUGIN"

struct launch_choice {
    const struct backend *backend; /* NULL: the mode is off */
    char *reason; /* why it is not the one that was asked for, or "" */
    struct backend_input input; /* borrows from plan, facts and the directory */
    const char *own_library;    /* that the user has named himself, or NULL;
                                   borrowed */
    struct backend_forecast forecast; /* zeros: not known for this profiler */
    char *declined; /* input.declined: releases kept from it, or NULL */
    /* lines; NULL: none. What the user has to know: what sizing assumed.
     * Known trouble that is rare, and what is wrong with the list of it, is for
     * the plan only */
    char *warnings, *remarks;
    /* Lines of known trouble of the release that concern the user. The plan has
     * them all; srun counts them when a step that used NCCL has ended. */
    char *known;
    unsigned n_known;
};

/* Takes the mode's backend, or its fallback when that one cannot run or does
 * not fit; before both the profiler whose library the user has named himself.
  Reads the list of known-bad releases, once. -1: none can, and why;
 * *out is unchanged. choice_fini frees. */
int choice_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *step_dir, struct launch_choice *out,
                struct jp_error *err);
void choice_fini(struct launch_choice *choice);

/* Before the allocation: refuses settings that no job can make fit, because the
 * profiler that would run has no fallback and cannot be sized with what is
 * certain. Only the option (in->nccl) and the site's file refuse; trouble with
 * files is no refusal. */
int choice_check(const struct plan_input *in, struct jp_error *err);

#endif
