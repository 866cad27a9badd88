/* cuda_tables.c - the columns of CUDA's calls. See report/tables.c.
 *
 * A row is the sum over a process's life, or one part of it (about a second).
 * Both tables share most columns, which are the macros WHO and CALLS. */
#include "orchestrator/cuda/cuda_feature.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/report/tables.h"

/* --- what a process, and a part of its time, have in common --------------- */

/* Returns the process that the row belongs to. */
static const struct jp_cuda_process *process_of(const struct jp_row *row)
{
    const struct jp_cuda_row *at = row->at;

    return &cuda_of(row->report)->processes[at->process];
}

/* Returns the share of us that ns is; NaN if there was no time. */
static double share(uint64_t ns, uint64_t us)
{
    return us ? (double) ns / 1e3 / (double) us : NAN;
}

JP_GETTER(ccall_rank, jp_cuda_row, (void) at;
          value_signed(v, process_of(row)->rank))
JP_GETTER(ccall_host, jp_cuda_row, (void) at;
          value_name(v, process_of(row)->host))
JP_GETTER(ccall_pid, jp_cuda_row, (void) at; v->type = JP_VALUE_INT;
          v->number = process_of(row)->pid)
JP_GETTER(ccall_sync_us, jp_cuda_row,
          value_count(v, at->sum[CUDA_SYNC_NS] / 1000))
JP_GETTER(ccall_sync_share, jp_cuda_row,
          value_finite(v, share(at->sum[CUDA_SYNC_NS], at->length_us)))
JP_GETTER(ccall_copy_us, jp_cuda_row,
          value_count(v, at->sum[CUDA_COPY_NS] / 1000))
JP_GETTER(ccall_busiest, jp_cuda_row, value_finite(v, at->busiest))
JP_GETTER(ccall_bad, jp_cuda_row, (void) at;
          value_count(v, process_of(row)->bad_records))
JP_GETTER(ccall_why, jp_cuda_row, (void) at;
          value_name(v, process_of(row)->why))

#define FIELD(member) JP_FIELD(struct jp_cuda_row, member)
/* A counter of the row: a sum of calls, bytes or ns over its time. */
#define SUM(counter) FIELD(sum[CUDA_##counter])
/* json, html and text: the position of the first of these columns */
#define WHO                                                                    \
    {"rank",                                                                   \
     JP_COL_RANK,                                                              \
     JP_CSV | JP_MAYBE,                                                        \
     1,                                                                        \
     1,                                                                        \
     1,                                                                        \
     "Rank",                                                                   \
     "Slurm's, of the task",                                                   \
     .get = get_ccall_rank},                                                   \
        {"host",                                                               \
         JP_COL_TEXT,                                                          \
         JP_CSV | JP_MAYBE,                                                    \
         2,                                                                    \
         2,                                                                    \
         2,                                                                    \
         "Host",                                                               \
         "as the process names it",                                            \
         .width = 14,                                                          \
         .get = get_ccall_host},                                               \
        {"pid",        JP_COL_PID,          JP_CSV, 3, 3, 0, "Process",        \
         "its number", .get = get_ccall_pid},                                  \
    {                                                                          \
        "at_us", JP_COL_CLOCK, JP_CSV, 4,                                      \
            .help = "the beginning, by the node's "                            \
                    "clock",                                                   \
            FIELD(at_us)                                                       \
    }
