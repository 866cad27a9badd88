/* rec_thread.h - what each thread that NCCL calls us from has for itself.
 *
 * Free places for operations, a chunk of finished records, names it saw. A
 * thread claims an entry of a fixed table with its first event and gives it
 * back when it ends; what the entry holds serves the next thread.
 */
#ifndef JP_REC_THREAD_H
#define JP_REC_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugins/nccl_recorder/rec_names.h"
#include "plugins/nccl_recorder/rec_pool.h"

enum { JP_REC_MAX_THREADS = 512 };

struct jp_rec_thread {
    _Alignas(64) atomic_bool taken;
    _Atomic uint32_t chunk; /* being filled; JP_REC_NONE */
    struct jp_rec_purse ops;
    struct jp_rec_purse steps;
    struct jp_rec_name_cache funcs;
    struct jp_rec_name_cache words;
    uint32_t group; /* of calls, see rec_trust_group */
    int group_depth;
    /* rec_cost.h; the thread writes, the writer reads */
    _Atomic uint64_t events, timed, timed_ns;
};

/* The calling thread's; NULL when the table is full. */
struct jp_rec_thread *rec_thread_get(void);

/* The table, for the writer; entries may be free. */
struct jp_rec_thread *rec_thread_table(void);

/* Takes zeroed memory for JP_REC_MAX_THREADS into use. 0, or -1 when threads
 * cannot be told apart here (no thread-specific key). */
int rec_thread_init(struct jp_rec_thread *table);

/* In a forked child: nothing of the parent's threads is left. */
void rec_thread_after_fork(void);

#endif
