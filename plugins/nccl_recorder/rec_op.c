/* rec_op.c - operations in flight: how one begins, ends, and becomes a record
 * on its way to the writer.
 *
 * rec_op_begin() fills a free place of the table. rec_op_settle() counts its
 * events off, and finish() turns it into a record when none is left. For
 * operations without a recognisable last event the writer calls
 * rec_op_end_quiet() each time it writes; rec_op_end_all() ends what is pending
 * at finalize and at exit. rec_op_drain() hands the records to the writer.
 */
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

enum { LINE_BYTES = 64 }; /* of a cache line */

/* --- the table of operations --------------------------------------------- */

_Static_assert(sizeof(struct jp_rec_facts) % 8 == 0, "facts are whole words");
_Static_assert(JP_NCCL_MAX_CHANNELS <= 64, "a channel has 6 bits");

struct jp_rec_op *jp_rec_ops;
struct jp_rec_pool jp_rec_op_pool;
uint64_t jp_rec_handle_salt;

static bool has_net;  /* operations and records hold network waits */
static bool has_more; /* ... and what v7 adds */

/* Of threads without an entry; see count_loose(). */
static _Atomic int64_t n_loose;

/* Returns a number that another process is unlikely to have. Falls back to the
 * clock, as the system call may be filtered. */
uint32_t rec_op_salt(void)
{
    const long no_block = 1; /* GRND_NONBLOCK */
    uint32_t salt = 0;

    if (syscall(SYS_getrandom, &salt, sizeof(salt), no_block) !=
        (long) sizeof(salt))
        salt = (uint32_t) rec_clock_ns() * 2654435761u;
    return salt;
}

/* Returns the bytes of a table of n operations with the links of its pool. */
static size_t table_bytes(uint32_t n)
{
    return n * sizeof(struct jp_rec_op) + rec_pool_bytes(n);
}

/* Takes zeroed memory into use for n operations. */
static void table_init(void *memory, uint32_t n, unsigned epoch)
{
    struct jp_rec_op *ops = memory;
    uint32_t i;

    if (n > 1u << JP_REC_INDEX_BITS)
        n = 1u << JP_REC_INDEX_BITS;
    rec_pool_init(&jp_rec_op_pool, n, JP_REC_CHAIN, ops + n);
    for (i = 0; epoch > 0 && i < n; i++)
        atomic_init(&ops[i].state, (uint64_t) epoch << 56);
    jp_rec_handle_salt = (uint64_t) rec_op_salt() << JP_REC_GENERATION_SHIFT;
    atomic_store(&n_loose, 0); /* after a fork: those of the parent */
    jp_rec_ops = ops;
}

/* Counts a live operation whose last event cannot be recognised, without a lock
 * prefix: one begins with each call where kernel events are not used. */
static void count_loose(struct jp_rec_thread *thread, int64_t n)
{
    if (thread)
        atomic_store_explicit(
            &thread->loose,
            n + atomic_load_explicit(&thread->loose, memory_order_relaxed),
            memory_order_release);
    else
        atomic_fetch_add(&n_loose, n);
}

/* Returns whether there are such operations. One that begins or ends meanwhile
 * may be missed: the writer looks again soon. */
static bool has_loose(void)
{
    const struct jp_rec_thread *threads = rec_thread_table();
    int64_t n = atomic_load(&n_loose);

    for (int i = 0; threads && i < JP_REC_MAX_THREADS; i++)
        n += atomic_load_explicit(&threads[i].loose, memory_order_acquire);
    return n != 0;
}

/* Fetches the place of the thread's next operation, of which another thread has
 * the memory in its cache. Without it the next call waits for that memory, and
 * NCCL's own next atomic addition does so once more. Always inlined: gcc takes
 * a function that does nothing else for one without effect, and drops it. */
__attribute__((always_inline)) static inline void
fetch_next(const struct jp_rec_thread *thread)
{
    const char *next;

    if (thread->ops.first == JP_REC_NONE)
        return;
    next = (const char *) &jp_rec_ops[thread->ops.first];
    for (size_t at = 0; at < offsetof(struct jp_rec_op, more); at += LINE_BYTES)
        __builtin_prefetch(next + at, 1);
}