#define CALLS                                                                  \
    {"launches", JP_COL_COUNT,  JP_CSV,       6, 5, 4,                         \
     "Launches", "of a kernel", SUM(LAUNCHES)},                                \
        {"graphs",                                                             \
         JP_COL_COUNT,                                                         \
         JP_CSV | JP_TIP,                                                      \
         7,                                                                    \
         6,                                                                    \
         0,                                                                    \
         "Graphs",                                                             \
         "launches of a graph, regardless of its size",                        \
         SUM(GRAPHS)},                                                         \
        {"h2d",                                                                \
         JP_COL_COUNT,                                                         \
         JP_CSV,                                                               \
         8,                                                                    \
         .help = "copies from the host to a GPU",                              \
         SUM(H2D)},                                                            \
        {"h2d_bytes", JP_COL_BYTES,           JP_CSV | JP_TIP, 9, 7, 5,        \
         "To GPU",    "copied from the host", SUM(H2D_BYTES)},                 \
        {"d2h",                                                                \
         JP_COL_COUNT,                                                         \
         JP_CSV,                                                               \
         10,                                                                   \
         .help = "copies from a GPU to the host",                              \
         SUM(D2H)},                                                            \
        {"d2h_bytes", JP_COL_BYTES,         JP_CSV | JP_TIP, 11, 8, 6,         \
         "From GPU",  "copied to the host", SUM(D2H_BYTES)},                   \
        {"d2d",   JP_COL_COUNT, JP_CSV, 12, .help = "copies within GPUs",      \
         SUM(D2D)},                                                            \
        {"d2d_bytes", JP_COL_BYTES,         JP_CSV | JP_TIP, 13, 9, 0,         \
         "Within",    "copied within GPUs", SUM(D2D_BYTES)},                   \
        {"peer",                                                               \
         JP_COL_COUNT,                                                         \
         JP_CSV,                                                               \
         14,                                                                   \
         .help = "copies by a call for two GPUs",                              \
         SUM(PEER)},                                                           \
        {"peer_bytes", JP_COL_BYTES,         JP_CSV,                           \
         15,           .help = "their data", SUM(PEER_BYTES)},                 \
        {"other",                                                              \
         JP_COL_COUNT,                                                         \
         JP_CSV,                                                               \
         16,                                                                   \
         .help = "copies of a direction that the call does not name",          \
         SUM(OTHER)},                                                          \
        {"other_bytes",        JP_COL_BYTES,    JP_CSV, 17,                    \
         .help = "their data", SUM(OTHER_BYTES)},                              \
        {"copy_us",                                                            \
         JP_COL_US,                                                            \
         JP_CSV | JP_TIP,                                                      \
         18,                                                                   \
         10,                                                                   \
         0,                                                                    \
         "In copies",                                                          \
         "time of threads in calls that return after the copy",                \
         .get = get_ccall_copy_us},                                            \
        {"sets", JP_COL_COUNT, JP_CSV, 19, .help = "memsets", SUM(SETS)},      \
        {"allocs", JP_COL_COUNT,  JP_CSV | JP_TIP, 20,         11,             \
         0,        "Allocations", "of GPU memory", SUM(ALLOCS)},               \
        {"alloc_bytes",         JP_COL_BYTES,    JP_CSV, 21,                   \
         .help = "their sizes", SUM(ALLOC_BYTES)},                             \
        {"frees",   JP_COL_COUNT, JP_CSV, 22, .help = "of GPU memory",         \
         SUM(FREES)},                                                          \
        {"free_bytes",                                                         \
         JP_COL_BYTES,                                                         \
         JP_CSV,                                                               \
         23,                                                                   \
         .help = "their sizes, if known",                                      \
         SUM(FREE_BYTES)},                                                     \
        {"live_bytes",                                                         \
         JP_COL_BYTES,                                                         \
         JP_CSV,                                                               \
         24,                                                                   \
         .help = "GPU memory in use at the end of the row",                    \
         FIELD(live_bytes)},                                                   \
        {"peak_bytes",                                                         \
         JP_COL_BYTES,                                                         \
         JP_CSV | JP_TIP,                                                      \
         25,                                                                   \
         12,                                                                   \
         7,                                                                    \
         "Peak memory",                                                        \
         "of GPU memory that it allocated itself, so far",                     \
         FIELD(peak_bytes)},                                                   \
        {"syncs",   JP_COL_COUNT,                                              \
         JP_CSV,    26,                                                        \
         13,        0,                                                         \
         "Waits",   "calls that wait for a GPU, stream or event",              \
         SUM(SYNCS)},                                                          \
        {"sync_us",                                                            \
         JP_COL_US,                                                            \
         JP_CSV,                                                               \
         27,                                                                   \
         .help = "time in them, of all threads",                               \
         .get = get_ccall_sync_us},                                            \
        {"sync_share",                                                         \
         JP_COL_SHARE,                                                         \
         JP_CSV | JP_MAYBE | JP_TIP,                                           \
         28,                                                                   \
         14,                                                                   \
         8,                                                                    \
         "Waiting",                                                            \
         "that time over the row's; more than 1 where threads wait at once",   \
         .get = get_ccall_sync_share},                                         \
        {"calls",                                                              \
         JP_COL_COUNT,                                                         \
         JP_CSV,                                                               \
         29,                                                                   \
         .help = "of all kinds that are counted",                              \
         SUM(CALLS)},                                                          \
    {                                                                          \
        "errors", JP_COL_COUNT, JP_CSV | JP_TIP, 30, 15, 0, "Errors",          \
            "calls that failed", SUM(ERRORS)                                   \
    }

