/* sim_graph.c - CUDA graphs: the thread that replays them.
 *
 * One replay at a time is handed over. The user thread waits only if it needs
 * the slot again, or the communicator of the running replay. */
#include "contrib/ncclsim/sim_graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The thread and the one replay that it runs. `changed` is for both directions.
 */
struct jp_sim_host {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int busy;
    int stop;
    struct jp_sim_stage stage;
    struct jp_sim_comm *comm;
    struct jp_sim_launch launch;
    struct jp_sim_op *ops;
    int n_room;
};

/* The thread: runs a replay, without the lock, and reports its end. */
static void *host_main(void *data)
{
    struct jp_sim_host *host = data;

    pthread_mutex_lock(&host->lock);
    while (!host->stop) {
        if (!host->busy) {
            pthread_cond_wait(&host->changed, &host->lock);
            continue;
        }
        pthread_mutex_unlock(&host->lock);
        sim_events_launch(&host->stage, host->comm, &host->launch);
        pthread_mutex_lock(&host->lock);
        host->busy = 0;
        pthread_cond_broadcast(&host->changed);
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

struct jp_sim_host *sim_host_create(struct jp_error *err)
{
    struct jp_sim_host *host = calloc(1, sizeof(*host));

    if (!host) {
        error_set(err, "no memory");
        return NULL;
    }
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->changed, NULL);
    if (pthread_create(&host->thread, NULL, host_main, host) != 0) {
        error_set(err, "no thread");
        free(host);
        return NULL;
    }
    /* the name that CUDA gives its thread */
    pthread_setname_np(host->thread, "cuda-host"); /* as CUDA's is called */
    return host;
}

/* Copies the launch, whose operations belong to the caller. */
static void copy_launch(struct jp_sim_host *host,
                        const struct jp_sim_launch *launch)
{
    if (launch->n > host->n_room) {
        free(host->ops);
        host->ops = calloc((size_t) launch->n, sizeof(*host->ops));
        host->n_room = launch->n;
    }
    if (!host->ops)
        abort();
    memcpy(host->ops, launch->ops, (size_t) launch->n * sizeof(*host->ops));
    host->launch = *launch;
    host->launch.ops = host->ops;
}

void sim_host_run(struct jp_sim_host *host, const struct jp_sim_stage *stage,
                  struct jp_sim_comm *comm, const struct jp_sim_launch *launch)
{
    pthread_mutex_lock(&host->lock);
    /* one slot only, as CUDA runs the nodes of a stream in order */
    while (host->busy)
        pthread_cond_wait(&host->changed, &host->lock);
    copy_launch(host, launch);
    host->stage = *stage;
    host->comm = comm;
    host->busy = 1;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
}

void sim_host_wait(struct jp_sim_host *host, const struct jp_sim_comm *comm)
{
    if (!host)
        return;
    pthread_mutex_lock(&host->lock);
    while (host->busy && (!comm || host->comm == comm))
        pthread_cond_wait(&host->changed, &host->lock);
    pthread_mutex_unlock(&host->lock);
}

void sim_host_destroy(struct jp_sim_host *host)
{
    if (!host)
        return;
    sim_host_wait(host, NULL);
    pthread_mutex_lock(&host->lock);
    host->stop = 1;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    pthread_join(host->thread, NULL);
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->lock);
    free(host->ops);
    free(host);
}
