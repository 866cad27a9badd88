/* rec_flush.h - what the writer does each time: everything new into the file.
 *
 * Order: communicators, operations, the snapshot of what is in flight,
 * counters; in one write where they fit. While the sink is full only every
 * k-th operation is kept (k doubles each time 128 were), and the rest is
 * written at ever longer intervals: a sixteenth of the time it has been full,
 * or at once when nothing moves any more for two seconds. So the allowance
 * lasts for any length of run.
 */
#ifndef JP_REC_FLUSH_H
#define JP_REC_FLUSH_H

#include <stdbool.h>

#include "plugins/nccl_recorder/rec_env.h"

/* Bytes of memory this module takes. */
enum { JP_REC_FLUSH_BYTES = 1600 * 1024 };

/* Allocates once, and begins a file. 0, or -1 without memory. */
int rec_flush_init(const struct jp_rec_settings *settings, int interface);

/* One flush. `final`: the process or its last communicator ends. */
void rec_flush_run(bool final);

#endif
