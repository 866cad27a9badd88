/* util_rows.h - samples of utilisation: their columns, and files of them.
 *
 * nodes/<node>/util-<kind>.csv.gz has one kind of row, with the same columns on
 * every node. The first line says what the rows belong to, the second one has
 * the columns:
 *
 *     # jobprof util 1 kind=task job=42 step=0 node=n1 start_us=...
 *     t_us,mono_us,samples,stat,id,cpus,cpu_user,...
 *
 * t_us is the time since 1970, mono_us the node's monotonic clock, both at
 * the end of what the row covers. A row covers one sample. Where a file had
 * grown too large, neighbours were merged and a row covers `samples` of
 * them: a line with stat "mean" and one with "max". Figures are rates or
 * levels in the column's unit; an empty field is unknown. A file is a
 * sequence of gzip members, each of whole lines, so a file that was cut can
 * be read up to there. */
#ifndef JP_UTIL_ROWS_H
#define JP_UTIL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define UTIL_VERSION 1
#define UTIL_ID_MAX 48 /* with NUL: a rank, a bus id, "mlx5_0/1" */

enum util_kind { UTIL_NODE, UTIL_TASK, UTIL_GPU, UTIL_PORT, UTIL_KINDS };

enum util_node_column {
    NODE_CPUS,
    NODE_BUSY,
    NODE_USER,
    NODE_SYSTEM,
    NODE_IOWAIT,
    NODE_STEAL,
    NODE_MEMORY_TOTAL,
    NODE_MEMORY_USED,
    NODE_SWAP_USED,
    NODE_MAJOR_FAULTS,
    NODE_RUNNING,
    NODE_NET_IN,
    NODE_NET_OUT,
    NODE_DISK_READ,
    NODE_DISK_WRITE,
    NODE_CPU_PRESSURE,
    NODE_MEMORY_PRESSURE,
    NODE_IO_PRESSURE,
    NODE_AGENT,
    NODE_COLUMNS
};

enum util_task_column {
    TASK_PROCESSES,
    TASK_THREADS,
    TASK_CPUS,
    TASK_USER,
    TASK_SYSTEM,
    TASK_THROTTLED,
    TASK_MEMORY,
    TASK_MEMORY_PEAK,
    TASK_MEMORY_LIMIT,
    TASK_MINOR_FAULTS,
    TASK_MAJOR_FAULTS,
    TASK_READ,
    TASK_WRITE,
    TASK_READ_CALLS,
    TASK_WRITE_CALLS,
    TASK_CPU_PRESSURE,
    TASK_MEMORY_PRESSURE,
    TASK_IO_PRESSURE,
    TASK_CPU_WAIT,
    TASK_SWITCHES,
    TASK_COLUMNS
};

enum util_gpu_column {
    GPU_SM,
    GPU_MEMORY_BUSY,
    GPU_MEMORY_USED,
    GPU_MEMORY_TOTAL,
    GPU_POWER,
    GPU_POWER_LIMIT,
    GPU_TEMPERATURE,
    GPU_SM_CLOCK,
    GPU_SM_CLOCK_MAX,
    GPU_MEMORY_CLOCK,
    GPU_THROTTLE_POWER,
    GPU_THROTTLE_THERMAL,
    GPU_THROTTLE_HARDWARE,
    GPU_PCIE_GENERATION,
    GPU_PCIE_WIDTH,
    GPU_PCIE_IN,
    GPU_PCIE_OUT,
    GPU_PCIE_REPLAYS,
    GPU_ECC_ERRORS,
    GPU_POWER_MEAN,
    GPU_ECC_CORRECTED,
    GPU_XID,
    GPU_NVLINK_IN,
    GPU_NVLINK_OUT,
    GPU_NVLINK_ERRORS,
    GPU_PROCESSES,
    GPU_OTHERS,
    GPU_OTHERS_SM,
    GPU_COPY,
    GPU_COLUMNS
};

