/* join_parts.h - find or make the parts of a join: for join*.c only.
 *
 * The _get functions return NULL (KEYMAP_NONE) without memory, with join->over
 * set where it was the bound and not malloc. Nothing is half made then.
 */
#ifndef JP_AGGREGATE_JOIN_PARTS_H
#define JP_AGGREGATE_JOIN_PARTS_H

#include "common/num.h"
#include "orchestrator/aggregate/join.h"

/* Kept out of the path that nearly every record takes, whose registers it would
 * cost. */
#define JOIN_RARE __attribute__((noinline))

/* False and join->over: the bound is reached. */
bool join_charge(struct join *join, uint64_t bytes);

uint32_t join_func_get(struct join *join, const char *name, size_t len);
/* The index, because members name their communicator by it. */
uint32_t join_comm_get(struct join *join, const char *id, size_t id_len,
                       uint32_t n_ranks, uint32_t nnodes);
struct join_series *join_series_get(struct join *join, struct join_comm *comm,
                                    uint32_t func);
struct join_block *join_block_get(struct join *join, struct join_series *series,
                                  uint64_t number);
/* Keeps the time of record k, below JOIN_BLOCK: any, and mostly. 0 or -1. */
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

/* Room for row k and those before it, below JOIN_BLOCK. 0 or -1; rows move. */
int join_rows_more(struct join *join, struct join_block *block, unsigned k);
/* Row k, all zeros where it is new; NULL without memory. */
static inline struct join_row *
join_row_get(struct join *join, struct join_block *block, unsigned k)
{
    if (k >= block->room && join_rows_more(join, block, k) < 0)
        return NULL;
    return &block->rows[k];
}

/* Sees to the block's stamps. 0 or -1. */
int join_stamps_get(struct join *join, struct join_block *block);
/* Blocks that one join hands over to another one, in the bound's books. */
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
/* Are the rates of this pair kept? */
bool join_p2p_has_rates(const struct join *join, const struct join_p2p *p2p);
/* Frees a lane, a series' blocks, and gives back to the budget what they took.
 * join NULL: the whole join is freed, and the budget stays as it is. */
void join_lane_free(struct join *join, struct join_lane *lane);
void join_series_empty(struct join *join, struct join_series *series);
/* In join_waits.c, for join_close.c: adds the times of the timed rows, which
 * are marked, to the communicator's members, and frees their lanes of
 * collectives. 0, or -1: no memory. */
int join_waits(struct join *join, const struct join_comm *comm);
/* Order of operations and then of ranks; 0: said twice. */
int join_stray_order(const struct join_stray *x, const struct join_stray *y);
/* Each 0 or -1. */
int join_stray_add(struct join *join, const struct join_stray *stray);
int join_comm_name(struct join_comm *comm, const char *name, size_t len);
int join_member_process(struct join_member *member, const char *host,
                        size_t len, int64_t pid);

void join_counts_fold(struct join_comm *into, const struct jpr_counts *counts);
/* A row of one record; a row and another one of the same operation. */
void join_row_fill(struct join_row *row, const struct record *r);
void join_row_fold(struct join_row *into, const struct join_row *from);
/* Both in one. */
void join_row_add(struct join_row *into, const struct record *r);
/* The same of stamps; all zeros: none. */
void join_stamp_fill(struct join_stamp *stamp, const struct record *r);
void join_stamp_fold(struct join_stamp *into, const struct join_stamp *from);

#endif
