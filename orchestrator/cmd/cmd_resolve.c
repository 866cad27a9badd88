/* cmd_resolve.c - jobprof-node resolve: srun's side of a profiled step. */
#include "orchestrator/cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/resolve.h"
#include "orchestrator/cmd/resolve_runner.h"
#include "orchestrator/collect/slurmjob.h"

struct options {
    struct resolve_input in;
    bool check;
};

enum {
    OPT_CHECK = 1,
    OPT_CONFIG,
    OPT_DEFAULT,
    OPT_NCCL,
    OPT_COPPER,
    OPT_NODES,
    OPT_TASKS,
    OPT_COMMAND
};

static const struct option long_options[] = {
    {"check", no_argument, NULL, OPT_CHECK},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"default", required_argument, NULL, OPT_DEFAULT},
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"copper", required_argument, NULL, OPT_COPPER},
    {"nodes", required_argument, NULL, OPT_NODES},
    {"tasks", required_argument, NULL, OPT_TASKS},
    {"command", required_argument, NULL, OPT_COMMAND},
    {NULL, 0, NULL, 0},
};

/* A count that is only informative: what is no number counts as unknown. */
static uint32_t parse_count(const char *text)
{
    uint64_t v = 0;

    num_parse_u64(text, 0, UINT32_MAX, &v, NULL);
    return (uint32_t) v;
}

static int parse_options(int argc, char **argv, struct options *o)
{
    int c;

    optind = 0;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (c) {
        case OPT_CHECK:
            o->check = true;
            break;
        case OPT_CONFIG:
            o->in.plan.config = optarg;
            break;
        case OPT_DEFAULT:
            o->in.plan.default_mode = optarg;
            break;
        case OPT_NCCL:
            o->in.plan.nccl = optarg;
            break;
        case OPT_COPPER:
            o->in.plan.copper = optarg;
            break;
        case OPT_NODES:
            o->in.nnodes = parse_count(optarg);
            break;
        case OPT_TASKS:
            o->in.ntasks = parse_count(optarg);
            break;
        case OPT_COMMAND:
            o->in.command = optarg;
            break;
        default:
            return -1;
        }
    }
    return optind == argc ? 0 : -1;
}

/* One line of ours, harmless to the terminal. */
static void say(const char *text)
{
    fputs("jobprof: ", stderr);
    quote_print(stderr, text);
    fputc('\n', stderr);
}

static int check_one(const struct jp_grammar *grammar, const char *text,
                     const char *config)
{
    struct jp_error err;

    if (!text || plan_check(grammar, text, config, &err) == 0)
        return JP_EXIT_OK;
    error_wrap(&err, "%s", grammar->option);
    say(err.text);
    return JP_EXIT_REFUSED;
}

/* Settings that no allocation can make fit. */
static int check_size(const struct plan_input *in)
{
    struct jp_error err;

    if (!in->nccl || resolve_check(in, &err) == 0)
        return JP_EXIT_OK;
    error_wrap(&err, "%s", jp_grammar_nccl.option);
    say(err.text);
    return JP_EXIT_REFUSED;
}

static int check(const struct plan_input *in)
{
    int rc = check_one(&jp_grammar_nccl, in->nccl, in->config);

    if (rc == JP_EXIT_OK)
        rc = check_one(&jp_grammar_copper, in->copper, in->config);
    return rc == JP_EXIT_OK ? check_size(in) : rc;
}

/* Is the effective mode `plan`? */
static bool wants_plan(const struct plan_input *in)
{
    struct jp_plan plan;
    bool yes;

    if (plan_make(in, &plan, NULL) < 0)
        return false;
    yes = plan.nccl.mode && !resolve_is_profiled(&plan);
    plan_fini(&plan);
    return yes;
}

static int unprofiled(const struct plan_input *in, struct jp_error *err)
{
    if (resolve_is_asked(in)) {
        fputs("jobprof: ", stderr);
        quote_print(stderr, err->text);
        fputs(" (the step runs unprofiled)\n", stderr);
    }
    return JP_EXIT_NOT_PROFILED;
}

static int print_plan(const struct resolve_input *in)
{
    struct jp_error err;

    if (resolve_print(stderr, in, &err) < 0)
        return unprofiled(&in->plan, &err);
    puts(".");
    return fflush(stdout) == 0 ? JP_EXIT_OK : JP_EXIT_IO;
}

/* Each of its lines with our name in front. */
static void print_note(char *note)
{
    char *line;

    while ((line = strsep(&note, "\n")))
        say(line);
}

static int resolve(struct resolve_input *in)
{
    struct resolve_answer answer;
    struct resolve_runner runner = {.in = in};
    struct jp_error err;

    resolve_runner_ask(&runner);
    if (resolve_step(in, &answer, &err) < 0) {
        resolve_runner_fini(&runner);
        return unprofiled(&in->plan, &err);
    }
    print_note(answer.note);
    if (answer.runs_copper)
        resolve_runner_start(&runner, answer.dir, say);
    resolve_runner_fini(&runner);
    if (answer.dir)
        printf("SLURM_JOBPROF_DIR=%s\nSLURM_JOBPROF_HASH=%s\n"
               "SLURM_JOBPROF_LIMIT=%u\n",
               answer.dir, answer.hash, answer.limit_s);
    puts(".");
    resolve_answer_fini(&answer);
    return fflush(stdout) == 0 ? JP_EXIT_OK : JP_EXIT_IO;
}

/* `srun --jobid=J` from outside of the allocation is told of no submit
 * directory: the controller knows it. */
static void find_submit_dir(void)
{
    const char *id = getenv("SLURM_JOB_ID");
    struct slurmjob job;
    uint64_t n;

    if (getenv("SLURM_SUBMIT_DIR") || !id ||
        num_parse_u64(id, 1, UINT32_MAX, &n, NULL) < 0)
        return;
    if (slurmjob_get((uint32_t) n, JP_SLURMJOB_LAUNCH_MS, &job) &&
        *job.work_dir == '/')
        setenv("SLURM_SUBMIT_DIR", job.work_dir, 1);
}

int cmd_resolve(int argc, char **argv)
{
    struct slurmjob_memo memo = {0};
    struct options o = {
        .in = {.owner = true, .plan = {.ask = slurmjob_ask, .ask_arg = &memo}}};

    if (parse_options(argc, argv, &o) < 0) {
        fprintf(stderr, "jobprof-node resolve: bad command line\n");
        return JP_EXIT_USAGE;
    }
    if (o.check)
        return check(&o.in.plan);
    find_submit_dir();
    return wants_plan(&o.in.plan) ? print_plan(&o.in) : resolve(&o.in);
}