void *rec_op_begin(struct jp_rec_thread *thread, uint32_t index,
                   const struct jp_rec_facts *facts, uint64_t state,
                   uint64_t tag)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t generation = rec_op_state(op) >> JP_REC_GENERATION_SHIFT;
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    if (state & JP_REC_LOOSE)
        count_loose(thread, 1);
    memcpy(words, facts, sizeof(words));
    /* release: a snapshot that sees a new word sees the new generation too */
    for (i = 0; i < JP_REC_FACT_WORDS; i++)
        atomic_store_explicit(&op->facts[i], words[i], memory_order_release);
    for (i = 0; i < JP_REC_N_TIMES; i++)
        rec_op_set_time(op, (enum jp_rec_time) i, 0);
    for (i = 0; has_more && i < JP_REC_N_MORE; i++)
        atomic_store_explicit(&op->more[i], i == JP_REC_TAG ? tag : 0,
                              memory_order_release);
    for (i = 0; has_net && i < JP_REC_N_NET; i++)
        atomic_store_explicit(&op->net[i], 0, memory_order_release);
    atomic_store_explicit(&op->started, 0, memory_order_release);
    atomic_store_explicit(&op->stopped, 0, memory_order_release);
    atomic_store_explicit(&op->refused, 0, memory_order_release);
    atomic_store_explicit(&op->late, 0, memory_order_release);
    atomic_store_explicit(
        &op->state, generation << JP_REC_GENERATION_SHIFT | JP_REC_LIVE | state,
        memory_order_release);
    fetch_next(thread);
    return (void *) (uintptr_t) (((uint64_t) JP_REC_OP |
                                  (uint64_t) index << JP_REC_INDEX_SHIFT |
                                  generation << JP_REC_GENERATION_SHIFT) ^
                                 jp_rec_handle_salt);
}

/* The copy may mix two operations if the place is used anew meanwhile; callers
 * check the generation afterwards where it matters. */
static void get_facts(const struct jp_rec_op *op, struct jp_rec_facts *facts)
{
    uint64_t words[JP_REC_FACT_WORDS];
    int i;

    for (i = 0; i < JP_REC_FACT_WORDS; i++)
        words[i] = atomic_load_explicit(&op->facts[i], memory_order_acquire);
    memcpy(facts, words, sizeof(words));
}

/* Frees a place that its owner has taken from live to over: with the next
 * generation no handle matches. */
