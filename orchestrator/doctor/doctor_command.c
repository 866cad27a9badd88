/* doctor_command.c - run another program, bounded in time and output. */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/collect/clock.h"

#define OUTPUT_MAX 65536
/* From SIGTERM, by which srun cancels its step, to SIGKILL. */
#define LAST_MS 5000

static void __attribute__((noreturn))
child(char *const argv[], int out, bool with_stderr)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    dup2(null, 0);
    dup2(out, 1);
    dup2(with_stderr ? out : null, 2);
    execvp(argv[0], argv);
    _exit(127);
}

/* Reads to the end of file; false: it was not there by the deadline. What is
 * too much is thrown away. */
static bool read_output(int fd, uint64_t deadline_ms, char *buf, size_t room)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    char rest[4096];
    size_t len = 0;
    uint64_t now;
    ssize_t n;

    while ((now = clock_mono_ms()) < deadline_ms) {
        if (poll(&end, 1, (int) (deadline_ms - now)) <= 0)
            continue;
        n = len < room ? read(fd, buf + len, room - len)
                       : read(fd, rest, sizeof(rest));
        if (n == 0)
            break;
        if (n > 0 && len < room)
            len += (size_t) n;
        else if (n < 0 && errno != EINTR)
            break;
    }
    buf[len] = '\0';
    return now < deadline_ms;
}

/* Its status once it has ended by the deadline, else -1. */
static int await(pid_t pid, uint64_t deadline_ms, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);

        if (got == pid)
            return 0;
        if ((got < 0 && errno != EINTR) || clock_mono_ms() >= deadline_ms)
            return -1;
        poll(NULL, 0, 5);
    }
}

static int end(pid_t pid, bool done, uint64_t deadline_ms, int *status)
{
    if (done && await(pid, deadline_ms, status) == 0)
        return 0;
    kill(-pid, SIGTERM);
    if (await(pid, clock_mono_ms() + LAST_MS, status) < 0) {
        kill(-pid, SIGKILL);
        waitpid(pid, status, 0);
    }
    return -1;
}

int doctor_command(char *const argv[], unsigned ms, bool with_stderr,
                   char **out, struct jp_error *err)
{
    uint64_t deadline = clock_mono_ms() + ms;
    char *buf = calloc(1, OUTPUT_MAX + 1);
    int ends[2], status = 0, rc = -1;
    pid_t pid;

    if (!buf || pipe2(ends, O_CLOEXEC) < 0) {
        free(buf);
        return error_set(err, "%s: %s", argv[0], strerror(errno));
    }
    pid = fork();
    if (pid == 0)
        child(argv, ends[1], with_stderr);
    close(ends[1]);
    if (pid < 0)
        error_set(err, "%s: %s", argv[0], strerror(errno));
    else if (end(pid, read_output(ends[0], deadline, buf, OUTPUT_MAX), deadline,
                 &status) < 0)
        error_set(err, "%s: no end within %u s", argv[0], ms / 1000);
    else if (!WIFEXITED(status))
        error_set(err, "%s: killed by signal %d", argv[0], WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127)
        error_set(err, "%s: cannot be run", argv[0]);
    else
        rc = WEXITSTATUS(status);
    close(ends[0]);
    *out = rc < 0 ? NULL : buf;
    if (rc < 0)
        free(buf);
    return rc;
}
