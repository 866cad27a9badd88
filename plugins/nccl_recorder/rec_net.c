/* rec_net.c - network transfers (ProxyStep events), summed up as the waits of
 * their operation. A step reports the states that it goes through; the time in
 * each state is a wait of one kind. */
#include "plugins/nccl_recorder/rec_op.h"

#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"

enum { NO_WAIT = -1 };

/* Network steps that can be under way at once; each takes 24 bytes. */
enum { N_STEPS = 8192 };

/* A step between its start and its stop, which NCCL reports from one thread. A
 * handle of another generation comes too late and is ignored. */
struct step {
    uint64_t op;       /* handle of the operation, kind PROXY */
    uint64_t since_ns; /* when the current wait began */
    int wait;          /* enum jpr_wait, or NO_WAIT */
    _Atomic uint32_t generation;
};

static struct step *steps;
static struct jp_rec_pool pool;
static _Atomic uint64_t n_lost; /* steps without a place */

size_t rec_net_init(void *memory)
{
    steps = memory;
    atomic_store(&n_lost, 0);
    if (!steps)
        return 0;
    rec_pool_init(&pool, N_STEPS, JP_REC_CHAIN, steps + N_STEPS);
    return N_STEPS * sizeof(struct step) + rec_pool_bytes(N_STEPS);
}

uint64_t rec_net_lost(void)
{
    return atomic_load(&n_lost);
}

/* Returns the wait that a state of a step stands for (enum jpr_wait), or
 * NO_WAIT. */
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

/* Returns the step of a handle, or NULL if it has stopped. */
static struct step *find_step(uint64_t handle)
{
    uint32_t index = (uint32_t) (handle >> 9) & 0x7FFFFF;

    if (!steps || index >= pool.n ||
        atomic_load(&steps[index].generation) != (uint32_t) (handle >> 32))
        return NULL;
    return &steps[index];
}

/* Adds to one of the sums of the operation, unless that is over. */
static void add_sum(uint64_t handle, int which, uint64_t value)
{
    uint64_t generation;
    struct jp_rec_op *op = rec_op_find(handle, &generation);

    if (op && rec_op_is(rec_op_state(op), generation))
        atomic_fetch_add_explicit(&op->net[which], value, memory_order_release);
}

/* Ends the wait that the step is in, if there is one. */
static void end_wait(struct step *step, uint64_t now)
{
    if (step->wait != NO_WAIT)
        add_sum(step->op, step->wait, now - step->since_ns);
    step->wait = NO_WAIT;
}

void rec_net_record(uint64_t handle, int state, uint64_t bytes)
{
    struct step *step = find_step(handle);
    int wait = wait_of(state);
    uint64_t now;

    if (!step || wait == NO_WAIT)
        return;
    now = rec_clock_ns();
    end_wait(step, now);
    step->wait = wait;
    step->since_ns = now;
    /* Every state repeats the bytes. They count once: where a send goes to the
     * network, and where a receive waits for the GPU. */
    if (wait == JPR_WAIT_SEND || wait == JPR_WAIT_RECV_GPU)
        add_sum(step->op, JPR_N_WAITS + 1, bytes);
}

void rec_net_stop(uint64_t handle)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct step *step = find_step(handle);

    if (!step || !thread)
        return;
    end_wait(step, rec_clock_ns());
    add_sum(step->op, JPR_N_WAITS, 1);
    /* late handles of this step no longer match */
    atomic_fetch_add(&step->generation, 1);
    rec_purse_give(&thread->steps, &pool, (uint32_t) (step - steps));
}
