/* example_planner.c - the backend of NVIDIA's example plugin: its pools, its
 * variables and what a trace will keep.
 *
 * size_pools() searches the largest number of operations whose pools fit:
 * set_pools() and add_up() make a plan of a number, limits_exceeded() checks
 * it. example.h has the rules and the table of releases.
 */
#include "plugins/nccl_example/example.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/knob.h"
#include "common/num.h"
#include "plugins/backend.h"
#include "plugins/nccl_knobs.h"

/* --- sizes of the example plugin's slots by release ----------------------- */

static const char *const pool_names[EXAMPLE_POOLS] = {
    "GROUP_API",    "COLL_API", "P2P_API", "KERNEL_LAUNCH",
    "GROUP",        "COLL",     "P2P",     "PROXY_CTRL",
    "PROXY_DETACH", "CE_COLL",  "CE_SYNC", "CE_BATCH"};

/* In the order of enum example_pool. */
#define OLD(coll, p2p, op)                                                     \
    {                                                                          \
        0, 0, 0, 0, 64, coll, p2p, 40, op, 0, 0, 0                             \
    }
#define NEW(coll, p2p, op, ...)                                                \
    {                                                                          \
        120, 112, 112, 56, 64, coll, p2p, 40, op, __VA_ARGS__                  \
    }
#define OLD_DEFAULTS                                                           \
    {                                                                          \
        0, 0, 0, 0, 16, 16, 1024, 16, 128, 0, 0, 0                             \
    }
#define DEFAULTS_256                                                           \
    {                                                                          \
        256, 256, 256, 256, 256, 256, 256, 16, 256, 0, 0, 0                    \
    }
#define DEFAULTS_8                                                             \
    {                                                                          \
        8, 8, 8, 8, 8, 8, 8, 16, 8, 8, 8, 8                                    \
    }
#define R JP_NCCL_RELEASE

static const struct example_slots slot_rows[] = {
    {R(2, 23, 0), KEEPS_FIRST, OLD(74368, 1256, 1160), OLD_DEFAULTS, 32, true},
    {R(2, 24, 0), KEEPS_FIRST, OLD(1188128, 37232, 1160), OLD_DEFAULTS, 32,
     true},
    {R(2, 26, 3), KEEPS_LAST, OLD(10757400, 337264, 10504), OLD_DEFAULTS, 32,
     true},
    {R(2, 27, 0), KEEPS_LAST, OLD(10700552, 335968, 10448), OLD_DEFAULTS, 32,
     true},
    {R(2, 28, 0), KEEPS_FIRST, NEW(755066640, 23597416, 737368, 0, 0, 0),
     DEFAULTS_256, 32, true},
    {R(2, 29, 3), KEEPS_FIRST, NEW(23684880, 741736, 23128, 224, 176, 184),
     DEFAULTS_8, 32, true},
    {R(2, 30, 0), KEEPS_FIRST, NEW(23684880, 741736, 23128, 224, 176, 184),
     DEFAULTS_8, 32, false},
};

#define N (sizeof(slot_rows) / sizeof(*slot_rows))

/* Writes the variable of a pool's size to `name`, which it returns. */
static const char *example_variable(int pool, char name[EXAMPLE_VARIABLE_LEN])
{
    snprintf(name, EXAMPLE_VARIABLE_LEN, "NCCL_PROFILE_%s_POOL_SIZE",
             pool_names[pool]);
    return name;
}

/* Returns the oldest release that one may stand for: "2.26" for 2.26.0. */
static uint32_t oldest_of(uint32_t release)
{
    return release % 1000 == JP_NCCL_NO_PATCH ? release - JP_NCCL_NO_PATCH
                                              : release;
}

/* Returns whether slot_rows[i] applies to a release from oldest to release. */
static bool may_mean(size_t i, uint32_t oldest, uint32_t release)
{
    return slot_rows[i].since <= release &&
           (i + 1 == N || slot_rows[i + 1].since > oldest);
}

