/* out.h - foreign text, cleaned and escaped: lines for a terminal, CSV rows,
 * pieces of a page.
 */
#ifndef JP_REPORT_OUT_H
#define JP_REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/quote.h"
#include "common/decimal.h"

/* --- plain ASCII lines of at most 100 columns ---------------------------- */

#define JP_TEXT_COLUMNS 100

/* One line of at most `columns` (JP_TEXT_COLUMNS) bytes; what is longer ends in
 * "...". Blanks at its end are dropped. */
void text_out_fit(FILE *out, unsigned columns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define text_out_line(out, ...)                                                \
    text_out_fit((out), JP_TEXT_COLUMNS, __VA_ARGS__)

/* Text broken at blanks; lines after the first start with indent blanks. The
 * first one continues a line of column `at`. at and indent are below columns.
 */
void text_out_wrap_fit(FILE *out, unsigned columns, unsigned at,
                       unsigned indent, const char *text);
#define text_out_wrap(out, at, indent, text)                                   \
    text_out_wrap_fit((out), JP_TEXT_COLUMNS, (at), (indent), (text))

/* --- write one CSV row after the other -----------------------------------
 *
 * RFC 4180 quoting, LF ends a row. A text that a spreadsheet would take for a
 * formula (first character one of = + - @) gets an apostrophe in front. Rows
 * are put together here and handed to the stream many at once: csv_out_flush is
 * due before anything else is written to it.
 */

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

/* --- write escaped text and plain tables into a page --------------------- */

/* Cleaned text with & < > " ' escaped: for elements and quoted attributes. At
 * most max bytes of it, then "...". */
void html_out_text(FILE *out, const char *text);
void html_out_short(FILE *out, const char *text, size_t max);

void html_out_base64(FILE *out, const unsigned char *data, size_t len);

/* Doctype to <body>: no request leaves the page (a content security policy says
 * so too), light and dark by the reader's setting. */
void html_out_begin(FILE *out, const char *title);
void html_out_end(FILE *out);

/* Whether this program holds the charts (docs/dependencies.md). */
bool html_out_has_charts(void);

/* One column: heading, what it means (NULL: nothing to say), number or text. */
struct jp_html_column {
    const char *title;
    const char *help;
    bool number;
};

/* <table> with its head; rows follow. sortable: a click on a heading sorts. */
void html_out_table(FILE *out, const struct jp_html_column *columns, size_t n,
                    bool sortable);
void html_out_row(FILE *out);
void html_out_cell(FILE *out, const char *text);  /* cleaned, at most 200 */
void html_out_prose(FILE *out, const char *text); /* wraps, at most 600 */
/* A few words (cleaned, at most 200); a click shows the prose below. */
void html_out_more(FILE *out, const char *words, const char *prose);
void html_out_id(FILE *out, const char *text);   /* code that stays on a line */
void html_out_code(FILE *out, const char *text); /* likewise, as code */
/* A formatted figure and the value to sort by (NaN: sorts last). */
void html_out_figure(FILE *out, const char *figure, double value);
/* As before with a bar of share (0..1) of the cell's width. */
void html_out_bar(FILE *out, const char *figure, double value, double share);
void html_out_row_end(FILE *out);
/* left_out: so many rows stand only in the file `where` (0, NULL: none). */
void html_out_table_end(FILE *out, size_t columns, size_t left_out,
                        const char *where);

/* A name (HTML) and what it is, within <dl>: cleaned, at most 400 bytes;
 * nothing (NULL, ""): "-". */
void html_out_fact(FILE *out, const char *name, const char *value);

/* The frame of a picture that proves something: its kind (a class of the style
 * sheet), its heading and a last line (plain text; NULL: none). */
void html_out_proof(FILE *out, const char *kind, const char *caption);
void html_out_proof_end(FILE *out, const char *note);

/* --- style sheet and scripts of our pages, from the files in web/ --------
 *
 * html_assets.c is made of them when jobprof is built (web/embed.sh), so the
 * program needs no file beside it.
 */

extern const char html_assets_style[];  /* web/page.css */
extern const char html_assets_script[]; /* web/page.js and
                                            what goes with it */
/* report.html's charts: web/src with its libraries; "": built without */
extern const char html_assets_charts[];

#endif
