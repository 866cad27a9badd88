/* print_view.c - print a plan that is made by hand, for golden.test.
 *
 * print_view recorder|inspector|example|hostile [brief]
 */
#include "orchestrator/agent/plan_view.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(*(array)))
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A setting's texts are char *, which the printer only reads. */
#define ROW(key, value, source, where, reason)                                 \
    {                                                                          \
        (char *) (key), (char *) (value), (char *) (source), (char *) (where), \
            (char *) (reason)                                                  \
    }

static struct jp_setting recorder_settings[] = {
    ROW("mode", "recorder", "site file", "/etc/jobprof/jobprof.conf:12",
        "auto chose the recorder"),
    ROW("iterations", "1000", "option", "", ""),
    ROW("colls", "64", "default", "", ""),
    ROW("mem", "256M", "environment", "JOBPROF_NCCL", ""),
    ROW("nccl", "2.30", "default", "",
        "an assumption: set nccl= or the site file"),
    ROW("dir", "/scratch/projects/nlp/alice/profiles/%x/jobprof-%j",
        "user file", "/home/alice/.config/jobprof/jobprof.conf:3", ""),
};
static struct plan_variable recorder_variables[] = {
    {"NCCL_PROFILER_PLUGIN", "/usr/lib/jobprof/libnccl-profiler-jobprof.so", "",
     false},
    {"JOBPROF_RECORDER_DIR", "/scratch/alice/jobprof-12/step-0/raw/%N", "",
     false},
    {"JOBPROF_RECORDER_DISK", "335544320", "disk= over the ranks", false},
};

static struct jp_setting inspector_settings[] = {
    ROW("mode", "inspector", "option", "", ""),
    ROW("rate", "5000", "option", "", ""),
    ROW("interval", "100ms", "default", "", ""),
    ROW("nccl", "2.31.2", "option", "", ""),
};
static struct plan_variable inspector_variables[] = {
    {"NCCL_PROFILER_PLUGIN", "/opt/own.so", "set by the user; force=1 replaces",
     true},
    {"NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS", "100000",
     "the default writes nothing", false},
    {"NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", "0",
     "min_size=; the default of 8192 hides small messages", false},
};

static struct jp_setting example_settings[] = {
    ROW("mode", "example", "option", "", ""),
    ROW("iterations", "10000", "option", "", ""),
    ROW("rate", "3", "option", "", "NVIDIA's example plugin does not use it"),
    ROW("nccl", "2.28", "site file", "/etc/jobprof/jobprof.conf:9", ""),
};
static struct plan_variable example_variables[] = {
    {"NCCL_PROFILE_COLL_POOL_SIZE", "33",
     "one a collective; 720.1 MiB a slot, default 256", false},
    {"NCCL_PROFILE_KERNEL_LAUNCH_POOL_SIZE", "8",
     "not in the event mask; 56 B a slot, default 256", false},
    {"NCCL_PROFILE_CE_COLL_POOL_SIZE", "8",
     "not in the event mask; not used by this release", false},
    {"NCCL_PROFILE_PROXY_CTRL_POOL_SIZE", "9", "not in the event mask", true},
};

/* Text that a user's own variables may contain. */
static struct plan_variable hostile_variables[] = {
    {"NCCL_PROFILER_PLUGIN", "a\033[31mb\nc\td\177", "\001", true},
    {"NCCL_PROFILE_DUMP_FILE", "", "", true},
};

static const struct plan_view recorder = {
    .asked = "auto",
    .runs = "recorder",
    .reason = "auto chose the recorder",
    .release = "2.30",
    .assumed = true,
    .settings = recorder_settings,
    .n_settings = N(recorder_settings),
    .variables = recorder_variables,
    .n_variables = N(recorder_variables),
    .shape = {.nnodes = 4,
              .ntasks = 32,
              .ranks_per_node = 8,
              .step_memory_bytes = 64 * GIB,
              .memory_from = "SLURM_MEM_PER_NODE",
              .node = {.ram_bytes = 512 * GIB, .swap_bytes = 8 * GIB},
              .disk_free_bytes = 800 * GIB},
    .forecast = {.memory_bytes = 16 * MIB,
                 .reserved_bytes = 16 * MIB,
                 .disk_bytes = 28 * MIB,
                 .planned_ops = 64000,
                 .kept_ops = 64000,
                 .counted = "iterations x (colls + p2p) x 450 B"},
    .iterations = 1000,
    .disk_bytes = 10 * GIB,
    .min_free_bytes = GIB,
    .dir = "/scratch/alice/jobprof-12/step-0",
    .warnings = "",
    .notes = "",
};

