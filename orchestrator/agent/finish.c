/* finish.c - write a node's last records and mark it as done; the last node
 * starts the watcher.
 *
 * finish_leave at the end of the file is the whole course. Each piece of work
 * that reads or writes files runs in a child with a time limit (run_worker),
 * because the user's file system may hang and Slurm waits for this process. The
 * watcher at the beginning of the file is a detached process that makes the
 * report if srun does not.
 */
#include "orchestrator/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/defaults.h"
#include "common/fileio.h"
#include "common/ownproc.h"
#include "common/jobconf.h"
#include "common/lines.h"
#include "common/ownplace.h"
#include "common/plan.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/noderec.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/metrics/metrics.h"
#include "orchestrator/topo/rankread.h"

/* How often the keeper checks the watcher. */
#define KEEP_POLL_MS 200
/* By how much the keeper's own kernel timer comes after the watcher's end. */
#define SPARE_MS 5000
/* A partial stops this long before the kill, or at half of the limit: its
 * reader checks the time every 100 ms and then has to write what it has
 * read. */
#define STOP_BEFORE_MS 500
/* Time limit of a partial if all tasks were killed. Since Slurm 26.05, srun
 * learns how tasks ended only when the node is done with them. 1 to 2 s after
 * the SIGKILL of a cancelled job it stops waiting, and its exit status is then
 * 0. */
#define KILLED_MS 500
/* The first release of Slurm with this behaviour, compared as text. */
#define TELLS_LATE "26.05"
/* A partial has low priority beside programs that still run on the node. */
#define PARTIAL_NICE 10

/* --- the watcher -------------------------------------------------------- */

/* Whether the program is there and only root or this user can have written it.
 */
static bool is_safe_program(const char *path, struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err);
    bool safe = fd >= 0 && ownplace_check_site(fd, path, err) == 0;

    if (fd >= 0)
        close(fd);
    if (safe && access(path, X_OK) < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        safe = false;
    }
    return safe;
}

/* The path of the jobprof program: beside this one (a build folder), else the
 * installed one. Returns -1 if neither can be run. */
static int find_jobprof(char path[PATH_MAX], struct jp_error *err)
{
    /* 16 bytes are left for "/jobprof". */
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
    char *slash;

    if (n > 0) {
        path[n] = '\0';
        slash = strrchr(path, '/');
        if (slash) {
            memcpy(slash, "/jobprof", 9);
            if (is_safe_program(path, NULL))
                return 0;
        }
    }
    snprintf(path, PATH_MAX, "%s/jobprof", JP_BINDIR);
    return is_safe_program(path, err) ? 0 : -1;
}

/* The watcher's arguments. */
struct words {
    const char *path, *dir, *hash, *site;
};

/* Becomes `jobprof report --watch`. If the keeper ends, the kernel kills the
 * watcher. It tells the keeper by `armed` when that is so, and when it has a
 * process group of its own. */
static void __attribute__((noreturn))
become_watcher(const struct words *w, pid_t keeper, int armed)
{
    const char *argv[12] = {"jobprof", "report", "--watch", w->dir};
    int n = 4;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(1);
    if (setpgid(0, 0) < 0 || write(armed, "", 1) != 1)
        _exit(1);
    /* slurmstepd waits for the end of the pipes */
    child_let_go();
    if (w->hash && *w->hash) {
        argv[n++] = "--hash";
        argv[n++] = w->hash;
    }
    if (w->site && *w->site) {
        argv[n++] = "--site";
        argv[n++] = w->site;
    }
    if (chdir("/") == 0)
        execv(w->path, (char *const *) argv);
    stepdir_log(w->dir, "%s: %s", w->path, strerror(errno));
    _exit(127);
}

/* Starts the watcher and waits until it is armed. Returns -1 if it ended
 * before. ready: as for keep_watcher; the watcher has no copy of it. */
