/* What NCCL's events mean: the one core behind all six interfaces. */
#include "plugins/nccl_recorder/rec_core.h"

#include <unistd.h>

#include "plugins/nccl_recorder/rec_queue.h"
#include "plugins/nccl_recorder/rec_writer.h"

/* A loose operation that is this quiet is over: the channels or proxies of one
 * operation start within microseconds of each other. */
#define QUIET_NS 500000000ULL

static enum jp_rec_source exec_time(const struct jp_rec_op *op, uint64_t *us)
{
    if (op->gpu_max_ns > 0) {
        *us = op->gpu_max_ns / 1000;
        return JP_REC_KERNEL_GPU;
    }
    if (op->host_max_ns > 0) {
        *us = op->host_max_ns / 1000;
        return JP_REC_KERNEL_CPU;
    }
    *us = op->child_ns > op->start_ns ? (op->child_ns - op->start_ns) / 1000
                                      : 0;
    return JP_REC_COLLECTIVE_CPU;
}

/* Turns a locked operation into a record on its way to the writer; unlocks. */
static void finish(struct jp_rec_op *op)
{
    uint64_t age_ns = rec_op_now_ns() - op->last_ns;
    struct jp_rec_record record = {
        .comm = op->comm,
        .seq = op->facts.seq,
        .bytes = op->facts.bytes,
        .done_us = (rec_op_wall_ns() - age_ns) / 1000,
        .peer = op->facts.peer,
        .func = (uint8_t) op->facts.func,
        .is_p2p = op->facts.is_p2p,
    };
    bool wake = false;

    record.source = (uint8_t) exec_time(op, &record.exec_us);
    rec_op_retire(op);
    if (!rec_queue_push(&record, &wake))
        atomic_fetch_add(&record.comm->counts[record.func].lost, 1);
    if (wake)
        rec_writer_wake();
}

static bool children_open(const struct jp_rec_op *op)
{
    return op->channels_open != 0 || op->proxies_open > 0;
}

/* Unlocks a locked operation, finishing it if that was its last event. */
static void settle(struct jp_rec_op *op)
{
    if (op->enqueued && !children_open(op) && !op->loose &&
        op->channels_done >= op->facts.n_channels)
        finish(op);
    else
        pthread_mutex_unlock(&op->lock);
}

static void finish_if_quiet(struct jp_rec_op *op, void *now)
{
    /* an event may have come since `now` was taken: signed difference */
    int64_t quiet = (int64_t) (*(uint64_t *) now - op->last_ns);

    if (op->loose && op->enqueued && !children_open(op) &&
        (op->channels_done > 0 || !op->facts.kernel_reports) &&
        quiet > (int64_t) QUIET_NS)
        finish(op);
    else
        pthread_mutex_unlock(&op->lock);
}

static void finish_if_of(struct jp_rec_op *op, void *comm)
{
    if (!comm || op->comm == comm)
        finish(op);
    else
        pthread_mutex_unlock(&op->lock);
}

void rec_core_finish_all(struct jp_rec_comm *comm)
{
    rec_op_each(finish_if_of, comm);
}

void rec_core_finish_quiet(void)
{
    uint64_t now = rec_op_now_ns();

    if (rec_op_any_loose())
        rec_op_each(finish_if_quiet, &now);
}

void *rec_core_op(struct jp_rec_comm *comm, const struct jp_rec_op_facts *facts)
{
    struct jp_rec_count *count = &comm->counts[facts->func];
    uint64_t seq = facts->is_p2p ? atomic_fetch_add(&comm->p2p_seq, 1) + 1
                                 : facts->seq;
    struct jp_rec_op *op;
    void *handle;

    atomic_fetch_add(&count->produced, 1);
    op = rec_op_create();
    if (!op) {
        atomic_fetch_add(&count->lost, 1);
        return NULL;
    }
    op->comm = comm;
    op->facts = *facts;
    op->facts.seq = seq;
    op->start_ns = rec_op_now_ns();
    op->last_ns = op->start_ns;
    if (facts->n_channels <= 0)
        rec_op_set_loose(op);
    handle = rec_op_handle(op, JP_REC_OP, 0);
    pthread_mutex_unlock(&op->lock);
    return handle;
}

