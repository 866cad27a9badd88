/* How an operation ends and becomes a record. */
#include "plugins/nccl_recorder/rec_finish.h"

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_thread.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* A loose operation that is this quiet is over: the channels or proxies of one
 * operation start within microseconds of each other. Without any it may still
 * wait for the one before it, or never have one. */
#define QUIET_NS 50000000LL
#define CHILDLESS_NS 500000000LL

static atomic_int n_loose;

void rec_finish_expect_loose(void)
{
    atomic_fetch_add(&n_loose, 1);
}

void rec_finish_lost(const struct jp_rec_facts *facts)
{
    struct jp_rec_comm *comm = rec_comm_at(facts->comm);

    atomic_fetch_add_explicit(&comm->counts[facts->kind][facts->func].lost, 1,
                              memory_order_relaxed);
}

static void copy(struct jp_rec_op *op, struct jp_rec_record *record)
{
    int i;

    rec_op_facts(op, &record->facts);
    for (i = 0; i < JP_REC_N_TIMES; i++)
        record->times[i] = rec_op_time(op, (enum jp_rec_time) i);
    record->started = atomic_load_explicit(&op->started, memory_order_acquire);
    record->stopped = atomic_load_explicit(&op->stopped, memory_order_acquire);
    for (i = 0; rec_done_has_net() && i < JP_REC_N_NET; i++)
        record->net[i] =
            atomic_load_explicit(&op->net[i], memory_order_acquire);
}

/* Turns an operation that the caller has taken from live to over into a record
 * on its way to the writer, and frees its place. */
static void finish(struct jp_rec_op *op, uint64_t state)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_record *record = thread ? rec_done_room(thread) : NULL;
    uint32_t index = (uint32_t) (op - jp_rec_ops);
    struct jp_rec_facts facts;

    if (state & JP_REC_LOOSE)
        atomic_fetch_sub(&n_loose, 1);
    if (record) {
        copy(op, record);
        if (state & JP_REC_CUT_SHORT)
            record->facts.flags |= JP_REC_INCOMPLETE;
        if (rec_done_publish(thread))
            rec_writer_nudge();
    } else {
        rec_op_facts(op, &facts);
        rec_finish_lost(&facts);
    }
    rec_op_retire(op);
    if (thread) {
        rec_purse_give(&thread->ops, &jp_rec_op_pool, index);
    } else {
        jp_rec_op_pool.next[index] = JP_REC_NONE;
        rec_pool_give(&jp_rec_op_pool, index);
    }
}

static bool is_over(uint64_t state)
{
    return (state & (JP_REC_ENQUEUED | JP_REC_LOOSE | JP_REC_LEFT_MASK |
                     JP_REC_OPEN_MASK)) == JP_REC_ENQUEUED;
}

void rec_finish_settle(struct jp_rec_op *op, uint64_t generation, uint64_t one,
                       uint64_t mask, uint64_t set)
{
    uint64_t state = rec_op_state(op);
    uint64_t next;

    do {
        if (!rec_op_is(state, generation))
            return;
        next = state | set;
        if (state & mask)
            next -= one;
        if (is_over(next))
            next &= ~JP_REC_LIVE;
    } while (!atomic_compare_exchange_weak_explicit(
        &op->state, &state, next, memory_order_acq_rel, memory_order_acquire));
    if (!(next & JP_REC_LIVE))
        finish(op, next);
}

/* Takes it from live to over, whatever is missing. */
static void cut_short(struct jp_rec_op *op, uint64_t state, uint64_t set)
{
    uint64_t next = (state & ~JP_REC_LIVE) | set;

    if (atomic_compare_exchange_strong_explicit(&op->state, &state, next,
                                                memory_order_acq_rel,
                                                memory_order_acquire))
        finish(op, next);
}

/* Whether a loose operation may be over: enqueued, nothing open, and at least
 * one channel seen where there must be one. */
static bool may_be_over(struct jp_rec_op *op, uint64_t state,
                        const struct jp_rec_facts *facts)
{
    const uint64_t want = JP_REC_LIVE | JP_REC_LOOSE | JP_REC_ENQUEUED;

    return (state & (want | JP_REC_OPEN_MASK)) == want &&
           (!(facts->flags & JP_REC_HAS_KERNELS) ||
            atomic_load(&op->stopped) > 0);
}

void rec_finish_all(struct jp_rec_comm *comm)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    struct jp_rec_facts facts;
    uint32_t i;

    for (i = 0; i < n; i++) {
        struct jp_rec_op *op = &jp_rec_ops[i];
        uint64_t state = rec_op_state(op);

        if (!(state & JP_REC_LIVE))
            continue;
        rec_op_facts(op, &facts);
        if (!comm || facts.comm == rec_comm_place(comm))
            cut_short(op, state,
                      may_be_over(op, state, &facts) ? 0 : JP_REC_CUT_SHORT);
    }
}

static bool had_child(struct jp_rec_op *op)
{
    return rec_op_time(op, JP_REC_KERNEL_LAST) > 0 ||
           rec_op_time(op, JP_REC_PROXY_LAST) > 0;
}

void rec_finish_quiet(void)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    struct jp_rec_facts facts;
    uint32_t i;

    for (i = 0; i < n && atomic_load(&n_loose) > 0; i++) {
        struct jp_rec_op *op = &jp_rec_ops[i];
        uint64_t state = rec_op_state(op);
        int64_t quiet;

        if (!(state & JP_REC_LOOSE))
            continue;
        rec_op_facts(op, &facts);
        /* an event may have come since `now` was taken: signed difference */
        quiet = (int64_t) (now - rec_op_time(op, JP_REC_LAST));
        if (quiet > (had_child(op) ? QUIET_NS : CHILDLESS_NS) &&
            may_be_over(op, state, &facts))
            cut_short(op, state, 0);
    }
}

bool rec_finish_look(uint32_t index, struct jp_rec_record *record)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t state = rec_op_state(op);

    if (!(state & JP_REC_LIVE))
        return false;
    copy(op, record);
    return rec_op_is(rec_op_state(op), state);
}
