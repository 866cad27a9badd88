/* join_parts.h - find or make the parts of a join: for join*.c and partial*.c.
 *
 * The _get functions find a part or make it. They return NULL (KEYMAP_NONE)
 * without memory; join->over is set if it was the memory limit and not malloc.
 * Nothing is half made then. */
#ifndef JP_AGGREGATE_JOIN_PARTS_H
#define JP_AGGREGATE_JOIN_PARTS_H

#include "common/num.h"
#include "orchestrator/aggregate/join.h"

/* For functions that few records need: kept out of line, so that they cost no
 * registers on the path that nearly every record takes. */
#define JOIN_RARE __attribute__((noinline))

/* Takes bytes from the budget. False, and join->over is set: the limit is
 * reached. */
bool join_charge(struct join *join, uint64_t bytes);

uint32_t join_func_get(struct join *join, const char *name, size_t len);
/* Returns the index, because members refer to their communicator by it. */
uint32_t join_comm_get(struct join *join, const char *id, size_t id_len,
                       uint32_t n_ranks, uint32_t nnodes);
struct join_series *join_series_get(struct join *join, struct join_comm *comm,
                                    uint32_t func);
struct join_block *join_block_get(struct join *join, struct join_series *series,
                                  uint64_t number);
/* Keeps the time of record k, below JOIN_BLOCK. join_time_set is the quick way
 * for most times, join_time_any takes any. 0 or -1. */
int join_time_any(struct join *join, struct join_lane_block *block, unsigned k,
                  uint32_t exec_us);
static inline int join_time_set(struct join *join,
                                struct join_lane_block *block, unsigned k,
                                uint32_t exec_us)
{
    if (!block->based || block->wide || exec_us - block->base > UINT16_MAX)
        return join_time_any(join, block, k, exec_us);
    block->narrow[k] = (uint16_t) (exec_us - block->base);
    return 0;
}
static inline uint32_t join_time(const struct join_lane_block *block,
                                 unsigned k)
{
    return block->wide ? block->wide[k] : block->base + block->narrow[k];
}

/* Makes room for row k, below JOIN_BLOCK, and the rows before it. 0 or -1; rows
 * move. */
int join_rows_more(struct join *join, struct join_block *block, unsigned k);
/* Row k, all zeros if it is new. NULL: no memory. */
static inline struct join_row *
join_row_get(struct join *join, struct join_block *block, unsigned k)
{
    if (k >= block->room && join_rows_more(join, block, k) < 0)
        return NULL;
    return &block->rows[k];
}

/* Makes the block's stamps if it has none. 0 or -1. */
int join_stamps_get(struct join *join, struct join_block *block);
/* Moves the charge of a block that one join hands over to another one. */
void join_move_block(struct join *into, struct join *from,
                     const struct join_block *block);
void join_move_lane_block(struct join *into, struct join *from, bool journal,
                          const struct join_lane_block *block);
struct join_member *join_member_get(struct join *join, uint32_t comm,
                                    uint32_t rank);
/* series NULL: a lane of p2p records. */
struct join_lane *join_lane_get(struct join *join, struct join_member *member,
                                struct join_series *series, uint32_t func);
struct join_lane_block *
join_lane_block_get(struct join *join, struct join_lane *lane, uint64_t number);
struct join_p2p *join_p2p_get(struct join *join, uint32_t comm, uint32_t src,
                              uint32_t dst, bool recv);
/* Whether the rates of this pair are kept (JOIN_P2P_ROWS). */
bool join_p2p_has_rates(const struct join *join, const struct join_p2p *p2p);
/* Frees a lane, a series' blocks, and gives back to the budget what they took.
 * join NULL: the whole join is freed, and the budget stays as it is. */
void join_lane_free(struct join *join, struct join_lane *lane);
void join_series_empty(struct join *join, struct join_series *series);
/* In join_waits.c, for join_close.c: adds the times of the timed rows, which
 * are marked, to the communicator's members, and frees their lanes of
 * collectives. 0, or -1: no memory. */
int join_waits(struct join *join, const struct join_comm *comm);
/* The order of operations and then of ranks. 0: both are records of one rank
 * and operation. */
int join_stray_order(const struct join_stray *x, const struct join_stray *y);
/* Each returns 0 or -1. */
int join_stray_add(struct join *join, const struct join_stray *stray);
int join_comm_name(struct join_comm *comm, const char *name, size_t len);
/* A process as records and partials name it. */
struct join_process {
    const char *host;
    size_t len;
    int64_t pid;
    uint64_t instance, device; /* as in struct record */
};
int join_member_process(struct join_member *member,
                        const struct join_process *process);

void join_counts_fold(struct join_comm *into, const struct jpr_counts *counts);
/* Makes a row of one record; adds a row to another one of the same operation.
 */
void join_row_fill(struct join_row *row, const struct record *r);
void join_row_fold(struct join_row *into, const struct join_row *from);
/* Adds a record to a row, like the two together. */
void join_row_add(struct join_row *into, const struct record *r);
/* The same for stamps; all zeros: there are none. phase: of the record. */
void join_stamp_fill(struct join_stamp *stamp, const struct record *r,
                     uint32_t phase);
void join_stamp_fold(struct join_stamp *into, const struct join_stamp *from);

#endif
