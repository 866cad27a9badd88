/* rec_pool.h - indices of equal pieces of memory, taken and given without
 * locks.
 *
 * Indices travel in short chains, linked through next[], so that a thread
 * touches the shared head once in CHAIN times. A head carries a tag that
 * changes with every exchange: an index that comes back meanwhile is noticed.
 */
#ifndef JP_REC_POOL_H
#define JP_REC_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
