/* text_out.h - plain ASCII lines of at most 100 columns. */
#ifndef JP_REPORT_TEXT_OUT_H
#define JP_REPORT_TEXT_OUT_H

#include <stdio.h>

#define JP_TEXT_COLUMNS 100

/* One line; what is longer ends in "...". Blanks at its end are dropped. */
void text_out_line(FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Text broken at blanks; lines after the first start with indent blanks. The
 * first one continues a line of column `at`. */
void text_out_wrap(FILE *out, unsigned at, unsigned indent, const char *text);

#endif
