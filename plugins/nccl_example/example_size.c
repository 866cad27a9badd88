/* example_size.c - find the largest pools that fit. */
#include "plugins/nccl_example/example_size.h"

#include <inttypes.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"

/* --- what pools may not exceed --- */

/* What sizing starts from, with everything looked up once. */
struct example_demand {
    const struct backend_input *in;
    const struct example_slots *slots;
    uint64_t comms, wanted_colls, wanted_p2p; /* of each communicator */
    uint64_t channels, proxy_ops; /* of one operation; ops of a channel */
    uint64_t page_bytes;
    unsigned events;
    uint64_t given[EXAMPLE_POOLS]; /* slots that the user has set; 0: none */
};

/* A limit that was exceeded: the bytes that were compared with it. */
struct example_limit {
    const char *name;
    uint64_t bytes, limit;
};

#define USERS(pool) "the user's NCCL_PROFILE_" pool "_POOL_SIZE"

/* The largest pool's bytes. */
static uint64_t largest(const struct example_plan *p)
{
    uint64_t most = 0;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t bytes = num_mul(p->pool[i], p->slots->bytes[i]);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What one allocation may take under overcommit 0; a tenth stays free, for
 * nodes differ a little. UINT64_MAX: not known. */
static uint64_t one_pool(const struct jp_jobshape *shape)
{
    uint64_t bytes = num_add(shape->node.ram_bytes, shape->node.swap_bytes);

    if (!shape->ram_known && shape->step_memory_bytes &&
        (!bytes || shape->step_memory_bytes < bytes))
        bytes = shape->step_memory_bytes;
    if (!bytes || shape->node.overcommit != 0)
        return UINT64_MAX;
    return bytes / 10 * 9;
}

/* Half of what CommitLimit leaves, the other half is the program's. */
static uint64_t commit(const struct jp_nodemem *node)
{
    if (node->overcommit != 2 || !node->commit_limit_bytes)
        return UINT64_MAX;
    return node->commit_limit_bytes > node->committed_bytes
               ? (node->commit_limit_bytes - node->committed_bytes) / 2
               : 0;
}

/* Whether p exceeds a limit of example_size.h; the first one into *out. */
static bool limits_exceeded(const struct example_demand *d,
                            const struct example_plan *p,
                            struct example_limit *out)
{
    const struct jp_jobshape *shape = &d->in->shape;
    const struct plan_side *side = d->in->side;
    uint64_t files = num_mul(p->disk_bytes, shape->ntasks ? shape->ntasks : 1);
    const struct example_limit rows[] = {
        {"mem=", p->resident_bytes, plan_number(side, "mem")},
        {"a rank's part of a quarter of the step's memory", p->resident_bytes,
         jobshape_memory(shape)},
        {"one pool in RAM + swap (vm.overcommit_memory=0)", largest(p),
         one_pool(shape)},
        {"half of the node's CommitLimit (vm.overcommit_memory=2)",
         num_mul(p->reserved_bytes, jobshape_ranks(shape)),
         commit(&shape->node)},
        {"half of the address space limit (ulimit -v)", p->reserved_bytes,
         shape->address_limit_bytes ? shape->address_limit_bytes / 2
                                    : UINT64_MAX},
        {"disk=", files, plan_number(side, "disk")},
        {"the file system's free space less min_free=", files,
         jobshape_room(shape, plan_number(side, "min_free"))},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].bytes > rows[i].limit) {
            *out = rows[i];
            return true;
        }
    return false;
}

/* --- their sizes --- */

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
#define TRACE_LAUNCH 275
#define TRACE_CTRL 205

#define OPS_A_CTRL 10
#define OPS_A_DETACH 2

static uint64_t per_comm(uint64_t ops, uint64_t iterations, uint64_t comms)
{
    uint64_t all = num_mul(ops, iterations);

    return all ? (all - 1) / comms + 1 : 0;
}

static void set_given(const struct backend_input *in, struct example_demand *d)
{
    char name[EXAMPLE_VARIABLE_LEN];

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        d->given[i] = 0;
        num_parse_u64(backend_user_value(in, example_variable(i, name)), 1,
                      UINT32_MAX, &d->given[i], NULL);
    }
}

