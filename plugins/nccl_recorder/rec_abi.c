/* rec_abi.c - what NCCL calls: its seven profiler interfaces, made from two
 * templates, and the recorder's life, from the first communicator to a fork or
 * the end of the process.
 *
 * Read the comment on the meaning of events first, then rec_core_op(), which
 * begins an operation, and stop_event(), which counts its parts off.
 * begin_comm() and end_comm() are init and finalize of a communicator.
 * rec_abi_old.h and rec_abi_new.h translate each interface into calls of these
 * functions.
 *
 * Nothing exists before the first communicator. A forked child uses nothing of
 * its parent and starts anew with its own first communicator. The library stays
 * mapped when NCCL unloads it (linked with -z nodelete), so the writer thread
 * never loses its code.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/nccl_profiler.h"
#include "plugins/nccl_recorder/rec_chain.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/nccl_recorder/rec_v1_names.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* What NCCL's events mean: the common core of all seven interfaces.
 *
 * The adapters at the end of this file translate; all decisions are made here.
 * No event returns an error to NCCL, waits or allocates. An event reads the
 * clock at most once, except for the few that are timed (rec_comm.h); of an
 * operation's channels only the first start, the first stop and the last stop
 * read it. What cannot be recorded is counted as lost.
 *
 * When is an operation done? Its own stopEvent means "enqueued" only.
 *  - With kernel events NCCL announces the number of channels. The operation is
 *    done when it is enqueued and that many channels have stopped, and its
 *    proxies as well if network waits were requested. CollNet announces none
 *    (0). Such an operation is "loose": it is done when at least one channel
 *    has stopped and nothing has happened for 50 ms. A pause alone proves
 *    nothing, as a kernel may start long after it was enqueued.
 *  - Without kernel events, or where they are not trusted (rec_comm.h), the
 *    operation is loose and "unsure". It is done when it is enqueued and, 50 ms
 *    ago, its last proxy ended or its communicator had a later launch. A later
 *    launch does not count while an earlier operation has an open proxy. The
 *    last operation of a communicator without network transfers stays in
 *    flight.
 *  - Copy engine collectives (v6) are done when they are enqueued: their
 *    events carry no time of the copies. The same holds for a Send or Recv to
 *    oneself, of which NCCL announces channels and reports none (enqueue.cc:
 *    selfSend).
 *  - For other operations NCCL sometimes reports fewer channels than announced
 *    (nccl#2056, #2221). Kernels of a communicator run one after the other. So
 *    an operation without events for half a second is over once a channel of a
 *    later operation has stopped; it is recorded as incomplete.
 *  - At finalize of the communicator, and at the end of the process, all
 *    pending operations are recorded: as incomplete, unless they are loose and
 *    may be over. An unsure one without a sign of its end may be over if it had
 *    an event in the last second.
 * Each operation is recorded exactly once; later events are ignored. After
 * finalize, and when the process ends, the communicator takes no operation.
 *
 * Calls whose operation NCCL does not report (docs/dev/recorder-format.md,
 * "What NCCL does not tell") are counted: CollApi events, less those that a
 * Coll or CeColl event names as its parent. P2pApi events are not counted, nor
 * are calls that are captured in a graph: their operations come with each
 * replay.
 *
 * Execution time: the longest channel by the GPU's clock. Without kernel events
 * it is the time from being enqueued until the last child stopped, or 0 (not
 * known) if no child ever reported.
 */

/* An operation as the interface describes it; texts may be NULL. */
struct jp_rec_start {
    enum jpr_op_kind kind;
    uint64_t seq; /* NCCL's number; unused for p2p, which number() counts */
    const char *func;
    const char *datatype;
    const char *algo;
    const char *proto;
    uint64_t count;
    int root;
    int peer;
    int n_channels; /* kernel channels that NCCL announces; 0: unknown */
    bool silent;    /* no channel will report: a message to oneself */
    bool self_copy; /* a message to oneself that the host does not count */
    bool symmetric; /* by a symmetric kernel (v7) */
    uint64_t tag;   /* of the program (v7); 0: none */
    void *api;      /* handle of the API event; NULL: none */
};

/* The program's call (v5, v6). Its handle holds all of this, so that no memory
 * is needed for it. */
struct jp_rec_call {
    const char *func;
    const char *datatype;
    uint64_t count;
    int root;
    bool graph_captured;
    bool is_p2p;
};

/* --- what NCCL's events mean --------------------------------------------- */

/* First bits of the parts of an API event's handle: kind 3 bits, function 5,
 * datatype 6, graph 1, count 49. */
enum { API_FUNC = 3, API_DATATYPE = 8, API_GRAPH = 14, API_COUNT = 15 };

static atomic_int our_pid; /* cached, as getpid() is a system call */

/* ---------------------------------------------------- start of an operation */

/* Copies what the API event says of the operation; any other parent is ignored.
 */
