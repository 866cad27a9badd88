/* The thread that writes: every 100 ms, or when much is waiting.
 *
 * All file work is done here and never in a thread of NCCL's. Signals are
 * blocked in it: a file size limit gives an error instead of SIGXFSZ. While
 * no communicator is live it sleeps without a timer.
 *
 * Order of a flush: communicators, operations, the snapshot of what is in
 * flight, counters; in one write where they fit. Counters are also written when
 * nothing changed, each second or, when nothing has for more than ten minutes,
 * each 1/600 of that time: their clock says how long the process was there.
 *
 * While the sink is full its allowance has to last for any length of run. Every
 * k-th operation is kept (k doubles each time 128 were), until a quarter of
 * it is used. The rest is written at intervals that grow with the time t it has
 * been full and with what was used: 8 t x (bytes of a flush) / (bytes left), a
 * second at least. Of A bytes then A (1 s / t)^(1/8) are left: a half after 4
 * minutes, a quarter after 18 hours. When nothing moves for two seconds it may
 * be a hang: that is written at once, a quarter of the interval apart, from
 * bytes of its own (16 KiB, a quarter at most), with the 200 oldest operations
 * in flight.
 */
#ifndef JP_REC_WRITER_H
#define JP_REC_WRITER_H

#include <stdbool.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_env.h"

/* Bytes of memory this module takes. */
enum { JP_REC_WRITER_BYTES = 1600 * 1024 };

/* Starts the thread once, which opens the directory. NULL, or why it cannot
 * (static text). Waits 200 ms for that at most: a file system that takes longer
 * is tried further while NCCL continues. Not thread-safe. */
const char *rec_writer_start(const char *dir,
                             const struct jp_rec_settings *settings);

/* What it writes from is there: it may. */
void rec_writer_go(void);

/* Much is waiting: writes soon. Never waits; a system call at most, and only
 * if the thread sleeps. */
void rec_writer_nudge(void);

/* Looks again whether there is a communicator. */
void rec_writer_wake(void);

/* Writes everything, and waits for that: 40 ms at most, and not again before
 * the thread has come back from where it then was. */
void rec_writer_flush(void);

/* The last flush; the thread ends. Waits 2 s at most, for the process ends. */
void rec_writer_close(void);

/* In a forked child: there is no thread. */
void rec_writer_after_fork(void);

/* Allocates once, and begins a file; `only_header`: it will hold nothing else.
 * 0, or -1 without memory. */
int rec_writer_init(const struct jp_rec_settings *settings, int interface,
                    bool only_header);

#endif
