/* cmd_resolve.c - `jobprof-node resolve`: srun's part of a profiled step.
 *
 * The SPANK module runs it twice: with --check when the options are parsed, to
 * refuse a wrong one, and without when the step starts. It then prints the
 * step's variables, one NAME=VALUE a line, and "." at the end
 * (docs/dev/contracts.md, section 1). Apart from a refused option nothing here
 * may prevent the step: errors end with "the step runs unprofiled". */
#include "orchestrator/cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/quote.h"
#include "common/sitelog.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/plan_view.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/slurmask.h"

struct arguments {
    struct plan_input in;
    struct launch_facts given; /* facts of the step from srun */
    const char *script;        /* a step that is not srun's; NULL: it is */
    bool check;
};

/* Reads a count that only informs users; 0: unknown or not a number. */
static int read_count(void *arguments, const struct cmd_option *row,
                      char *value, struct jp_error *err)
{
    uint64_t v = 0;

    (void) err;
    num_parse_u64(value, 0, UINT32_MAX, &v, NULL);
    *(uint32_t *) ((char *) arguments + row->at) = (uint32_t) v;
    return 0;
}

static const struct cmd_option rows[] = {
    {"check", NULL, NULL, OPT_FLAG(check)},
    {"config", "FILE", NULL, OPT_TEXT(in.config)},
    {"default", "MODE", NULL, OPT_TEXT(in.default_mode)},
#define ROW(up, low) {#low, "VALUE", NULL, OPT_TEXT(in.given[OPTION_##up])},
    JP_OPTIONS(ROW)
#undef ROW
        {"nodes", "N", NULL, OPT_COUNT(given.nnodes, 0, UINT32_MAX),
         OPT_TAKE(read_count)},
    {"tasks", "N", NULL, OPT_COUNT(given.ntasks, 0, UINT32_MAX),
     OPT_TAKE(read_count)},
    {"command", "TEXT", NULL, OPT_TEXT(given.command)},
    {"script", "STEP", NULL, OPT_TEXT(script)},
};

static const struct cmd_options command_line = {CMD_ROWS(rows),
                                                .need = "takes no words"};

/* Prints one line, made harmless for the terminal. */
static void print_line(const char *text)
{
    fputs("jobprof: ", stderr);
    quote_print(stderr, text);
    fputc('\n', stderr);
}

/* Prints why the option is refused, with its name in front. Returns
 * JP_EXIT_REFUSED. */
static int refuse_option(const struct jp_grammar *grammar, struct jp_error *err)
{
    error_wrap(err, "%s", grammar->option);
    print_line(err->text);
    return JP_EXIT_REFUSED;
}

/* Checks every option that was given. has_site: the site file could be read. */
static int check_all(const struct plan_input *in, bool has_site)
{
    const char *const *given = in->given;
    struct jp_error err;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (given[i] && plan_check(grammar_of(i), given[i], in->site, &err) < 0)
            return refuse_option(grammar_of(i), &err);
    /* whether the chosen profiler can run, which depends on the site */
    if (has_site && given[OPTION_NCCL] && launch_check(in, &err) < 0)
        return refuse_option(grammar_nccl(), &err);
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++)
        if (given[i] && backend_side(i)->check &&
            backend_side(i)->check(given[i], &err) < 0)
            return refuse_option(grammar_of(i), &err);
    return JP_EXIT_OK;
}

/* Checks the options. Errors in the site file are reported when the step runs.
 * Returns an exit status. */
static int check_options(struct plan_input *in)
{
    struct jp_sitefile site = {0};
    bool is_read = plan_load_site(in->config, &site, NULL) == 0;
    int rc;

    in->site = &site;
    rc = check_all(in, is_read);
    if (is_read)
        sitefile_fini(&site);
    return rc;
}

/* Prints why there is no profile: to the user who has asked for one, or to the
 * site's log if only its default did. Returns JP_EXIT_NOT_PROFILED. */
static int print_unprofiled(const struct plan_input *in, struct jp_error *err)
{
    if (plan_is_asked(in)) {
        fputs("jobprof: ", stderr);
        quote_print(stderr, err->text);
        fputs(" (the step runs unprofiled)\n", stderr);
    } else {
        sitelog("job %s, uid %lu: %s (the step runs unprofiled)",
                getenv("SLURM_JOB_ID") ?: "?", (unsigned long) geteuid(),
                err->text);
    }
    return JP_EXIT_NOT_PROFILED;
}

