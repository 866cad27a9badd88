/* What NCCL's events mean: the one core behind all six interfaces. */
#include "plugins/nccl_recorder/rec_core.h"

#include <unistd.h>

#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_cost.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_net.h"
#include "plugins/nccl_recorder/rec_thread.h"

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
                     ? (facts->flags & JP_REC_GRAPH) && !rec_trust_asks()
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
    struct jp_rec_trust *trust = &comm->trust;

    if (start->silent || start->kind == JPR_CE)
        return 0;
    if (facts->flags & JP_REC_GRAPH)
        rec_trust_replay(trust);
    if (!rec_trust_believes(trust))
        return JP_REC_LOOSE | JP_REC_UNSURE;
    return ((uint64_t) start->n_channels & JP_REC_LEFT_MASK) |
           (start->n_channels == 0 ? JP_REC_LOOSE : 0);
}

void *rec_core_op(struct jp_rec_comm *comm, const struct jp_rec_start *start)
{
    struct jp_rec_thread *thread = rec_thread_get();
    struct jp_rec_facts facts = {0};
    struct jp_rec_place place;
    uint64_t state;
    uint32_t index;

    if (atomic_load_explicit(&comm->closed, memory_order_relaxed))
        return NULL;
    if (!thread) {
        count_unseen(comm, start->kind);
        return NULL;
    }
    fill(&facts, thread, comm, start);
    atomic_fetch_add_explicit(&comm->counts[facts.kind][facts.func].produced, 1,
                              memory_order_relaxed);
    index = rec_purse_take(&thread->ops, &jp_rec_op_pool);
    if (index == JP_REC_NONE) {
        rec_finish_lost(&facts);
        return NULL;
    }
    state = first_state(comm, start, &facts);
    if (state & JP_REC_LOOSE)
        rec_finish_expect_loose();
    facts.start_ns = rec_clock_ns();
    rec_trust_op(&comm->trust, facts.start_ns, &place);
    facts.launch = place.launch;
    facts.number = place.number;
    facts.after_ns = place.after_ns;
    /* what its kernels do is not counted: those of later ones come too early */
    if (start->silent && rec_trust_asks())
        rec_trust_doubt(&comm->trust, JPR_DOUBT_SELF_COPY);
    return rec_op_begin(index, &facts, state);
}

void *rec_core_launch(struct jp_rec_comm *comm)
{
    if (comm)
        rec_trust_launch(&comm->trust);
    return (void *) (uintptr_t) JP_REC_GROUP;
}

void rec_core_calls(int depth)
{
    struct jp_rec_thread *thread = rec_thread_get();

    if (thread)
        rec_trust_group(thread, depth);
}

void *rec_core_api(struct jp_rec_comm *comm, const struct jp_rec_call *call)
{
    struct jp_rec_thread *thread = rec_thread_get();
    uint64_t bits = call->is_p2p ? JP_REC_API_P2P : JP_REC_API;
    uint64_t count = call->count;
    unsigned func;

    if (!thread)
        return NULL;
    if (count >> (64 - API_COUNT))
        count = 0; /* nothing real is as long; 0: not told */
    func = rec_names_func(&thread->funcs, call->func);
    if (comm)
        rec_trust_call(&comm->trust, call->graph_captured);
    if (comm && func == JP_REC_FUNC_BROADCAST)
        rec_trust_broadcast(&comm->trust, thread, call->root,
                            call->graph_captured);
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

/* The clock is read for an operation's first channel. */
void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns)
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
        rec_finish_doubt(op, state);
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

void *rec_core_proxy(void *parent, pid_t pid)
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
    rec_finish_settle(op, state, untold ? JP_REC_OPEN_ONE : JP_REC_LEFT_ONE,
                      untold ? JP_REC_OPEN_MASK : JP_REC_LEFT_MASK, 0);
}

static void stop_task(struct jp_rec_op *op, uint64_t state)
{
    uint64_t now = rec_clock_ns();

    rec_op_set_time(op, JP_REC_LAST, now);
    if (!(state & JP_REC_ENQUEUED))
        rec_op_set_time(op, JP_REC_ENQUEUE_STOP, now);
    rec_finish_settle(op, state, 0, 0, JP_REC_ENQUEUED);
}

static void stop_proxy(struct jp_rec_op *op, uint64_t state)
{
    uint64_t now = rec_clock_ns();

    rec_op_set_time(op, JP_REC_LAST, now);
    rec_op_set_time(op, JP_REC_PROXY_LAST, now);
    rec_finish_settle(op, state, JP_REC_OPEN_ONE, JP_REC_OPEN_MASK, 0);
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

int rec_core_stop(void *handle)
{
    struct jp_rec_timer timer = rec_cost_begin();

    stop_event(handle);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}

int rec_core_record_v1(void *handle, int state, union jp_nccl_args_v1 *args)
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

int rec_core_record_v4(void *handle, int state, union jp_nccl_args_v4 *args)
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
