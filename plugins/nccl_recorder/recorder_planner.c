/* recorder_planner.c - variables and cost of jobprof's own recorder. */
#include "plugins/backend.h"

#include <stdio.h>

#define INSTALLED JP_PKGLIBDIR "/libnccl-profiler-jobprof.so"

/* A line of Inspector's format without its verbose part (measured: 447). */
#define LINE_BYTES 450

static int recorder_size(const struct backend_input *in,
                         struct backend_size *out, struct jp_error *err)
{
    uint64_t ops, bytes;

    *out = (struct backend_size){0};
    if (__builtin_add_overflow(plan_number(in->side, "colls"),
                               plan_number(in->side, "p2p"), &ops) ||
        __builtin_mul_overflow(ops, plan_number(in->side, "iterations"),
                               &ops) ||
        __builtin_mul_overflow(ops, LINE_BYTES, &bytes))
        return error_set(err, "iterations x colls is too much to count");
    out->rank_disk_bytes = bytes;
    snprintf(out->text, sizeof(out->text), "iterations x (colls + p2p) x %d B",
             LINE_BYTES);
    return 0;
}

/* Whether the library is on the nodes is for `begin` to say: srun's host need
 * not have it. */
static int recorder_env(const struct backend_input *in, struct backend_env *out,
                        struct jp_error *err)
{
    const char *library = in->library ? in->library : INSTALLED;

    if (backend_env_add(out, err, "NCCL_PROFILER_PLUGIN", "%s", library) < 0)
        return -1;
    return backend_env_add(out, err, "JOBPROF_RECORDER_DIR", "%s/raw/%%N",
                           in->step_dir);
}

static const struct backend_planner recorder_planner = {
    .size = recorder_size,
    .env = recorder_env,
};

extern const struct backend backend_nccl_recorder;
const struct backend backend_nccl_recorder = {
    .abi = BACKEND_ABI,
    .name = "recorder",
    .help = "jobprof's own NCCL profiler plugin: every collective, streamed",
    .planner = &recorder_planner,
};
