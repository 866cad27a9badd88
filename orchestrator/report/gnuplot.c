/* gnuplot.c - fork, exec and wait with a deadline. */
#include "orchestrator/report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_NOT_FOUND 127
#define EXIT_NOT_STARTED 126

/* Between fork and exec: async-signal-safe calls only. */
static _Noreturn void exec_gnuplot(const char *dir, char *const *argv)
{
    int null = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    if (null < 0 || chdir(dir) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(null, 2) < 0)
        _exit(EXIT_NOT_STARTED);
    execvp(argv[0], argv);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_STARTED);
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

/* Waits for pid; 0 with its status, -1 with errno (ETIMEDOUT: killed). */
static int wait_until(pid_t pid, uint64_t deadline, int *status)
{
    const struct timespec nap = {0, 5 * 1000 * 1000};

    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);

        if (got == pid)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        if (now_ms() >= deadline)
            break;
        nanosleep(&nap, NULL);
    }
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); /* it may not lead its group yet */
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    errno = ETIMEDOUT;
    return -1;
}

int gnuplot_run(const char *dir, const char *const *scripts, size_t n,
                unsigned limit_ms, struct jp_error *err)
{
    char *argv[GNUPLOT_MAX_SCRIPTS + 3] = {(char *) "gnuplot", (char *) "-d"};
    uint64_t deadline = now_ms() + limit_ms;
    const char *script = n ? scripts[0] : "";
    int status = 0;
    pid_t pid;

    for (size_t i = 0; i < n && i < GNUPLOT_MAX_SCRIPTS; i++)
        argv[2 + i] = (char *) scripts[i]; /* as exec demands */
    pid = fork();
    if (pid == 0)
        exec_gnuplot(dir, argv);
    if (pid < 0 || wait_until(pid, deadline, &status) < 0)
        return error_set(err, "gnuplot: %s: %s", script,
                         errno == ETIMEDOUT ? "no end in time"
                                            : strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_FOUND)
        return 1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, "gnuplot: %s: %s %d", script,
                         WIFEXITED(status) ? "exit status" : "signal",
                         WIFEXITED(status) ? WEXITSTATUS(status)
                                           : WTERMSIG(status));
    return 0;
}
