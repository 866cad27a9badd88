/* index_page.h - index.html: the steps of a job with their verdicts. */
#ifndef JP_REPORT_INDEX_PAGE_H
#define JP_REPORT_INDEX_PAGE_H

#include <stdio.h>

#include <jansson.h>

/* Writes the page of a job.json's content; failed writes show in the stream. */
void index_page_write(const json_t *job, FILE *out);

#endif
