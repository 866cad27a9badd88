/* sim_events.c - the user thread's events of one call into NCCL, in NCCL's
 * order.
 *
 * sim_events_launch is a call from its beginning to its end: enqueue raises the
 * API events and the launch, run_plan the Group, Coll and P2p events, and post
 * hands the works to the progress thread. A replay of a graph skips enqueue.
 * Releases of NCCL differ in many details; each difference is a member of
 * struct jp_sim_nccl (sim_version.h) and is asked for here. */
#include "contrib/ncclsim/sim_events.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_shim.h"
#include "contrib/ncclsim/sim_version.h"
#include "contrib/ncclsim/sim_ways.h"

/* The masks of events by which NCCL decides whether to raise one: a parent is
 * raised if one of its children is wanted. */
enum {
    CHILDREN = JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP | JP_NCCL_KERNEL_CH |
               JP_NCCL_NET_PLUGIN,
    CE = JP_NCCL_CE_COLL | JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH,
    WANT_COLL = JP_NCCL_COLL | CHILDREN,
    WANT_P2P = JP_NCCL_P2P | CHILDREN,
    WANT_GROUP = JP_NCCL_GROUP | JP_NCCL_COLL | JP_NCCL_P2P | CHILDREN,
    WANT_COLL_API = JP_NCCL_COLL_API | WANT_COLL | CE,
    WANT_P2P_API = JP_NCCL_P2P_API | WANT_P2P,
    WANT_OLD = JP_NCCL_COLL | JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP,
    WANT_GROUP_API = JP_NCCL_GROUP_API | JP_NCCL_COLL_API | JP_NCCL_P2P_API |
                     JP_NCCL_KERNEL_LAUNCH | WANT_GROUP | CE,
};

/* One call while it is being made. NCCL keeps this state in thread-locals. */
struct call {
    const struct jp_sim_stage *stage;
    struct jp_sim_comm *comm;
    const struct jp_sim_launch *launch;
    struct jp_nccl_plugin_v6 *plugin;
    int mask;         /* mask at the time of the operation's call */
    int in_group_api; /* the GroupApi event was raised */
    void *group_api;
    void *group;
    int64_t base_ns;            /* CLOCK_MONOTONIC at virtual time 0 */
    struct jp_sim_graph *graph; /* NULL: an eager call */
    struct part *parts;         /* [launch->n] */
};

/* One operation of the call: its mask, the handles of its events, and whether
 * NCCL raised one. */
struct part {
    int mask;
    void *api;
    void *task;
    int is_told;
};

/* Calls with more operations allocate their parts. */
enum { FEW_PARTS = 16 };

/* The handle of this thread's last CollApi event, see sim_events.h. */
static __thread void *last_coll_api;

/* Raises an event if the mask has one of the wanted bits. The plugin writes
 * *handle. */
static void start_at(const struct call *call, int wanted, void **handle,
                     struct jp_nccl_descr_v6 *descr)
{
    if (call->plugin && (call->mask & wanted))
        call->plugin->start(call->comm->context, handle, descr);
}

/* The same; returns the handle, or NULL. */
static void *start(const struct call *call, int wanted,
                   struct jp_nccl_descr_v6 *descr)
{
    void *handle = NULL;

    start_at(call, wanted, &handle, descr);
    return handle;
}

/* Ends an event that has a handle. */
static void stop(struct call *call, void *handle)
{
    if (call->plugin && handle)
        call->plugin->stop(handle);
}

/* Returns the data type, and the count in its elements. NCCL turns AllGather
 * and Broadcast into bytes when it enqueues them. */
static const char *datatype_of(const struct jp_sim_op *op, uint64_t *count)
{
    if (op->func == JP_NCCL_ALL_GATHER || op->func == JP_NCCL_BROADCAST) {
        *count = op->bytes;
        return "ncclInt8";
    }
    *count = op->bytes / 2;
    return "ncclBfloat16";
}

/* Raises the GroupApi event once per group call. */
static void begin_group_api(struct call *call)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_GROUP_API};

    if (!sim_nccl()->has_apis || call->in_group_api ||
        !(call->mask & WANT_GROUP_API))
        return;
    call->in_group_api = 1;
    descr.group_api.depth = call->launch->grouped ? 2 : 1;
    descr.group_api.graph_captured = call->launch->mode == SIM_CAPTURE;
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
    if (!sim_nccl()->has_apis)
        return NULL;
    handle = start(call, WANT_P2P_API, &descr);
    stop(call, handle);
    return handle;
}

