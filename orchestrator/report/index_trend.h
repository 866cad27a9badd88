/* index_trend.h - compare the steps of a job. */
#ifndef JP_REPORT_INDEX_TREND_H
#define JP_REPORT_INDEX_TREND_H

#include <stdio.h>

#include <jansson.h>

/* Writes the section on the steps in job.json; nothing for fewer than two
 * steps. It shows bandwidths by kind (type, function, size). Only kinds of
 * several steps count; of these, the ones of most time are shown. */
void index_trend_write(const json_t *steps, FILE *out);

#endif
