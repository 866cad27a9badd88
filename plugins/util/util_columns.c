/* util_columns.c - the columns of samples, each described once.
 *
 * The order is that of the enums in util_rows.h, and of the files. A new column
 * goes to the end of its kind, so that old readers still find theirs. */
#include "plugins/util/util_rows.h"

#include <stdio.h>

#include "common/figure.h"

/* From /proc of the node. Pressure needs a kernel with PSI (4.20) that has it
 * switched on. */
static const struct util_column node_columns[] = {
    [NODE_CPUS] = {"cpus", UTIL_COUNT, "processors that are online"},
    [NODE_BUSY] = {"cpu_busy", UTIL_CORES,
                   "neither idle nor waiting for disks"},
    [NODE_USER] = {"cpu_user", UTIL_CORES, "in programs, including nice ones"},
    [NODE_SYSTEM] = {"cpu_system", UTIL_CORES,
                     "in the kernel, including interrupts"},
    [NODE_IOWAIT] = {"cpu_iowait", UTIL_CORES, "idle while a disk was awaited"},
    [NODE_STEAL] = {"cpu_steal", UTIL_CORES,
                    "taken by other machines of the same host"},
    [NODE_MEMORY_TOTAL] = {"memory_total", UTIL_BYTES, "of the node"},
    [NODE_MEMORY_USED] = {"memory_used", UTIL_BYTES,
                          "what is not available to programs"},
    [NODE_SWAP_USED] = {"swap_used", UTIL_BYTES, "memory on the disk"},
    [NODE_MAJOR_FAULTS] = {"major_faults", UTIL_PER_S,
                           "pages that had to be read"},
    [NODE_RUNNING] = {"running", UTIL_COUNT, "threads that could run"},
    [NODE_NET_IN] = {"net_in", UTIL_BYTES_S, "received, without loopback"},
    [NODE_NET_OUT] = {"net_out", UTIL_BYTES_S, "sent, without loopback"},
    [NODE_DISK_READ] = {"disk_read", UTIL_BYTES_S, "read from local disks"},
    [NODE_DISK_WRITE] = {"disk_write", UTIL_BYTES_S, "written to local disks"},
    [NODE_CPU_PRESSURE] = {"cpu_pressure", UTIL_SHARE,
                           "of the time some task waited for a processor"},
    [NODE_MEMORY_PRESSURE] = {"memory_pressure", UTIL_SHARE,
                              "of the time some task waited for memory"},
    [NODE_IO_PRESSURE] = {"io_pressure", UTIL_SHARE,
                          "of the time some task waited for a disk"},
    [NODE_AGENT] = {"agent", UTIL_CORES, "jobprof's own processor time"},
};

/* A task's figures are sums over its processes. Those of the step come from its
 * cgroup; throttling, limits and pressure exist only there. */
static const struct util_column task_columns[] = {
    [TASK_PROCESSES] = {"processes", UTIL_COUNT, "of the task"},
    [TASK_THREADS] = {"threads", UTIL_COUNT, "of these processes"},
    [TASK_CPUS] = {"cpus", UTIL_COUNT, "processors that it may use"},
    [TASK_USER] = {"cpu_user", UTIL_CORES, "in the program"},
    [TASK_SYSTEM] = {"cpu_system", UTIL_CORES, "in the kernel"},
    [TASK_THROTTLED] = {"cpu_throttled", UTIL_SHARE,
                        "of the time held back by its limit"},
    [TASK_MEMORY] = {"memory", UTIL_BYTES, "resident"},
    [TASK_MEMORY_PEAK] = {"memory_peak", UTIL_BYTES, "the most so far"},
    [TASK_MEMORY_LIMIT] = {"memory_limit", UTIL_BYTES, "what Slurm allows"},
    [TASK_MINOR_FAULTS] = {"minor_faults", UTIL_PER_S, "pages that were there"},
    [TASK_MAJOR_FAULTS] = {"major_faults", UTIL_PER_S,
                           "pages that had to be read"},
    [TASK_READ] = {"read", UTIL_BYTES_S, "read from storage"},
    [TASK_WRITE] = {"write", UTIL_BYTES_S, "written to storage"},
    [TASK_READ_CALLS] = {"read_calls", UTIL_BYTES_S,
                         "read by system calls, including caches and networks"},
    [TASK_WRITE_CALLS] = {"write_calls", UTIL_BYTES_S,
                          "written by system calls"},
    [TASK_CPU_PRESSURE] = {"cpu_pressure", UTIL_SHARE,
                           "of the time some of it waited for a processor"},
    [TASK_MEMORY_PRESSURE] = {"memory_pressure", UTIL_SHARE,
                              "of the time some of it waited for memory"},
    [TASK_IO_PRESSURE] = {"io_pressure", UTIL_SHARE,
                          "of the time some of it waited for a disk"},
    [TASK_CPU_WAIT] = {"cpu_wait", UTIL_SHARE,
                       "of the time its first threads could run and did not"},
    [TASK_SWITCHES] = {"involuntary_switches", UTIL_PER_S,
                       "times that its first threads had to give way"},
};

