/* rec_done.h - finished operations on their way from NCCL's threads to the
 * writer.
 *
 * Each thread fills a chunk of its own; a full one goes onto a common stack,
 * which the writer takes whole. The writer also reads the chunks that are being
 * filled, as far as they are. No locks; without a free chunk the record is not
 * taken.
 */
#ifndef JP_REC_DONE_H
#define JP_REC_DONE_H

#include <stdbool.h>

#include "plugins/nccl_recorder/rec_op.h"

struct jp_rec_thread;

/* A finished operation: what jpr_op holds, before names are text. */
struct jp_rec_record {
    struct jp_rec_facts facts;
    uint64_t times[JP_REC_N_TIMES];
    uint32_t started;
    uint32_t stopped;
    uint64_t net[JP_REC_N_NET]; /* only with network events */
};

/* Bytes for `n` records, and taking that memory, zeroed, into use; `net`:
 * records hold network waits. */
size_t rec_done_bytes(uint32_t n, bool net);
void rec_done_init(void *memory, uint32_t n, bool net);

/* Whether records hold network waits. */
bool rec_done_has_net(void);

/* Room for one record, to be filled by the calling thread; NULL without any.
 * rec_done_publish hands it over; true when the writer should not wait for its
 * timer. */
struct jp_rec_record *rec_done_room(struct jp_rec_thread *thread);
bool rec_done_publish(struct jp_rec_thread *thread);

/* Calls `take` for every record handed over so far. For the writer only. */
void rec_done_drain(void (*take)(const struct jp_rec_record *record));

#endif
