/* trial_command.c - `jobprof trial`: run a program in different configurations
 * to find the fastest one.
 *
 * Inside an allocation, the steps run at once (run_here). Outside, the plan is
 * saved and a job is submitted that continues it (submit_job: `jobprof trial
 * --continue DIR`), so that both cases run the same code. trial/ has everything
 * about plan, runs and result. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/trial/trial.h"

#define DAY_US (UINT64_C(86400) * 1000000)
#define TIME_DEFAULT_US (UINT64_C(600) * 1000000)
/* Minutes of a job in addition to --time, for its start and its end. */
#define JOB_MINUTES 2
/* Time limit of sbatch and squeue; interval of queries to the queue. */
#define ASK_MS 60000
#define QUEUE_SECONDS 10
#define ENV_JOB "SLURM_JOB_ID"
#define ENV_JOB_END "SLURM_JOB_END_TIME"

struct arguments {
    struct trial *trial;
    const char *output, *again, *show;
    uint64_t rounds;   /* 0: not given */
    uint64_t seed;     /* UINT64_MAX: not given */
    uint64_t limit_us; /* 0: not given */
    bool wait, dry_run, planned;
    struct cmd_common common;
};

/* The signal that ends the trial; 0: none yet. Read by trial/ between and
 * during steps. */
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    stop = sig;
}

/* Prints the error. Returns status. */
static int fail(int status, const struct jp_error *err)
{
    return cmd_args_fail("trial", status, err);
}

/* --- arguments ------------------------------------------------------------ */

/* Adds the values of an axis. The kind of the axis is row->min. */
static int take_axis(void *arguments, const struct cmd_option *row, char *value,
                     struct jp_error *err)
{
    struct arguments *a = arguments;

    a->planned = true;
    return trial_add_axis(a->trial, (enum trial_kind) row->min, value, err);
}

#define OPT_AXIS(kind) OPT_TAKE(take_axis), .min = (kind)

static const struct cmd_option rows[] = {
    {"distribution", "LIST", "srun's, such as block,cyclic,plane=4",
     OPT_AXIS(TRIAL_DISTRIBUTION)},
    {"nodelist", "A:B", "lists of nodes", OPT_AXIS(TRIAL_NODELIST)},
    {"gpu-bind", "LIST", "such as closest,none,map_gpu:0,1",
     OPT_AXIS(TRIAL_GPU_BIND)},
    {"cpu-bind", "LIST", "such as cores,sockets", OPT_AXIS(TRIAL_CPU_BIND)},
    {"srun", "NAME=LIST", "any other option of srun", OPT_AXIS(TRIAL_SRUN)},
    {"env", "NAME=LIST",
     "a variable of the program; \"-\" in a list leaves it unset or unchanged. "
     "All options above may be given several times",
     OPT_AXIS(TRIAL_ENV)},
    {"repeat", "N", "runs of each configuration (3, at most 20)",
     OPT_COUNT(rounds, 1, TRIAL_RUNS_MAX)},
    {"time", "TIME",
     "time limit of the whole trial (10m), divided among its steps",
     OPT_TIME_US(limit_us, 1000000, 7 * DAY_US)},
    {"seed", "N", "seed of the shuffled order (1)",
     OPT_COUNT(seed, 0, INT64_MAX)},
    {"output", "DIR", "the trial's folder (jobprof-trial-JOBID)",
     OPT_TEXT(output)},
    {"continue", "DIR",
     "continue a trial that was interrupted; --time starts anew",
     OPT_TEXT(again)},
    {"show", "DIR", "print a trial's table", OPT_TEXT(show)},
    {"wait", NULL, "wait for a submitted job, and print its table",
     OPT_FLAG(wait)},
    {"dry-run", NULL, "print what would run", OPT_FLAG(dry_run)},
    {"json", NULL, "print trial.json instead of the table",
     OPT_FLAG(common.json)},
    {"quiet", NULL, "no progress", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "trial",
    .about = "usage: jobprof trial [options] -- srun ARGS PROGRAM ARGS\n"
             "       jobprof trial --continue DIR | --show DIR\n\n"
             "Run short profiled steps of a program, one for each combination "
             "of the given lists, in several rounds of shuffled order. Show "
             "which combination is the fastest, and whether the difference is "
             "more than noise. Inside an allocation the steps start at once; "
             "elsewhere they become one job (sbatch).\n",
    CMD_ROWS(rows),
    .end = "Ctrl-C ends the running step and prints the table of the steps "
           "before.\n"
           "Exit status: 0 ok (a winner, or no difference), 2 usage, 3 ended "
           "before there was anything to compare, 4 no step has data, 5 a step "
           "or the job could not be started, or output failed.\n",
    .most = CMD_ANY,
    .in_order = true,
};

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    struct jp_error err = {""};
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    /* such options would change a plan that has been saved */
    a->planned |= a->rounds || a->seed != UINT64_MAX;
    if (a->rounds)
        a->trial->rounds = a->rounds;
    if (a->seed != UINT64_MAX)
        a->trial->seed = a->seed;
    if ((a->again || a->show) &&
        (a->planned || optind < argc || (a->again && a->show)))
        return usage(
            "--continue and --show take no command: the trial has one");
    if (a->again || a->show)
        return -1;
    if (optind == argc)
        return usage(
            "a command is missing: jobprof trial ... -- srun ARGS PROGRAM");
    /* also counts the configurations, so that mistakes are found before a job
     * is submitted */
    if (trial_set_command(a->trial, argv + optind, (size_t) (argc - optind),
                          &err) < 0 ||
        trial_count(a->trial, &err) < 0)
        return fail(JP_EXIT_USAGE, &err);
    return -1;
}

