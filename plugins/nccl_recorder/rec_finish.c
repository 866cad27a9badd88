/* rec_finish.c - how an operation ends, becomes a record and gets to the
 * writer. */
#include "plugins/nccl_recorder/rec_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_op.h"

enum { CHUNK_RECORDS = 32 };

struct chunk {
    _Atomic uint32_t n;     /* records handed over */
    uint32_t read;          /* the writer's: of those, how many it has */
    _Atomic uint32_t below; /* in the stack of full ones, index + 1 */
    uint32_t unused;
    char records[];
};

static struct jp_rec_pool pool;
static char *chunks;
static size_t record_bytes;
static bool has_net;
static _Atomic uint32_t full;   /* top of the stack, index + 1 */
static _Atomic uint32_t n_full; /* about how many it holds */

static size_t bytes_of(bool net)
{
    return net ? sizeof(struct jp_rec_record)
               : offsetof(struct jp_rec_record, net);
}

static size_t chunk_bytes(size_t record)
{
    return sizeof(struct chunk) + CHUNK_RECORDS * record;
}

static struct chunk *chunk_at(uint32_t index)
{
    return (struct chunk *) (chunks + index * chunk_bytes(record_bytes));
}

size_t rec_done_bytes(uint32_t n, bool net)
{
    uint32_t n_chunks = n / CHUNK_RECORDS + 1;

    return n_chunks * chunk_bytes(bytes_of(net)) + rec_pool_bytes(n_chunks);
}

void rec_done_init(void *memory, uint32_t n, bool net)
{
    uint32_t n_chunks = n / CHUNK_RECORDS + 1;

    has_net = net;
    record_bytes = bytes_of(net);
    chunks = memory;
    rec_pool_init(&pool, n_chunks, 1,
                  chunks + n_chunks * chunk_bytes(record_bytes));
    atomic_store(&full, 0);
    atomic_store(&n_full, 0);
}

bool rec_done_has_net(void)
{
    return has_net;
}

/* Room for one record, to be filled by the calling thread; NULL without any.
 * done_publish hands it over; true when the writer should not wait for its
 * timer. */
static struct jp_rec_record *done_room(struct jp_rec_thread *thread)
{
    uint32_t index = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
    struct chunk *chunk;

    if (index == JP_REC_NONE) {
        index = rec_pool_take(&pool);
        if (index == JP_REC_NONE)
            return NULL;
        atomic_store_explicit(&thread->chunk, index, memory_order_release);
    }
    chunk = chunk_at(index);
    return (struct jp_rec_record *) (chunk->records +
                                     atomic_load_explicit(
                                         &chunk->n, memory_order_relaxed) *
                                         record_bytes);
}

static bool done_publish(struct jp_rec_thread *thread)
{
    uint32_t index = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
    struct chunk *chunk = chunk_at(index);
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_relaxed) + 1;
    uint32_t top;

    atomic_store_explicit(&chunk->n, n, memory_order_release);
    if (n < CHUNK_RECORDS)
        return false;
    /* no longer ours before anybody may see it in the stack */
    atomic_store_explicit(&thread->chunk, JP_REC_NONE, memory_order_release);
    top = atomic_load_explicit(&full, memory_order_relaxed);
    do {
        atomic_store_explicit(&chunk->below, top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &full, &top, index + 1, memory_order_release, memory_order_relaxed));
    return atomic_fetch_add_explicit(&n_full, 1, memory_order_relaxed) >
           pool.n / 4;
}

/* Reads what is new in a chunk. */
static void read_chunk(struct chunk *chunk,
                       void (*take)(const struct jp_rec_record *record))
{
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_acquire);

    for (; chunk->read < n; chunk->read++)
        take((const struct jp_rec_record *) (chunk->records +
                                             chunk->read * record_bytes));
}

