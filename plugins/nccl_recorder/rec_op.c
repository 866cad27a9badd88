/* rec_op.c - operations in flight: how one begins, ends, and becomes a record
 * on its way to the writer. */
#include "plugins/nccl_recorder/rec_op.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"

/* --- the table of operations --------------------------------------------- */

_Static_assert(sizeof(struct jp_rec_facts) % 8 == 0, "facts are whole words");
_Static_assert(JP_NCCL_MAX_CHANNELS <= 64, "a channel has 6 bits");

struct jp_rec_op *jp_rec_ops;
struct jp_rec_pool jp_rec_op_pool;
uint64_t jp_rec_handle_salt;

static atomic_int n_loose; /* live operations whose last event is unknown */

/* Any number that another process will hardly have. */
static uint32_t make_salt(void)
{
    const long no_block = 1; /* GRND_NONBLOCK */
    uint32_t salt = 0;

    if (syscall(SYS_getrandom, &salt, sizeof(salt), no_block) !=
        (long) sizeof(salt))
        salt = (uint32_t) rec_clock_ns() * 2654435761u;
    return salt;
}

static size_t table_bytes(uint32_t n)
{
    return n * sizeof(struct jp_rec_op) + rec_pool_bytes(n);
}

static void table_init(void *memory, uint32_t n, unsigned epoch)
{
    struct jp_rec_op *ops = memory;
    uint32_t i;

    if (n > 1u << JP_REC_INDEX_BITS)
        n = 1u << JP_REC_INDEX_BITS;
    rec_pool_init(&jp_rec_op_pool, n, JP_REC_CHAIN, ops + n);
    for (i = 0; epoch > 0 && i < n; i++)
        atomic_init(&ops[i].state, (uint64_t) epoch << 56);
    jp_rec_handle_salt = (uint64_t) make_salt() << JP_REC_GENERATION_SHIFT;
    jp_rec_ops = ops;
}

void *rec_op_begin(uint32_t index, const struct jp_rec_facts *facts,
                   uint64_t state)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t generation = rec_op_state(op) >> JP_REC_GENERATION_SHIFT;
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    if (state & JP_REC_LOOSE)
        atomic_fetch_add(&n_loose, 1);
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

static void get_facts(const struct jp_rec_op *op, struct jp_rec_facts *facts)
{
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    for (i = 0; i < JP_REC_FACT_WORDS; i++)
        words[i] = atomic_load_explicit(&op->facts[i], memory_order_acquire);
    memcpy(facts, words, sizeof(words));
}

static void retire(struct jp_rec_op *op)
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

/* --- finished records, in chunks of each thread --------------------------- */

/* Kept free for the rounding of pieces; records of a chunk. */
enum { SPARE_BYTES = 1024, CHUNK_RECORDS = 32 };

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

static size_t done_bytes(uint32_t n, bool net)
{
    uint32_t n_chunks = n / CHUNK_RECORDS + 1;

    return n_chunks * chunk_bytes(bytes_of(net)) + rec_pool_bytes(n_chunks);
}

static void done_init(void *memory, uint32_t n, bool net)
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

/* What ended before says how far a communicator's kernels came. */
static void reach(const struct jp_rec_facts *facts)
{
    struct jp_rec_comm *comm = rec_comm_at(facts->comm);

    if (facts->start_ns > comm->reached_ns)
        comm->reached_ns = facts->start_ns;
}

static void note_reached(const struct jp_rec_record *record)
{
    if (record->stopped > 0 && !(record->facts.flags & JP_REC_UNTIMED))
        reach(&record->facts);
}

/* Reads what is new in a chunk. */
static void read_chunk(struct chunk *chunk,
                       void (*take)(const struct jp_rec_record *record))
{
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_acquire);

    for (; chunk->read < n; chunk->read++) {
        const struct jp_rec_record *record =
            (const struct jp_rec_record *) (chunk->records +
                                            chunk->read * record_bytes);

        note_reached(record);
        take(record);
    }
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

void rec_op_drain(void (*take)(const struct jp_rec_record *record))
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

void rec_op_doubt(struct jp_rec_op *op, uint64_t generation)
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
        atomic_fetch_add(&n_loose, 1);
}

static void count_lost(const struct jp_rec_facts *facts)
{
    struct jp_rec_comm *comm = rec_comm_at(facts->comm);

    atomic_fetch_add_explicit(&comm->counts[facts->kind][facts->func].lost, 1,
                              memory_order_relaxed);
}

static void copy(struct jp_rec_op *op, struct jp_rec_record *record)
{
    int i;

    get_facts(op, &record->facts);
    for (i = 0; i < JP_REC_N_TIMES; i++)
        record->times[i] = rec_op_time(op, (enum jp_rec_time) i);
    record->started = atomic_load_explicit(&op->started, memory_order_acquire);
    record->stopped = atomic_load_explicit(&op->stopped, memory_order_acquire);
    record->refused = atomic_load_explicit(&op->refused, memory_order_acquire);
    for (i = 0; has_net && i < JP_REC_N_NET; i++)
        record->net[i] =
            atomic_load_explicit(&op->net[i], memory_order_acquire);
}

/* True where no event shows its end. An open proxy shows: not yet. */
static bool is_unsure(uint64_t state)
{
    return (state & JP_REC_UNSURE) && !(state & JP_REC_OPEN_MASK);
}

struct jp_rec_bell jp_rec_bell;

/* Much is waiting: the writer writes soon. Never waits; a system call at most,
 * and only if the thread sleeps. */
static void nudge(void)
{
    if (!atomic_load_explicit(&jp_rec_bell.sleeping, memory_order_relaxed) ||
        !atomic_exchange(&jp_rec_bell.sleeping, false))
        return;
    atomic_fetch_add(&jp_rec_bell.rung, 1);
    syscall(SYS_futex, &jp_rec_bell.rung, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL,
            NULL, 0);
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
            nudge();
    } else {
        get_facts(op, &facts);
        count_lost(&facts);
    }
    retire(op);
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

void rec_op_settle(struct jp_rec_op *op, uint64_t generation, uint64_t one,
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
        get_facts(op, &facts);
        if (comm && facts.comm != rec_comm_place(comm))
            return;
        if (cut_short(op, state,
                      is_waiting(op, state, &facts, waiting, now)
                          ? JP_REC_CUT_SHORT
                          : 0))
            return;
    }
}

void rec_op_end_all(struct jp_rec_comm *comm)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    struct waiting waiting;
    uint32_t i;

    find_waiting(&waiting);
    for (i = 0; i < n; i++)
        end_now(&jp_rec_ops[i], comm, &waiting, now);
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
    get_facts(op, &facts);
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

void rec_op_end_quiet(void)
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

bool rec_op_look(uint32_t index, struct jp_rec_record *record)
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

/* --- memory ----------------------------------------------------------------
 */

void rec_op_init(char *memory, size_t bytes, bool net, unsigned epoch)
{
    size_t rest = bytes - SPARE_BYTES;
    uint32_t n_ops = (uint32_t) (rest / 4 * 3 / table_bytes(1));
    uint32_t n_records =
        (uint32_t) (rest / 4 / (done_bytes(32768, net) / 32768 + 1)) - 32;

    done_init(memory, n_records, net);
    memory += (done_bytes(n_records, net) + 63) & ~(size_t) 63;
    table_init(memory, n_ops, epoch);
}

void rec_op_forget(void)
{
    jp_rec_ops = NULL;
}
