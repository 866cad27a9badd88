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

/* One that others have overtaken gets no more events after this; after the
 * longer one with an open proxy, which may still be at work, and in a graph,
 * whose nodes the driver orders. */
#define OVERTAKEN_NS 500000000LL
#define OVERTAKEN_LONG_NS 10000000000LL
#define SWEEP_NS 200000000ULL /* how often the writer looks for them */

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
        if (state & JP_REC_OVERTAKEN)
            record->facts.flags |= JP_REC_OVER;
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

/* Takes it from live to over, whatever is missing; false when its state is
 * another one by now. */
static bool cut_short(struct jp_rec_op *op, uint64_t state, uint64_t set)
{
    uint64_t next = (state & ~JP_REC_LIVE) | set;

    if (!atomic_compare_exchange_strong_explicit(&op->state, &state, next,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire))
        return false;
    finish(op, next);
    return true;
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

/* Ends it if it is the communicator's, though NCCL's other threads may bring
 * events of it meanwhile. */
static void end_now(struct jp_rec_op *op, const struct jp_rec_comm *comm)
{
    uint64_t state = rec_op_state(op);
    uint64_t generation = state;
    struct jp_rec_facts facts;

    for (; rec_op_is(state, generation); state = rec_op_state(op)) {
        rec_op_facts(op, &facts);
        if (comm && facts.comm != rec_comm_place(comm))
            return;
        if (cut_short(op, state,
                      may_be_over(op, state, &facts) ? 0 : JP_REC_CUT_SHORT))
            return;
    }
}

void rec_finish_all(struct jp_rec_comm *comm)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint32_t i;

    for (i = 0; i < n; i++)
        end_now(&jp_rec_ops[i], comm);
}

static bool had_child(struct jp_rec_op *op)
{
    return rec_op_time(op, JP_REC_KERNEL_LAST) > 0 ||
           rec_op_time(op, JP_REC_PROXY_LAST) > 0;
}

/* What ended before says how far a communicator's kernels came. */
static void reach(const struct jp_rec_facts *facts)
{
    struct jp_rec_comm *comm = rec_comm_at(facts->comm);

    if (facts->start_ns > comm->reached_ns)
        comm->reached_ns = facts->start_ns;
}

void rec_finish_saw(const struct jp_rec_record *record)
{
    if (record->stopped > 0)
        reach(&record->facts);
}

/* Whether kernels that were launched after it are over. Operations of one
 * launch start before the first of them is enqueued: they say nothing. */
static bool is_overtaken(struct jp_rec_op *op, uint64_t state,
                         const struct jp_rec_facts *facts)
{
    return (state & JP_REC_ENQUEUED) &&
           rec_op_time(op, JP_REC_ENQUEUE_STOP) <
               rec_comm_at(facts->comm)->reached_ns;
}

static void end_if_quiet(struct jp_rec_op *op, uint64_t now)
{
    uint64_t state = rec_op_state(op);
    struct jp_rec_facts facts;
    int64_t quiet;
    bool slow;

    if (!(state & JP_REC_LIVE))
        return;
    rec_op_facts(op, &facts);
    /* an event may have come since `now` was taken: signed difference */
    quiet = (int64_t) (now - rec_op_time(op, JP_REC_LAST));
    if (state & JP_REC_LOOSE) {
        if (quiet > (had_child(op) ? QUIET_NS : CHILDLESS_NS) &&
            may_be_over(op, state, &facts))
            cut_short(op, state, 0);
        return;
    }
    if (atomic_load(&op->stopped) > 0 && rec_op_is(rec_op_state(op), state))
        reach(&facts);
    slow = (state & JP_REC_OPEN_MASK) || (facts.flags & JP_REC_GRAPH);
    if (quiet > (slow ? OVERTAKEN_LONG_NS : OVERTAKEN_NS) &&
        is_overtaken(op, state, &facts))
        cut_short(op, state, JP_REC_CUT_SHORT | JP_REC_OVERTAKEN);
}

void rec_finish_quiet(void)
{
    static uint64_t last_sweep_ns;
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    uint32_t i;

    if (atomic_load(&n_loose) == 0 && now - last_sweep_ns < SWEEP_NS)
        return;
    last_sweep_ns = now;
    for (i = 0; i < n; i++)
        end_if_quiet(&jp_rec_ops[i], now);
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