/* Prints the answer for mode plan: settings, variables and cost. */
static int print_plan(const struct launch_facts *facts,
                      const struct jp_plan *plan, struct jp_error *err)
{
    struct launch launch;
    struct plan_view view;
    int rc;

    if (launch_make(facts, plan, NULL, &launch, err) < 0)
        return print_unprofiled(facts->env, err);
    rc = plan_view_make(&launch, &view, err);
    if (rc == 0) {
        rc = plan_view_print(stderr, &view,
                             "jobprof: plan (this step runs unprofiled)", true,
                             err);
        if (rc == 0)
            fputs("  (jobprof plan -v prints each setting and variable)\n",
                  stderr);
        plan_view_fini(&view);
    }
    launch_fini(&launch);
    if (rc < 0)
        return print_unprofiled(facts->env, err);
    /* the answer has no variables, so the step runs unprofiled */
    puts(".");
    return fflush(stdout) == 0 ? JP_EXIT_OK : JP_EXIT_IO;
}

/* Prints what options announce about their settings. facts: of the step. */
static void print_announcements(const struct launch_facts *facts,
                                const struct jp_jobconf *conf)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);
        char *block =
            side->announce ? side->announce(conf, facts->env->given[i]) : NULL;

        for (char *rest = block, *line; (line = strsep(&rest, "\n"));)
            quote_printf(stderr, "%s\n", line);
        free(block);
    }
}

/* Creates the step's directory and prints the answer. Returns an exit status.
 */
static int start_step(struct launch_facts *facts, const struct jp_plan *plan,
                      struct jp_error *err)
{
    struct launch launch;

    if (sidestep_launch(facts, plan, print_line, &launch, err) < 0)
        return print_unprofiled(facts->env, err);
    /* without a directory nothing is profiled */
    if (launch.place.step_dir)
        print_announcements(facts, &launch.conf);
    if (launch.place.step_dir)
        printf("SLURM_JOBPROF_DIR=%s\nSLURM_JOBPROF_HASH=%s\n" /* raw: pairs */
               "SLURM_JOBPROF_LIMIT=%u\n",
               launch.place.step_dir, launch.hash, launch_limit_s(&launch));
    puts(".");
    launch_fini(&launch);
    return fflush(stdout) == 0 ? JP_EXIT_OK : JP_EXIT_IO;
}

/* Finds the submit directory, to which relative directories refer. `srun
 * --jobid=J` outside of the allocation does not get it, so the controller is
 * asked. Borrows from job. */
static void find_submit_dir(struct launch_facts *facts, struct slurmjob *job)
{
    if (!facts->submit_dir && facts->names.job_id &&
        slurmjob_get((uint32_t) facts->names.job_id, JP_SLURMJOB_LAUNCH_MS,
                     job) &&
        *job->work_dir == '/')
        facts->submit_dir = job->work_dir;
}

/* Gathers settings and facts and makes the launch, each once. */
static int resolve_step(const struct plan_input *in, struct launch_facts *facts)
{
    struct slurmjob job;
    struct jp_plan plan;
    struct jp_error err;
    bool wanted = false;
    int rc;

    if (plan_make(in, &plan, &err) < 0)
        return print_unprofiled(in, &err);
    facts_get(in, facts);
    if (facts_is_script(facts->names.step_id))
        plan_drop_srun(&plan);
    /* without a profile the controller need not be asked */
    for (enum jp_option i = 0; i < OPTIONS; i++)
        wanted = wanted || plan.sides[i].mode;
    if (wanted)
        find_submit_dir(facts, &job);
    rc = plan_is_printed(&plan) ? print_plan(facts, &plan, &err)
                                : start_step(facts, &plan, &err);
    plan_fini(&plan);
    return rc;
}

int cmd_resolve(int argc, char **argv)
{
    struct slurmjob_memo memo = {0};
    struct arguments a = {.in = {.ask = slurmjob_ask, .ask_arg = &memo},
                          .given.owner = true};
    struct jp_error err;

    if (cmd_options_read(&command_line, argc, argv, &a, &err) < 0) {
        quote_printf(stderr, "jobprof-node resolve: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    if (a.script && facts_enter_script(a.script, NULL, &err) < 0)
        return print_unprofiled(&a.in, &err);
    return a.check ? check_options(&a.in) : resolve_step(&a.in, &a.given);
}