/* A foreign plugin, a future release, no swap, a full disk. */
static const struct plan_view inspector = {
    .asked = "inspector",
    .runs = "inspector",
    .reason = "",
    .release = "2.31.2",
    .newer = true,
    .settings = inspector_settings,
    .n_settings = N(inspector_settings),
    .variables = inspector_variables,
    .n_variables = N(inspector_variables),
    .shape = {.nnodes = 1,
              .ntasks = 1,
              .node = {.ram_bytes = 512 * GIB,
                       .overcommit = 2,
                       .commit_limit_bytes = 256 * GIB,
                       .committed_bytes = 100 * GIB},
              .address_limit_bytes = 64 * GIB,
              .disk_free_bytes = GIB},
    .forecast = {.memory_bytes = 50 * MIB,
                 .disk_bytes = 5 * MIB,
                 .planned_ops = 12800,
                 .kept_ops = 10800,
                 .lost = "loses up to 2,000 of 12,800 records a rank"},
    .plugin = "/opt/own.so",
    .without = "NCCL_PROFILER_PLUGIN",
    .iterations = 200,
    .iterations_default = true,
    .disk_bytes = 10 * GIB,
    .min_free_bytes = GIB,
    .dir = "/scratch/alice/jobprof-12/step-0",
    .warnings =
        "NCCL_PROFILER_PLUGIN=/opt/own.so is set in the environment and "
        "stays (force=1 replaces it): NVIDIA's Inspector does not run, "
        "and it is unknown what is recorded\n"
        "NCCL 2.31.2, inspector: collectives slow down "
        "(https://github.com/NVIDIA/nccl/issues/2355) "
        "[/etc/jobprof/nccl-known-bad.conf:12]",
    .notes = "one line\nanother line",
};

/* Few operations are kept; the size of the step is unknown. */
static const struct plan_view example = {
    .asked = "example",
    .runs = "example",
    .reason = "",
    .release = "2.28",
    .settings = example_settings,
    .n_settings = N(example_settings),
    .variables = example_variables,
    .n_variables = N(example_variables),
    .forecast = {.memory_bytes = 102 * MIB,
                 .reserved_bytes = 94 * GIB,
                 .disk_bytes = 9 * MIB,
                 .planned_ops = 40000,
                 .kept_ops = 1200,
                 .lost = "keeps the last 1,200 of 40,000 collectives of each "
                         "rank"},
    .disk_bytes = 10 * GIB,
    .dir = "/home/alice/jobprof-%j/step-%s",
    .warnings = "",
    .notes = "",
};

static const struct plan_view hostile = {
    .asked = "inspector",
    .runs = "recorder",
    .reason = "no Inspector library is configured\n\033[2J",
    .plugin = "a\033[31mb\nc\td\177",
    .without = "\002",
    .release = "",
    .variables = hostile_variables,
    .n_variables = N(hostile_variables),
    .shape = {.ntasks = 4000000000u, .disk_free_bytes = KIB},
    .forecast = {.memory_bytes = UINT64_MAX / 2,
                 .disk_bytes = UINT64_MAX / 2,
                 .planned_ops = UINT64_MAX,
                 .kept_ops = 0},
    .disk_bytes = UINT64_MAX,
    .min_free_bytes = UINT64_MAX,
    .dir = "/\n",
    .warnings = "",
    .notes = "\n\n",
};

static const struct {
    const char *name;
    const struct plan_view *view;
} views[] = {{"recorder", &recorder},
             {"inspector", &inspector},
             {"example", &example},
             {"hostile", &hostile}};

int main(int argc, char **argv)
{
    struct jp_error err = {"usage: print_view VIEW [brief]"};

    for (size_t i = 0; argc > 1 && i < N(views); i++)
        if (!strcmp(argv[1], views[i].name) &&
            plan_view_print(stdout, views[i].view, "plan", argc > 2, &err) == 0)
            return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