static void fill_api(struct jp_rec_facts *facts, uint64_t api)
{
    if (rec_op_kind(api) != JP_REC_API && rec_op_kind(api) != JP_REC_API_P2P)
        return;
    facts->api_func = (uint8_t) (api >> API_FUNC & 31);
    facts->api_datatype = (uint8_t) (api >> API_DATATYPE & 63);
    facts->api_count = api >> API_COUNT;
    facts->flags |= api >> API_GRAPH & 1 ? JP_REC_GRAPH : 0;
}

/* Returns NCCL's number, or one of the recorder's own for a replay: without
 * kernel events NCCL does not count the replays of a captured collective.
 * Before 2.28 there are no API events, and only a number that comes again shows
 * a replay. */
static uint64_t number_coll(struct jp_rec_comm *comm,
                            const struct jp_rec_start *start,
                            const struct jp_rec_facts *facts)
{
    _Atomic uint64_t *next = &comm->next_seq[facts->func];
    uint64_t expected;
    bool again = start->api
                     ? (facts->flags & JP_REC_GRAPH) && !rec_trust_enabled()
                     : start->seq <
                           atomic_load_explicit(next, memory_order_relaxed);

    if (again)
        return JPR_REPLAY_SEQ +
               atomic_fetch_add_explicit(&comm->replays[facts->func], 1,
                                         memory_order_relaxed);
    expected = atomic_load_explicit(next, memory_order_relaxed);
    if (start->seq > expected)
        rec_pause_gap(start->seq - expected);
    atomic_store_explicit(next, start->seq + 1, memory_order_relaxed);
    return start->seq;
}

static void number(struct jp_rec_facts *facts, struct jp_rec_comm *comm,
                   const struct jp_rec_start *start)
{
    switch (start->kind) {
    case JPR_COLL:
        facts->seq = number_coll(comm, start, facts);
        break;
    case JPR_P2P:
        facts->seq = 1 + atomic_fetch_add_explicit(&comm->p2p_seq, 1,
                                                   memory_order_relaxed);
        break;
    default:
        facts->seq = start->seq;
        break;
    }
}

/* Fills in all facts but the times. The operation of a counted call has come,
 * so the call is not unseen any more. */
static void fill_facts(struct jp_rec_facts *facts, struct jp_rec_thread *thread,
                       struct jp_rec_comm *comm,
                       const struct jp_rec_start *start)
{
    facts->count = start->count;
    facts->root = start->root;
    facts->peer = start->peer;
    facts->comm = (uint16_t) rec_comm_place(comm);
    facts->n_channels = (uint16_t) start->n_channels;
    facts->kind = (uint8_t) start->kind;
    facts->func = (uint8_t) rec_names_func(&thread->funcs, start->func);
    facts->datatype =
        (uint8_t) rec_names_word(&thread->datatypes, start->datatype);
    facts->algo = (uint8_t) rec_names_word(&thread->algos, start->algo);
    facts->proto = (uint8_t) rec_names_word(&thread->protos, start->proto);
    fill_api(facts, (uint64_t) (uintptr_t) start->api);
    facts->flags |= start->symmetric ? JP_REC_SYMMETRIC : 0;
    number(facts, comm, start);
    if (rec_op_kind((uint64_t) (uintptr_t) start->api) == JP_REC_API &&
        !(facts->flags & JP_REC_GRAPH))
        rec_comm_add(comm, thread, &comm->unseen[facts->api_func], UINT64_MAX);
}

/* Counts an operation as lost that the thread table had no room for. Its name
 * is not looked up, so it counts as "other". */
static void count_unseen(struct jp_rec_comm *comm, enum jpr_op_kind kind)
{
    struct jp_rec_count *count = &comm->counts[kind][JP_REC_FUNCS - 1];

    rec_comm_add(comm, NULL, &count->produced, 1);
    atomic_fetch_add(&count->lost, 1);
}

/* Returns the operation's first state: how many channels must stop, or that its
 * end must be guessed (loose). */
static uint64_t first_state(struct jp_rec_thread *thread,
                            struct jp_rec_comm *comm,
                            const struct jp_rec_start *start,
                            const struct jp_rec_facts *facts)
{
    if (start->silent || start->kind == JPR_CE)
        return 0;
    if (!rec_trust_usable(&comm->trust, facts->flags & JP_REC_GRAPH)) {
        rec_comm_add(comm, thread, &comm->trust.n_unsure, 1);
        return JP_REC_LOOSE | JP_REC_UNSURE;
    }
    return ((uint64_t) start->n_channels & JP_REC_LEFT_MASK) |
           (start->n_channels == 0 ? JP_REC_LOOSE : 0);
}

/* An operation begins in a pause. Its call was counted if it was before that.
 */
