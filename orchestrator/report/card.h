/* card.h - a summary in at most 12 lines of 80 to 100 columns. */
#ifndef JP_REPORT_CARD_H
#define JP_REPORT_CARD_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#define JP_CARD_MIN_COLUMNS 80
#define JP_CARD_MAX_COLUMNS 100
#define JP_CARD_MAX_LINES 12

/* Prints a checked summary (summary_file_read). Only the path of the report may
 * make a line longer than columns, which are brought between these limits.
 * colour: the verdict's word is coloured. */
void card_print(const json_t *root, const char *step_dir, bool colour,
                unsigned columns, FILE *out);

#endif