/* The stack upside down: first in, first out. */
static uint32_t take_full(void)
{
    uint32_t top = atomic_exchange_explicit(&full, 0, memory_order_acquire);
    uint32_t first = 0;

    atomic_store_explicit(&n_full, 0, memory_order_relaxed);
    while (top) {
        _Atomic uint32_t *below = &chunk_at(top - 1)->below;
        uint32_t next = atomic_load_explicit(below, memory_order_relaxed);

        atomic_store_explicit(below, first, memory_order_relaxed);
        first = top;
        top = next;
    }
    return first;
}

static void drain_full(void (*take)(const struct jp_rec_record *record))
{
    uint32_t at = take_full();

    while (at) {
        struct chunk *chunk = chunk_at(at - 1);
        uint32_t next =
            atomic_load_explicit(&chunk->below, memory_order_relaxed);

        read_chunk(chunk, take);
        chunk->read = 0;
        atomic_store_explicit(&chunk->n, 0, memory_order_release);
        rec_pool_give(&pool, at - 1);
        at = next;
    }
}

void rec_done_drain(void (*take)(const struct jp_rec_record *record))
{
    struct jp_rec_thread *threads = rec_thread_table();
    int i;

    if (!threads)
        return;
    drain_full(take);
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        uint32_t index =
            atomic_load_explicit(&threads[i].chunk, memory_order_acquire);

        if (index != JP_REC_NONE)
            read_chunk(chunk_at(index), take);
    }
}

/* --- how an operation ends and becomes a record -------------------------- */

/* A loose operation that is this quiet is over: the channels or proxies of one
 * operation start within microseconds of each other. */
#define QUIET_NS 50000000LL
/* ... and one without any events of its end waits after this, as far as
 * finalize can tell. */
#define SILENT_NS 1000000000LL

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

void rec_finish_doubt(struct jp_rec_op *op, uint64_t generation)
{
    uint64_t state = rec_op_state(op);

    do {
        if (!rec_op_is(state, generation) || (state & JP_REC_UNSURE))
            return;
    } while (!atomic_compare_exchange_weak_explicit(
        &op->state, &state,
        (state & ~JP_REC_LEFT_MASK) | JP_REC_UNSURE | JP_REC_LOOSE,
        memory_order_acq_rel, memory_order_acquire));
    if (!(state & JP_REC_LOOSE))
        rec_finish_expect_loose();
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
    record->refused = atomic_load_explicit(&op->refused, memory_order_acquire);
    for (i = 0; rec_done_has_net() && i < JP_REC_N_NET; i++)
        record->net[i] =
            atomic_load_explicit(&op->net[i], memory_order_acquire);
}

/* True where no event shows its end. An open proxy shows: not yet. */
static bool is_unsure(uint64_t state)
{
    return (state & JP_REC_UNSURE) && !(state & JP_REC_OPEN_MASK);
}

/* Turns an operation that the caller has taken from live to over into a record
 * on its way to the writer, and frees its place. */
static void finish(struct jp_rec_op *op, uint64_t state)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_record *record = thread ? done_room(thread) : NULL;
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
        if (is_unsure(state))
            record->facts.flags |= JP_REC_UNTIMED;
        if (done_publish(thread))
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
static bool may_be_over(struct jp_rec_op *op, uint64_t state)
{
    const uint64_t want = JP_REC_LIVE | JP_REC_LOOSE | JP_REC_ENQUEUED;

    return (state & (want | JP_REC_OPEN_MASK)) == want &&
           ((state & JP_REC_UNSURE) || atomic_load(&op->stopped) > 0);
}

/* Of each communicator: the earliest start of an operation that waits for the
 * network; 0: none does. */
struct waiting {
    uint64_t since_ns[JP_REC_MAX_COMMS];
};