static void retire(struct jp_rec_op *op)
{
    uint64_t state = rec_op_state(op);
    uint64_t generation = state >> JP_REC_GENERATION_SHIFT;
    /* a channel's stop clears its entry, so only operations that ended early or
     * lost their kernel events leave any */
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

/* SPARE_BYTES is kept free for the rounding of pieces. */
enum { SPARE_BYTES = 1024, CHUNK_RECORDS = 32 };

/* Records of one thread, in the order of their end. */
struct chunk {
    _Atomic uint32_t n;     /* finished records */
    uint32_t read;          /* of those, how many the writer has taken */
    _Atomic uint32_t below; /* the chunk below it in the stack, index + 1 */
    uint32_t unused;
    char records[];
};

static struct jp_rec_pool pool; /* of chunks */
static char *chunks;
static size_t record_bytes;     /* of one record, shorter without waits */
static _Atomic uint32_t full;   /* top of the stack of full chunks, index + 1 */
static _Atomic uint32_t n_full; /* roughly how many it holds */

static size_t bytes_of(bool net)
{
    return net        ? sizeof(struct jp_rec_record)
           : has_more ? offsetof(struct jp_rec_record, net)
                      : offsetof(struct jp_rec_record, more);
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

/* Returns room for a record, which done_publish() hands over once it is filled.
 * Takes a new chunk when the thread has none; NULL if no chunk is free. */
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

/* Hands the last record of the thread over. Returns true when the writer should
 * not wait for its timer: more than a quarter of the chunks are full. */
static bool done_publish(struct jp_rec_thread *thread)
{
    uint32_t index = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
    struct chunk *chunk = chunk_at(index);
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_relaxed) + 1;
    uint32_t top;

    atomic_store_explicit(&chunk->n, n, memory_order_release);
    if (n < CHUNK_RECORDS)
        return false;
    /* the thread gives the chunk up before the writer can see it in the stack,
     * or the writer would read it twice */
    atomic_store_explicit(&thread->chunk, JP_REC_NONE, memory_order_release);
    top = atomic_load_explicit(&full, memory_order_relaxed);
    do {
        atomic_store_explicit(&chunk->below, top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &full, &top, index + 1, memory_order_release, memory_order_relaxed));
    return atomic_fetch_add_explicit(&n_full, 1, memory_order_relaxed) >
           pool.n / 4;
}

/* Notes how far the kernels of a communicator have come, if kernel events
 * showed the operation's end: all that were enqueued before its start are
 * over. */
static void note_reached(const struct jp_rec_record *record)
{
    uint64_t *reached_ns = &rec_comm_at(record->facts.comm)
                                ->reached_ns[rec_op_link(record->facts.func)];

    if (record->stopped > 0 && !(record->facts.flags & JP_REC_UNTIMED) &&
        record->facts.start_ns > *reached_ns)
        *reached_ns = record->facts.start_ns;
}

/* Hands the new records of a chunk to the writer. */
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

/* Takes the whole stack and reverses it, so that the oldest chunk comes first.
 * Returns its index + 1, or 0. */
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

/* Takes the records of all full chunks and gives the chunks back. */
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
    /* full chunks first, so that a thread's records stay in order */
    drain_full(take);
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        uint32_t index =
            atomic_load_explicit(&threads[i].chunk, memory_order_acquire);

        if (index != JP_REC_NONE)
            read_chunk(chunk_at(index), take);
    }
}

/* --- how an operation ends and becomes a record -------------------------- */

/* A loose operation that has been quiet for this long is over: the channels or
 * proxies of one operation start within microseconds of each other. */
#define QUIET_NS 50000000LL
/* An operation without any sign of its end counts as waiting after this time,
 * as far as finalize can see. */
#define SILENT_NS 1000000000LL

/* An operation that later ones have overtaken gets no more events after this
 * time. The longer time is for one with an open proxy, which may still be at
 * work, for one in a graph, whose nodes the driver orders, and for one that
 * only operations of the other connection have overtaken (enum jp_rec_link): a
 * progress thread that lags reports the two far apart. */
#define OVERTAKEN_NS 500000000LL
#define OVERTAKEN_LONG_NS 10000000000LL
/* how often the writer looks for overtaken ones */
#define SWEEP_NS 200000000ULL

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
        count_loose(rec_thread_get(), 1);
}

void rec_op_doubt_waiting(void)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;

    for (uint32_t i = 0; i < n; i++) {
        struct jp_rec_op *op = &jp_rec_ops[i];
        uint64_t state = rec_op_state(op);

        if ((state & JP_REC_LIVE) && (state & JP_REC_LEFT_MASK) &&
            atomic_load_explicit(&op->started, memory_order_acquire) == 0)
            rec_op_doubt(op, state);
    }
}

/* Counts an operation as lost: it has no thread entry or no free chunk. */
static void count_lost(const struct jp_rec_facts *facts)
{
    struct jp_rec_comm *comm = rec_comm_at(facts->comm);

    atomic_fetch_add_explicit(&comm->counts[facts->kind][facts->func].lost, 1,
                              memory_order_relaxed);
}

