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
#include "orchestrator/agent/watcher.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/manifest.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/collect/tasklines.h"

/* A killed worker that hangs in the file system is left to init after this. */
#define REAP_MS 100
/* The module kills finish after 6 s, whatever the site's limit. */
#define LIMIT_MAX_MS 5000

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

/* The child's work. The walk stops at three quarters, to be written still. */
static int make_records(const struct jp_seat *seat, const char *node,
                        FILE *tasks, uint64_t start_ms, uint32_t limit_ms)
{
    char *path = fileio_path("%s/nodes/%s/tasks.jsonl", seat->dir, node);
    struct jp_error err = {""};
    uint32_t bad = 0;
    int rc = path ? 0 : -1;

    if (path && tasklines_convert(tasks, path, &bad, &err) < 0)
        rc = -1;
    if (bad)
        stepdir_log(seat->dir, "%s: %u bad task lines", node, bad);
    if (manifest_write(seat, node, start_ms + limit_ms / 4 * 3, &err) < 0)
        rc = -1;
    if (rc < 0)
        stepdir_log(seat->dir, "%s: %s", node, err.text);
    free(path);
    return rc;
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

/* Runs make_records in a child. True: all is on disk. */
static bool run_worker(const struct jp_seat *seat, const char *node,
                       FILE *tasks, uint32_t limit_ms, pid_t *worker)
{
    uint64_t start_ms = clock_mono_ms();
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(make_records(seat, node, tasks, start_ms, limit_ms) < 0);
    }
    close(ends[1]);
    if (pid > 0 && !wait_closed(ends[0], start_ms + limit_ms))
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

static void keep_records(const struct jp_seat *seat, const char *node,
                         FILE *tasks)
{
    uint32_t limit_ms = read_limit(seat->dir);
    struct jp_error err;
    pid_t worker = -1;

    if (run_worker(seat, node, tasks, limit_ms, &worker))
        return;
    stepdir_log(seat->dir, "%s: its records are not complete after %u ms", node,
                limit_ms);
    remove_temps(seat, node, worker);
    if (manifest_write_empty(seat, node, &err) < 0)
        stepdir_log(seat->dir, "%s: %s", node, err.text);
}

int finish_leave(const struct jp_seat *seat, const char *node, FILE *tasks,
                 struct jp_error *err)
{
    enum jp_lastout out = JP_LASTOUT_OTHERS;
    struct jp_error why;

    keep_records(seat, node, tasks);
    if (lastout_leave(seat, &out, err) < 0) {
        stepdir_log(seat->dir, "%s cannot be marked as done", node);
        return -1;
    }
    if (out == JP_LASTOUT_LAST && watcher_start(seat->dir, &why) < 0)
        stepdir_log(seat->dir, "no watcher: %s", why.text);
    return 0;
}
