/* resolve_runner.c - start Copper beside a step that srun is about to launch.
 */
#include "orchestrator/cmd/resolve_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/num.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/copper/copper_flags.h"

#define ASK_MS 2000
/* The nodes' own limit, and the time that a step takes to start. */
#define WAIT_MS (JP_DEF_RUNNER_READY_MS + 2000)
/* Where only a default asks for it, the module does not know of it, and waits
 * for no more than 3 s in all. */
#define WAIT_DEFAULT_MS 500
#define NAMED 3 /* nodes that are told of one by one */

struct telling {
    void (*say)(const char *line);
    unsigned n;
};

static uint32_t number(const struct plan_input *in, const char *name,
                       uint32_t max)
{
    uint64_t v = max;

    num_parse_u64(plan_env(in, name), 0, UINT32_MAX, &v, NULL);
    return (uint32_t) v;
}

/* Of the site's "1,2" or "0-3": its step gets as many CPUs. */
static uint32_t count_cores(const struct jp_plan *plan)
{
    const char *text = NULL;
    cpu_set_t set;

    for (size_t i = 0; i < PLAN_COPPER_KEYS; i++)
        if (!strcmp(plan_copper_keys[i], "cores"))
            text = plan->copper_site[i].value;
    if (!text || copper_flags_cores(text, &set, NULL) < 0)
        return 1;
    return (uint32_t) CPU_COUNT(&set);
}

/* Is Copper to run; by more than a default; on how many CPUs? */
static bool wants(const struct resolve_input *in, bool *asked, uint32_t *cpus)
{
    struct jp_plan plan;
    bool yes;

    if (plan_make(&in->plan, &plan, NULL) < 0)
        return false;
    yes = resolve_copper_refusal(in, &plan) == NULL;
    *asked = plan.copper.mode_source >= PLAN_ENV;
    *cpus = count_cores(&plan);
    plan_fini(&plan);
    return yes;
}

void resolve_runner_ask(struct resolve_runner *runner)
{
    uint32_t step, cpus;
    bool asked;

    if (!wants(runner->in, &asked, &cpus))
        return;
    runner->job_id = number(&runner->in->plan, "SLURM_JOB_ID", 0);
    step = number(&runner->in->plan, "SLURM_STEP_ID", UINT32_MAX);
    runner->step = malloc(sizeof(*runner->step));
    if (runner->step &&
        slurmstep_get(runner->job_id, step, ASK_MS, runner->step)) {
        runner->in->kill_wait_s = runner->step->kill_wait_s;
        return;
    }
    free(runner->step);
    runner->step = NULL;
}

static void tell_node(void *arg, const char *node, const char *text)
{
    struct telling *t = arg;
    char line[700];

    if (t->n++ >= NAMED)
        return;
    snprintf(line, sizeof(line), "Copper: %s runs without it: %s", node, text);
    t->say(line);
}

static void tell_rest(const struct launch *l, uint32_t ready, bool ended,
                      struct telling *t)
{
    char line[700], why[400];
    uint32_t n[RUNMARKS];

    runmarks_count(l->dir, n);
    if (t->n > NAMED) {
        snprintf(line, sizeof(line), "Copper: and %u nodes more", t->n - NAMED);
        t->say(line);
    }
    if (ready + n[RUNMARK_FAILED] >= l->n_nodes)
        return;
    launch_complaint(l, why, sizeof(why));
    snprintf(line, sizeof(line), "Copper: %u of %u nodes run without it: %s",
             l->n_nodes - ready - n[RUNMARK_FAILED], l->n_nodes,
             !ended ? "they are not ready in time"
             : *why ? why
                    : "its step has ended");
    t->say(line);
    stepdir_log(l->dir, "%s", line);
}

void resolve_runner_start(struct resolve_runner *runner, const char *dir,
                          void (*say)(const char *line))
{
    struct launch l = {.dir = dir, .srun = getppid(), .job_id = runner->job_id};
    struct telling t = {.say = say};
    struct jp_error err = {"Slurm does not tell the step's nodes"};
    uint32_t ready;
    bool asked;
    int ended;

    if (runner->step) {
        l.nodes = runner->step->nodes;
        l.n_nodes = runner->step->n_nodes;
        l.kill_wait_s = runner->step->kill_wait_s ? runner->step->kill_wait_s
                                                  : JP_DEF_KILL_WAIT_S;
    }
    if (!runner->step || !wants(runner->in, &asked, &l.cpus) ||
        launch_start(&l, &err) < 0) {
        error_wrap(&err, "Copper does not run");
        stepdir_log(dir, "%s", err.text);
        say(err.text);
        return;
    }
    ready = launch_await(&l, asked ? WAIT_MS : WAIT_DEFAULT_MS, &ended);
    runmarks_each(dir, RUNMARK_FAILED, tell_node, &t);
    tell_rest(&l, ready, ended, &t);
}

void resolve_runner_fini(struct resolve_runner *runner)
{
    free(runner->step);
    runner->step = NULL;
}
