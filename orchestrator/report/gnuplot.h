/* gnuplot.h - run gnuplot on one script, without a shell and with a limit. */
#ifndef JP_REPORT_GNUPLOT_H
#define JP_REPORT_GNUPLOT_H

#include "common/error.h"

/* Runs `gnuplot -d <script>` in dir (nothing of the user's start files is
 * read; no input, no output but what the script sets). Killed with its children
 * after limit_ms. 1: gnuplot is not installed; -1: the error says what went
 * wrong. */
int gnuplot_run(const char *dir, const char *script, unsigned limit_ms,
                struct jp_error *err);

#endif
