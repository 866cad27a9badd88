/* example_size.c - find the largest pools that fit. */
#include "plugins/nccl_example/example_size.h"

#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/nccl_example/example_limits.h"

#define SMALL_PAGE 4096u
#define HUGE_PAGE (2u << 20)
#define TREE_OPS 6
#define CTRL_SLOTS 16
#define DETACH_SLOTS 128
#define GROUPS_FACTOR 8
#define GROUPS_MORE 1024

/* Bytes in the trace, begin and end of an event together (measured). */
#define TRACE_OPERATION 950
#define TRACE_CHANNEL 275
#define TRACE_PROXY_OP 920

static uint64_t per_comm(uint64_t ops, uint64_t iterations, uint64_t comms)
{
    uint64_t all = num_mul(ops, iterations);

    return all ? (all - 1) / comms + 1 : 0;
}

static void set_demand(const struct backend_input *in, struct example_demand *d)
{
    uint64_t iterations = plan_number(in->side, "iterations");
    uint64_t channels = plan_number(in->side, "channels");

    d->in = in;
    d->slots = example_slots_find(backend_release(in));
    d->comms = plan_number(in->side, "comms");
    d->wanted_colls =
        per_comm(plan_number(in->side, "colls"), iterations, d->comms);
    d->wanted_p2p =
        per_comm(plan_number(in->side, "p2p"), iterations, d->comms);
    d->channels = channels < d->slots->channels ? channels : d->slots->channels;
    d->proxy_ops = in->shape.nnodes == 1 || !d->slots->proxy_ops ? 0 : TREE_OPS;
    d->page_bytes = in->shape.node.huge_pages ? HUGE_PAGE : SMALL_PAGE;
}

/* The touched part of a slot that holds an operation: head and tail, which may
 * straddle small pages, and begin and end of ProxyOps. */
static uint64_t touched(const struct example_demand *d, uint64_t slot_bytes)
{
    uint64_t pages = d->page_bytes == HUGE_PAGE ? 2 : 4, bytes;

    pages += d->channels * (d->proxy_ops ? d->proxy_ops + 1 : 0);
    bytes = pages * d->page_bytes;
    return bytes < slot_bytes ? bytes : slot_bytes;
}

static bool turns_over(const struct example_demand *d, uint64_t colls)
{
    return d->slots->keeps == KEEPS_LAST && colls < d->wanted_colls;
}

