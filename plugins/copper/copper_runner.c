/* copper_runner.c - one node's cu_fuse: start, mount, unmount, see what it
 * left.
 *
 * An unmount is the only end that leaves all files: a second SIGTERM, or any
 * SIGKILL, loses them. So the daemon starts with SIGTERM and SIGINT blocked, as
 * Slurm sends these to every process of a step; SIGHUP comes when we die.
 */
#include "plugins/copper/copper_runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_face.h"
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mount.h"

#define TRY_MS 500   /* between two unmounts of what is in use */
#define LAZY_MS 5000 /* then it is taken from under who still uses it */

struct copper_run {
    char *mount, *logs;
    bool made;         /* the mount point's folder */
    pid_t pid, daemon; /* pid 0: it has ended, daemon is what it was */
    int status;        /* of its end */
    pid_t probe, unmounter;
    bool answered;
    uint64_t stop_ms, tried_ms; /* 0: not yet */
};

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

/* --- start ---------------------------------------------------------------- */

/* The folders that Copper's launch script makes. */
static int make_folders(const char *logs, struct jp_error *err)
{
    static const char *const names[] = {"logs", "tables/final",
                                        "profiling/final"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++) {
        char *path = fileio_path("%s/%s", logs, names[i]);

        rc = path ? fileio_mkdirs(path, err) : error_set(err, "out of memory");
        free(path);
    }
    return rc;
}

/* Where it cannot be, it runs where it may. */
static void bind_cores(const char *cores)
{
    struct jp_error err = {""};
    cpu_set_t set;

    if (!cores)
        return;
    if (copper_flags_cores(cores, &set, &err) == 0 &&
        sched_setaffinity(0, sizeof(set), &set) < 0)
        error_set(&err, "%s", strerror(errno));
    if (*err.text)
        fprintf(stderr, "cores=%s: %s\n", cores, err.text);
}

