/* sim_shim_old.c - profiler tables v1 to v3, wrapped as v6.
 *
 * The three interfaces differ from v6 in the same way: events carry the
 * communicator's name and hash, functions and data types are numbers in v1, and
 * states have other arguments. Each shim converts what its interface has and
 * drops the rest. */
#include <string.h>

#include "contrib/ncclsim/sim_cost.h"
#include "contrib/ncclsim/sim_shim.h"

static struct jp_nccl_plugin_v1 *v1;
static struct jp_nccl_plugin_v2 *v2;
static struct jp_nccl_plugin_v3 *v3;

/* Returns the number of NCCL's function; that of Send for unknown ones. */
static uint8_t func_number(const char *name)
{
    int i;

    for (i = 0; i < JP_NCCL_N_FUNCS; i++) {
        if (strcmp(sim_cost_func_name((enum jp_nccl_func) i), name) == 0)
            return (uint8_t) i;
    }
    return JP_NCCL_SEND;
}

/* Returns the number of a data type; the simulator uses two of them. */
static uint8_t datatype_number(const char *name)
{
    return strcmp(name, "ncclInt8") == 0 ? JP_NCCL_INT8 : JP_NCCL_BFLOAT16;
}

/* Returns the numbers of the algorithms and protocols that the simulator uses,
 * in NCCL 2.23. Events of tests name none. */
static uint8_t algo_number(const char *name)
{
    if (!name)
        return 0;
    return strcmp(name, "RING") == 0 ? 1 : strcmp(name, "NVLS") == 0 ? 4 : 2;
}

static uint8_t proto_number(const char *name)
{
    if (!name)
        return 0;
    return strcmp(name, "LL128") == 0 ? 1 : 2;
}

/* What a context of v1 to v3 carries. NCCL 2.23 to 2.26 pass the communicator's
 * name and hash with each event; v6's events do not have them. */
struct old_context {
    void *inner;
    const char *name;
    uint64_t hash;
};

/* NCCL calls start() even without a context, if init() gave none. */
static const struct old_context no_context;

/* More than a run has communicators. They are never freed, because late events
 * may use them. */
static struct old_context contexts[1024];
static int n_contexts;

/* Returns a context for a communicator. Thread-safe. */
static struct old_context *new_context(const char *name, uint64_t hash)
{
    int i = __atomic_fetch_add(&n_contexts, 1, __ATOMIC_RELAXED);

    contexts[i % 1024] = (struct old_context){.name = name, .hash = hash};
    return &contexts[i % 1024];
}

/* Sets the context, unless the plugin refused the communicator or gave none. */
static int finish_init(int rc, struct old_context *c, void **context)
{
    *context = rc == 0 && c->inner ? c : NULL;
    return rc;
}

/* ------------------------------------------------------------------ v1 -- */

static int init_v1(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    struct old_context *c = new_context(name, hash);

    return finish_init(v1->init(&c->inner, mask), c, context);
}

/* Converts an event. Events that v1 does not have are dropped. */
static int start_v1(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    const struct old_context *c = context ? context : &no_context;
    struct jp_nccl_descr_v1 old = {
        .type = (uint8_t) d->type, .parent = d->parent, .rank = d->rank};

    *handle = NULL;
    switch (d->type) {
    case JP_NCCL_GROUP:
    case JP_NCCL_PROXY_CTRL:
        break;
    case JP_NCCL_COLL:
        old.parent = d->coll.parent_group;
        old.coll.comm_name = c->name;
        old.coll.comm_hash = c->hash;
        old.coll.seq = d->coll.seq;
        old.coll.func = func_number(d->coll.func);
        old.coll.count = d->coll.count;
        old.coll.root = d->coll.root;
        old.coll.datatype = datatype_number(d->coll.datatype);
        old.coll.max_channels = d->coll.n_channels;
        old.coll.n_warps = d->coll.n_warps;
        old.coll.algo = algo_number(d->coll.algo);
        old.coll.proto = proto_number(d->coll.proto);
        break;
    case JP_NCCL_P2P:
        old.parent = d->p2p.parent_group;
        old.p2p.comm_name = c->name;
        old.p2p.comm_hash = c->hash;
        old.p2p.func = func_number(d->p2p.func);
        old.p2p.datatype = datatype_number(d->p2p.datatype);
        old.p2p.count = d->p2p.count;
        old.p2p.peer = d->p2p.peer;
        break;
    case JP_NCCL_PROXY_OP:
        old.proxy_op = d->proxy_op;
        break;
    case JP_NCCL_PROXY_STEP:
        old.proxy_step = d->proxy_step;
        break;
    default:
        return JP_NCCL_SUCCESS;
    }
    return v1->start(c->inner, handle, &old);
}

