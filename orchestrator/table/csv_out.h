/* csv_out.h - write CSV.
 *
 * Quoting follows RFC 4180; LF ends a row. A text that a spreadsheet would read
 * as a formula (first character one of = + - @) gets an apostrophe in front.
 * Rows collect in a buffer. Call csv_out_flush before anything else writes to
 * the stream. */
#ifndef JP_TABLE_CSV_OUT_H
#define JP_TABLE_CSV_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/decimal.h"

enum { CSV_OUT_ROOM = 32 << 10 };

struct jp_csv {
    FILE *out;
    bool inside; /* the row already has a value */
    size_t from; /* start of the current row; SIZE_MAX: part of it was already
                    flushed */
    size_t used;
    char bytes[CSV_OUT_ROOM];
};

/* Sets up all members but bytes: clearing so many bytes is too slow for tables
 * of a few rows. */
void csv_out_begin(struct jp_csv *csv, FILE *out);
void csv_out_text(struct jp_csv *csv, const char *text); /* cleans text */
/* Writes several texts in one column, separated by blanks. */
void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n);
void csv_out_int(struct jp_csv *csv, int64_t value);
void csv_out_real(struct jp_csv *csv, double value); /* empty if not finite */
void csv_out_micro(struct jp_csv *csv, uint64_t micro); /* writes micro / 1e6 */
/* Writes sum / n x 10^-decimals (decimals is 0 or 6), formatted as by
 * csv_out_real. n must not be 0. */
void csv_out_mean(struct jp_csv *csv, uint64_t sum, uint64_t n,
                  unsigned decimals);
void csv_out_end(struct jp_csv *csv);
void csv_out_flush(struct jp_csv *csv);

/* For many rows with the same first columns. csv_out_keep copies the current
 * row so far to buf and returns its length, or 0 if it is longer than size.
 * csv_out_again begins a row with that copy. */
size_t csv_out_keep(const struct jp_csv *csv, char *buf, size_t size);
void csv_out_again(struct jp_csv *csv, const char *kept, size_t len);

/* --- what most values of a large table are, without a call --- */

/* Returns room for n <= CSV_OUT_ROOM bytes. */
static inline char *csv_out_room(struct jp_csv *csv, size_t n)
{
    if (__builtin_expect(csv->used + n > CSV_OUT_ROOM, 0))
        csv_out_flush(csv);
    return csv->bytes + csv->used;
}

/* Writes the comma if needed. Returns the place for a number of at most
 * JP_DECIMAL_ROOM bytes. */
static inline char *csv_out_begin_number(struct jp_csv *csv)
{
    char *p = csv_out_room(csv, JP_DECIMAL_ROOM + 1);

    *p = ',';
    p += csv->inside;
    csv->inside = true;
    return p;
}

static inline void csv_out_end_number(struct jp_csv *csv, const char *end)
{
    csv->used = (size_t) (end - csv->bytes);
}

static inline void csv_out_count(struct jp_csv *csv, uint64_t value)
{
    csv_out_end_number(csv, decimal_count(value, csv_out_begin_number(csv)));
}

static inline void csv_out_empty(struct jp_csv *csv)
{
    csv_out_end_number(csv, csv_out_begin_number(csv));
}

#endif
