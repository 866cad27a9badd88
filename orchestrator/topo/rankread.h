/* rankread.h - write ranks.jsonl of a node, and read it and starts.jsonl of all
 * nodes of a step.
 *
 * The files are foreign input: sizes and numbers are checked, and a bad line is
 * counted and skipped. Texts live until rankread_fini and are never NULL. */
#ifndef JP_TOPO_RANKREAD_H
#define JP_TOPO_RANKREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"

/* --- rankmap.c ---------------------------------------------------------- */

/* Which node and GPU each rank has, and how certain that is.
 *
 * A pure function of what the records of a step contain
 * (docs/dev/hardware-format.md). Rules, best first:
 *
 *   exact    the process reported its GPU's bus id or UUID (recorder), or
 *            NCCL's log did; or the GPU was the only one that the process could
 *            use: the only one of the node, or the only /dev/nvidiaN that the
 *            task may open
 *   assumed  the node has one rank per process of a communicator, and as many
 *            ranks as GPUs: the k-th local rank (by SLURM_LOCALID if all are
 *            known and different, otherwise by rank) has the k-th GPU in PCI
 *            order. Programs choose GPUs by LOCAL_RANK this way, but need not.
 *   unknown  everything else, and exact sources that contradict each other
 *
 * A node is found by the folder in raw/ that contains the process's file
 * (unless the boot ids differ), otherwise by a boot id or host name (hostname
 * or node name) that only one node has. Two host names of one machine are thus
 * one node, and several slurmd on one machine are several nodes. Nothing is
 * guessed across nodes. Texts are borrowed and never NULL; "" and -1 mean
 * unknown.
 */

enum jp_certainty { JP_SURE_UNKNOWN, JP_SURE_ASSUMED, JP_SURE_EXACT };

/* Sources of a GPU, best last. */
enum jp_rank_source {
    JP_RANK_FROM_NOTHING,
    JP_RANK_FROM_FILE_NAME, /* only the node is known */
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
    const char *uuid;  /* UUID of the whole GPU */
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

/* A task, from its start record. */
struct jp_rankmap_task {
    const char *node; /* Slurm's name: the folder of the record */
    const char *boot_id;
    int64_t pid;
    uint64_t pid_ns; /* 0: unknown */
    int64_t procid, localid;
    const int *devices; /* minors of the GPUs that it may open */
    int n_devices;      /* -1: unknown */
    uint64_t start;     /* ticks after boot; 0: unknown */
};

/* What a profiler's file or NCCL's log says about a rank. */
struct jp_rankmap_fact {
    enum jp_rank_source source; /* FILE_NAME, NCCL_LOG or RECORDER */
    const char *node;           /* folder below raw/ */
    const char *host;
    const char *boot_id;
    int64_t pid;
    uint64_t pid_ns;
    int64_t procid, localid;
    const char *comm; /* the join's name; "": the whole process */
    int64_t rank;     /* -1: the whole process */
    const char *busid, *uuid;
    int64_t task_pid; /* SLURM_TASK_PID, which shows whether the process is a
                         task itself; 0: unknown */
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
    int32_t node; /* index; -1: unknown. May be known without a GPU */
    int32_t gpu;  /* index in the node's array; -1: unknown, or no record has
                     that GPU (busid then says which one it is) */
    char busid[JP_BUSID]; /* "0000:1a:00.0"; "": unknown. May be known without a
                             node */
    enum jp_certainty certainty; /* of the GPU */
    enum jp_rank_source source;
    const char *mig; /* UUID of the MIG device, borrowed; "": none */
    char why[112];   /* why it is not exact */
};

/* Fills places[0 .. n_ranks). Returns -1 only without memory. O(n log n). */
int rankmap_resolve(const struct jp_rankmap_input *in,
                    struct jp_rankmap_place *places, struct jp_error *err);

/* A variable of a process. One without a name means that all variables of the
 * process are known. */
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

/* What the log says about a communicator as a whole. */
struct jp_rank_carriers {
    const char *comm;
    int64_t nvls_channels; /* -1: unknown */
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
    char *left_file; /* the first file of which something was left out, below
                        the step directory; NULL: none */
    char *left_why;  /* what was left out: "line 7: it has a hole" */
    struct ranklines_block *blocks; /* texts */
    size_t n_blocks;
};

/* Adds starts.jsonl of <step_dir>/nodes/<node>/; an absent file is no error.
 * Returns -1 without memory. */
int rankread_starts(struct jp_rank_records *records, const char *step_dir,
                    const char *node, struct jp_error *err);

/* Adds both files of <step_dir>/nodes/<node>/; absent files are no error. If
 * finish was killed before it wrote ranks.jsonl, the file is made now from
 * raw/<node>/, until deadline_ms of CLOCK_MONOTONIC, and only in folders of
 * this user. Returns -1 without memory. */
int rankread_node(struct jp_rank_records *records, const char *step_dir,
                  const char *node, uint64_t deadline_ms, struct jp_error *err);

/* Add one line of ranks.jsonl, or of starts.jsonl; node must live as long as
 * the records. Return -1 without memory. */
int rankread_rank_line(struct jp_rank_records *records, const char *node,
                       const char *line, size_t len);
int rankread_start_line(struct jp_rank_records *records, const char *node,
                        const char *line, size_t len);

void rankread_fini(struct jp_rank_records *records);

/* --- ranks.jsonl: what the files of a node tell of its ranks ------------- */

/* Reads raw/<node>/ (recordings, logs named <host>-pid<pid>.*, NCCL's own log),
 * and the files that NCCL_DEBUG_FILE names in a recorded process or a task's
 * start record. Operations in a recording are skipped, so each block costs one
 * look. Format: docs/dev/hardware-format.md. */

#define JP_RANKSCAN_FILES_MAX 20000
#define JP_RANKSCAN_LINES_MAX 200000

/* Writes <step_dir>/nodes/<node>/ranks.jsonl by temp + rename. What is not read
 * by deadline_ms of CLOCK_MONOTONIC is left out, and the last line says so. */
int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
