/* rec_finish.h - how an operation ends and becomes a record.
 *
 * See rec_abi.c for when it is over. Whoever takes an operation's state from
 * live to over makes the record; everybody else finds it gone.
 *
 * Each thread fills a chunk of records of its own; a full one goes onto a
 * common stack, which the writer takes whole. The writer also reads the chunks
 * that are being filled, as far as they are. No locks; without a free chunk the
 * record is not taken.
 */
#ifndef JP_REC_FINISH_H
#define JP_REC_FINISH_H

#include <stdbool.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_op.h"

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

#endif
