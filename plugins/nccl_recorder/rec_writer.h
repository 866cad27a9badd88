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
 * Name: <hostname>-pid<pid>.jpr; where that exists already (two containers may
 * share host name and pid), "-1", "-2", ... before the suffix. Nothing is ever
 * overwritten; mode 0600. One caller at a time (the writer thread).
 *
 * The cap: most of JOBPROF_RECORDER_DISK is for everything; when that is used
 * up, or the file system has less free than JOBPROF_RECORDER_MIN_FREE, the
 * sink is "full", and what is left is an allowance for the little that a full
 * sink still takes: a sixteenth of the cap, 128 KiB at least (half of a cap
 * below 256 KiB) and 1 MiB at most.
 *
 * A program may close descriptors that it has not opened, as one that becomes a
 * daemon does, and its own files then get their numbers. Device and inode are
 * compared with what was opened before each write and close: where they differ
 * the sink is lost. It then touches neither descriptor again, and refuses all
 * blocks until rec_sink_close(), so that what was in them counts as lost.
 */

/* Opens the directory, which may take as long as its file system does. Returns
 * NULL, or why it cannot be used (static text); then nothing changed. */
const char *rec_sink_init(const char *dir,
                          const struct jp_rec_settings *settings);

bool rec_sink_ready(void);

/* Whether only the allowance is left; looks at the file system once a second
 * and each MiB, where little more than `min_free` is free each 256 KiB. */
bool rec_sink_is_full(void);

/* Bytes of the allowance that are left, 0 with none; UINT64_MAX while the
 * sink is not full. */
uint64_t rec_sink_allowance(void);

/* Bytes of the cap that are left before only the allowance is; UINT64_MAX
 * without a cap. */
uint64_t rec_sink_room(void);

/* Closes what is still ours, back to not ready; for a forked child too. */
void rec_sink_close(void);

/* Allocates once (about 800 KB with zlib's), empties. 0 or -1. */
int rec_blocks_init(void);

/* An empty payload to fill; valid until the next call. */
struct jpr_out *rec_blocks_payload(void);

/* Adds a block, an empty payload is left out; bytes it takes in the file. */
size_t rec_blocks_add(enum jpr_block type, const uint8_t *raw, size_t n);

/* Writes what was added since the last call, all or nothing: 0 or -1. */
int rec_blocks_write(bool last);

/* Whether a write ever succeeded. */
bool rec_blocks_ever(void);

/* Produced, written, lost, left out: the writer's side. */

/* Whose operation it is. */
struct jp_rec_who {
    uint16_t comm; /* place in the table of communicators */
    uint8_t kind;
    uint8_t func;
};

void rec_tally_init(void);

void rec_tally_written(struct jp_rec_who who);
void rec_tally_left_out(struct jp_rec_who who);
/* It was counted as written but is not in the file. */
void rec_tally_take_back(struct jp_rec_who who, bool on_purpose);

/* Adds blocks of counters if any changed since the last, or where they are to
 * be told `anyway`. */
enum jp_rec_tally {
    JP_REC_TALLY_NONE,
    JP_REC_TALLY_BEAT,
    JP_REC_TALLY_CHANGED
};
enum jp_rec_tally rec_tally_add(uint64_t in_flight, bool final, bool anyway);

/* What was told is in the file; or it is not, and is told again. */
void rec_tally_told(bool in_file);

/* Frees the places of communicators of which everything is in the file, or,
 * where that takes no more (`anyway`), was at least counted. */
void rec_tally_release(bool anyway);

/* --- how an operation ends and becomes a record -------------------------- */

/* See rec_abi.c for when it is over. Whoever takes an operation's state from
 * live to over makes the record; everybody else finds it gone.
 *
 * Each thread fills a chunk of records of its own; a full one goes onto a
 * common stack, which the writer takes whole. The writer also reads the chunks
 * that are being filled, as far as they are. No locks; without a free chunk the
 * record is not taken. */

struct jp_rec_thread;

/* A finished operation: what jpr_op holds, before names are text. */
struct jp_rec_record {
    struct jp_rec_facts facts;
    uint64_t times[JP_REC_N_TIMES];
    uint32_t started;
    uint32_t stopped;
    uint32_t refused;
    uint32_t unused;
    uint64_t net[JP_REC_N_NET]; /* only with network events */
};

/* Counts one of `one` (if `mask` has any left) off the state and sets bits;
 * finishes the operation if that was its last event. Does nothing when it is
 * not live in that generation any more. */
void rec_finish_settle(struct jp_rec_op *op, uint64_t generation, uint64_t one,
                       uint64_t mask, uint64_t set);

/* Records what is pending, as incomplete where it is: of one communicator, or
 * of all (NULL). */
void rec_finish_all(struct jp_rec_comm *comm);

/* Records what is over without having said so: loose operations, and those that
 * never get all of their events. For the writer only, which tells what it has
 * seen of finished ones. */
void rec_finish_quiet(void);
void rec_finish_saw(const struct jp_rec_record *record);

/* A loose operation begins. */
void rec_finish_expect_loose(void);

/* Its kernel events are not used from now on; nothing where it is not live in
 * that generation any more. */
void rec_finish_doubt(struct jp_rec_op *op, uint64_t generation);

/* An operation that there is no room for. */
void rec_finish_lost(const struct jp_rec_facts *facts);

/* Copies what is known of the operation in place `index`; false when there is
 * none. */
bool rec_finish_look(uint32_t index, struct jp_rec_record *record);

/* Bytes for `n` records, and taking that memory, zeroed, into use; `net`:
 * records hold network waits. */
size_t rec_done_bytes(uint32_t n, bool net);
void rec_done_init(void *memory, uint32_t n, bool net);

/* Whether records hold network waits. */
bool rec_done_has_net(void);

/* Calls `take` for every record handed over so far. For the writer only. */
void rec_done_drain(void (*take)(const struct jp_rec_record *record));

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
