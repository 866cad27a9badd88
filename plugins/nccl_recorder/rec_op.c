/* Operations in flight with NCCL's handles, and their network transfers. */
#include "plugins/nccl_recorder/rec_op.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"

enum { NO_WAIT = -1 };

/* One step between its start and its stop, all in one thread of NCCL's; the
 * generation tells a handle that comes too late. */
struct step {
    uint64_t op; /* handle of the operation, kind PROXY */
    uint64_t since_ns;
    int wait; /* enum jpr_wait, or NO_WAIT */
    _Atomic uint32_t generation;
};

static struct step *steps;
static struct jp_rec_pool pool;
static _Atomic uint64_t n_lost;

size_t rec_net_bytes(uint32_t n)
{
    return n * sizeof(struct step) + rec_pool_bytes(n);
}

enum { CHAIN = 16 };

void rec_net_init(void *memory, uint32_t n)
{
    steps = memory;
    if (steps)
        rec_pool_init(&pool, n, CHAIN, steps + n);
    atomic_store(&n_lost, 0);
}

uint64_t rec_net_lost(void)
{
    return atomic_load(&n_lost);
}

static int wait_of(int state)
{
    switch (state) {
    case JP_NCCL_STEP_SEND_GPU_WAIT:
        return JPR_WAIT_SEND_GPU;
    case JP_NCCL_STEP_SEND_PEER_WAIT:
        return JPR_WAIT_SEND_PEER;
    case JP_NCCL_STEP_SEND_WAIT:
        return JPR_WAIT_SEND;
    case JP_NCCL_STEP_RECV_WAIT:
        return JPR_WAIT_RECV;
    case JP_NCCL_STEP_RECV_FLUSH_WAIT:
        return JPR_WAIT_RECV_FLUSH;
    case JP_NCCL_STEP_RECV_GPU_WAIT:
        return JPR_WAIT_RECV_GPU;
    default:
        return NO_WAIT;
    }
}

void *rec_net_start(void *parent)
{
    uint64_t handle = (uint64_t) (uintptr_t) parent;
    struct jp_rec_thread *thread = steps ? rec_thread_get() : NULL;
    uint32_t index;
    struct step *step;

    if (!thread || rec_op_kind(handle) != JP_REC_PROXY)
        return NULL;
    index = rec_purse_take(&thread->steps, &pool);
    if (index == JP_REC_NONE) {
        atomic_fetch_add_explicit(&n_lost, 1, memory_order_relaxed);
        return NULL;
    }
    step = &steps[index];
    step->op = handle;
    step->wait = NO_WAIT;
    return (void *) (uintptr_t) ((uint64_t) JP_REC_STEP |
                                 (uint64_t) index << 9 |
                                 (uint64_t) atomic_load(&step->generation)
                                     << JP_REC_GENERATION_SHIFT);
}

static struct step *find(uint64_t handle)
{
    uint32_t index = (uint32_t) (handle >> 9) & 0x7FFFFF;

    if (!steps || index >= pool.n ||
        atomic_load(&steps[index].generation) != (uint32_t) (handle >> 32))
        return NULL;
    return &steps[index];
}

/* Adds to one of the operation's sums, unless it is over. */
static void add(uint64_t handle, int which, uint64_t value)
{
    uint64_t generation;
    struct jp_rec_op *op = rec_op_find(handle, &generation);

    if (op && rec_op_is(rec_op_state(op), generation))
        atomic_fetch_add_explicit(&op->net[which], value, memory_order_release);
}

/* Ends the wait the step is in, if any. */
static void end_wait(struct step *step, uint64_t now)
{
    if (step->wait != NO_WAIT)
        add(step->op, step->wait, now - step->since_ns);
    step->wait = NO_WAIT;
}

void rec_net_record(uint64_t handle, int state, uint64_t bytes)
{
    struct step *step = find(handle);
    int wait = wait_of(state);
    uint64_t now;

    if (!step || wait == NO_WAIT)
        return;
    now = rec_clock_ns();
    end_wait(step, now);
    step->wait = wait;
    step->since_ns = now;
    /* each state repeats it; counted where the transfer begins */
    if (wait == JPR_WAIT_SEND || wait == JPR_WAIT_RECV_GPU)
        add(step->op, JPR_N_WAITS + 1, bytes);
}

void rec_net_stop(uint64_t handle)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct step *step = find(handle);

    if (!step || !thread)
        return;
    end_wait(step, rec_clock_ns());
    add(step->op, JPR_N_WAITS, 1);
    atomic_fetch_add(&step->generation, 1);
    rec_purse_give(&thread->steps, &pool, (uint32_t) (step - steps));
}

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
    /* a channel's stop clears its entry: only what ended early, or was not
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
