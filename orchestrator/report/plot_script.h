/* plot_script.h - the common parts of gnuplot scripts.
 *
 * A script must not carry foreign text: gnuplot runs `...` in strings as shell
 * commands. Names go through plot_script_name.
 */
#ifndef JP_REPORT_PLOT_SCRIPT_H
#define JP_REPORT_PLOT_SCRIPT_H

#include <stddef.h>
#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"

/* Letters, digits and " ._-:" of text stay, anything else becomes '_'; at most
 * size - 1 bytes. Returns buf. */
char *plot_script_name(const char *text, char *buf, size_t size);

/* "NAME ..1a2b" with the end of its id, as names are shared; or the id. */
char *plot_script_comm(const struct jp_comm *comm, char *buf, size_t size);

/* Terminal, output NAME.png, fonts, colours, grid, title. */
void plot_script_begin(FILE *out, const char *name, const char *title);

/* The same in another size (1200 x 720 is the usual one). */
void plot_script_begin_sized(FILE *out, const char *name, const char *title,
                             unsigned width, unsigned height);

/* 2 or 10: the base with enough, and not too many, ticks. */
int plot_script_log_base(double least, double most);

/* An empty picture that says why. */
void plot_script_nothing(FILE *out, const char *why);

#endif
