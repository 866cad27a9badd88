/* text_out.h - plain ASCII lines of at most 100 columns, with foreign text
 * cleaned. */
#ifndef JP_TABLE_TEXT_OUT_H
#define JP_TABLE_TEXT_OUT_H

#include <stdio.h>

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

/* Writes a fact of summary.txt: its name, and the text beside it, wrapped. */
void text_out_fact(FILE *out, const char *name, const char *text);

#endif