static void drop_op(struct jp_rec_thread *thread, struct jp_rec_comm *comm,
                    const struct jp_rec_start *start)
{
    uint64_t api = (uint64_t) (uintptr_t) start->api;

    rec_pause_drop(start->kind == JPR_COLL);
    rec_trust_skip(&comm->trust);
    if (rec_op_kind(api) == JP_REC_API && !(api >> API_GRAPH & 1))
        rec_comm_add(comm, thread, &comm->unseen[api >> API_FUNC & 31],
                     UINT64_MAX);
}

/* An operation is being enqueued. Returns its handle for NCCL, or NULL when it
 * is not recorded. */
static void *rec_core_op(struct jp_rec_thread *thread, struct jp_rec_comm *comm,
                         const struct jp_rec_start *start)
{
    struct jp_rec_facts facts = {0};
    struct jp_rec_place place;
    struct jp_rec_count *count;
    uint64_t state;
    uint32_t index;

    if (atomic_load_explicit(&comm->closed, memory_order_relaxed))
        return NULL;
    if (atomic_load_explicit(&rec_paused, memory_order_relaxed)) {
        drop_op(thread, comm, start);
        return NULL;
    }
    if (!thread) {
        count_unseen(comm, start->kind);
        rec_trust_skip(&comm->trust);
        return NULL;
    }
    /* describe and count it; without a place it is lost */
    fill_facts(&facts, thread, comm, start);
    count = &comm->counts[facts.kind][facts.func];
    rec_comm_add(comm, thread, &count->produced, 1);
    index = rec_purse_take(&thread->ops, &jp_rec_op_pool);
    if (index == JP_REC_NONE) {
        atomic_fetch_add_explicit(&count->lost, 1, memory_order_relaxed);
        rec_trust_skip(&comm->trust);
        return NULL;
    }
    /* decide how its end will be found, then take its time and its place among
     * the communicator's launches */
    state = first_state(thread, comm, start, &facts);
    if (start->symmetric)
        rec_trust_ask_phases();
    facts.start_ns = rec_clock_ns();
    rec_trust_op(&comm->trust, facts.start_ns, start->self_copy, &place);
    facts.launch = place.launch;
    facts.number = place.number;
    facts.after_ns = place.after_ns;
    return rec_op_begin(thread, index, &facts, state, start->tag);
}

/* NCCL launches a plan. The handle means nothing, but before 2.28 NCCL reports
 * no operation of a plan without a handle. `comm` may be NULL. */
static void *rec_core_launch(struct jp_rec_thread *thread,
                             struct jp_rec_comm *comm)
{
    if (comm)
        rec_comm_add(comm, thread, &comm->trust.launch, 1);
    return (void *) (uintptr_t) JP_REC_GROUP;
}

/* The program's calls from here on are of one group (v5, v6). NCCL reports a
 * group for each nested one, although all of them are launched together; after
 * a nested one it is open whether the outer group continues, so its number
 * stays. */
static void rec_core_calls(struct jp_rec_thread *thread, int depth)
{
    if (!thread)
        return;
    if (depth <= 2 && thread->group_depth <= 2)
        thread->group++;
    thread->group_depth = depth;
}

/* The program called NCCL. Returns the handle that the operation will name as
 * its parent; NULL without a thread entry. */
static void *rec_core_api(struct jp_rec_thread *thread,
                          struct jp_rec_comm *comm,
                          const struct jp_rec_call *call)
{
    uint64_t bits = call->is_p2p ? JP_REC_API_P2P : JP_REC_API;
    uint64_t count = call->count;
    unsigned func;

    if (!thread)
        return NULL;
    if (count >> (64 - API_COUNT))
        count = 0; /* no real count is so large: unknown */
    func = rec_names_func(&thread->funcs, call->func);
    if (comm)
        rec_trust_call(&comm->trust, thread, call->graph_captured,
                       func == JP_REC_FUNC_BROADCAST ? call->root : -1);
    if (!call->is_p2p && !call->graph_captured && comm &&
        !atomic_load_explicit(&rec_paused, memory_order_relaxed))
        rec_comm_add(comm, thread, &comm->unseen[func], 1);
    bits |= (uint64_t) func << API_FUNC;
    bits |= (uint64_t) rec_names_word(&thread->datatypes, call->datatype)
            << API_DATATYPE;
    bits |= (uint64_t) call->graph_captured << API_GRAPH;
    return (void *) (uintptr_t) (bits | count << API_COUNT);
}

/* ---------------------------------------------------------------- children */

/* Returns the live operation that a child's parent handle names, and its state,
 * or NULL. */
static struct jp_rec_op *find_parent(uint64_t parent, uint64_t *state)
{
    uint64_t generation;
    struct jp_rec_op *op = NULL;

    if (rec_op_kind(parent) == JP_REC_OP)
        op = rec_op_find(parent, &generation);
    if (!op)
        return NULL;
    *state = rec_op_state(op);
    return rec_op_is(*state, generation) ? op : NULL;
}

/* Opens a child (proxy or loose channel), which its stop counts off again.
 * Returns false when the operation is over or has too many open ones. */
