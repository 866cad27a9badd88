/* The proxy progress thread: network and GPU side of what was launched. */
#include "contrib/ncclsim/sim_proxy.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_plugin.h"

enum { RING = 256, BATCH = 16, MAX_STEPS = 8 };
enum { CHUNK_BYTES = 4 * 1024 * 1024 };

struct jp_sim_proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct jp_sim_work ring[RING];
    unsigned head; /* next to take */
    unsigned tail; /* next free; tail - head are pending */
    int stop;
    int idle;
    void *context;
};

/* One operation while it is in progress. */
struct progress {
    struct jp_sim_work work;
    int n_proxies;
    void *proxies[2 * JP_NCCL_MAX_CHANNELS]; /* even: send, odd: receive */
    void *kernels[JP_NCCL_MAX_CHANNELS];
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

/* ------------------------------------------------------------ ProxyCtrl -- */

static void *start_ctrl(struct jp_sim_proxy *proxy)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_PROXY_CTRL};

    if (!(sim_plugin_mask() & JP_NCCL_PROXY_CTRL))
        return NULL;
    return start(proxy->context, &descr);
}

static void turn(struct jp_sim_proxy *proxy, int idle)
{
    void *handle;

    if (proxy->idle == idle)
        return;
    proxy->idle = idle;
    handle = start_ctrl(proxy);
    record(handle, idle ? JP_NCCL_CTRL_IDLE : JP_NCCL_CTRL_ACTIVE, no_args);
    stop(handle);
}

/* -------------------------------------------------- ProxyOp, ProxyStep -- */

static int is_send(const struct jp_sim_op *op, int i)
{
    return op->func == JP_NCCL_SEND || (op->func != JP_NCCL_RECV && i % 2 == 0);
}

/* Collectives send to the next and receive from the previous rank of a ring. */
static int peer_of(const struct progress *p, int i)
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

static void start_proxies(struct progress *p)
{
    const struct jp_sim_work *w = &p->work;
    const int wanted = JP_NCCL_PROXY_OP | JP_NCCL_PROXY_STEP |
                       JP_NCCL_NET_PLUGIN;
    int per_channel = w->op.peer >= 0 ? 1 : 2;
    int i;

    p->n_proxies = 0;
    if (!w->op.crosses || !(w->mask & wanted))
        return;
    p->n_proxies = w->op.n_channels * per_channel;
    for (i = 0; i < p->n_proxies; i++) {
        struct jp_nccl_descr_v6 descr = {
            .type = JP_NCCL_PROXY_OP, .parent = w->task, .rank = w->rank};

        descr.proxy_op.pid = getpid();
        descr.proxy_op.channel = (uint8_t) (i / per_channel);
        descr.proxy_op.peer = peer_of(p, i);
        descr.proxy_op.n_steps = steps_of(&w->op);
        descr.proxy_op.chunk_bytes = CHUNK_BYTES;
        descr.proxy_op.is_send = is_send(&w->op, i);
        p->proxies[i] = start(w->context, &descr);
    }
}

static void one_step(const struct progress *p, int i, int step)
{
    static const int send_states[] = {JP_NCCL_STEP_SEND_GPU_WAIT,
                                      JP_NCCL_STEP_SEND_PEER_WAIT,
                                      JP_NCCL_STEP_SEND_WAIT};
    static const int recv_states[] = {JP_NCCL_STEP_RECV_WAIT,
                                      JP_NCCL_STEP_RECV_FLUSH_WAIT,
                                      JP_NCCL_STEP_RECV_GPU_WAIT};
    const int *states = is_send(&p->work.op, i) ? send_states : recv_states;
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_PROXY_STEP,
                                     .parent = p->proxies[i],
                                     .rank = p->work.rank};
    union jp_nccl_args_v4 args = {.proxy_step.trans_bytes = CHUNK_BYTES};
    void *handle;
    int k;

    descr.proxy_step.step = step;
    handle = start(p->work.context, &descr);
    for (k = 0; k < 3; k++)
        record(handle, states[k], args);
    stop(handle);
}

static void run_proxies(struct progress *p)
{
    int with_steps = p->work.mask & (JP_NCCL_PROXY_STEP | JP_NCCL_NET_PLUGIN);
    int i, step;

    for (i = 0; i < p->n_proxies; i++)
        record(p->proxies[i], JP_NCCL_OP_IN_PROGRESS, no_args);
    for (step = 0; with_steps && step < steps_of(&p->work.op); step++) {
        for (i = 0; i < p->n_proxies; i++)
            one_step(p, i, step);
    }
    for (i = 0; i < p->n_proxies; i++)
        stop(p->proxies[i]);
}

