/* csv_out.h - write one CSV row after the other.
 *
 * RFC 4180 quoting, LF ends a row. A text that a spreadsheet would take for a
 * formula (first character one of = + - @) gets an apostrophe in front. Rows
 * are put together here and handed to the stream many at once: csv_out_flush is
 * due before anything else is written to it.
 */
#ifndef JP_REPORT_CSV_OUT_H
#define JP_REPORT_CSV_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/decimal.h"

enum { CSV_OUT_ROOM = 32 << 10 };

struct jp_csv {
    FILE *out;
    bool inside; /* a value stands in this row already */
    size_t from; /* of this row; SIZE_MAX: a part of it was handed over */
    size_t used;
    char bytes[CSV_OUT_ROOM];
};

/* Sets up all but bytes, which are too many to clear for a few rows. */
void csv_out_begin(struct jp_csv *csv, FILE *out);
void csv_out_text(struct jp_csv *csv, const char *text); /* cleaned */
/* Several texts in one column, a blank between. */
void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n);
void csv_out_int(struct jp_csv *csv, int64_t value);
void csv_out_real(struct jp_csv *csv, double value);    /* not finite: empty */
void csv_out_micro(struct jp_csv *csv, uint64_t micro); /* micro / 1e6 */
/* sum / n by 10^-decimals (0 or 6), as csv_out_real of that; n is not 0. */
void csv_out_mean(struct jp_csv *csv, uint64_t sum, uint64_t n,
                  unsigned decimals);
void csv_out_end(struct jp_csv *csv);
void csv_out_flush(struct jp_csv *csv);

/* Many rows begin alike: copies what stands in this row so far; 0: it is longer
 * than size. csv_out_again begins a row with that. */
size_t csv_out_keep(const struct jp_csv *csv, char *buf, size_t size);
void csv_out_again(struct jp_csv *csv, const char *kept, size_t len);

/* --- what most values of a large table are, without a call --- */

/* Room for n <= CSV_OUT_ROOM bytes. */
static inline char *csv_out_room(struct jp_csv *csv, size_t n)
{
    if (__builtin_expect(csv->used + n > CSV_OUT_ROOM, 0))
        csv_out_flush(csv);
    return csv->bytes + csv->used;
}

/* Where a number of at most JP_DECIMAL_ROOM goes, behind its comma. */
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

/* --- ops.csv's rows, by several threads ----------------------------------- */

struct jp_result;

/* The largest table by far. Each thread formats every nth chunk of rows and
 * hands it over when its turn has come, so the bytes do not depend on how many
 * there are. threads: 0: as many as CPUs, at most 8; the caller's does it all
 * where no thread or memory is to be had. Failures show in csv->out. */
void csv_ops_write(struct jp_csv *csv, const struct jp_result *result,
                   unsigned threads);

#endif
