/* index_page.h - index.html of a job, and the peak utilisation of its steps.
 *
 * The record of utilisation is kept in job.json and outlives the samples. For
 * each important metric it holds the largest sample of any node, task, GPU or
 * port, with its step and node.
 */
#ifndef JP_REPORT_INDEX_PAGE_H
#define JP_REPORT_INDEX_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/report/summary_file.h"

/* Adds "frameworks" {name: versions} and "util" {"gpu.sm": {max, node}, ...} to
 * a step's entry, from the step's summary. */
void index_page_step(struct jp_json *j, json_t *entry,
                     const struct summary_file *summary);

/* Adds the record of the job, computed from the steps' entries: "util" [{scope,
 * metric, unit, max, step, node}]. Scopes and metrics are those of the table.
 */
void index_page_job(struct jp_json *j, json_t *root, const json_t *steps);

/* Writes index.html from the content of a job.json. Returns 0, or -1 without
 * memory. Failed writes show in the stream. */
int index_page_write(const json_t *job, FILE *out);

/* The sentence of an entry of job.json for readers. Borrowed. */
const char *index_page_sentence(const json_t *entry);

/* The worst of the steps of job.json; of equally bad ones the latest. NULL:
 * none, or no memory. */
const json_t *index_page_worst(const json_t *steps);

#endif
