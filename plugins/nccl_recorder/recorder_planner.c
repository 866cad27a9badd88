/* recorder_planner.c - variables and cost of jobprof's own recorder. */
#include "plugins/backend.h"

#include <stdio.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/num.h"

#define INSTALLED JP_PKGLIBDIR "/libnccl-profiler-jobprof.so"

/* One operation in the file, at most (measured: 11 to 13 without network
 * waits; jitter of real times makes it more). */
#define RECORD_BYTES 40

/* One operation in a buffer; the writer drains each 100 ms, and twice that is
 * held ready. */
#define SLOT_BYTES 256
#define DRAINS_A_SECOND 10

/* Below this the recorder has no room to work. */
#define MIN_MEMORY_BYTES (1u << 20)

struct recorder_plan {
    uint64_t memory_bytes, disk_bytes, cap_bytes, planned_ops, kept_ops;
    const char *limit; /* what keeps it from all, or "" */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int size_recorder(const struct backend_input *in,
                         struct recorder_plan *p, struct jp_error *err)
{
    const struct plan_side *side = in->side;
    uint64_t ntasks = in->shape.ntasks ? in->shape.ntasks : 1;
    uint64_t room = jobshape_room(&in->shape, plan_number(side, "min_free"));
    uint64_t limit =
        least(plan_number(side, "mem"), jobshape_memory(&in->shape));
    uint64_t volume;

    if (limit < MIN_MEMORY_BYTES)
        return error_set(err,
                         "the recorder needs at least %s a rank; a quarter of "
                         "the step's memory on a node allows %s",
                         FIG_BYTES(MIN_MEMORY_BYTES), FIG_BYTES(limit));
    p->memory_bytes =
        num_mul(num_mul(plan_number(side, "comms"), plan_number(side, "rate")),
                2 * SLOT_BYTES) /
        DRAINS_A_SECOND;
    if (p->memory_bytes < JP_DEF_RECORDER_MEM_BYTES)
        p->memory_bytes = JP_DEF_RECORDER_MEM_BYTES;
    p->memory_bytes = least(p->memory_bytes, limit);
    p->planned_ops =
        num_mul(num_add(plan_number(side, "colls"), plan_number(side, "p2p")),
                plan_number(side, "iterations"));
    volume = num_mul(p->planned_ops, RECORD_BYTES);
    p->cap_bytes = plan_number(side, "disk") / ntasks;
    p->limit = room / ntasks < p->cap_bytes ? "min_free=" : "disk=";
    p->disk_bytes = least(volume, least(p->cap_bytes, room / ntasks));
    p->kept_ops = p->disk_bytes < volume ? p->disk_bytes / RECORD_BYTES
                                         : p->planned_ops;
    return 0;
}

static int recorder_forecast(const struct backend_input *in,
                             struct backend_forecast *out, struct jp_error *err)
{
    struct backend_forecast f = {0};
    struct recorder_plan p;

    if (size_recorder(in, &p, err) < 0)
        return -1;
    f.memory_bytes = f.reserved_bytes = p.memory_bytes;
    f.disk_bytes = p.disk_bytes;
    f.planned_ops = p.planned_ops;
    f.kept_ops = p.kept_ops;
    snprintf(f.counted, sizeof(f.counted),
             "iterations x (colls + p2p) x %d B, at most disk= over the ranks "
             "(%s each)",
             RECORD_BYTES, FIG_BYTES(p.cap_bytes));
    if (p.kept_ops < p.planned_ops)
        snprintf(f.lost, sizeof(f.lost),
                 "writes the first %s of %s operations of a rank whole, then "
                 "counters and samples: the limit is %s",
                 FIG_COUNT(p.kept_ops), FIG_COUNT(p.planned_ops), p.limit);
    *out = f;
    return 0;
}

/* Whether the library is on the nodes is for `begin` to say: srun's host need
 * not have it. */
static int recorder_env(const struct backend_input *in, struct backend_env *out,
                        struct jp_error *err)
{
    const char *library = in->library ? in->library : INSTALLED;
    struct recorder_plan p;

    if (size_recorder(in, &p, err) < 0 ||
        backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", library) < 0 ||
        backend_env_add(out, err, "JOBPROF_RECORDER_DIR", "%s/raw/%%N",
                        in->step_dir) < 0 ||
        backend_env_number(out, err, "JOBPROF_RECORDER_MEM", p.memory_bytes,
                           "buffers of one process; rate x comms, mem=") < 0 ||
        backend_env_number(out, err, "JOBPROF_RECORDER_DISK", p.cap_bytes,
                           "disk= over the ranks") < 0)
        return -1;
    if (backend_env_number(out, err, "JOBPROF_RECORDER_MIN_FREE",
                           plan_number(in->side, "min_free"), "min_free=") < 0)
        return -1;
    /* which NCCL the program loads is known only there */
    return in->declined && *in->declined
               ? backend_env_add(out, err, "JOBPROF_RECORDER_DECLINE", "%s",
                                 in->declined)
               : 0;
}

static const struct backend_planner recorder_planner = {
    .size = recorder_forecast,
    .env = recorder_env,
};

extern const struct backend backend_nccl_recorder;
const struct backend backend_nccl_recorder = {
    .abi = BACKEND_ABI,
    .name = "recorder",
    .help = "jobprof's own NCCL profiler plugin: every collective, streamed",
    .planner = &recorder_planner,
};
