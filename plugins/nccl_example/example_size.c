/* example_size.c - find the largest pools that fit. */
#include "plugins/nccl_example/example_size.h"

#include <inttypes.h>
#include <string.h>

#include "common/defaults.h"
#include "common/figure.h"

#define SMALL_PAGE 4096u
#define HUGE_PAGE (2u << 20)
#define RING_OPS 2
#define CTRL_SLOTS 16
#define DETACH_SLOTS 128

/* Bytes in the trace, begin and end of an event together (measured). */
#define TRACE_OPERATION 950
#define TRACE_CHANNEL 275
#define TRACE_PROXY_OP 920

/* What sizing starts from, with everything looked up once. */
struct demand {
    const struct backend_input *in;
    const struct example_slots *slots;
    uint64_t comms, wanted_colls, wanted_p2p;
    uint64_t channels, proxy_ops; /* of one operation; ops of a channel */
    uint64_t page_bytes;
    uint64_t ranks; /* on the fullest node */
};

/* Saturating: what is too much to count does not fit anywhere. */
static uint64_t mul(uint64_t a, uint64_t b)
{
    uint64_t c;

    return __builtin_mul_overflow(a, b, &c) ? UINT64_MAX : c;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t c;

    return __builtin_add_overflow(a, b, &c) ? UINT64_MAX : c;
}

static uint64_t per_comm(uint64_t ops, uint64_t iterations, uint64_t comms)
{
    uint64_t all = mul(ops, iterations);

    return all ? (all - 1) / comms + 1 : 0;
}

static void set_demand(const struct backend_input *in, struct demand *d)
{
    uint64_t iterations = plan_number(in->side, "iterations");
    uint64_t channels = plan_number(in->side, "channels");

    d->in = in;
    d->slots = example_slots_find((uint32_t) plan_number(in->side, "nccl"));
    d->comms = plan_number(in->side, "comms");
    d->wanted_colls =
        per_comm(plan_number(in->side, "colls"), iterations, d->comms);
    d->wanted_p2p =
        per_comm(plan_number(in->side, "p2p"), iterations, d->comms);
    d->channels = channels < d->slots->channels ? channels : d->slots->channels;
    d->proxy_ops = in->shape.nnodes == 1 || !d->slots->proxy_ops ? 0 : RING_OPS;
    d->page_bytes = in->shape.node.huge_pages ? HUGE_PAGE : SMALL_PAGE;
    d->ranks = jobshape_ranks(&in->shape);
}

/* The touched part of a slot that holds an operation. */
static uint64_t touched(const struct demand *d, uint64_t slot_bytes)
{
    uint64_t pages = 4 + d->channels * (d->proxy_ops ? d->proxy_ops + 1 : 0);
    uint64_t bytes = pages * d->page_bytes;

    return bytes < slot_bytes ? bytes : slot_bytes;
}

static bool turns_over(const struct demand *d, uint64_t colls)
{
    return d->slots->keeps == KEEPS_LAST && colls < d->wanted_colls;
}

static void set_pools(const struct demand *d, uint64_t colls,
                      struct example_plan *p)
{
    uint64_t groups, coll_slots = colls, p2p_slots;

    p->slots = d->slots;
    p->wanted_colls = d->wanted_colls;
    p->wanted_p2p = d->wanted_p2p;
    p->colls = colls;
    p->p2p = d->wanted_p2p
                 ? (mul(colls, d->wanted_p2p) - 1) / d->wanted_colls + 1
                 : 0;
    groups = add(colls, p->p2p);
    p2p_slots = p->p2p;
    if (turns_over(d, colls)) {
        coll_slots = groups;
        p2p_slots = p->p2p ? mul(2, groups) : 0;
    }
    for (int i = 0; i < EXAMPLE_POOLS; i++)
        p->pool[i] = EXAMPLE_MIN_SLOTS;
    p->pool[POOL_COLL] = p->pool[POOL_COLL_API] = coll_slots;
    if (p2p_slots > EXAMPLE_MIN_SLOTS)
        p->pool[POOL_P2P] = p->pool[POOL_P2P_API] = p2p_slots;
    p->pool[POOL_GROUP] = p->pool[POOL_GROUP_API] = groups;
    p->pool[POOL_PROXY_CTRL] = CTRL_SLOTS;
    p->pool[POOL_PROXY_DETACH] = DETACH_SLOTS;
}

/* Bytes of one pool that are resident in the end. */
static uint64_t pool_resident(const struct demand *d,
                              const struct example_plan *p, int pool)
{
    uint64_t slot = d->slots->bytes[pool], used = p->pool[pool];

    if (pool == POOL_P2P && turns_over(d, p->colls) && p->p2p)
        return mul(used, slot);
    if (pool == POOL_P2P)
        return mul(p->p2p < used ? p->p2p : used, touched(d, slot));
    if (pool == POOL_COLL || pool == POOL_PROXY_DETACH)
        return mul(used, touched(d, slot));
    return mul(used, slot);
}

