/* sim_shim_new.c - profiler tables v4 and v5, wrapped as v6. */
#include "contrib/ncclsim/sim_shim.h"

static struct jp_nccl_plugin_v4 *v4;
static struct jp_nccl_plugin_v5 *v5;

/* v4 has the arguments in another order. */
static int init_v4(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    return v4->init(context, mask, name, hash, n_nodes, n_ranks, rank, log);
}

/* Converts an event. Events that v4 does not have are dropped: the handle stays
 * NULL. */
static int start_v4(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    struct jp_nccl_descr_v4 old = {
        .type = (uint8_t) d->type, .parent = d->parent, .rank = d->rank};

    *handle = NULL;
    switch (d->type) {
    case JP_NCCL_GROUP:
    case JP_NCCL_PROXY_CTRL:
        break;
    case JP_NCCL_COLL:
        /* v4 has no API events, so the parent is the group */
        old.parent = d->coll.parent_group;
        old.coll = (struct jp_nccl_coll_v4){.seq = d->coll.seq,
                                            .func = d->coll.func,
                                            .send_buf = d->coll.send_buf,
                                            .recv_buf = d->coll.recv_buf,
                                            .count = d->coll.count,
                                            .root = d->coll.root,
                                            .datatype = d->coll.datatype,
                                            .n_channels = d->coll.n_channels,
                                            .n_warps = d->coll.n_warps,
                                            .algo = d->coll.algo,
                                            .proto = d->coll.proto};
        break;
    case JP_NCCL_P2P:
        old.parent = d->p2p.parent_group;
        old.p2p = (struct jp_nccl_p2p_v4){.func = d->p2p.func,
                                          .buf = d->p2p.buf,
                                          .datatype = d->p2p.datatype,
                                          .count = d->p2p.count,
                                          .peer = d->p2p.peer,
                                          .n_channels = d->p2p.n_channels};
        break;
    case JP_NCCL_PROXY_OP:
        old.proxy_op = d->proxy_op;
        break;
    case JP_NCCL_PROXY_STEP:
        old.proxy_step = d->proxy_step;
        break;
    case JP_NCCL_KERNEL_CH:
        old.kernel_ch = d->kernel_ch;
        break;
    case JP_NCCL_NET_PLUGIN:
        old.net_plugin = d->net_plugin;
        break;
    default:
        return JP_NCCL_SUCCESS;
    }
    return v4->start(context, handle, &old);
}

/* Drops states that v4 does not have. */
static int record_v4(void *handle, int state, union jp_nccl_args_v4 *args)
{
    if (state < JP_NCCL_STEP_SEND_GPU_WAIT || state > JP_NCCL_KERNEL_CH_STOP)
        return JP_NCCL_SUCCESS;
    return v4->record(handle, state, args);
}

struct jp_nccl_plugin_v6 *sim_shim_v4(void *table)
{
    /* one process loads one plugin */
    static struct jp_nccl_plugin_v6 shim;

    v4 = table;
    shim = (struct jp_nccl_plugin_v6){v4->name, init_v4,   start_v4,
                                      v4->stop, record_v4, v4->finalize};
    return &shim;
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    int rc = v5->init(context, hash, mask, name, n_nodes, n_ranks, rank, log);

    *mask &= ~(JP_NCCL_CE_COLL | JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH);
    return rc;
}

/* v6 only added members to v5's union, and its size is the same. */
static_assert(sizeof(struct jp_nccl_descr_v5) ==
                  sizeof(struct jp_nccl_descr_v6),
              "a v6 event is a v5 event");

/* Drops the events of the copy engines; all others have the same layout. */
static int start_v5(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    if (d->type >= JP_NCCL_CE_COLL) {
        *handle = NULL;
        return JP_NCCL_SUCCESS;
    }
    return v5->start(context, handle, (struct jp_nccl_descr_v5 *) d);
}

struct jp_nccl_plugin_v6 *sim_shim_v5(void *table)
{
    static struct jp_nccl_plugin_v6 shim;

    v5 = table;
    shim = (struct jp_nccl_plugin_v6){v5->name, init_v5,    start_v5,
                                      v5->stop, v5->record, v5->finalize};
    return &shim;
}
