/* Indices of equal pieces of memory, taken and given without locks. */
#include "plugins/nccl_recorder/rec_pool.h"

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
