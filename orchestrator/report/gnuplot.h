/* gnuplot.h - run gnuplot on scripts, without a shell and with a limit. */
#ifndef JP_REPORT_GNUPLOT_H
#define JP_REPORT_GNUPLOT_H

#include <stddef.h>

#include "common/error.h"

#define GNUPLOT_MAX_SCRIPTS 32

/* Runs `gnuplot -d <script>...` in dir, at most GNUPLOT_MAX_SCRIPTS (nothing of
 * the user's start files is read; no input, no output but what the script
 * sets). Killed with its children after limit_ms. Pictures that were done
 * before stay. 1: gnuplot is not installed; -1: the error says what went wrong.
 */
int gnuplot_run(const char *dir, const char *const *scripts, size_t n,
                unsigned limit_ms, struct jp_error *err);

#endif
