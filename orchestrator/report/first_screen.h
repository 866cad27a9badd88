/* first_screen.h - what a reader sees before scrolling: the verdict in plain
 * words, its figures, the picture that proves it, causes, the next command. */
#ifndef JP_REPORT_FIRST_SCREEN_H
#define JP_REPORT_FIRST_SCREEN_H

#include "orchestrator/report/report.h"

/* The command to type next, for the page, the card and summary.txt. Uses "."
 * for the report's folder if no step is known. Returns buf. */
#define FIRST_SCREEN_COMMAND 160
char *first_screen_command(const struct jp_report *report,
                           char buf[FIRST_SCREEN_COMMAND]);

/* What to check, as JP_PLAIN_CHECKS sentences; NULL if the findings already say
 * it. */
const char *const *first_screen_checks(const struct jp_report *report);

/* Returns 0, or -1 when out of memory. */
int first_screen_write(const struct jp_report *report, FILE *out);

#endif
