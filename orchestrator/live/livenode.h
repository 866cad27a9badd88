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
    const char *raw;  /* raw/<node> of the step directory */
    const char *node; /* Slurm's name of it */
    const char *root; /* stands in for / */
    const struct stuck_times *times;
    const struct module_shared *shared; /* GPUs' samples; NULL: none */
    bool cells;                         /* livenode_cells is wanted */
    const struct backend *reader; /* of logs that are followed; NULL: there are
                                     recordings */
    uint64_t batch_ms;            /* such logs are written so often; 0: not
                                     known */
};

/* Strings and times are borrowed. NULL without memory. */
struct livenode *livenode_create(const struct livenode_place *place);
void livenode_destroy(struct livenode *node); /* takes NULL */

struct livenode_time {
    uint64_t real_ns, mono_ns;
};

/* Reads on. -1: a file cannot be read or is damaged; the others were read. */
int livenode_look(struct livenode *node, const struct livenode_time *now,
                  struct jp_error *err);

/* The last look: also at tasks whose recording told that they work. */
int livenode_look_last(struct livenode *node, const struct livenode_time *now,
                       struct jp_error *err);

/* The worst of the node by the last look. */
enum live_class livenode_class(const struct livenode *node);

/* Communicators that come first in snapshots, at most LIVE_WANTED_MAX. */
void livenode_want(struct livenode *node, const uint64_t *hashes, size_t n);

/* Ranks, communicators, fronts, what is in flight, and the class; the caller
 * fills in the rest of the head. 0, or -1 without memory. */
int livenode_fill(struct livenode *node, const struct livenode_time *now,
                  struct live_snap *snap);

/* Bandwidths by size of rank i of the last livenode_fill, into the set; labels
 * and times as in livecells_put. 0, or -1 without memory. */
int livenode_cells(struct livenode *node, uint32_t i, uint64_t mono_ns,
                   const struct livecells_labels *labels,
                   struct metrics_set *set);

/* The pid here of a process that calls itself pid in its recording; 0: it is
 * gone or not known. */
int64_t livenode_pid(const struct livenode *node, int64_t pid);

/* Sends a signal to each task that has a handler for it. How many got it. */
unsigned livenode_signal(struct livenode *node, int signal);

#endif
