/* slurmask.c - ask libslurm in a process of its own. */
#include "config.h"

#include "orchestrator/collect/slurmask.h"

#ifdef HAVE_SLURM
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <slurm/slurm.h>

#include "orchestrator/collect/clock.h"

/* In the child: writes the answer to fd. Never returns. */
static void child(slurmask_answer *answer, const void *arg, int fd, char *out,
                  size_t len)
{
    int null = open("/dev/null", O_RDWR);

    if (null >= 0)
        dup2(null, STDERR_FILENO); /* libslurm complains there */
    slurm_init(NULL);
    if (!answer(arg, out))
        _exit(1);
    while (len > 0) {
        ssize_t n = write(fd, out, len);

        if (n <= 0)
            _exit(1);
        out += n;
        len -= (size_t) n;
    }
    _exit(0);
}

/* Reads until the answer is whole, end of file or the deadline. */
static bool read_answer(int fd, unsigned wait_ms, char *out, size_t room)
{
    uint64_t deadline = clock_mono_ms() + wait_ms;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    while (len < room) {
        uint64_t now = clock_mono_ms();
        ssize_t n;
        int ready;

        if (now >= deadline)
            return false;
        ready = poll(&end, 1, (int) (deadline - now));
        if (ready < 0 && errno == EINTR)
            continue; /* a read would block past the deadline */
        if (ready <= 0)
            return false;
        n = read(fd, out + len, room - len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        len += n > 0 ? (size_t) n : 0;
    }
    return true;
}

static bool ask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
                char *buf, size_t len)
{
    bool whole = false;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid = fork();
    if (pid == 0)
        child(answer, arg, ends[1], buf, len);
    close(ends[1]);
    if (pid > 0) {
        whole = read_answer(ends[0], wait_ms, buf, len);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return whole;
}

bool slurmask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
              void *out, size_t len)
{
    char *buf = calloc(1, len);
    bool whole = buf && ask(answer, arg, wait_ms, buf, len);

    if (whole)
        memcpy(out, buf, len);
    free(buf);
    return whole;
}
#else
bool slurmask(slurmask_answer *answer, const void *arg, unsigned wait_ms,
              void *out, size_t len)
{
    (void) answer;
    (void) arg;
    (void) wait_ms;
    (void) out;
    (void) len;
    return false;
}
#endif
