/* livecells.h - bandwidth and time of a process' operations by function and
 * size, as NCCL Inspector's Prometheus files have them.
 *
 * Of the operations that the live module reads (a sample, see liverate.h). A
 * cell is a communicator, a function, an algorithm and a range of sizes
 * (metrics_size_first); the means are Inspector's: geometric of bandwidths,
 * arithmetic of times (plugins/profiler/inspector/inspector_prom.cc of NCCL
 * 2.30).
 */
#ifndef JP_LIVE_LIVECELLS_H
#define JP_LIVE_LIVECELLS_H

#include <stdint.h>

#include "orchestrator/metrics/metrics.h"
#include "plugins/nccl_recorder/recfile.h"

#define LIVECELLS_MAX 64 /* cells of a process */
/* A cell without new operations for this long is not shown. */
#define LIVECELLS_OLD_NS (60 * UINT64_C(1000000000))

struct livecell {
    /* the communicator's labels: those that have the same are one */
    char comm[RECORD_MAX_NAME + 1], gpu[48];
    int64_t n_nodes, n_ranks;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1]; /* name as in the records */
    char algo[40];                  /* "RING_LL"; "" for Send and Recv */
    uint64_t size;                  /* first size of the range */
    uint64_t n, n_busbw;            /* operations since the last look */
    double us, log_busbw;           /* sums over these */
    double shown_us, shown_busbw;   /* from the last look that had operations */
    uint64_t shown_ns;              /* time of that look, monotonic; 0: never */
};

/* The cells of a process; the owner sets it to zeros. */
struct livecells {
    struct livecell *cells;
    size_t n;
};

void livecells_fini(struct livecells *cells);

/* An operation that was read, of the cell that key names but for its size.
 * Without a time (us 0) it is passed over. */
void livecells_add(struct livecells *cells, struct livecell *key,
                   uint64_t bytes, uint64_t us);
/* The same of a recording. */
void livecells_op(struct livecells *cells, const struct jp_recfile *file,
                  const struct jpr_op *op);

/* Further labels. */
struct livecells_labels {
    const char *job, *step, *node, *rank;
};

/* A look: means of what was read since the last one, into the set. 0, or -1
 * without memory. */
int livecells_put(struct livecells *cells, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set);

#endif
