/* cause_table.c - what may delay a rank, node or network, and which metric
 * shows it.
 *
 * A row is a metric: which difference counts (least, a limit of
 * cause_limits.h), how well it explains a wait (prior), what it costs (takes),
 * and the clause for readers. prior and takes are judgements of ours; they
 * decide the order of causes, not whether one is named. A new cause needs a
 * constant in cause.h, a word here and at least one row.
 */
#include "orchestrator/util/cause.h"

#include <math.h>

const char *const cause_next[JP_CAUSES] = {
    [JP_CAUSE_GPU_XID] = "drain the node and read the driver's log",
    [JP_CAUSE_GPU_ECC] = "drain the node and read the driver's log",
    [JP_CAUSE_GPU_THERMAL] = "cooling (nvidia-smi -q -d PERFORMANCE)",
    [JP_CAUSE_GPU_POWER] = "power limit (nvidia-smi -q -d PERFORMANCE)",
    [JP_CAUSE_GPU_CLOCK] = "cooling, power limit and locked clocks (nvidia-smi "
                           "-q -d PERFORMANCE)",
    [JP_CAUSE_GPU_PCIE] = "the slot, the BIOS and the count of replays",
    [JP_CAUSE_GPU_SHARED] = "whose process is on it; use exclusive mode, or "
                            "cgroups of devices",
    [JP_CAUSE_GPU_MEMORY_BANDWIDTH] = "the rank's own work",
    [JP_CAUSE_CPU_THROTTLED] = "the CPU quota; request more CPUs for each task",
    [JP_CAUSE_CPU_STEAL] = "the host of the virtual machine",
    [JP_CAUSE_CPU_SHARED] = "what else runs there; bind tasks (--cpu-bind)",
    [JP_CAUSE_MEMORY_PRESSURE] = "request more memory, or use fewer workers",
    [JP_CAUSE_FILE_READS] = "what is read; use local copies",
    [JP_CAUSE_FILE_WRITES] = "what is written; use another checkpoint interval",
    [JP_CAUSE_CPU_OWN] = "the task's threads; bind tasks (--cpu-bind), use "
                         "fewer data workers",
    [JP_CAUSE_PORT_ERRORS] = "cable, and the port of the switch",
    [JP_CAUSE_PORT_RATE] = "cable and rate, and the port of the switch",
    [JP_CAUSE_PORT_WAITS] = "routing and congestion; run at another time",
    [JP_CAUSE_PORT_SHARED] = "whose traffic is there; run at another time",
};

const char *const cause_words[JP_CAUSES] = {
    [JP_CAUSE_GPU_XID] = "gpu_xid",
    [JP_CAUSE_GPU_ECC] = "gpu_ecc",
    [JP_CAUSE_GPU_THERMAL] = "gpu_thermal",
    [JP_CAUSE_GPU_POWER] = "gpu_power",
    [JP_CAUSE_GPU_CLOCK] = "gpu_clock",
    [JP_CAUSE_GPU_PCIE] = "gpu_pcie",
    [JP_CAUSE_GPU_SHARED] = "gpu_shared",
    [JP_CAUSE_GPU_MEMORY_BANDWIDTH] = "gpu_memory_bandwidth",
    [JP_CAUSE_CPU_THROTTLED] = "cpu_throttled",
    [JP_CAUSE_CPU_STEAL] = "cpu_steal",
    [JP_CAUSE_CPU_SHARED] = "cpu_shared",
    [JP_CAUSE_MEMORY_PRESSURE] = "memory_pressure",
    [JP_CAUSE_FILE_READS] = "file_reads",
    [JP_CAUSE_FILE_WRITES] = "file_writes",
    [JP_CAUSE_CPU_OWN] = "cpu_own",
    [JP_CAUSE_PORT_ERRORS] = "port_errors",
    [JP_CAUSE_PORT_RATE] = "port_rate",
    [JP_CAUSE_PORT_WAITS] = "port_waits",
    [JP_CAUSE_PORT_SHARED] = "port_shared",
};

/* Returns a member's value of a column in a slice; NAN: unknown. */
static double value(const struct sampled *m, int column, unsigned slice)
{
    return m->slices[column] ? (double) m->slices[column][slice] : NAN;
}

/* Returns the processors that a task uses. */
static double cpu(const struct samples *s, const struct sampled *m,
                  unsigned slice)
{
    (void) s;
    return value(m, TASK_USER, slice) + value(m, TASK_SYSTEM, slice);
}

/* Returns the share of the node's processors that other virtual machines take.
 */