static void add_up(const struct demand *d, struct example_plan *p)
{
    uint64_t reserved = 0, resident = 0, trace;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t n = i == POOL_PROXY_DETACH ? 1 : d->comms;

        reserved = add(reserved, mul(n, mul(p->pool[i], d->slots->bytes[i])));
        resident = add(resident, mul(n, pool_resident(d, p, i)));
    }
    trace = TRACE_OPERATION +
            d->channels * (TRACE_CHANNEL + d->proxy_ops * TRACE_PROXY_OP);
    p->reserved_bytes = reserved;
    p->resident_bytes = resident;
    p->disk_bytes = mul(mul(d->comms, add(p->colls, p->p2p)), trace);
}

/* The largest pool's bytes. */
static uint64_t largest(const struct example_plan *p)
{
    uint64_t most = 0;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t bytes = mul(p->pool[i], p->slots->bytes[i]);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Name and size of the first limit that p exceeds; NULL: it fits. */
static const char *exceeds(const struct demand *d, const struct example_plan *p,
                           uint64_t *limit)
{
    const struct jp_jobshape *shape = &d->in->shape;
    const struct jp_nodemem *node = &shape->node;
    const struct plan_side *side = d->in->side;
    uint64_t left = node->commit_limit_bytes > node->committed_bytes
                        ? node->commit_limit_bytes - node->committed_bytes
                        : 0;
    uint64_t min_free = plan_number(side, "min_free");
    uint64_t room = shape->disk_free_bytes > min_free
                        ? shape->disk_free_bytes - min_free
                        : 0;
    uint64_t files = mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    const struct {
        bool known;
        uint64_t bytes, limit;
        const char *name;
    } rows[] = {
        {true, p->resident_bytes, plan_number(side, "mem"), "mem="},
        {shape->step_memory_bytes > 0, mul(p->resident_bytes, d->ranks),
         shape->step_memory_bytes / JP_STEP_MEMORY_PARTS,
         "a quarter of the step's memory on a node"},
        {node->ram_bytes > 0 && node->overcommit == 0, largest(p),
         node->ram_bytes + node->swap_bytes,
         "RAM + swap for one pool (vm.overcommit_memory=0)"},
        {node->commit_limit_bytes > 0 && node->overcommit == 2,
         mul(p->reserved_bytes, d->ranks), left / 2,
         "half of the node's CommitLimit (vm.overcommit_memory=2)"},
        {shape->address_limit_bytes > 0, p->reserved_bytes,
         shape->address_limit_bytes / 2,
         "half of the address space limit (ulimit -v)"},
        {true, files, plan_number(side, "disk"), "disk="},
        {shape->disk_free_bytes > 0, files, room,
         "the file system's free space less min_free="},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].known && rows[i].bytes > rows[i].limit) {
            *limit = rows[i].limit;
            return rows[i].name;
        }
    return NULL;
}

static const char *try_colls(const struct demand *d, uint64_t colls,
                             struct example_plan *p, uint64_t *limit)
{
    set_pools(d, colls, p);
    add_up(d, p);
    return exceeds(d, p, limit);
}

static int too_small(const struct demand *d, const struct example_plan *p,
                     const char *name, uint64_t limit, struct jp_error *err)
{
    return error_set(
        err,
        "the example plugin of NCCL %s needs at least %s resident and %s of "
        "address space a rank (%" PRIu64 " collectives in each of %" PRIu64
        " communicators; %" PRIu64 " ranks on a node); %s allows %s",
        plan_get(d->in->side, "nccl"), FIG_BYTES(p->resident_bytes),
        FIG_BYTES(p->reserved_bytes), p->colls, d->comms, d->ranks, name,
        FIG_BYTES(limit));
}

int example_size(const struct backend_input *in, struct example_plan *out,
                 struct jp_error *err)
{
    struct example_plan plan = {0}, bigger;
    uint64_t lo, hi, limit = 0;
    const char *name;
    struct demand d;

    set_demand(in, &d);
    hi = d.wanted_colls;
    lo = hi < EXAMPLE_MIN_SLOTS ? hi : EXAMPLE_MIN_SLOTS;
    name = try_colls(&d, lo, &plan, &limit);
    if (name)
        return too_small(&d, &plan, name, limit, err);
    name = "";
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo + 1) / 2;
        const char *why = try_colls(&d, mid, &bigger, &limit);

        if (why) {
            hi = mid - 1;
            name = why;
        } else {
            lo = mid;
            plan = bigger;
        }
    }
    plan.limit = name;
    *out = plan;
    return 0;
}