/* --- the folder ----------------------------------------------------------- */

/* Holds the trial's folder. Its trial.json names a command that runs, so nobody
 * else may be able to write there. */
static int hold_folder(const char *dir, struct jp_error *err)
{
    return ownplace_hold(dir, OWNPLACE_PRIVATE, err) < 0
               ? error_wrap(err, "a trial needs a folder of your own")
               : 0;
}

/* Makes the folder: that of --output, which may exist if it contains no trial;
 * otherwise the first free name of the job. Returns the absolute path; caller
 * frees. */
static char *make_folder(const struct arguments *a, struct jp_error *err)
{
    const char *job = getenv(ENV_JOB);
    char *here = cmd_args_submit_dir(err), *dir = NULL, *steps;

    /* jobprof-trial-JOBID, then with .2, .3 and so on */
    for (unsigned i = 1; here && i < 1000 && !dir; i++) {
        struct stat st;

        /* this folder may exist, but must not contain a trial */
        if (a->output)
            dir = a->output[0] == '/' ? strdup(a->output)
                                      : text_format("%s/%s", here, a->output);
        else if (i == 1)
            dir = text_format("%s/jobprof-trial%s%s", here, job ? "-" : "",
                              job ? job : "");
        else
            dir = text_format("%s/jobprof-trial%s%s.%u", here, job ? "-" : "",
                              job ? job : "", i);
        if (!dir)
            break;
        /* the name is taken */
        if (!a->output && lstat(dir, &st) == 0) {
            free(dir);
            dir = NULL;
        }
    }
    free(here);
    if (!dir) {
        error_set(err, "no folder for the trial");
        return NULL;
    }
    steps = text_format("%s/steps", dir);
    /* the folder becomes a value in --nccl-profile=...,dir=..., where these
     * characters have a meaning */
    if (!steps || strpbrk(dir, ",%\n")) {
        error_set(err,
                  "%s: the name of a trial's folder cannot have a comma or %%; "
                  "choose another one with --output",
                  dir);
    } else if (fileio_mkdirs(dir, err) == 0 && hold_folder(dir, err) == 0) {
        if (stepdir_has(dir, TRIAL_NAME)) {
            error_set(err,
                      "%s: contains a trial already; use --continue, or "
                      "another --output",
                      dir);
        } else if (fileio_mkdir(steps, err) == 0) {
            free(steps);
            return dir;
        }
    }
    free(steps);
    free(dir);
    return NULL;
}

/* --- the steps ------------------------------------------------------------ */

