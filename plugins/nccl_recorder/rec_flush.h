/* rec_flush.h - what the writer does each time: everything new into the file.
 *
 * Order: communicators, operations, the snapshot of what is in flight,
 * counters; in one write where they fit. Counters are also told when nothing
 * changed, each second or, when nothing has for more than ten minutes, each
 * 1/600 of that time: their clock says how long the process was there.
 *
 * While the sink is full its allowance has to last for any length of run. Every
 * k-th operation is kept (k doubles each time 128 were), until a quarter of
 * it is used. The rest is written at intervals that grow with the time t it has
 * been full and with what was used: 8 t x (bytes of a flush) / (bytes left), a
 * second at least. Of A bytes then A (1 s / t)^(1/8) are left: a half after 4
 * minutes, a quarter after 18 hours. When nothing moves for two seconds it may
 * be a hang: that is told at once, a quarter of the interval apart, from bytes
 * of its own (16 KiB, a quarter at most), with the 200 oldest operations in
 * flight.
 */
#ifndef JP_REC_FLUSH_H
#define JP_REC_FLUSH_H

#include <stdbool.h>

#include "plugins/nccl_recorder/rec_env.h"

/* Bytes of memory this module takes. */
enum { JP_REC_FLUSH_BYTES = 1600 * 1024 };

/* Allocates once, and begins a file; `only_header`: it will hold nothing else.
 * 0, or -1 without memory. */
int rec_flush_init(const struct jp_rec_settings *settings, int interface,
                   bool only_header);

/* One flush. `final`: the process or its last communicator ends. */
void rec_flush_run(bool final);

#endif