/* From NVML or rocm_smi. The names are NVIDIA's: on AMD's GPUs, sm is the
 * graphics engine. Neither library has all figures. */
static const struct util_column gpu_columns[] = {
    [GPU_SM] = {"sm", UTIL_SHARE, "of the time a kernel ran"},
    [GPU_MEMORY_BUSY] = {"memory_busy", UTIL_SHARE,
                         "of the time its memory was read or written"},
    [GPU_MEMORY_USED] = {"memory_used", UTIL_BYTES, "of its memory"},
    [GPU_MEMORY_TOTAL] = {"memory_total", UTIL_BYTES, "of its memory"},
    [GPU_POWER] = {"power", UTIL_WATTS, "drawn"},
    [GPU_POWER_LIMIT] = {"power_limit", UTIL_WATTS, "enforced"},
    [GPU_TEMPERATURE] = {"temperature", UTIL_CELSIUS, "of the chip"},
    [GPU_SM_CLOCK] = {"sm_clock", UTIL_MHZ, "of its multiprocessors"},
    [GPU_SM_CLOCK_MAX] = {"sm_clock_max", UTIL_MHZ, "the most it can"},
    [GPU_MEMORY_CLOCK] = {"memory_clock", UTIL_MHZ, "of its memory"},
    [GPU_THROTTLE_POWER] = {"throttle_power", UTIL_SHARE,
                            "of samples slowed down by a power limit"},
    [GPU_THROTTLE_THERMAL] = {"throttle_thermal", UTIL_SHARE,
                              "of samples slowed down by heat"},
    [GPU_THROTTLE_HARDWARE] = {"throttle_hardware", UTIL_SHARE,
                               "of samples slowed down by the hardware"},
    [GPU_PCIE_GENERATION] = {"pcie_generation", UTIL_COUNT, "of its link now"},
    [GPU_PCIE_WIDTH] = {"pcie_width", UTIL_COUNT, "lanes of its link now"},
    [GPU_PCIE_IN] = {"pcie_in", UTIL_BYTES_S, "received over PCIe"},
    [GPU_PCIE_OUT] = {"pcie_out", UTIL_BYTES_S, "sent over PCIe"},
    [GPU_PCIE_REPLAYS] = {"pcie_replays", UTIL_PER_S, "repeated over PCIe"},
    [GPU_ECC_ERRORS] = {"ecc_errors", UTIL_PER_S,
                        "errors of memory that could not be corrected"},
    [GPU_POWER_MEAN] = {"power_mean", UTIL_WATTS,
                        "drawn, by its counter of energy"},
    [GPU_ECC_CORRECTED] = {"ecc_corrected", UTIL_PER_S,
                           "errors of memory that were corrected"},
    [GPU_XID] = {"xid", UTIL_COUNT,
                 "number of the driver's last error (Xid); 0: none"},
    [GPU_NVLINK_IN] = {"nvlink_in", UTIL_BYTES_S, "received over NVLink"},
    [GPU_NVLINK_OUT] = {"nvlink_out", UTIL_BYTES_S, "sent over NVLink"},
    [GPU_NVLINK_ERRORS] = {"nvlink_errors", UTIL_PER_S,
                           "replays, recoveries and bad sums of NVLinks"},
    [GPU_PROCESSES] = {"processes", UTIL_COUNT, "of the step that use it"},
    [GPU_OTHERS] = {"others", UTIL_COUNT, "processes of others that use it"},
    [GPU_OTHERS_SM] = {"others_sm", UTIL_SHARE,
                       "of the time a kernel of others ran"},
    [GPU_COPY] = {"copy", UTIL_SHARE,
                  "of the time its copy engines worked for the step"},
};