const struct example_slots *example_slots_find(uint32_t release)
{
    const struct example_slots *found = &slot_rows[0];
    uint32_t oldest = oldest_of(release);
    bool any = false;

    for (size_t i = 0; i < N; i++)
        if (may_mean(i, oldest, release) &&
            (!any || slot_rows[i].bytes[POOL_COLL] > found->bytes[POOL_COLL])) {
            found = &slot_rows[i];
            any = true;
        }
    return found;
}

/* Returns whether the patches that a release may stand for ("2.26") keep
 * different operations. */
static bool example_slots_differ(uint32_t release)
{
    enum example_keeps keeps = example_slots_find(release)->keeps;

    for (size_t i = 0; i < N; i++)
        if (may_mean(i, oldest_of(release), release) &&
            slot_rows[i].keeps != keeps)
            return true;
    return false;
}

/* --- what pools may not exceed --- */

/* What sizing starts from; everything is looked up once. */
struct example_demand {
    const struct backend_input *in;
    const struct example_slots *slots;
    uint64_t comms, wanted_colls, wanted_p2p; /* of each communicator */
    /* channels of one operation; ProxyOps of one channel */
    uint64_t channels, proxy_ops;
    uint64_t page_bytes;
    unsigned events;
    uint64_t given[EXAMPLE_POOLS]; /* slots that the user has set; 0: not set */
};

/* A limit, and the bytes that are compared with it. */
struct example_limit {
    const char *name;
    uint64_t bytes, limit;
};

#define USERS(pool) "the user's NCCL_PROFILE_" pool "_POOL_SIZE"

/* Returns the bytes of the largest pool. */
static uint64_t largest(const struct example_plan *p)
{
    uint64_t most = 0;

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        uint64_t bytes = num_mul(p->pool[i], p->slots->bytes[i]);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Returns what one allocation may take under overcommit 0, or UINT64_MAX:
 * unknown. A tenth stays free, as nodes differ a little. */
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

/* Returns half of what CommitLimit leaves; the other half is for the program.
 */
static uint64_t commit(const struct jp_nodemem *node)
{
    if (node->overcommit != 2 || !node->commit_limit_bytes)
        return UINT64_MAX;
    return node->commit_limit_bytes > node->committed_bytes
               ? (node->commit_limit_bytes - node->committed_bytes) / 2
               : 0;
}

/* Returns whether p exceeds a limit of example.h, and sets *out to the first
 * one. */
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
        {"the free space minus min_free=", files,
         jobshape_room(shape, plan_number(side, "min_free"))},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].bytes > rows[i].limit) {
            *out = rows[i];
            return true;
        }
    return false;
}

/* --- the largest pools that fit --- */

#define SMALL_PAGE 4096u
#define HUGE_PAGE (2u << 20)
#define TREE_OPS 6
#define CTRL_SLOTS 16
#define DETACH_SLOTS 128
#define GROUPS_FACTOR 8
#define GROUPS_MORE 1024

/* Bytes in the trace for begin and end of an event together (measured). */
#define TRACE_OPERATION 950
#define TRACE_CHANNEL 275
#define TRACE_PROXY_OP 920
#define TRACE_LAUNCH 275
#define TRACE_CTRL 205

/* Operations for each slot of PROXY_CTRL and PROXY_DETACH. */
#define OPS_A_CTRL 10
#define OPS_A_DETACH 2

/* Returns the operations of one communicator in a run, rounded up. */
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

/* Returns the events that events= adds, as far as the release has them. */
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

/* Returns the touched bytes of a slot that holds an operation: head and tail,
 * which may straddle small pages, and begin and end of ProxyOps. */
static uint64_t touched(const struct example_demand *d, uint64_t slot_bytes)
{
    uint64_t pages = d->page_bytes == HUGE_PAGE ? 2 : 4, bytes;

    pages += d->channels * (d->proxy_ops ? d->proxy_ops + 1 : 0);
    bytes = pages * d->page_bytes;
    return bytes < slot_bytes ? bytes : slot_bytes;
}

