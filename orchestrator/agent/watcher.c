/* watcher.c - double-fork and exec `jobprof report --watch`. */
#include "config.h"

#include "orchestrator/agent/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/collect/stepdir.h"

static int find_jobprof(char path[PATH_MAX], struct jp_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
    char *slash;

    if (n > 0) {
        path[n] = '\0';
        slash = strrchr(path, '/');
        if (slash) {
            memcpy(slash, "/jobprof", 9);
            if (access(path, X_OK) == 0)
                return 0;
        }
    }
    snprintf(path, PATH_MAX, "%s/jobprof", JP_BINDIR);
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, "%s: %s", path, strerror(errno));
}

static void use_null(void)
{
    int fd = open("/dev/null", O_RDWR);

    for (int i = 0; fd >= 0 && i < 3; i++)
        dup2(fd, i);
#ifdef HAVE_CLOSE_RANGE
    close_range(3, ~0U, 0);
#else
    for (fd = 3; fd < 1024; fd++)
        close(fd);
#endif
}

/* In the grandchild: never returns. */
static void become_watcher(const char *path, const char *dir)
{
    use_null();
    if (chdir("/") == 0)
        execl(path, "jobprof", "report", "--watch", dir, (char *) NULL);
    stepdir_log(dir, "%s: %s", path, strerror(errno));
    _exit(127);
}

int watcher_start(const char *dir, struct jp_error *err)
{
    char path[PATH_MAX];
    pid_t pid;

    if (find_jobprof(path, err) < 0)
        return -1;
    pid = fork();
    if (pid < 0)
        return error_set(err, "no process for the watcher: %s",
                         strerror(errno));
    if (pid == 0) {
        setsid();
        pid = fork();
        if (pid == 0)
            become_watcher(path, dir);
        _exit(pid < 0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}
