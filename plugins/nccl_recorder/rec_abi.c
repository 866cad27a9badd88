/* rec_abi.c - what NCCL calls: its six interfaces, made from two templates, and
 * the recorder's life: a communicator comes, goes; the process forks, ends.
 *
 * Nothing exists before the first communicator, and nothing of a parent is
 * used in a forked child, which starts anew with its own first communicator.
 * The library stays mapped when NCCL unloads it (linked with -z nodelete),
 * so its writer thread is never pulled from under its own code.
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
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* What NCCL's events mean: the one core behind all six interfaces.
 *
 * The adapters at the end of this file translate; everything is decided in this
 * part. No call fails towards NCCL, waits or allocates; each reads the clock
 * once at most, but for the few that are timed (rec_comm.h), and an
 * operation's channels only for the first that starts, the first and the last
 * that stop. What cannot be recorded is counted as lost.
 *
 * When is an operation done? Its own stopEvent means "enqueued" only.
 *  - With kernel events NCCL names the number of channels: it is done when it
 *    is enqueued and that many have stopped (and its proxies, if network waits
 * were requested). CollNet names none (0): it is "loose", done when nothing
 * happened for 50 ms since its last child and at least one channel has stopped,
 * for a kernel may start long after it was enqueued.
 *  - Without kernel events, or where these are not believed (rec_comm.h), it
 *    is loose and "unsure": done when it is enqueued and, 50 ms ago, its last
 *    proxy ended or a later launch of its communicator came. The latter does
 *    not count while an earlier operation has an open proxy. The last one of
 *    a communicator without network transfers stays in flight.
 *  - Copy engine collectives (v6) are done when they are enqueued: their
 *    events carry no time of the copies. So is a Send or Recv to oneself: NCCL
 *    announces its channels and reports none (enqueue.cc: selfSend).
 *  - Of the others NCCL reports fewer channels than announced now and then
 *    (nccl#2056, #2221). Kernels of a communicator run one after the other: an
 *    operation of which nothing was heard for half a second while a channel of
 *    one enqueued after it has stopped is over, and recorded as incomplete.
 *  - At finalize of the communicator, and at the end of the process, whatever
 *    is pending is recorded, as incomplete unless it is loose and may be over;
 *    an unsure one may be if something was heard of it in the last second.
 * Each operation is recorded exactly once; what comes later is ignored. From
 * finalize on, and when the process ends, no operation of the communicator is
 * taken any more.
 *
 * Calls whose operation NCCL does not report (docs/recorder-format.md, "What
 * NCCL does not tell") are counted: CollApi events without those that a Coll or
 * CeColl event names as its parent. Not P2pApi, nor calls that are captured in
 * a graph: their operations come with each replay.
 *
 * Execution time: the longest channel by the GPU's clock; without kernel events
 * from being enqueued until the last child stopped, 0 when no child ever
 * reported, for then the time is not known.
 */

/* An operation as the interface describes it; texts may be NULL. */
struct jp_rec_start {
    enum jpr_op_kind kind;
    uint64_t seq; /* p2p: counted here */
    const char *func;
    const char *datatype;
    const char *algo;
    const char *proto;
    uint64_t count;
    int root;
    int peer;
    int n_channels; /* kernel channels that it has; 0: unknown */
    bool silent;    /* none of them will report: a message to oneself */
    void *api;      /* handle of the API event, NULL: none */
};

/* The user's call (v5, v6); the handle carries all of it. */
struct jp_rec_call {
    const char *func;
    const char *datatype;
    uint64_t count;
    int root;
    bool graph_captured;
    bool is_p2p;
};

/* --- what NCCL's events mean --------------------------------------------- */

/* An API event's handle: kind 3, function 5, datatype 6, graph 1, count 49. */
enum { API_FUNC = 3, API_DATATYPE = 8, API_GRAPH = 14, API_COUNT = 15 };

static atomic_int our_pid; /* getpid() is a system call */

/* ---------------------------------------------------- start of an operation */

