/* inspector_planner.c - variables and cost of NVIDIA's Inspector. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Measured on 2.30.7: a record, a verbose record with two channels, a ring's
 * slot. Two rings a communicator, plus an equal drain buffer. */
#define LINE_BYTES 447
#define VERBOSE_BYTES 1020
#define SLOT_BYTES 3192

/* Release that brought the Inspector. */
#define FIRST JP_NCCL_VERSION(2, 28)

/* What a variable's number is made of. */
enum what { ONE, ZERO, INTERVAL, VERBOSE, MIN_SIZE, RING, P2P };

/* All variables, the release that first reads each, and its value. Defaults
 * are written out: Inspector's own lose most records. */
static const struct {
    const char *name;
    unsigned since;
    enum what what;
} variables[] = {
    {"ENABLE", FIRST, ONE},
    {"DUMP_THREAD_ENABLE", FIRST, ONE},
    {"DUMP_THREAD_INTERVAL_MICROSECONDS", FIRST, INTERVAL},
    {"DUMP_VERBOSE", FIRST, VERBOSE},
    {"PROM_DUMP", JP_NCCL_VERSION(2, 29), ZERO},
    {"ENABLE_P2P", JP_NCCL_VERSION(2, 30), P2P},
    {"DUMP_MIN_SIZE_BYTES", JP_NCCL_VERSION(2, 30), MIN_SIZE},
    {"DUMP_COLL_RING_SIZE", JP_NCCL_VERSION(2, 30), RING},
    {"DUMP_P2P_RING_SIZE", JP_NCCL_VERSION(2, 30), RING},
    /* with 1 everything without GPU timing is dropped; the records name
     * their timing's source */
    {"REQUIRE_KERNEL_TIMING", JP_NCCL_VERSION(2, 30), ZERO},
};

static uint64_t number(const struct plan_side *side, enum what what)
{
    const char *p2p;

    switch (what) {
    case ONE:
        return 1;
    case ZERO:
        return 0;
    case INTERVAL:
        return plan_number(side, "interval");
    case VERBOSE:
        return plan_number(side, "verbose");
    case MIN_SIZE:
        return plan_number(side, "min_size");
    case RING:
        return plan_number(side, "ring");
    case P2P:
        p2p = plan_get(side, "p2p");
        return !p2p || strcmp(p2p, "off") != 0;
    }
    return 0;
}

static int inspector_usable(const struct backend_input *in,
                            struct jp_error *err)
{
    if (!in->library)
        return error_set(err, "no Inspector library is configured "
                              "(nccl.inspector in the site file)");
    if (!in->library_exists)
        return error_set(err,
                         "%s (nccl.inspector in the site file) cannot be "
                         "read",
                         in->library);
    if (plan_number(in->side, "nccl") < FIRST)
        return error_set(err, "NCCL %s has no Inspector (2.28 has)",
                         plan_get(in->side, "nccl"));
    return 0;
}

static int inspector_size(const struct backend_input *in,
                          struct backend_size *out, struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t line = plan_number(side, "verbose") ? VERBOSE_BYTES : LINE_BYTES;
    uint64_t ops, bytes, memory;

    *out = (struct backend_size){0};
    if (__builtin_add_overflow(plan_number(side, "colls"),
                               plan_number(side, "p2p"), &ops) ||
        __builtin_mul_overflow(ops, plan_number(side, "iterations"), &ops) ||
        __builtin_mul_overflow(ops, line, &bytes) ||
        __builtin_mul_overflow(plan_number(side, "comms") * 4 * SLOT_BYTES,
                               plan_number(side, "ring"), &memory))
        return error_set(err, "the sizes are too much to count");
    out->rank_disk_bytes = bytes;
    out->rank_memory_bytes = memory;
    snprintf(out->text, sizeof(out->text),
             "iterations x (colls + p2p) x %" PRIu64
             " B; comms x 4 x ring x %d B",
             line, SLOT_BYTES);
    return 0;
}

static int inspector_env(const struct backend_input *in,
                         struct backend_env *out, struct jp_error *err)
{
    uint64_t release = plan_number(in->side, "nccl");
    char name[64];

    if (backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", in->library) <
            0 ||
        backend_env_add(out, err, "NCCL_INSPECTOR_DUMP_DIR", "%s/raw/%%N",
                        in->step_dir) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        if (release < variables[i].since)
            continue;
        snprintf(name, sizeof(name), "NCCL_INSPECTOR_%s", variables[i].name);
        if (backend_env_add(out, err, name, "%" PRIu64,
                            number(in->side, variables[i].what)) < 0)
            return -1;
    }
    return 0;
}

static const struct backend_planner inspector_planner = {
    .usable = inspector_usable,
    .size = inspector_size,
    .env = inspector_env,
    .fallback = "recorder",
};

extern const struct backend backend_nccl_inspector;
const struct backend backend_nccl_inspector = {
    .abi = BACKEND_ABI,
    .name = "inspector",
    .help = "NVIDIA's Inspector, where the site file names its library",
    .planner = &inspector_planner,
};
