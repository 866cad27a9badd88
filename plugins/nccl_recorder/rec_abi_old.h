/* rec_abi_old.h - the adapter for v1, v2 and v3, whose events differ little.
 *
 * rec_abi.c includes this file once for each, with VERSION (1, 2, 3), FUNC(d)
 * and DATATYPE(d) defined: the names of a function and a datatype as the
 * interface hands them over. ALGO(d) and PROTO(d) are NULL where the interface
 * only has numbers.
 */

#define DESCR JP_REC_NAME(jp_nccl_descr_v, VERSION)

static int NAME(init)(void **context, int *mask)
{
    static const struct jp_rec_comm_facts unknown;

    return begin_both(VERSION, &unknown, NULL, context, mask);
}

static void *NAME(start_coll)(struct jp_rec_thread *thread,
                              struct jp_rec_comm *comm, const struct DESCR *d)
{
    struct jp_rec_start start = {
        .kind = JPR_COLL,
        .func = FUNC(d->coll),
        .seq = d->coll.seq,
        .count = d->coll.count,
        .datatype = DATATYPE(d->coll),
        .algo = ALGO(d->coll),
        .proto = PROTO(d->coll),
        .root = d->coll.root,
        .peer = -1,
    };

    rec_comm_identify(comm, d->coll.comm_hash, d->coll.comm_name, d->rank);
    return rec_core_op(thread, comm, &start);
}

static void *NAME(start_p2p)(struct jp_rec_thread *thread,
                             struct jp_rec_comm *comm, const struct DESCR *d)
{
    struct jp_rec_start start = {
        .kind = JPR_P2P,
        .func = FUNC(d->p2p),
        .count = d->p2p.count,
        .datatype = DATATYPE(d->p2p),
        .root = -1,
        .peer = d->p2p.peer,
    };

    rec_comm_identify(comm, d->p2p.comm_hash, d->p2p.comm_name, d->rank);
    return rec_core_op(thread, comm, &start);
}

static void NAME(start_event)(struct jp_rec_thread *thread, void *context,
                              void **handle, const struct DESCR *d)
{
    struct jp_rec_comm *comm = rec_comm_get(context);

    *handle = NULL;
    switch (d->type) {
    case JP_NCCL_GROUP:
        *handle = rec_core_launch(thread, comm);
        break;
    case JP_NCCL_COLL:
        *handle = comm ? NAME(start_coll)(thread, comm, d)
                       : rec_comm_foreign(context);
        break;
    case JP_NCCL_P2P:
        *handle = comm ? NAME(start_p2p)(thread, comm, d)
                       : rec_comm_foreign(context);
        break;
    case JP_NCCL_PROXY_OP:
        *handle = rec_core_proxy(d->parent, d->proxy_op.pid);
        break;
    case JP_NCCL_PROXY_STEP:
        *handle = rec_net_start(d->parent);
        break;
    default:
        break;
    }
}

#define CAPTURED(d) false
#include "plugins/nccl_recorder/rec_abi_both.h"
#undef CAPTURED

JP_REC_EXPORT struct JP_REC_NAME(jp_nccl_plugin_v, VERSION)
    JP_REC_NAME(ncclProfiler_v, VERSION) = {
        .name = "jobprof",
        .init = NAME(init),
        .start = NAME(start),
        .stop = stop_both,
        .record = record_both_v1,
        .finalize = end_both,
};

#undef DESCR
#undef FUNC
#undef DATATYPE
#undef ALGO
#undef PROTO
#undef VERSION
