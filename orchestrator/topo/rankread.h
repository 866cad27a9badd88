/* rankread.h - ranks.jsonl and starts.jsonl of a step's nodes: read both, write
 * the first.
 *
 * Foreign input: sizes and numbers are checked, a bad line is counted and the
 * rest used. Texts live until rankread_fini and are never NULL.
 */
#ifndef JP_TOPO_RANKREAD_H
#define JP_TOPO_RANKREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"

/* --- rankmap.c ---------------------------------------------------------- */

/* Which node and GPU each rank has, and how sure that is.
 *
 * A pure function over what the records of a step tell
 * (docs/hardware-format.md). Rules, best first:
 *
 *   exact    the process said its GPU's bus id or UUID (recorder), or NCCL's
 *            log did; or a GPU was the only one that it could use: the node's
 *            only one, or the only /dev/nvidiaN that the task may open
 *   assumed  of one communicator the node has one rank a process and as many
 *            as it has GPUs: the k-th local rank (SLURM_LOCALID where all are
 *            told and differ, else the order of ranks) has the k-th GPU in PCI
 *            order. Programs do so by LOCAL_RANK, and may do otherwise.
 *   unknown  everything else, and exact sources that contradict each other
 *
 * A node is found by the folder in raw/ where the process' file lies (unless
 * the boot id there is another), else by boot id or host name (hostname or node
 * name) where only one node has it. So two host names of one machine are one
 * node, and several slurmd on one machine are several. Nothing is guessed
 * across nodes.
 * Texts are never NULL and borrowed; "" and -1 are "unknown".
 */

enum jp_certainty { JP_SURE_UNKNOWN, JP_SURE_ASSUMED, JP_SURE_EXACT };

/* Best last. */
enum jp_rank_source {
    JP_RANK_FROM_NOTHING,
    JP_RANK_FROM_FILE_NAME, /* the node only */
    JP_RANK_FROM_LOCAL_ORDER,
    JP_RANK_FROM_ONLY_GPU,
    JP_RANK_FROM_NCCL_LOG,
    JP_RANK_FROM_RECORDER,
    JP_N_RANK_SOURCES,
};

/* Words for tables: "exact", "recorder". */
extern const char *const rankmap_certainty_word[JP_SURE_EXACT + 1];
extern const char *const rankmap_source_word[JP_N_RANK_SOURCES];

struct jp_rankmap_gpu {
    const char *busid; /* any digits of domain, any case */
    const char *uuid;  /* of the whole GPU */
    int minor;         /* N of /dev/nvidiaN */
    /* UUIDs of its MIG devices */
    const char *const *migs;
    size_t n_migs;
};

/* GPUs in any order; their places in the answer are indices of this array. */
struct jp_rankmap_node {
    const char *name; /* Slurm's */
    const char *hostname;
    const char *boot_id;
    const struct jp_rankmap_gpu *gpus;
    size_t n_gpus;
};

/* A task as its start record tells it. */
struct jp_rankmap_task {
    const char *node; /* Slurm's name: the folder of the record */
    const char *boot_id;
    int64_t pid;
    uint64_t pid_ns; /* 0: unknown */
    int64_t procid, localid;
    const int *devices; /* minors that it may open */
    int n_devices;      /* -1: unknown */
};

/* What a profiler's file or NCCL's log tells of a rank. */
struct jp_rankmap_fact {
    enum jp_rank_source source; /* FILE_NAME, NCCL_LOG or RECORDER */
    const char *node;           /* folder below raw/ */
    const char *host;
    const char *boot_id;
    int64_t pid;
    uint64_t pid_ns;
    int64_t procid, localid;
    const char *comm; /* as the join names it; "": all of the process */
    int64_t rank;     /* -1: all of the process */
    const char *busid, *uuid;
};

/* A rank of the report: a member of a communicator. */
struct jp_rankmap_rank {
    const char *comm;
    uint32_t rank, n_ranks;
    const char *host;
    int64_t pid;
};

struct jp_rankmap_input {
    const struct jp_rankmap_node *nodes;
    size_t n_nodes;
    const struct jp_rankmap_task *tasks;
    size_t n_tasks;
    const struct jp_rankmap_fact *facts;
    size_t n_facts;
    const struct jp_rankmap_rank *ranks;
    size_t n_ranks;
};

struct jp_rankmap_place {
    int32_t node; /* index, -1: not known; may be known without a GPU */
    int32_t gpu;  /* index in the node's array; -1: not known, or no record
                   * has that GPU (then busid says which it is) */
    char
        busid[JP_BUSID]; /* "0000:1a:00.0", "" not known; also without a node */
    enum jp_certainty certainty; /* of the GPU */
    enum jp_rank_source source;
    const char *mig; /* UUID of the MIG device, borrowed; "" none */
    char why[112];   /* where it is not exact: the reason */
};

/* Fills places[0 .. n_ranks). -1 only without memory. O(n log n). */
int rankmap_resolve(const struct jp_rankmap_input *in,
                    struct jp_rankmap_place *places, struct jp_error *err);

/* A variable of a process. One without a name stands for a process of which all
 * that are set are told. */
struct jp_rank_variable {
    const char *host;
    int64_t pid;
    const char *name, *value;
};

/* A path that NCCL's log named. */
struct jp_rank_path {
    const char *comm, *via, *detail, *device, *layer;
    bool gdr, pxn;
    uint64_t lines;
};

/* What the log says of a communicator as a whole. */
struct jp_rank_carriers {
    const char *comm;
    int64_t nvls_channels; /* -1: not told */
    bool nvls, collnet;
};

struct jp_rank_records {
    struct jp_rankmap_fact *facts;
    size_t n_facts, fact_room;
    struct jp_rankmap_task *tasks;
    size_t n_tasks, task_room;
    struct jp_rank_variable *variables;
    size_t n_variables, variable_room;
    struct jp_rank_path *paths;
    size_t n_paths, path_room;
    struct jp_rank_carriers *carriers;
    size_t n_carriers, carrier_room;
    uint64_t bad_lines;
    struct ranklines_block *blocks; /* texts */
    size_t n_blocks;
};

/* Adds both files of <step_dir>/nodes/<node>/; absent ones are no error. Where
 * finish was killed before it wrote ranks.jsonl, it is made first of
 * raw/<node>/, by deadline_ms of CLOCK_MONOTONIC at the latest; of own folders
 * only. -1 without memory. */
int rankread_node(struct jp_rank_records *records, const char *step_dir,
                  const char *node, uint64_t deadline_ms, struct jp_error *err);

/* Adds one line of ranks.jsonl, or of starts.jsonl; node must live as long as
 * the records. -1 without memory. */
int rankread_rank_line(struct jp_rank_records *records, const char *node,
                       const char *line, size_t len);
int rankread_start_line(struct jp_rank_records *records, const char *node,
                        const char *line, size_t len);

void rankread_fini(struct jp_rank_records *records);

/* --- ranks.jsonl: what the files of a node tell of its ranks ------------- */

/* Looks into raw/<node>/ (recordings, logs named <host>-pid<pid>.*, NCCL's own
 * log) and into the files that NCCL_DEBUG_FILE of a recorded process or of a
 * task's start record names. Of a recording the operations are skipped, so
 * it costs a look at each block. Format: docs/hardware-format.md. */

#define JP_RANKSCAN_FILES_MAX 20000
#define JP_RANKSCAN_LINES_MAX 200000

/* Writes <step_dir>/nodes/<node>/ranks.jsonl by temp + rename; what is not read
 * by deadline_ms of CLOCK_MONOTONIC is left out, and its last line says so. */
int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
