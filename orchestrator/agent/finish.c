/* finish.c - write a node's last records and mark it as done. */
#include "orchestrator/agent/finish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/agent/watcher.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/manifest.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/collect/tasklines.h"
#include "orchestrator/topo/rankscan.h"

/* A killed worker that hangs in the file system is left to init after this. */
#define REAP_MS 100
/* The module kills finish after 6 s, whatever the site's limit. */
#define LIMIT_MAX_MS 5000
/* A partial stops so long before the kill (or at half of the limit): its reader
 * looks at the clock every 100 ms, and what was read is to be written. */
#define STOP_BEFORE_MS 500
/* What a partial may take from programs that the node still runs: little. */
#define PARTIAL_NICE 10

/* A node that leaves. */
struct leaving {
    const struct jp_seat *seat;
    const char *node;
    FILE *tasks;
    finish_partial *partial;
    uint64_t start_ms;
    uint32_t limit_ms;
};

static uint32_t read_limit(const char *dir)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    uint32_t limit_ms = JP_DEF_FINISH_LIMIT_MS;
    struct jp_jobconf conf = {0};

    if (path && jobconf_read(path, &conf, NULL) == 0) {
        limit_ms = conf.policy.finish_limit_ms;
        jobconf_fini(&conf);
    }
    free(path);
    return limit_ms < LIMIT_MAX_MS ? limit_ms : LIMIT_MAX_MS;
}

/* A child's work. The walk stops at three quarters, to be written still. */
static int make_records(const struct leaving *leaving)
{
    const struct jp_seat *seat = leaving->seat;
    const char *node = leaving->node;
    char *path = fileio_path("%s/nodes/%s/tasks.jsonl", seat->dir, node);
    struct jp_error err = {""};
    uint32_t bad = 0;
    int rc = path ? 0 : -1;

    if (path && tasklines_convert(leaving->tasks, path, &bad, &err) < 0)
        rc = -1;
    if (bad)
        stepdir_log(seat->dir, "%s: %u bad task lines", node, bad);
    if (manifest_write(seat, node,
                       leaving->start_ms + leaving->limit_ms / 4 * 3, &err) < 0)
        rc = -1;
    if (rc < 0)
        stepdir_log(seat->dir, "%s: %s", node, err.text);
    free(path);
    return rc;
}

/* Another child's work: a report can do without. */
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

/* Another child's work. */
static int make_partial(const struct leaving *leaving)
{
    uint32_t half = leaving->limit_ms / 2;
    uint32_t room = leaving->limit_ms -
                    (half < STOP_BEFORE_MS ? half : STOP_BEFORE_MS);
    struct jp_error err = {""};

    errno = 0;
    if (nice(PARTIAL_NICE) == -1 && errno)
        stepdir_log(leaving->seat->dir, "%s: no niceness", leaving->node);
    if (leaving->partial(leaving->seat, leaving->node, leaving->start_ms + room,
                         &err) < 0)
        stepdir_log(leaving->seat->dir,
                    "%s: no partial: %s (the report reads its files)",
                    leaving->node, err.text);
    return 0;
}

/* Waits until the child has closed its end of the pipe, or the deadline. */
static bool wait_closed(int fd, uint64_t deadline_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    uint64_t now;

    while ((now = clock_mono_ms()) < deadline_ms) {
        int n = poll(&end, 1, (int) (deadline_ms - now));

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

static bool reap(pid_t pid, uint32_t wait_ms)
{
    int status = 0;
    pid_t got;

    for (uint32_t waited = 0;; waited += 5) {
        got = waitpid(pid, &status, WNOHANG);
        if (got != 0 || waited >= wait_ms)
            break;
        clock_sleep_ms(5);
    }
    return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Does the work in a child. True: it is done, in time. */
static bool run_worker(const struct leaving *leaving,
                       int (*work)(const struct leaving *), pid_t *worker)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(work(leaving) < 0);
    }
    close(ends[1]);
    if (pid > 0 && !wait_closed(ends[0], leaving->start_ms + leaving->limit_ms))
        kill(pid, SIGKILL);
    close(ends[0]);
    *worker = pid;
    return pid > 0 && reap(pid, REAP_MS);
}

/* Removes the temporary files of a killed worker from nodes/<node>. */
static void remove_temps(const struct jp_seat *seat, const char *node,
                         pid_t worker)
{
    char *path = fileio_path("%s/nodes/%s", seat->dir, node);
    char *mark = fileio_path(".tmp.%ld.", (long) worker);
    DIR *folder = path && stepdir_is_folder(path) ? opendir(path) : NULL;
    struct dirent *entry;

    while (folder && mark && (entry = readdir(folder)))
        if (strstr(entry->d_name, mark))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    free(path);
    free(mark);
}

static bool keep_records(const struct leaving *leaving)
{
    const struct jp_seat *seat = leaving->seat;
    struct jp_error err;
    pid_t worker = -1;

    if (run_worker(leaving, make_records, &worker))
        return true;
    stepdir_log(seat->dir, "%s: its records are not complete after %u ms",
                leaving->node, leaving->limit_ms);
    remove_temps(seat, leaving->node, worker);
    if (manifest_write_empty(seat, leaving->node, &err) < 0)
        stepdir_log(seat->dir, "%s: %s", leaving->node, err.text);
    return false;
}

static void keep_ranks(const struct leaving *leaving)
{
    pid_t worker = -1;

    if (!run_worker(leaving, make_ranks, &worker))
        remove_temps(leaving->seat, leaving->node, worker);
}

static void keep_partial(const struct leaving *leaving)
{
    pid_t worker = -1;

    if (run_worker(leaving, make_partial, &worker))
        return;
    stepdir_log(leaving->seat->dir,
                "%s: no partial within %u ms (the report reads its files)",
                leaving->node, leaving->limit_ms);
    remove_temps(leaving->seat, leaving->node, worker);
}

int finish_leave(const struct jp_seat *seat, const char *node, FILE *tasks,
                 finish_partial *partial, struct jp_error *err)
{
    const struct leaving leaving = {.seat = seat,
                                    .node = node,
                                    .tasks = tasks,
                                    .partial = partial,
                                    .start_ms = clock_mono_ms(),
                                    .limit_ms = read_limit(seat->dir)};
    enum jp_lastout out = JP_LASTOUT_OTHERS;
    struct jp_error why;

    if (runmarks_there(seat->dir) &&
        runmark_set(seat->dir, node, RUNMARK_ENDED, "", &why) < 0)
        stepdir_log(seat->dir, "%s: %s", node, why.text);
    if (keep_records(&leaving)) {
        keep_ranks(&leaving);
        if (partial)
            keep_partial(&leaving);
    }
    if (lastout_leave(seat, &out, err) < 0) {
        stepdir_log(seat->dir, "%s cannot be marked as done", node);
        return -1;
    }
    if (out == JP_LASTOUT_LAST && watcher_start(seat->dir, &why) < 0)
        stepdir_log(seat->dir, "no watcher: %s", why.text);
    return 0;
}