/* The operation behind a parent handle, locked; NULL when it is over. */
static struct jp_rec_op *find_parent(void *parent)
{
    enum jp_rec_kind kind;
    unsigned channel;
    struct jp_rec_op *op = rec_op_find(parent, &kind, &channel);

    if (op && kind != JP_REC_OP) {
        pthread_mutex_unlock(&op->lock);
        op = NULL;
    }
    return op;
}

void *rec_core_kernel(void *parent, unsigned channel, uint64_t gpu_ns)
{
    struct jp_rec_op *op;
    void *handle;

    if (channel >= JP_NCCL_MAX_CHANNELS || !(op = find_parent(parent)))
        return NULL;
    op->last_ns = rec_op_now_ns();
    op->channels_open |= 1ULL << channel;
    op->channels[channel].gpu_start_ns = gpu_ns;
    op->channels[channel].host_start_ns = op->last_ns;
    handle = rec_op_handle(op, JP_REC_KERNEL, channel);
    pthread_mutex_unlock(&op->lock);
    return handle;
}

void *rec_core_proxy(void *parent, pid_t pid)
{
    struct jp_rec_op *op;
    void *handle;

    /* With PXN the operation is another process's; so is its handle. */
    if (pid != getpid() || !(op = find_parent(parent)))
        return NULL;
    op->last_ns = rec_op_now_ns();
    op->proxies_open++;
    handle = rec_op_handle(op, JP_REC_PROXY, 0);
    pthread_mutex_unlock(&op->lock);
    return handle;
}

static void stop_channel(struct jp_rec_op *op, unsigned channel)
{
    uint64_t bit = 1ULL << channel;
    uint64_t host_ns = op->last_ns - op->channels[channel].host_start_ns;

    if (!(op->channels_open & bit))
        return;
    op->channels_open &= ~bit;
    op->channels_done++;
    op->child_ns = op->last_ns;
    if (host_ns > op->host_max_ns)
        op->host_max_ns = host_ns;
}

int rec_core_stop(void *handle)
{
    enum jp_rec_kind kind;
    unsigned channel;
    struct jp_rec_op *op = rec_op_find(handle, &kind, &channel);

    if (!op)
        return JP_NCCL_SUCCESS;
    op->last_ns = rec_op_now_ns();
    if (kind == JP_REC_OP) {
        op->enqueued = true;
    } else if (kind == JP_REC_KERNEL) {
        stop_channel(op, channel);
    } else if (op->proxies_open > 0) {
        op->proxies_open--;
        op->child_ns = op->last_ns;
    }
    settle(op);
    return JP_NCCL_SUCCESS;
}

int rec_core_record_v1(void *handle, int state, union jp_nccl_args_v1 *args)
{
    (void) handle;
    (void) state;
    (void) args;
    return JP_NCCL_SUCCESS;
}

int rec_core_record_v4(void *handle, int state, union jp_nccl_args_v4 *args)
{
    enum jp_rec_kind kind;
    unsigned channel;
    struct jp_rec_op *op;
    uint64_t start_ns;

    if (state != JP_NCCL_KERNEL_CH_STOP || !args)
        return JP_NCCL_SUCCESS;
    op = rec_op_find(handle, &kind, &channel);
    if (!op)
        return JP_NCCL_SUCCESS;
    start_ns = op->channels[channel % JP_NCCL_MAX_CHANNELS].gpu_start_ns;
    if (kind == JP_REC_KERNEL && start_ns > 0 &&
        args->kernel_ch.gpu_ns > start_ns &&
        args->kernel_ch.gpu_ns - start_ns > op->gpu_max_ns)
        op->gpu_max_ns = args->kernel_ch.gpu_ns - start_ns;
    pthread_mutex_unlock(&op->lock);
    return JP_NCCL_SUCCESS;
}
