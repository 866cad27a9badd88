/* text_out.h - plain ASCII lines of at most 100 columns. */
#ifndef JP_REPORT_TEXT_OUT_H
#define JP_REPORT_TEXT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/quote.h"

#define JP_TEXT_COLUMNS 100

/* One line; what is longer ends in "...". Blanks at its end are dropped. */
void text_out_line(FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same in fewer columns, at most JP_TEXT_COLUMNS. */
void text_out_fit(FILE *out, unsigned columns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Text broken at blanks; lines after the first start with indent blanks. The
 * first one continues a line of column `at`. */
void text_out_wrap(FILE *out, unsigned at, unsigned indent, const char *text);

/* The same in fewer columns; at and indent are below columns. */
void text_out_wrap_fit(FILE *out, unsigned columns, unsigned at,
                       unsigned indent, const char *text);

/* True where the environment's locale (LC_ALL, LC_CTYPE, LANG) is UTF-8. */
bool clean_locale_is_utf8(void);

#endif
