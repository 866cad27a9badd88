/* fake_time.c - a clock that a scenario moves, for the recorder's waits.
 *
 * clock_gettime() and syscall() here replace libc's in the recorder. A wait of
 * the writer on its futex is noted in place of made; fake_time_pass_us() moves
 * the clock from one deadline to the next and lets the writer do its work.
 */
#include "tests/nccl_recorder/fake_time.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHARED __attribute__((visibility("default")))
#define MS 1000000ULL

typedef long syscall_fn(long number, ...);

static _Atomic uint64_t clock_ns; /* 0: the real clock */
static atomic_bool writer_hangs;
static atomic_bool writer_is_held;
/* What the writer waits for, and until when; 0: it is working. */
static _Atomic uint64_t deadline_ns;
static _Atomic(_Atomic uint32_t *) writer_word;
static _Atomic uint32_t writer_value;

void (*fake_time_see)(long number, const long *arguments);

static syscall_fn *real_syscall(void)
{
    static _Atomic(syscall_fn *) found;

    if (!found)
        found = (syscall_fn *) dlsym(RTLD_NEXT, "syscall");
    if (!found)
        abort();
    return found;
}

SHARED int clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t now = clock_ns;

    if (clock != CLOCK_MONOTONIC || !now)
        return (int) real_syscall()(SYS_clock_gettime, clock, ts);
    *ts = (struct timespec){(time_t) (now / (1000 * MS)),
                            (long) (now % (1000 * MS))};
    return 0;
}

/* Sleeps for a real moment, or until the word changes. */
static void nap(_Atomic uint32_t *word, uint32_t value)
{
    const struct timespec moment = {0, (long) MS};

    real_syscall()(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &moment, NULL,
                   0);
}

static long time_out(void)
{
    errno = ETIMEDOUT;
    return -1;
}

/* A thread of NCCL waits for the writer. */
static long wait_for_writer(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    uint64_t until = clock_ns + ns;

    while (*word == value) {
        if (writer_hangs)
            clock_ns = until;
        if (clock_ns >= until)
            return time_out();
        nap(word, value);
    }
    return 0;
}

static long writer_waits(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    uint64_t until = ns ? clock_ns + ns : UINT64_MAX;

    writer_word = word;
    writer_value = value;
    deadline_ns = until;
    while (writer_is_held)
        usleep(100);
    while (*word == value && clock_ns < until)
        nap(word, value);
    deadline_ns = 0;
    return *word == value ? time_out() : 0;
}

SHARED long syscall(long number, ...)
{
    /* a futex has six arguments, all other calls at most five: more would be
     * read from the caller's stack */
    int n = number == SYS_futex ? 6 : 5;
    long a[6] = {0};
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < n; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (clock_ns && number == SYS_futex && a[1] == FUTEX_WAIT_PRIVATE) {
        const struct timespec *ts = (const struct timespec *) a[3];
        uint64_t ns =
            ts ? (uint64_t) ts->tv_sec * 1000 * MS + (uint64_t) ts->tv_nsec : 0;

        return (gettid() == getpid() ? wait_for_writer : writer_waits)(
            (_Atomic uint32_t *) a[0], (uint32_t) a[2], ns);
    }
    if (fake_time_see && number != SYS_futex)
        fake_time_see(number, a);
    return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void fake_time_begin(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    clock_ns = (uint64_t) ts.tv_sec * 1000 * MS + (uint64_t) ts.tv_nsec;
}

uint64_t fake_time_ns(void)
{
    return clock_ns;
}

/* A writer that was woken counts as working. */
static bool writer_is_asleep(void)
{
    return deadline_ns > clock_ns && *writer_word == writer_value;
}

static void until_the_writer_waits(void)
{
    while (!writer_is_asleep() && !writer_hangs)
        usleep(100);
}

void fake_time_pass_us(uint64_t us)
{
    uint64_t end = clock_ns + us * 1000;

    until_the_writer_waits();
    while (clock_ns < end) {
        uint64_t next = deadline_ns;

        clock_ns = next > clock_ns && next < end ? next : end;
        real_syscall()(SYS_futex, writer_word, FUTEX_WAKE_PRIVATE, INT32_MAX,
                       NULL, NULL, 0);
        until_the_writer_waits();
    }
}

void fake_time_hold(bool on)
{
    writer_is_held = on;
}

void fake_time_hang(void)
{
    writer_hangs = true;
    for (;;)
        pause();
}
