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
 * (livelog.h).
 */
#ifndef JP_LIVE_LIVENODE_H
#define JP_LIVE_LIVENODE_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/live/livecells.h"
#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livewant.h"
#include "plugins/backend.h"

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

#endif
