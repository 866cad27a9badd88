/* out.h - write foreign text, cleaned and escaped: lines for a terminal, CSV
 * rows, parts of a page. */
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

/* Writes one line of at most `columns` (JP_TEXT_COLUMNS) bytes. A longer line
 * is cut after a clause or a word and ends in "...". Trailing blanks are
 * dropped. */
void text_out_fit(FILE *out, unsigned columns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a line with as many whole clauses as fit. A clause ends in ", ", "; "
 * or ". " outside of brackets. A text whose first clause is too long is cut. */
void text_out_clauses(FILE *out, unsigned columns, const char *label,
                      const char *text);
#define text_out_line(out, ...)                                                \
    text_out_fit((out), JP_TEXT_COLUMNS, __VA_ARGS__)

/* Writes text, broken at blanks. The first line continues at column `at`; later
 * lines start with `indent` blanks. Both must be below columns. */
void text_out_wrap_fit(FILE *out, unsigned columns, unsigned at,
                       unsigned indent, const char *text);
#define text_out_wrap(out, at, indent, text)                                   \
    text_out_wrap_fit((out), JP_TEXT_COLUMNS, (at), (indent), (text))

/* --- CSV rows ------------------------------------------------------------
 *
 * Quoting follows RFC 4180; LF ends a row. A text that a spreadsheet would read
 * as a formula (first character one of = + - @) gets an apostrophe in front.
 * Rows collect in a buffer. Call csv_out_flush before anything else writes to
 * the stream. */

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

/* --- write escaped text and plain tables into a page --------------------- */

/* Write cleaned text with & < > " ' escaped, for elements and quoted
 * attributes. html_out_short writes at most max bytes of it, then "...". */
void html_out_text(FILE *out, const char *text);
void html_out_short(FILE *out, const char *text, size_t max);

void html_out_base64(FILE *out, const unsigned char *data, size_t len);

/* Writes the page from the doctype to <body>. The page makes no network
 * requests (a content security policy enforces that) and follows the reader's
 * light or dark setting. */
void html_out_begin(FILE *out, const char *title);
void html_out_end(FILE *out);

/* Returns true if this program was built with the charts
 * (docs/dependencies.md). */
bool html_out_has_charts(void);

/* A column: heading, explanation (NULL: none), number or text. */
struct jp_html_column {
    const char *title;
    const char *help;
    bool number;
};

/* Opens a <table> and writes its head. sortable: a click on a heading sorts. */
void html_out_table(FILE *out, const struct jp_html_column *columns, size_t n,
                    bool sortable);
void html_out_row(FILE *out);
void html_out_cell(FILE *out,
                   const char *text); /* cleaned; at most 200 bytes */
void html_out_prose(FILE *out, const char *text); /* wraps; at most 600 bytes */
/* A few words (cleaned, at most 200 bytes); a click shows the prose below. */
void html_out_more(FILE *out, const char *words, const char *prose);
void html_out_id(FILE *out, const char *text);   /* as code, on one line */
void html_out_code(FILE *out, const char *text); /* as code, may wrap */
/* A formatted figure, and the value to sort by (NaN: sorted last). */
void html_out_figure(FILE *out, const char *figure, double value);
/* As before, with a bar that fills the given share (0..1) of the cell's width.
 */
void html_out_bar(FILE *out, const char *figure, double value, double share);
void html_out_row_end(FILE *out);
/* left_out: number of rows that only the file `where` has (0 and NULL: none).
 */
void html_out_table_end(FILE *out, size_t columns, size_t left_out,
                        const char *where);

/* A name (HTML) and its value within <dl>. The value is cleaned and cut to 400
 * bytes; NULL or "" becomes "-". */
void html_out_fact(FILE *out, const char *name, const char *value);

/* The frame of a picture that proves a verdict: its kind (a class of the style
 * sheet), its heading, and a last line (plain text; NULL: none). */
void html_out_proof(FILE *out, const char *kind, const char *caption);
void html_out_proof_end(FILE *out, const char *note);

/* Writes a note such as "12 steps: 1 HANG, 2 SLOW, 9 OK.", the worst verdict
 * first. count: of each enum jp_verdict_word. */
void html_out_verdicts(FILE *out, const char *what, size_t n,
                       const size_t *count);

/* --- style sheet and scripts of our pages, from the files in web/ --------
 *
 * The build generates html_assets.c from these files (web/embed.sh), so the
 * program needs no other file at run time. */

extern const char html_assets_style[]; /* web/page.css */
/* web/page.js and the scripts it needs */
extern const char html_assets_script[];
/* charts of report.html: web/src with its libraries; "" if built without charts
 */
extern const char html_assets_charts[];

#endif
