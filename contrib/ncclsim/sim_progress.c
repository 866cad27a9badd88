/* sim_progress.c - what the progress thread reports of one launch: its network
 * and its GPU.
 *
 * sim_progress_append takes a plan over: it creates the ProxyOps and begins to
 * watch the kernels. sim_progress_run runs it batch by batch: the kernel
 * starts, the steps of the network run, the kernel ends. All events go through
 * start, stop and record. */
#include "contrib/ncclsim/sim_progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_kernels.h"
#include "contrib/ncclsim/sim_meet.h"
#include "contrib/ncclsim/sim_pace.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_shim.h"
#include "contrib/ncclsim/sim_version.h"

/* Shortest time from the last rank's start to the end. */
#define LEAVING_NS 20000

enum { MAX_STEPS = 8, CHUNK_BYTES = 4 * 1024 * 1024 };

enum {
    WANT_PROXY = JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN,
    WANT_STEP = JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN,
};

/* Raises an event. Returns its handle, or NULL. */
static void *start(void *context, struct jp_nccl_descr_v6 *descr)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    void *handle = NULL;

    if (plugin)
        plugin->start(context, &handle, descr);
    return handle;
}

/* Ends an event that has a handle. */
static void stop(void *handle)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->stop(handle);
}

/* Reports a state of an event that has a handle. */
static void record(void *handle, int state, union jp_nccl_args_v4 args)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->record(handle, state, &args);
}

static const union jp_nccl_args_v4 no_args;

/* ------------------------------------------------------------- ProxyOp -- */

/* Returns the number of ProxyOps per channel: a message has one direction, a
 * collective two. */
static int per_channel(const struct jp_sim_op *op)
{
    return op->peer >= 0 ? 1 : 2;
}

/* Whether the i-th ProxyOp sends. */
static int is_send(const struct jp_sim_op *op, int i)
{
    return op->func == JP_NCCL_SEND || (op->func != JP_NCCL_RECV && i % 2 == 0);
}

/* Returns the peer of the i-th ProxyOp. Collectives send to the next rank of a
 * ring and receive from the previous one. */
static int peer_of(const struct jp_sim_plan *plan, const struct jp_sim_op *op,
                   int i)
{
    int n = op->group->n;

    if (op->peer >= 0)
        return op->peer;
    return (plan->rank + (i % 2 == 0 ? 1 : n - 1)) % n;
}

/* Returns the number of steps of a ProxyOp. */
static int steps_of(const struct jp_sim_op *op)
{
    uint64_t steps = op->bytes / CHUNK_BYTES / (uint64_t) op->n_channels + 1;

    return steps < MAX_STEPS ? (int) steps : MAX_STEPS;
}

/* Whether NCCL raises the work's ProxyOps. In 2.27 all P2P operations of a
 * batch in one direction share a connection on each channel, and only the first
 * one's ProxyOp is reported. */
static int is_first(const struct jp_sim_plan *plan,
                    const struct jp_sim_work *work)
{
    const struct jp_sim_work *w;

    if (!sim_nccl()->first_proxies || work->op.peer < 0)
        return 1;
    for (w = work - 1; w >= plan->works && w->batch == work->batch; w--) {
        if (w->op.func == work->op.func && w->op.crosses)
            return 0;
    }
    return 1;
}

/* Raises the ProxyOps of a work. */
static void start_proxies(struct jp_sim_plan *plan, struct jp_sim_work *w)
{
    int i;

    for (i = 0; i < w->n_proxies && is_first(plan, w); i++) {
        struct jp_nccl_descr_v6 descr = {
            .type = JP_NCCL_PROXY_OP, .parent = w->task, .rank = plan->rank};

        descr.proxy_op.pid = getpid();
        descr.proxy_op.channel =
            (uint8_t) (w->op.channel + i / per_channel(&w->op));
        descr.proxy_op.peer = peer_of(plan, &w->op, i);
        descr.proxy_op.n_steps = steps_of(&w->op);
        descr.proxy_op.chunk_bytes = CHUNK_BYTES;
        descr.proxy_op.is_send = is_send(&w->op, i);
        w->proxies[i] = start(plan->context, &descr);
    }
}

/* Reports ProxyOps of another process (--pxn), whose messages leave by our HCA.
 * Context and parent are addresses in that process. Up to v3, whose table we
 * fill ourselves, the shim dereferences the context, so it must be readable. */
static void tell_foreign(const struct jp_sim_plan *plan,
                         const struct jp_sim_work *w)
{
    static void *old_context[8] = {(void *) 0x5eed0000};
    int interface =
        plan->options->interface > 0 ? plan->options->interface : sim_nccl()->interface;
    void *context = interface > 3 ? (void *) 0x5eed0000 : (void *) old_context;
    struct jp_nccl_descr_v6 op = {.type = JP_NCCL_PROXY_OP,
                                  .parent = (void *) 0x5eed1000,
                                  .rank = plan->rank + 1};
    struct jp_nccl_descr_v6 step = {.type = JP_NCCL_PROXY_STEP,
                                    .rank = plan->rank + 1};
    void *handle;

    op.proxy_op.pid = getpid() + 1;
    op.proxy_op.peer = (plan->rank + 2) % w->op.group->n;
    op.proxy_op.n_steps = 1;
    op.proxy_op.chunk_bytes = CHUNK_BYTES;
    op.proxy_op.is_send = 1;
    handle = start(context, &op);
    step.parent = handle;
    if (w->mask & WANT_STEP && (handle || !sim_nccl()->step_needs_op))
        stop(start(context, &step));
    stop(handle);
}

