/* The user thread's events of one call into NCCL, in NCCL's order. */
#include "contrib/ncclsim/sim_events.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_plugin.h"

/* Parents are sent whenever one of their children is wanted. */
enum {
    CHILDREN = JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP | JP_NCCL_KERNEL_CH |
               JP_NCCL_NET_PLUGIN,
    CE = JP_NCCL_CE_COLL | JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH,
    WANT_COLL = JP_NCCL_COLL | CHILDREN,
    WANT_P2P = JP_NCCL_P2P | CHILDREN,
    WANT_GROUP = JP_NCCL_GROUP | JP_NCCL_COLL | JP_NCCL_P2P | CHILDREN,
    WANT_COLL_API = JP_NCCL_COLL_API | WANT_COLL | CE,
    WANT_P2P_API = JP_NCCL_P2P_API | WANT_P2P,
    WANT_GROUP_API = JP_NCCL_GROUP_API | JP_NCCL_COLL_API | JP_NCCL_P2P_API |
                     JP_NCCL_KERNEL_LAUNCH | WANT_GROUP | CE,
};

/* One call while it is being made; NCCL keeps this in thread-locals. */
struct call {
    struct jp_sim_comm *comm;
    const struct jp_sim_launch *launch;
    struct jp_nccl_plugin_v6 *plugin;
    int silent_broadcast;
    int mask; /* as it was when the operation was called */
    int in_group_api;
    void *group_api;
    void *group;
    struct part *parts; /* [launch->n] */
};

/* One operation of the call. */
struct part {
    int mask;
    void *api;
    void *task;
};

enum { FEW_PARTS = 16 };

static __thread void *last_coll_api;

static int is_p2p(const struct jp_sim_op *op)
{
    return op->func == JP_NCCL_SEND || op->func == JP_NCCL_RECV;
}

static void start_at(const struct call *call, int wanted, void **handle,
                     struct jp_nccl_descr_v6 *descr)
{
    if (call->plugin && (call->mask & wanted))
        call->plugin->start(call->comm->context, handle, descr);
}

static void *start(const struct call *call, int wanted,
                   struct jp_nccl_descr_v6 *descr)
{
    void *handle = NULL;

    start_at(call, wanted, &handle, descr);
    return handle;
}

static void stop(struct call *call, void *handle)
{
    if (call->plugin && handle)
        call->plugin->stop(handle);
}

/* NCCL turns AllGather and Broadcast into bytes when it enqueues them. */
static const char *datatype_of(const struct jp_sim_op *op, uint64_t *count)
{
    if (op->func == JP_NCCL_ALL_GATHER || op->func == JP_NCCL_BROADCAST) {
        *count = op->bytes;
        return "ncclInt8";
    }
    *count = op->bytes / 2;
    return "ncclBfloat16";
}

/* Only the first call in a group that asks for it starts the group's event. */
static void begin_group_api(struct call *call)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_GROUP_API};

    if (call->in_group_api || !(call->mask & WANT_GROUP_API))
        return;
    call->in_group_api = 1;
    descr.group_api.depth = call->launch->grouped ? 2 : 1;
    call->group_api = start(call, WANT_GROUP_API, &descr);
    if (call->group_api)
        call->plugin->record(call->group_api, JP_NCCL_GROUP_START_API_STOP,
                             NULL);
}

/* AlltoAll, Gather and Scatter are the Send and Recv that they consist of. */
static void *p2p_api(struct call *call, const struct jp_sim_op *op)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_P2P_API,
                                     .parent = call->group_api};
    uint64_t count;
    void *handle;

    descr.p2p_api.datatype = datatype_of(op, &count);
    descr.p2p_api.func = sim_cost_func_name(op->func);
    descr.p2p_api.count = count;
    handle = start(call, WANT_P2P_API, &descr);
    stop(call, handle);
    return handle;
}

static void *coll_api(struct call *call, const struct jp_sim_op *op)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_COLL_API,
                                     .parent = call->group_api};

    descr.coll_api.func = call->launch->api;
    descr.coll_api.count = op->bytes / 2;
    descr.coll_api.datatype = "ncclBfloat16";
    descr.coll_api.root = op->root;
    start_at(call, WANT_COLL_API, &last_coll_api, &descr);
    stop(call, last_coll_api);
    return last_coll_api;
}