/* Pools for `colls` and `p2p` operations of each communicator. */
static void set_pools(const struct example_demand *d, uint64_t colls,
                      uint64_t p2p, struct example_plan *p)
{
    uint64_t ops = num_add(colls, p2p);
    uint64_t groups = num_add(num_mul(ops, GROUPS_FACTOR), GROUPS_MORE);
    uint64_t coll_slots = colls, p2p_slots = p2p;

    if (turns_over(d, p->colls)) {
        groups = coll_slots = ops;
        p2p_slots = p2p ? num_mul(2, ops) : 0;
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
static uint64_t pool_resident(const struct example_demand *d,
                              const struct example_plan *p, int pool)
{
    uint64_t slot = d->slots->bytes[pool], slots = p->pool[pool];
    uint64_t ops = num_add(p->colls, p->p2p);

    if (pool == POOL_P2P && !p->p2p)
        return 0;
    if (turns_over(d, p->colls))
        return num_mul(slots, pool == POOL_COLL || pool == POOL_PROXY_DETACH
                                  ? touched(d, slot)
                                  : slot);
    switch (pool) {
    case POOL_COLL:
        return num_mul(p->colls, touched(d, slot));
    case POOL_P2P:
        return num_mul(p->p2p, touched(d, slot));
    case POOL_PROXY_DETACH:
        return num_mul(slots, touched(d, slot));
    case POOL_GROUP:
    case POOL_GROUP_API:
        return num_mul(ops, slot);
    case POOL_COLL_API:
        return num_mul(p->colls, slot);
    default:
        return num_mul(slots, slot);
    }
}

static void add_up(const struct example_demand *d, struct example_plan *p)
{
    uint64_t reserved = 0, resident = 0, trace;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t n = i == POOL_PROXY_DETACH ? 1 : d->comms;
        uint64_t bytes = num_mul(p->pool[i], d->slots->bytes[i]);

        reserved = num_add(reserved, num_mul(n, bytes));
        resident = num_add(resident, num_mul(n, pool_resident(d, p, i)));
    }
    trace = TRACE_OPERATION +
            d->channels * (TRACE_CHANNEL + d->proxy_ops * TRACE_PROXY_OP);
    p->reserved_bytes = reserved;
    p->resident_bytes = resident;
    p->disk_bytes =
        num_mul(num_mul(d->comms, num_add(p->colls, p->p2p)), trace);
}

/* Tries n collectives and v sends and receives. False: *why is exceeded. */
static bool fits(const struct example_demand *d, uint64_t n, uint64_t v,
                 struct example_plan *p, struct example_limit *why)
{
    p->slots = d->slots;
    p->wanted_colls = d->wanted_colls;
    p->wanted_p2p = d->wanted_p2p;
    p->colls = n;
    p->p2p = v;
    p->spread = 1;
    set_pools(d, n, v, p);
    add_up(d, p);
    return !example_limits_exceeded(d, p, why);
}

/* v in proportion to n, or at most the minimum. */
static uint64_t share(const struct example_demand *d, uint64_t n, bool tied)
{
    uint64_t v = d->wanted_p2p;

    if (!tied)
        return v < EXAMPLE_MIN_SLOTS ? v : EXAMPLE_MIN_SLOTS;
    return v ? (num_mul(n, v) - 1) / d->wanted_colls + 1 : 0;
}

static int too_small(const struct example_demand *d,
                     const struct example_plan *p,
                     const struct example_limit *why, struct jp_error *err)
{
    return error_set(err,
                     "the example plugin of NCCL %s needs at least %s (%s "
                     "collectives in each of %s communicators); %s allows %s",
                     plan_get(d->in->side, "nccl"), FIG_BYTES(why->bytes),
                     FIG_COUNT(p->colls), FIG_COUNT(d->comms), why->name,
                     FIG_BYTES(why->limit));
}

/* Lets a communicator have more than its even share, as address space allows.
 */
static void spread(const struct example_demand *d, struct example_plan *p)
{
    uint64_t lo = 1, hi = d->comms;
    struct example_plan wide = *p;
    struct example_limit why;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo + 1) / 2;

        set_pools(d, num_mul(mid, p->colls), num_mul(mid, p->p2p), &wide);
        add_up(d, &wide);
        if (example_limits_exceeded(d, &wide, &why)) {
            hi = mid - 1;
        } else {
            lo = mid;
            *p = wide;
        }
    }
    p->spread = lo;
}

int example_size(const struct backend_input *in, struct example_plan *out,
                 struct jp_error *err)
{
    struct example_plan plan = {0}, bigger = {0};
    struct example_limit why, last = {.name = ""};
    struct example_demand d;
    uint64_t lo, hi;
    bool tied;

    set_demand(in, &d);
    hi = d.wanted_colls;
    lo = hi < EXAMPLE_MIN_SLOTS ? hi : EXAMPLE_MIN_SLOTS;
    tied = fits(&d, lo, share(&d, lo, true), &plan, &why);
    if (!tied && !fits(&d, lo, share(&d, lo, false), &plan, &why))
        return too_small(&d, &plan, &why, err);
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo + 1) / 2;

        if (fits(&d, mid, share(&d, mid, tied), &bigger, &why)) {
            lo = mid;
            plan = bigger;
        } else {
            hi = mid - 1;
            last = why;
        }
    }
    if (plan.colls == d.wanted_colls && plan.p2p == d.wanted_p2p)
        spread(&d, &plan);
    plan.planned_ops = num_mul(
        num_add(plan_number(in->side, "colls"), plan_number(in->side, "p2p")),
        plan_number(in->side, "iterations"));
    plan.limit = plan.colls < d.wanted_colls ? last.name : tied ? "" : why.name;
    *out = plan;
    return 0;
}
