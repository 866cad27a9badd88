/* sim_proxy.c - the proxy progress thread: it takes the launches and runs them.
 *
 * A ring connects it with the user thread. The thread takes up to BATCH
 * launches at once, appends all of them, then runs them one after the other,
 * while the user thread goes on. Inline, there is no thread, and the ring is
 * emptied by sim_proxy_flush(). */
#include "contrib/ncclsim/sim_proxy.h"

#include <pthread.h>
#include <stdlib.h>

#include "contrib/ncclsim/sim_plugin.h"

enum { RING = 256, BATCH = 16 };

struct jp_sim_proxy {
    pthread_t thread;
    int is_inline;
    pthread_mutex_t lock;
    pthread_cond_t posted;
    pthread_cond_t taken;
    struct jp_sim_plan *ring[RING];
    unsigned head; /* index of the next one to take */
    unsigned tail; /* index of the next free place; tail - head are pending */
    int stop;
    int busy;   /* runs launches that it has taken */
    int asleep; /* waits for `posted`, within a sleep event */
    int moving; /* the user thread waits in sim_proxy_move() */
    int idle;   /* the last ProxyCtrl state that was reported */
    void *context;
    struct jp_sim_plan *batch[BATCH];
};

/* ------------------------------------------------------------ ProxyCtrl -- */

/* Raises a ProxyCtrl event, if it is wanted. Returns its handle, or NULL. */
static void *start_ctrl(const struct jp_sim_proxy *proxy)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_PROXY_CTRL};
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    void *handle = NULL;

    if (plugin && proxy->context && (sim_plugin_mask() & JP_NCCL_PROXY_CTRL))
        plugin->start(proxy->context, &handle, &descr);
    return handle;
}

/* Reports a state of the thread. */
static void record_ctrl(void *handle, int state, int appended)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    union jp_nccl_args_v4 args = {.proxy_ctrl.appended = appended};

    if (plugin && handle && (sim_plugin_mask() & JP_NCCL_PROXY_CTRL))
        plugin->record(handle, state, &args);
}

/* Ends a ProxyCtrl event. */
static void stop_ctrl(void *handle)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->stop(handle);
}

/* Reports that the thread becomes idle or active. */
static void turn(struct jp_sim_proxy *proxy, int idle)
{
    void *handle;

    if (proxy->idle == idle)
        return;
    proxy->idle = idle;
    handle = start_ctrl(proxy);
    record_ctrl(handle, idle ? JP_NCCL_CTRL_IDLE : JP_NCCL_CTRL_ACTIVE, 0);
    stop_ctrl(handle);
}

/* ----------------------------------------------------------- the thread -- */

/* Sleeps until something is posted, between the states sleep and wakeup. Called
 * with the lock. */
static void sleep_until_posted(struct jp_sim_proxy *proxy)
{
    void *handle = start_ctrl(proxy);

    record_ctrl(handle, JP_NCCL_CTRL_SLEEP, 0);
    proxy->asleep = 1;
    pthread_cond_wait(&proxy->posted, &proxy->lock);
    proxy->asleep = 0;
    record_ctrl(handle, JP_NCCL_CTRL_WAKEUP, 0);
    stop_ctrl(handle);
}

/* Lets sim_proxy_move() continue while this thread holds no handle. Another
 * move, with operations before it, may come before this thread notices that the
 * first one is over. */
static void let_move(struct jp_sim_proxy *proxy)
{
    pthread_cond_broadcast(&proxy->taken);
    while (proxy->moving && proxy->head == proxy->tail)
        pthread_cond_wait(&proxy->posted, &proxy->lock);
}

/* Takes up to BATCH launches, and waits for the first one. Returns their
 * number; 0: the end. */
static int take_launches(struct jp_sim_proxy *proxy)
{
    int n = 0;

    pthread_mutex_lock(&proxy->lock);
    proxy->busy = 0;
    while (proxy->head == proxy->tail && !proxy->stop) {
        if (proxy->moving)
            let_move(proxy);
        else
            sleep_until_posted(proxy);
    }
    while (n < BATCH && proxy->head != proxy->tail)
        proxy->batch[n++] = proxy->ring[proxy->head++ % RING];
    proxy->busy = n > 0;
    pthread_cond_broadcast(&proxy->taken);
    pthread_mutex_unlock(&proxy->lock);
    return n;
}