static void fill_api(struct jp_rec_facts *facts, uint64_t api)
{
    if (rec_op_kind(api) != JP_REC_API && rec_op_kind(api) != JP_REC_API_P2P)
        return;
    facts->api_func = (uint8_t) (api >> API_FUNC & 31);
    facts->api_datatype = (uint8_t) (api >> API_DATATYPE & 63);
    facts->api_count = api >> API_COUNT;
    facts->flags |= api >> API_GRAPH & 1 ? JP_REC_GRAPH : 0;
}

/* NCCL's number, or one of our own: without kernel events NCCL does not count
 * the replays of a captured collective. Before 2.28 only a number that comes
 * again tells a replay. */
static uint64_t number_coll(struct jp_rec_comm *comm,
                            const struct jp_rec_start *start,
                            const struct jp_rec_facts *facts)
{
    _Atomic uint64_t *next = &comm->next_seq[facts->func];
    bool again = start->api
                     ? (facts->flags & JP_REC_GRAPH) && !rec_trust_enabled()
                     : start->seq <
                           atomic_load_explicit(next, memory_order_relaxed);

    if (again)
        return JPR_REPLAY_SEQ +
               atomic_fetch_add_explicit(&comm->replays[facts->func], 1,
                                         memory_order_relaxed);
    if (!start->api)
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

static void fill(struct jp_rec_facts *facts, struct jp_rec_thread *thread,
                 struct jp_rec_comm *comm, const struct jp_rec_start *start)
{
    facts->count = start->count;
    facts->root = start->root;
    facts->peer = start->peer;
    facts->comm = (uint16_t) rec_comm_place(comm);
    facts->n_channels = (uint16_t) start->n_channels;
    facts->kind = (uint8_t) start->kind;
    facts->func = (uint8_t) rec_names_func(&thread->funcs, start->func);
    facts->datatype = (uint8_t) rec_names_word(&thread->words, start->datatype);
    facts->algo = (uint8_t) rec_names_word(&thread->words, start->algo);
    facts->proto = (uint8_t) rec_names_word(&thread->words, start->proto);
    fill_api(facts, (uint64_t) (uintptr_t) start->api);
    number(facts, comm, start);
    if (rec_op_kind((uint64_t) (uintptr_t) start->api) == JP_REC_API &&
        !(facts->flags & JP_REC_GRAPH))
        atomic_fetch_sub_explicit(&comm->unseen[facts->api_func], 1,
                                  memory_order_relaxed);
}

/* An operation that the thread table had no room for. */
static void count_unseen(struct jp_rec_comm *comm, enum jpr_op_kind kind)
{
    struct jp_rec_count *count = &comm->counts[kind][JP_REC_FUNCS - 1];

    atomic_fetch_add(&count->produced, 1);
    atomic_fetch_add(&count->lost, 1);
}

/* What the operation's state begins with: what is to come until it is over. */
static uint64_t first_state(struct jp_rec_comm *comm,
                            const struct jp_rec_start *start,
                            const struct jp_rec_facts *facts)
{
    if (start->silent || start->kind == JPR_CE)
        return 0;
    if (!rec_trust_usable(&comm->trust, facts->flags & JP_REC_GRAPH))
        return JP_REC_LOOSE | JP_REC_UNSURE;
    return ((uint64_t) start->n_channels & JP_REC_LEFT_MASK) |
           (start->n_channels == 0 ? JP_REC_LOOSE : 0);
}

/* It is being enqueued; its handle, NULL when it is not recorded. */
static void *rec_core_op(struct jp_rec_comm *comm,
                         const struct jp_rec_start *start)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_facts facts = {0};
    struct jp_rec_place place;
    struct jp_rec_count *count;
    uint64_t state;
    uint32_t index;

    if (atomic_load_explicit(&comm->closed, memory_order_relaxed))
        return NULL;
    if (!thread) {
        count_unseen(comm, start->kind);
        return NULL;
    }
    fill(&facts, thread, comm, start);
    count = &comm->counts[facts.kind][facts.func];
    atomic_fetch_add_explicit(&count->produced, 1, memory_order_relaxed);
    index = rec_purse_take(&thread->ops, &jp_rec_op_pool);
    if (index == JP_REC_NONE) {
        atomic_fetch_add_explicit(&count->lost, 1, memory_order_relaxed);
        return NULL;
    }
    state = first_state(comm, start, &facts);
    facts.start_ns = rec_clock_ns();
    rec_trust_op(&comm->trust, facts.start_ns, start->silent, &place);
    facts.launch = place.launch;
    facts.number = place.number;
    facts.after_ns = place.after_ns;
    return rec_op_begin(index, &facts, state);
}