/* the life of a process */
static const struct jp_column processes[] = {
    WHO,
    {"span_us", JP_COL_US, JP_CSV, 5, 4, 3, "Time",
     "from the start of CUDA in the process to the last counted call",
     FIELD(length_us)},
    CALLS,
    {"busiest", JP_COL_NUMBER, JP_CSV | JP_MAYBE | JP_TIP, 31, 16, 0,
     "Busiest second", "launches in the busiest second",
     .get = get_ccall_busiest},
    {"bad_records", JP_COL_COUNT, JP_CSV, 32,
     .help = "of its file, cut or damaged", .get = get_ccall_bad},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 33, JP_LAST, 0, "Note",
     "why nothing was counted, or the file could not be read",
     .get = get_ccall_why},
};

/* a part of a process's time; it has no columns of the whole process */
static const struct jp_column parts[] = {
    WHO,
    {"length_us", JP_COL_US, JP_CSV, 5, .help = "of the row, mostly a second",
     FIELD(length_us)},
    CALLS,
};
#undef FIELD

/* Rows are processes that started CUDA, whether or not anything was counted. */
static size_t count_processes(const struct jp_report *report)
{
    return cuda_of(report) ? cuda_of(report)->n_processes : 0;
}

/* Sums of processes and of parts have the same type. */
static void find_process(struct jp_row *row)
{
    row->at = &cuda_of(row->report)->totals[row->index];
}

/* Rows are parts in which the process called something. */
static size_t count_parts(const struct jp_report *report)
{
    return cuda_of(report) ? cuda_of(report)->n_parts : 0;
}

static void find_part(struct jp_row *row)
{
    row->at = &cuda_of(row->report)->parts[row->index];
}

/* readers see the processes that wait most for a GPU first */
const struct jp_table table_cuda = {
    .name = "cuda",
    .json = "cuda.processes",
    .help = "one row per process that started CUDA: its calls, with "
            "cuda=1",
    JP_COLUMNS(processes),
    .count = count_processes,
    .find = find_process,
    .max_json = 10000,
    .max_html = 200,
    .max_text = 16,
    .by_weight = true,
    .worst = "sync_share",
    .title = "Calls into CUDA",
};

static const struct jp_table table_cuda_time = {
    .name = "cuda_time",
    .json = "cuda.time",
    .help = "one row per second of such a process with at least one call",
    JP_COLUMNS(parts),
    .count = count_parts,
    .find = find_part,
    .max_json = 1000,
};

/* --- the GPUs' clocks ----------------------------------------------------- */

/* A clock and a pair begin alike: a process, then its GPU. */
struct gpu_row {
    size_t process;
    uint64_t gpu;
};
_Static_assert(offsetof(struct jp_cuda_pair, gpu) ==
                       offsetof(struct gpu_row, gpu) &&
                   offsetof(struct jp_cuda_clock, gpu) ==
                       offsetof(struct gpu_row, gpu),
               "process and gpu come first");

static const struct jp_cuda_process *reader_of(const struct jp_row *row)
{
    const struct gpu_row *at = row->at;

    return &cuda_of(row->report)->processes[at->process];
}

JP_GETTER(cclock_rank, gpu_row, (void) at;
          value_signed(v, reader_of(row)->rank))
JP_GETTER(cclock_host, gpu_row, (void) at; value_name(v, reader_of(row)->host))
JP_GETTER(cclock_pid, gpu_row, (void) at; v->type = JP_VALUE_INT;
          v->number = reader_of(row)->pid)
JP_GETTER(cclock_device, gpu_row, value_count(v, CUDA_PAIR_DEVICE(at->gpu) - 1))

/* Writes the PCI address; without one the value stays absent. */
static void get_cclock_pci(const struct jp_row *row, struct jp_value *v)
{
    uint64_t gpu = ((const struct gpu_row *) row->at)->gpu;

    if (gpu & CUDA_PAIR_PCI)
        snprintf(v->buf, sizeof(v->buf), "%04x:%02x:%02x.0",
                 CUDA_PAIR_DOMAIN(gpu), CUDA_PAIR_BUS(gpu),
                 CUDA_PAIR_SLOT(gpu));
    value_name(v, gpu & CUDA_PAIR_PCI ? v->buf : "");
}
JP_GETTER(cclock_ahead, jp_cuda_clock, value_finite(v, at->ahead_us))
JP_GETTER(cclock_drift, jp_cuda_clock, value_finite(v, at->drift_ppm))
JP_GETTER(cclock_within, jp_cuda_clock, value_finite(v, at->within_us))