/* Prints the last run and its time. A callback of trial_run_rounds. */
static void tell_run(void *arg, const struct trial *t)
{
    const struct trial_run *run = &t->runs[t->n_runs - 1];
    const struct arguments *a = arg;
    char label[400];
    double us = isnan(run->iteration_us) ? run->operation_us
                                         : run->iteration_us;

    if (a->common.quiet)
        return;
    quote_printf(stderr, "jobprof: run %zu, round %zu: %s: %s\n", t->n_runs,
                 run->round + 1,
                 trial_label(t, run->config, label, sizeof(label)),
                 run->status != TRIAL_OK ? run->why
                 : isnan(us)             ? "-"
                                         : FIG_US(us));
}

/* The first signal ends the running step; then the result is printed as usual.
 */
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &action, NULL);
}

/* The time left, which the job's end limits as well. After the job's expected
 * end it is 1 ms, so that no further step begins. */
static uint64_t limit_ms(const struct trial *t)
{
    const char *text = getenv(ENV_JOB_END);
    uint64_t limit = t->limit_us / 1000, end = 0;
    time_t now = time(NULL);

    /* older releases of Slurm do not set it */
    if (text && num_parse_u64(text, 1, INT64_MAX / 1000, &end, NULL) == 0) {
        uint64_t left = (time_t) end > now ? (end - (uint64_t) now) * 1000 : 1;

        limit = left < limit ? left : limit;
    }
    return limit;
}

/* Prints the trial as a table or as JSON. Returns an exit status. */
static int print_trial(const struct arguments *a, const struct trial *t)
{
    struct jp_error err = {""};

    if (!a->common.json)
        trial_print(t, stdout);
    else if (trial_write(t, stdout, &err) < 0)
        return fail(JP_EXIT_IO, &err);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error_set(&err, "standard output: %s", strerror(errno));
        return fail(JP_EXIT_IO, &err);
    }
    return JP_EXIT_OK;
}

/* Returns the exit status of a trial. */
static int status_of(const struct trial *t)
{
    size_t good = 0;

    for (size_t i = 0; i < t->n_runs; i++)
        good += t->runs[i].status == TRIAL_OK;
    return t->look.finding != TRIAL_TOO_LITTLE ? JP_EXIT_OK
           : good || !t->n_runs                ? JP_EXIT_INCOMPLETE
                                               : JP_EXIT_NODATA;
}

/* Prints how many steps will run and how long, before anything starts. */
static void announce(const struct arguments *a, const struct trial *t,
                     const char *dir)
{
    size_t all = t->n_configs * t->rounds - t->n_runs;
    char time[JP_FIGURE_LEN];

    if (a->common.quiet)
        return;
    quote_printf(stderr,
                 "jobprof: %zu configurations, %zu round%s: at most %zu step%s "
                 "and %s, in %s\n",
                 t->n_configs, (size_t) t->rounds, plural(t->rounds), all,
                 plural(all), figure_us((double) limit_ms(t) * 1000, time),
                 dir);
    /* noise needs two runs of a configuration */
    if (t->rounds < 2)
        fputs("jobprof: one round cannot show noise, so no winner will be "
              "named\n",
              stderr);
}

/* Runs the steps in this allocation, and prints the result. Returns an exit
 * status. */
static int run_here(const struct arguments *a, struct trial *t, const char *dir)
{
    struct trial_runner runner = {.dir = dir,
                                  .stop = &stop,
                                  .on_run = tell_run,
                                  .arg = (void *) (uintptr_t) a};
    struct jp_error err = {""};
    int rc;

    announce(a, t, dir);
    runner.limit_ms = limit_ms(t);
    catch_signals();
    /* saved again, because the end and its reason are known now */
    if (trial_run_rounds(t, &runner, &err) < 0 ||
        trial_save(t, dir, &err) < 0 || trial_write_pages(t, dir, &err) < 0)
        return fail(JP_EXIT_IO, &err);
    rc = print_trial(a, t);
    if (!a->common.quiet)
        quote_printf(stderr, "jobprof: %s/trial.html\n", dir);
    return rc ? rc : status_of(t);
}

/* --- as a job ------------------------------------------------------------- */

/* Returns sbatch's command, whose words trial_free_words frees; NULL without
 * memory. The job continues the trial. Its script is a word of the command and
 * not a file: somebody could replace a folder above the file before sbatch
 * reads it. */