/* Converts the arguments of a state. Returns 0 for states that v1 to v3 do not
 * have. */
static int old_args(int state, const union jp_nccl_args_v4 *args,
                    union jp_nccl_args_v1 *old)
{
    memset(old, 0, sizeof(*old));
    if (state >= SIM_OP_SEND_POSTED && state <= SIM_OP_RECV_DONE) {
        *old = *(const union jp_nccl_args_v1 *) args;
        return 1;
    }
    if (state >= JP_NCCL_CTRL_IDLE && state <= JP_NCCL_CTRL_APPEND_END)
        old->proxy_ctrl.appended = args->proxy_ctrl.appended;
    return state >= JP_NCCL_STEP_SEND_GPU_WAIT &&
           state <= JP_NCCL_CTRL_APPEND_END;
}

static int record_v1(void *handle, int state, union jp_nccl_args_v4 *args)
{
    union jp_nccl_args_v1 old;

    return old_args(state, args, &old) ? v1->record(handle, state, &old)
                                       : JP_NCCL_SUCCESS;
}

static int finalize_v1(void *context)
{
    return v1->finalize(((struct old_context *) context)->inner);
}

struct jp_nccl_plugin_v6 *sim_shim_v1(void *table)
{
    static struct jp_nccl_plugin_v6 shim;

    v1 = table;
    shim = (struct jp_nccl_plugin_v6){v1->name, init_v1,   start_v1,
                                      v1->stop, record_v1, finalize_v1};
    return &shim;
}

/* ------------------------------------------------------------ v2 and v3 -- */

static int init_v2(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    struct old_context *c = new_context(name, hash);

    return finish_init(v2->init(&c->inner, mask), c, context);
}

static int init_v3(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    struct old_context *c = new_context(name, hash);

    return finish_init(v3->init(&c->inner, mask), c, context);
}

/* Fills a P2p event of v2 and v3. */
static void fill_p2p(struct jp_nccl_p2p_v2 *old, const struct old_context *c,
                     const struct jp_nccl_p2p_v5 *new)
{
    *old = (struct jp_nccl_p2p_v2){
        .comm_name = c->name,
        .comm_hash = c->hash,
        .func = new->func,
        .datatype = new->datatype,
        .count = new->count,
        .peer = new->peer,
    };
}