static void __attribute__((noreturn))
become_daemon(const char *log, const char *cores, pid_t parent, char **argv)
{
    int null = open("/dev/null", O_RDONLY);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_SETMASK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    if (getppid() != parent)
        _exit(1);
    setsid();
    if (null >= 0)
        dup2(null, 0);
    if (out >= 0) {
        dup2(out, 1);
        dup2(out, 2);
    }
    bind_cores(cores);
    execv(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int launch(struct copper_run *run, const struct jp_jobconf *conf,
                  const char *step_dir, struct jp_error *err)
{
    char *book = fileio_path("%s/run/copper_address_book.txt", step_dir);
    char *list = fileio_path("%s/raw/" JP_COPPER_NODES, step_dir);
    char *log = fileio_path("%s/cu_fuse.out", run->logs);
    struct copper_flags flags = {.n = 0};
    pid_t parent = getpid();
    int rc = -1;

    if (!book || !list || !log)
        error_set(err, "out of memory");
    else
        rc = copper_flags_make(conf, run->mount, run->logs, book, list, &flags,
                               err);
    if (rc == 0) {
        run->pid = run->daemon = fork();
        if (run->pid == 0)
            become_daemon(log, jobconf_copper(conf, "cores"), parent,
                          flags.argv);
        if (run->pid < 0)
            rc = error_set(err, "no process: %s", strerror(errno));
    }
    copper_flags_fini(&flags);
    free(book);
    free(list);
    free(log);
    return rc;
}

static void destroy(void *state)
{
    struct copper_run *run = state;

    if (!run)
        return;
    free(run->mount);
    free(run->logs);
    free(run);
}

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    const char *mount = jobconf_copper(conf, "mount");
    struct copper_run *run = calloc(1, sizeof(*run));
    char *ours =
        fileio_path("/tmp/jobprof-copper-%lu-", (unsigned long) getuid());

    if (ours)
        copper_mount_sweep(ours);
    free(ours);
    if (run && mount) {
        run->mount = copper_face_expand(mount, node);
        run->logs = fileio_path("%s/raw/%s", step_dir, node);
    }
    if (!run || !run->mount || !run->logs) {
        destroy(run);
        return error_set(err, "%s",
                         mount ? "out of memory" : "job.conf has no mount");
    }
    if (make_folders(run->logs, err) == 0 &&
        copper_mount_prepare(run->mount, &run->made, err) == 0) {
        if (launch(run, conf, step_dir, err) == 0) {
            *state = run;
            return 0;
        }
        if (run->made)
            rmdir(run->mount);
    }
    destroy(run);
    return -1;
}

/* --- ready ---------------------------------------------------------------- */

/* False: it has ended, run->status says how. */
static bool is_alive(struct copper_run *run)
{
    if (run->pid > 0 && waitpid(run->pid, &run->status, WNOHANG) == run->pid)
        run->pid = 0;
    return run->pid > 0;
}

static int ready(void *state, struct jp_error *err)
{
    struct copper_run *run = state;

    if (!is_alive(run)) {
        if (WIFSIGNALED(run->status))
            return error_set(err, "cu_fuse was ended by signal %d",
                             WTERMSIG(run->status));
        return error_set(err, "cu_fuse ended with status %d (%s/cu_fuse.out)",
                         WEXITSTATUS(run->status), run->logs);
    }
    if (run->answered)
        return 1;
    if (run->probe > 0)
        run->answered = copper_mount_reap(&run->probe) > 0;
    else if (copper_mount_there(run->mount))
        run->probe = copper_mount_probe(run->mount);
    return run->answered;
}

static const char *place(void *state)
{
    return ((struct copper_run *) state)->mount;
}

/* --- stop ----------------------------------------------------------------- */

static void unmount(struct copper_run *run, bool force)
{
    uint64_t now = now_ms();

    if (run->unmounter > 0 && copper_mount_reap(&run->unmounter) == 0)
        return;
    if (run->tried_ms && now - run->tried_ms < TRY_MS)
        return;
    run->tried_ms = now;
    run->unmounter =
        copper_mount_end(run->mount, force || now - run->stop_ms > LAZY_MS);
}

static int stop(void *state, bool force)
{
    struct copper_run *run = state;
    bool mounted = copper_mount_there(run->mount), alive = is_alive(run);

    if (!run->stop_ms)
        run->stop_ms = now_ms();
    if (mounted)
        unmount(run, force);
    /* before its mount an end loses nothing */
    if (alive && (force || (!mounted && !run->tried_ms && !run->answered)))
        kill(run->pid, SIGKILL);
    if (mounted || alive)
        return 0;
    if (run->probe > 0)
        kill(run->probe, SIGKILL);
    if (run->made)
        rmdir(run->mount);
    return 1;
}

/* --- collect -------------------------------------------------------------- */

/* Whether folder has our daemon's aggregate: <host>-<pid>[-<tag>]-... */
static bool has_profile(const struct copper_run *run, const char *tag)
{
    char *path = fileio_path("%s/profiling/%s", run->logs, tag);
    char *mark = fileio_path("-%ld-", (long) run->daemon);
    DIR *dir = path && mark ? opendir(path) : NULL;
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strstr(entry->d_name, mark) &&
                strstr(entry->d_name, "profiling_aggregate.csv");
    if (dir)
        closedir(dir);
    free(path);
    free(mark);
    return found;
}

static int collect(void *state, struct jp_error *err)
{
    const struct copper_run *run = state;

    if (has_profile(run, "final"))
        return 0;
    if (has_profile(run, "pre-destroy"))
        return error_set(err, "no final files, those of pre-destroy stand in");
    return error_set(err, "it left no profile");
}

/* The prefix is the whole path: one node's mount point. */
static bool sweep(const struct jp_jobconf *conf, const char *step_dir,
                  const char *node)
{
    const char *mount = jobconf_copper(conf, "mount");
    char *point = mount ? copper_face_expand(mount, node) : NULL;
    bool found = point && copper_mount_sweep(point);

    (void) step_dir;
    if (point && !strncmp(point, "/tmp/jobprof-copper-", 20))
        rmdir(point);
    free(point);
    return found;
}

const struct backend_runner copper_runner = {
    .start = start,
    .ready = ready,
    .place = place,
    .stop = stop,
    .collect = collect,
    .sweep = sweep,
    .destroy = destroy,
};
