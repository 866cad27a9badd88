/* copper_html.h - what the tables of Copper's sections have in common. */
#ifndef JP_REPORT_COPPER_HTML_H
#define JP_REPORT_COPPER_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/report/html_out.h"

#define COPPER_HTML_ROWS 200 /* shown at most */

#define COPPER_COLUMNS(columns) (columns), sizeof(columns) / sizeof(*(columns))

/* A section with a heading, a note (NULL: none) and the head of its table. */
void copper_html_begin(FILE *out, const char *title, const char *note,
                       const struct jp_html_column *columns, size_t n);
/* The end of both; n: rows that there are, the rest stands in the file where.
 */
void copper_html_end(FILE *out, size_t columns, size_t n, const char *where);
void copper_html_count(FILE *out, uint64_t n);
void copper_html_duration(FILE *out, double us); /* NaN: "-" */
void copper_html_known(FILE *out, bool is, uint64_t n);

#endif