#define GPU                                                                    \
    {"rank",                                                                   \
     JP_COL_RANK,                                                              \
     JP_CSV | JP_MAYBE,                                                        \
     1,                                                                        \
     1,                                                                        \
     1,                                                                        \
     "Rank",                                                                   \
     "Slurm's, of the task that read it",                                      \
     .get = get_cclock_rank},                                                  \
        {"host",                                                               \
         JP_COL_TEXT,                                                          \
         JP_CSV | JP_MAYBE,                                                    \
         2,                                                                    \
         2,                                                                    \
         2,                                                                    \
         "Host",                                                               \
         "as the process names it",                                            \
         .width = 14,                                                          \
         .get = get_cclock_host},                                              \
        {"pid",        JP_COL_PID,           JP_CSV, 3, 3, 0, "Process",       \
         "its number", .get = get_cclock_pid},                                 \
        {"device",                                                             \
         JP_COL_RANK,                                                          \
         JP_CSV,                                                               \
         4,                                                                    \
         4,                                                                    \
         0,                                                                    \
         "Device",                                                             \
         "CUDA's number of the GPU in the process",                            \
         .get = get_cclock_device},                                            \
    {                                                                          \
        "pci", JP_COL_TEXT, JP_CSV | JP_MAYBE, 5, 5, 3, "GPU",                 \
            "its PCI address, if the driver gave it", .width = 14,             \
                                                      .get = get_cclock_pci    \
    }

#define FIELD(member) JP_FIELD(struct jp_cuda_clock, member)
static const struct jp_column clocks[] = {
    GPU,
    {"pairs", JP_COL_COUNT, JP_CSV, 6, 6, 4, "Pairs",
     "readings of both clocks, at most one a second", FIELD(n_pairs)},
    {"from_us", JP_COL_CLOCK, JP_CSV, 7,
     .help = "the first pair, by the node's clock", FIELD(from_us)},
    {"length_us", JP_COL_US, JP_CSV, 8, 7, 0, "Time",
     "from the first pair to the last one", FIELD(length_us)},
    {"ahead_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 9, 8, 5, "Ahead, us",
     "the GPU's clock less the node's CLOCK_MONOTONIC, at the first pair",
     .get = get_cclock_ahead},
    {"drift_ppm", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 10, 9, 6, "Drift, ppm",
     "microseconds that the GPU's clock gains per second; unknown from pairs "
     "within a second",
     .get = get_cclock_drift},
    {"within_us", JP_COL_NUMBER, JP_CSV | JP_MAYBE, 11, 10, 7, "Within, us",
     "no pair is farther from the line through all of them, with half the time "
     "of its reading",
     .get = get_cclock_within},
};
#undef FIELD

#define FIELD(member) JP_FIELD(struct jp_cuda_pair, member)
static const struct jp_column pairs[] = {
    GPU,
    {"at_us", JP_COL_CLOCK, JP_CSV, 6, .help = "the pair, by the node's clock",
     FIELD(at_us)},
    {"mono_ns", JP_COL_COUNT, JP_CSV, 7,
     .help = "CLOCK_MONOTONIC of the node, in the middle of the reading; 0: "
             "unknown",
     FIELD(mono_ns)},
    {"gpu_ns", JP_COL_COUNT, JP_CSV, 8, .help = "the GPU's clock (globaltimer)",
     FIELD(gpu_ns)},
    {"width_ns", JP_COL_COUNT, JP_CSV, 9,
     .help = "how long the reading took: the pair is off by half of it at most",
     FIELD(width_ns)},
};
#undef FIELD

static size_t count_clocks(const struct jp_report *report)
{
    return cuda_of(report) ? cuda_of(report)->n_clocks : 0;
}

static void find_clock(struct jp_row *row)
{
    row->at = &cuda_of(row->report)->clocks[row->index];
}

static size_t count_pairs(const struct jp_report *report)
{
    return cuda_of(report) ? cuda_of(report)->n_pairs : 0;
}

static void find_pair(struct jp_row *row)
{
    row->at = &cuda_of(row->report)->pairs[row->index];
}

const struct jp_table table_gpu_clocks = {
    .name = "gpu_clocks",
    .json = "cuda.gpu_clocks",
    .help = "one row per process and GPU whose clock was read beside the "
            "node's, with cuda=1",
    JP_COLUMNS(clocks),
    .count = count_clocks,
    .find = find_clock,
    .max_json = 4096,
    .max_html = 200,
    .max_text = 8,
    .title = "Clocks of the GPUs",
};

static const struct jp_table table_gpu_pairs = {
    .name = "gpu_pairs",
    .json = "cuda.gpu_pairs",
    .help = "one row per reading of both clocks, to align traces",
    JP_COLUMNS(pairs),
    .count = count_pairs,
    .find = find_pair,
    .max_json = 1000,
};

const struct jp_table *const tables_cuda[] = {
    &table_cuda, &table_cuda_time, &table_gpu_clocks, &table_gpu_pairs, NULL};
