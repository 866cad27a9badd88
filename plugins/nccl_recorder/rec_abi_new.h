/* rec_abi_new.h - the adapter for v4 to v7, whose events differ little.
 *
 * rec_abi.c includes this file once for each, with VERSION (4 to 7) defined.
 * In v4 the arguments of init() have another order, and there are no API
 * events: the parent of an operation is its launch.
 */

#define DESCR JP_REC_NAME(jp_nccl_descr_v, VERSION)

#if VERSION == 4
#define API_OF(d) NULL
static int NAME(init)(void **context, int *mask, const char *comm_name,
                      uint64_t comm_hash, int n_nodes, int n_ranks, int rank,
                      jp_nccl_log_fn *log)
#else
#define API_OF(d) (d)->parent
static int NAME(init)(void **context, uint64_t comm_hash, int *mask,
                      const char *comm_name, int n_nodes, int n_ranks, int rank,
                      jp_nccl_log_fn *log)
#endif
{
    struct jp_rec_comm_facts facts = {
        .known = true,
        .name = comm_name,
        .hash = comm_hash,
        .rank = rank,
        .n_ranks = n_ranks,
        .n_nodes = n_nodes,
    };

    return begin_both(VERSION, &facts, log, context, mask);
}

static void *NAME(start_coll)(struct jp_rec_thread *thread,
                              struct jp_rec_comm *comm, const struct DESCR *d)
{
    struct jp_rec_start start = {
        .kind = JPR_COLL,
        .func = d->coll.func,
        .seq = d->coll.seq,
        .count = d->coll.count,
        .datatype = d->coll.datatype,
        .algo = d->coll.algo,
        .proto = d->coll.proto,
        .root = d->coll.root,
        .peer = -1,
        .n_channels = d->coll.n_channels,
        .api = API_OF(d),
    };

#if VERSION >= 7
    /* of a symmetric launch only the first operation has channels */
    start.tag = d->coll.tag;
    start.symmetric = d->coll.symmetric;
    start.silent = d->coll.symmetric && d->coll.n_channels == 0 &&
                   rec_trust_enabled();
#endif
    return rec_core_op(thread, comm, &start);
}

static void *NAME(start_p2p)(struct jp_rec_thread *thread,
                             struct jp_rec_comm *comm, const struct DESCR *d)
{
    bool self = d->p2p.peer == comm->about.rank;
    struct jp_rec_start start = {
        .kind = JPR_P2P,
        .func = d->p2p.func,
        .count = d->p2p.count,
        .datatype = d->p2p.datatype,
        .root = -1,
        .peer = d->p2p.peer,
        .n_channels = d->p2p.n_channels,
        .silent = self,
        .self_copy = self,
        .api = API_OF(d),
    };

#if VERSION >= 7
    /* a copy to oneself is counted, and reported, like any message */
    start.tag = d->p2p.tag;
    start.silent = start.self_copy = false;
#endif
    return rec_core_op(thread, comm, &start);
}

#if VERSION >= 5
static void *NAME(start_coll_api)(struct jp_rec_thread *thread,
                                  struct jp_rec_comm *comm,
                                  const struct DESCR *d)
{
    struct jp_rec_call call = {
        .func = d->coll_api.func,
        .datatype = d->coll_api.datatype,
        .count = d->coll_api.count,
        .root = d->coll_api.root,
        .graph_captured = d->coll_api.graph_captured,
    };

    return rec_core_api(thread, comm, &call);
}

static void *NAME(start_p2p_api)(struct jp_rec_thread *thread,
                                 struct jp_rec_comm *comm,
                                 const struct DESCR *d)
{
    struct jp_rec_call call = {
        .func = d->p2p_api.func,
        .datatype = d->p2p_api.datatype,
        .count = d->p2p_api.count,
        .graph_captured = d->p2p_api.graph_captured,
        .is_p2p = true,
    };

    return rec_core_api(thread, comm, &call);
}
#endif

#if VERSION >= 6
static void *NAME(start_ce)(struct jp_rec_thread *thread,
                            struct jp_rec_comm *comm, const struct DESCR *d)
{
    struct jp_rec_start start = {
        .kind = JPR_CE,
        .func = d->ce_coll.func,
        .seq = d->ce_coll.seq,
        .count = d->ce_coll.count,
        .datatype = d->ce_coll.datatype,
        .algo = d->ce_coll.sync_strategy,
        .root = d->ce_coll.root,
        .peer = -1,
        .api = API_OF(d),
    };

#if VERSION >= 7
    start.tag = d->ce_coll.tag;
#endif
    return rec_core_op(thread, comm, &start);
}
#endif

static void NAME(start_event)(struct jp_rec_thread *thread, void *context,
                              void **handle, const struct DESCR *d)
{
    struct jp_rec_comm *comm;

    if (d->type == JP_NCCL_KERNEL_CH) { /* most events are of this type: the
                                           shortest path */
        *handle = rec_core_kernel(d->parent, d->kernel_ch.channel,
                                  d->kernel_ch.gpu_ns);
        return;
    }
    *handle = NULL;
    comm = rec_comm_get(context);
    switch (d->type) {
    case JP_NCCL_GROUP:
        *handle = rec_core_launch(thread, comm);
        if (VERSION > 4) /* NCCL reports operations without one as well */
            *handle = NULL;
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
#if VERSION >= 5
    case JP_NCCL_GROUP_API:
        rec_core_calls(thread, d->group_api.depth);
        break;
    case JP_NCCL_COLL_API:
        *handle = NAME(start_coll_api)(thread, comm, d);
        break;
    case JP_NCCL_P2P_API:
        *handle = NAME(start_p2p_api)(thread, comm, d);
        break;
#endif
#if VERSION >= 7
    case JP_NCCL_KERNEL_PHASE:
        *handle = rec_core_phase(thread, d->parent, d->kernel_phase.phase,
                                 d->kernel_phase.gpu_ns);
        break;
#endif
#if VERSION >= 6
    case JP_NCCL_CE_COLL:
        *handle = comm ? NAME(start_ce)(thread, comm, d)
                       : rec_comm_foreign(context);
        break;
#endif
    default:
        break;
    }
}

#if VERSION >= 5
#define CAPTURED(d)                                                            \
    ((d)->type == JP_NCCL_COLL_API    ? (d)->coll_api.graph_captured           \
     : (d)->type == JP_NCCL_P2P_API   ? (d)->p2p_api.graph_captured            \
     : (d)->type == JP_NCCL_GROUP_API ? (d)->group_api.graph_captured          \
                                      : false)
#else
#define CAPTURED(d) false
#endif
#include "plugins/nccl_recorder/rec_abi_both.h"
#undef CAPTURED

JP_REC_EXPORT struct JP_REC_NAME(jp_nccl_plugin_v, VERSION)
    JP_REC_NAME(ncclProfiler_v, VERSION) = {
        .name = "jobprof",
        .init = NAME(init),
        .start = NAME(start),
        .stop = stop_both,
        .record = record_both_v4,
        .finalize = end_both,
};

#undef API_OF
#undef DESCR
#undef VERSION
