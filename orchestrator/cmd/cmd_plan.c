/* cmd_plan.c - the command line of `jobprof plan`. */
#include "orchestrator/cmd/cmd_plan.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/request.h"
#include "orchestrator/agent/plan_text.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/nodelist.h"

#define MIN_MEMORY (UINT64_C(1) << 20)
#define MAX_MEMORY (UINT64_C(1) << 50)

static const char help[] =
    "usage: jobprof plan [options] [MODE[,key=value...]]\n"
    "\n"
    "Print what --nccl-profile=MODE[,key=value...] would do to a step: each\n"
    "setting and variable with its source, memory, disk, and what is lost.\n"
    "Nothing is started and no directory is made. MODE is auto, inspector,\n"
    "example, recorder, or plan,mode=...; without it that of the settings,\n"
    "else auto.\n"
    "\n"
    "  --nodes N, --tasks N   the step's nodes and ranks\n"
    "  --memory SIZE          memory of the step on a node\n"
    "  --from DIR|JOBID[.STEP]\n"
    "                         measure an earlier step's report, and plan the\n"
    "                         next run with it\n"
    "  --json                 print the plan for programs\n"
    "  --config FILE          the site's settings\n"
    "  -q, --quiet            leave out the tables of settings and variables\n"
    "  -v, --verbose          say what is being read\n"
    "  -h, --help             this text\n"
    "\n"
    "Exit status: 0 ok, 2 usage, settings, or a plan that does not fit, 4 no\n"
    "data in the report, 5 output failed.\n";

enum { OPT_NODES = 256, OPT_TASKS, OPT_MEMORY, OPT_FROM };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"tasks", required_argument, NULL, OPT_TASKS},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"from", required_argument, NULL, OPT_FROM},
    {"json", no_argument, NULL, CMD_OPT_JSON},
    {"config", required_argument, NULL, CMD_OPT_CONFIG},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {0}};

struct arguments {
    const char *word; /* MODE[,key=value...] or NULL */
    const char *from;
    uint64_t nodes, tasks, memory_bytes; /* 0: not given */
    struct cmd_common common;
};

/* One command's state. */
struct session {
    const struct arguments *args;
    struct resolve_input in;
    struct plan_world world;
    struct plan_measured measured;
    struct plan_from from;
};

static int take_number(const char *name, uint64_t *out)
{
    struct jp_error err;

    if (num_parse_u64(optarg, 1, UINT32_MAX, out, &err) == 0)
        return -1;
    error_wrap(&err, "%s", name);
    return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
}

static int take_memory(uint64_t *out)
{
    struct jp_error err;

    if (num_parse_size(optarg, MIN_MEMORY, MAX_MEMORY, out, &err) == 0)
        return -1;
    error_wrap(&err, "--memory");
    return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
}

/* One option. Returns -1 to go on, else an exit status. */
static int take_option(int c, struct arguments *a)
{
    switch (c) {
    case OPT_NODES:
        return take_number("--nodes", &a->nodes);
    case OPT_TASKS:
        return take_number("--tasks", &a->tasks);
    case OPT_MEMORY:
        return take_memory(&a->memory_bytes);
    case OPT_FROM:
        a->from = optarg;
        return -1;
    default:
        return cmd_args_common(c, help, &a->common);
    }
}

static int parse(int argc, char **argv, struct arguments *a)
{
    int c, rc = -1;

    optind = 0;
    while (rc < 0 &&
           (c = getopt_long(argc, argv, "qvh", long_options, NULL)) != -1)
        rc = take_option(c, a);
    if (rc >= 0)
        return rc;
    if (optind < argc)
        a->word = argv[optind++];
    if (optind == argc)
        return -1;
    fprintf(stderr, "jobprof: plan takes one MODE[,key=value...] "
                    "(jobprof plan --help)\n");
    return JP_EXIT_USAGE;
}

/* The user's words by themselves: a refusal names no other source. */
static int check_word(const struct arguments *a, struct jp_error *err)
{
    struct jp_request request;
    bool off;

    if (!a->word)
        return 0;
    if (request_parse(&jp_grammar_nccl, a->word, &request, err) < 0)
        return -1;
    off = request.mode == 0;
    request_fini(&request);
    return off ? error_set(err, "off profiles nothing: there is no plan") : 0;
}

/* The step directory behind --from. Caller frees. */
static char *find_step(const struct arguments *a, struct jp_error *err)
{
    char **dirs = NULL, *dir;
    size_t n = 0;

    if (report_find(a->from, a->common.config, &dirs, &n, err) < 0)
        return NULL;
    if (n > 1) {
        error_set(err, "%s: %zu steps, name one: %s", a->from, n, dirs[0]);
        nodelist_free(dirs, n);
        return NULL;
    }
    dir = dirs[0];
    free(dirs);
    return dir;
}