static void find_waiting(struct waiting *waiting)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint32_t i;

    memset(waiting, 0, sizeof(*waiting));
    for (i = 0; i < n; i++) {
        struct jp_rec_op *op = &jp_rec_ops[i];
        uint64_t state = rec_op_state(op);
        uint64_t *since_ns, start_ns;

        if (!(state & JP_REC_LIVE) || !(state & JP_REC_UNSURE) ||
            !(state & JP_REC_OPEN_MASK))
            continue;
        since_ns = &waiting->since_ns[(uint16_t) REC_OP_FACT(op, comm)];
        start_ns = REC_OP_FACT(op, start_ns);
        if (rec_op_is(rec_op_state(op), state) &&
            (*since_ns == 0 || start_ns < *since_ns))
            *since_ns = start_ns;
    }
}

/* Whether a loose operation that nothing was heard of lately is over. Without
 * kernel events its network transfers must tell, or a later launch: one that
 * hangs is as quiet. A later launch does not tell while an earlier operation
 * waits for the network: the program enqueues, and nothing runs. */
static bool is_told(struct jp_rec_op *op, uint64_t state,
                    const struct jp_rec_facts *facts,
                    const struct waiting *waiting)
{
    const struct jp_rec_trust *trust = &rec_comm_at(facts->comm)->trust;
    uint64_t since_ns = waiting->since_ns[facts->comm];

    if (!(state & JP_REC_UNSURE) || rec_op_time(op, JP_REC_PROXY_LAST) > 0)
        return true;
    return (since_ns == 0 || facts->start_ns < since_ns) &&
           atomic_load_explicit(&trust->launch_ns, memory_order_relaxed) >
               rec_op_time(op, JP_REC_ENQUEUE_STOP);
}

/* Whether the end finds it waiting: not over, or silent for long and nothing
 * tells that it was. A program that gives up a hang comes here, too. */
static bool is_waiting(struct jp_rec_op *op, uint64_t state,
                       const struct jp_rec_facts *facts,
                       const struct waiting *waiting, uint64_t now)
{
    return !may_be_over(op, state) ||
           (!is_told(op, state, facts, waiting) &&
            (int64_t) (now - rec_op_time(op, JP_REC_LAST)) > SILENT_NS);
}

/* Ends it if it is the communicator's, though NCCL's other threads may bring
 * events of it meanwhile. */
static void end_now(struct jp_rec_op *op, const struct jp_rec_comm *comm,
                    const struct waiting *waiting, uint64_t now)
{
    uint64_t state = rec_op_state(op);
    uint64_t generation = state;
    struct jp_rec_facts facts;

    for (; rec_op_is(state, generation); state = rec_op_state(op)) {
        rec_op_facts(op, &facts);
        if (comm && facts.comm != rec_comm_place(comm))
            return;
        if (cut_short(op, state,
                      is_waiting(op, state, &facts, waiting, now)
                          ? JP_REC_CUT_SHORT
                          : 0))
            return;
    }
}

void rec_finish_all(struct jp_rec_comm *comm)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    struct waiting waiting;
    uint32_t i;

    find_waiting(&waiting);
    for (i = 0; i < n; i++)
        end_now(&jp_rec_ops[i], comm, &waiting, now);
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
    if (record->stopped > 0 && !(record->facts.flags & JP_REC_UNTIMED))
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

static void end_if_quiet(struct jp_rec_op *op, const struct waiting *waiting,
                         uint64_t now)
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
        if (quiet > QUIET_NS && may_be_over(op, state) &&
            is_told(op, state, &facts, waiting))
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
    struct waiting waiting;
    uint32_t i;

    if (atomic_load(&n_loose) == 0 && now - last_sweep_ns < SWEEP_NS)
        return;
    last_sweep_ns = now;
    find_waiting(&waiting);
    for (i = 0; i < n; i++)
        end_if_quiet(&jp_rec_ops[i], &waiting, now);
}

bool rec_finish_look(uint32_t index, struct jp_rec_record *record)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t state = rec_op_state(op);

    if (!(state & JP_REC_LIVE))
        return false;
    copy(op, record);
    if (is_unsure(state))
        record->facts.flags |= JP_REC_UNTIMED;
    return rec_op_is(rec_op_state(op), state);
}
