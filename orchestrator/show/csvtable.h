/* csvtable.h - read one of a report's CSV files, with columns found by name.
 *
 * Format: RFC 4180 as written by orchestrator/table/csv_out.h. The file is
 * foreign input: a record has at most CSVTABLE_MAX bytes, and a missing column
 * is an error.
 */
#ifndef JP_SHOW_CSVTABLE_H
#define JP_SHOW_CSVTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/lines.h"

enum {
    CSVTABLE_MAX = LINES_TABLE_LINE,
    CSVTABLE_COLUMNS = 16,
    CSVTABLE_FIELDS = 64
};

struct jp_csvtable {
    struct jp_lines *lines;
    const char *path; /* borrowed; used in errors */
    size_t n_columns;
    size_t at[CSVTABLE_COLUMNS]; /* the field of each requested column */
    size_t n_fields;
    char *fields[CSVTABLE_FIELDS];
    char *bytes; /* the record */
    char *cell;  /* a cell without its quotes */
};

/* Opens a table. columns: names of the requested columns, at most
 * CSVTABLE_COLUMNS. Returns 0, or -1 and err if it cannot be read or lacks a
 * column (errno ENODATA). Call csvtable_close only after 0. */
int csvtable_open(struct jp_csvtable *table, const char *path,
                  const char *const *columns, size_t n, struct jp_error *err);
/* The same for bytes, which are borrowed until the close. */
int csvtable_open_bytes(struct jp_csvtable *table, const void *bytes, size_t n,
                        const char *const *columns, size_t n_columns,
                        struct jp_error *err);
void csvtable_close(struct jp_csvtable *table);

/* Reads the next row: values[i] is the i-th column, valid until the next call.
 * Returns 1; 0 at the end; -1 and err (with the line) for a damaged row, which
 * ends the reading. */
int csvtable_next(struct jp_csvtable *table, const char *values[],
                  struct jp_error *err);

#endif