/* Copies the operation as it is now. */
static void copy_operation(struct jp_rec_op *op, struct jp_rec_record *record)
{
    int i;

    get_facts(op, &record->facts);
    for (i = 0; i < JP_REC_N_TIMES; i++)
        record->times[i] = rec_op_time(op, (enum jp_rec_time) i);
    record->started = atomic_load_explicit(&op->started, memory_order_acquire);
    record->stopped = atomic_load_explicit(&op->stopped, memory_order_acquire);
    record->refused = atomic_load_explicit(&op->refused, memory_order_acquire);
    record->late = atomic_load_explicit(&op->late, memory_order_acquire);
    for (i = 0; has_more && i < JP_REC_N_MORE; i++)
        record->more[i] =
            atomic_load_explicit(&op->more[i], memory_order_acquire);
    for (i = 0; has_net && i < JP_REC_N_NET; i++)
        record->net[i] =
            atomic_load_explicit(&op->net[i], memory_order_acquire);
}

/* Returns true where no event shows the end of the operation. An open proxy
 * shows that it has not ended yet. */
static bool is_unsure(uint64_t state)
{
    return (state & JP_REC_UNSURE) && !(state & JP_REC_OPEN_MASK);
}

struct jp_rec_bell jp_rec_bell;

/* Wakes the writer because much is waiting. Never waits; makes a system call
 * only if the writer sleeps. The relaxed load keeps the common case cheap; a
 * wake-up that it misses costs at most the writer's period. */
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
 * for the writer, and frees its place. */
static void finish(struct jp_rec_op *op, uint64_t state)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_record *record = thread ? done_room(thread) : NULL;
    uint32_t index = (uint32_t) (op - jp_rec_ops);
    struct jp_rec_facts facts;

    if (state & JP_REC_LOOSE)
        count_loose(thread, -1);
    if (record) {
        copy_operation(op, record);
        if (state & JP_REC_CUT_SHORT)
            record->facts.flags |= JP_REC_INCOMPLETE;
        if (state & JP_REC_OVERTAKEN)
            record->facts.flags |= JP_REC_OVER;
        if (is_unsure(state))
            record->facts.flags |= JP_REC_UNTIMED;
        if (done_publish(thread))
            nudge();
    } else { /* no entry for the thread, or no chunk */
        get_facts(op, &facts);
        count_lost(&facts);
    }
    /* retire it before another operation can get the place */
    retire(op);
    if (thread) {
        rec_purse_give(&thread->ops, &jp_rec_op_pool, index);
    } else {
        jp_rec_op_pool.next[index] = JP_REC_NONE;
        rec_pool_give(&jp_rec_op_pool, index);
    }
}

/* Returns whether nothing is left to wait for. */
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

/* Takes an operation from live to over although events are missing. Returns
 * false when its state has changed meanwhile. */
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

/* Returns whether a loose operation may be over: enqueued, nothing open, and at
 * least one channel seen where kernel events are used. */
static bool may_be_over(struct jp_rec_op *op, uint64_t state)
{
    const uint64_t want = JP_REC_LIVE | JP_REC_LOOSE | JP_REC_ENQUEUED;

    return (state & (want | JP_REC_OPEN_MASK)) == want &&
           ((state & JP_REC_UNSURE) || atomic_load(&op->stopped) > 0);
}

/* What the live operations of each communicator show: the earliest start of an
 * unsure operation that waits for the network; 0: none does. Of the program's
 * threads, whose stacks may be small, any may have one of these. */
struct waiting {
    uint64_t since_ns[JP_REC_MAX_COMMS];
};

/* The latest start of an operation of which a channel has stopped; 0: of none.
 * It is found anew each time and not kept: a later channel may show that the
 * stamps are those of an earlier operation. */
struct reached {
    uint64_t ns[JP_REC_MAX_COMMS][JP_REC_N_LINKS];
};

/* Whether a live operation shows how far the communicator is. While events
 * still come, the next one may make it unsure. */
static bool shows_reached(struct jp_rec_op *op, uint64_t state, uint64_t now)
{
    return !(state & (JP_REC_UNSURE | JP_REC_LOOSE)) &&
           atomic_load(&op->stopped) > 0 &&
           (int64_t) (now - rec_op_time(op, JP_REC_LAST)) > OVERTAKEN_NS;
}

