/* report_copper.h - Copper's part of each thing that a report consists of.
 *
 * copper may be NULL: nothing is written then, and summary.json's copper is an
 * empty object. Streams' failures show in the streams.
 */
#ifndef JP_REPORT_REPORT_COPPER_H
#define JP_REPORT_REPORT_COPPER_H

#include <stdio.h>

#include "common/error.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/report/csv_out.h"
#include "common/json_stream.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/table.h"

/* summary.json's copper{}, and its findings: members of an open array. */
void report_copper_json(struct jp_json_stream *s, const char *key,
                        const struct jp_report *report);
void report_copper_findings(struct jp_json_stream *s,
                            const struct jp_copper *copper);

/* 0, or -1 when out of memory. */
int report_copper_text(const struct jp_report *report, FILE *out);

/* The rows of csv/copper_totals.csv; 0. */
int report_copper_totals(struct jp_csv *csv, const struct jp_report *report,
                         const struct jp_table *table);

/* <dir>/copper_paths/: the lists of Copper's path usage tool under its names,
 * a path a line, where observed paths were compared with the file system. */
int report_copper_lists(const struct jp_copper *copper, const char *dir,
                        struct jp_error *err);

#endif