enum util_port_column {
    PORT_IN,
    PORT_OUT,
    PORT_RATE,
    PORT_WAIT,
    PORT_ERRORS,
    PORT_DOWNED,
    PORT_UP,
    PORT_COLUMNS
};

#define UTIL_COLUMNS_MAX 29

enum util_unit {
    UTIL_COUNT,
    UTIL_CORES,
    UTIL_SHARE, /* 0 to 1 */
    UTIL_BYTES,
    UTIL_BYTES_S,
    UTIL_PER_S,
    UTIL_WATTS,
    UTIL_CELSIUS,
    UTIL_MHZ,
};

struct util_column {
    const char *name;
    enum util_unit unit;
    const char *help; /* one phrase */
};

struct util_table {
    const char *name; /* of the file: util-<name>.csv.gz */
    const char *help; /* what a row describes */
    const struct util_column *columns;
    size_t n;
};

/* One for each kind. */
extern const struct util_table util_tables[UTIL_KINDS];

const char *util_unit_name(enum util_unit unit);
/* A figure with its unit as people read it: "71.3 %", "7.46 MiB", "1.2 KiB/s",
 * "2.1 cores"; a plain number for a count. Writes into buf of JP_FIGURE_LEN
 * bytes (common/figure.h) and returns it. */
char *util_figure(enum util_unit unit, double value, char *buf);

/* A figure that is NAN is unknown. */
struct util_row {
    uint64_t t_us, mono_us;
    uint64_t samples; /* at least 1 */
    char id[UTIL_ID_MAX];
    double v[UTIL_COLUMNS_MAX], max[UTIL_COLUMNS_MAX];
};

/* A row of one sample at that time, with all figures unknown. */
void util_row_init(struct util_row *row, uint64_t t_us, uint64_t mono_us,
                   const char *id);

/* --- writing ------------------------------------------------------------ */

struct util_origin {
    uint64_t job;
    const char *step, *node;
    uint64_t start_us; /* start of the step on this node, since 1970 */
};

struct util_files;

/* Files in the folder dir, which must exist; each is made for its first row.
 * All together take at most cap_bytes: beyond that, neighbours are merged.
 * Returns NULL without memory. */
struct util_files *util_files_create(const char *dir,
                                     const struct util_origin *origin,
                                     uint64_t cap_bytes);
/* Takes a row. It is on the disk after a flush, unless neighbours are still to
 * be merged with it, and after the last flush in any case. */
int util_files_add(struct util_files *files, enum util_kind kind,
                   const struct util_row *row, struct jp_error *err);
/* Writes what is in memory. Returns -1 if a file could not be written; its rows
 * in memory are lost, and later ones are tried again. */
int util_files_flush(struct util_files *files, bool last, struct jp_error *err);
/* Bytes on the disk. */
uint64_t util_files_bytes(const struct util_files *files);
/* Accepts NULL; does not flush. */
void util_files_destroy(struct util_files *files);

/* --- reading ------------------------------------------------------------ */

/* The contents of a file's first line. */
struct util_head {
    uint64_t job, start_us;
    char step[32], node[65];
};

struct util_read {
    uint64_t rows, bad_lines;
    bool cut; /* the file ends inside a member */
};

typedef int util_take(void *arg, const struct util_row *row,
                      struct jp_error *err);

/* Passes each row of a file of that kind to take(), in the file's order.
 * Columns are found by name: unknown ones are skipped, absent ones stay
 * unknown. Bad lines are counted and left out. Returns -1 if there is no such
 * file, it is of another kind, or take failed. */
int util_rows_read(const char *path, enum util_kind kind,
                   struct util_head *head, util_take *take, void *arg,
                   struct util_read *read, struct jp_error *err);
/* The same for a file's bytes in memory. */
int util_rows_parse(const void *bytes, size_t len, enum util_kind kind,
                    struct util_head *head, util_take *take, void *arg,
                    struct util_read *read, struct jp_error *err);

#endif