static double steal(const struct samples *s, const struct sampled *m,
                    unsigned slice)
{
    (void) s;
    return value(m, NODE_STEAL, slice) / value(m, NODE_CPUS, slice);
}

/* Cores of a fully used node that neither the step nor jobprof uses. */
static double other_cores(const struct samples *s, const struct sampled *m,
                          unsigned slice)
{
    const struct samples_node *node = &s->nodes[m->node];
    double busy = value(m, NODE_BUSY, slice);
    double agent = value(m, NODE_AGENT, slice);
    double step;

    if (!node->n[JP_UTIL_STEP])
        return NAN;
    step = cpu(s, &s->at[node->first[JP_UTIL_STEP]], slice);
    /* idle CPUs are available to everyone */
    if (busy < cause_limit(LIMIT_CAUSE_FULL) * value(m, NODE_CPUS, slice))
        return 0;
    return fmax(busy - step - (isnan(agent) ? 0 : agent), 0);
}

static double port_use(const struct samples *s, const struct sampled *m,
                       unsigned slice)
{
    (void) s;
    return fmax(value(m, PORT_IN, slice), value(m, PORT_OUT, slice)) /
           value(m, PORT_RATE, slice);
}

/* Returns 1 from the slice of a GPU's first fault (Xid) on, else the sample.
 * Samples have a fault's number once and 0 otherwise, but its effect lasts
 * until the GPU is reset. */
static double xid(const struct samples *s, const struct sampled *m,
                  unsigned slice)
{
    double v = value(m, GPU_XID, slice);

    (void) s;
    for (unsigned k = 0; k <= slice; k++)
        if (value(m, GPU_XID, k) > 0)
            return 1;
    return v;
}

/* Returns the share of a task's runnable time in which it did not run. Where
 * processors are short, a task that computes more also waits more; the share
 * does not grow by that. */
static double waiting(const struct samples *s, const struct sampled *m,
                      unsigned slice)
{
    double wait = value(m, TASK_CPU_WAIT, slice);

    return wait / (wait + cpu(s, m, slice));
}

