/* The thread that writes: every 100 ms, or when much is waiting. */
#include "plugins/nccl_recorder/rec_writer.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_flush.h"

#define MS 1000000ULL
#define DRAIN_NS (100 * MS)
#define FLUSH_WAIT_NS (40 * MS)
#define CLOSE_WAIT_NS (2000 * MS)

static struct {
    bool started;
    atomic_bool sleeping;
    atomic_bool closing;
    _Atomic uint32_t bell;     /* changes when there is a reason to wake */
    _Atomic uint32_t asked;    /* flushes wanted so far */
    _Atomic uint32_t answered; /* flushes done so far */
} w;

/* Sleeps while *word is `value`; ns 0: for ever. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec ts = {(time_t) (ns / 1000000000), (long) (ns % 1000000000)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &ts : NULL, NULL,
            0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void ring(void)
{
    atomic_fetch_add(&w.bell, 1);
    futex_wake(&w.bell);
}

void rec_writer_nudge(void)
{
    if (atomic_load_explicit(&w.sleeping, memory_order_relaxed) &&
        atomic_exchange(&w.sleeping, false))
        ring();
}

void rec_writer_wake(void)
{
    ring();
}

/* ------------------------------------------------------------- the thread */

static void sleep_a_while(uint64_t *next_ns)
{
    uint32_t bell = atomic_load(&w.bell);
    uint64_t now = rec_clock_ns();

    atomic_store(&w.sleeping, true);
    if (atomic_load(&w.asked) == atomic_load(&w.answered) &&
        !atomic_load(&w.closing)) {
        if (rec_comm_live() == 0)
            futex_wait(&w.bell, bell, 0);
        else if (now < *next_ns)
            futex_wait(&w.bell, bell, *next_ns - now);
    }
    atomic_store(&w.sleeping, false);
    *next_ns = rec_clock_ns() + DRAIN_NS;
}

static void *writer_main(void *unused)
{
    uint64_t next_ns = rec_clock_ns() + DRAIN_NS;
    bool closing = false;

    (void) unused;
    prctl(PR_SET_NAME, "jobprof-rec");
    while (!closing) {
        uint32_t asked;

        sleep_a_while(&next_ns);
        asked = atomic_load(&w.asked);
        closing = atomic_load(&w.closing);
        if (closing)
            rec_finish_all(NULL);
        else
            rec_finish_quiet();
        rec_flush_run(closing || rec_comm_live() == 0);
        atomic_store(&w.answered, asked);
        futex_wake(&w.answered);
    }
    return NULL;
}

int rec_writer_start(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    int rc;

    if (w.started)
        return 0;
    atomic_store(&w.closing, false);
    atomic_store(&w.asked, 0);
    atomic_store(&w.answered, 0);
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    /* on Linux it is the thread's mask, by an older name */
    sigprocmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, writer_main, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    w.started = rc == 0;
    return w.started ? 0 : -1;
}

/* ------------------------------------------------------------------ others */

static void ask_and_wait(uint64_t wait_ns)
{
    uint64_t until = rec_clock_ns() + wait_ns;
    uint32_t mine, answered;

    if (!w.started)
        return;
    mine = atomic_fetch_add(&w.asked, 1) + 1;
    ring();
    while ((int32_t) ((answered = atomic_load(&w.answered)) - mine) < 0) {
        uint64_t now = rec_clock_ns();

        if (now >= until)
            break;
        futex_wait(&w.answered, answered, until - now);
    }
}

void rec_writer_flush(void)
{
    ask_and_wait(FLUSH_WAIT_NS);
}

void rec_writer_close(void)
{
    if (atomic_exchange(&w.closing, true))
        return;
    ask_and_wait(CLOSE_WAIT_NS);
}

void rec_writer_after_fork(void)
{
    w.started = false;
}
