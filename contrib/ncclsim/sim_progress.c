/* What the proxy thread reports of one operation: its network and its GPU. */
#include "contrib/ncclsim/sim_progress.h"

#include <unistd.h>

#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_shim.h"

enum { MAX_STEPS = 8, CHUNK_BYTES = 4 * 1024 * 1024 };

/* The last host whose ProxyOps report each of their steps. */
enum { CHATTY_HOST = 3 };

enum {
    WANT_PROXY = JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN,
    WANT_STEP = JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN,
};

static void *start(void *context, struct jp_nccl_descr_v6 *descr)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    void *handle = NULL;

    if (plugin)
        plugin->start(context, &handle, descr);
    return handle;
}

static void stop(void *handle)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->stop(handle);
}

static void record(void *handle, int state, union jp_nccl_args_v4 args)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->record(handle, state, &args);
}

static const union jp_nccl_args_v4 no_args;

/* ------------------------------------------------------------- ProxyOp -- */

static int per_channel(const struct jp_sim_op *op)
{
    return op->peer >= 0 ? 1 : 2;
}

static int is_send(const struct jp_sim_op *op, int i)
{
    return op->func == JP_NCCL_SEND || (op->func != JP_NCCL_RECV && i % 2 == 0);
}

/* Collectives send to the next and receive from the previous rank of a ring. */
static int peer_of(const struct jp_sim_progress *p, int i)
{
    const struct jp_sim_op *op = &p->work.op;
    int n = op->group->n;

    if (op->peer >= 0)
        return op->peer;
    return (p->work.rank + (i % 2 == 0 ? 1 : n - 1)) % n;
}

static int steps_of(const struct jp_sim_op *op)
{
    uint64_t steps = op->bytes / CHUNK_BYTES / (uint64_t) op->n_channels + 1;

    return steps < MAX_STEPS ? (int) steps : MAX_STEPS;
}

static void start_proxies(struct jp_sim_progress *p)
{
    const struct jp_sim_work *w = &p->work;
    int i;

    for (i = 0; i < p->n_proxies; i++) {
        struct jp_nccl_descr_v6 descr = {
            .type = JP_NCCL_PROXY_OP, .parent = w->task, .rank = w->rank};

        descr.proxy_op.pid = getpid();
        descr.proxy_op.channel = (uint8_t) (i / per_channel(&w->op));
        descr.proxy_op.peer = peer_of(p, i);
        descr.proxy_op.n_steps = steps_of(&w->op);
        descr.proxy_op.chunk_bytes = CHUNK_BYTES;
        descr.proxy_op.is_send = is_send(&w->op, i);
        p->proxies[i] = start(w->context, &descr);
    }
}

void sim_progress_append(struct jp_sim_progress *p)
{
    const struct jp_sim_op *op = &p->work.op;

    p->n_proxies = 0;
    p->n_kernels = 0;
    if (op->peer == p->work.rank)
        return;
    if (op->n_missing < op->n_channels)
        p->n_kernels = op->n_channels - op->n_missing;
    if (op->crosses && (p->work.mask & WANT_PROXY))
        p->n_proxies = op->n_channels * per_channel(op);
    if (sim_plugin_host() > CHATTY_HOST)
        start_proxies(p);
}

static void stop_proxies(struct jp_sim_progress *p, int sends)
{
    int i;

    for (i = 0; i < p->n_proxies; i++) {
        if (is_send(&p->work.op, i) == sends)
            stop(p->proxies[i]);
    }
}

/* ------------------------------------------------------------ ProxyStep -- */

/* What a step reports at its k-th turn, and what before 2.27 its ProxyOp
 * reported just ahead of it. */
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

static void old_state(void *proxy, int state, int step)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    union jp_nccl_args_v1 args = {
        .proxy_op = {.trans_bytes = (size_t) step * CHUNK_BYTES,
                     .steps = step}};

    if (plugin && proxy && sim_plugin_host() <= CHATTY_HOST)
        plugin->record(proxy, state, (union jp_nccl_args_v4 *) &args);
}

static void one_step(const struct jp_sim_progress *p, int i, int step)
{
    int sends = is_send(&p->work.op, i);
    const struct turn *turns = sends ? send_turns : recv_turns;
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_PROXY_STEP,
                                     .parent = p->proxies[i],
                                     .rank = p->work.rank};
    union jp_nccl_args_v4 args = {.proxy_step.trans_bytes = CHUNK_BYTES};
    int n_turns = p->work.op.hangs ? 1 : 3;
    void *handle = NULL;
    int k;

    descr.proxy_step.step = step;
    if (p->work.mask & WANT_STEP)
        handle = start(p->work.context, &descr);
    for (k = 0; k < n_turns; k++) {
        old_state(p->proxies[i], turns[k].op_state, step + 1);
        if (p->proxies[i])
            record(handle, turns[k].step_state, args);
    }
    if (p->work.op.hangs)
        return;
    stop(handle);
    old_state(p->proxies[i], sends ? SIM_OP_SEND_DONE : SIM_OP_RECV_DONE,
              step + 1);
}

static void run_steps(struct jp_sim_progress *p)
{
    int chatty = sim_plugin_host() <= CHATTY_HOST;
    int n = p->work.op.hangs ? 1 : steps_of(&p->work.op);
    int i, step;

    if (!chatty && !(p->work.mask & WANT_STEP))
        return;
    for (step = 0; step < n; step++) {
        for (i = 0; i < p->n_proxies; i++)
            one_step(p, i, step);
    }
}

/* ------------------------------------------------------------- KernelCh -- */

/* Channels start one after the other and end the other way round, so that the
 * first one spans the operation. */
static void start_kernels(struct jp_sim_progress *p)
{
    const struct jp_sim_work *w = &p->work;
    int c;

    for (c = 0; c < p->n_kernels; c++) {
        struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_KERNEL_CH,
                                         .parent = w->task};

        descr.kernel_ch.channel = (uint8_t) c;
        descr.kernel_ch.gpu_ns = w->gpu_base_ns + (uint64_t) w->op.start_ns +
                                 40 * (uint64_t) c;
        p->kernels[c] = w->mask & JP_NCCL_KERNEL_CH ? start(w->context, &descr)
                                                    : NULL;
    }
}

static void stop_kernels(struct jp_sim_progress *p)
{
    const struct jp_sim_work *w = &p->work;
    union jp_nccl_args_v4 args;
    int c;

    for (c = 0; c < p->n_kernels; c++) {
        args.kernel_ch.gpu_ns = w->gpu_base_ns + (uint64_t) w->op.end_ns -
                                30 * (uint64_t) c;
        record(p->kernels[c], JP_NCCL_KERNEL_CH_STOP, args);
        stop(p->kernels[c]);
    }
}

/* The kernel ends when it has received everything and posted its last send:
 * receives are over by then, sends still on the wire. */
void sim_progress_run(struct jp_sim_progress *p)
{
    int i;

    if (sim_plugin_host() <= CHATTY_HOST)
        start_proxies(p);
    else
        for (i = 0; i < p->n_proxies; i++)
            record(p->proxies[i], JP_NCCL_OP_IN_PROGRESS, no_args);
    start_kernels(p);
    run_steps(p);
    if (p->work.op.hangs)
        return;
    stop_proxies(p, 0);
    stop_kernels(p);
    stop_proxies(p, 1);
}