static bool open_child(struct jp_rec_op *op, uint64_t state)
{
    uint64_t generation = state;

    do {
        if (!rec_op_is(state, generation))
            return false;
        if ((state & JP_REC_OPEN_MASK) == JP_REC_OPEN_MASK)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &op->state, &state, state + JP_REC_OPEN_ONE, memory_order_acq_rel,
        memory_order_acquire));
    return true;
}

/* Keeps the earliest time; 0 means that there is none yet. */
static void keep_first(struct jp_rec_op *op, enum jp_rec_time which,
                       uint64_t ns)
{
    uint64_t have = rec_op_time(op, which);

    if (have == 0 || ns < have)
        rec_op_set_time(op, which, ns);
}

static void keep_last(struct jp_rec_op *op, enum jp_rec_time which, uint64_t ns)
{
    if (ns > rec_op_time(op, which))
        rec_op_set_time(op, which, ns);
}

/* Adds one without a lock prefix: the children of one operation report from one
 * thread. */
static void count_one(_Atomic uint32_t *counter)
{
    uint32_t n = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, n + 1, memory_order_release);
}

/* Nothing proves yet whose a channel's stamp is. */
static void note_late(struct jp_rec_op *op, unsigned channel)
{
    uint64_t channels = atomic_load_explicit(&op->late, memory_order_relaxed);

    atomic_store_explicit(&op->late, channels | UINT64_C(1) << channel,
                          memory_order_release);
}

static struct jp_rec_trust *trust_of(const struct jp_rec_op *op)
{
    return &rec_comm_at((uint16_t) REC_OP_FACT(op, comm))->trust;
}

/* Where an operation stands, from its facts. */
static struct jp_rec_place place_of(const struct jp_rec_op *op)
{
    return (struct jp_rec_place){
        .link = rec_op_link((uint8_t) REC_OP_FACT(op, func)),
        .launch = (uint32_t) REC_OP_FACT(op, launch),
        .number = REC_OP_FACT(op, number),
        .after_ns = REC_OP_FACT(op, after_ns)};
}

/* A kernel channel of an operation starts. Returns its handle, or NULL when
 * there is no such operation. Reads the clock only for the operation's first
 * channel. */
static void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns)
{
    uint64_t handle = (uint64_t) (uintptr_t) parent;
    uint64_t state, now = 0;
    struct jp_rec_op *op = find_parent(handle, &state);
    struct jp_rec_place place;
    enum jp_rec_stamp stamp;

    if (!op || channel >= JP_NCCL_MAX_CHANNELS || (state & JP_REC_UNSURE))
        return NULL;
    if (atomic_load_explicit(&op->started, memory_order_relaxed) == 0)
        now = rec_clock_ns();
    place = place_of(op);
    stamp = rec_trust_start(trust_of(op), channel, &place, gpu_ns, now);
    /* an earlier operation's stamp: this one's end cannot be known */
    if (stamp == JP_REC_STALE) {
        rec_op_doubt(op, state);
        return NULL;
    }
    if (stamp == JP_REC_DOUBTFUL)
        count_one(&op->refused);
    else if (stamp == JP_REC_LATE)
        note_late(op, channel);
    if ((state & JP_REC_LOOSE) && !open_child(op, state))
        return NULL;
    count_one(&op->started);
    if (now) {
        keep_first(op, JP_REC_KERNEL_FIRST, now);
        rec_op_set_time(op, JP_REC_LAST, now);
    }
    keep_first(op, JP_REC_GPU_FIRST, gpu_ns);
    atomic_store_explicit(&op->channels[channel], gpu_ns, memory_order_relaxed);
    return rec_op_handle(handle, JP_REC_KERNEL, channel);
}

/* A phase of a kernel channel (its handle). NCCL reports its end next, from the
 * same thread, so the thread holds it until then. Returns a handle that means
 * nothing, or NULL. */
static void *rec_core_phase(struct jp_rec_thread *thread, void *parent,
                            unsigned phase, uint64_t gpu_ns)
{
    uint64_t bits = (uint64_t) (uintptr_t) parent;

    if (!thread || phase >= JP_NCCL_N_PHASES ||
        rec_op_kind(bits) != JP_REC_KERNEL)
        return NULL;
    thread->phase_of = bits;
    thread->phase = phase;
    thread->phase_ns = gpu_ns;
    return (void *) (uintptr_t) JP_REC_GROUP;
}

/* The phase that began last on this thread ends. Only those of symmetric
 * kernels are kept: the longest one of the channels. */
