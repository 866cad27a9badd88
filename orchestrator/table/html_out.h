/* html_out.h - write escaped text and plain tables into a page. */
#ifndef JP_TABLE_HTML_OUT_H
#define JP_TABLE_HTML_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Write cleaned text with & < > " ' escaped, for elements and quoted
 * attributes. html_out_short writes at most max bytes of it, then "...". */
void html_out_text(FILE *out, const char *text);
void html_out_short(FILE *out, const char *text, size_t max);

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
/* One of a few words, which are names of programs and files elsewhere, as
 * readers write it: "late_rank" as "late rank". Wraps in a wide table. */
void html_out_word(FILE *out, const char *text);
void html_out_prose(FILE *out, const char *text); /* wraps; at most 600 bytes */
/* A few words (cleaned, at most 200 bytes); a click shows the prose below. */
void html_out_more(FILE *out, const char *words, const char *prose);
void html_out_id(FILE *out, const char *text);   /* as code, on one line */
void html_out_code(FILE *out, const char *text); /* as code, may wrap */
/* A link to a relative path, escaped. */
void html_out_link(FILE *out, const char *text, const char *path);
/* A verdict in the colour of a word. */
void html_out_verdict(FILE *out, const char *text, const char *word);
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

#endif