/* Returns whether the plugin may request kernel events: not with 2.26 and 2.27,
 * where they can crash the program (docs/dev/recorder-format.md, "Kernel
 * events"). This depends on the program's release, not the library's. */
static bool example_wants_kernels(const struct backend_input *in)
{
    uint64_t release = plan_number(in->side, "nccl");

    return release < JP_NCCL_VERSION(2, 26) ||
           release >= JP_NCCL_VERSION(2, 28);
}

/* Returns whether a full pool continues with later operations: the release has
 * KEEPS_LAST, and kernel events show when an operation is over. */
static bool example_turns_over(const struct backend_input *in)
{
    return example_slots_find(backend_release(in))->keeps == KEEPS_LAST &&
           example_wants_kernels(in);
}

static bool turns_over(const struct example_demand *d, uint64_t colls)
{
    return example_turns_over(d->in) && colls < d->wanted_colls;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sets the pools for `colls` and `p2p` operations of each communicator. */
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

/* Returns the bytes of one pool that are resident at the end of the run. */
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

/* Makes a plan for n collectives and v sends and receives. On false *why is the
 * limit that it exceeds. */
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

/* Returns v for n: in proportion (tied), or at most the minimum. */
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

/* Returns whether the smallest plan fits without the user's pools. Then *pool,
 * the largest of them, is what does not fit. */
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
            "%s=%" PRIu64 ", set by the user, needs %s (%s for each slot), but "
            "%s allows %s: the plugin cannot start. The plan "
            "ignores this variable; force=1 replaces it",
            example_variable(pool, name), d->given[pool], FIG_BYTES(why->bytes),
            FIG_BYTES(d->slots->bytes[pool]), why->name, FIG_BYTES(why->limit));
    return error_set(
        err,
        "the example plugin of NCCL %s needs at least %s (%s collectives in "
        "each of %s communicators), but %s allows %s",
        knob_format_release(backend_release(d->in), release, sizeof(release)),
        FIG_BYTES(why->bytes), FIG_COUNT(p->colls), FIG_COUNT(d->comms),
        why->name, FIG_BYTES(why->limit));
}

/* Lets a communicator have more than its even share, as far as address space
 * allows: the largest factor, by bisection. */
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

/* Sizes the pools by bisection over n. Returns -1 if the minimum does not fit;
 * err names it and the limit. */
