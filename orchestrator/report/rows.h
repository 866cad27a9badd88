/* rows.h - which rows of a long table are worth showing.
 *
 * A report is bounded: tables show the K rows that matter most; the rest is
 * counted and stands in the CSV files.
 */
#ifndef JP_REPORT_ROWS_H
#define JP_REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

/* How much a row matters. */
typedef double jp_row_weight(const struct jp_result *result, size_t row);

jp_row_weight rows_comm_time;   /* longest ranks' time, us */
jp_row_weight rows_cell_time;   /* operations x mean longest time, us */
jp_row_weight rows_cell_busbw;  /* the same; < 0: without any bandwidth */
jp_row_weight rows_rank_caused; /* what others waited for it, us */
jp_row_weight rows_p2p_bytes;
jp_row_weight rows_p2p_node_bytes;
jp_row_weight rows_window_time;

struct jp_rows {
    size_t *index; /* rows shown */
    size_t n;
    size_t left_out;
};

/* Picks at most max of n rows, those of greatest weight (ties: first come).
 * by_weight: in order of weight, heaviest first; else in the result's order.
 * result may be NULL with n = 0. Returns 0, or -1 when out of memory. Free with
 * rows_fini. */
int rows_pick(const struct jp_result *result, size_t n, size_t max,
              jp_row_weight *weight, bool by_weight, struct jp_rows *rows);
void rows_fini(struct jp_rows *rows);

/* The communicator of a row, never NULL (an index out of range gives an
 * empty one). */
const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm);

#endif
