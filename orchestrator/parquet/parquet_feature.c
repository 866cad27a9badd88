/* parquet_feature.c - Parquet as a feature: a format that a report's tables
 * also have, and `jobprof export parquet`. */
#include "orchestrator/parquet/parquet_feature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

/* --- a table of any room, row by row (struct feature_sheet) --------------- */

_Static_assert((int) FEATURE_COLUMNS_MAX <= (int) PARQUET_COLUMNS,
               "a group has room for all columns");

struct sheet {
    struct parquet_column columns[FEATURE_COLUMNS_MAX];
    enum feature_cell kinds[FEATURE_COLUMNS_MAX];
    size_t n;
    struct parquet_group *group;
    struct parquet_file *file;
};

static const enum parquet_type types[] = {
    [FEATURE_TEXT] = PARQUET_TEXT,   [FEATURE_BOOL] = PARQUET_BOOL,
    [FEATURE_COUNT] = PARQUET_COUNT, [FEATURE_CLOCK] = PARQUET_CLOCK,
    [FEATURE_REAL] = PARQUET_REAL,
};

static void destroy(void *sheet)
{
    struct sheet *s = sheet;

    if (!s)
        return;
    parquet_destroy(s->file);
    parquet_group_destroy(s->group);
    free(s);
}

static void *create(FILE *out, const char *table,
                    const struct feature_column *columns, size_t n,
                    struct jp_error *err)
{
    struct sheet *s = calloc(1, sizeof(*s));

    if (!s) {
        error_set(err, "out of memory");
        return NULL;
    }
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->kinds[i] = columns[i].kind;
        s->columns[i] =
            (struct parquet_column){columns[i].name, types[columns[i].kind]};
    }
    s->group = parquet_group_create(s->columns, n, parquet_codec_best());
    if (s->group)
        s->file = parquet_create(out, table, s->columns, n, err);
    else
        error_set(err, "out of memory");
    if (!s->file) {
        destroy(s);
        return NULL;
    }
    return s;
}

/* Writes the rows collected so far. */
static int flush_group(struct sheet *s, struct jp_error *err)
{
    return parquet_group_encode(s->group, err) < 0
               ? -1
               : parquet_append(s->file, s->group, err);
}

static int add_row(void *sheet, const struct feature_value *row,
                   struct jp_error *err)
{
    struct sheet *s = sheet;

    for (size_t i = 0; i < s->n; i++) {
        if (!row[i].known)
            parquet_put_null(s->group, i);
        else if (s->kinds[i] == FEATURE_TEXT)
            parquet_put_text(s->group, i, row[i].text, strlen(row[i].text));
        else if (s->kinds[i] == FEATURE_REAL)
            parquet_put_real(s->group, i, row[i].real);
        else if (s->kinds[i] == FEATURE_BOOL)
            parquet_put_bool(s->group, i, row[i].number);
        else
            parquet_put_number(s->group, i, row[i].number);
    }
    parquet_group_end_row(s->group);
    /* memory is bounded by one group of rows */
    return parquet_group_full(s->group) ? flush_group(s, err) : 0;
}

static int finish(void *sheet, struct jp_error *err)
{
    struct sheet *s = sheet;

    /* the last group is not full */
    return flush_group(s, err) < 0 ? -1 : parquet_finish(s->file, err);
}

static const struct feature_sheet sheet_of_rows = {
    .create = create, .add = add_row, .finish = finish, .destroy = destroy};

/* --- the format ------------------------------------------------------------
 */

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
    .sheet = &sheet_of_rows,
    .lost = "times are too large for Parquet and became null",
};

const struct feature feature_parquet = {
    .name = "parquet",
    .title = "Parquet",
    .role = FEATURE_FORMAT,
    .format = &format,
};