/* Creates the ProxyOps of a work that crosses nodes. */
static void append_proxies(struct jp_sim_plan *plan, struct jp_sim_work *w)
{
    if (!w->op.crosses || !(w->mask & WANT_PROXY) || sim_plan_is_self(plan, w))
        return;
    if (plan->options->pxn)
        tell_foreign(plan, w);
    w->n_proxies = w->op.n_channels * per_channel(&w->op);
    w->proxies = calloc((size_t) w->n_proxies, sizeof(*w->proxies));
    if (!w->proxies)
        abort();
    /* before 2.27 they start at their first progress */
    if (!sim_nccl()->chatty_proxies)
        start_proxies(plan, w);
}

/* Ends the ProxyOps of one direction. */
static void stop_proxies(const struct jp_sim_work *w, int sends)
{
    int i;

    for (i = 0; i < w->n_proxies; i++) {
        if (is_send(&w->op, i) == sends)
            stop(w->proxies[i]);
    }
}

/* ------------------------------------------------------------ ProxyStep -- */

/* What a step reports at its k-th turn, and what its ProxyOp reported just
 * before that in releases before 2.27. */
struct turn {
    int step_state;
    int op_state;
};

static const struct turn send_turns[] = {
    {JP_NCCL_STEP_SEND_GPU_WAIT, SIM_OP_SEND_POSTED},
    {JP_NCCL_STEP_SEND_PEER_WAIT, SIM_OP_SEND_REM_FIFO_WAIT},
    {JP_NCCL_STEP_SEND_WAIT, SIM_OP_SEND_TRANSMITTED},
};
static const struct turn recv_turns[] = {
    {JP_NCCL_STEP_RECV_WAIT, SIM_OP_RECV_POSTED},
    {JP_NCCL_STEP_RECV_FLUSH_WAIT, SIM_OP_RECV_RECEIVED},
    {JP_NCCL_STEP_RECV_GPU_WAIT, SIM_OP_RECV_TRANSMITTED},
};

/* Reports a state of a ProxyOp, as releases before 2.27 do. */
static void old_state(void *proxy, int state, int step)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    union jp_nccl_args_v1 args = {
        .proxy_op = {.trans_bytes = (size_t) step * CHUNK_BYTES,
                     .steps = step}};

    if (plugin && proxy && sim_nccl()->chatty_proxies)
        plugin->record(proxy, state, (union jp_nccl_args_v4 *) &args);
}

/* Runs one step of one ProxyOp. A step that hangs reports its first state only.
 */
static void one_step(const struct jp_sim_plan *plan,
                     const struct jp_sim_work *w, int i, int step)
{
    int sends = is_send(&w->op, i);
    const struct turn *turns = sends ? send_turns : recv_turns;
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_PROXY_STEP,
                                     .parent = w->proxies[i],
                                     .rank = plan->rank};
    union jp_nccl_args_v4 args = {.proxy_step.trans_bytes = CHUNK_BYTES};
    int n_turns = w->op.hangs ? 1 : 3;
    void *handle = NULL;
    int k;

    descr.proxy_step.step = step;
    if (w->mask & WANT_STEP && (w->proxies[i] || !sim_nccl()->step_needs_op))
        handle = start(plan->context, &descr);
    for (k = 0; k < n_turns; k++) {
        old_state(w->proxies[i], turns[k].op_state, step + 1);
        if (w->proxies[i])
            record(handle, turns[k].step_state, args);
    }
    if (w->op.hangs)
        return;
    stop(handle);
    old_state(w->proxies[i], sends ? SIM_OP_SEND_DONE : SIM_OP_RECV_DONE,
              step + 1);
}

/* Runs all steps of a work; the ProxyOps take turns. */
static void run_steps(const struct jp_sim_plan *plan,
                      const struct jp_sim_work *w)
{
    int n = w->op.hangs ? 1 : steps_of(&w->op);
    int i, step;

    if (!sim_nccl()->chatty_proxies && !(w->mask & WANT_STEP))
        return;
    for (step = 0; step < n; step++) {
        for (i = 0; i < w->n_proxies; i++)
            one_step(plan, w, i, step);
    }
}

/* --------------------------------------------------------------- the plan --
 */

/* Looks at the GPU's counters, unless the thread lags. */
static void poll(const struct jp_sim_plan *plan)
{
    if (plan->options->lag == 0 && !plan->options->late_events)
        sim_kernels_poll(plan->kernels);
}

