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

#define EXPORTER_WORD 80

/* "65.54KB": powers of 1000, two decimals; "0B". The exporter rounds the size
 * in a CSV column by Python (exact decimal value, ties to even), the one in a
 * folder's name by numpy (times 100, ties to even, / 100): 1055 is 1.05KB in
 * the first, 1.06KB in the second. */
char *exporter_size(uint64_t bytes, char *buf);
char *exporter_size_numpy(uint64_t bytes, char *buf);

/* "2026-11-21 11:02:03.123" in local time; what is below a millisecond is cut
 * off. */
char *exporter_datetime(uint64_t us, char *buf);

/* "110.0\u03bcs", "33.2ms", "1.5s", in UTF-8. */
char *exporter_duration(uint64_t us, char *buf);

/* A double as Python prints it: shortest that reads back, "5.0" for 5. NaN is
 * "", as pandas writes it. */
char *exporter_real(double value, char *buf);

/* The name of a function as part of a file's name: letters, digits and "._-";
 * any other byte is '_', and the function's number behind keeps names apart. */
char *exporter_coll(const struct jp_result *result, uint32_t coll, char *buf);

/* Whether the exporter has files of this function. */
bool exporter_knows(const char *coll);

#endif