static int size_pools(const struct backend_input *in, struct example_plan *out,
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

/* --- the planner --- */

/* Bits of NCCL_PROFILE_EVENT_MASK (default 0). We request what a timeline
 * needs, KernelCh where it is safe. ProxyStep (16) alone would be 99 % of the
 * volume, and KernelLaunch (2048) events are never given back. */
#define MASK_COLL 2
#define MASK_P2P 4
#define MASK_PROXY_OP 8
#define MASK_PROXY_CTRL 32
#define MASK_KERNEL_CH 64
#define MASK_KERNEL_LAUNCH 2048

static int example_usable(const struct backend_input *in, struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "no example library is configured "
                              "(nccl.example in the site file)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.example in the site file) cannot be "
                         "read",
                         in->library);
    return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* "keeps the last 1,200 of 40,000 collectives of each rank: the limit is
 * mem=". */
static void say_lost(const struct backend_input *in,
                     const struct example_plan *p, struct backend_forecast *f)
{
    uint64_t comms = plan_number(in->side, "comms");
    uint64_t iterations = plan_number(in->side, "iterations");
    uint64_t colls = num_mul(plan_number(in->side, "colls"), iterations);
    uint64_t p2p = num_mul(plan_number(in->side, "p2p"), iterations);
    const char *which = !example_wants_kernels(in) ? "the first "
                        : example_slots_differ(backend_release(in)) ? ""
                        : example_turns_over(in) ? "the last "
                                                 : "the first ";
    char sends[128] = "";

    if (p->colls >= p->wanted_colls && p->p2p >= p->wanted_p2p) {
        if (p->spread < comms)
            snprintf(f->lost, sizeof(f->lost),
                     "keeps all operations unless a communicator has more than "
                     "%s times its even share of %s",
                     FIG_COUNT(p->spread),
                     FIG_COUNT(p->wanted_colls + p->wanted_p2p));
        return;
    }
    if (p2p)
        snprintf(sends, sizeof(sends), " and %s of %s sends and receives",
                 FIG_COUNT(least(num_mul(p->p2p, comms), p2p)), FIG_COUNT(p2p));
    snprintf(f->lost, sizeof(f->lost),
             "keeps %s%s of %s collectives%s of each rank, if its "
             "communicators are equally busy. The limit is %s",
             which, FIG_COUNT(least(num_mul(p->colls, comms), colls)),
             FIG_COUNT(colls), sends, p->limit);
}

static void say_assumed(const struct backend_input *in,
                        struct backend_forecast *f)
{
    const struct jp_jobshape *shape = &in->shape;

    if (shape->node.ram_bytes && !(shape->ram_known && shape->huge_pages_known))
        snprintf(
            f->assumed, sizeof(f->assumed),
            "sized for nodes with %s%s%s, which is an assumption; correct it "
            "with nccl.node_memory and nccl.node_huge_pages in the site file",
            shape->ram_known ? "" : FIG_BYTES(shape->node.ram_bytes),
            shape->ram_known ? "" : " of RAM",
            shape->huge_pages_known ? ""
            : shape->ram_known      ? "transparent huge pages"
                                    : " and transparent huge pages");
}

static int example_forecast(const struct backend_input *in,
                            struct backend_forecast *out, struct jp_error *err)
{
    uint64_t comms = plan_number(in->side, "comms"), p2p;
    struct backend_forecast f = {0};
    struct example_plan p;

    if (size_pools(in, &p, err) < 0)
        return -1;
    f.memory_bytes = p.resident_bytes;
    f.reserved_bytes = p.reserved_bytes;
    f.disk_bytes = p.disk_bytes;
    p2p = least(p.p2p, p.wanted_p2p);
    f.planned_ops = p.planned_ops;
    f.kept_ops = least(num_mul(comms, num_add(p.colls, p2p)), p.planned_ops);
    snprintf(f.counted, sizeof(f.counted),
             "%s collectives and %s p2p in each of %s communicators; a slot of "
             "COLL %s, of P2P %s; at most %s channels",
             FIG_COUNT(p.colls), FIG_COUNT(p2p), FIG_COUNT(comms),
             FIG_BYTES(p.slots->bytes[POOL_COLL]),
             FIG_BYTES(p.slots->bytes[POOL_P2P]),
             FIG_COUNT(plan_number(in->side, "channels")));
    say_lost(in, &p, &f);
    say_assumed(in, &f);
    *out = f;
    return 0;
}

/* Writes why a pool has its size to buf, which it returns. */
static const char *pool_reason(const struct example_plan *p, int pool,
                               char *buf, size_t len)
{
    const char *what =
        pool == POOL_COLL || pool == POOL_COLL_API     ? "one a collective"
        : pool == POOL_P2P || pool == POOL_P2P_API     ? "one a send or receive"
        : pool == POOL_GROUP || pool == POOL_GROUP_API ? "one a group"
        : pool == POOL_PROXY_DETACH ? p->events & EXAMPLE_DETACH
                                          ? "one for two operations (events=)"
                                          : "one a process (PXN)"
        : pool == POOL_KERNEL_LAUNCH && p->events & EXAMPLE_LAUNCH
            ? "one an operation (events=)"
        : pool == POOL_PROXY_CTRL && p->events & EXAMPLE_CTRL
            ? "one for ten operations (events=)"
            : "not in the event mask";

    if (!p->slots->bytes[pool]) {
        snprintf(buf, len, "%s; not used by this release", what);
    } else {
        snprintf(buf, len, "%s; %s a slot, default %" PRIu32, what,
                 FIG_BYTES(p->slots->bytes[pool]), p->slots->defaults[pool]);
    }
    return buf;
}

static int add_pools(const struct example_plan *p, struct backend_env *out,
                     struct jp_error *err)
{
    char name[EXAMPLE_VARIABLE_LEN], reason[96];

    for (int i = 0; i < EXAMPLE_POOLS; i++) {
        if (backend_env_number(out, err, example_variable(i, name), p->pool[i],
                               pool_reason(p, i, reason, sizeof(reason))) < 0)
            return -1;
    }
    return 0;
}

static int add_mask(const struct backend_input *in,
                    const struct example_plan *p, struct backend_env *out,
                    struct jp_error *err)
{
    const char *p2p_knob = plan_get(in->side, "p2p");
    bool p2p = !p2p_knob || strcmp(p2p_knob, "off") != 0;
    bool kernels = example_wants_kernels(in);
    uint64_t mask = MASK_COLL;
    char reason[128];

    mask |= kernels ? MASK_KERNEL_CH : 0;
    mask |= p2p ? MASK_P2P : 0;
    mask |= p->slots->proxy_ops ? MASK_PROXY_OP : 0;
    mask |= p->events & EXAMPLE_LAUNCH ? MASK_KERNEL_LAUNCH : 0;
    mask |= p->events & EXAMPLE_CTRL ? MASK_PROXY_CTRL : 0;
    snprintf(reason, sizeof(reason), "Coll%s%s%s%s%s%s; default 0",
             kernels ? ", KernelCh" : "", p2p ? ", P2p" : "",
             p->events & EXAMPLE_LAUNCH ? ", KernelLaunch" : "",
             p->events & EXAMPLE_CTRL ? ", ProxyCtrl" : "",
             p->slots->proxy_ops ? ", ProxyOp" : "; not ProxyOp (nccl#2112)",
             kernels ? "" : "; not KernelCh, which can end the program");
    return backend_env_number(out, err, "NCCL_PROFILE_EVENT_MASK", mask,
                              reason);
}

/* Sets all variables, also those of later releases: a program may bring another
 * NCCL than planned, and unknown variables are ignored. */
static int example_env(const struct backend_input *in, struct backend_env *out,
                       struct jp_error *err)
{
    struct example_plan p;

    if (size_pools(in, &p, err) < 0)
        return -1;
    /* the plugin appends _<commHash>_<rank>.json */
    if (backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", in->library) <
            0 ||
        backend_env_add(out, err, "NCCL_PROFILE_DUMP_FILE", "%s/raw/%%N/trace",
                        in->step_dir) < 0 ||
        add_mask(in, &p, out, err) < 0)
        return -1;
    return add_pools(&p, out, err);
}

static const struct backend_planner example_planner = {
    .usable = example_usable,
    .size = example_forecast,
    .env = example_env,
};

static const struct jp_mode words[] = {
    {.name = "example",
     .help = "NVIDIA's example plugin: a timeline of the last operations"},
    {0}};

static const struct jp_knob knobs[] = {
    NCCL_KNOB_CHANNELS,
    {JP_KNOB(
        "events", JP_KNOB_WORD, 0, 0, EXAMPLE_EVENT_WORDS, "usual",
        "events in addition to the operations: kernel launches, states of the "
        "progress thread, ProxyOps of other processes")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("example", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "NVIDIA's libnccl-profiler-example.so")},
    {JP_KNOB("example_release", JP_KNOB_VERSION, 0, 0, NULL, NULL,
             "NCCL release of the example plugin's library")},
    {0}};

extern const struct backend backend_nccl_example;
const struct backend backend_nccl_example = {
    .abi = BACKEND_ABI,
    .about = {.name = "example",
              .title = "NVIDIA's example plugin",
              .option = OPTION_NCCL,
              .words = words,
              .knobs = knobs,
              .site_keys = site_keys,
              .library = "example",
              .mark = "NCCL_PROFILE_EVENT_MASK",
              .release = "example_release",
              .keeps_last = true},
    .planner = &example_planner,
    .reader = &example_reader,
};
