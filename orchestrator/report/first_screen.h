/* first_screen.h - what a reader sees before he scrolls: the verdict in plain
 * words, its figures, the picture that proves it, causes, the next command.
 */
#ifndef JP_REPORT_FIRST_SCREEN_H
#define JP_REPORT_FIRST_SCREEN_H

#include "orchestrator/report/report.h"

/* What to type next, as the page, the card and summary.txt have it: "." stands
 * for the report's folder where no step is known. Returns buf. */
#define FIRST_SCREEN_COMMAND 160
char *first_screen_command(const struct jp_report *report,
                           char buf[FIRST_SCREEN_COMMAND]);

/* What to check (JP_PLAIN_CHECKS sentences); NULL: the findings say it. */
const char *const *first_screen_checks(const struct jp_report *report);

/* 0, or -1 without memory. */
int first_screen_write(const struct jp_report *report, FILE *out);

#endif