#define COMPUTE CAUSE_OF_COMPUTE
#define NETWORK CAUSE_OF_NETWORK
/* clang-format off */
const struct cause_row cause_table[] = {
    /* --- GPU */
    {JP_CAUSE_GPU_XID, JP_UTIL_GPU, "xid", xid, UTIL_SHARE,
     .of = COMPUTE | NETWORK, .least = LIMIT_CAUSE_XID, .alone = true,
     .prior = 1, .says = "the driver reported a fault of its GPU (Xid) before",
     .after = " of that time"},
    {JP_CAUSE_GPU_ECC, JP_UTIL_GPU, "ecc_errors", .of = COMPUTE,
     .least = LIMIT_CAUSE_ECC, .alone = true, .prior = 0.95,
     .says = "its GPU's memory has uncorrectable errors at a rate of"},
    {JP_CAUSE_GPU_THERMAL, JP_UTIL_GPU, "throttle_thermal", .of = COMPUTE,
     .least = LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 1,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by heat in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "throttle_power", .of = COMPUTE,
     .least = LIMIT_CAUSE_THROTTLE, .prior = 0.95,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by its power limit in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "throttle_hardware", .of = COMPUTE,
     .least = LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 0.95,
     .needs = {"sm_clock", .below_peers = true},
     .says = "its GPU is slowed down by the hardware in", .after = " of samples"},
    {JP_CAUSE_GPU_POWER, JP_UTIL_GPU, "power_limit", .of = COMPUTE,
     .lower = true, .least = LIMIT_CAUSE_CLOCK, .exact = true, .relative = true,
     .prior = 0.8, .needs = {"sm_clock", .below_peers = true},
     .says = "the power limit of its GPU is"},
    {JP_CAUSE_GPU_CLOCK, JP_UTIL_GPU, "sm_clock", .of = COMPUTE, .lower = true,
     .least = LIMIT_CAUSE_CLOCK, .relative = true, .prior = 0.9, .takes = 1,
     .needs = {"sm", .least = 0.3}, .says = "its SM clock is"},
    {JP_CAUSE_GPU_CLOCK, JP_UTIL_GPU, "memory_clock", .of = COMPUTE,
     .lower = true, .least = LIMIT_CAUSE_CLOCK, .relative = true,
     .prior = 0.85, .takes = 1, .needs = {"sm", .least = 0.3},
     .says = "the clock of its GPU's memory is"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_width", .of = COMPUTE | NETWORK,
     .lower = true, .least = LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.85, .says = "the PCIe lanes of its GPU are"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_generation",
     .of = COMPUTE | NETWORK, .lower = true, .least = LIMIT_CAUSE_PCIE,
     .exact = true, .relative = true, .prior = 0.8, .needs = {"sm", .least = 0.3},
     .says = "the PCIe generation of its GPU is"},
    {JP_CAUSE_GPU_PCIE, JP_UTIL_GPU, "pcie_replays", .of = COMPUTE | NETWORK,
     .least = LIMIT_CAUSE_REPLAYS, .alone = true, .prior = 0.75,
     .says = "PCIe repeats transfers of its GPU at a rate of"},
    {JP_CAUSE_GPU_SHARED, JP_UTIL_GPU, "others", .of = COMPUTE,
     .least = LIMIT_CAUSE_OTHERS, .alone = true, .prior = 0.9,
     .says = "processes of others on its GPU are"},
    {JP_CAUSE_GPU_SHARED, JP_UTIL_GPU, "others_sm", .of = COMPUTE,
     .least = LIMIT_CAUSE_THROTTLE, .alone = true, .prior = 0.95,
     .takes = 1, .says = "other processes use its GPU for", .after = " of the time"},
    {JP_CAUSE_GPU_MEMORY_BANDWIDTH, JP_UTIL_GPU, "memory_busy", .of = COMPUTE,
     .least = LIMIT_CAUSE_MEMORY_BUSY, .prior = 0.55,
     .says = "the memory of its GPU is read or written for", .after = " of the time"},
    /* --- CPUs */
    {JP_CAUSE_CPU_THROTTLED, JP_UTIL_TASK, "cpu_throttled", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 1, .takes = 1,
     .says = "a limit holds its processors back for", .after = " of the time"},
    {JP_CAUSE_CPU_THROTTLED, JP_UTIL_STEP, "cpu_throttled", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95, .takes = 1,
     .says = "a limit holds the processors of the step on its node back for", .after = " of the time"},
    {JP_CAUSE_CPU_STEAL, JP_UTIL_NODE, "cpu_steal", steal, UTIL_SHARE,
     .of = COMPUTE, .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95,
     .takes = 1,
     .says = "other virtual machines of the same host take of its node's "
             "processors"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "cpu_wait", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .times = 2, .common = true, .prior = 0.95,
     .takes = 1, .needs = {.share = waiting},
     .says = "it could run and waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "involuntary_switches", .of = COMPUTE,
     .least = LIMIT_CAUSE_SWITCHES, .times = 2, .common = true, .prior = 0.85,
     .needs = {.share = waiting},
     .says = "other processes take its processors at a rate of"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_TASK, "cpu_pressure", .of = COMPUTE,
     .least = LIMIT_CAUSE_PRESSURE, .common = true, .prior = 0.9, .takes = 1,
     .says = "threads of it waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_STEP, "cpu_pressure", .of = COMPUTE,
     .least = LIMIT_CAUSE_PRESSURE, .common = true, .prior = 0.7, .takes = 1,
     .says = "threads of the step on its node waited for a processor for", .after = " of the time"},
    {JP_CAUSE_CPU_SHARED, JP_UTIL_NODE, "other_cores", other_cores, UTIL_CORES,
     .of = COMPUTE, .least = LIMIT_CAUSE_CORES, .prior = 0.8,
     .says = "its node is full, and processes outside the step use"},
    {JP_CAUSE_CPU_OWN, JP_UTIL_TASK, "cpu", cpu, UTIL_CORES, .of = COMPUTE,
     .least = LIMIT_CAUSE_OWN, .prior = 0.5, .takes = 1,
     .says = "it computes itself, with"},
    /* --- memory */
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "major_faults", .of = COMPUTE,
     .least = LIMIT_CAUSE_FAULTS, .prior = 0.95, .takes = 2e-4,
     .says = "it reads pages of its memory from disks at a rate of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_STEP, "major_faults", .of = COMPUTE,
     .least = LIMIT_CAUSE_FAULTS, .prior = 0.75, .takes = 2e-4,
     .says = "the step on its node reads pages of memory from disks at a rate "
             "of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "minor_faults", .of = COMPUTE,
     .least = LIMIT_CAUSE_MINOR, .prior = 0.7, .takes = 1e-6,
     .says = "it touches new pages of memory at a rate of"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_TASK, "memory_pressure", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 0.95, .takes = 1,
     .says = "it waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_STEP, "memory_pressure", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 0.8, .takes = 1,
     .says = "the step on its node waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_NODE, "memory_pressure", .of = COMPUTE,
     .least = LIMIT_CAUSE_HELD, .alone = true, .prior = 0.75, .takes = 1,
     .says = "processes of its node waited for memory for", .after = " of the time"},
    {JP_CAUSE_MEMORY_PRESSURE, JP_UTIL_NODE, "major_faults", .of = COMPUTE,
     .least = LIMIT_CAUSE_FAULTS, .prior = 0.7, .takes = 2e-4,
     .says = "its node reads pages of memory from disks at a rate of"},
    /* --- files */
    {JP_CAUSE_FILE_READS, JP_UTIL_TASK, "read_calls", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.85, .says = "it reads"},
    {JP_CAUSE_FILE_READS, JP_UTIL_TASK, "read", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.9,
     .needs = {"read_calls", .least = 1e6}, /* otherwise it is paging */
     .says = "it reads from storage"},
    {JP_CAUSE_FILE_READS, JP_UTIL_STEP, "read", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.6,
     .says = "the step on its node reads from storage"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_TASK, "write_calls", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.85, .says = "it writes"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_TASK, "write", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.9,
     .says = "it writes to storage"},
    {JP_CAUSE_FILE_WRITES, JP_UTIL_STEP, "write", .of = COMPUTE,
     .least = LIMIT_CAUSE_BYTES, .prior = 0.6,
     .says = "the step on its node writes to storage"},
    /* --- ports */
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_PORT, "errors", .of = COMPUTE | NETWORK,
     .least = LIMIT_CAUSE_PORT_ERRORS, .alone = true, .prior = 0.95,
     .says = "errors are counted at a rate of"},
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_GPU, "nvlink_errors",
     .of = COMPUTE | NETWORK, .least = LIMIT_CAUSE_PORT_ERRORS,
     .alone = true, .prior = 0.9,
     .says = "NVLinks of its GPU count errors at a rate of"},
    {JP_CAUSE_PORT_ERRORS, JP_UTIL_PORT, "downed", .of = COMPUTE | NETWORK,
     .least = LIMIT_CAUSE_XID, .alone = true, .prior = 1,
     .says = "the link goes down at a rate of"},
    {JP_CAUSE_PORT_RATE, JP_UTIL_PORT, "rate", .of = COMPUTE | NETWORK,
     .lower = true, .least = LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.95, .says = "the link's rate is"},
    {JP_CAUSE_PORT_RATE, JP_UTIL_PORT, "up", .of = COMPUTE | NETWORK,
     .lower = true, .least = LIMIT_CAUSE_PCIE, .exact = true, .relative = true,
     .prior = 0.95, .says = "the port is active in", .after = " of samples"},
    {JP_CAUSE_PORT_WAITS, JP_UTIL_PORT, "wait", .of = COMPUTE | NETWORK,
     .least = LIMIT_CAUSE_PORT_WAITS, .prior = 0.7,
     .says = "data waits for credit, in ticks at a rate of"},
    {JP_CAUSE_PORT_SHARED, JP_UTIL_PORT, "port_use", port_use, UTIL_SHARE,
     .of = COMPUTE | NETWORK, .least = LIMIT_CAUSE_PORT_USE, .prior = 0.7,
     .takes = 1, .says = "traffic takes, of the link's rate,"},
};
/* clang-format on */
const size_t cause_table_n = sizeof(cause_table) / sizeof(*cause_table);

const struct cause_chain cause_chains[] = {
    {JP_CAUSE_GPU_XID, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_GPU_THERMAL, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_GPU_POWER, JP_CAUSE_GPU_CLOCK},
    {JP_CAUSE_CPU_THROTTLED, JP_CAUSE_CPU_SHARED},
    {JP_CAUSE_CPU_STEAL, JP_CAUSE_CPU_SHARED},
    {JP_CAUSE_FILE_READS, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_FILE_WRITES, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_MEMORY_PRESSURE, JP_CAUSE_CPU_OWN},
    {JP_CAUSE_PORT_RATE, JP_CAUSE_PORT_SHARED}, /* due to a lower rate */
    {JP_CAUSE_PORT_RATE, JP_CAUSE_PORT_WAITS},
    {JP_CAUSE_PORT_ERRORS, JP_CAUSE_PORT_WAITS},
    {JP_CAUSE_PORT_SHARED, JP_CAUSE_PORT_WAITS},
};
const size_t cause_chains_n = sizeof(cause_chains) / sizeof(*cause_chains);
