/* NCCL's profiler interface v1 in terms of the recorder's core. */
#include "plugins/nccl_recorder/rec_abi.h"
#include "plugins/nccl_recorder/rec_core.h"
#include "plugins/nccl_recorder/rec_life.h"

static int init(void **context, int *mask)
{
    static const struct jp_rec_comm_facts unknown;

    return rec_life_init(1, &unknown, NULL, context, mask);
}

static void *start_coll(struct jp_rec_comm *comm,
                        const struct jp_nccl_descr_v1 *d)
{
    struct jp_rec_op_facts facts = {
        .func = rec_func_from_v1(d->coll.func),
        .seq = d->coll.seq,
        .bytes = d->coll.count * rec_func_type_bytes_v1(d->coll.datatype),
    };

    rec_comm_identify(comm, d->coll.comm_hash, d->coll.comm_name, d->rank);
    return rec_core_op(comm, &facts);
}

static void *start_p2p(struct jp_rec_comm *comm,
                       const struct jp_nccl_descr_v1 *d)
{
    struct jp_rec_op_facts facts = {
        .is_p2p = true,
        .func = rec_func_from_v1(d->p2p.func),
        .bytes = d->p2p.count * rec_func_type_bytes_v1(d->p2p.datatype),
        .peer = d->p2p.peer,
    };

    rec_comm_identify(comm, d->p2p.comm_hash, d->p2p.comm_name, d->rank);
    return rec_core_op(comm, &facts);
}

static int start(void *context, void **handle, struct jp_nccl_descr_v1 *d)
{
    struct jp_rec_comm *comm = rec_comm_get(context);

    *handle = NULL;
    if (!comm)
        return JP_NCCL_SUCCESS;
    if (d->type == JP_NCCL_COLL)
        *handle = start_coll(comm, d);
    else if (d->type == JP_NCCL_P2P)
        *handle = start_p2p(comm, d);
    else if (d->type == JP_NCCL_PROXY_OP)
        *handle = rec_core_proxy(d->parent, d->proxy_op.pid);
    return JP_NCCL_SUCCESS;
}

JP_REC_EXPORT struct jp_nccl_plugin_v1 ncclProfiler_v1 = {
    .name = "jobprof",
    .init = init,
    .start = start,
    .stop = rec_core_stop,
    .record = rec_core_record_v1,
    .finalize = rec_life_finalize,
};