/* A plan is launched; a handle that says nothing, but NCCL before 2.28 tells no
 * operation of a plan without one. `comm` may be NULL. */
static void *rec_core_launch(struct jp_rec_comm *comm)
{
    if (comm)
        atomic_fetch_add_explicit(&comm->trust.launch, 1, memory_order_relaxed);
    return (void *) (uintptr_t) JP_REC_GROUP;
}

/* The program's calls from here on are of one group (v5, v6). NCCL reports a
 * group for each nested one, although all of them are launched together; after
 * a nested one it is open whether the outer group continues, so its number
 * stays. */
static void rec_core_calls(int depth)
{
    struct jp_rec_thread *thread = rec_thread_get();

    if (!thread)
        return;
    if (depth <= 2 && thread->group_depth <= 2)
        thread->group++;
    thread->group_depth = depth;
}

static void *rec_core_api(struct jp_rec_comm *comm,
                          const struct jp_rec_call *call)
{
    struct jp_rec_thread *thread = rec_thread_get();
    uint64_t bits = call->is_p2p ? JP_REC_API_P2P : JP_REC_API;
    uint64_t count = call->count;
    unsigned func;

    if (!thread)
        return NULL;
    if (count >> (64 - API_COUNT))
        count = 0; /* no real count is so large; 0: unknown */
    func = rec_names_func(&thread->funcs, call->func);
    if (comm)
        rec_trust_call(&comm->trust, thread, call->graph_captured,
                       func == JP_REC_FUNC_BROADCAST ? call->root : -1);
    if (!call->is_p2p && !call->graph_captured && comm)
        atomic_fetch_add_explicit(&comm->unseen[func], 1, memory_order_relaxed);
    bits |= (uint64_t) func << API_FUNC;
    bits |= (uint64_t) rec_names_word(&thread->words, call->datatype)
            << API_DATATYPE;
    bits |= (uint64_t) call->graph_captured << API_GRAPH;
    return (void *) (uintptr_t) (bits | count << API_COUNT);
}

/* ---------------------------------------------------------------- children */

/* The live operation that a child's parent handle names, or NULL. */
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

/* Opens a child that only closing counts off; false when it is over. */
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

/* Counters of one operation's children come from one thread: no lock prefix. */
static void count_one(_Atomic uint32_t *counter)
{
    uint32_t n = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, n + 1, memory_order_release);
}

static struct jp_rec_trust *trust_of(const struct jp_rec_op *op)
{
    return &rec_comm_at((uint16_t) REC_OP_FACT(op, comm))->trust;
}

/* A child of an operation starts; NULL when there is no such operation. The
 * clock is read for an operation's first channel. */
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
    place.launch = (uint32_t) REC_OP_FACT(op, launch);
    place.number = REC_OP_FACT(op, number);
    place.after_ns = REC_OP_FACT(op, after_ns);
    stamp = rec_trust_start(trust_of(op), channel, &place, gpu_ns, now);
    if (stamp == JP_REC_STALE) {
        rec_op_doubt(op, state);
        return NULL;
    }
    if (stamp == JP_REC_DOUBTFUL)
        count_one(&op->refused);
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

