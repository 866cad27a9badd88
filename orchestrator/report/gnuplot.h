/* gnuplot.h - run gnuplot on scripts, without a shell and with a limit. */
#ifndef JP_REPORT_GNUPLOT_H
#define JP_REPORT_GNUPLOT_H

#include <stddef.h>

#include "common/error.h"
#include <stdio.h>
#include "orchestrator/aggregate/aggregate.h"

#define GNUPLOT_MAX_SCRIPTS 32

/* Runs `gnuplot -d NAME.gp...` in dir on at most GNUPLOT_MAX_SCRIPTS scripts
 * (it reads nothing of the user's start files and no input, and writes nothing
 * but what a script sets). Killed with its children after limit_ms. Pictures
 * that were done before stay. -1: the error says what went wrong, or that
 * gnuplot is not installed. */
int gnuplot_run(const char *dir, const char *const *names, size_t n,
                unsigned limit_ms, struct jp_error *err);

/* Letters, digits and " ._-:" of text stay, anything else becomes '_'; at most
 * size - 1 bytes. Returns buf. */
char *plot_script_name(const char *text, char *buf, size_t size);

/* "NAME ..1a2b" with the end of its id, as names are shared; or the id. */
char *plot_script_comm(const struct jp_comm *comm, char *buf, size_t size);

/* Terminal, output NAME.png, fonts, colours, grid, title. */
void plot_script_begin(FILE *out, const char *name, const char *title,
                       unsigned width, unsigned height);

/* 2 or 10: the base with enough, and not too many, ticks. */
int plot_script_log_base(double least, double most);

/* An empty picture that says why. */
void plot_script_nothing(FILE *out, const char *why);

#endif