/* ------------------------------------------------------------- KernelCh -- */

/* Channels start one after the other and end the other way round, so that the
 * first one spans the operation. */
static void start_kernels(struct progress *p)
{
    const struct jp_sim_work *w = &p->work;
    int c;

    for (c = 0; c < w->op.n_channels; c++) {
        struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_KERNEL_CH,
                                         .parent = w->task};

        descr.kernel_ch.channel = (uint8_t) c;
        descr.kernel_ch.gpu_ns = w->gpu_base_ns + (uint64_t) w->op.start_ns +
                                 40 * (uint64_t) c;
        p->kernels[c] = w->mask & JP_NCCL_KERNEL_CH ? start(w->context, &descr)
                                                    : NULL;
    }
}

static void stop_kernels(struct progress *p)
{
    const struct jp_sim_work *w = &p->work;
    union jp_nccl_args_v4 args;
    int c;

    for (c = 0; c < w->op.n_channels; c++) {
        args.kernel_ch.gpu_ns = w->gpu_base_ns + (uint64_t) w->op.end_ns -
                                30 * (uint64_t) c;
        record(p->kernels[c], JP_NCCL_KERNEL_CH_STOP, args);
        stop(p->kernels[c]);
    }
}

/* ------------------------------------------------------------ the thread -- */

/* Takes up to BATCH operations, waiting for the first; 0 at the end. */
static int take(struct jp_sim_proxy *proxy, struct progress *batch)
{
    void *asleep = NULL;
    int n = 0;

    pthread_mutex_lock(&proxy->lock);
    if (proxy->head == proxy->tail && !proxy->stop) {
        asleep = start_ctrl(proxy);
        record(asleep, JP_NCCL_CTRL_SLEEP, no_args);
        while (proxy->head == proxy->tail && !proxy->stop)
            pthread_cond_wait(&proxy->changed, &proxy->lock);
        record(asleep, JP_NCCL_CTRL_WAKEUP, no_args);
        stop(asleep);
    }
    while (n < BATCH && proxy->head != proxy->tail)
        batch[n++].work = proxy->ring[proxy->head++ % RING];
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->lock);
    return n;
}

static void append(struct jp_sim_proxy *proxy, struct progress *batch, int n)
{
    union jp_nccl_args_v4 args = {.proxy_ctrl.appended = n};
    void *handle = start_ctrl(proxy);
    int i;

    record(handle, JP_NCCL_CTRL_APPEND, no_args);
    for (i = 0; i < n; i++)
        start_proxies(&batch[i]);
    record(handle, JP_NCCL_CTRL_APPEND_END, args);
    stop(handle);
}

static void *proxy_main(void *data)
{
    struct jp_sim_proxy *proxy = data;
    struct progress *batch = calloc(BATCH, sizeof(*batch));
    int n, i;

    if (!batch)
        abort();
    while ((n = take(proxy, batch)) > 0) {
        append(proxy, batch, n);
        turn(proxy, 0);
        for (i = 0; i < n; i++) {
            start_kernels(&batch[i]);
            run_proxies(&batch[i]);
            stop_kernels(&batch[i]);
        }
        turn(proxy, 1);
    }
    free(batch);
    return NULL;
}

struct jp_sim_proxy *sim_proxy_create(void *context, struct jp_error *err)
{
    struct jp_sim_proxy *proxy = calloc(1, sizeof(*proxy));

    if (!proxy) {
        error_set(err, "no memory");
        return NULL;
    }
    proxy->context = context;
    proxy->idle = 1;
    pthread_mutex_init(&proxy->lock, NULL);
    pthread_cond_init(&proxy->changed, NULL);
    if (pthread_create(&proxy->thread, NULL, proxy_main, proxy) != 0) {
        error_set(err, "no thread");
        free(proxy);
        return NULL;
    }
    return proxy;
}

void sim_proxy_post(struct jp_sim_proxy *proxy, const struct jp_sim_work *work)
{
    pthread_mutex_lock(&proxy->lock);
    while (proxy->tail - proxy->head == RING)
        pthread_cond_wait(&proxy->changed, &proxy->lock);
    proxy->ring[proxy->tail++ % RING] = *work;
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->lock);
}

void sim_proxy_destroy(struct jp_sim_proxy *proxy)
{
    if (!proxy)
        return;
    pthread_mutex_lock(&proxy->lock);
    proxy->stop = 1;
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->lock);
    pthread_join(proxy->thread, NULL);
    pthread_cond_destroy(&proxy->changed);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}
