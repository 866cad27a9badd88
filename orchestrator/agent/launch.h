/* launch.h - all that is known of a step before its tasks start, as one value.
 *
 * merged settings (common/plan.h) and facts (facts.h) -> a place (place.h), a
 * profiler (choice.h), the tasks' variables and Copper's part (copperpart.h) ->
 * job.conf. Made once, by `jobprof-node resolve` in srun, or on node 0 where
 * there was no srun. The same value is printed as a plan (plan_view.h). Nothing
 * here prints.
 */
#ifndef JP_AGENT_LAUNCH_H
#define JP_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"
#include "orchestrator/agent/choice.h"
#include "orchestrator/agent/facts.h"
#include "orchestrator/agent/place.h"

#define LAUNCH_PLUGIN CHOICE_LIBRARY
#define LAUNCH_VAR_REASON "set by the user; force=1 replaces it"

/* A variable of the tasks that the user has set himself: his value stays.
 * Texts borrowed: name and planned from conf, value from the environment. */
struct launch_var {
    const char *name;
    const char *value;
    const char *planned; /* what it would be; the same or another one */
};

struct launch {
    const struct jp_plan *plan;       /* borrowed */
    const struct launch_facts *facts; /* borrowed */
    struct launch_place place;        /* step_dir NULL: it is unprofiled */
    struct launch_choice choice;
    struct launch_var vars[BACKEND_ENV_MAX];
    size_t n_vars;
    struct jp_jobconf conf; /* as it is written, but for vars */
    char *note;             /* lines for the user, or NULL */
    bool runs_copper;       /* its daemons are to be started (sidestep.h) */
    char hash[SHA256_HEX];  /* of job.conf, where it is written */
};

/* Works out what settings and facts give; makes nothing on disk. dir: a step
 * directory that is only named, maybe with codes like %j; NULL: the step's own.
 * -1: it cannot run so, or does not fit; *out is unchanged. launch_fini frees.
 */
int launch_make(const struct launch_facts *facts, const struct jp_plan *plan,
                const char *dir, struct launch *out, struct jp_error *err);

/* The same for a step that is about to start: where something asks for a
 * profile, its directory is made and job.conf is written there. On failure
 * nothing is left behind. Where only a default asks, trouble with the directory
 * leaves the step unprofiled, without a word. */
int launch_step(const struct launch_facts *facts, const struct jp_plan *plan,
                struct launch *out, struct jp_error *err);

/* Seconds that srun may wait for the step's report. */
unsigned launch_limit_s(const struct launch *launch);

/* Names of the user's variables that differ from ours: "A, B"; NULL: none.
 * Caller frees. */
int launch_own(const struct launch *launch, char **names, struct jp_error *err);
/* The user's own profiler library, which runs instead of ours; NULL: none. */
const char *launch_plugin(const struct launch *launch);

void launch_fini(struct launch *launch);

#endif
