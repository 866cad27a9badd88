/* Operations in flight, and the handles NCCL holds for them. */
#include "plugins/nccl_recorder/rec_op.h"

#include <string.h>

enum { CHAIN = 16 };

_Static_assert(sizeof(struct jp_rec_facts) % 8 == 0, "facts are whole words");
_Static_assert(JP_NCCL_MAX_CHANNELS <= 64, "a channel has 6 bits");

struct jp_rec_op *jp_rec_ops;
struct jp_rec_pool jp_rec_op_pool;
uint64_t jp_rec_handle_salt;

size_t rec_op_bytes(uint32_t n)
{
    return n * sizeof(struct jp_rec_op) + rec_pool_bytes(n);
}

void rec_op_init(void *memory, uint32_t n, unsigned epoch, uint32_t salt)
{
    struct jp_rec_op *ops = memory;
    uint32_t i;

    if (n > 1u << JP_REC_INDEX_BITS)
        n = 1u << JP_REC_INDEX_BITS;
    rec_pool_init(&jp_rec_op_pool, n, CHAIN, ops + n);
    for (i = 0; epoch > 0 && i < n; i++)
        atomic_init(&ops[i].state, (uint64_t) epoch << 56);
    jp_rec_handle_salt = (uint64_t) salt << JP_REC_GENERATION_SHIFT;
    jp_rec_ops = ops;
}

void rec_op_forget(void)
{
    jp_rec_ops = NULL;
}

void *rec_op_begin(uint32_t index, const struct jp_rec_facts *facts,
                   uint64_t state)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t generation = rec_op_state(op) >> JP_REC_GENERATION_SHIFT;
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    memcpy(words, facts, sizeof(words));
    /* release: a snapshot that sees a new word sees the new generation too */
    for (i = 0; i < JP_REC_FACT_WORDS; i++)
        atomic_store_explicit(&op->facts[i], words[i], memory_order_release);
    for (i = 0; i < JP_REC_N_TIMES; i++)
        rec_op_set_time(op, (enum jp_rec_time) i, 0);
    for (i = 0; i < JP_REC_N_NET; i++)
        atomic_store_explicit(&op->net[i], 0, memory_order_release);
    atomic_store_explicit(&op->started, 0, memory_order_release);
    atomic_store_explicit(&op->stopped, 0, memory_order_release);
    atomic_store_explicit(&op->refused, 0, memory_order_release);
    atomic_store_explicit(
        &op->state, generation << JP_REC_GENERATION_SHIFT | JP_REC_LIVE | state,
        memory_order_release);
    return (void *) (uintptr_t) (((uint64_t) JP_REC_OP |
                                  (uint64_t) index << JP_REC_INDEX_SHIFT |
                                  generation << JP_REC_GENERATION_SHIFT) ^
                                 jp_rec_handle_salt);
}

void rec_op_facts(const struct jp_rec_op *op, struct jp_rec_facts *facts)
{
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    for (i = 0; i < JP_REC_FACT_WORDS; i++)
        words[i] = atomic_load_explicit(&op->facts[i], memory_order_acquire);
    memcpy(facts, words, sizeof(words));
}

void rec_op_retire(struct jp_rec_op *op)
{
    uint64_t state = rec_op_state(op);
    uint64_t generation = state >> JP_REC_GENERATION_SHIFT;
    /* a channel's stop clears its entry: only what was cut short, or was not
     * believed any more, leaves any */
    bool left = (state & (JP_REC_CUT_SHORT | JP_REC_UNSURE)) &&
                atomic_load_explicit(&op->started, memory_order_acquire) > 0;
    int i;

    for (i = 0; left && i < JP_NCCL_MAX_CHANNELS; i++)
        atomic_store_explicit(&op->channels[i], 0, memory_order_relaxed);

    atomic_store_explicit(&op->state,
                          (generation + 1) << JP_REC_GENERATION_SHIFT,
                          memory_order_release);
}
