/* parquet_feature.c - Parquet as a feature: a format that a report's tables
 * also have, and `jobprof export parquet`. */
#include "orchestrator/parquet/parquet_feature.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

static int export_step(const char *step, const struct feature_export *how,
                       struct feature_exported *done, struct jp_error *err)
{
    enum parquet_codec codec = parquet_codec_best();
    struct parquet_done sum = {0};
    char *csv = text_format("%s/csv", step);
    /* beside csv/ by default */
    char *out = how->output ? strdup(how->output)
                            : text_format("%s/parquet", step);
    int rc = -1;

    if (!csv || !out)
        error_set(err, "out of memory");
    else if (how->compression &&
             parquet_codec_find(how->compression, &codec) < 0)
        error_set(err, "no such compression");
    else
        rc = parquet_report(csv, out, codec, &sum, err);
    done->files += sum.files;
    done->lost += sum.odd;
    free(csv);
    free(out);
    return rc;
}

static int write_tables(const char *dir, struct jp_error *err)
{
    const struct feature_export how = {.output = NULL};
    struct feature_exported done = {0};

    return export_step(dir, &how, &done, err);
}

static int write_logs(const char *const *inputs, size_t n, const char *dir,
                      struct jp_error *err)
{
    char *path = text_format("%s/parquet_files", dir);
    struct parquet_done done = {0};
    /* the best codec that jobprof was built with */
    int rc =
        path ? parquet_logs(inputs, n, path, parquet_codec_best(), &done, err)
             : error_set(err, "out of memory");

    free(path);
    return rc;
}

static bool has_compression(const char *word)
{
    enum parquet_codec codec;

    return parquet_codec_find(word, &codec) == 0;
}

static const struct feature_format format = {
    .option = "also write parquet/, the tables of csv/ as Apache Parquet",
    .write = write_tables,
    .write_logs = write_logs,
    .about = "csv/*.csv of a step's report, or of all steps of a job, as "
             "Apache Parquet: parquet/NAME.parquet beside csv/",
    .output = "a folder, for one step",
    .compressions = "zstd|gzip|none",
    .compression = "the compression (zstd if jobprof was built with it, else "
                   "gzip)",
    .bad_compression = "--compression must be zstd (if jobprof was built with "
                       "it), gzip or none",
    .has_compression = has_compression,
    .export_step = export_step,
    .sheet = &parquet_sheet,
    .lost = "times are too large for Parquet and became null",
};

const struct feature feature_parquet = {
    .name = "parquet",
    .title = "Parquet",
    .role = FEATURE_FORMAT,
    .format = &format,
};
