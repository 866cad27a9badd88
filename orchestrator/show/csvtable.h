/* csvtable.h - the rows of one of a report's CSV files, column by name.
 *
 * RFC 4180 as csv_out.h writes it. Foreign input like any file: a record is at
 * most CSVTABLE_MAX bytes, and a column that is not there is an error.
 */
#ifndef JP_SHOW_CSVTABLE_H
#define JP_SHOW_CSVTABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum { CSVTABLE_MAX = 65536, CSVTABLE_COLUMNS = 16, CSVTABLE_FIELDS = 64 };

struct jp_csvtable {
    FILE *in;
    const char *path; /* borrowed; stands in errors */
    uint64_t line;
    size_t n_columns;
    size_t at[CSVTABLE_COLUMNS]; /* field of the asked column */
    size_t n_fields;
    char *fields[CSVTABLE_FIELDS];
    char *bytes;
};

/* columns: names, at most CSVTABLE_COLUMNS, of those that are wanted. 0, or -1
 * and err: it cannot be read, or lacks one. csvtable_close is due only after 0.
 */
int csvtable_open(struct jp_csvtable *table, const char *path,
                  const char *const *columns, size_t n, struct jp_error *err);
/* The same over bytes, borrowed until the close. */
int csvtable_open_bytes(struct jp_csvtable *table, const void *bytes, size_t n,
                        const char *const *columns, size_t n_columns,
                        struct jp_error *err);
void csvtable_close(struct jp_csvtable *table);

/* The next row: values[i] of the i-th column, until the next call. 1; 0 at the
 * end; -1 and err: a damaged row, which names its line, and nothing follows. */
int csvtable_next(struct jp_csvtable *table, const char *values[],
                  struct jp_error *err);

#endif
