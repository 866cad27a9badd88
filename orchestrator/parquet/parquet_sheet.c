/* parquet_sheet.c - a table of any room, row by row (struct feature_sheet). */
#include "orchestrator/parquet/parquet_feature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

const struct feature_sheet parquet_sheet = {
    .create = create, .add = add_row, .finish = finish, .destroy = destroy};
