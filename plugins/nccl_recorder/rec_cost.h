/* rec_cost.h - what the recorder itself takes of the program's time.
 *
 * NCCL's callbacks are counted, and each JP_REC_COST_EVERY-th of a thread is
 * timed: two more readings of the clock for one of so many. A longer time than
 * JP_REC_COST_MOST_NS counts as that: the thread lost the processor meanwhile,
 * which would be multiplied by what the sample stands for. init and finalize,
 * which may wait for the writer, are timed each.
 */
#ifndef JP_REC_COST_H
#define JP_REC_COST_H

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_thread.h"

enum { JP_REC_COST_EVERY = 64, JP_REC_COST_MOST_NS = 50000 };

struct jp_rec_timer {
    struct jp_rec_thread *thread; /* NULL: it is not timed */
    uint64_t since_ns;
};

/* The thread's own counters: no lock prefix. */
static inline uint64_t rec_cost_add(_Atomic uint64_t *counter, uint64_t n)
{
    n += atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n, memory_order_relaxed);
    return n;
}

/* A callback begins. */
static inline struct jp_rec_timer rec_cost_begin(void)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_timer timer = {0};

    if (thread && rec_cost_add(&thread->events, 1) % JP_REC_COST_EVERY == 0) {
        timer.thread = thread;
        timer.since_ns = rec_clock_ns();
    }
    return timer;
}

/* It ends. */
void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns);
static inline void rec_cost_end(const struct jp_rec_timer *timer)
{
    if (timer->thread)
        rec_cost_take(timer->thread, timer->since_ns);
}

/* An init or a finalize that began then ends. */
void rec_cost_life(uint64_t since_ns);

/* Over all threads so far; the caller is the writer. */
void rec_cost_sum(struct jpr_cost *cost);

/* In a forked child: nothing of the parent's time counts. */
void rec_cost_after_fork(void);

#endif