static void *rec_core_proxy(void *parent, pid_t pid)
{
    uint64_t handle = (uint64_t) (uintptr_t) parent;
    uint64_t state;
    struct jp_rec_op *op;

    /* With PXN the operation is another process's; so is its handle. */
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

/* The clock is read for an operation's first stop and its last one. */
static void stop_channel(struct jp_rec_op *op, uint64_t state, uint64_t handle)
{
    _Atomic uint64_t *channel = &op->channels[rec_op_channel(handle)];
    uint64_t start = atomic_load_explicit(channel, memory_order_relaxed);
    bool untold = (uint16_t) REC_OP_FACT(op, n_channels) == 0;

    if (start == 0) /* stopped before */
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

/* Callbacks that are the same in several interfaces; JP_NCCL_SUCCESS always. */
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

    (void) args; /* only a ProxyOp tells bytes there, and not per step */
    if (rec_op_kind(bits) == JP_REC_STEP)
        rec_net_record(bits, state, 0);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

static void record_gpu_stop(uint64_t bits, uint64_t gpu_ns)
{
    uint64_t generation, start;
    struct jp_rec_op *op = rec_op_find(bits, &generation);
    unsigned channel = rec_op_channel(bits);

    if (!op || !rec_op_is(rec_op_state(op), generation))
        return;
    start = atomic_load_explicit(&op->channels[channel], memory_order_relaxed);
    if (start == 0)
        return;
    if (!rec_trust_stop(trust_of(op), channel, REC_OP_FACT(op, number), start,
                        gpu_ns)) {
        count_one(&op->refused);
        return;
    }
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
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

/* --- the six interfaces -------------------------------------------------- */

/* What we ask NCCL for besides operations and what tells of their end. Group
 * and GroupApi come unasked. */
static const int masks[] = {
    [4] = 0,
    [5] = JP_NCCL_COLL_API | JP_NCCL_P2P_API,
    [6] = JP_NCCL_COLL_API | JP_NCCL_P2P_API | JP_NCCL_CE_COLL,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *off; /* why nothing is recorded; NULL: no reason */
static bool is_ready;
static bool said;
static bool fork_handled;
static unsigned epoch; /* how many forks we come from */
static struct jp_rec_settings settings;
static char *arena;
static size_t arena_bytes;

/* ---------------------------------------------------------------- memory -- */

/* Divides the memory: tables first, the rest for operations. The kernel gives
 * pages as they are touched. Returns 0, or -1 without memory. */
static int divide_memory(void)
{
    size_t used;
    void *memory;

    arena_bytes = settings.memory_bytes - JP_REC_WRITER_BYTES;
    memory = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    arena = memory;
    used = rec_comm_init(arena, epoch);
    if (used == 0)
        return -1;
    used += rec_net_init(settings.net ? arena + used : NULL);
    rec_op_init(arena + used, arena_bytes - used, settings.net, epoch);
    return 0;
}

static void free_memory(void)
{
    rec_op_forget();
    if (arena)
        munmap(arena, arena_bytes);
    arena = NULL;
}

/* ------------------------------------------------------------------- life --
 */

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    off = NULL;
    is_ready = false;
    said = false;
    epoch++;
    rec_comm_after_fork();
    rec_net_init(NULL);
    free_memory();
    rec_writer_after_fork();
}

__attribute__((destructor)) static void at_exit(void)
{
    rec_writer_close();
}

/* Starts the writer, which opens the directory, once; NULL or why nothing is
 * recorded. A release that is declined has a file, which says so. */
static const char *get_ready(int version, int *mask)
{
    const char *declined, *why;

    if (getauxval(AT_SECURE)) /* the variables are another's who may less */
        return "the program has more rights than its user (setuid, "
               "capabilities)";
    if (!fork_handled && pthread_atfork(NULL, NULL, after_fork) != 0)
        return "no memory";
    fork_handled = true;
    declined = rec_env_read(&settings, version);
    rec_trust_init(settings.kernels, version, mask);
    why = rec_writer_start(getenv("JOBPROF_RECORDER_DIR"), &settings);
    if (why)
        return why;
    if ((!declined && divide_memory() < 0) ||
        rec_writer_init(&settings, version, declined != NULL) < 0)
        return "no memory";
    return declined;
}

static int mask_of(int version)
{
    int mask = JP_NCCL_COLL | JP_NCCL_P2P | masks[version];

    mask |= rec_trust_enabled() ? JP_NCCL_KERNEL_CH : JP_NCCL_PROXY_OP;
    return settings.net ? mask | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP : mask;
}

/* A communicator comes up. `version` is the interface's (1 to 6), `log` may
 * be NULL. `*context` is NULL and `*mask` 0 when nothing can be recorded,
 * which is said once, at INFO level. `mask` may be NULL. Always
 * JP_NCCL_SUCCESS. */
static int begin_comm(int version, const struct jp_rec_comm_facts *facts,
                      jp_nccl_log_fn *log, void **context, int *mask)
{
    uint64_t since_ns = rec_clock_ns();
    const char *why;
    bool say;

    *context = NULL;
    pthread_mutex_lock(&lock);
    if (!off && !is_ready) {
        off = get_ready(version, mask);
        is_ready = !off;
    }
    why = off;
    if (!why)
        *context = rec_comm_create(facts);
    if (mask) { /* it holds for all communicators of the process */
        *mask = off ? 0 : mask_of(version);
        rec_trust_mask();
    }
    say = why && !said;
    said = said || say;
    pthread_mutex_unlock(&lock);

    if (!why)
        rec_writer_wake(); /* it may sleep without a timer */
    else if (say && log)
        log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, "jobprof", 0,
            "PROFILER/jobprof: %s: nothing is recorded", why);
    rec_cost_life(since_ns);
    return JP_NCCL_SUCCESS;
}

/* It goes: pending operations are recorded, and everything is written or 40 ms
 * have passed. Always JP_NCCL_SUCCESS. */
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
    rec_cost_life(since_ns);
    return JP_NCCL_SUCCESS;
}

/* --- the six interfaces in terms of the core ----------------------------- */

/* The six tables that NCCL looks up by name: all that the library exports. */
#define JP_REC_EXPORT __attribute__((visibility("default")))
extern struct jp_nccl_plugin_v1 ncclProfiler_v1;
extern struct jp_nccl_plugin_v2 ncclProfiler_v2;
extern struct jp_nccl_plugin_v3 ncclProfiler_v3;
extern struct jp_nccl_plugin_v4 ncclProfiler_v4;
extern struct jp_nccl_plugin_v5 ncclProfiler_v5;
extern struct jp_nccl_plugin_v6 ncclProfiler_v6;

#define JP_REC_PASTE(a, b) a##b
#define JP_REC_NAME(a, b) JP_REC_PASTE(a, b)
/* a static function of the version being made */
#define NAME(name) JP_REC_NAME(name##_v, VERSION)

/* Interface v1 hands over numbers in place of names. */
static const char *const v1_funcs[JP_NCCL_N_FUNCS] = {
    [JP_NCCL_BROADCAST] = "Broadcast",
    [JP_NCCL_REDUCE] = "Reduce",
    [JP_NCCL_ALL_GATHER] = "AllGather",
    [JP_NCCL_REDUCE_SCATTER] = "ReduceScatter",
    [JP_NCCL_ALL_REDUCE] = "AllReduce",
    [JP_NCCL_SEND_RECV] = "SendRecv",
    [JP_NCCL_SEND] = "Send",
    [JP_NCCL_RECV] = "Recv",
};

static const char *const v1_datatypes[JP_NCCL_N_DATATYPES] = {
    [JP_NCCL_INT8] = "ncclInt8",
    [JP_NCCL_UINT8] = "ncclUint8",
    [JP_NCCL_INT32] = "ncclInt32",
    [JP_NCCL_UINT32] = "ncclUint32",
    [JP_NCCL_INT64] = "ncclInt64",
    [JP_NCCL_UINT64] = "ncclUint64",
    [JP_NCCL_FLOAT16] = "ncclFloat16",
    [JP_NCCL_FLOAT32] = "ncclFloat32",
    [JP_NCCL_FLOAT64] = "ncclFloat64",
    [JP_NCCL_BFLOAT16] = "ncclBfloat16",
    [JP_NCCL_FLOAT8E4M3] = "ncclFloat8e4m3",
    [JP_NCCL_FLOAT8E5M2] = "ncclFloat8e5m2",
};

/* NULL: a number that is not known. */
static const char *v1_name(const char *const *names, unsigned n, unsigned i)
{
    return i < n ? names[i] : NULL;
}

#define VERSION 1
#define FUNC(event) v1_name(v1_funcs, JP_NCCL_N_FUNCS, (event).func)
#define DATATYPE(event)                                                        \
    v1_name(v1_datatypes, JP_NCCL_N_DATATYPES, (event).datatype)
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
