/* polite.c - makes NCCL's spinning threads sleep: they outnumber the processors
 * here. It is a part of the program, whose sched_yield() and recv() take
 * precedence over the C library's.
 *
 * FAKECUDA_POLITE_US (20) is the time they sleep; 0: they spin. FAKECUDA_LAG_US
 * is that of NCCL's progress thread alone, which so sees late what kernels did:
 * a busy machine on demand. The thread has its name only where
 * NCCL_SET_THREAD_NAME=1. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "contrib/fakecuda/fakecuda.h"

enum { POLITE_US = 20, EMPTY_READS = 2 };

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static bool is_progress_thread(void)
{
    char name[17] = "";

    prctl(PR_GET_NAME, name);
    return strncmp(name, "NCCL Progress", 13) == 0;
}

/* The time that this thread sleeps. */
static long rest_us(void)
{
    static _Thread_local bool is_known;
    static _Thread_local long us;

    if (!is_known) {
        long lag = number("FAKECUDA_LAG_US", 0);

        us = lag && is_progress_thread()
                 ? lag
                 : number("FAKECUDA_POLITE_US", POLITE_US);
        is_known = true;
    }
    return us;
}

static void rest(long us)
{
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

FAKECUDA_EXPORT int sched_yield(void);
FAKECUDA_EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags);

int sched_yield(void)
{
    if (rest_us() <= 0)
        return (int) syscall(SYS_sched_yield);
    rest(rest_us());
    return 0;
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    static _Thread_local unsigned empty;
    ssize_t got = syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);

    if (got >= 0 || errno != EAGAIN || rest_us() <= 0) {
        empty = 0;
        return got;
    }
    if (++empty > EMPTY_READS)
        rest(rest_us());
    errno = EAGAIN;
    return -1;
}
