/* The thread that writes: records every 100 ms, counts every second. */
#include "plugins/nccl_recorder/rec_writer.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_counts.h"
#include "plugins/nccl_recorder/rec_op.h"
#include "plugins/nccl_recorder/rec_queue.h"
#include "plugins/nccl_recorder/rec_sink.h"

enum { DRAIN_MS = 100, COUNTS_MS = 1000 };
enum { TEXT_BYTES = 256 * 1024, BATCH_LINES = 1024 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_cond_t answer;
    bool started;
    bool urgent;
    bool closing;
    uint64_t asked;    /* flushes wanted so far */
    uint64_t answered; /* flushes done so far */
    void (*sweep)(bool all);
} w;

/* Lines formatted but not written yet; the thread's own. */
static struct {
    char *text;
    size_t used;
    int n;
    size_t ends[BATCH_LINES];
} batch;

static void deadline_in(struct timespec *ts, long ms)
{
    clock_gettime(CLOCK_MONOTONIC, ts);
    ts->tv_sec += ms / 1000;
    ts->tv_nsec += (ms % 1000) * 1000000;
    if (ts->tv_nsec >= 1000000000) {
        ts->tv_sec++;
        ts->tv_nsec -= 1000000000;
    }
}

/* Writes the batch, whose records are records[0..batch.n), and counts each
 * as written or lost. */
static void write_batch(const struct jp_rec_record *records)
{
    size_t done = rec_sink_append(batch.text, batch.used);
    int i;

    for (i = 0; i < batch.n; i++) {
        struct jp_rec_count *count = &records[i].comm->counts[records[i].func];

        atomic_fetch_add(batch.ends[i] <= done ? &count->written : &count->lost,
                         1);
    }
    batch.used = 0;
    batch.n = 0;
}

static void drain(void)
{
    const struct jp_rec_process *process = rec_sink_process();
    const struct jp_rec_record *records;
    size_t n = rec_queue_take(&records);
    size_t i;

    for (i = 0; i < n; i++) {
        size_t need = strlen(records[i].comm->header) + JP_REC_LINE_BYTES;

        if (batch.n == BATCH_LINES || batch.used + need > TEXT_BYTES)
            write_batch(&records[i - (size_t) batch.n]);
        batch.used += rec_line_format(batch.text + batch.used, need, process,
                                      &records[i]);
        batch.ends[batch.n++] = batch.used;
    }
    if (batch.n > 0)
        write_batch(&records[n - (size_t) batch.n]);
}

/* Sleeps until there is a reason to work. Called with the lock. */
static void wait_for_work(void)
{
    struct timespec until;

    deadline_in(&until, DRAIN_MS);
    while (!w.urgent) {
        if (rec_comm_live() == 0)
            pthread_cond_wait(&w.wake, &w.lock);
        else if (pthread_cond_timedwait(&w.wake, &w.lock, &until) != 0)
            break;
    }
    w.urgent = false;
}

static void loop(void)
{
    uint64_t next_counts_ns = 0;
    bool closing = false;

    pthread_mutex_lock(&w.lock);
    while (!closing) {
        uint64_t asked;
        bool flush;

        wait_for_work();
        asked = w.asked;
        flush = asked != w.answered;
        closing = w.closing;
        pthread_mutex_unlock(&w.lock);

        w.sweep(closing);
        drain();
        if (flush || rec_op_now_ns() >= next_counts_ns) {
            (void) rec_counts_write();
            next_counts_ns = rec_op_now_ns() + COUNTS_MS * 1000000ULL;
        }

        pthread_mutex_lock(&w.lock);
        w.answered = asked;
        pthread_cond_broadcast(&w.answer);
    }
    pthread_mutex_unlock(&w.lock);
}

static void *writer_main(void *unused)
{
    /* numbers with a point, whatever the program's locale is */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);

    (void) unused;
    if (c_locale)
        uselocale(c_locale);
    pthread_setname_np(pthread_self(), "jobprof-rec");
    loop();
    uselocale(LC_GLOBAL_LOCALE);
    if (c_locale)
        freelocale(c_locale);
    return NULL;
}

static int start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, writer_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc == 0 ? 0 : -1;
}

int rec_writer_start(void (*sweep)(bool all))
{
    pthread_condattr_t attr;

    if (w.started)
        return 0;
    if (!batch.text && !(batch.text = malloc(TEXT_BYTES)))
        return -1;
    batch.used = 0;
    batch.n = 0;
    memset(&w, 0, sizeof(w));
    w.sweep = sweep;
    pthread_mutex_init(&w.lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w.wake, &attr);
    pthread_cond_init(&w.answer, &attr);
    pthread_condattr_destroy(&attr);
    if (start_thread() < 0)
        return -1;
    w.started = true;
    return 0;
}

void rec_writer_wake(void)
{
    if (!w.started)
        return;
    pthread_mutex_lock(&w.lock);
    w.urgent = true;
    pthread_cond_signal(&w.wake);
    pthread_mutex_unlock(&w.lock);
}

static void flush(bool closing)
{
    struct timespec until;
    uint64_t mine;

    if (!w.started)
        return;
    deadline_in(&until, JP_REC_FLUSH_WAIT_S * 1000L);
    pthread_mutex_lock(&w.lock);
    if (!w.closing) {
        w.closing = closing;
        mine = ++w.asked;
        w.urgent = true;
        pthread_cond_signal(&w.wake);
        while (w.answered < mine &&
               pthread_cond_timedwait(&w.answer, &w.lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&w.lock);
}

void rec_writer_flush(void)
{
    flush(false);
}

void rec_writer_close(void)
{
    flush(true);
}

void rec_writer_after_fork(void)
{
    w.started = false;
}