/* One pass over the table. reached: NULL: not needed. The state is read again
 * after the facts: the place may have got another operation, or the operation
 * has become unsure. */
static void find_waiting(struct waiting *waiting, struct reached *reached,
                         uint64_t now)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint32_t i;

    memset(waiting, 0, sizeof(*waiting));
    if (reached)
        memset(reached, 0, sizeof(*reached));
    for (i = 0; i < n; i++) {
        struct jp_rec_op *op = &jp_rec_ops[i];
        uint64_t state = rec_op_state(op), again;
        bool waits = (state & JP_REC_UNSURE) && (state & JP_REC_OPEN_MASK);
        uint64_t *since_ns, *reached_ns, start_ns;
        enum jp_rec_link link;
        uint16_t comm;

        if (!(state & JP_REC_LIVE) ||
            !(waits || (reached && shows_reached(op, state, now))))
            continue;
        comm = (uint16_t) REC_OP_FACT(op, comm);
        start_ns = REC_OP_FACT(op, start_ns);
        link = rec_op_link((uint8_t) REC_OP_FACT(op, func));
        again = rec_op_state(op);
        if (!rec_op_is(again, state))
            continue;
        if (waits) {
            since_ns = &waiting->since_ns[comm];
            if (*since_ns == 0 || start_ns < *since_ns)
                *since_ns = start_ns;
        } else if (!(again & JP_REC_UNSURE)) {
            reached_ns = &reached->ns[comm][link];
            if (start_ns > *reached_ns)
                *reached_ns = start_ns;
        }
    }
}

/* Returns whether a loose operation without recent events is over. Without
 * kernel events its network transfers or a later launch must show that, because
 * an operation that hangs is as quiet. A later launch shows nothing while an
 * earlier operation waits for the network: the program enqueues, but nothing
 * runs. */
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

/* Returns whether the operation still waits when its communicator or the
 * process ends: not over, or silent for long without a sign of its end. That is
 * how a program that gives up a hang gets here. */
static bool is_waiting(struct jp_rec_op *op, uint64_t state,
                       const struct jp_rec_facts *facts,
                       const struct waiting *waiting, uint64_t now)
{
    return !may_be_over(op, state) ||
           (!is_told(op, state, facts, waiting) &&
            (int64_t) (now - rec_op_time(op, JP_REC_LAST)) > SILENT_NS);
}

/* How an operation ends that has not had its last event. It is unknown whether
 * it ended
 * - if NCCL has reported no kernel of the communicator at all. Its progress
 *   thread may have been busy for seconds with the connections for that, and a
 *   kernel that hangs has begun, which NCCL would have reported;
 * - where the program leaves main() without ncclCommDestroy() (all): then NCCL
 *   does not report what it has not reported yet. An operation without a recent
 *   event is pending. */
static uint64_t how_it_ends(struct jp_rec_op *op, uint64_t state,
                            const struct jp_rec_facts *facts, bool all,
                            const struct waiting *waiting, uint64_t now)
{
    const struct jp_rec_trust *trust = &rec_comm_at(facts->comm)->trust;
    bool recent = (int64_t) (now - rec_op_time(op, JP_REC_LAST)) < SILENT_NS;

    if (!is_waiting(op, state, facts, waiting, now))
        return 0;
    if ((state & JP_REC_ENQUEUED) && !(state & JP_REC_OPEN_MASK) &&
        ((all && recent) ||
         (!(state & JP_REC_UNSURE) &&
          !atomic_load_explicit(&trust->has_events, memory_order_relaxed))))
        return JP_REC_UNSURE;
    return JP_REC_CUT_SHORT;
}

/* Ends an operation of the communicator (NULL: of any). NCCL's other threads
 * may bring events meanwhile, so the state is read until it could be changed.
 */
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
                      how_it_ends(op, state, &facts, !comm, waiting, now)))
            return;
    }
}

void rec_op_end_all(struct jp_rec_comm *comm)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    struct waiting waiting;
    uint32_t i;

    find_waiting(&waiting, NULL, now);
    for (i = 0; i < n; i++)
        end_now(&jp_rec_ops[i], comm, &waiting, now);
}

