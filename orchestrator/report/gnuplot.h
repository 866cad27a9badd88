/* gnuplot.h - run gnuplot on scripts, without a shell and with a time limit. */
#ifndef JP_REPORT_GNUPLOT_H
#define JP_REPORT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

#define GNUPLOT_MAX_SCRIPTS 32

/* Runs `gnuplot -d NAME.gp...` in dir, on at most GNUPLOT_MAX_SCRIPTS scripts.
 * gnuplot does not read the user's start files or any input, and writes only
 * the files that a script names. After limit_ms, it is killed with its
 * children; pictures finished before stay. dir must be the caller's, and nobody
 * else may be able to write to it. Returns 0, or -1 and an error if
 * something went wrong or gnuplot is not installed. */
int gnuplot_run(const char *dir, const char *const *names, size_t n,
                unsigned limit_ms, struct jp_error *err);

/* Removes dir/name.suffix: a picture that gnuplot left unfinished or that
 * belongs to older data, or a script. Scripts may run programs, so only scripts
 * written now are drawn. */
void gnuplot_remove(const char *dir, const char *name, const char *suffix);

/* Copies text for use in a script. Letters, digits and " ._-:" stay; any other
 * character becomes '_'. Writes at most size - 1 bytes. Returns buf. */
char *plot_script_name(const char *text, char *buf, size_t size);

/* Writes the commands for terminal, output file NAME.png, fonts, colours, grid
 * and title. */
void plot_script_begin(FILE *out, const char *name, const char *title,
                       unsigned width, unsigned height);

/* Draws an empty picture with the reason in it. */
void plot_script_nothing(FILE *out, const char *why);

#endif