static void end_phase(struct jp_rec_thread *thread, uint64_t gpu_ns)
{
    static const enum jp_rec_more of[JP_NCCL_N_PHASES] = {
        [JP_NCCL_PHASE_SYNC] = JP_REC_SYNC,
        [JP_NCCL_PHASE_COMPUTE] = JP_REC_COMPUTE,
        [JP_NCCL_PHASE_CLOSE] = JP_REC_CLOSE,
    };
    uint64_t generation, start, bits = thread ? thread->phase_of : 0;
    _Atomic uint64_t *length;
    struct jp_rec_op *op = bits ? rec_op_find(bits, &generation) : NULL;

    if (!op || !rec_op_is(rec_op_state(op), generation))
        return;
    thread->phase_of = 0;
    start = atomic_load_explicit(&op->channels[rec_op_channel(bits)],
                                 memory_order_relaxed);
    if (!((uint8_t) REC_OP_FACT(op, flags) & JP_REC_SYMMETRIC) || start == 0 ||
        thread->phase_ns < start || gpu_ns < thread->phase_ns)
        return;
    length = &op->more[of[thread->phase]];
    if (gpu_ns - thread->phase_ns >
        atomic_load_explicit(length, memory_order_relaxed))
        atomic_store_explicit(length, gpu_ns - thread->phase_ns,
                              memory_order_release);
}

/* A proxy (network transfer) of an operation starts. Returns its handle or
 * NULL. */
static void *rec_core_proxy(void *parent, pid_t pid)
{
    uint64_t handle = (uint64_t) (uintptr_t) parent;
    uint64_t state;
    struct jp_rec_op *op;

    /* With PXN operation and handle may be those of another process. */
    if (pid != atomic_load_explicit(&our_pid, memory_order_relaxed)) {
        if (pid != getpid())
            return NULL;
        atomic_store_explicit(&our_pid, pid, memory_order_relaxed);
    }
    op = find_parent(handle, &state);
    if (!op || !open_child(op, state))
        return NULL;
    rec_op_set_time(op, JP_REC_LAST, rec_clock_ns());
    return rec_op_handle(handle, JP_REC_PROXY, 0);
}

/* A channel stops. Reads the clock only for the first stop of an operation and
 * its last. Without announced channels each stop may be the last. */
static void stop_channel(struct jp_rec_op *op, uint64_t state, uint64_t handle)
{
    _Atomic uint64_t *channel = &op->channels[rec_op_channel(handle)];
    uint64_t start = atomic_load_explicit(channel, memory_order_relaxed);
    bool untold = (uint16_t) REC_OP_FACT(op, n_channels) == 0;

    if (start == 0) /* it has stopped before */
        return;
    atomic_store_explicit(channel, 0, memory_order_relaxed);
    if (!(state & JP_REC_UNSURE)) {
        if (untold || (state & JP_REC_LEFT_MASK) == JP_REC_LEFT_ONE ||
            atomic_load_explicit(&op->stopped, memory_order_relaxed) == 0) {
            uint64_t now = rec_clock_ns();

            rec_op_set_time(op, JP_REC_LAST, now);
            rec_op_set_time(op, JP_REC_KERNEL_LAST, now);
        }
        count_one(&op->stopped);
    }
    rec_op_settle(op, state, untold ? JP_REC_OPEN_ONE : JP_REC_LEFT_ONE,
                  untold ? JP_REC_OPEN_MASK : JP_REC_LEFT_MASK, 0);
}

static void stop_task(struct jp_rec_op *op, uint64_t state)
{
    uint64_t now = rec_clock_ns();

    rec_op_set_time(op, JP_REC_LAST, now);
    if (!(state & JP_REC_ENQUEUED))
        rec_op_set_time(op, JP_REC_ENQUEUE_STOP, now);
    rec_op_settle(op, state, 0, 0, JP_REC_ENQUEUED);
}

static void stop_proxy(struct jp_rec_op *op, uint64_t state)
{
    uint64_t now = rec_clock_ns();

    rec_op_set_time(op, JP_REC_LAST, now);
    rec_op_set_time(op, JP_REC_PROXY_LAST, now);
    rec_op_settle(op, state, JP_REC_OPEN_ONE, JP_REC_OPEN_MASK, 0);
}

/* Any handle of ours stops. Handles of launches and calls mean nothing here,
 * and a handle of an operation that is over is ignored. */
static void stop_event(void *handle)
{
    uint64_t bits = (uint64_t) (uintptr_t) handle;
    enum jp_rec_kind kind = rec_op_kind(bits);
    uint64_t generation, state;
    struct jp_rec_op *op;

    if (kind == JP_REC_STEP) {
        rec_net_stop(bits);
        return;
    }
    if (kind > JP_REC_STEP || bits == 0)
        return;
    op = rec_op_find(bits, &generation);
    state = op ? rec_op_state(op) : 0;
    if (!rec_op_is(state, generation) || !op)
        return;
    if (kind == JP_REC_KERNEL)
        stop_channel(op, state, bits);
    else if (kind == JP_REC_OP)
        stop_task(op, state);
    else if (kind == JP_REC_PROXY)
        stop_proxy(op, state);
}

/* Callbacks that are the same in several interfaces; they return
 * JP_NCCL_SUCCESS always. */
