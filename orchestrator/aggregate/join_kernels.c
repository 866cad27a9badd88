/* join_kernels.c - keep the longest message of each AlltoAll. */
#include "orchestrator/aggregate/join_parts.h"

#include <stdlib.h>

#define BLOCK_BYTES (sizeof(struct join_kernel_block) + 16)

static uint32_t ranks_of(const struct join *join,
                         const struct join_member *member)
{
    return join->comms[member->comm]->n_ranks;
}

static bool is_off(const struct join *join)
{
    return atomic_load(&join->budget->kernels_off);
}

/* An eighth of the memory for times: they are few beside the messages. */
static bool fits(struct join *join)
{
    struct join_budget *budget = join->budget;
    uint64_t used = atomic_fetch_add(&budget->kernels_used, BLOCK_BYTES);

    if (used + BLOCK_BYTES > budget->journal_limit / 2)
        atomic_store(&budget->kernels_off, true);
    return !is_off(join);
}

/* NULL without memory, or kernels are off. */
static struct join_kernel_block *
block_get(struct join *join, struct blockmap *blocks, uint64_t number)
{
    struct join_kernel_block *block = blockmap_find(blocks, number);

    if (block || !fits(join) || !join_charge(join, BLOCK_BYTES))
        return block;
    block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->number = number;
    if (blockmap_add(blocks, block) == 0)
        return block;
    free(block);
    return NULL;
}

static int add(struct join *join, struct blockmap *blocks, uint64_t kernel,
               uint32_t us, unsigned n)
{
    struct join_kernel_block *block =
        block_get(join, blocks, kernel / JOIN_KERNEL_BLOCK);
    unsigned k = kernel % JOIN_KERNEL_BLOCK;

    if (!block)
        return is_off(join) ? 0 : -1;
    if (block->us[k] < us)
        block->us[k] = us;
    block->n[k] = (uint16_t) (block->n[k] + n > UINT16_MAX ? UINT16_MAX
                                                           : block->n[k] + n);
    return 0;
}

static unsigned per_of(uint32_t n_ranks, bool self)
{
    return 2 * (n_ranks - !self);
}

int join_kernels_add(struct join *join, struct join_member *member,
                     const struct record *r)
{
    uint32_t n = ranks_of(join, member);
    uint32_t us = r->exec_us > UINT32_MAX ? UINT32_MAX : (uint32_t) r->exec_us;

    if (n < JOIN_KERNEL_MIN_RANKS || n > JOIN_KERNEL_MAX_RANKS || !r->has_sn ||
        !r->sn || r->exec_unknown || is_off(join))
        return 0;
    if (add(join, &member->kernels.blocks[0], (r->sn - 1) / per_of(n, true), us,
            1) < 0)
        return -1;
    if (r->peer == r->rank || n < JOIN_KERNEL_ALONE_RANKS)
        return 0;
    return add(join, &member->kernels.blocks[1], (r->sn - 1) / per_of(n, false),
               us, 1);
}

int join_kernels_put(struct join *join, struct join_member *member, bool self,
                     uint64_t kernel, uint32_t us)
{
    return add(join, &member->kernels.blocks[!self], kernel, us,
               per_of(ranks_of(join, member), self));
}

int join_kernels_merge(struct join *into, struct join_member *to,
                       const struct join_member *from)
{
    for (int self = 0; self < 2; self++) {
        const struct blockmap *blocks = &from->kernels.blocks[self];

        for (size_t i = 0; i < blockmap_slots(blocks); i++) {
            const struct join_kernel_block *b = (void *) blocks->slots[i];

            for (unsigned k = 0; b && k < JOIN_KERNEL_BLOCK; k++)
                if (b->n[k] && add(into, &to->kernels.blocks[self],
                                   b->number * JOIN_KERNEL_BLOCK + k, b->us[k],
                                   b->n[k]) < 0)
                    return -1;
        }
    }
    return 0;
}

void join_kernels_fini(struct join_kernels *kernels)
{
    for (int self = 0; self < 2; self++) {
        struct blockmap *blocks = &kernels->blocks[self];

        for (size_t i = 0; i < blockmap_slots(blocks); i++)
            free(blocks->slots[i]);
        blockmap_fini(blocks);
    }
}

bool join_kernels_fit(const struct join *join, const struct join_member *member,
                      bool *self)
{
    uint32_t n = ranks_of(join, member);
    uint64_t own = (uint64_t) member->rank << 32 | member->rank;

    if (n < JOIN_KERNEL_MIN_RANKS || n > JOIN_KERNEL_MAX_RANKS)
        return false;
    *self = keymap_find(&join->p2p_map, (uint64_t) member->comm << 1, own) !=
            KEYMAP_NONE;
    return member->p2p_rows == per_of(n, *self) &&
           (*self || n >= JOIN_KERNEL_ALONE_RANKS);
}

const struct blockmap *join_kernels_of(const struct join *join,
                                       const struct join_member *member,
                                       unsigned *per)
{
    const struct blockmap *blocks;
    bool self;

    if (is_off(join) || !join_kernels_fit(join, member, &self))
        return NULL;
    *per = per_of(ranks_of(join, member), self);
    blocks = &member->kernels.blocks[!self];
    return blocks->n ? blocks : NULL;
}
