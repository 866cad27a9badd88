/* rec_thread.h - what each thread that NCCL calls us from has for itself.
 *
 * Free places for operations, a chunk of finished records, names it saw. A
 * thread claims an entry of a fixed table with its first event and gives it
 * back when it ends; what the entry holds serves the next thread.
 */
#ifndef JP_REC_THREAD_H
#define JP_REC_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_names.h"

/* --- indices of equal pieces of memory, taken and given without
 * locks.
 *
 * Indices travel in short chains, linked through next[], so that a thread
 * touches the shared head once in CHAIN times. A head carries a tag that
 * changes with every exchange: an index that comes back meanwhile is noticed.
 */

#define JP_REC_NONE UINT32_MAX

struct jp_rec_pool {
    _Alignas(64) _Atomic uint64_t head;  /* tag 32, index + 1 32 */
    _Alignas(64) _Atomic uint32_t fresh; /* never handed out from here on */
    uint32_t n;
    uint32_t chain;          /* indices a chain has, at most */
    uint32_t *next;          /* within a chain; its last is JP_REC_NONE */
    _Atomic uint32_t *below; /* chain under a chain, index + 1 */
};

/* Bytes of memory a pool of n indices needs for its links. */
size_t rec_pool_bytes(uint32_t n);

/* `links` is borrowed, zeroed memory of that size. */
void rec_pool_init(struct jp_rec_pool *pool, uint32_t n, uint32_t chain,
                   void *links);

/* A chain's first index, JP_REC_NONE when all are out. */
uint32_t rec_pool_take(struct jp_rec_pool *pool);
void rec_pool_give(struct jp_rec_pool *pool, uint32_t first);

/* No index from here on was ever handed out. */
uint32_t rec_pool_used(struct jp_rec_pool *pool);

/* A thread's own part of a pool. */
struct jp_rec_purse {
    uint32_t first; /* JP_REC_NONE: empty */
    uint32_t n;
};

uint32_t rec_purse_take(struct jp_rec_purse *purse, struct jp_rec_pool *pool);
void rec_purse_give(struct jp_rec_purse *purse, struct jp_rec_pool *pool,
                    uint32_t index);

enum { JP_REC_MAX_THREADS = 512 };

struct jp_rec_thread {
    _Alignas(64) atomic_bool taken;
    _Atomic uint32_t chunk; /* being filled; JP_REC_NONE */
    struct jp_rec_purse ops;
    struct jp_rec_purse steps;
    struct jp_rec_name_cache funcs;
    struct jp_rec_name_cache words;
    uint32_t group; /* of calls, see rec_trust_group */
    int group_depth;
    /* cost of our own; the thread writes, the writer reads */
    _Atomic uint64_t events, timed, timed_ns;
};

/* The calling thread's; NULL when the table is full. */
struct jp_rec_thread *rec_thread_get(void);

/* The table, for the writer; entries may be free. */
struct jp_rec_thread *rec_thread_table(void);

/* Takes zeroed memory for JP_REC_MAX_THREADS into use. 0, or -1 when threads
 * cannot be told apart here (no thread-specific key). */
int rec_thread_init(struct jp_rec_thread *table);

/* In a forked child: nothing of the parent's threads is left. */
void rec_thread_after_fork(void);

/* --- what the recorder itself takes of the program's time.
 *
 * NCCL's callbacks are counted, and each JP_REC_COST_EVERY-th of a thread is
 * timed: two more readings of the clock for one of so many. A longer time than
 * JP_REC_COST_MOST_NS counts as that: the thread lost the processor meanwhile,
 * which would be multiplied by what the sample stands for. init and finalize,
 * which may wait for the writer, are timed each.
 */

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
