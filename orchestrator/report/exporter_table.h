/* exporter_table.h - operations grouped and ordered as the exporter's query
 * does.
 *
 * For one communicator type and function it groups records by (id, sequence
 * number, message size) and orders groups by sequence number. Operations of
 * communicators that share their id (NCCL cuts ids to 16 characters) and type
 * are one row, so. Rows of equal sequence number stand in order of id, where
 * the exporter's order is left to chance.
 */
#ifndef JP_REPORT_EXPORTER_TABLE_H
#define JP_REPORT_EXPORTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

/* An operation, as far as the exporter looks at it. */
struct exporter_key {
    uint64_t bytes, sn;
    uint32_t group; /* communicator type and function */
    uint32_t comm;
    size_t op; /* its number in the result */
    uint64_t busbw_sum_micro, exec_max_us, dump_min_us, dump_max_us;
    uint32_t n, n_busbw;
};

/* Rows of one communicator type, function and size: a file. */
struct exporter_cell {
    enum jp_comm_type type;
    uint32_t coll;
    uint64_t bytes;
    size_t from, to; /* in table.keys */
    uint64_t rows, records;
    uint64_t valued; /* rows with a bandwidth; the next three are 0 else */
    double mean, min, max;      /* over rows' means, GB/s */
    uint64_t time_us;           /* longest ranks' times, summed */
    uint64_t first_us, last_us; /* writing of records */
    uint64_t last_sn;           /* the first is that of table.keys[from] */
    bool kept;                  /* among those of most time */
};

struct exporter_table {
    const struct jp_result *result; /* borrowed */
    struct exporter_key *keys;      /* every operation, in order */
    size_t n_keys;
    struct exporter_cell *cells; /* by type, function, size */
    size_t n_cells, n_kept;
};

struct exporter_row {
    const char *id;
    uint64_t sn, records;
    double mean; /* of the records' bandwidths, GB/s; NaN: none has one */
    uint64_t start_us, end_us;
    size_t from, to; /* its operations in table.keys */
};

/* 72 bytes an operation. At most max_cells are kept. -1: out of memory. Free
 * with exporter_table_fini. */
int exporter_table_init(struct exporter_table *table,
                        const struct jp_result *result, size_t max_cells);
void exporter_table_fini(struct exporter_table *table);

/* The row of cell that starts at key `at` (cell->from for the first); returns
 * where the next one starts, cell->to after the last. */
size_t exporter_table_row(const struct exporter_table *table,
                          const struct exporter_cell *cell, size_t at,
                          struct exporter_row *row);

/* One past the last cell of the type and function of cell `from`. */
size_t exporter_table_series(const struct exporter_table *table, size_t from);

#endif
