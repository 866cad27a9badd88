/* example_planner.c - variables and cost of NVIDIA's example plugin. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "plugins/nccl_example/example.h"
#include "plugins/nccl_knobs.h"
#include "plugins/nccl_example/example_size.h"

/* Bits of NCCL_PROFILE_EVENT_MASK; the plugin's own default is 0. What a
 * timeline needs, KernelCh where it is safe: ProxyStep (16) alone would be 99 %
 * of the volume, and KernelLaunch (2048) events are never given back. */
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
    const char *which = !example_asks_kernels(in) ? "the first "
                        : example_slots_differ(backend_release(in)) ? ""
                        : example_turns_over(in) ? "the last "
                                                 : "the first ";
    char sends[128] = "";

    if (p->colls >= p->wanted_colls && p->p2p >= p->wanted_p2p) {
        if (p->spread < comms)
            snprintf(f->lost, sizeof(f->lost),
                     "keeps all as long as no communicator has more than %s "
                     "times its even share of %s operations",
                     FIG_COUNT(p->spread),
                     FIG_COUNT(p->wanted_colls + p->wanted_p2p));
        return;
    }
    if (p2p)
        snprintf(sends, sizeof(sends), " and %s of %s sends and receives",
                 FIG_COUNT(least(num_mul(p->p2p, comms), p2p)), FIG_COUNT(p2p));
    snprintf(f->lost, sizeof(f->lost),
             "keeps %s%s of %s collectives%s of each rank, if its "
             "communicators are equally busy: the limit is %s",
             which, FIG_COUNT(least(num_mul(p->colls, comms), colls)),
             FIG_COUNT(colls), sends, p->limit);
}

static void say_assumed(const struct backend_input *in,
                        struct backend_forecast *f)
{
    const struct jp_jobshape *shape = &in->shape;

    if (shape->node.ram_bytes && !(shape->ram_known && shape->huge_pages_known))
        snprintf(f->assumed, sizeof(f->assumed),
                 "sized as if each node had %s%s%s; nccl.node_memory and "
                 "nccl.node_huge_pages in the site file say what they have",
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

    if (example_size(in, &p, err) < 0)
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

/* Why a pool is as large as it is. */
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
        snprintf(buf, len, "%s; unknown to this release", what);
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
    bool kernels = example_asks_kernels(in);
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

/* All variables, those of later releases too: a program may bring another NCCL
 * than the one that was planned with, and unknown ones are ignored. */
static int example_env(const struct backend_input *in, struct backend_env *out,
                       struct jp_error *err)
{
    struct example_plan p;

    if (example_size(in, &p, err) < 0)
        return -1;
    /* the plugin adds _<commHash>_<rank>.json */
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
        "events beside the operations' own: kernel launches, states of the "
        "progress thread, ProxyOps of other processes")},
    {0}};

static const struct jp_knob site_keys[] = {
    {JP_KNOB("example", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "NVIDIA's libnccl-profiler-example.so")},
    {JP_KNOB("example_release", JP_KNOB_VERSION, 0, 0, NULL, NULL,
             "NCCL release that the example plugin's library is of")},
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
