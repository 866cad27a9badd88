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
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/nccl_recorder/rec_op.h"

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
