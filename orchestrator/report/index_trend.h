/* index_trend.h - how the steps of a job compare. */
#ifndef JP_REPORT_INDEX_TREND_H
#define JP_REPORT_INDEX_TREND_H

#include <stdio.h>

#include <jansson.h>

/* The section over a job.json's steps; nothing for fewer than two of them.
 * Bandwidths are of kinds (type, function, size) that several steps have, those
 * of most time. */
void index_trend_write(const json_t *steps, FILE *out);

#endif
