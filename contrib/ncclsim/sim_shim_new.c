/* sim_shim_new.c - profiler tables v4, v5 and v7, wrapped as v6. */
#include "contrib/ncclsim/sim_shim.h"

#include <string.h>

static struct jp_nccl_plugin_v4 *v4;
static struct jp_nccl_plugin_v5 *v5;
static struct jp_nccl_plugin_v7 *v7;

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

/* --- v7 ------------------------------------------------------------------ */

__thread struct jp_sim_more sim_shim_more;

static void fill_coll(struct jp_nccl_coll_v7 *to,
                      const struct jp_nccl_coll_v5 *from)
{
    *to = (struct jp_nccl_coll_v7){
        .seq = from->seq,
        .func = from->func,
        .send_buf = from->send_buf,
        .recv_buf = from->recv_buf,
        .count = from->count,
        .root = from->root,
        .datatype = from->datatype,
        .n_channels = from->n_channels,
        .n_warps = from->n_warps,
        .algo = from->algo,
        .proto = from->proto,
        .parent_group = from->parent_group,
        .variant = sim_shim_more.symmetric ? "AllReduce_RSxLD_AGxST" : NULL,
        .symmetric = sim_shim_more.symmetric,
        .tag = sim_shim_more.tag,
    };
}

/* The members of these events only grew. */
static void fill_rest(struct jp_nccl_descr_v7 *to,
                      const struct jp_nccl_descr_v6 *from)
{
    switch (from->type) {
    case JP_NCCL_COLL_API:
        memcpy(&to->coll_api, &from->coll_api, sizeof(from->coll_api));
        break;
    case JP_NCCL_P2P_API:
        memcpy(&to->p2p_api, &from->p2p_api, sizeof(from->p2p_api));
        break;
    case JP_NCCL_P2P:
        memcpy(&to->p2p, &from->p2p, sizeof(from->p2p));
        to->p2p.tag = sim_shim_more.tag;
        break;
    case JP_NCCL_CE_COLL:
        memcpy(&to->ce_coll, &from->ce_coll, sizeof(from->ce_coll));
        break;
    case JP_NCCL_GROUP_API:
        to->group_api = from->group_api;
        break;
    case JP_NCCL_KERNEL_LAUNCH:
        to->kernel_launch = from->kernel_launch;
        break;
    case JP_NCCL_PROXY_OP:
        to->proxy_op = from->proxy_op;
        break;
    case JP_NCCL_PROXY_STEP:
        to->proxy_step = from->proxy_step;
        break;
    case JP_NCCL_KERNEL_CH:
        to->kernel_ch = from->kernel_ch;
        break;
    case JP_NCCL_NET_PLUGIN:
        to->net_plugin = from->net_plugin;
        break;
    case JP_NCCL_CE_SYNC:
        to->ce_sync = from->ce_sync;
        break;
    case JP_NCCL_CE_BATCH:
        to->ce_batch = from->ce_batch;
        break;
    default: /* Group, ProxyCtrl: nothing */
        break;
    }
}

static int start_v7(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    struct jp_nccl_descr_v7 to = {
        .type = d->type, .parent = d->parent, .rank = d->rank};

    if (d->type == JP_NCCL_COLL)
        fill_coll(&to.coll, &d->coll);
    else
        fill_rest(&to, d);
    return v7->start(context, handle, &to);
}

void sim_shim_phases(void *context, void *kernel, uint8_t channel,
                     const uint64_t times[4])
{
    static const char *const names[] = {"initial_sync", "compute",
                                        "final_sync"};

    for (uint8_t i = 0; v7 && i < JP_NCCL_N_PHASES; i++) {
        struct jp_nccl_descr_v7 d = {.type = JP_NCCL_KERNEL_PHASE,
                                     .parent = kernel,
                                     .kernel_phase = {.channel = channel,
                                                      .phase = i,
                                                      .name = names[i],
                                                      .gpu_ns = times[i]}};
        union jp_nccl_args_v4 args = {.kernel_ch.gpu_ns = times[i + 1]};
        void *handle = NULL;

        if (times[i] == times[i + 1]) /* NCCL leaves it out */
            continue;
        v7->start(context, &handle, &d);
        if (!handle)
            continue;
        v7->record(handle, JP_NCCL_KERNEL_PHASE_STOP, &args);
        v7->stop(handle);
    }
}

struct jp_nccl_plugin_v6 *sim_shim_v7(void *table)
{
    static struct jp_nccl_plugin_v6 shim;

    v7 = table;
    shim = (struct jp_nccl_plugin_v6){v7->name, v7->init,   start_v7,
                                      v7->stop, v7->record, v7->finalize};
    return &shim;
}
