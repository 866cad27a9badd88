/* sim_ways.c - operations for which NCCL does not use its usual kernels. */
#include "contrib/ncclsim/sim_ways.h"

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_plugin.h"
#include "contrib/ncclsim/sim_version.h"

/* Whether all ranks reach the same memory, which symmetric kernels and copy
 * engines need: a single node. */
static int in_node(const struct jp_sim_op *op)
{
    return op->group->n > 1 && op->group->n_nodes == 1;
}

/* Whether NCCL has a symmetric kernel for the function. */
static int is_symmetric(const struct jp_sim_op *op)
{
    return in_node(op) &&
           (op->func == JP_NCCL_ALL_REDUCE || op->func == JP_NCCL_ALL_GATHER ||
            op->func == JP_NCCL_REDUCE_SCATTER);
}

/* Returns how NCCL does the operation. */
static enum jp_sim_way way_of(const struct jp_sim_options *options,
                              const struct jp_sim_launch *launch,
                              const struct jp_sim_op *op)
{
    const struct jp_sim_nccl *nccl = sim_nccl();

    if (op->bytes == 0 || (options->quiet_single && op->group->n == 1))
        return SIM_QUIET;
    /* several Broadcasts in a group become one AllGatherV */
    if (op->func == JP_NCCL_BROADCAST)
        return launch->n > 1 && nccl->silent_bcast ? SIM_ALLGATHERV
                                                   : SIM_KERNEL;
    if (options->copy_engine && nccl->has_copy_engine && in_node(op) &&
        op->func == JP_NCCL_ALL_GATHER)
        return SIM_COPY_ENGINE;
    if (options->symmetric && nccl->has_symmetric && is_symmetric(op))
        return nccl->tells_symmetric ? SIM_KERNEL : SIM_SYMMETRIC;
    return SIM_KERNEL;
}

void sim_ways_set(const struct jp_sim_options *options,
                  const struct jp_sim_launch *launch)
{
    int i;

    for (i = 0; i < launch->n; i++) {
        struct jp_sim_op *op = &launch->ops[i];

        /* Send and Recv always use a kernel */
        if (!sim_plan_is_p2p(op))
            op->way = way_of(options, launch, op);
        op->symmetric = options->symmetric && sim_nccl()->tells_symmetric &&
                        op->way == SIM_KERNEL && is_symmetric(op);
    }
}

int sim_ways_has_works(enum jp_sim_way way)
{
    return way == SIM_KERNEL || way == SIM_ALLGATHERV;
}

/* Raises an event if it is wanted. Returns its handle, or NULL. */
static void *start(struct jp_sim_comm *comm, int wanted,
                   struct jp_nccl_descr_v6 *descr)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();
    void *handle = NULL;

    descr->rank = comm->rank;
    if (plugin && (sim_plugin_mask() & wanted))
        plugin->start(comm->context, &handle, descr);
    return handle;
}

/* Ends an event that has a handle. */
static void stop(void *handle)
{
    struct jp_nccl_plugin_v6 *plugin = sim_plugin_get();

    if (plugin && handle)
        plugin->stop(handle);
}

/* Raises the event of the ranks' synchronisation before or after the copies. */
static void sync_ranks(struct jp_sim_comm *comm, void *coll, int is_complete)
{
    struct jp_nccl_descr_v6 descr = {.type = JP_NCCL_CE_SYNC, .parent = coll};

    descr.ce_sync.is_complete = is_complete;
    descr.ce_sync.n_ranks = comm->group->n;
    stop(start(comm, JP_NCCL_CE_SYNC, &descr));
}

/* The mask is read now, not at the time of the call. */
void sim_ways_copy(struct jp_sim_comm *comm, const struct jp_sim_op *op,
                   void *api)
{
    struct jp_nccl_descr_v6 coll = {.type = JP_NCCL_CE_COLL, .parent = api};
    struct jp_nccl_descr_v6 batch = {.type = JP_NCCL_CE_BATCH};
    void *handle;

    if (!sim_nccl()->copy_events)
        return;
    coll.ce_coll.seq = comm->copies;
    coll.ce_coll.ce_seq = (uint32_t) comm->copies++;
    coll.ce_coll.func = sim_cost_func_name(op->func);
    coll.ce_coll.count = op->bytes;
    coll.ce_coll.datatype = "ncclInt8";
    coll.ce_coll.root = op->root;
    coll.ce_coll.sync_strategy = "MC";
    handle = start(comm, JP_NCCL_CE_COLL | JP_NCCL_CE_SYNC | JP_NCCL_CE_BATCH,
                   &coll);
    sync_ranks(comm, handle, 0);
    batch.parent = handle;
    batch.ce_batch.n_ops = comm->group->n - 1;
    batch.ce_batch.total_bytes = op->bytes;
    stop(start(comm, JP_NCCL_CE_BATCH, &batch));
    sync_ranks(comm, handle, 1);
    stop(handle);
}
