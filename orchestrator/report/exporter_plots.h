/* exporter_plots.h - the exporter's four kinds of pictures, as gnuplot scripts.
 *
 * A script carries its data and is to be run in the summary folder; name is the
 * picture's path from there without ".png". Pictures are bounded: a scatter
 * plot draws at most EXPORTER_MAX_POINTS, per slice of operations the lowest
 * and the highest, so that no outlier is lost; a box plot at most 2,000
 * outliers.
 */
#ifndef JP_REPORT_EXPORTER_PLOTS_H
#define JP_REPORT_EXPORTER_PLOTS_H

#include <stdio.h>

#include "orchestrator/report/exporter_table.h"

#define EXPORTER_MAX_POINTS 60000
#define EXPORTER_MAX_PANELS 48 /* of a combined plot, 500 pixels each */

/* Bandwidth over sequence number, a colour a size; the kept ones of the series
 * from..to (cells). */
void exporter_scatter(const struct exporter_table *table, size_t from,
                      size_t to, const char *name, FILE *gp);

/* The same, a panel a size, at most three in a row; of more than
 * EXPORTER_MAX_PANELS sizes those of most time. */
void exporter_combined(const struct exporter_table *table, size_t from,
                       size_t to, const char *name, FILE *gp);

/* How often which bandwidth. At least 20 bins, as the exporter's one a GB/s
 * hides everything in slow operations; at most 50. */
void exporter_histogram(const struct exporter_table *table,
                        const struct exporter_cell *cell, const char *name,
                        FILE *gp);

/* Quartiles, whiskers to the last value within 1.5 times their distance,
 * outliers, least, median and greatest in words. -1: out of memory. */
int exporter_boxplot(const struct exporter_table *table,
                     const struct exporter_cell *cell, const char *name,
                     FILE *gp);

/* "mixed, AllReduce" in a title; buf of EXPORTER_TITLE bytes. */
#define EXPORTER_TITLE 160

#endif