void sim_progress_append(struct jp_sim_plan *plan)
{
    int i;

    if (plan->mode != SIM_CAPTURE) {
        for (i = 0; i < plan->n; i++)
            append_proxies(plan, &plan->works[i]);
    }
    if (!sim_nccl()->has_kernels)
        return;
    /* the kernels of the last launch stay unreported until the communicator is
     * destroyed */
    if (plan->options->late_events)
        sim_kernels_poll(plan->kernels);
    sim_kernels_append(plan);
    poll(plan);
}

/* Starts the ProxyOps, or reports that they make progress. */
static void begin_proxies(struct jp_sim_plan *plan, struct jp_sim_work *w)
{
    int i;

    if (sim_nccl()->chatty_proxies)
        start_proxies(plan, w);
    else
        for (i = 0; i < w->n_proxies; i++)
            record(w->proxies[i], JP_NCCL_OP_IN_PROGRESS, no_args);
}

/* Whether it is an operation in which ranks wait for each other. */
static int is_met(const struct jp_sim_op *op)
{
    return op->peer < 0 && op->group->n > 1 && !op->hangs;
}

/* Waits until all ranks have begun the batch's operations. Returns when they
 * end, for all ranks alike. */
static int64_t meet(const struct jp_sim_plan *plan, int batch)
{
    int64_t start_ns, end_ns, over;
    int end, i = sim_plan_batch(plan, batch, &end, &start_ns, &end_ns);

    over = plan->live_base_ns + end_ns;
    for (; i < end; i++) {
        const struct jp_sim_op *op = &plan->works[i].op;
        int64_t last = is_met(op) ? sim_meet_all(plan->meet, op->group->hash,
                                                 op->number, op->group->n)
                                  : 0;

        /* the last rank decides */
        if (last + LEAVING_NS > over)
            over = last + LEAVING_NS;
    }
    sim_pace_sleep_until(over);
    return over;
}

/* Reports to the other ranks that the batch's operations have begun. */
static void arrive(const struct jp_sim_plan *plan, int batch)
{
    int64_t start_ns, end_ns;
    int end, i = sim_plan_batch(plan, batch, &end, &start_ns, &end_ns);

    for (; i < end; i++)
        if (is_met(&plan->works[i].op))
            sim_meet_arrive(plan->meet, plan->works[i].op.group->hash,
                            plan->works[i].op.number,
                            plan->works[i].op.group->n);
}

/* Lets the kernel of a batch start or end, at its time. */
static void run_kernel(const struct jp_sim_plan *plan, int batch,
                       enum jp_sim_phase phase)
{
    int64_t start_ns, end_ns, real_ns = 0;
    int end;

    if (plan->live_base_ns > 0) {
        sim_plan_batch(plan, batch, &end, &start_ns, &end_ns);
        sim_pace_sleep_until(plan->live_base_ns +
                             (phase == SIM_STARTED ? start_ns : end_ns));
    }
    if (plan->meet)
        real_ns = phase == SIM_STARTED ? sim_pace_now_ns() : meet(plan, batch);
    /* otherwise the GPU's times are those of the model, whenever the host sees
     * them */
    if (!plan->options->together)
        real_ns = 0;
    if (sim_nccl()->has_kernels) {
        sim_kernels_run(plan, batch, phase, real_ns);
        poll(plan);
    }
    /* after the start is reported, so that the ranks that wait for it end later
     */
    if (plan->meet && phase == SIM_STARTED)
        arrive(plan, batch);
}

/* Runs a batch, which is the works `from` to `to`. The kernel ends when it has
 * received everything and posted its last send: then receives have ended, and
 * sends are still on the wire. Returns whether it ended. */
static int run_batch(struct jp_sim_plan *plan, int from, int to)
{
    int hangs = 0;
    int i;

    for (i = from; i < to; i++)
        begin_proxies(plan, &plan->works[i]);
    run_kernel(plan, plan->works[from].batch, SIM_STARTED);
    for (i = from; i < to; i++) {
        run_steps(plan, &plan->works[i]);
        hangs |= plan->works[i].op.hangs;
    }
    if (hangs)
        return 0;
    for (i = from; i < to; i++)
        stop_proxies(&plan->works[i], 0);
    run_kernel(plan, plan->works[from].batch, SIM_COMPLETED);
    for (i = from; i < to; i++)
        stop_proxies(&plan->works[i], 1);
    return 1;
}

void sim_progress_run(struct jp_sim_plan *plan)
{
    int from, to;

    for (from = 0; plan->mode != SIM_CAPTURE && from < plan->n; from = to) {
        for (to = from;
             to < plan->n && plan->works[to].batch == plan->works[from].batch;)
            to++;
        /* the GPU runs nothing after an operation that hangs */
        if (!run_batch(plan, from, to))
            break;
    }
    if (plan->options->lag > 0)
        sim_kernels_poll_late(plan->kernels, plan->options->lag);
    sim_kernels_over(plan);
}
