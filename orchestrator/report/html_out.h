/* html_out.h - write escaped text and plain tables into a page. */
#ifndef JP_REPORT_HTML_OUT_H
#define JP_REPORT_HTML_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Cleaned text with & < > " ' escaped: for elements and quoted attributes. At
 * most max bytes of it, then "...". */
void html_out_text(FILE *out, const char *text);
void html_out_short(FILE *out, const char *text, size_t max);

/* Doctype to <body>: no request leaves the page (a content security policy says
 * so too), light and dark by the reader's setting. */
void html_out_begin(FILE *out, const char *title);
void html_out_end(FILE *out);

/* Whether this program holds the charts (docs/dependencies.md). */
bool html_out_has_charts(void);
/* Where a chart stands that chart_data.h has the figures for; the caption is
 * HTML. Nothing in a program without charts; not seen without JavaScript. */
void html_out_chart(FILE *out, const char *name, const char *caption);

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
 * nothing (NULL, ""): "-". A count of 0 is "unknown". */
void html_out_fact(FILE *out, const char *name, const char *value);
void html_out_fact_count(FILE *out, const char *name, uint64_t value);

#endif
