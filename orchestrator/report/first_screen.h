/* first_screen.h - what a reader sees before he scrolls: the verdict in plain
 * words, its figures, the picture that proves it, causes, the next command.
 */
#ifndef JP_REPORT_FIRST_SCREEN_H
#define JP_REPORT_FIRST_SCREEN_H

#include "orchestrator/report/report.h"

/* 0, or -1 without memory. */
int first_screen_write(const struct jp_report *report, FILE *out);

#endif
