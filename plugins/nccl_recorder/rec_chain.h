/* rec_chain.h - another profiler library behind the recorder.
 *
 * NCCL loads one profiler library. JOBPROF_RECORDER_CHAIN names a second one:
 * its path, or NAME for libnccl-profiler-NAME.so, as NCCL_PROFILER_PLUGIN does.
 * The recorder loads it and passes NCCL's calls on, so that both work as each
 * would alone: each gets the events that it asked for, with its own handles.
 * Nothing is loaded in a process with more rights than its user.
 *
 * The library must have NCCL's interface or an older one, as NCCL itself wants
 * it. Calls are made in terms of the newest that it has, and lose only what
 * that one cannot say: before v7 phases and tags, before v6 copy engines,
 * before v5 the program's calls, before v4 times of the GPU, before v3 kernels.
 * A library that has none, cannot be loaded or fails its init() is left out.
 * Why is logged at INFO level and in the header's notes. Its return values mean
 * nothing, as for NCCL.
 *
 * NCCL gets a handle for a pair of handles: the place of the pair in a table
 * and the place's generation, mixed with a number of this process. Its lowest
 * three bits are 0; those of a handle of the recorder's own are not (rec_op.h),
 * and where the other library has no handle, NCCL gets that one itself. Pairs
 * of events without children end with their stopEvent. Others may be named as a
 * parent later: their places are used again after 131,072 more of them have
 * stopped (65,536 of those that were captured in graphs). Without a free place
 * the other library does not get the event. There are no locks after init().
 */
#ifndef JP_REC_CHAIN_H
#define JP_REC_CHAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

/* What a handle or a communicator's context stands for; NULL: nothing. */
struct jp_rec_pair {
    void *ours, *theirs;
};

/* What init() gets; name may be NULL. Before v4 only the mask: there name and
 * hash come with each operation. */
struct jp_rec_chain_comm {
    const char *name;
    uint64_t hash;
    int n_nodes, n_ranks, rank;
    jp_nccl_log_fn *log; /* may be NULL */
};

/* Whether a library is chained; false before rec_chain_open(). */
extern atomic_bool jp_rec_chained;
static inline bool rec_chain_is_on(void)
{
    return atomic_load_explicit(&jp_rec_chained, memory_order_acquire);
}

/* Loads the library, once in a process, for the interface that NCCL uses (1 to
 * 7). Returns why it is not used, or NULL: it is, or none is named. The text
 * lives as long as the process. Not for two threads at once. */
const char *rec_chain_open(int version);

/* Calls its init() for a communicator. Returns its context; NULL: it has none.
 * The reason of a failure is kept for rec_chain_open(). */
void *rec_chain_init(const struct jp_rec_chain_comm *comm);
void rec_chain_finalize(void *context);

/* The masks: NCCL's is the union of both. The recorder reads and writes `ours`
 * in place of NCCL's. */
struct jp_rec_masks {
    int ours, theirs;
    int both; /* that NCCL has */
};
extern struct jp_rec_masks jp_rec_masks;

/* Writes the union to NCCL's mask, which init() got last. */
void rec_chain_mask(int *mask);

/* Returns NCCL's mask as it is now; -1: not known. */
int rec_chain_seen(void);
/* The same if one of the masks has changed since. For every event. */
static inline void rec_chain_follow(void)
{
    int now = __atomic_load_n(&jp_rec_masks.ours, __ATOMIC_RELAXED) |
              __atomic_load_n(&jp_rec_masks.theirs, __ATOMIC_RELAXED);

    if (__builtin_expect(
            now != __atomic_load_n(&jp_rec_masks.both, __ATOMIC_RELAXED), 0))
        rec_chain_mask(NULL);
}

/* Whether NCCL would report events of this type to a library with this mask:
 * one that asks for an event also gets its parents. */
bool rec_chain_wants(int mask, uint64_t type);

/* --- handles ---------------------------------------------------------------
 */

/* Makes a pair of a communicator's contexts. Without a place for it, or without
 * one of theirs, returns ours. */
void *rec_chain_pair_comm(void *ours, void *theirs);

/* How long a handle is used: until its event stops; as a parent after that; or
 * as a parent in each replay of a graph. */
enum jp_rec_life { JP_REC_LEAF, JP_REC_PARENT, JP_REC_CAPTURED };

/* Takes a place for a handle of theirs, before they make one. Returns its
 * number; 0: there is none. */
uint32_t rec_chain_take(void);
/* Returns the handle for NCCL. A place that is not needed is given back. */
void *rec_chain_join(uint32_t place, void *ours, void *theirs,
                     enum jp_rec_life life);

/* Returns what a handle stands for. A handle whose place has been used again,
 * or of another process, stands for nothing; one of ours for itself. */
struct jp_rec_pair rec_chain_find(const void *handle);
/* The same for a context, which may be any number of ours. */
struct jp_rec_pair rec_chain_find_comm(void *context);
/* The same for a parent that process `pid` named. */
struct jp_rec_pair rec_chain_find_of(const void *handle, pid_t pid);
/* The event or communicator has ended. */
void rec_chain_end(const void *handle);

/* --- calls -----------------------------------------------------------------
 */

/* Passes an event on. `descr` is a description of that version, which may be
 * changed, with handles of theirs. Returns their handle or NULL. */
void *rec_chain_start(int version, void *context, void *descr, uint64_t type);
void rec_chain_stop(void *theirs);
void rec_chain_record(void *theirs, int state, void *args);

#endif