static void call_apis(struct call *call)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        const struct jp_sim_op *op = &call->launch->ops[i];
        struct part *part = &call->parts[i];

        call->mask = sim_plugin_mask();
        begin_group_api(call);
        part->api = is_p2p(op) ? p2p_api(call, op) : coll_api(call, op);
        part->mask = call->mask;
        if (op->func == JP_NCCL_BROADCAST && call->silent_broadcast)
            *part = (struct part){0};
    }
    if (call->group_api)
        call->plugin->record(call->group_api, JP_NCCL_GROUP_END_API_START,
                             NULL);
}

/* What is reported of the plan as a whole goes by its first task that is
 * profiled at all. */
static int plan_mask(const struct call *call)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        if (call->parts[i].mask)
            return call->parts[i].mask;
    }
    return 0;
}

static void launch_kernel(struct call *call)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_KERNEL_LAUNCH,
                                     .parent = call->group_api};

    call->mask = plan_mask(call);
    stop(call, start(call, JP_NCCL_KERNEL_LAUNCH, &descr));
}

static void *start_coll(struct call *call, const struct jp_sim_op *op,
                        void *api)
{
    uint64_t seq = call->comm->seq[op->func]++;
    struct jp_nccl_descr_v6 descr = {
        .type = JP_NCCL_COLL, .parent = api, .rank = call->comm->rank};
    uint64_t count;
    const char *type = datatype_of(op, &count);

    descr.coll.parent_group = call->group;
    descr.coll.seq = seq;
    descr.coll.func = sim_cost_func_name(op->func);
    descr.coll.count = count;
    descr.coll.root = op->root;
    descr.coll.datatype = type;
    descr.coll.n_channels = (uint8_t) op->n_channels;
    descr.coll.n_warps = 16;
    descr.coll.algo = op->crosses ? "RING" : "NVLS";
    descr.coll.proto = op->bytes < 1024 * 1024 ? "LL128" : "SIMPLE";
    return start(call, WANT_COLL, &descr);
}

static void *start_p2p(struct call *call, const struct jp_sim_op *op, void *api)
{
    struct jp_nccl_descr_v6 descr = {
        .type = JP_NCCL_P2P, .parent = api, .rank = call->comm->rank};
    uint64_t count;
    const char *type = datatype_of(op, &count);

    descr.p2p.parent_group = call->group;
    descr.p2p.func = sim_cost_func_name(op->func);
    descr.p2p.count = count;
    descr.p2p.datatype = type;
    descr.p2p.peer = op->peer;
    descr.p2p.n_channels = (uint8_t) op->n_channels;
    return start(call, WANT_P2P, &descr);
}

static void post(struct call *call, struct jp_sim_proxy *proxy)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        struct jp_sim_work work = {
            .context = call->comm->context,
            .task = call->parts[i].task,
            .mask = call->parts[i].mask,
            .rank = call->comm->rank,
            .gpu_base_ns = call->comm->gpu_base_ns,
            .op = call->launch->ops[i],
        };

        sim_proxy_post(proxy, &work);
    }
}

static void run_plan(struct call *call, struct jp_sim_proxy *proxy)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_GROUP};
    int i;

    call->mask = plan_mask(call);
    call->group = start(call, WANT_GROUP, &descr);
    for (i = 0; i < call->launch->n; i++) {
        const struct jp_sim_op *op = &call->launch->ops[i];
        struct part *part = &call->parts[i];

        sim_counts_add(&call->comm->counts, op->func, op->bytes, op->hangs);
        call->mask = part->mask;
        part->task = is_p2p(op) ? start_p2p(call, op, part->api)
                                : start_coll(call, op, part->api);
    }
    post(call, proxy);
    for (i = 0; i < call->launch->n; i++)
        stop(call, call->parts[i].task);
    stop(call, call->group);
}

void sim_events_launch(struct jp_sim_comm *comm, struct jp_sim_proxy *proxy,
                       const struct jp_sim_launch *launch, int silent_broadcast)
{
    struct part few[FEW_PARTS] = {{0}};
    struct call call = {
        .comm = comm,
        .launch = launch,
        .plugin = sim_plugin_get(),
        .silent_broadcast = silent_broadcast && sim_plugin_host() >= 6,
        .parts = few,
    };

    if (launch->n > FEW_PARTS)
        call.parts = calloc((size_t) launch->n, sizeof(*call.parts));
    if (!call.parts)
        abort();
    call_apis(&call);
    launch_kernel(&call);
    run_plan(&call, proxy);
    stop(&call, call.group_api);
    sim_proxy_flush(proxy);
    if (call.parts != few)
        free(call.parts);
}
