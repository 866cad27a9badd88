/* The thread that writes: every 100 ms, or when much is waiting. */
#include "plugins/nccl_recorder/rec_writer.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_flush.h"
#include "plugins/nccl_recorder/rec_sink.h"

#define MS 1000000ULL
#define DRAIN_NS (100 * MS)
#define FLUSH_WAIT_NS (40 * MS)
#define OPEN_WAIT_NS (200 * MS)
#define CLOSE_WAIT_NS (2000 * MS)

static struct {
    bool started;
    atomic_bool sleeping;
    atomic_bool closing;
    atomic_bool ready; /* to write */
    atomic_bool late;  /* somebody waited in vain */
    char dir[4096];
    const struct jp_rec_settings *settings;
    const char *why_not;       /* the directory cannot be used */
    _Atomic uint32_t opened;   /* 1: why_not is set */
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

static void write_once(bool closing)
{
    if (closing) {
        rec_comm_close(NULL);
        rec_finish_all(NULL);
    } else {
        rec_finish_quiet();
    }
    rec_flush_run(closing || rec_comm_live() == 0);
}

static bool open_directory(void)
{
    w.why_not = rec_sink_init(w.dir, w.settings);
    atomic_store(&w.opened, 1);
    futex_wake(&w.opened);
    return !w.why_not;
}

static void *writer_main(void *unused)
{
    uint64_t next_ns = rec_clock_ns() + DRAIN_NS;
    bool closing = false;

    (void) unused;
    prctl(PR_SET_NAME, "jobprof-rec");
    if (!open_directory())
        return NULL;
    while (!closing) {
        uint32_t asked;

        sleep_a_while(&next_ns);
        asked = atomic_load(&w.asked);
        closing = atomic_load(&w.closing);
        if (atomic_load(&w.ready))
            write_once(closing);
        atomic_store(&w.answered, asked);
        atomic_store(&w.late, false);
        futex_wake(&w.answered);
    }
    return NULL;
}

/* 0 or -1 */
static int start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    /* on Linux it is the thread's mask, by an older name */
    sigprocmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, writer_main, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc == 0 ? 0 : -1;
}

const char *rec_writer_start(const char *dir,
                             const struct jp_rec_settings *settings)
{
    uint64_t until = rec_clock_ns() + OPEN_WAIT_NS;
    uint64_t now;

    if (w.started)
        return NULL;
    if (dir && strlen(dir) >= sizeof(w.dir))
        return "JOBPROF_RECORDER_DIR is too long";
    memcpy(w.dir, dir ? dir : "", dir ? strlen(dir) + 1 : 1);
    w.settings = settings;
    atomic_store(&w.closing, false);
    atomic_store(&w.ready, false);
    atomic_store(&w.late, false);
    atomic_store(&w.opened, 0);
    atomic_store(&w.asked, 0);
    atomic_store(&w.answered, 0);
    if (start_thread() < 0)
        return "the writer thread cannot be started";
    w.started = true;
    while (!atomic_load(&w.opened) && (now = rec_clock_ns()) < until)
        futex_wait(&w.opened, 0, until - now);
    if (!atomic_load(&w.opened))
        return NULL;
    w.started = !w.why_not;
    return w.why_not;
}

void rec_writer_go(void)
{
    atomic_store(&w.ready, true);
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

        if (now >= until) {
            atomic_store(&w.late, true);
            break;
        }
        futex_wait(&w.answered, answered, until - now);
    }
}

void rec_writer_flush(void)
{
    ask_and_wait(atomic_load(&w.late) ? 0 : FLUSH_WAIT_NS);
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