/* ProxyOps of other processes only where ProxyOps are asked for at all. */
static unsigned find_events(const struct backend_input *in,
                            const struct example_slots *slots)
{
    static const unsigned bits[] = {
        0, EXAMPLE_LAUNCH, EXAMPLE_CTRL, EXAMPLE_DETACH,
        EXAMPLE_LAUNCH | EXAMPLE_CTRL | EXAMPLE_DETACH};
    uint64_t word = plan_number(in->side, "events");
    unsigned events = word < sizeof(bits) / sizeof(*bits) ? bits[word] : 0;

    if (!slots->proxy_ops)
        events &= ~(unsigned) EXAMPLE_DETACH;
    if (!slots->bytes[POOL_KERNEL_LAUNCH])
        events &= ~(unsigned) EXAMPLE_LAUNCH;
    return events;
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
    d->events = find_events(in, d->slots);
    set_given(in, d);
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

bool example_asks_kernels(const struct backend_input *in)
{
    uint64_t release = plan_number(in->side, "nccl");

    return release < JP_NCCL_VERSION(2, 26) ||
           release >= JP_NCCL_VERSION(2, 28);
}

bool example_turns_over(const struct backend_input *in)
{
    return example_slots_find(backend_release(in))->keeps == KEEPS_LAST &&
           example_asks_kernels(in);
}

static bool turns_over(const struct example_demand *d, uint64_t colls)
{
    return example_turns_over(d->in) && colls < d->wanted_colls;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
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
    if (d->events & EXAMPLE_LAUNCH)
        p->pool[POOL_KERNEL_LAUNCH] = most(ops, EXAMPLE_MIN_SLOTS);
    if (d->events & EXAMPLE_CTRL)
        p->pool[POOL_PROXY_CTRL] = most(ops / OPS_A_CTRL, CTRL_SLOTS);
    if (d->events & EXAMPLE_DETACH)
        p->pool[POOL_PROXY_DETACH] =
            most(num_mul(ops, d->comms) / OPS_A_DETACH, DETACH_SLOTS);
    p->events = d->events;
    for (int i = 0; i < EXAMPLE_POOLS; i++)
        if (d->given[i])
            p->pool[i] = d->given[i];
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
            d->channels * (TRACE_CHANNEL + d->proxy_ops * TRACE_PROXY_OP) +
            (d->events & EXAMPLE_LAUNCH ? TRACE_LAUNCH : 0);
    p->reserved_bytes = reserved;
    p->resident_bytes = resident;
    p->disk_bytes =
        num_mul(num_mul(d->comms, num_add(p->colls, p->p2p)), trace);
    if (d->events & EXAMPLE_CTRL)
        p->disk_bytes = num_add(
            p->disk_bytes,
            num_mul(num_mul(d->comms, TRACE_CTRL), p->pool[POOL_PROXY_CTRL]));
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
    return !limits_exceeded(d, p, why);
}

/* v in proportion to n, or at most the minimum. */
static uint64_t share(const struct example_demand *d, uint64_t n, bool tied)
{
    uint64_t v = d->wanted_p2p;

    if (!tied)
        v = v < EXAMPLE_MIN_SLOTS ? v : EXAMPLE_MIN_SLOTS;
    else
        v = v ? (num_mul(n, v) - 1) / d->wanted_colls + 1 : 0;
    return d->given[POOL_P2P] && v > d->given[POOL_P2P] ? d->given[POOL_P2P]
                                                        : v;
}

/* Whether the least plan fits without the user's pools. Then the largest of
 * them is what does not. */
static bool is_users(const struct example_demand *d, uint64_t n, int *pool)
{
    struct example_demand ours = *d;
    struct example_plan plan;
    struct example_limit why;

    memset(ours.given, 0, sizeof(ours.given));
    *pool = 0;
    for (int i = 1; i < EXAMPLE_POOLS; i++)
        if (num_mul(d->given[i], d->slots->bytes[i]) >
            num_mul(d->given[*pool], d->slots->bytes[*pool]))
            *pool = i;
    return d->given[*pool] &&
           fits(&ours, n, share(&ours, n, false), &plan, &why);
}

static int too_small(const struct example_demand *d,
                     const struct example_plan *p,
                     const struct example_limit *why, struct jp_error *err)
{
    char name[EXAMPLE_VARIABLE_LEN], release[32];
    int pool;

    if (is_users(d, p->colls, &pool))
        return error_set(
            err,
            "%s=%" PRIu64 ", set by the user, takes %s (%s a "
            "slot); %s allows %s: the plugin cannot start. "
            "Without it the pool is planned; force=1 replaces it",
            example_variable(pool, name), d->given[pool], FIG_BYTES(why->bytes),
            FIG_BYTES(d->slots->bytes[pool]), why->name, FIG_BYTES(why->limit));
    return error_set(
        err,
        "the example plugin of NCCL %s needs at least %s (%s "
        "collectives in each of %s communicators); %s allows %s",
        knob_format_release(backend_release(d->in), release, sizeof(release)),
        FIG_BYTES(why->bytes), FIG_COUNT(p->colls), FIG_COUNT(d->comms),
        why->name, FIG_BYTES(why->limit));
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
        if (limits_exceeded(d, &wide, &why)) {
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
    if (d.given[POOL_COLL] && d.given[POOL_COLL] < hi) {
        hi = d.given[POOL_COLL];
        last.name = USERS("COLL");
    }
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
    plan.limit = plan.colls < d.wanted_colls ? last.name
                 : !tied                     ? why.name
                 : plan.p2p < d.wanted_p2p   ? USERS("P2P")
                                             : "";
    *out = plan;
    return 0;
}
