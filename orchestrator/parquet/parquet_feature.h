/* parquet_feature.h - Parquet as a format of a finished report: of its tables,
 * and of logs like the exporter of NCCL Inspector. */
#ifndef JP_PARQUET_PARQUET_FEATURE_H
#define JP_PARQUET_PARQUET_FEATURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/parquet/parquet.h"

extern const struct feature feature_parquet;

struct parquet_done {
    uint64_t files, rows;
    uint64_t odd; /* time stamps outside of Parquet's range; written as null */
};

/* --- parquet_report.c ----------------------------------------------------- */

/* Converts csv_dir/NAME.csv of every table of a report (report/tables.h) to
 * out_dir/NAME.parquet. Each column keeps its name and has the type in the
 * table's description (parquet.h); an empty cell becomes null. Files of other
 * names are ignored. out_dir is created if there is a table. Returns -1 and err
 * if a file cannot be read or written, or is damaged ("path:line: why"); the
 * files before it are complete. */
int parquet_report(const char *csv_dir, const char *out_dir,
                   enum parquet_codec codec, struct parquet_done *done,
                   struct jp_error *err);
/* Converts one of these files to a stream. Adds to *done. */
int parquet_report_csv(const char *csv, FILE *out, enum parquet_codec codec,
                       struct parquet_done *done, struct jp_error *err);

/* --- parquet_logs.c ------------------------------------------------------- */

/* Writes parquet_files/ like Inspector's exporter. Each log of the inputs
 * becomes dir/<stem>.parquet with one row per record of a collective; column
 * names are those of NCCL Inspector's exporter. Logs with the same name get a
 * number ("rank0~2"). dir is created. Returns -1 if a file cannot be read or
 * written. */
int parquet_logs(const char *const *inputs, size_t n, const char *dir,
                 enum parquet_codec codec, struct parquet_done *done,
                 struct jp_error *err);

#endif
