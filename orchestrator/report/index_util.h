/* index_util.h - what a job's steps used at most, in job.json and index.html.
 *
 * The record that outlives the samples: of each metric that matters the largest
 * sample of one node, task, GPU or port, the step and the node that had it.
 */
#ifndef JP_REPORT_INDEX_UTIL_H
#define JP_REPORT_INDEX_UTIL_H

#include <stdio.h>

#include <jansson.h>

#include "orchestrator/report/summary_file.h"

/* A step's entry gets "frameworks" {name: versions} and "util" {"gpu.sm": {max,
 * node}, ...} from its summary (NULL: none). */
void index_util_step(struct jp_json *j, json_t *entry, const json_t *summary);

/* The job's own record from the entries: "util" [{scope, metric, unit, max,
 * step, node}], the scopes and metrics of the table. */
void index_util_job(struct jp_json *j, json_t *root, const json_t *steps);

/* The section of index.html; nothing where no step was sampled. */
void index_util_write(const json_t *job, FILE *out);

/* "model gpt, run 7; torch 2.4.0" of a step's entry into buf. Returns buf. */
char *index_util_words(const json_t *entry, char *buf, size_t size);

#endif
