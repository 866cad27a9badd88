/* rec_thread.c - what each calling thread has for itself, and its costs. */
#include "plugins/nccl_recorder/rec_thread.h"

#include <stdbool.h>
#include <stddef.h>

#include "plugins/nccl_recorder/rec_compat.h"

/* --- pools --- */

size_t rec_pool_bytes(uint32_t n)
{
    return 2 * (size_t) n * sizeof(uint32_t);
}

void rec_pool_init(struct jp_rec_pool *pool, uint32_t n, uint32_t chain,
                   void *links)
{
    atomic_init(&pool->head, 0);
    atomic_init(&pool->fresh, 0);
    pool->n = n;
    pool->chain = chain;
    pool->next = links;
    pool->below = (_Atomic uint32_t *) links + n;
}

uint32_t rec_pool_used(struct jp_rec_pool *pool)
{
    uint32_t used = atomic_load_explicit(&pool->fresh, memory_order_acquire);

    return used < pool->n ? used : pool->n;
}

/* Links a chain of indices that nobody had yet. */
static uint32_t take_fresh(struct jp_rec_pool *pool)
{
    uint32_t first = atomic_load_explicit(&pool->fresh, memory_order_relaxed);
    uint32_t end, i;

    do {
        if (first >= pool->n)
            return JP_REC_NONE;
        end = pool->n - first < pool->chain ? pool->n : first + pool->chain;
    } while (!atomic_compare_exchange_weak(&pool->fresh, &first, end));
    for (i = first; i < end; i++)
        pool->next[i] = i + 1 < end ? i + 1 : JP_REC_NONE;
    return first;
}

uint32_t rec_pool_take(struct jp_rec_pool *pool)
{
    uint64_t head = atomic_load_explicit(&pool->head, memory_order_acquire);
    uint64_t next;
    uint32_t first;

    do {
        if ((uint32_t) head == 0)
            return take_fresh(pool);
        first = (uint32_t) head - 1;
        next = ((head >> 32) + 1) << 32 |
               atomic_load_explicit(&pool->below[first], memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &pool->head, &head, next, memory_order_acq_rel, memory_order_acquire));
    return first;
}

void rec_pool_give(struct jp_rec_pool *pool, uint32_t first)
{
    uint64_t head = atomic_load_explicit(&pool->head, memory_order_relaxed);
    uint64_t next;

    do {
        atomic_store_explicit(&pool->below[first], (uint32_t) head,
                              memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | (first + 1);
    } while (!atomic_compare_exchange_weak_explicit(
        &pool->head, &head, next, memory_order_acq_rel, memory_order_relaxed));
}

uint32_t rec_purse_take(struct jp_rec_purse *purse, struct jp_rec_pool *pool)
{
    uint32_t index = purse->first;

    if (index == JP_REC_NONE) {
        index = rec_pool_take(pool);
        if (index == JP_REC_NONE)
            return index;
        purse->n = 0; /* not counted: it only grows by what is given */
    }
    purse->first = pool->next[index];
    if (purse->n > 0)
        purse->n--;
    return index;
}

void rec_purse_give(struct jp_rec_purse *purse, struct jp_rec_pool *pool,
                    uint32_t index)
{
    if (purse->n == pool->chain) {
        rec_pool_give(pool, purse->first);
        purse->first = JP_REC_NONE;
        purse->n = 0;
    }
    pool->next[index] = purse->first;
    purse->first = index;
    purse->n++;
}

/* --- threads --- */

static struct jp_rec_thread *table;
static pthread_key_t key;
static bool have_key;

static __thread struct jp_rec_thread *mine;

static void give_back(void *thread)
{
    if (mine == thread)
        atomic_store_explicit(&mine->taken, false, memory_order_release);
    mine = NULL;
}

/* Not inlined: rec_thread_get() needs no stack without it. */
__attribute__((noinline)) static struct jp_rec_thread *claim(void)
{
    int i;

    for (i = 0; table && i < JP_REC_MAX_THREADS; i++) {
        bool taken =
            atomic_load_explicit(&table[i].taken, memory_order_relaxed);

        if (!taken && atomic_compare_exchange_strong_explicit(
                          &table[i].taken, &taken, true, memory_order_acquire,
                          memory_order_relaxed)) {
            mine = &table[i];
            pthread_setspecific(key, mine);
            return mine;
        }
    }
    return NULL;
}

struct jp_rec_thread *rec_thread_get(void)
{
    struct jp_rec_thread *thread = mine;

    return thread ? thread : claim();
}

struct jp_rec_thread *rec_thread_table(void)
{
    return table;
}

int rec_thread_init(struct jp_rec_thread *memory)
{
    int i;

    if (!have_key && pthread_key_create(&key, give_back) != 0)
        return -1;
    have_key = true;
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        atomic_init(&memory[i].chunk, JP_REC_NONE);
        memory[i].ops.first = JP_REC_NONE;
        memory[i].steps.first = JP_REC_NONE;
    }
    table = memory;
    return 0;
}

void rec_thread_after_fork(void)
{
    table = NULL;
    mine = NULL; /* the thread that forked is the child's only one */
}

/* --- What the recorder itself takes of the program's time --- */

static _Atomic uint64_t life_ns;

void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns)
{
    uint64_t ns = rec_clock_ns() - since_ns;

    rec_cost_add(&thread->timed, 1);
    rec_cost_add(&thread->timed_ns,
                 ns < JP_REC_COST_MOST_NS ? ns : JP_REC_COST_MOST_NS);
}

void rec_cost_life(uint64_t since_ns)
{
    atomic_fetch_add(&life_ns, rec_clock_ns() - since_ns);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void rec_cost_sum(struct jpr_cost *cost)
{
    *cost = (struct jpr_cost){
        .told = true,
        .life_ns = get(&life_ns),
        .writer_ns = rec_clock_of(CLOCK_THREAD_CPUTIME_ID),
    };
    for (unsigned i = 0; table && i < JP_REC_MAX_THREADS; i++) {
        cost->events += get(&table[i].events);
        cost->timed += get(&table[i].timed);
        cost->timed_ns += get(&table[i].timed_ns);
    }
}

void rec_cost_after_fork(void)
{
    atomic_store(&life_ns, 0);
}
