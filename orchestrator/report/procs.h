/* procs.h - the step's processes: what a result says of ranks, summed over the
 * communicators that a process is in.
 *
 * A rank has a number in each of its communicators; host and pid tell that two
 * such ranks are one process. Its world rank is its number in the largest
 * communicator.
 */
#ifndef JP_REPORT_PROCS_H
#define JP_REPORT_PROCS_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

#define JP_PROC_NONE UINT32_MAX

struct jp_proc {
    const char *host; /* borrowed from the result, never NULL */
    int64_t pid;
    uint32_t node;       /* index into hosts */
    uint32_t world_rank; /* JP_PROC_NONE: not in the largest communicator */
    uint64_t timed_ops, last_ops;
    uint64_t caused_us, wait_us; /* sums, at most UINT64_MAX */
};

/* One host; the sums are over its processes. */
struct jp_proc_node {
    const char *host;
    uint32_t n_procs;
    uint64_t timed_ops, last_ops;
    uint64_t caused_us, wait_us;
};

struct jp_procs {
    struct jp_proc *list; /* by host and pid */
    size_t n;
    struct jp_proc_node *nodes; /* by name */
    size_t n_nodes;
    uint32_t *of_rank; /* by place in result->ranks */
};

/* Returns 0, or -1 when out of memory. Free with procs_fini. */
int procs_make(const struct jp_result *result, struct jp_procs *procs);
void procs_fini(struct jp_procs *procs);

/* Places in list (nodes) of those for which the others waited longest, at most
 * max, longest first; those without timed operations are left out. Caller
 * frees. NULL: out of memory. */
uint32_t *procs_heaviest(const struct jp_procs *procs, size_t max, size_t *n);
uint32_t *procs_heaviest_nodes(const struct jp_procs *procs, size_t max,
                               size_t *n);

/* Sorts places in list by world rank; those without one come last. */
void procs_sort_by_rank(const struct jp_procs *procs, uint32_t *places,
                        size_t n);

/* "19 gpu-node-0312": world rank and host; "gpu-node-0312 pid 4711" without a
 * world rank. Cut to fit. Returns buf. */
#define JP_PROC_NAME_LEN 128
char *procs_name(const struct jp_proc *proc, char buf[JP_PROC_NAME_LEN]);

#endif
