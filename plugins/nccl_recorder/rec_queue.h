/* Finished operations on their way from NCCL's threads to the writer.
 *
 * A growing array under one lock; the writer takes it whole and leaves an
 * empty one. Bounded: when the writer cannot keep up (a stuck file system),
 * the newest records are refused and counted as lost by the caller.
 */
#ifndef JP_REC_QUEUE_H
#define JP_REC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "plugins/nccl_recorder/rec_line.h"

/* 2^20 records of 48 bytes: 50 MB at most, nine minutes at 2,000 a second. */
enum { JP_REC_QUEUE_MAX = 1 << 20 };

/* Waking the writer at this many keeps the array in the cache. */
enum { JP_REC_QUEUE_WAKE = 4096 };

/* Adds a copy. False when full or without memory. `*wake` is set when the
 * writer should not wait for its timer. */
bool rec_queue_push(const struct jp_rec_record *record, bool *wake);

/* Takes all records; the array is borrowed until the next call. One caller
 * only. */
size_t rec_queue_take(const struct jp_rec_record **records);

/* Empties it in a forked child. */
void rec_queue_after_fork(void);

#endif