/* Converts an event for v2, which has names instead of numbers. */
static int start_v2(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    const struct old_context *c = context ? context : &no_context;
    struct jp_nccl_descr_v2 old = {
        .type = (uint8_t) d->type, .parent = d->parent, .rank = d->rank};

    *handle = NULL;
    switch (d->type) {
    case JP_NCCL_GROUP:
    case JP_NCCL_PROXY_CTRL:
        break;
    case JP_NCCL_COLL:
        old.parent = d->coll.parent_group;
        old.coll = (struct jp_nccl_coll_v2){.comm_name = c->name,
                                            .comm_hash = c->hash,
                                            .seq = d->coll.seq,
                                            .func = d->coll.func,
                                            .count = d->coll.count,
                                            .root = d->coll.root,
                                            .datatype = d->coll.datatype,
                                            .max_channels = d->coll.n_channels,
                                            .n_warps = d->coll.n_warps,
                                            .algo = d->coll.algo,
                                            .proto = d->coll.proto};
        break;
    case JP_NCCL_P2P:
        old.parent = d->p2p.parent_group;
        fill_p2p(&old.p2p, c, &d->p2p);
        break;
    case JP_NCCL_PROXY_OP:
        old.proxy_op = d->proxy_op;
        break;
    case JP_NCCL_PROXY_STEP:
        old.proxy_step = d->proxy_step;
        break;
    default:
        return JP_NCCL_SUCCESS;
    }
    return v2->start(c->inner, handle, &old);
}

/* Converts an event for v3, which has kernels and the network plugin as well.
 */
static int start_v3(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    const struct old_context *c = context ? context : &no_context;
    struct jp_nccl_descr_v3 old = {
        .type = (uint8_t) d->type, .parent = d->parent, .rank = d->rank};

    *handle = NULL;
    switch (d->type) {
    case JP_NCCL_GROUP:
    case JP_NCCL_PROXY_CTRL:
        break;
    case JP_NCCL_COLL:
        old.parent = d->coll.parent_group;
        old.coll = (struct jp_nccl_coll_v3){.comm_name = c->name,
                                            .comm_hash = c->hash,
                                            .seq = d->coll.seq,
                                            .func = d->coll.func,
                                            .count = d->coll.count,
                                            .root = d->coll.root,
                                            .datatype = d->coll.datatype,
                                            .max_channels = d->coll.n_channels,
                                            .n_warps = d->coll.n_warps,
                                            .algo = d->coll.algo,
                                            .proto = d->coll.proto};
        break;
    case JP_NCCL_P2P:
        old.parent = d->p2p.parent_group;
        fill_p2p(&old.p2p, c, &d->p2p);
        break;
    case JP_NCCL_PROXY_OP:
        old.proxy_op = d->proxy_op;
        break;
    case JP_NCCL_PROXY_STEP:
        old.proxy_step = d->proxy_step;
        break;
    case JP_NCCL_KERNEL_CH:
        old.kernel_ch.channel = d->kernel_ch.channel;
        break;
    case JP_NCCL_NET_PLUGIN:
        old.net_plugin = d->net_plugin;
        break;
    default:
        return JP_NCCL_SUCCESS;
    }
    return v3->start(c->inner, handle, &old);
}

static int record_v2(void *handle, int state, union jp_nccl_args_v4 *args)
{
    union jp_nccl_args_v1 old;

    return old_args(state, args, &old) ? v2->record(handle, state, &old)
                                       : JP_NCCL_SUCCESS;
}

static int record_v3(void *handle, int state, union jp_nccl_args_v4 *args)
{
    union jp_nccl_args_v1 old;

    return old_args(state, args, &old) ? v3->record(handle, state, &old)
                                       : JP_NCCL_SUCCESS;
}

static int finalize_v2(void *context)
{
    return v2->finalize(((struct old_context *) context)->inner);
}

static int finalize_v3(void *context)
{
    return v3->finalize(((struct old_context *) context)->inner);
}

struct jp_nccl_plugin_v6 *sim_shim_v2(void *table)
{
    static struct jp_nccl_plugin_v6 shim;

    v2 = table;
    shim = (struct jp_nccl_plugin_v6){v2->name, init_v2,   start_v2,
                                      v2->stop, record_v2, finalize_v2};
    return &shim;
}

struct jp_nccl_plugin_v6 *sim_shim_v3(void *table)
{
    static struct jp_nccl_plugin_v6 shim;

    v3 = table;
    shim = (struct jp_nccl_plugin_v6){v3->name, init_v3,   start_v3,
                                      v3->stop, record_v3, finalize_v3};
    return &shim;
}