static char **job_words(const struct trial *t, const char *dir)
{
    char self[4096], *output = text_format("%s/job.log", dir);
    /* the same program as now, wherever the job's PATH leads */
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *folder = trial_quote(dir), *program = NULL, *wrap = NULL;
    uint64_t minutes = t->limit_us / 60000000 + 1 + JOB_MINUTES;
    char **words = NULL;
    size_t k = 0;

    if (n > 0) {
        self[n] = '\0';
        program = trial_quote(self);
    }
    if (program && folder)
        wrap =
            text_format("--wrap=exec %s trial --continue %s", program, folder);
    if (wrap && output)
        words = trial_sbatch_words(t, minutes, output);
    while (words && words[k])
        k++;
    if (words && vector_resize(&words, k + 2, sizeof(*words)) == 0) {
        words[k] = wrap;
        words[k + 1] = NULL;
    } else {
        trial_free_words(words);
        words = NULL;
        free(wrap);
    }
    free(program);
    free(folder);
    free(output);
    return words;
}

/* Whether Slurm lists the job as pending or running. Without an answer of Slurm
 * it is assumed to be. */
static bool is_queued(const char *job)
{
    char answer[64] = "";
    const char *argv[] = {"squeue", "-h", "-o", "%T", "-j", job, NULL};
    struct child_result result = {0};
    enum child_end end = child_run(&(struct child){.argv = (char *const *) argv,
                                                   .limit_ms = ASK_MS,
                                                   .out = answer,
                                                   .room = sizeof(answer) - 1},
                                   &result);

    if (end != CHILD_ENDED)
        return true;
    return result.len > 0; /* for an ended job there is an error, or no line */
}

/* Waits until the trial or its job has ended. Returns an exit status. Ctrl-C
 * does not end the job. */
static int await_job(const char *dir, const char *job)
{
    const struct timespec second = {.tv_sec = 1};
    enum trial_end end = TRIAL_OPEN;

    catch_signals();
    for (unsigned i = 1; end == TRIAL_OPEN && !stop; i++) {
        struct trial *t;

        nanosleep(&second, NULL);
        /* the job writes the file by rename, so it is always whole */
        t = trial_load(dir, TRIAL_READ, NULL);
        end = t ? t->end : TRIAL_OPEN;
        trial_free(t);
        /* squeue costs the controller more than a file */
        if (end == TRIAL_OPEN && i % QUEUE_SECONDS == 0 && !is_queued(job))
            break;
    }
    if (!stop)
        return JP_EXIT_OK;
    quote_printf(stderr,
                 "jobprof: job %s is still running; scancel %s ends it\n", job,
                 job);
    return JP_EXIT_INCOMPLETE;
}

/* Submits a job that continues the trial. Returns an exit status. */
static int submit_job(const struct arguments *a, struct trial *t,
                      const char *dir)
{
    struct jp_error err = {""};
    char answer[1024] = "", **words = job_words(t, dir);
    struct child_result result = {0};
    enum child_end end;
    int rc = JP_EXIT_IO;

    if (!words) {
        error_set(&err, "out of memory");
        return fail(JP_EXIT_IO, &err);
    }
    announce(a, t, dir);
    end = child_run(&(struct child){.argv = words,
                                    .with_stderr = true,
                                    .limit_ms = ASK_MS,
                                    .out = answer,
                                    .room = sizeof(answer) - 1},
                    &result);
    /* sbatch --parsable prints JOBID or JOBID;CLUSTER */
    answer[result.len < sizeof(answer) ? result.len : sizeof(answer) - 1] = 0;
    answer[strcspn(answer, "\n;")] = '\0';
    /* anything but a number is sbatch's error */
    if (child_succeeded(end, &result) && *answer &&
        strspn(answer, "0123456789") == strlen(answer)) {
        quote_printf(stderr,
                     "jobprof: submitted job %s; print its table with jobprof "
                     "trial --show %s\n",
                     answer, dir);
        rc = a->wait ? await_job(dir, answer) : JP_EXIT_OK;
    } else {
        error_set(&err, "sbatch: %s", *answer ? QUOTE(answer) : "no answer");
        rc = fail(JP_EXIT_IO, &err);
    }
    trial_free_words(words);
    return rc;
}

/* --- run the trial -------------------------------------------------------- */