static pid_t fork_watcher(const struct words *w, int ready)
{
    pid_t self = getpid(), pid;
    int armed[2];
    ssize_t n;
    char byte;

    if (pipe2(armed, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(ready);
        become_watcher(w, self, armed[1]);
    }
    close(armed[1]);
    do
        n = pid > 0 ? read(armed[0], &byte, 1) : 0;
    while (n < 0 && errno == EINTR);
    close(armed[0]);
    return n == 1 ? pid : -1;
}

/* The watcher's lifetime in ms: the policy of job.conf within the site's
 * ceilings. The site's policy applies if job.conf cannot be read. */
static uint64_t life_ms(const struct words *w)
{
    struct jp_policy site, policy;
    struct jp_jobconf conf;

    ceiling_site(w->site, &site);
    policy = site;
    if (jobconf_read_step(w->dir, w->hash, &conf, NULL) == 0) {
        policy = conf.policy;
        jobconf_fini(&conf);
    }
    ceiling_apply(&policy, &site);
    return (uint64_t) confine_life_s(&policy, runmarks_there(w->dir)) * 1000;
}

/* Kills the watcher's process group when its time is over, or what is left of
 * it when it has ended. It is not reaped before, so the group's number is its
 * own. */
static void await_watcher(pid_t watcher, uint64_t end_ms)
{
    siginfo_t info = {0};

    while (waitid(P_PID, (id_t) watcher, &info, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid == 0) {
        if (clock_mono_ms() >= end_ms)
            kill(-watcher, SIGKILL);
        clock_sleep_ms(KEEP_POLL_MS);
    }
    if (info.si_pid == watcher)
        kill(-watcher, SIGKILL);
}

/* The keeper: starts the watcher and kills it when its time is over. It has its
 * own timer, because the user may stop the watcher or this process; without a
 * timer it starts no watcher.
 *
 * The user may stop a process between fork and its first lines, and kill its
 * parent. So this process and the watcher stay in finish's process group, which
 * the module kills after finish's end, until each of them has what ends it: the
 * keeper its timer, and the watcher the end of the keeper. finish waits for
 * that: it reads the other end of `ready`.
 *
 * They leave by groups of their own in finish's session. When a parent in
 * another group of the session ends, the kernel sends SIGHUP and SIGCONT to a
 * group with stopped processes. So stopped children of the watcher end with
 * the keeper. */
static void __attribute__((noreturn))
keep_watcher(const struct words *w, pid_t finish, int ready)
{
    pid_t watcher;
    uint64_t ms, end_ms;
    struct jp_error err;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != finish)
        _exit(1);
    ms = life_ms(w);
    /* A timer takes one of the signals that the user may have queued. If his
     * other processes have queued them all, nothing could end a keeper that
     * they stop, so there is no watcher. */
    if (confine_timer(ms + SPARE_MS, &err) < 0) {
        stepdir_log(w->dir, "no watcher: %s", err.text);
        _exit(1);
    }
    end_ms = clock_mono_ms() + ms;
    watcher = fork_watcher(w, ready);
    if (watcher < 0 || setpgid(0, 0) < 0)
        _exit(1);
    prctl(PR_SET_PDEATHSIG, 0);
    close(ready);
    /* slurmstepd waits for the end of the pipes */
    child_let_go();
    outside_forbid_programs(NULL);
    await_watcher(watcher, end_ms);
    _exit(0);
}

/* Runs `jobprof report --watch <dir>` in a group of its own with /dev/null as
 * descriptors 0, 1 and 2. Uses the jobprof beside this executable, otherwise
 * the one in the compiled-in bindir. A failed exec is noted in log.txt. hash:
 * checksum of job.conf; site: path of the site file; NULL or "": unknown.
 *
 * The watcher's parent, which detaches itself from this process, sends it
 * SIGKILL when its time is over (agent.h). If that parent ends, the kernel
 * ends the watcher.
 */
static int start_watcher(const char *dir, const char *hash, const char *site,
                         struct jp_error *err)
{
    char path[PATH_MAX];
    const struct words words = {path, dir, hash, site};
    pid_t self = getpid(), pid;
    int ready[2];
    char byte;

    if (find_jobprof(path, err) < 0)
        return -1;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return error_set(err, "no pipe for the watcher: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        close(ready[0]);
        keep_watcher(&words, self, ready[1]);
    }
    if (pid < 0)
        error_set(err, "no process for the watcher: %s", strerror(errno));
    close(ready[1]);
    /* the end of the file: it is detached, or has ended */
    while (pid > 0 && read(ready[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(ready[0]);
    return pid < 0 ? -1 : 0;
}

/* --- a node's end ------------------------------------------------------- */

/* A node that leaves the step. The strings are borrowed from struct finish. */
struct leaving {
    const struct jp_seat *seat;
    const char *node;
    FILE *tasks;
    finish_partial *partial;
    /* Time of the start in terms of clock_mono_ms(), from which all limits
     * count. */
    uint64_t start_ms;
    uint32_t limit_ms, processes;
    bool tells_late; /* this Slurm reports the end of tasks late (KILLED_MS) */
    const char *hash, *site;
};

/* Sets the limit, the number of the step's processes, and tells_late. */
static void read_conf(const struct finish *finish, struct leaving *leaving)
{
    const char *dir = finish->seat->dir;
    struct jp_policy policy = {.finish_limit_ms = JP_DEF_FINISH_LIMIT_MS};
    struct jp_error err = {""};
    struct jp_jobconf conf;

    if (jobconf_read_step(dir, finish->hash, &conf, &err) == 0) {
        policy = conf.policy;
        leaving->processes = conf.ntasks;
        leaving->tells_late =
            strncmp(conf.slurm_version, TELLS_LATE, strlen(TELLS_LATE)) >= 0;
        jobconf_fini(&conf);
    } else {
        stepdir_log(dir, "%s: %s", finish->node, err.text);
    }
    ceiling_apply(&policy, NULL);
    leaving->limit_ms = policy.finish_limit_ms;
}

/* Whether slurmstepd's lines (noderec.h) list tasks and SIGKILL has ended all
 * of them. The fourth field is the wait status, which is 9 for SIGKILL. pread,
 * because the child that converted the lines has moved the shared position. */
static bool all_killed(FILE *tasks)
{
    char text[1 << 14]; /* room for 300 tasks */
    ssize_t n = tasks ? pread(fileno(tasks), text, sizeof(text) - 1, 0) : -1;
    char *line = text, *end;

    if (n <= 0)
        return false;
    text[n] = '\0';
    for (; (end = strchr(line, '\n')); line = end + 1) {
        const char *status = line;

        for (int i = 0; i < 3 && status; i++) {
            status = memchr(status, ' ', (size_t) (end - status));
            status = status ? status + 1 : NULL;
        }
        if (!status || *status != '9' ||
            (status[1] != ' ' && status[1] != '\n'))
            return false;
    }
    return line != text;
}

/* Notes that the node ran unprofiled if its begin was ended before it had left
 * a record or a note: the module waits for it only a short time, so as not to
 * delay the tasks. The report prints the note. */
static void note_begin(const struct jp_seat *seat, const char *node)
{
    static const char why[] = "the profile of its tasks did not start in time "
                              "(jobprof-node begin was slow, or failed)";
    char *record = text_format("nodes/%s/node.json", node);
    char *note = text_format("nodes/%s/" JP_NODES_UNPROFILED, node);
    char *path = note ? text_format("%s/%s", seat->dir, note) : NULL;

    if (record && path && !stepdir_has(seat->dir, record) &&
        !stepdir_has(seat->dir, note) &&
        stepdir_prepare(seat->dir, node, NULL) == 0) {
        fileio_write(path, why, sizeof(why) - 1, NULL);
        stepdir_log(seat->dir, "%s ran unprofiled: %s", node, why);
    }
    free(record);
    free(note);
    free(path);
}

/* Work of the first child: task lines, files in the user's own folder, the
 * manifest. Each part has a share of the limit: half for copies, three quarters
 * for the walk, so that time is left for writing. */
static int make_records(const struct leaving *leaving)
{
    const struct jp_seat *seat = leaving->seat;
    const char *node = leaving->node;
    char *path = text_format("%s/nodes/%s/tasks.jsonl", seat->dir, node);
    struct jp_error err = {""};
    uint32_t bad = 0;
    struct jp_lines *tasks = lines_open_fd(dup(fileno(leaving->tasks)),
                                           "slurmstepd's lines",
                                           &lines_limits[LINES_ENDS], &err);
    int rc = 0;

    note_begin(seat, node);
    if (!path || !tasks || tasklines_convert(tasks, path, &bad, &err) < 0)
        rc = -1;
    lines_close(tasks);
    if (bad)
        stepdir_log(seat->dir, "%s: %u bad task lines", node, bad);
    if (ownfolder_take(seat->dir, node,
                       leaving->start_ms + leaving->limit_ms / 2, &err) < 0)
        stepdir_log(seat->dir, "%s: %s", node, err.text);
    if (manifest_write(seat, node,
                       leaving->start_ms + leaving->limit_ms / 4 * 3, &err) < 0)
        rc = -1;
    if (rc < 0)
        stepdir_log(seat->dir, "%s: %s", node, err.text);
    free(path);
    return rc;
}

/* Work of the second child: ranks.jsonl, from the profiler's files. A report
 * does not depend on it, so an error is only logged. */
static int make_ranks(const struct leaving *leaving)
{
    uint64_t stop_ms = leaving->start_ms + leaving->limit_ms / 8 * 7;
    struct jp_error err = {""};

    if (clock_mono_ms() < stop_ms &&
        rankscan_write(leaving->seat->dir, leaving->node, stop_ms, &err) < 0)
        stepdir_log(leaving->seat->dir, "%s: no ranks.jsonl: %s", leaving->node,
                    err.text);
    return 0;
}

/* Work of the third child: the node's partial result. It stops some time before
 * the limit, at which it would be killed. */
static int make_partial(const struct leaving *leaving)
{
    uint32_t half = leaving->limit_ms / 2;
    uint32_t room = leaving->limit_ms -
                    (half < STOP_BEFORE_MS ? half : STOP_BEFORE_MS);
    const struct finish_node of = {.seat = leaving->seat,
                                   .node = leaving->node,
                                   .deadline_ms = leaving->start_ms + room,
                                   .processes = leaving->processes};
    struct jp_error err = {""};

    /* nice may return -1 as a valid value. */
    errno = 0;
    if (nice(PARTIAL_NICE) == -1 && errno)
        stepdir_log(leaving->seat->dir, "%s: niceness not set", leaving->node);
    if (leaving->partial(&of, &err) < 0)
        stepdir_log(leaving->seat->dir,
                    "%s: no partial result: %s (the report reads its files)",
                    leaving->node, err.text);
    return 0;
}

/* What a child needs to know. */
struct task {
    int (*work)(const struct leaving *leaving);
    const struct leaving *leaving;
};

/* Runs in the child (child.work). Returns the exit status. */
static int do_task(void *arg, int out)
{
    const struct task *task = arg;

    (void) out;
    /* it reads what the job has written */
    outside_forbid_programs(NULL);
    return task->work(task->leaving) < 0;
}

/* Runs work in a child. Returns true if it finished in time. */
static bool run_worker(const struct leaving *leaving,
                       int (*work)(const struct leaving *))
{
    uint64_t end = leaving->start_ms + leaving->limit_ms;
    uint64_t now = clock_mono_ms();
    struct task task = {work, leaving};
    const struct child child = {.work = do_task,
                                .arg = &task,
                                .limit_ms = now < end ? (uint32_t) (end - now)
                                                      : 0,
                                .dies_with_us = true};
    struct child_result r;
    enum child_end how = child_run(&child, &r);

    return child_succeeded(how, &r);
}

/* Whether the process is dead; a zombie counts, because it writes no more. A
 * process of another user with its number is another one. */
static bool is_gone(pid_t pid)
{
    const struct ownproc_name name = {.root = "", .pid = pid, .uid = geteuid()};
    struct ownproc proc;

    if (ownproc_open(&name, &proc, NULL) == 0) {
        ownproc_close(&proc);
        return false;
    }
    return errno == ESRCH || errno == EPERM;
}

/* Like is_gone, but gives a process that has just been killed a moment to
 * end. */
static bool has_ended(pid_t pid)
{
    for (int i = 0; i < 20; i++, usleep(10000))
        if (is_gone(pid))
            return true;
    return false;
}

/* Removes the temporary files that killed processes of this host, workers or
 * the agent, left in nodes/<node>. Files of living processes stay, and so do
 * those of other hosts, whose processes cannot be checked from here. */
static void remove_temps(const struct jp_seat *seat, const char *node)
{
    char *path = text_format("%s/nodes/%s", seat->dir, node);
    DIR *folder = path ? ownplace_opendir(path) : NULL;
    char here[65] = "host";
    struct dirent *entry;
    const char *host;
    pid_t pid;

    gethostname(here, sizeof(here) - 1);
    while (folder && (entry = readdir(folder)))
        if (fileio_temp_parse(entry->d_name, &pid, &host) &&
            strcmp(host, here) == 0 && has_ended(pid))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    free(path);
}

/* Writes the records. If the child does not finish in time, writes an empty
 * manifest, so that the report can distinguish a slow node from a missing one.
 * Returns true if the records are complete. */
static bool keep_records(const struct leaving *leaving)
{
    const struct jp_seat *seat = leaving->seat;
    struct jp_error err;

    if (run_worker(leaving, make_records))
        return true;
    stepdir_log(seat->dir, "%s: its records are not complete after %u ms",
                leaving->node, leaving->limit_ms);
    if (manifest_write(seat, leaving->node, 0, &err) < 0)
        stepdir_log(seat->dir, "%s: %s", leaving->node, err.text);
    return false;
}

/* Writes the partial. The report reads the node's files if it is missing. */
static void keep_partial(const struct leaving *leaving)
{
    if (run_worker(leaving, make_partial))
        return;
    stepdir_log(
        leaving->seat->dir,
        "%s: no partial result within %u ms (the report reads its files)",
        leaving->node, leaving->limit_ms);
}

/* Removes the agent's metrics file, which a killed agent leaves behind. Runs in
 * a child, because the folder may be on a slow file system. */
static int remove_metrics(const struct leaving *leaving)
{
    const struct jp_seat *seat = leaving->seat;
    struct jp_sitefile file = {0};
    struct jp_site_metrics site;
    struct jp_jobconf conf;

    if (plan_load_site(leaving->site, &file, NULL) == 0) {
        sitefile_metrics(&file, &site);
        if (site.spool &&
            jobconf_read_step(seat->dir, leaving->hash, &conf, NULL) == 0) {
            const struct metricsfile_step step = {.job = seat->component,
                                                  .step = conf.step_id,
                                                  .nodeid = seat->nodeid};

            metricsfile_remove(site.spool, &step);
            jobconf_fini(&conf);
        }
        sitefile_fini(&file);
    }
    return 0;
}

/* Marks that tasks of this node have ended, and sets the step's end mark if
 * this is the last node. Runners also serve other nodes, so they end with the
 * step's last tasks. If several nodes leave at once, the latest of them sees
 * all marks. */
static int mark_end(const struct jp_seat *seat, const char *node,
                    struct jp_error *err)
{
    uint32_t n[RUNMARKS];

    if (runmark_set(seat->dir, node, RUNMARK_ENDED, "", err) < 0)
        return -1;
    runmarks_count(seat->dir, n);
    return n[RUNMARK_ENDED] < seat->nodes ? 0
                                          : runmark_end_step(seat->dir, err);
}

int finish_leave(const struct finish *finish, struct jp_error *err)
{
    const struct jp_seat *seat = finish->seat;
    const char *node = finish->node;
    struct leaving leaving = {.seat = seat,
                              .node = node,
                              .tasks = finish->tasks,
                              .partial = finish->partial,
                              .hash = finish->hash,
                              .site = finish->site,
                              .start_ms = clock_mono_ms()};
    enum barrier_state out = BARRIER_OTHERS;
    struct jp_error why;

    read_conf(finish, &leaving);
    if (runmarks_there(seat->dir) && mark_end(seat, node, &why) < 0)
        stepdir_log(seat->dir, "%s: %s", node, why.text);
    if (keep_records(&leaving)) {
        /* srun gives up waiting soon: its exit status is more important than
         * ranks and partial. */
        if (leaving.tells_late && leaving.limit_ms > KILLED_MS &&
            all_killed(finish->tasks))
            leaving.limit_ms = KILLED_MS;
        run_worker(&leaving, make_ranks);
        if (finish->partial)
            keep_partial(&leaving);
    }
    /* The order matters: after barrier_leave, a report may start, and it must
     * find no more changes by this node. */
    remove_temps(seat, node);
    run_worker(&leaving, remove_metrics);
    if (barrier_leave(seat, &out, err) < 0) {
        stepdir_log(seat->dir, "%s cannot be marked as done", node);
        return -1;
    }
    if (out == BARRIER_LAST &&
        start_watcher(seat->dir, finish->hash, finish->site, &why) < 0)
        stepdir_log(seat->dir, "no watcher: %s", why.text);
    return 0;
}
