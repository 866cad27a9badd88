/* plots.h - the plots: each writes its table and its gnuplot script.
 *
 * Tables are bounded (the heaviest series or ranks) and hold what the picture
 * shows; the full data stands in csv/. Return 0, or -1 when out of memory;
 * failed writes show in the streams.
 */
#ifndef JP_REPORT_PLOTS_H
#define JP_REPORT_PLOTS_H

#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"

/* Bus bandwidth over message size, one line for a type and function: median,
 * and the range from the least to the 95th percentile. */
int plot_busbw_write(const struct jp_result *result, FILE *tsv, FILE *gp);

/* The ranks for which the others waited longest. */
int plot_waits_write(const struct jp_result *result, FILE *tsv, FILE *gp);

/* Mean bus bandwidth over the run, for each communicator and function. */
int plot_windows_write(const struct jp_result *result, FILE *tsv, FILE *gp);

#endif
