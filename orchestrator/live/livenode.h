/* livenode.h - follows a node's recordings while they grow, and its tasks.
 *
 * A look reads what raw/<node>/ has got since the last one: each file from
 * where reading stood, whole blocks only (plugins/nccl_recorder/jpr_read.h,
 * jpr_follow). Blocks of ended operations are passed over, as the counters and
 * what is in flight tell where a rank stands and what took a second or more;
 * one is read now and then, for the operations' mean size. Where
 * counters do not tell functions apart (replays, copy engines) all are read. A
 * file that another one has replaced is read from its beginning. Where the
 * profiler writes logs of what has ended instead, those are followed
 * (livelog.c).
 */
#ifndef JP_LIVE_LIVENODE_H
#define JP_LIVE_LIVENODE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livewant.h"
#include "orchestrator/metrics/metrics.h"
#include "plugins/backend.h"
#include "plugins/nccl_recorder/recfile.h"

/* --- livecells.c: bandwidth and time by function and size ---------------- */

/* As NCCL Inspector's Prometheus files have them, of the operations that the
 * live module reads (a sample, see liverate.h). A cell is a communicator, a
 * function, an algorithm and a range of sizes (metrics_size_first); the means
 * are Inspector's: geometric of bandwidths, arithmetic of times
 * (plugins/profiler/inspector/inspector_prom.cc of NCCL 2.30). */
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

struct livenode;

struct livenode_place {
    const char *raw;  /* raw/<node> in the step directory */
    const char *node; /* name of the node in Slurm */
    const char *root; /* replaces / as the root of paths */
    const struct stuck_times *times;
    const struct module_shared *shared; /* GPUs' samples; NULL: none */
    bool cells;                         /* livenode_cells is wanted */
    const struct backend *reader; /* of logs that are followed; NULL: there are
                                     recordings */
    uint64_t batch_ms;            /* such logs are written so often; 0: not
                                     known */
};

/* Borrows strings and times. Returns NULL when out of memory. */
struct livenode *livenode_create(const struct livenode_place *place);
void livenode_destroy(struct livenode *node); /* accepts NULL */

struct livenode_time {
    uint64_t real_ns, mono_ns;
};

/* Reads new data. Returns -1 if a file cannot be read or is damaged; the other
 * files were read. */
int livenode_look(struct livenode *node, const struct livenode_time *now,
                  struct jp_error *err);

/* The last look. It also checks tasks whose recordings showed that they work.
 */
int livenode_look_last(struct livenode *node, const struct livenode_time *now,
                       struct jp_error *err);

/* The worst class of the node, as of the last look. */
enum live_class livenode_class(const struct livenode *node);

/* Sets the communicators that come first in snapshots, at most LIVE_WANTED_MAX.
 */
void livenode_want(struct livenode *node, const uint64_t *hashes, size_t n);

/* Fills in ranks, communicators, fronts, operations in flight, and the class.
 * The caller fills in the rest of the head. Returns 0, or -1 when out of
 * memory. */
int livenode_fill(struct livenode *node, const struct livenode_time *now,
                  struct live_snap *snap);

/* Puts the bandwidths by size of rank i of the last livenode_fill into the set;
 * labels and times as in livecells_put. Returns 0, or -1 when out of memory. */
int livenode_cells(struct livenode *node, uint32_t i, uint64_t mono_ns,
                   const struct livecells_labels *labels,
                   struct metrics_set *set);

/* The pid, on this node, of the process with that pid in its recording; 0: it
 * is gone or unknown. */
int64_t livenode_pid(const struct livenode *node, int64_t pid);

/* Sends a signal to each task with a handler for it. Returns the number of
 * these tasks. */
unsigned livenode_signal(struct livenode *node, int signal);

/* --- livelog.c: logs of ended operations while they grow ----------------- */

/* Where a profiler writes a line an operation (jp_profiler.tells_ended), its
 * own reader (plugins/reader.h) reads what raw/<node>/ has got since the last
 * look: each file from behind the last whole line, a half one waits. Files are
 * told by their inode: one that another has replaced, or that was cut, is read
 * from its beginning. At most LIVELOG_READ bytes of a file are read a turn
 * (liverate.h), the last ones; what is passed over is counted, and fronts that
 * were not seen since are not told. The numbers in the lines tell how many have
 * ended, so that rates need no line.
 *
 * A log does not tell what is in flight, when it ends in order, or why nothing
 * is written: the age of its last growth and /proc are all there is. */

/* Of a file at a turn; a longer line is passed over. */
#define LIVELOG_READ (256u << 10)

struct livelog;

/* Strings and times are borrowed. NULL without memory. */
struct livelog *livelog_create(const struct livenode_place *place);
void livelog_destroy(struct livelog *log); /* takes NULL */

/* As those of livenode.h. */
int livelog_look(struct livelog *log, const struct livenode_time *now,
                 bool last, struct jp_error *err);
enum live_class livelog_class(const struct livelog *log);
int livelog_fill(struct livelog *log, const struct livenode_time *now,
                 struct live_snap *snap);
int livelog_cells(struct livelog *log, uint32_t i, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set);

/* For tests: bytes read and passed over, and lines that were bad. */
struct livelog_cost {
    uint64_t read, passed, bad;
};
struct livelog_cost livelog_cost(const struct livelog *log);

#endif
