/* rec_writer.h - the thread that writes, every 100 ms or when much is waiting,
 * and the file that it writes to.
 *
 * The writer does all file work; NCCL's threads do none. Signals are blocked in
 * it, so that a file size limit gives an error instead of SIGXFSZ. While no
 * communicator is live it sleeps without a timer.
 *
 * Order of a flush: communicators, operations, the snapshot of operations in
 * flight, counters; in one write where they fit. Counters are also written when
 * nothing has changed, each second or, when nothing has changed for more than
 * ten minutes, each 1/600 of that time: their clock shows how long the process
 * lived.
 *
 * While the sink is full its allowance has to last for a run of any length.
 * Every k-th operation is kept (k doubles each time 128 were kept), until a
 * quarter of the allowance is used. The rest is written at intervals that grow
 * with the time t since the sink became full and with what was used:
 * 8 t x (bytes of a flush) / (bytes left), at least a second. Of A bytes,
 * A (1 s / t)^(1/8) are then left: a half after 4 minutes, a quarter after 18
 * hours. When nothing moves for two seconds it may be a hang. A hang is written
 * at once, then a quarter of the interval apart, from bytes of its own (16 KiB,
 * a quarter of the allowance at most), with the 200 oldest operations in
 * flight.
 */
#ifndef JP_REC_WRITER_H
#define JP_REC_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/nccl_recorder/rec_op.h"

/* --- rec_sink.c --------------------------------------------------------- */

/* The file of one process, and how large it may grow.
 *
 * Name: <hostname>-pid<pid>.jpr. Where that exists already (two containers may
 * share host name and pid), "-1", "-2", ... precede the suffix. Nothing is ever
 * overwritten; the mode is 0600. Only the writer thread calls these functions.
 *
 * The cap: most of JOBPROF_RECORDER_DISK is for everything. When that is used
 * up, or the file system has less free than JOBPROF_RECORDER_MIN_FREE, the sink
 * is "full". What is left then is an allowance for the little that a full sink
 * still takes: a sixteenth of the cap, at least 128 KiB (half of a cap below
 * 256 KiB) and at most 1 MiB.
 *
 * A program may close descriptors that it has not opened, as one that becomes a
 * daemon does, and its own files then get their numbers. The writer thread
 * therefore has a table of descriptors of its own. Where that is impossible,
 * each use of a descriptor is checked, and a file whose descriptor the program
 * has taken is lost (common/ownfile.h): the sink refuses all blocks until
 * rec_sink_close(), so that their contents count as lost.
 */

/* Opens the directory, which may take as long as its file system does. Returns
 * NULL, or why it cannot be used (static text); then nothing has changed. */
const char *rec_sink_open(const char *dir,
                          const struct jp_rec_settings *settings);

/* Returns the bytes of the allowance that are left, or UINT64_MAX while the
 * sink is not full or is lost. Looks at the file system once a second and after
 * each MiB, and four times as often with less than 4 x `min_free` free. */
uint64_t rec_sink_allowance(void);

/* Returns the bytes of the cap that are left until the sink is full; UINT64_MAX
 * without a cap. */
uint64_t rec_sink_room(void);

/* Closes the descriptors that are still the recorder's. In a forked child:
 * forgets them, as they are the parent's. */
void rec_sink_close(void);

/* Begins a file's contents: allocates once (about 800 KB with zlib's), and
 * empties all that is kept about an earlier file. 0 or -1. `interface` is 1 to
 * 6. */
int rec_sink_begin(const struct jp_rec_settings *settings, int interface);

/* Blocks of the file are collected in a buffer for one write. */

/* Adds the header's block, unless it is in the file or in the buffer. */
void rec_sink_header(void);

/* Adds a block that says whether the sink is full, and the limits that were
 * reached so far, if one of these has changed. Operations that are added later
 * are those of that time. */
void rec_sink_tell_room(bool full);

/* Adds the communicator's block, unless it is there already. To be called
 * before the first block that names the communicator. */
void rec_sink_comm(struct jp_rec_comm *comm);

/* Adds a block; an empty payload is left out. Returns the bytes that it takes
 * in the file. */
size_t rec_sink_add(enum jpr_block type, const uint8_t *raw, size_t n);

/* Adds blocks of counters if any changed since the last, or in any case with
 * `anyway`. `final`: the process or its last communicator has ended. */
enum jp_rec_tally {
    JP_REC_TALLY_NONE,
    JP_REC_TALLY_BEAT, /* nothing had changed */
    JP_REC_TALLY_CHANGED
};
enum jp_rec_tally rec_sink_counters(uint64_t in_flight, bool final,
                                    bool anyway);

/* Writes what was added since the last call, all or nothing: 0 or -1. After -1
 * communicators and counters are added again by the next calls. `last`: the
 * write may use what is kept for a last block. */
int rec_sink_write(bool last);

/* Frees the places of finalized communicators of which everything is in the
 * file; with `anyway`, where the file takes no more, of those of which
 * everything was counted. */
void rec_sink_release(bool anyway);

/* --- rec_writer.c ------------------------------------------------------- */

/* Bytes of memory this module takes. */
enum { JP_REC_WRITER_BYTES = 1600 * 1024 };

/* Starts the thread, once; it opens the directory. Returns NULL, or why that is
 * impossible (static text). Waits at most 200 ms: with a slower file system the
 * thread keeps trying while NCCL continues. Not thread-safe. */
const char *rec_writer_start(const char *dir,
                             const struct jp_rec_settings *settings);

/* Wakes the thread: there may be a communicator now. */
void rec_writer_wake(void);

/* Has everything written and waits for that, at most 40 ms. After a timeout it
 * does not wait again before the thread has answered. */
void rec_writer_flush(void);

/* Has everything written for the last time; the thread ends. Waits at most 2 s,
 * as the process ends. */
void rec_writer_close(void);

/* In a forked child, which has no thread. */
void rec_writer_after_fork(void);

/* Allocates once and begins a file, which the thread writes from then on.
 * `only_header`: the file will hold nothing else. 0, or -1 without memory. */
int rec_writer_init(const struct jp_rec_settings *settings, int interface,
                    bool only_header);

#endif
