/* util_backend.c - utilisation's place among the backends: words, knobs,
 * doctor's look. */
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/policy.h"
#include "plugins/backend.h"
#include "plugins/cuda/cuda_file.h"
#include "plugins/cuda/cuda_launch.h"
#include "plugins/util/util_launch.h"

/* Doctor reports whether the library that tasks load is installed, and which
 * CUPTI it would find. */
#define INSTALLED JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME

/* Places in which CUDA's toolkits and distributions install CUPTI. */
static const char *const usual[] = {
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda/lib64/libcupti.so*",
    "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda-*/lib64/libcupti.so*",
    "/usr/lib/*-linux-gnu/libcupti.so*",
    "/usr/lib64/libcupti.so*",
};

/* The first file that matches the pattern, into path. */
static bool find(const char *pattern, char *path, size_t len)
{
    glob_t found = {0};
    bool there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;

    if (there)
        snprintf(path, len, "%s", found.gl_pathv[0]);
    globfree(&found);
    return there;
}

/* LD_LIBRARY_PATH comes first, as for the dynamic loader. */
static bool find_cupti(char *path, size_t len)
{
    const char *folders = getenv("LD_LIBRARY_PATH");
    char pattern[4096];

    while (folders && *folders) {
        size_t n = strcspn(folders, ":");

        snprintf(pattern, sizeof(pattern), "%.*s/libcupti.so*", (int) n,
                 folders);
        /* relative folders depend on where the task runs */
        if (*folders == '/' && find(pattern, path, len))
            return true;
        folders += n + (folders[n] == ':');
    }
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
        if (find(usual[i], path, len))
            return true;
    return false;
}

/* Formats "CUDA's calls (cuda=1): PATH, libcupti at PATH", or what is missing,
 * into buf. No library is loaded. Returns whether they can be counted. */
static bool cuda_look(char *buf, size_t len)
{
    char cupti[512];

    if (access(INSTALLED, R_OK) < 0) {
        snprintf(buf, len,
                 "CUDA's calls (cuda=1) cannot be counted: %s does not exist",
                 INSTALLED);
        return false;
    }
    if (!find_cupti(cupti, sizeof(cupti)))
        snprintf(cupti, sizeof(cupti),
                 "no libcupti in the usual places, so only programs with their "
                 "own are counted");
    snprintf(buf, len, "CUDA's calls (cuda=1): %s, %s", INSTALLED, cupti);
    return true;
}

#define MINUTE (60 * JP_SECOND)

/* The node agent takes samples beside any profiler or without one. Utilisation
 * is never the profiler of a step itself. */
static int usable(const struct backend_input *in, struct jp_error *err)
{
    return error_set(err, "utilisation is sampled with --util-profile");
}

static const struct backend_planner planner = {
    .usable = usable,
};

/* A period that somebody has set to 0 asks for nothing. */
static bool is_asked(const struct plan_side *side)
{
    return side->mode && side->mode_source >= PLAN_ENV &&
           (plan_number(side, "period") ||
            plan_find(side, "period")->source <= PLAN_SITE);
}

static const struct jp_option_form form = {
    .off = "no utilisation samples",
    .first = "period",
    .is_asked = is_asked,
    .policy_knob = "period",
    .policy_key = "util_period",
    .policy_at = offsetof(struct jp_policy, period_ms)};

static const struct jp_mode words[] = {
    {.name = "auto", .help = "samples of CPUs, memory, disks, GPUs and ports"},
    {0}};

static const struct jp_knob knobs[] = {
    {JP_KNOB("period", JP_KNOB_TIME, 0, MINUTE, NULL,
             JP_STR(UTIL_PERIOD_MS) "ms",
             "time between two samples, at least 100 ms; 0: no samples")},
    {JP_KNOB(
        "cuda", JP_KNOB_BOOL, 0, 1, NULL, "0",
        "1: count CUDA launches, copies, allocations and waits of the tasks")},
    {JP_KNOB("labels", JP_KNOB_LABELS, 0, 0, NULL, NULL,
             "your labels of the run; the report repeats them")},
    {JP_KNOB_SUMMARY},
    {0}};

static const struct jp_policy_row policy[] = {
    {"util_period_ms", offsetof(struct jp_policy, period_ms), UTIL_PERIOD_MS, 0,
     60000, "a report of slower samples shows little", .site = {.name = NULL}},
    {"util_disk_mib", offsetof(struct jp_policy, disk_mib), UTIL_DISK_MIB, 1,
     4096, "64 times the default",
     .site = {JP_KNOB("util_disk", JP_KNOB_COUNT, 1, 4096, NULL, NULL,
                      "MiB of utilisation samples for each node")}},
    {.key = NULL}};

/* What a node of this kind can measure. No library is loaded, because a driver
 * may hang. */
static int look(const struct jp_plan *plan, backend_note *say, void *arg,
                struct jp_error *err)
{
    const struct plan_side *side = &plan->sides[OPTION_UTIL];
    uint64_t us = side->grammar ? plan_number(side, "period") : 0;
    /* only the unified hierarchy has this file at its root */
    bool v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0,
         v1 = !v2 && access("/sys/fs/cgroup/memory", F_OK) == 0;
    char line[256], period[32], cuda[1024];
    bool usable_cuda;

    snprintf(line, sizeof(line),
             "utilisation: %s%s; this host: steps by %s, %s of waits (PSI), %s",
             us ? "a sample every " : "no samples without the option",
             us ? num_format_time_us(us, period, sizeof(period)) : "",
             v2   ? "cgroup v2"
             : v1 ? "cgroup v1"
                  : "their processes (no cgroup)",
             access("/proc/pressure/cpu", R_OK) == 0 ? "shares" : "no shares",
             access("/dev/nvidiactl", F_OK) == 0 ? "NVIDIA GPUs"
                                                 : "no NVIDIA GPU");
    if (say(arg, false, line, err) < 0)
        return -1;
    usable_cuda = cuda_look(cuda, sizeof(cuda));
    return say(arg, !usable_cuda, cuda, err) < 0 ? -1 : 0;
}

const struct backend backend_util = {
    .abi = BACKEND_ABI,
    .about = {.name = "util",
              .title = "utilisation",
              .option = OPTION_UTIL,
              .form = &form,
              .words = words,
              .knobs = knobs,
              .policy = policy},
    .planner = &planner,
    .side = &util_side,
    .look = look,
    .check_step = cuda_check_step,
};

extern const struct backend backend_util;