static int rec_core_stop(void *handle)
{
    struct jp_rec_timer timer = rec_cost_begin();

    stop_event(handle);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

static int rec_core_record_v1(void *handle, int state,
                              union jp_nccl_args_v1 *args)
{
    struct jp_rec_timer timer = rec_cost_begin();
    uint64_t bits = (uint64_t) (uintptr_t) handle;

    (void) args; /* only ProxyOps have bytes there, not their steps */
    if (rec_op_kind(bits) == JP_REC_STEP)
        rec_net_record(bits, state, 0);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

/* A channel's stop by the GPU's clock, which v4 and later report before its
 * stopEvent. A stamp that contradicts the start's is counted and not used. */
static void record_gpu_stop(uint64_t bits, uint64_t gpu_ns)
{
    uint64_t generation, start;
    struct jp_rec_op *op = rec_op_find(bits, &generation);
    unsigned channel = rec_op_channel(bits);
    struct jp_rec_place place;
    enum jp_rec_stamp stamp;

    if (!op || !rec_op_is(rec_op_state(op), generation))
        return;
    start = atomic_load_explicit(&op->channels[channel], memory_order_relaxed);
    if (start == 0)
        return;
    place = place_of(op);
    stamp = rec_trust_stop(trust_of(op), channel, &place, start, gpu_ns);
    if (stamp == JP_REC_DOUBTFUL) {
        count_one(&op->refused);
        return;
    }
    if (stamp == JP_REC_LATE)
        note_late(op, channel);
    keep_last(op, JP_REC_GPU_MAX, gpu_ns - start);
    keep_last(op, JP_REC_GPU_LAST, gpu_ns);
}

static int rec_core_record_v4(void *handle, int state,
                              union jp_nccl_args_v4 *args)
{
    struct jp_rec_timer timer = rec_cost_begin();
    uint64_t bits = (uint64_t) (uintptr_t) handle;

    if (rec_op_kind(bits) == JP_REC_STEP)
        rec_net_record(bits, state, args ? args->proxy_step.trans_bytes : 0);
    else if (state == JP_NCCL_KERNEL_CH_STOP && args &&
             rec_op_kind(bits) == JP_REC_KERNEL)
        record_gpu_stop(bits, args->kernel_ch.gpu_ns);
    else if (state == JP_NCCL_KERNEL_PHASE_STOP && args)
        end_phase(timer.thread, args->kernel_ch.gpu_ns);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

/* --- the seven interfaces --------------------------------------------------
 */

/* Events that are requested in addition to operations and to what shows their
 * end, by interface. NCCL sends Group and GroupApi unrequested. */
static const int masks[] = {
    [4] = 0,
    [5] = JP_NCCL_COLL_API | JP_NCCL_P2P_API,
    [6] = JP_NCCL_COLL_API | JP_NCCL_P2P_API | JP_NCCL_CE_COLL,
    [7] = JP_NCCL_COLL_API | JP_NCCL_P2P_API | JP_NCCL_CE_COLL,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *off; /* why nothing is recorded; NULL: no reason yet */
static bool is_ready;   /* memory and writer are there */
static bool said;
static bool fork_handled; /* pthread_atfork() was called */
static unsigned epoch;    /* how many forks this process comes from */
static struct jp_rec_settings settings;
static char *arena;
static size_t arena_bytes;

/* ---------------------------------------------------------------- memory -- */

/* What is left for operations and network steps of the least memory that can be
 * set. */
enum { LEFT_BYTES = 900 * 1024 };
_Static_assert(JP_REC_MEM_MIN >=
                   JP_REC_WRITER_BYTES + LEFT_BYTES +
                       JP_REC_PLANNED_COMMS * sizeof(struct jp_rec_comm) +
                       JP_REC_MAX_THREADS * sizeof(struct jp_rec_thread),
               "the least memory holds the tables");

/* Divides the memory: tables first, the rest for operations. The kernel
 * provides pages as they are touched. Returns 0, or -1 without memory. */
static int divide_memory(int version)
{
    size_t used;
    void *memory;

    arena_bytes = settings.memory_bytes - JP_REC_WRITER_BYTES +
                  (JP_REC_MAX_COMMS - JP_REC_PLANNED_COMMS) *
                      sizeof(struct jp_rec_comm);
    memory = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    arena = memory;
    used = rec_comm_init(arena, epoch);
    if (used == 0)
        return -1;
    used += rec_net_init(settings.net ? arena + used : NULL);
    rec_op_init(arena + used, arena_bytes - used, settings.net, version >= 7,
                epoch);
    return 0;
}

/* Forgets the table before the memory goes, so that late handles find none. */
static void free_memory(void)
{
    rec_op_init(NULL, 0, false, false, 0);
    if (arena)
        munmap(arena, arena_bytes);
    arena = NULL;
}

/* ----------------------------------------------------------------- life -- */

/* In a forked child: the threads, the file and the memory are the parent's.
 * Locks are made anew, as another thread may have held them. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    off = NULL;
    is_ready = false;
    said = false;
    epoch++;
    rec_comm_after_fork();
    rec_net_init(NULL);
    /* the child's NCCL may have its event mask elsewhere */
    rec_trust_init(false, 0, NULL);
    free_memory();
    rec_writer_after_fork();
}

__attribute__((destructor)) static void at_exit(void)
{
    rec_writer_close();
}

/* Makes the recorder ready, once in a process. Returns NULL, or why nothing is
 * recorded. A declined release still has a file, with a header that says so. */
static const char *get_ready(int version, int *mask)
{
    const char *declined, *why;

    if (getauxval(AT_SECURE)) /* a less privileged user sets the variables */
        return "the program has more rights than its user (setuid, "
               "capabilities)";
    if (!fork_handled && pthread_atfork(NULL, NULL, after_fork) != 0)
        return "no memory";
    fork_handled = true;
    declined = rec_env_read(&settings, version);
    rec_trust_init(settings.kernels, version, mask);
    rec_pause_reset();
    why = rec_writer_start(getenv("JOBPROF_RECORDER_DIR"), &settings);
    if (why)
        return why;
    if ((!declined && divide_memory(version) < 0) ||
        rec_writer_init(&settings, version, declined != NULL) < 0)
        return "no memory";
    return declined;
}

/* Returns the event mask for NCCL. Without kernel events proxies show when an
 * operation ends. */
static int mask_of(int version)
{
    int mask = JP_NCCL_COLL | JP_NCCL_P2P | masks[version];

    mask |= rec_trust_enabled() ? JP_NCCL_KERNEL_CH : JP_NCCL_PROXY_OP;
    return settings.net ? mask | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP : mask;
}

/* A communicator is created. `version` is the interface's (1 to 7); `log` and
 * `mask` may be NULL. When nothing can be recorded, `*context` is NULL and
 * `*mask` 0, and the reason is logged once, at INFO level. Returns
 * JP_NCCL_SUCCESS always. */
static int begin_comm(int version, const struct jp_rec_comm_facts *facts,
                      jp_nccl_log_fn *log, void **context, int *mask)
{
    uint64_t since_ns = rec_clock_ns();
    const char *why;
    bool say;

    *context = NULL;
    rec_names_begin(mask); /* takes the loader's lock: not under ours */
    pthread_mutex_lock(&lock);
    if (!off && !is_ready) {
        off = get_ready(version, mask);
        is_ready = !off;
    }
    why = off;
    if (!why)
        *context = rec_comm_create(facts);
    if (mask) { /* NCCL has one mask for all communicators */
        /* the writer looks at it meanwhile */
        __atomic_store_n(mask, off ? 0 : mask_of(version), __ATOMIC_RELAXED);
        rec_trust_mask();
    }
    say = why && !said;
    said = said || say;
    pthread_mutex_unlock(&lock);

    if (!why)
        rec_writer_wake(); /* without communicators it sleeps without a timer */
    else if (say && log)
        log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, "jobprof", 0,
            "PROFILER/jobprof: %s: nothing is recorded", why);
    rec_cost_take(NULL, since_ns);
    return JP_NCCL_SUCCESS;
}

/* A communicator is finalized. Records its pending operations and waits until
 * everything is written, 40 ms at most. Returns JP_NCCL_SUCCESS always. */
static int end_comm(void *context)
{
    struct jp_rec_comm *comm = rec_comm_get(context);
    uint64_t since_ns = rec_clock_ns();

    if (!comm)
        return JP_NCCL_SUCCESS;
    rec_comm_close(comm);
    rec_op_end_all(comm);
    if (rec_comm_finalize(comm))
        rec_writer_flush();
    rec_cost_take(NULL, since_ns);
    return JP_NCCL_SUCCESS;
}

/* --- with a chained library -------------------------------------------------
 */

/* How long NCCL uses the handle of an event. */
static enum jp_rec_life life_of(uint64_t type, bool graph_captured)
{
    if (type &
        (JP_NCCL_KERNEL_CH | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP |
         JP_NCCL_PROXY_CTRL | JP_NCCL_NET_PLUGIN | JP_NCCL_KERNEL_LAUNCH |
         JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH | JP_NCCL_KERNEL_PHASE))
        return JP_REC_LEAF;
    return graph_captured ? JP_REC_CAPTURED : JP_REC_PARENT;
}

/* Says once why the chained library is not used. */
static void say_chain(jp_nccl_log_fn *log, const char *why)
{
    static atomic_bool told;

    if (!why)
        return;
    rec_env_chain(why);
    if (log && !atomic_exchange(&told, true))
        log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, "jobprof", 0,
            "PROFILER/jobprof: %s", why);
}

/* A communicator is created: for the chained library, then for the recorder. */
static int begin_both(int version, const struct jp_rec_comm_facts *facts,
                      jp_nccl_log_fn *log, void **context, int *mask)
{
    const struct jp_rec_chain_comm comm = {.name = facts->name,
                                           .hash = facts->hash,
                                           .n_nodes = facts->n_nodes,
                                           .n_ranks = facts->n_ranks,
                                           .rank = facts->rank,
                                           .log = log};
    void *ours, *theirs;
    const char *why;

    pthread_mutex_lock(&lock);
    why = rec_chain_open(version);
    pthread_mutex_unlock(&lock);
    if (!rec_chain_is_on()) {
        say_chain(log, why);
        return begin_comm(version, facts, log, context, mask);
    }
    theirs = rec_chain_init(&comm);
    say_chain(log, rec_chain_open(version)); /* it may have failed */
    begin_comm(version, facts, log, &ours, mask ? &jp_rec_masks.ours : NULL);
    *context = rec_chain_pair_comm(ours, theirs);
    if (mask)
        rec_chain_mask(mask);
    return JP_NCCL_SUCCESS;
}

static int end_both(void *context)
{
    struct jp_rec_pair comm;

    if (!rec_chain_is_on())
        return end_comm(context);
    comm = rec_chain_find_comm(context);
    end_comm(comm.ours);
    if (comm.theirs)
        rec_chain_finalize(comm.theirs);
    rec_chain_end(context);
    return JP_NCCL_SUCCESS;
}

static int stop_both(void *handle)
{
    struct jp_rec_pair pair;

    if (!rec_chain_is_on())
        return rec_core_stop(handle);
    pair = rec_chain_find(handle);
    if (pair.ours)
        rec_core_stop(pair.ours);
    rec_chain_stop(pair.theirs);
    rec_chain_end(handle);
    return JP_NCCL_SUCCESS;
}

static int record_both_v1(void *handle, int state, union jp_nccl_args_v1 *args)
{
    struct jp_rec_pair pair;

    if (!rec_chain_is_on())
        return rec_core_record_v1(handle, state, args);
    pair = rec_chain_find(handle);
    if (pair.ours)
        rec_core_record_v1(pair.ours, state, args);
    rec_chain_record(pair.theirs, state, args);
    return JP_NCCL_SUCCESS;
}

static int record_both_v4(void *handle, int state, union jp_nccl_args_v4 *args)
{
    struct jp_rec_pair pair;

    if (!rec_chain_is_on())
        return rec_core_record_v4(handle, state, args);
    pair = rec_chain_find(handle);
    if (pair.ours)
        rec_core_record_v4(pair.ours, state, args);
    rec_chain_record(pair.theirs, state, args);
    return JP_NCCL_SUCCESS;
}

/* --- the seven interfaces in terms of the core -----------------------------
 */

/* The seven tables that NCCL looks up by name: the only symbols that the
 * library exports. */
#define JP_REC_EXPORT __attribute__((visibility("default")))
extern struct jp_nccl_plugin_v1 ncclProfiler_v1;
extern struct jp_nccl_plugin_v2 ncclProfiler_v2;
extern struct jp_nccl_plugin_v3 ncclProfiler_v3;
extern struct jp_nccl_plugin_v4 ncclProfiler_v4;
extern struct jp_nccl_plugin_v5 ncclProfiler_v5;
extern struct jp_nccl_plugin_v6 ncclProfiler_v6;
extern struct jp_nccl_plugin_v7 ncclProfiler_v7;

#define JP_REC_PASTE(a, b) a##b
#define JP_REC_NAME(a, b) JP_REC_PASTE(a, b)
/* The name of a static function for the interface that is being made. */
#define NAME(name) JP_REC_NAME(name##_v, VERSION)

/* Returns NULL for a number that is not known. */
static const char *v1_name(const char *const *names, unsigned n, unsigned i)
{
    return i < n ? names[i] : NULL;
}

#define VERSION 1
#define FUNC(event) v1_name(rec_v1_funcs, JP_NCCL_N_FUNCS, (event).func)
#define DATATYPE(event)                                                        \
    v1_name(rec_v1_datatypes, JP_NCCL_N_DATATYPES, (event).datatype)
#define ALGO(event) NULL
#define PROTO(event) NULL
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 2
#define FUNC(event) (event).func
#define DATATYPE(event) (event).datatype
#define ALGO(event) (event).algo
#define PROTO(event) (event).proto
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 3
#define FUNC(event) (event).func
#define DATATYPE(event) (event).datatype
#define ALGO(event) (event).algo
#define PROTO(event) (event).proto
#include "plugins/nccl_recorder/rec_abi_old.h"

#define VERSION 4
#include "plugins/nccl_recorder/rec_abi_new.h"

#define VERSION 5
#include "plugins/nccl_recorder/rec_abi_new.h"

#define VERSION 6
#include "plugins/nccl_recorder/rec_abi_new.h"

#define VERSION 7
#include "plugins/nccl_recorder/rec_abi_new.h"
