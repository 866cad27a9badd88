/* The thread that writes: every 100 ms, or when much is waiting.
 *
 * All file work is done here and never in a thread of NCCL's. Signals are
 * blocked in it: a file size limit gives an error instead of SIGXFSZ. While
 * no communicator is live it sleeps without a timer.
 */
#ifndef JP_REC_WRITER_H
#define JP_REC_WRITER_H

#include "plugins/nccl_recorder/rec_env.h"

/* Starts the thread once, which opens the directory. NULL, or why it cannot
 * (static text). Waits 200 ms for that at most: a file system that takes longer
 * is tried further while NCCL goes on. Not thread-safe. */
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

#endif