/* Takes over all launches of a batch, within one append event. */
static void append(struct jp_sim_proxy *proxy, int n)
{
    void *handle = start_ctrl(proxy);
    int i;

    record_ctrl(handle, JP_NCCL_CTRL_APPEND, 0);
    for (i = 0; i < n; i++)
        sim_progress_append(proxy->batch[i]);
    record_ctrl(handle, JP_NCCL_CTRL_APPEND_END, n);
    stop_ctrl(handle);
}

/* The thread. */
static void *proxy_main(void *data)
{
    struct jp_sim_proxy *proxy = data;
    int n, i;

    while ((n = take_launches(proxy)) > 0) {
        append(proxy, n);
        turn(proxy, 0);
        for (i = 0; i < n; i++)
            sim_progress_run(proxy->batch[i]);
        turn(proxy, 1);
    }
    return NULL;
}

struct jp_sim_proxy *sim_proxy_create(int is_inline, struct jp_error *err)
{
    struct jp_sim_proxy *proxy = calloc(1, sizeof(*proxy));

    if (!proxy) {
        error_set(err, "no memory");
        return NULL;
    }
    proxy->is_inline = is_inline;
    proxy->idle = 1;
    pthread_mutex_init(&proxy->lock, NULL);
    pthread_cond_init(&proxy->posted, NULL);
    pthread_cond_init(&proxy->taken, NULL);
    if (!is_inline &&
        pthread_create(&proxy->thread, NULL, proxy_main, proxy) != 0) {
        error_set(err, "no thread");
        free(proxy);
        return NULL;
    }
    return proxy;
}

void sim_proxy_post(struct jp_sim_proxy *proxy, struct jp_sim_plan *plan)
{
    /* one thread only: no lock */
    if (proxy->is_inline) {
        if (proxy->tail - proxy->head == RING)
            sim_proxy_flush(proxy);
        proxy->ring[proxy->tail++ % RING] = plan;
        return;
    }
    pthread_mutex_lock(&proxy->lock);
    while (proxy->tail - proxy->head == RING)
        pthread_cond_wait(&proxy->taken, &proxy->lock);
    proxy->ring[proxy->tail++ % RING] = plan;
    if (proxy->asleep)
        pthread_cond_broadcast(&proxy->posted);
    pthread_mutex_unlock(&proxy->lock);
}

void sim_proxy_flush(struct jp_sim_proxy *proxy)
{
    while (proxy->is_inline && proxy->head != proxy->tail) {
        struct jp_sim_plan *plan = proxy->ring[proxy->head++ % RING];

        sim_progress_append(plan);
        sim_progress_run(plan);
    }
}

void sim_proxy_move(struct jp_sim_proxy *proxy, void *context)
{
    if (proxy->is_inline) {
        sim_proxy_flush(proxy);
        proxy->context = context;
        return;
    }
    pthread_mutex_lock(&proxy->lock);
    proxy->moving = 1;
    pthread_cond_broadcast(&proxy->posted);
    /* then the thread neither works nor is within a sleep event */
    while (proxy->busy || proxy->asleep || proxy->head != proxy->tail)
        pthread_cond_wait(&proxy->taken, &proxy->lock);
    proxy->context = context;
    proxy->moving = 0;
    pthread_cond_broadcast(&proxy->posted);
    pthread_mutex_unlock(&proxy->lock);
}

void sim_proxy_destroy(struct jp_sim_proxy *proxy)
{
    if (!proxy)
        return;
    sim_proxy_flush(proxy);
    pthread_mutex_lock(&proxy->lock);
    proxy->stop = 1;
    pthread_cond_broadcast(&proxy->posted);
    pthread_mutex_unlock(&proxy->lock);
    if (!proxy->is_inline)
        pthread_join(proxy->thread, NULL);
    pthread_cond_destroy(&proxy->posted);
    pthread_cond_destroy(&proxy->taken);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}
