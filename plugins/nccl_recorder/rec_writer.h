/* The thread that writes: records every 100 ms, counts every second.
 *
 * All file work is done here and never in a thread of NCCL's. Signals are
 * blocked in it: a file size limit gives an error instead of SIGXFSZ. While
 * no communicator is live it sleeps without a timer.
 */
#ifndef JP_REC_WRITER_H
#define JP_REC_WRITER_H

#include <stdbool.h>

/* Longest time finalize and exit wait for a stuck file system. */
enum { JP_REC_FLUSH_WAIT_S = 5 };

/* Starts the thread once. `sweep` is called in it before each drain; `all` is
 * true in the last one. 0, or -1 when there can be no thread. Not
 * thread-safe. */
int rec_writer_start(void (*sweep)(bool all));

/* Drains soon, without waiting. */
void rec_writer_wake(void);

/* Drains and writes the counts, and waits for that within bounds. */
void rec_writer_flush(void);

/* The last flush; the thread ends. For the end of the process. */
void rec_writer_close(void);

/* In a forked child: there is no thread. */
void rec_writer_after_fork(void);

#endif
