/* index_util.h - peak utilisation of a job's steps, in job.json and index.html.
 *
 * This record outlives the samples. For each important metric it holds the
 * largest sample of any node, task, GPU or port, with its step and node.
 */
#ifndef JP_REPORT_INDEX_UTIL_H
#define JP_REPORT_INDEX_UTIL_H

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/report/summary_file.h"

/* Adds "frameworks" {name: versions} and "util" {"gpu.sm": {max, node}, ...} to
 * a step's entry, from the step's summary (NULL: none). */
void index_util_step(struct jp_json *j, json_t *entry, const json_t *summary);

/* Adds the record of the job, computed from the steps' entries: "util" [{scope,
 * metric, unit, max, step, node}]. Scopes and metrics are those of the table.
 */
void index_util_job(struct jp_json *j, json_t *root, const json_t *steps);

/* Writes the section of index.html; nothing if no step was sampled. */
void index_util_write(const json_t *job, FILE *out);

/* Formats a step's entry into buf: "model gpt, run 7; torch 2.4.0". Returns
 * buf. */
char *index_util_words(const json_t *entry, char *buf, size_t size);

/* Compare the steps of a job. */

/* Writes the section on the steps in job.json; nothing for fewer than two
 * steps. It shows bandwidths by kind (type, function, size). Only kinds of
 * several steps count; of these, the ones of most time are shown. */
void index_trend_write(const json_t *steps, FILE *out);

#endif