/* Prints a trial of an earlier run. Returns an exit status. */
static int show_trial(const struct arguments *a, const char *dir)
{
    struct jp_error err = {""};
    struct trial *t = trial_load(dir, TRIAL_READ, &err);
    int rc;

    if (!t)
        return fail(JP_EXIT_NODATA, &err);
    rc = print_trial(a, t);
    if (rc == JP_EXIT_OK)
        rc = status_of(t);
    trial_free(t);
    return rc;
}

/* Saves the trial and runs it here or as a job, which reads it from the folder.
 * Returns an exit status. */
static int run_saved(const struct arguments *a, struct trial *t,
                     const char *dir)
{
    struct jp_error err = {""};
    int rc;

    if (trial_save(t, dir, &err) < 0)
        return fail(JP_EXIT_IO, &err);
    if (getenv(ENV_JOB))
        return run_here(a, t, dir);
    rc = submit_job(a, t, dir);
    return rc == JP_EXIT_OK && a->wait ? show_trial(a, dir) : rc;
}

/* Continues a trial. Runs that exist are kept. Returns an exit status. */
static int go_on(const struct arguments *a)
{
    struct jp_error err = {""};
    char *dir = ownplace_real(a->again, OWNPLACE_OURS, &err);
    struct trial *t;
    int rc;

    if (!dir)
        return fail(errno == EPERM ? JP_EXIT_IO : JP_EXIT_NODATA, &err);
    if (hold_folder(dir, &err) < 0) {
        free(dir);
        return fail(JP_EXIT_IO, &err);
    }
    t = trial_load(dir, TRIAL_RUN, &err);
    if (t) {
        if (a->limit_us)
            t->limit_us = a->limit_us;
        /* judged anew: it ended for a reason that no longer holds */
        t->end = TRIAL_OPEN;
        trial_judge(t);
        rc = run_saved(a, t, dir);
    } else {
        rc = fail(JP_EXIT_NODATA, &err);
    }
    free(dir);
    trial_free(t);
    return rc;
}

/* Prints a command as a line for a shell. Frees words, which may be NULL. */
static void print_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++) {
        char *quoted = trial_quote(words[i]);

        quote_printf(stdout, "%s%s", i ? " " : "", quoted ? quoted : "");
        free(quoted);
    }
    putchar('\n');
    trial_free_words(words);
}

/* Prints all commands in their order. Returns an exit status. */
static int dry_run(const struct arguments *a)
{
    struct trial *t = a->trial;
    size_t order[TRIAL_ARMS_MAX];

    announce(a, t, a->output ? a->output : "jobprof-trial-JOBID");
    /* the job that would be submitted */
    if (!getenv(ENV_JOB))
        print_words(job_words(t, "DIR"));
    for (size_t round = 0; round < t->rounds; round++) {
        trial_order(t, round, order);
        for (size_t i = 0; i < t->n_configs; i++)
            print_words(trial_words(t, order[i], "DIR/steps/..."));
    }
    return fflush(stdout) == 0 ? JP_EXIT_OK : JP_EXIT_IO;
}

/* Starts a new trial. Returns an exit status. */
static int begin(const struct arguments *a)
{
    struct trial *t = a->trial;
    struct jp_error err = {""};
    char *dir;
    int rc;

    t->limit_us = a->limit_us ? a->limit_us : TIME_DEFAULT_US;
    if (a->dry_run)
        return dry_run(a);
    dir = make_folder(a, &err);
    if (!dir)
        return fail(JP_EXIT_IO, &err);
    trial_judge(t);
    rc = run_saved(a, t, dir);
    free(dir);
    return rc;
}

static int run_command(int argc, char **argv)
{
    struct arguments a = {.trial = trial_new(), .seed = UINT64_MAX};
    struct jp_error err = {"out of memory"};
    int rc;

    if (!a.trial)
        return fail(JP_EXIT_IO, &err);
    /* a fixed seed makes the order of steps repeatable */
    a.trial->seed = 1;
    rc = parse_arguments(argc, argv, &a);
    if (rc < 0)
        rc = a.show ? show_trial(&a, a.show) : a.again ? go_on(&a) : begin(&a);
    trial_free(a.trial);
    return rc;
}

extern const struct command command_trial;
const struct command command_trial = {
    .name = "trial",
    .run = run_command,
    .summary = "find the fastest placement and settings by trial",
};
