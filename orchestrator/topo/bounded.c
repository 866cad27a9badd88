/* bounded.c - do something that may hang or crash in a child of its own. */
#include "orchestrator/topo/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a killed child is waited for. */
#define REAP_MS 200

void *bounded_alloc(size_t size)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

void bounded_free(void *shared, size_t size)
{
    if (shared)
        munmap(shared, size);
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

static void reset_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGPIPE};
    sigset_t none;

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Waits for the end of the child, which holds the other end of the pipe. */
static bool wait_closed(int fd, uint64_t deadline_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    uint64_t now;

    while ((now = now_ms()) < deadline_ms) {
        int n = poll(&end, 1, (int) (deadline_ms - now));

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Whether it has ended in order. */
static bool reap(pid_t pid)
{
    const struct timespec tick = {0, 5000000};
    int status = -1;

    for (int waited = 0; waited <= REAP_MS; waited += 5) {
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got != 0)
            return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&tick, NULL);
    }
    return false;
}

enum jp_bounded bounded_run(void (*work)(const void *arg, void *shared),
                            const void *arg, void *shared, uint32_t limit_ms)
{
    int ends[2];
    bool closed, good;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return JP_BOUNDED_NEVER;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        reset_signals();
        close(ends[0]);
        work(arg, shared);
        _exit(0);
    }
    close(ends[1]);
    closed = pid > 0 && wait_closed(ends[0], now_ms() + limit_ms);
    close(ends[0]);
    if (pid < 0)
        return JP_BOUNDED_NEVER;
    if (!closed)
        kill(pid, SIGKILL);
    good = reap(pid);
    return !closed ? JP_BOUNDED_LATE : good ? JP_BOUNDED_DONE : JP_BOUNDED_DIED;
}
