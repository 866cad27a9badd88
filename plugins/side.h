/* side.h - what an option besides --nccl-profile adds to a step: its settings
 * in job.conf, variables of the tasks, lines for the user.
 *
 * A backend that has an option of its own describes this here (side of struct
 * backend). All functions run in `jobprof-node resolve`, in srun, or on node 0
 * if there is no srun, except adapt. `jobprof plan` and doctor call them for an
 * imagined step. Hooks that are not needed are NULL.
 */
#ifndef JP_PLUGINS_SIDE_H
#define JP_PLUGINS_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/jobshape.h"
#include "common/pattern.h"
#include "common/plan.h"

struct module_told; /* plugins/module.h */

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

/* A step that is about to start. Borrowed for the call. */
struct side_step {
    const struct launch_facts *facts;
    const struct jp_plan *plan; /* the effective settings of all options */
    const char *step_dir;       /* absolute, or for display only */
};

struct launch_side {
    /* Refuses a value of the option that this Slurm cannot carry out. text has
     * passed the option's grammar. err: the sentence for the user. */
    int (*check)(const char *text, struct jp_error *err);
    /* Whether it runs in this step and needs the step's directory, even if
     * everything else is off. */
    bool (*runs)(const struct launch_facts *facts, const struct jp_plan *plan);
    /* Called if nothing of the step needs a directory: appends to *note why
     * this option does nothing, if the user has asked for it. -1 and err: that
     * is an error. */
    int (*idle)(const struct launch_facts *facts, const struct jp_plan *plan,
                char **note, struct jp_error *err);
    /* Fills the option's side of conf, which has the job, the number of nodes,
     * the policy of the site and everything about NCCL, and adds variables of
     * the tasks. The request is stored even if the option cannot run, for the
     * report. Lines for the user are appended to *note. */
    int (*fill)(const struct side_step *step, struct jp_jobconf *conf,
                char **note, struct jp_error *err);
    /* The same, after all options have filled their sides. Called of a folder
     * without an option, too. */
    int (*complete)(const struct side_step *step, struct jp_jobconf *conf,
                    char **note, struct jp_error *err);
    /* Whether tasks of this step are run by a program that uses CUPTI, which
     * has one user in a process. */
    bool (*takes_cupti)(const struct jp_jobconf *conf);
    /* Writes files into the step's directory, which was just created. */
    int (*write)(const struct jp_jobconf *conf, const char *step_dir,
                 struct jp_error *err);

    /* A program of jobprof that goes before the tasks' program, in the folder
     * of jobprof-node. A container has to have it at the same path. */
    const char *wrapper;

    /* --- texts */

    /* One line about what the option does in this step: "utilisation: a sample
     * every 1 s, ...", "clocks: no probes between nodes". */
    void (*describe)(const struct jp_jobconf *conf, char *buf, size_t len);
    /* The settings in effect as a block of lines, for the step's log. *block is
     * NULL if nothing runs. Caller frees. */
    int (*block)(const struct jp_jobconf *conf, char **block,
                 struct jp_error *err);
    /* Whether somebody asked for that block, so that plans show it. */
    bool (*shows_block)(const struct jp_jobconf *conf);
    /* The block, or why there is none, for srun's stderr. given: the value of
     * the option, or NULL. NULL: nothing to print, or no memory. Caller
     * frees. */
    char *(*announce)(const struct jp_jobconf *conf, const char *given);
    /* The block for settings without a step. */
    int (*block_of)(const struct jp_plan *plan, const struct plan_input *env,
                    char **block, struct jp_error *err);
    /* Why the option has its mode; "": nothing to explain. */
    const char *(*reason)(const struct plan_side *side);

    /* --- on each node, before its tasks start */

    /* Changes conf's variables to what holds on this node. ready: what the
     * runner of this backend has written when it was ready; NULL: it is not.
     * line becomes a line for the step's log, or stays "". */
    void (*adapt)(struct jp_jobconf *conf, const char *ready, char *line,
                  size_t len);
    /* Tells the option's module of the node agent its settings, and whether
     * agents talk to each other (plugins/module.h). */
    void (*tell)(const struct jp_jobconf *conf, struct module_told *told);
};

/* Whether the tasks of a step are run by a program that uses CUPTI. *title: the
 * profiler that does so. */
bool side_takes_cupti(const struct jp_jobconf *conf, const char **title);

#endif