/* Measures the report and makes its option ours. */
static enum jp_exit take_report(struct session *s, struct jp_error *err)
{
    const struct arguments *a = s->args;
    char *dir = find_step(a, err);
    enum jp_exit rc;

    if (!dir)
        return JP_EXIT_USAGE;
    if (a->common.verbose)
        fprintf(stderr, "jobprof: reading %s/summary.json\n", dir);
    rc = plan_measure(dir, &s->measured, err);
    free(dir);
    if (rc != JP_EXIT_OK)
        return rc;
    if (plan_from_make(&s->measured, a->word, &s->from, err) < 0)
        return JP_EXIT_USAGE;
    s->in.plan.nccl = s->from.option;
    if (!s->in.nnodes && s->measured.nodes <= UINT32_MAX)
        s->in.nnodes = (uint32_t) s->measured.nodes;
    if (!s->in.ntasks && s->measured.tasks <= UINT32_MAX)
        s->in.ntasks = (uint32_t) s->measured.tasks;
    return JP_EXIT_OK;
}

static int print(const struct session *s, struct plan_view *view,
                 struct jp_error *err)
{
    const struct arguments *a = s->args;
    bool measured = a->from != NULL;

    if (a->memory_bytes)
        snprintf(view->shape.memory_from, sizeof(view->shape.memory_from),
                 "--memory");
    if (measured)
        plan_from_attribute(&s->from, &s->measured, view);
    if (a->common.json)
        return plan_json_print(view, measured ? &s->measured : NULL,
                               measured ? &s->from : NULL, stdout, err);
    if (measured && plan_from_print(&s->from, &s->measured, stdout, err) < 0)
        return -1;
    return plan_text_print(stdout, view, "plan", a->common.quiet, err);
}

/* What srun would do: refuse the option, or start the step without it. */
static int fail_step(const struct plan_input *in, const struct jp_error *err)
{
    bool refused = in->nccl && resolve_check(in, NULL) < 0;

    fprintf(stderr, "jobprof: plan: %s; %s\n", err->text,
            refused ? "srun refuses the option" : "the step runs unprofiled");
    return JP_EXIT_USAGE;
}

static int show(struct session *s, const struct jp_plan *plan)
{
    struct plan_view view;
    struct jp_error err;
    char *dir = plan_world_dir(&s->world, plan_get(&plan->nccl, "dir"), &err);
    int rc = JP_EXIT_OK;

    if (!dir)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    if (plan_view_make(&s->in, plan, dir, &view, &err) < 0) {
        free(dir);
        return fail_step(&s->in.plan, &err);
    }
    if (print(s, &view, &err) < 0)
        rc = cmd_args_fail("plan", JP_EXIT_IO, &err);
    else if (fflush(stdout) != 0 || ferror(stdout)) {
        error_set(&err, "standard output failed");
        rc = cmd_args_fail("plan", JP_EXIT_IO, &err);
    }
    plan_view_fini(&view);
    free(dir);
    return rc;
}

static int run(struct session *s)
{
    const struct arguments *a = s->args;
    struct jp_plan plan;
    struct jp_error err;
    enum jp_exit status;
    int rc;

    if (check_word(a, &err) < 0)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    if (a->common.verbose)
        fprintf(stderr, "jobprof: reading %s\n",
                a->common.config ? a->common.config : JP_DEF_SITE_FILE);
    s->in.nnodes = (uint32_t) a->nodes;
    s->in.ntasks = (uint32_t) a->tasks;
    s->in.plan = (struct plan_input){.config = a->common.config,
                                     .nccl = a->word,
                                     .env = plan_world_env,
                                     .env_arg = &s->world,
                                     .strict = true};
    if (a->from && (status = take_report(s, &err)) != JP_EXIT_OK)
        return cmd_args_fail("plan", status, &err);
    if (plan_world_init(&s->world, a->memory_bytes,
                        s->in.nnodes || s->in.ntasks, &err) < 0 ||
        plan_make(&s->in.plan, &plan, &err) < 0)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    if (!plan.nccl.mode) { /* nothing asks for a profile: as if auto were */
        plan.nccl.mode = grammar_find_mode(&jp_grammar_nccl, "auto");
        plan.nccl.mode_source = PLAN_DEFAULT;
    }
    rc = show(s, &plan);
    plan_fini(&plan);
    return rc;
}

int cmd_plan(int argc, char **argv)
{
    struct arguments args = {0};
    struct session session = {.args = &args};
    int rc = parse(argc, argv, &args);

    if (rc >= 0)
        return rc;
    rc = run(&session);
    plan_from_fini(&session.from);
    plan_measured_fini(&session.measured);
    plan_world_fini(&session.world);
    return rc;
}