/* Raises the CollApi event. Returns its handle. */
static void *coll_api(struct call *call, const struct jp_sim_op *op)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_COLL_API,
                                     .parent = call->group_api};

    descr.coll_api.func = sim_cost_func_name(op->func);
    descr.coll_api.count = op->bytes / 2;
    descr.coll_api.datatype = "ncclBfloat16";
    descr.coll_api.root = op->root;
    descr.coll_api.graph_captured = call->launch->mode == SIM_CAPTURE;
    if (!sim_nccl()->has_apis)
        return NULL;
    start_at(call, WANT_COLL_API, &last_coll_api, &descr);
    stop(call, last_coll_api);
    return last_coll_api;
}

/* Raises the API events of all operations, and keeps the mask of each. */
static void call_apis(struct call *call)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        const struct jp_sim_op *op = &call->launch->ops[i];
        struct part *part = &call->parts[i];

        if (op->way == SIM_QUIET)
            continue;
        /* the plugin may change it between two calls */
        call->mask = sim_plugin_mask();
        begin_group_api(call);
        part->api = sim_plan_is_p2p(op) ? p2p_api(call, op)
                                        : coll_api(call, op);
        part->mask = call->mask;
        if (op->way != SIM_KERNEL)
            /* NCCL profiles these ways no further */
            part->mask = 0;
        if (op->func == JP_NCCL_BROADCAST && sim_nccl()->silent_bcast &&
            call->stage->options->silent_broadcast)
            *part = (struct part){0};
    }
    if (call->group_api)
        call->plugin->record(call->group_api, JP_NCCL_GROUP_END_API_START,
                             NULL);
}

/* Returns the mask for events of the plan as a whole: that of the first
 * operation that is profiled. */
static int plan_mask(const struct call *call)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        if (call->parts[i].mask)
            return call->parts[i].mask;
    }
    return 0;
}

/* --first-op: NCCL makes 128 connections before a communicator's first kernel
 * with events. */
static void connect_first(struct call *call)
{
    int64_t us = call->stage->options->first_op_us;
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * 1000};

    if (us > 0 && !call->comm->is_connected && sim_nccl()->has_kernels &&
        (sim_plugin_mask() & JP_NCCL_KERNEL_CH))
        nanosleep(&t, NULL);
    call->comm->is_connected = 1;
}

/* Raises the KernelLaunch event. */
static void launch_kernel(struct call *call)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_KERNEL_LAUNCH,
                                     .parent = call->group_api};

    connect_first(call);
    /* from here on the GPU may run it, before any Coll event */
    call->base_ns =
        sim_clock_catch_up(call->stage->clock, call->launch->ops[0].start_ns);
    call->mask = plan_mask(call);
    if (sim_nccl()->has_apis)
        stop(call, start(call, JP_NCCL_KERNEL_LAUNCH, &descr));
}

/* Whether NCCL raises no Coll or P2p events: up to 2.27 the group needs a
 * handle for them. */
static int is_muted(const struct call *call)
{
    return sim_nccl()->guards_tasks && !call->group;
}

/* Raises the Coll or P2p event of an operation. */
static void start_task(const struct call *call, struct part *part, int wanted,
                       struct jp_nccl_descr_v6 *descr)
{
    /* 2.23 and 2.24 read the mask now, not at the call */
    if (sim_nccl()->late_masks) {
        part->mask = is_muted(call) ? 0 : sim_plugin_mask();
        wanted = WANT_OLD;
    }
    part->is_told = call->plugin && !is_muted(call) && (part->mask & wanted);
    if (part->is_told)
        call->plugin->start(call->comm->context, &part->task, descr);
}

/* Whether NCCL raises the sequence number of the function. For operations of a
 * graph it does so only if all ranks certainly do the same. */
static int raises_seq(const struct call *call, const struct part *part)
{
    const struct jp_sim_nccl *nccl = sim_nccl();

    if (nccl->seq_if_told)
        return part->is_told;
    if (call->launch->mode == SIM_EAGER)
        return 1;
    return call->plugin && (part->mask & JP_NCCL_KERNEL_CH) &&
           (call->group || (nccl->has_apis && part->api));
}

/* --tags: the program's number for a function. */
static uint64_t tag_of(const struct call *call, const struct jp_sim_op *op)
{
    return call->stage->options->tags ? 1 + (uint64_t) op->func : 0;
}

/* Raises the Coll event of a collective. */
static void start_coll(struct call *call, const struct jp_sim_op *op,
                       struct part *part)
{
    uint64_t *seq = &call->comm->seq[op->func];
    struct jp_nccl_descr_v6 descr = {
        .type = JP_NCCL_COLL, .parent = part->api, .rank = call->comm->rank};
    uint64_t count;
    const char *type = datatype_of(op, &count);

