/* NCCL's profiler interface v4 in terms of the recorder's core. */
#include "plugins/nccl_recorder/rec_abi.h"
#include "plugins/nccl_recorder/rec_core.h"
#include "plugins/nccl_recorder/rec_life.h"

static int init(void **context, int *mask, const char *comm_name,
                uint64_t comm_hash, int n_nodes, int n_ranks, int rank,
                jp_nccl_log_fn *log)
{
    struct jp_rec_comm_facts facts = {
        .known = true,
        .name = comm_name,
        .hash = comm_hash,
        .rank = rank,
        .n_ranks = n_ranks,
        .n_nodes = n_nodes,
    };

    return rec_life_init(4, &facts, log, context, mask);
}

static void *start_coll(struct jp_rec_comm *comm,
                        const struct jp_nccl_descr_v4 *d)
{
    struct jp_rec_op_facts facts = {
        .func = rec_func_find(d->coll.func),
        .seq = d->coll.seq,
        .bytes = d->coll.count * rec_func_type_bytes(d->coll.datatype),
        .n_channels = d->coll.n_channels,
        .kernel_reports = d->coll.n_channels > 0,
    };

    return rec_core_op(comm, &facts);
}

static void *start_p2p(struct jp_rec_comm *comm,
                       const struct jp_nccl_descr_v4 *d)
{
    struct jp_rec_op_facts facts = {
        .is_p2p = true,
        .func = rec_func_find(d->p2p.func),
        .bytes = d->p2p.count * rec_func_type_bytes(d->p2p.datatype),
        .peer = d->p2p.peer,
        .n_channels = d->p2p.n_channels,
        .kernel_reports = d->p2p.n_channels > 0,
    };

    return rec_core_op(comm, &facts);
}

static int start(void *context, void **handle, struct jp_nccl_descr_v4 *d)
{
    struct jp_rec_comm *comm = rec_comm_get(context);

    *handle = NULL;
    if (!comm)
        return JP_NCCL_SUCCESS;
    if (d->type == JP_NCCL_COLL)
        *handle = start_coll(comm, d);
    else if (d->type == JP_NCCL_P2P)
        *handle = start_p2p(comm, d);
    else if (d->type == JP_NCCL_KERNEL_CH)
        *handle = rec_core_kernel(d->parent, d->kernel_ch.channel,
                                  d->kernel_ch.gpu_ns);
    return JP_NCCL_SUCCESS;
}

JP_REC_EXPORT struct jp_nccl_plugin_v4 ncclProfiler_v4 = {
    .name = "jobprof",
    .init = init,
    .start = start,
    .stop = rec_core_stop,
    .record = rec_core_record_v4,
    .finalize = rec_life_finalize,
};
