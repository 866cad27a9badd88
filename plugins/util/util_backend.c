/* util_backend.c - utilisation's place among the backends: words, knobs,
 * doctor's look. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/policy.h"
#include "plugins/backend.h"
#include "plugins/util/util_launch.h"

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
    {JP_KNOB("labels", JP_KNOB_LABELS, 0, 0, NULL, NULL,
             "your labels of the run; the report repeats them")},
    {JP_KNOB_SUMMARY},
    {0}};

static const struct jp_policy_row policy[] = {
    {"util_period_ms", offsetof(struct jp_policy, period_ms), UTIL_PERIOD_MS, 0,
     60000, "a report of slower samples shows little", .site = {.name = NULL}},
    {"util_disk_mib", offsetof(struct jp_policy, disk_mib),
     JP_DEF_AGENT_DISK_MIB, 1, 4096, "64 times the default",
     .site = {JP_KNOB("util_disk", JP_KNOB_COUNT, 1, 4096, NULL, NULL,
                      "MiB of utilisation samples for each node")}},
    {.key = NULL}};

/* What a node of this kind can measure. No library is loaded, because a driver
 * may hang. */
static int look_at_node(const struct jp_plan *plan, backend_note *say,
                        void *arg, struct jp_error *err)
{
    const struct plan_side *side = &plan->sides[OPTION_UTIL];
    uint64_t us = side->grammar ? plan_number(side, "period") : 0;
    /* only the unified hierarchy has this file at its root */
    bool v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0,
         v1 = !v2 && access("/sys/fs/cgroup/memory", F_OK) == 0;
    char line[256], period[32];

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
    return say(arg, false, line, err);
}

const struct backend backend_util = {
    .abi = BACKEND_ABI,
    .about = {.name = "util",
              .title = "utilisation",
              .option = OPTION_UTIL,
              .form = &form,
              .words = words,
              .samples = true,
              .knobs = knobs,
              .policy = policy},
    .planner = &planner,
    .side = &util_side,
    .look = look_at_node,
};

extern const struct backend backend_util;