    descr.coll.parent_group = call->group;
    descr.coll.seq = *seq;
    descr.coll.func = sim_cost_func_name(op->func);
    descr.coll.count = count;
    descr.coll.root = op->root;
    descr.coll.datatype = type;
    descr.coll.n_channels = (uint8_t) op->n_channels;
    descr.coll.n_warps = 16;
    descr.coll.algo = op->crosses ? "RING" : "NVLS";
    /* --collnet */
    if (op->crosses && op->func == JP_NCCL_ALL_REDUCE &&
        call->stage->options->collnet) {
        descr.coll.algo = "COLLNET_DIRECT";
        if (!sim_nccl()->coll_channels)
            descr.coll.n_channels = 0;
    }
    descr.coll.proto = op->bytes < 1024 * 1024 ? "LL128" : "SIMPLE";
    sim_shim_more = (struct jp_sim_more){.tag = tag_of(call, op),
                                         .symmetric = op->symmetric};
    start_task(call, part, WANT_COLL, &descr);
    if (raises_seq(call, part))
        ++*seq;
}

/* Raises the P2p event of a Send or Recv. */
static void start_p2p(struct call *call, const struct jp_sim_op *op,
                      struct part *part)
{
    struct jp_nccl_descr_v6 descr = {
        .type = JP_NCCL_P2P, .parent = part->api, .rank = call->comm->rank};
    uint64_t count;
    const char *type = datatype_of(op, &count);

    descr.p2p.parent_group = call->group;
    descr.p2p.func = sim_cost_func_name(op->func);
    descr.p2p.count = count;
    descr.p2p.datatype = type;
    descr.p2p.peer = op->peer;
    descr.p2p.n_channels = (uint8_t) op->n_channels;
    sim_shim_more = (struct jp_sim_more){.tag = tag_of(call, op)};
    start_task(call, part, WANT_P2P, &descr);
}

/* Ends the Coll or P2p event. 2.23 and 2.24 end operations without a handle as
 * well. */
static void stop_task(struct call *call, const struct part *part)
{
    if (part->is_told && (part->task || sim_nccl()->stops_null))
        call->plugin->stop(part->task);
}

/* Counts the batches that the GPU will run, until one that never ends. */
static void count_batches(struct call *call, const struct jp_sim_plan *plan)
{
    uint64_t sum = 0;
    int b, end;

    for (b = 0; b < plan->n_batches; b++) {
        int64_t from, to;

        if (plan->works[sim_plan_batch(plan, b, &end, &from, &to)].op.hangs)
            return;
        sum += (uint64_t) (to - from);
    }
    sim_counts_add_batches(&call->comm->counts, plan->n_batches, sum);
}

/* Whether the host counts works at their capture already, see sim_stamps.h. */
static int counts_capture(const struct call *call)
{
    int i;

    for (i = 0; i < call->launch->n; i++) {
        int asked = call->parts[i].mask & JP_NCCL_KERNEL_CH;

        if (asked ? sim_nccl()->adds_at_replay : sim_nccl()->counts_unasked)
            return 1;
    }
    return 0;
}

/* Hands the launch to the progress thread as a plan. */
static void post(struct call *call)
{
    const struct jp_sim_launch *launch = call->launch;
    struct jp_sim_plan *plan = sim_kernels_plan(call->comm->kernels, launch->n);
    int i;

    plan->options = call->stage->options;
    plan->context = call->comm->context;
    plan->rank = call->comm->rank;
    plan->mode = launch->mode;
    plan->persistent = call->comm->persistent;
    plan->gpu_base_ns = call->comm->gpu_offset_ns + (uint64_t) call->base_ns;
    /* only then do events have to be raised at their real times */
    plan->live_base_ns = call->stage->meet ? call->base_ns : 0;
    plan->meet = call->stage->in_operations ? call->stage->meet : NULL;
    plan->gpu_offset_ns = call->comm->gpu_offset_ns;
    for (i = 0; i < launch->n; i++) {
        struct jp_sim_work *w = &plan->works[i];

        w->task = call->parts[i].task;
        w->mask = call->parts[i].mask;
        w->op = launch->ops[i];
        if (call->graph)
            w->bases = call->graph->ops[i].bases;
    }
    sim_plan_arrange(plan);
    if (launch->mode != SIM_CAPTURE)
        count_batches(call, plan);
    sim_proxy_post(call->stage->proxy, plan);
}

/* Whether the plan has operations of the progress thread. A kernel that NCCL
 * makes no plan for has none. */
