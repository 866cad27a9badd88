/* jobshape.h - facts about the job and its nodes before the launch.
 *
 * Planners use it to size buffers: how many ranks share a node, and how much
 * memory the node and the step have. Zero always means "unknown". Facts about
 * the node are those of srun's host unless the site file describes its smallest
 * node.
 */
#ifndef JP_COMMON_JOBSHAPE_H
#define JP_COMMON_JOBSHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/plan.h"

/* Memory of one node. */
struct jp_nodemem {
    uint64_t ram_bytes, swap_bytes;
    /* vm.overcommit_memory: 0 refuses a single allocation above RAM + swap, 1
     * refuses none, 2 refuses what exceeds the commit limit in total */
    unsigned overcommit;
    uint64_t commit_limit_bytes, committed_bytes;
    bool huge_pages; /* transparent huge pages are "always": touching a byte
                        takes 2 MiB */
};

struct jp_jobshape {
    uint32_t nnodes, ntasks;
    uint32_t ranks_per_node;    /* on the fullest node */
    uint32_t cpus_per_task;     /* as the user asked (-c); 0: he did not */
    uint64_t step_memory_bytes; /* memory that the step may use on one node */
    char memory_from[96]; /* source of that number, for people; "" unknown */
    /* whether RAM and huge pages in `node` are those of the job's nodes,
     * because srun runs on one of them or the site file has them. Otherwise
     * huge pages count as "always", which costs more memory */
    bool ram_known, huge_pages_known;
    struct jp_nodemem node;
    uint64_t address_limit_bytes; /* RLIMIT_AS of the tasks; 0: none */
    uint64_t disk_free_bytes;     /* of the step directory's file system */
};

/* The size of a step. Callers without a step give it; srun gives what the
 * launch plugin has; the rest comes from Slurm's variables. */
struct jp_stepsize {
    uint32_t nnodes, ntasks, ranks_per_node; /* 0: not given */
    uint32_t cpus_per_task;                  /* as asked; 0: not given */
    uint64_t memory_bytes;   /* of the step on a node; 0: not given */
    const char *memory_from; /* source of that number; static memory */
    bool imagined; /* there is no step: variables of a job around this process
                      do not describe it */
    bool on_node;  /* this host is one of the job's */
};

/* Fills in missing values from Slurm's variables (through in->env). Values that
 * are missing or malformed there stay unknown. This never fails. */
void jobshape_complete(const struct plan_input *in, struct jp_stepsize *size);

/* Fills *out from the step's size, /proc and /sys below root ("" is the host
 * itself) and the site's nccl.node_memory. dir: the step directory or NULL; its
 * nearest existing parent is asked for free space. This never fails. */
void jobshape_get(const struct jp_stepsize *size, const struct jp_plan *plan,
                  const char *root, const char *dir, struct jp_jobshape *out);

/* The number of ranks on the fullest node: ranks_per_node, else ntasks over
 * nnodes rounded up, else all of them, else 1. */
uint32_t jobshape_ranks(const struct jp_jobshape *shape);

/* The free space of the file system minus min_free; UINT64_MAX: unknown. */
uint64_t jobshape_room(const struct jp_jobshape *shape, uint64_t min_free);

/* The memory that profilers of one rank may use: one part in
 * JP_STEP_MEMORY_PARTS of the step's memory on a node, divided by the ranks
 * there; UINT64_MAX: unknown. */
uint64_t jobshape_memory(const struct jp_jobshape *shape);

/* --- memory of this host from /proc and /sys.
 */

/* Reads <root>/proc/meminfo, <root>/proc/sys/vm/overcommit_memory and
 * <root>/sys/kernel/mm/transparent_hugepage/enabled; root is "" for the host
 * itself. Values that are missing or malformed are zero. */
void nodemem_read(const char *root, struct jp_nodemem *out);

#endif
