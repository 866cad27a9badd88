/* finish.c - starts and ends of tasks, and the work that is left at exit. */
#include <time.h>

#include "spank/module.h"

enum { TASK_MS = 500, FINISH_MS = 6000, REPORT_S = 30, REPORT_MAX_S = 3600 };

static char dir[PATH_MAX];   /* step directory; "": nothing to do */
static char hash[72];        /* checksum of job.conf, out of the tasks' reach */
static pid_t owner;          /* srun itself, not a fork of it */
static struct helper *begun; /* begin's helper, on a node */
static bool named;           /* who is told what fails: the user, or the site */
/* A line for each task that has ended. They are kept in memory, because with
 * contain_spank (Slurm 24.05) descriptors are not shared. */
static FILE *tasks;
static char *lines;
static size_t used;

void finish_expect(const char *step, const char *sum, struct helper *begin,
                   bool by_user)
{
    named = by_user;
    snprintf(hash, sizeof(hash), "%s", sum ? sum : "");
    snprintf(dir, sizeof(dir), "%s", step && *step == '/' ? step : "");
    owner = getpid();
    begun = begin;
    if (begun && !tasks)
        tasks = open_memstream(&lines, &used);
}

/* Puts the program that begin has named before the task's. Before Slurm 23.11
 * resolve refuses that. In a container its path may be missing: then the task
 * runs without it. */
static void wrap_task(spank_t sp, const struct jobinfo *j)
{
#if HAVE_DECL_SPANK_PREPEND_TASK_ARGV
    static const char guard[] =
        "[ -x \"$0\" ] && exec \"$0\" \"$@\"; "
        "echo \"jobprof: $JOBPROF_WRAP_TITLE does not run: $0 is not in the "
        "container\" >&2; "
        "[ \"$JOBPROF_WRAP_REQUIRED\" = 1 ] && exit 125; exec \"$@\"";
    const char *argv[] = {"/bin/sh", "-c", guard,
                          jobinfo_getenv(j->env, "JOBPROF_WRAP")};

    if (argv[3] && *argv[3] == '/')
        spank_prepend_task_argv(sp, 4, argv);
#endif
}

/* Runs in the process that becomes the task. Only that process can try which
 * GPUs the task may open. */
void finish_start(spank_t sp)
{
    struct jobinfo j;
    struct helper h;

    if (!*dir || !begun || jobinfo_get(sp, &j) < 0)
        return;
    wrap_task(sp, &j);
    if (!jobinfo_getenv(j.env, "CUDA_VISIBLE_DEVICES")) /* it has all GPUs */
        return;
    option_helper(&h, "task");
    helper_arg(&h, "--dir", dir);
    jobinfo_node_args(&j, &h);
    helper_run(&h, TASK_MS, NULL);
}

static long long now_us(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

void finish_task(spank_t sp)
{
    long long mono_us = now_us(CLOCK_MONOTONIC), us = now_us(CLOCK_REALTIME);
    uint32_t global;
    int local, status = -1;
    pid_t pid;

    if (!tasks || spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_GLOBAL_ID, &global) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS)
        return;
    spank_get_item(sp, S_TASK_EXIT_STATUS, &status);
    fprintf(tasks, "%u %d %d %d %lld %lld\n", global, local, pid, status,
            mono_us, us);
}

/* On a node: runs jobprof-node finish, which gets the tasks' lines. Returns as
 * helper_run. */
static int run_finish(spank_t sp)
{
    struct jobinfo j;
    struct helper h;

    if (!*dir || jobinfo_get(sp, &j) < 0)
        return 0;
    option_helper(&h, "finish");
    helper_arg(&h, "--dir", dir);
    helper_arg(&h, "--hash", *hash ? hash : NULL);
    helper_arg(&h, "--config", option_config());
    jobinfo_node_args(&j, &h);
    h.orphan = h.leave = true; /* it must survive the end of the job */
    h.fd[0] = memfd_create("tasks", MFD_CLOEXEC);
    if (lines && write(h.fd[0], lines, used) >= 0)
        lseek(h.fd[0], 0, SEEK_SET);
    return helper_run(&h, FINISH_MS, NULL);
}

/* In srun: runs jobprof report. Returns as helper_run. */
static int run_report(void)
{
    int limit_s = (int) strtoul(getenv("SLURM_JOBPROF_LIMIT") ?: "", NULL, 10);
    struct helper h;

    if (!*dir || getpid() != owner)
        return 0;
    if (limit_s <= 0 || limit_s > REPORT_MAX_S)
        limit_s = REPORT_S;
    option_helper(&h, "report");
    helper_arg(&h, "--at-exit", dir);
    helper_arg(&h, "--hash", *hash ? hash : NULL);
    helper_arg(&h, "--site", option_config());
    /* the report ends by itself at its limit */
    return helper_run(&h, (limit_s + 5) * 1000, NULL);
}

void finish_exit(spank_t sp)
{
    int rc;

    helper_end(begun);
    if (tasks)
        fclose(tasks);
    rc = begun ? run_finish(sp) : run_report();
    /* the path is the user's, and goes to a log */
    for (char *c = dir; begun && *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    /* for other results the program has printed the reason */
    if (rc < 0 || rc > 125)
        (named ? slurm_spank_log : sitelog)(
            "jobprof: %s failed or hung; later: jobprof report %s",
            begun ? "finish" : "the report", dir);
    tasks = NULL;
    finish_expect(NULL, NULL, NULL, false);
}