static int has_proxies(const struct call *call)
{
    int i;

    if (call->launch->ops[0].way != SIM_KERNEL)
        return 0;
    for (i = 0; i < call->launch->n; i++) {
        if (call->launch->ops[i].crosses ||
            (sim_nccl()->has_kernels &&
             (call->parts[i].mask & JP_NCCL_KERNEL_CH)))
            return 1;
    }
    return 0;
}

/* Whether NCCL raises Group, Coll and P2p events for the launch. */
static int is_plan_told(const struct call *call)
{
    if (call->launch->ops[0].way != SIM_KERNEL)
        return 0;
    switch (call->launch->mode) {
    case SIM_CAPTURE:
        return !call->graph->has_proxies && sim_nccl()->tells_capture;
    case SIM_REPLAY:
        return call->graph->has_proxies;
    default:
        return !sim_nccl()->mutes_eager || call->comm->n_graphs == 0 ||
               has_proxies(call);
    }
}

/* Raises the Group event and those of the operations. */
static void start_tasks(struct call *call)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_GROUP};
    int i;

    call->mask = plan_mask(call);
    call->group = start(call, WANT_GROUP, &descr);
    for (i = 0; i < call->launch->n; i++) {
        const struct jp_sim_op *op = &call->launch->ops[i];

        if (sim_plan_is_p2p(op))
            start_p2p(call, op, &call->parts[i]);
        else
            start_coll(call, op, &call->parts[i]);
    }
}

/* Raises the events of the plan and posts it. Everything is counted, whether an
 * event is raised or not. */
static void run_plan(struct call *call)
{
    int is_told = is_plan_told(call);
    int i;

    if (is_told)
        start_tasks(call);
    for (i = 0; i < call->launch->n; i++)
        sim_counts_add(&call->comm->counts, &call->launch->ops[i],
                       call->launch->mode != SIM_CAPTURE,
                       call->parts[i].is_told);
    if (sim_ways_has_works(call->launch->ops[0].way) &&
        (call->launch->mode != SIM_CAPTURE || counts_capture(call)))
        post(call);
    for (i = 0; i < call->launch->n; i++)
        stop_task(call, &call->parts[i]);
    stop(call, call->group);
}

/* Keeps the masks and API handles of a graph for its replays. */
static void capture(struct call *call)
{
    int i;

    call->graph =
        sim_comms_add_graph(call->comm, call->launch->slot, call->launch->n);
    for (i = 0; i < call->launch->n; i++) {
        call->graph->ops[i].mask = call->parts[i].mask;
        call->graph->ops[i].api = call->parts[i].api;
    }
    call->graph->has_proxies = has_proxies(call);
}

/* The user thread's part, from the call to the launch. */
static void enqueue(struct call *call)
{
    int i;

    call->comm->persistent = call->launch->mode == SIM_CAPTURE;
    call_apis(call);
    launch_kernel(call);
    for (i = 0; i < call->launch->n; i++) {
        if (call->launch->ops[i].way == SIM_COPY_ENGINE)
            sim_ways_copy(call->comm, &call->launch->ops[i],
                          call->parts[i].api);
    }
    if (call->launch->mode == SIM_CAPTURE)
        capture(call);
}

/* CUDA's thread before the kernel: takes masks and handles from the capture. */
static void replay(struct call *call)
{
    int i;

    call->graph = sim_comms_graph(call->comm, call->launch->slot);
    call->base_ns =
        sim_clock_catch_up(call->stage->clock, call->launch->ops[0].start_ns);
    for (i = 0; i < call->launch->n; i++) {
        call->parts[i].mask = call->graph->ops[i].mask;
        call->parts[i].api = call->graph->ops[i].api;
    }
}

void sim_events_launch(const struct jp_sim_stage *stage,
                       struct jp_sim_comm *comm,
                       const struct jp_sim_launch *launch)
{
    struct part few[FEW_PARTS] = {{0}};
    struct call call = {
        .stage = stage,
        .comm = comm,
        .launch = launch,
        .plugin = sim_plugin_get(),
        .parts = few,
    };

    /* an AlltoAll of many ranks */
    if (launch->n > FEW_PARTS)
        call.parts = calloc((size_t) launch->n, sizeof(*call.parts));
    if (!call.parts)
        abort();
    if (launch->mode == SIM_REPLAY)
        replay(&call);
    else
        enqueue(&call);
    run_plan(&call);
    stop(&call, call.group_api);
    sim_proxy_flush(stage->proxy);
    if (call.parts != few)
        free(call.parts);
}
