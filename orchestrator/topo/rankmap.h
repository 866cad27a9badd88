/* rankmap.h - which node and GPU each rank has, and how sure that is.
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
#ifndef JP_TOPO_RANKMAP_H
#define JP_TOPO_RANKMAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/busid.h"

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

#endif
