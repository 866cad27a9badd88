/* exporter_files.h - the texts of the exporter's tree. */
#ifndef JP_REPORT_EXPORTER_FILES_H
#define JP_REPORT_EXPORTER_FILES_H

#include <stdio.h>

#include "orchestrator/report/exporter.h"
#include "orchestrator/report/exporter_table.h"

/* summary_TYPE_COLL_BYTES.csv: one row an operation, in the exporter's columns.
 * n_ranks and nnodes are lists, as numpy prints them ("[8]"; at most 16
 * values, then "..."). */
void exporter_csv(const struct exporter_table *table,
                  const struct exporter_cell *cell, FILE *out);

/* output.log begins: files, records, what was odd about them, time range. Lines
 * are "2026-11-21 11:02:03,123 - INFO - text", in local time. */
void exporter_log_begin(const struct exporter_table *table, FILE *out);

/* It ends: each file's count, sizes left out, pictures. */
void exporter_log_end(const struct exporter_table *table,
                      const struct jp_exporter_done *done, FILE *out);

/* One line; level is INFO, WARNING or ERROR. */
void exporter_log(FILE *out, const char *level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
