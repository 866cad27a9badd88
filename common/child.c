/* child.c - fork, wait with a deadline, kill, collect. child_run is the whole
 * life of a child; child_start and child_await are for callers that do other
 * work meanwhile. */
#include "config.h"

#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_NOT_STARTED 126
#define EXIT_NOT_FOUND 127
/* Interval of the checks if the kernel has no pidfd (before 5.3). */
#define LOOK_MS 5

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

/* Milliseconds until the deadline, at least 0, as poll takes them. */
static int left_ms(uint64_t deadline_ms)
{
    uint64_t now = now_ms();
    uint64_t left = now < deadline_ms ? deadline_ms - now : 0;

    return left < INT_MAX ? (int) left : INT_MAX;
}

/* --- in the child ----------------------------------------------------------
 */

/* Resets the parent's handlers, which would clean up for the parent. Signals
 * that the parent ignores stay ignored (nohup). */
static void drop_handlers(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGALRM};
    struct sigaction action;

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (sigaction(signals[i], NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            signal(signals[i], SIG_DFL);
}

int child_let_go(void)
{
    int null = open("/dev/null", O_RDWR), rc = null < 0 ? -1 : 0;

    for (int i = 0; null >= 0 && i < 3; i++)
        if (dup2(null, i) < 0)
            rc = -1;
#ifdef HAVE_CLOSE_RANGE
    close_range(3, ~0U, 0);
#else
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
#endif
    return rc;
}

/* Executes the program. out: the pipe for its output; -1: none. */
static _Noreturn void exec_program(const struct child *child, int out)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || (child->dir && chdir(child->dir) < 0) ||
        dup2(null, 0) < 0 || dup2(out < 0 ? null : out, 1) < 0 ||
        dup2((child->with_stderr || child->log > 0) && out >= 0 ? out : null,
             2) < 0)
        _exit(EXIT_NOT_STARTED);
    execvp(child->argv[0], child->argv);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_STARTED);
}

/* The child after fork. Before exec, only async-signal-safe calls are allowed,
 * because the parent may have threads. */
static _Noreturn void become(const struct child *child, pid_t parent, int out)
{
    sigset_t none;

    /* Only now, because exec keeps the setting but fork clears it. */
    if (child->dies_with_us) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The parent may have ended before prctl. */
        if (getppid() != parent)
            _exit(EXIT_NOT_STARTED);
    }
    drop_handlers();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!child->argv)
        _exit(child->work(child->arg, out));
    /* A group of its own, so that its children can be killed with it. */
    setpgid(0, 0);
    exec_program(child, out);
}

static pid_t start(const struct child *child, int out)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        become(child, parent, out);
    if (pid > 0 && child->argv)
        setpgid(pid, pid); /* in both processes, because either may run first */
    return pid;
}

pid_t child_start(const struct child *child)
{
    return start(child, child->log > 0 ? child->log : -1);
}

/* --- in the parent ---------------------------------------------------------
 */

/* Waits until fd is readable or at its end. False: the deadline has passed, or
 * poll failed. */
static bool wait_readable(int fd, uint64_t deadline_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int left;

    while ((left = left_ms(deadline_ms)) > 0) {
        int n = poll(&end, 1, left);

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

int child_await(pid_t pid, uint32_t limit_ms, int *status)
{
    uint64_t deadline = now_ms() + limit_ms;
    /* A pidfd becomes readable when the process ends, so no polling is
     * needed. */
    int pidfd = limit_ms ? (int) syscall(SYS_pidfd_open, pid, 0) : -1, rc;

    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);

        rc = got == pid ? 1 : got < 0 && errno != EINTR ? -1 : 0;
        if (rc || left_ms(deadline) == 0)
            break;
        if (pidfd >= 0)
            wait_readable(pidfd, deadline);
        else
            poll(NULL, 0, LOOK_MS);
    }
    if (pidfd >= 0)
        close(pidfd);
    return rc;
}

/* Reads the output to its end; what exceeds the room is dropped, so that the
 * child is not blocked. False: the deadline has passed, or reading failed. */
static bool read_output(int fd, uint64_t deadline_ms, const struct child *child,
                        size_t *len)
{
    char rest[4096];

    while (wait_readable(fd, deadline_ms)) {
        bool keep = *len < child->room;
        ssize_t n = keep ? read(fd, child->out + *len, child->room - *len)
                         : read(fd, rest, sizeof(rest));

        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && keep)
            *len += (size_t) n;
    }
    return false;
}

/* Signals the child, which was not waited for, so that its number and that of
 * its group are its own. It may not have made the group yet. */
static void signal_child(const struct child *child, pid_t pid, int signal)
{
    if (child->argv || child->leads_group)
        kill(-pid, signal);
    kill(pid, signal);
}

/* Ends a child that is late. A process group is killed as a whole. */
static void kill_child(const struct child *child, pid_t pid)
{
    int status;

    if (child->term_ms) {
        signal_child(child, pid, SIGTERM);
        /* It has ended by itself: no SIGKILL, since the id is free again. */
        if (child_await(pid, child->term_ms, &status) != 0)
            return;
    }
    signal_child(child, pid, SIGKILL);
    child_await(pid, CHILD_LAST_MS, &status);
}

/* Steps: make the pipe, start, read the output to its end, wait, kill if late.
 * Errors of the child itself are in its status. */
enum child_end child_run(const struct child *child, struct child_result *result)
{
    uint64_t deadline = now_ms() + child->limit_ms;
    struct child_result r = {.pid = -1};
    int ends[2] = {-1, -1}, left;
    enum child_end end = CHILD_NEVER;
    bool over = true;

    if (result)
        *result = r;
    /* Without room there is no pipe, and output goes to /dev/null. */
    if (child->room && pipe2(ends, O_CLOEXEC) < 0)
        return CHILD_NEVER;
    r.pid = start(child, ends[1]);
    /* Only the child may hold the writing end, or the output never ends. */
    if (ends[1] >= 0)
        close(ends[1]);
    if (r.pid > 0) {
        if (child->room)
            /* First the output: a child that writes more than a pipe holds
             * would not end. */
            over = read_output(ends[0], deadline, child, &r.len);
        left = left_ms(deadline);
        over = over && child_await(r.pid, (uint32_t) left, &r.status) == 1;
        if (!over)
            kill_child(child, r.pid);
        end = over ? CHILD_ENDED : CHILD_LATE;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    if (result)
        *result = r;
    return end;
}

bool child_succeeded(enum child_end end, const struct child_result *result)
{
    return end == CHILD_ENDED && WIFEXITED(result->status) &&
           WEXITSTATUS(result->status) == 0;
}

void *child_alloc(size_t size)
{
    /* Anonymous and shared: the child's writes are visible to the parent. */
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared == MAP_FAILED ? NULL : shared;
}

void child_free(void *shared, size_t size)
{
    if (shared)
        munmap(shared, size);
}
