/* jobprof_node.c - the SPANK module's helper: its commands, in the order in
 * which a step needs them.
 *
 * resolve srun's part. The module runs it twice: with --check when the options
 *         are parsed, to refuse a wrong one, and without when the step starts.
 *         It then prints the step's variables. Apart from a refused option
 *         nothing here may prevent the step
 * begin   a node joins the step before its tasks start. It answers with the
 *         variables of the tasks, then goes on in the background
 * agent   what begin becomes: it samples the node beside the tasks
 * task    a task records what it can see
 * finish  the node leaves the step
 * run     runs a program beside the tasks
 *
 * docs/dev/contracts.md, section 1, has their arguments and answers. All run as
 * the job's user, and none may fail the job. Errors go to the step's log, or to
 * stderr, which the module passes on: to the user, or to the site where only
 * the site's default asks for a profile. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/profiler.h"
#include "common/quote.h"
#include "common/sitelog.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/nodehw.h"
#include "orchestrator/agent/plan_view.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/topo/hardware.h"
#include "plugins/backend.h"

static void set_commands(struct module_place *place); /* below */

/* --- arguments ------------------------------------------------------------ */

/* The arguments of all commands but run. The SPANK module passes most of them;
 * begin passes some to the agent. */
struct arguments {
    struct plan_input in; /* the settings: of resolve and begin */
    const char *script;   /* a step that is not srun's; NULL: it is */
    /* of resolve */
    struct launch_facts given; /* facts of the step from srun */
    bool check;
    /* of a node's commands; NULL: not given */
    const char *hash; /* checksum of job.conf */
    const char *node;
    struct jp_seat seat;
    /* from begin to the agent; told 1: the agent reads a struct module_told */
    uint32_t period_ms, disk_mib, told;
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

#define OPTION_ROW(up, low)                                                    \
    {#low, "VALUE", NULL, OPT_TEXT(in.given[OPTION_##up])},
#define SETTINGS_ROWS                                                          \
    {"config", "FILE", NULL, OPT_TEXT(in.config)},                             \
        {"default", "MODE", NULL, OPT_TEXT(in.default_mode)},                  \
        JP_OPTIONS(OPTION_ROW)                                                 \
    {                                                                          \
        "script", "STEP", NULL, OPT_TEXT(script)                               \
    }

static const struct cmd_option resolve_rows[] = {
    SETTINGS_ROWS,
    {"check", NULL, NULL, OPT_FLAG(check)},
    {"nodes", "N", NULL, OPT_COUNT(given.nnodes, 0, UINT32_MAX),
     OPT_TAKE(read_count)},
    {"tasks", "N", NULL, OPT_COUNT(given.ntasks, 0, UINT32_MAX),
     OPT_TAKE(read_count)},
    {"command", "TEXT", NULL, OPT_TEXT(given.command)},
};

static const struct cmd_option node_rows[] = {
    SETTINGS_ROWS,
    {"dir", "DIR", NULL, OPT_TEXT(seat.dir)},
    {"hash", "SUM", NULL, OPT_TEXT(hash)},
    {"node", "NAME", NULL, OPT_TEXT(node)},
    {"nodeid", "N", NULL, OPT_COUNT(seat.nodeid, 0, UINT32_MAX)},
    {"component", "N", NULL, OPT_COUNT(seat.component, 1, INT64_MAX)},
    {"nodes", "N", NULL, OPT_COUNT(seat.nodes, 1, UINT32_MAX)},
    {"period", "N", NULL, OPT_COUNT(period_ms, 0, UINT32_MAX)},
    {"disk", "N", NULL, OPT_COUNT(disk_mib, 1, UINT32_MAX)},
    {"told", "N", NULL, OPT_COUNT(told, 0, UINT32_MAX)},
};

static const struct cmd_options resolve_options = {CMD_ROWS(resolve_rows),
                                                   .need = "takes no words"};
static const struct cmd_options node_options = {CMD_ROWS(node_rows),
                                                .need = "takes no words"};

/* --- resolve: srun's part of a profiled step ------------------------------ */

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

/* Creates the step's directory, starts what runs beside the tasks, and prints
 * the answer. Returns an exit status. */
static int start_step(struct launch_facts *facts, const struct jp_plan *plan,
                      struct jp_error *err)
{
    /* before the launch, because KillWait becomes a part of it */
    struct slurmstep *slurm = sidestep_ask(facts, plan);
    struct launch launch;

    if (launch_step(facts, plan, &launch, err) < 0) {
        free(slurm);
        return print_unprofiled(facts->env, err);
    }
    for (char *rest = launch.note, *line; (line = strsep(&rest, "\n"));)
        print_line(line);
    begin_log_sides(launch.place.step_dir, &launch.conf);
    if (launch.beside < OPTIONS)
        sidestep_start(slurm, &launch, print_line);
    free(slurm);
    /* without a directory nothing is profiled */
    if (launch.place.step_dir) {
        print_announcements(facts, &launch.conf);
        printf("SLURM_JOBPROF_DIR=%s\nSLURM_JOBPROF_HASH=%s\n" /* raw: pairs */
               "SLURM_JOBPROF_LIMIT=%u\n",
               launch.place.step_dir, launch.hash, launch_limit_s(&launch));
    }
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

static int cmd_resolve(int argc, char **argv)
{
    struct slurmjob_memo memo = {0};
    struct arguments a = {.in = {.ask = slurmjob_ask, .ask_arg = &memo},
                          .given.owner = true};
    struct jp_error err;

    if (cmd_options_read(&resolve_options, argc, argv, &a, &err) < 0) {
        quote_printf(stderr, "jobprof-node resolve: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    if (a.script && facts_enter_script(a.script, NULL, &err) < 0)
        return print_unprofiled(&a.in, &err);
    return a.check ? check_options(&a.in) : resolve_step(&a.in, &a.given);
}

/* --- a node's arguments --------------------------------------------------- */

/* Parses argv (docs/dev/contracts.md, section 1). Strings are borrowed from it.
 * Checks the node's name, because it becomes part of paths. */
static int node_args_parse(int argc, char **argv, struct arguments *args,
                           struct jp_error *err)
{
    struct arguments out = {.seat = {.nodeid = UINT32_MAX}};

    if (cmd_options_read(&node_options, argc, argv, &out, err) < 0)
        return -1;
    if (!out.seat.nodes || !out.seat.component || out.seat.nodeid == UINT32_MAX)
        return error_set(err, "--nodeid, --component and --nodes are needed");
    if (!stepdir_name_ok(out.node))
        return error_set(err, "node name \"%s\" cannot be part of a path",
                         out.node ? out.node : "");
    if (out.seat.dir && out.seat.dir[0] != '/')
        return error_set(err, "%s: not an absolute path", out.seat.dir);
    if (out.script && facts_enter_script(out.script, out.node, err) < 0)
        return -1;
    *args = out;
    return 0;
}

/* --- begin: a node joins the step, then lingers --------------------------- */

#define LINGER_NICE 10 /* the tasks start at the same time */

/* Finds the step's directory: that of srun, or else the one that the settings
 * name. *dir is NULL if no profile is wanted; caller frees. */
static int find_dir(const struct arguments *args, char **dir,
                    struct jp_error *err)
{
    struct begin_settings settings = {.config = args->in.config,
                                      .default_mode = args->in.default_mode,
                                      .nodeid = args->seat.nodeid,
                                      .nodes = args->seat.nodes};

    memcpy(settings.given, args->in.given, sizeof(settings.given));
    if (!args->seat.dir)
        return begin_locate(&settings, dir, err);
    *dir = strdup(args->seat.dir);
    return *dir ? 0 : error_set(err, "out of memory");
}

/* Redirects the standard streams to /dev/null, because the SPANK module reads
 * until the end of the file. */
static int close_streams(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int rc = fflush(stdout) == 0 && fd >= 0 ? 0 : -1;

    for (int i = 0; fd >= 0 && i < 3; i++)
        /* the module reads until all copies of its pipe are closed */
        if (dup2(fd, i) < 0)
            rc = -1;
    return rc;
}

/* Fixes the checksum of job.conf, so that later changes by the user are
 * noticed. With srun, srun has done this. Without it, no process has defined
 * the step's job.conf; the one counts that exists before the node's tasks
 * start. */
static void pin_job_conf(const char *dir)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, dir);
    char hash[SHA256_HEX];

    if (!getenv("SLURM_JOBPROF_HASH") && path &&
        jobconf_hash(path, hash, NULL) == 0)
        setenv("SLURM_JOBPROF_HASH", hash, 1);
    free(path);
}

/* Joins the step. *pairs: the answer to the module, "." at the end; caller
 * frees. Returns 0, or -1 and err. */
static int join_step(struct arguments *args, char **pairs,
                     struct begin_told *told, struct jp_error *err)
{
    char *dir = NULL;

    if (find_dir(args, &dir, err) < 0)
        return -1;
    args->seat.dir = dir; /* not freed: needed until the process ends */
    if (dir) {
        pin_job_conf(dir);
        return begin_join(&args->seat, args->node, pairs, told, err);
    }
    *pairs = strdup(".\n");
    return *pairs ? 0 : error_set(err, "out of memory");
}

/* Whether there are settings for any module. */
static bool has_settings(const struct module_told *told)
{
    bool has = told->meets;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        has = has || told->of[i].given;
    return has;
}

/* Passes what modules are told to the agent's standard input. It contains a
 * key, which must not be an argument that other users can read. The pipe has
 * room for all of it. */
static bool tell_modules(const struct module_told *told)
{
    int ends[2];
    bool done = false;

    if (!has_settings(told) || pipe2(ends, O_CLOEXEC) < 0)
        return false;
    done = write(ends[1], told, sizeof(*told)) == sizeof(*told) &&
           dup2(ends[0], STDIN_FILENO) == STDIN_FILENO;
    close(ends[0]);
    close(ends[1]);
    return done;
}

/* Turns this process into the agent. When the step exits, the module ends the
 * agent and its whole process group. Returns only if exec fails. */
static void become_agent(const struct arguments *args,
                         const struct begin_told *told)
{
    const struct jp_policy *policy = &told->policy;
    /* execv needs texts */
    char nodeid[12], nodes[12], component[24], period[12], disk[12];
    const char *argv[] = {"jobprof-node",
                          "agent",
                          "--dir",
                          args->seat.dir,
                          "--node",
                          args->node,
                          "--nodeid",
                          nodeid,
                          "--nodes",
                          nodes,
                          "--component",
                          component,
                          "--period",
                          period,
                          "--disk",
                          disk,
                          "--told",
                          tell_modules(&told->modules) ? "1" : "0",
                          args->in.config ? "--config" : NULL,
                          args->in.config,
                          NULL};

    snprintf(nodeid, sizeof(nodeid), "%u", args->seat.nodeid);
    snprintf(nodes, sizeof(nodes), "%u", args->seat.nodes);
    snprintf(component, sizeof(component), "%llu",
             (unsigned long long) args->seat.component);
    snprintf(period, sizeof(period), "%u", policy->period_ms);
    snprintf(disk, sizeof(disk), "%u", policy->disk_mib);
    /* an alarm would survive exec and end the agent */
    alarm(0);
    execv("/proc/self/exe", (char *const *) argv);
    stepdir_log(args->seat.dir, "%s: no agent: %s", args->node,
                strerror(errno));
}

/* Does the remaining work while the tasks run. Drivers may block the hardware
 * queries, so a child does them and the agent does not wait. */
static void stay_beside_tasks(const struct arguments *args,
                              const struct begin_told *told)
{
    bool agent = told->policy.period_ms || has_settings(&told->modules) ||
                 told->policy.hang_suspect_ms;
    pid_t pid = agent ? fork() : 0;

    /* The process that stays is not the agent's child. The agent waits for its
     * own children, whose cost and numbers count, so it must neither have
     * others nor ignore SIGCHLD. */
    if (pid > 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        become_agent(args, told); /* returns only if exec has failed */
        return;
    }
    if (agent && pid == 0 && fork() > 0)
        _exit(0);
    confine_self(CONFINE_BEGIN, NULL, NULL);
    setpriority(PRIO_PROCESS, 0, LINGER_NICE);
    begin_background(args->seat.dir, args->node, args->in.config);
}

static int cmd_begin(int argc, char **argv)
{
    struct begin_told told = {0};
    struct arguments args;
    struct jp_error err;
    char *pairs = NULL;
    bool found;
    int rc;

    /* before anything else, because slurmstepd waits for the answer */
    confine_self(CONFINE_BEGIN, NULL, NULL);
    /* from here on a signal ends this process only where no file is half
     * written */
    nodehw_init();
    if (node_args_parse(argc, argv, &args, &err) < 0) {
        quote_printf(stderr, "begin: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    /* srun has named no directory, so the module does not have it */
    found = !args.seat.dir;
    rc = join_step(&args, &pairs, &told, &err);
    if (rc < 0) /* the module tells the user or the site */
        quote_printf(stderr, "%s (tasks here run unprofiled)\n", err.text);
    found = found && args.seat.dir;
    if (found) /* finish needs it, even if this node does not take part */
        printf("SLURM_JOBPROF_DIR=%s\nSLURM_JOBPROF_HASH=%s\n", /* raw: pairs */
               args.seat.dir, getenv("SLURM_JOBPROF_HASH") ?: "");
    if (rc == 0 || found)
        fputs(rc == 0 ? pairs : ".\n", stdout);
    free(pairs);
    if (rc < 0) {
        free((char *) args.seat.dir);
        return JP_EXIT_NOT_PROFILED;
    }
    if (close_streams() == 0 && args.seat.dir)
        stay_beside_tasks(&args, &told);
    free((char *) args.seat.dir);
    return JP_EXIT_OK;
}

/* --- agent: what begin becomes after it has answered ---------------------- */

/* Shortest period of samples, whatever job.conf says. */
#define MIN_PERIOD_MS 100

/* Writes a line to the step's log. A callback of the agent's modules. */
static void log_line(void *arg, const char *line)
{
    stepdir_log(arg, "%s", line);
}

/* Finds the step by the tasks' environment. */
static int find_step(struct module_place *place, struct jp_error *err)
{
    place->step = getenv("SLURM_STEP_ID");
    if (!place->step || !*place->step)
        return error_set(err, "no SLURM_STEP_ID");
    return num_parse_u64(getenv("SLURM_JOB_ID"), 1, UINT32_MAX, &place->job,
                         err);
}

/* The site's metrics settings, and the step from conf. */
struct metrics {
    struct module_metrics site;
    struct jp_jobconf conf; /* borrowed by site */
    char job[24];
};

/* Fills the settings of the metrics file, if the site has a folder for it. */
static void set_metrics(const struct jp_sitefile *file, struct metrics *m,
                        struct module_place *place)
{
    struct jp_site_metrics site;

    sitefile_metrics(file, &site);
    if (!site.spool)
        return;
    snprintf(m->job, sizeof(m->job), "%" PRIu64, m->conf.job_id);
    m->site = (struct module_metrics){.folder = site.spool,
                                      .period_ms = site.interval_ms,
                                      .series = site.series,
                                      .job = m->job,
                                      .step = m->conf.step_id,
                                      .user = m->conf.user,
                                      .account = m->conf.account,
                                      .partition = m->conf.partition};
    place->metrics = &m->site;
}

/* Sets what the profiler's files show while they grow. */
static void find_profiler(const struct jp_jobconf *conf,
                          struct module_place *place)
{
    const struct jp_profiler *profiler = profiler_get(conf->nccl_mode);
    const char *interval = jobconf_find(conf, "interval");

    place->records_live = profiler->records_live;
    /* interval is the delay after which ended operations appear in the files */
    if (!profiler->records_ended)
        return;
    place->profiler = profiler->name;
    if (!interval ||
        num_parse_time_us(interval, 0, UINT64_MAX, &place->batch_us, NULL) < 0)
        place->batch_us = 0;
}

/* Returns the profiler's library that the tasks are given, borrowed; NULL:
 * none, or the user's own one stays in its place. */
static const char *find_plugin(const struct jp_jobconf *conf)
{
    const char *own = jobconf_find(conf, "NCCL_PROFILER_PLUGIN");

    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, "NCCL_PROFILER_PLUGIN"))
            return own && strcmp(own, conf->env[i].value) != 0
                       ? NULL
                       : conf->env[i].value;
    return NULL;
}

/* Reads the settings of hang detection. Without job.conf it is off. */
static void read_conf(const struct arguments *args,
                      const struct jp_sitefile *site,
                      struct module_place *place, struct jp_onhang *on_hang,
                      struct metrics *metrics)
{
    const char *hash = getenv("SLURM_JOBPROF_HASH"), *what;
    struct jp_jobconf conf;

    place->conf_hash = hash ? hash : "";
    if (jobconf_read_step(args->seat.dir, hash, &conf, NULL) == 0) {
        ceiling_apply(&conf.policy, NULL); /* the user can write to job.conf */
        what = jobconf_find(&conf, "on_hang");
        find_profiler(&conf, place);
        place->plugin = find_plugin(&conf);
        /* only one node of the step, and only of the first component of a
         * heterogeneous job */
        place->leads = conf.job_id == args->seat.component &&
                       args->seat.nodeid == 0;
        place->hang_suspect_ms = conf.policy.hang_suspect_ms;
        /* ignores an unknown word of another release: the hang is reported
         * only */
        if (what)
            (void) onhang_parse(what, jobconf_find(&conf, "after"), on_hang,
                                NULL);
        metrics->conf = conf;
        set_metrics(site, metrics, place);
    }
}

/* Lists the step's nodes for modules that talk to other nodes. If Slurm does
 * not name them, there are none. *names: caller frees with nodelist_free. */
static void find_nodes(struct module_place *place, char ***names)
{
    struct jp_error err;

    if (nodelist_expand(getenv("SLURM_STEP_NODELIST") ?: "", names,
                        &place->n_nodes, &err) < 0)
        place->n_nodes = 0;
    place->nodes = (const char *const *) *names;
}

/* Reads the modules' settings, which begin has left on standard input. */
static void read_settings(struct module_told *told, struct module_place *place)
{
    bool whole = read(STDIN_FILENO, told, sizeof(*told)) == sizeof(*told);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    /* a child must not inherit the pipe */
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
    if (!whole || told->net.interfaces[MODULE_NAMES_BYTES - 1])
        return;
    if (told->meets)
        place->net = &told->net;
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (told->of[i].given)
            place->settings[i] = told->of[i].bytes;
}

/* Gathers what the modules need and runs them until the step ends. Returns 0,
 * or -1 and err. */
static int run_agent(const struct arguments *args, struct jp_error *err)
{
    struct nodeagent agent = {.modules = nodeagent_modules};
    struct module_place *place = &agent.place;
    const struct sitefile_value *named;
    struct jp_sitefile site = {0};
    struct jp_onhang on_hang = {.kind = ONHANG_REPORT};
    /* too large for the stack */
    static struct module_shared shared;
    static struct module_told told;
    char **nodes = NULL;
    struct metrics metrics = {.conf = {.schema = 0}};
    int rc;

    if (args->told)
        read_settings(&told, place);
    if (stepdir_hold(args->seat.dir, err) < 0 || find_step(place, err) < 0)
        return -1;
    /* without the site file, its defaults */
    (void) plan_load_site(args->in.config, &site, NULL);
    named = sitefile_find(&site, "nvml_library");
    place->dir = args->seat.dir;
    place->node = args->node;
    place->root = "";
    place->uid = getuid();
    place->nvml_library = named ? named->value : JP_NVML_LIBRARY;
    named = sitefile_find(&site, "rsmi_library");
    place->rsmi_library = named ? named->value : NULL;
    place->gpus = getenv("SLURM_STEP_GPUS") ?: getenv("SLURM_JOB_GPUS");
    place->period_ms = args->period_ms;
    if (place->period_ms && place->period_ms < MIN_PERIOD_MS)
        place->period_ms = MIN_PERIOD_MS;
    place->disk_bytes = (uint64_t) args->disk_mib << 20;
    place->log = log_line;
    place->log_arg = (void *) args->seat.dir;
    place->nodeid = args->seat.nodeid;
    place->step_nodes = args->seat.nodes;
    place->component = args->seat.component;
    place->on_hang = &on_hang;
    place->shared = &shared;
    set_commands(place);
    read_conf(args, &site, place, &on_hang, &metrics);
    find_nodes(place, &nodes);
    rc = nodeagent_run(&agent, err);
    nodelist_free(nodes, place->n_nodes);
    jobconf_fini(&metrics.conf);
    sitefile_fini(&site);
    return rc;
}

/* The exit status is read by nobody, so errors go to the step's log. */
static int cmd_agent(int argc, char **argv)
{
    struct arguments args;
    struct jp_error err;

    confine_self(CONFINE_AGENT, NULL, NULL);
    /* Exec keeps an ignored SIGCHLD. The kernel would then reap children at
     * once: their cost would be unknown, and their numbers free for others. */
    signal(SIGCHLD, SIG_DFL);
    if (node_args_parse(argc, argv, &args, &err) < 0 || !args.seat.dir ||
        !args.disk_mib) {
        quote_printf(stderr, "agent: bad arguments\n");
        return JP_EXIT_USAGE;
    }
    if (run_agent(&args, &err) == 0)
        return JP_EXIT_OK;
    stepdir_log(args.seat.dir, "%s: no agent: %s", args.node, err.text);
    return JP_EXIT_IO;
}

/* --- task: records what a task can see before it starts ------------------- */

/* The calling process becomes the task. */
static int cmd_task(int argc, char **argv)
{
    struct arguments args;
    struct jp_error err;

    if (node_args_parse(argc, argv, &args, &err) < 0 || !args.seat.dir ||
        stepdir_hold(args.seat.dir, &err) < 0)
        return JP_EXIT_USAGE;
    if (begin_task(&args.seat, args.node, getppid(), "/dev", &err) == 0)
        return JP_EXIT_OK;
    stepdir_log(args.seat.dir, "%s: no start record: %s", args.node, err.text);
    return JP_EXIT_IO;
}

/* --- finish: a node leaves the step --------------------------------------- */

/* Stops the reading of logs at the deadline. A callback of partial_make. */
static int is_late(void *deadline_ms, uint64_t done, uint64_t total)
{
    (void) done;
    (void) total;
    return clock_mono_ms() > *(const uint64_t *) deadline_ms;
}

/* Makes the node's part of the report from its logs, if there is time. A
 * function of type finish_partial. */
static int make_partial(const struct finish_node *of, struct jp_error *err)
{
    uint64_t deadline_ms = of->deadline_ms;
    const struct jp_aggregate_options options = {.progress = is_late,
                                                 .progress_arg = &deadline_ms,
                                                 .processes = of->processes};
    char *raw = text_format("%s/raw/%s", of->seat->dir, of->node);
    char *path =
        text_format("%s/nodes/%s/partial.jpp", of->seat->dir, of->node);
    uint64_t ms = 0;
    int rc = -1;

    if (!raw || !path)
        error_set(err, "out of memory");
    else if (!stepdir_is_folder(raw) || !(ms = partial_estimate_ms(raw)))
        rc = 0;
    /* an incomplete partial is of no use, so it is not begun */
    else if (clock_mono_ms() + ms > deadline_ms)
        error_set(err, "reading its files takes about %" PRIu64 " ms", ms);
    else
        rc = partial_make(raw, path, &options, err) < 0 ? -1 : 0;
    free(raw);
    free(path);
    return rc;
}

/* Cleans up after a runner if Slurm has killed all of its supervisor's
 * processes. Runs after the records are written, because a file system that
 * hangs may delay it. */
static void sweep_runner(const char *dir, const char *node, const char *hash)
{
    const struct backend_runner *runner;
    const struct backend *backend;
    struct jp_jobconf conf = {0};

    if (!runmark_is_set(dir, node, RUNMARK_READY) ||
        runmark_is_set(dir, node, RUNMARK_DONE) ||
        jobconf_read_step(dir, hash, &conf, NULL) < 0)
        return;
    backend = backend_of_option(backend_beside(&conf));
    runner = backend ? backend_runner_of(backend->runner, &conf) : NULL;
    if (runner && runner->sweep && runner->sweep(&conf, dir, node)) {
        stepdir_log(dir, "%s: %s was killed with its supervisor", node,
                    backend->about.title);
        /* the report no longer waits for this node */
        runmark_set(dir, node, RUNMARK_DONE, "", NULL);
    }
    jobconf_fini(&conf);
}

static int cmd_finish(int argc, char **argv)
{
    struct arguments args;
    struct finish finish;
    struct jp_error err;

    /* the module has taken it out of the job's cgroups */
    if (outside_begin(&err) < 0) {
        quote_printf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_IO;
    }
    confine_self(CONFINE_FINISH, NULL, NULL);
    if (node_args_parse(argc, argv, &args, &err) < 0 ||
        (!args.seat.dir && error_set(&err, "--dir is missing") < 0) ||
        stepdir_hold(args.seat.dir, &err) < 0) {
        quote_printf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_USAGE;
    }
    finish = (struct finish){.seat = &args.seat,
                             .node = args.node,
                             .tasks = stdin,
                             .partial = make_partial,
                             .hash = args.hash,
                             .site = args.in.config};
    /* records first; then what may take longer */
    if (finish_leave(&finish, &err) < 0) {
        quote_printf(stderr, "finish: %s\n", err.text);
        return JP_EXIT_IO;
    }
    sweep_runner(args.seat.dir, args.node, args.hash);
    return JP_EXIT_OK;
}

/* --- run: a runner beside a node's tasks ---------------------------------- */

/* Sets PATH for the programs that a runner starts: srun's environment is nearly
 * empty. */
static void set_path(void)
{
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
}

/* The arguments of the supervisor's child. */
struct runner_work {
    const struct backend_runner *runner;
    struct run_place place;
};

/* Prints the error with the node's name. Returns JP_EXIT_IO. */
static int print_error(const char *node, const struct jp_error *err)
{
    quote_printf(stderr, "%s: %s\n", node, err->text);
    return JP_EXIT_IO;
}

/* Runs in the child of supervise_guard. Returns its exit status. */
static int run_runner(void *arg)
{
    const struct runner_work *work = arg;
    struct jp_error err;

    if (supervise(work->runner, &work->place, &err) == 0)
        return JP_EXIT_OK;
    return print_error(work->place.node, &err);
}

/* Returns the option whose runner the step is for. If job.conf cannot be read,
 * the supervisor reports that. */
static enum jp_option find_beside(const char *dir, const char *hash)
{
    struct jp_jobconf conf;
    enum jp_option option;

    if (jobconf_read_step(dir, hash, &conf, NULL) < 0)
        return backend_beside(NULL);
    option = backend_beside(&conf);
    jobconf_fini(&conf);
    return option;
}

static int cmd_run(int argc, char **argv)
{
    const char *node = getenv("SLURMD_NODENAME");
    const struct backend *backend;
    struct runner_work work = {0};
    struct jp_error err;
    const char *hash;
    int rc;

    /* --dir DIR [--hash SUM], from sidestep.c */
    if ((argc != 3 && (argc != 5 || strcmp(argv[3], "--hash") != 0)) ||
        strcmp(argv[1], "--dir") != 0 || argv[2][0] != '/' ||
        !stepdir_name_ok(node)) {
        fprintf(stderr, "run: bad arguments, or not a task of Slurm's\n");
        return JP_EXIT_USAGE;
    }
    set_path();
    if (stepdir_hold(argv[2], &err) < 0)
        return print_error(node, &err);
    hash = argc == 5 ? argv[4] : NULL;
    work.place =
        (struct run_place){argv[2], node, hash, find_beside(argv[2], hash)};
    backend = backend_of_option(work.place.option);
    if (!backend) {
        fprintf(stderr, "run: nothing runs beside the tasks of this step\n");
        return JP_EXIT_USAGE;
    }
    work.runner = backend->runner;
    rc = supervise_guard(work.runner, &work.place, run_runner, &work, &err);
    return rc < 0 ? print_error(node, &err) : rc;
}

/* --- the program ---------------------------------------------------------- */

/* of a feature, in its folder */
extern const struct command command_evidence;

static const struct command *const commands[] = {
    COMMAND("resolve", cmd_resolve,
            "turn settings into a step directory (in srun)"),
    COMMAND("begin", cmd_begin, "prepare this node for a profiled step"),
    COMMAND("agent", cmd_agent, "sample this node while the tasks run"),
    COMMAND("task", cmd_task, "record that a task of this node starts"),
    COMMAND("finish", cmd_finish, "finish a profiled step on this node"),
    COMMAND("run", cmd_run, "run programs beside the tasks of this node"),
    &command_evidence,
    NULL,
};

/* Sets what commands do for modules of the agent. */
static void set_commands(struct module_place *place)
{
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->take_evidence)
            place->take_evidence = commands[i]->take_evidence;
}

static const struct program program = {
    .name = "jobprof-node",
    .purpose = "The SPANK module of jobprof runs this as the job's user.",
    .commands = commands,
    .epilogue = "Only jobprof calls it; its arguments may change.\n",
};

int main(int argc, char **argv)
{
    /* a step's files are for its user only */
    umask(077);
    return commands_run(&program, argc, argv);
}