/* From /sys/class/infiniband, for each port of an adapter. */
static const struct util_column port_columns[] = {
    [PORT_IN] = {"in", UTIL_BYTES_S, "received"},
    [PORT_OUT] = {"out", UTIL_BYTES_S, "sent"},
    [PORT_RATE] = {"rate", UTIL_BYTES_S, "of its link now"},
    [PORT_WAIT] = {"wait", UTIL_PER_S, "ticks with data but without credit"},
    [PORT_ERRORS] = {"errors", UTIL_PER_S,
                     "symbols, packets and links with errors"},
    [PORT_DOWNED] = {"downed", UTIL_PER_S, "times that the link went down"},
    [PORT_UP] = {"up", UTIL_SHARE, "of samples in which the port was active"},
};

#define ROWS_OF(list) (list), sizeof(list) / sizeof(*(list))
const struct util_table util_tables[UTIL_KINDS] = {
    [UTIL_NODE] = {"node", "the whole node, including other jobs",
                   ROWS_OF(node_columns)},
    [UTIL_TASK] = {"task", "a task by its rank in Slurm, or the step's cgroup",
                   ROWS_OF(task_columns)},
    [UTIL_GPU] = {"gpu", "a GPU by its PCI bus id", ROWS_OF(gpu_columns)},
    [UTIL_PORT] = {"port", "a port of an InfiniBand or RoCE adapter",
                   ROWS_OF(port_columns)},
};
/* a row has room for the columns of any kind */
_Static_assert(NODE_COLUMNS <= UTIL_COLUMNS_MAX &&
                   TASK_COLUMNS <= UTIL_COLUMNS_MAX &&
                   GPU_COLUMNS <= UTIL_COLUMNS_MAX &&
                   PORT_COLUMNS <= UTIL_COLUMNS_MAX,
               "UTIL_COLUMNS_MAX");

const char *util_unit_name(enum util_unit unit)
{
    /* as they appear in reports */
    static const char *const names[] = {
        [UTIL_COUNT] = "count", [UTIL_CORES] = "cores", [UTIL_SHARE] = "share",
        [UTIL_BYTES] = "bytes", [UTIL_BYTES_S] = "B/s", [UTIL_PER_S] = "1/s",
        [UTIL_WATTS] = "W",     [UTIL_CELSIUS] = "C",   [UTIL_MHZ] = "MHz",
    };

    return names[unit];
}

/* Less is told as "less than this", so that a figure is no wider than others.
 */
#define FIGURE_LEAST 0.001

char *util_figure(enum util_unit unit, double value, char *buf)
{
    const char *number = value > 0 && value < FIGURE_LEAST ? "<0.001"
                                                           : FIG_REAL(value);
    bool bytes = (unit == UTIL_BYTES || unit == UTIL_BYTES_S) && value >= 0 &&
                 value < 0x1p63;
    const char *word = util_unit_name(unit);

    if (unit == UTIL_SHARE)
        return figure_share(value, buf);
    if (unit == UTIL_COUNT)
        return figure_real(value, buf);
    if (bytes)
        snprintf(buf, JP_FIGURE_LEN, "%s%s", FIG_BYTES((uint64_t) value),
                 unit == UTIL_BYTES_S ? "/s" : "");
    else if (unit == UTIL_PER_S)
        snprintf(buf, JP_FIGURE_LEN, "%s/s", number);
    else
        snprintf(buf, JP_FIGURE_LEN, "%s %s", number,
                 unit == UTIL_CELSIUS ? "\xc2\xb0"
                                        "C"
                                      : word);
    return buf;
}