/* Returns whether kernels that were launched later, and are watched over that
 * connection, are over. Operations of one launch start before the first of them
 * is enqueued, so they show nothing about each other. */
static bool is_overtaken(struct jp_rec_op *op, uint64_t state,
                         const struct jp_rec_facts *facts,
                         const struct reached *reached, enum jp_rec_link link)
{
    uint64_t enqueued_ns = rec_op_time(op, JP_REC_ENQUEUE_STOP);

    return (state & JP_REC_ENQUEUED) &&
           (enqueued_ns < rec_comm_at(facts->comm)->reached_ns[link] ||
            enqueued_ns < reached->ns[facts->comm][link]);
}

/* Ends an operation that is over without a last event. */
static void end_if_quiet(struct jp_rec_op *op, const struct waiting *waiting,
                         const struct reached *reached, uint64_t now)
{
    uint64_t state = rec_op_state(op);
    struct jp_rec_facts facts;
    enum jp_rec_link link;
    int64_t quiet;
    bool slow;

    if (!(state & JP_REC_LIVE))
        return;
    get_facts(op, &facts);
    /* signed: an event may have come since `now` was read */
    quiet = (int64_t) (now - rec_op_time(op, JP_REC_LAST));
    if (state & JP_REC_LOOSE) {
        if (quiet > QUIET_NS && may_be_over(op, state) &&
            is_told(op, state, &facts, waiting))
            cut_short(op, state, 0);
        return;
    }
    link = rec_op_link(facts.func);
    slow = (state & JP_REC_OPEN_MASK) || (facts.flags & JP_REC_GRAPH) ||
           !is_overtaken(op, state, &facts, reached, link);
    if (quiet > (slow ? OVERTAKEN_LONG_NS : OVERTAKEN_NS) &&
        (is_overtaken(op, state, &facts, reached, JP_REC_LINK_SEND) ||
         is_overtaken(op, state, &facts, reached, JP_REC_LINK_RECV)))
        cut_short(op, state, JP_REC_CUT_SHORT | JP_REC_OVERTAKEN);
}

void rec_op_end_quiet(void)
{
    static uint64_t last_sweep_ns;
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    uint64_t now = rec_clock_ns();
    static struct waiting waiting;
    static struct reached reached;
    uint32_t i;

    /* loose operations are looked at each time, overtaken ones less often */
    if (!has_loose() && now - last_sweep_ns < SWEEP_NS)
        return;
    last_sweep_ns = now;
    find_waiting(&waiting, &reached, now);
    for (i = 0; i < n; i++)
        end_if_quiet(&jp_rec_ops[i], &waiting, &reached, now);
}

bool rec_op_look(uint32_t index, struct jp_rec_record *record)
{
    struct jp_rec_op *op = &jp_rec_ops[index];
    uint64_t state = rec_op_state(op);

    if (!(state & JP_REC_LIVE))
        return false;
    copy_operation(op, record);
    if (is_unsure(state))
        record->facts.flags |= JP_REC_UNTIMED;
    return rec_op_is(rec_op_state(op), state);
}

/* --- memory --------------------------------------------------------------- */

void rec_op_init(char *memory, size_t bytes, bool net, bool more,
                 unsigned epoch)
{
    uint32_t n_ops, n_records;
    size_t rest;

    if (!memory) {
        jp_rec_ops = NULL;
        return;
    }
    has_more = more;
    /* A record's bytes, with its share of chunk and pool, are an average over
     * many records, so that rounding costs little. */
    rest = bytes - SPARE_BYTES;
    n_ops = (uint32_t) (rest / 4 * 3 / table_bytes(1));
    n_records = (uint32_t) (rest / 4 / (done_bytes(32768, net) / 32768 + 1)) -
                32;
    done_init(memory, n_records, net);
    memory += (done_bytes(n_records, net) + 63) & ~(size_t) 63;
    table_init(memory, n_ops, epoch);
}
