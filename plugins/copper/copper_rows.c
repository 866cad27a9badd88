/* copper_rows.c - what both formats of path events share. */
#include "plugins/copper/copper_rows.h"

#include <stdlib.h>
#include <string.h>

const char *const copper_category_names[COPPER_N_CATEGORIES] = {
    "metadata", "data", "tree", "metadata_ttl"};

uint64_t copper_row_events(const struct copper_row *row)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < 4; i++)
        if (__builtin_add_overflow(sum, row->count[i], &sum))
            return UINT64_MAX;
    return sum;
}

void copper_rows_top(struct copper_rows *rows, struct copper_stream *stream)
{
    *rows = (struct copper_rows){.stream = stream, .top = true};
}

void copper_rows_table(struct copper_rows *rows, struct copper_stream *stream,
                       enum copper_category category)
{
    *rows = (struct copper_rows){.stream = stream, .category = category};
}

void copper_rows_fini(struct copper_rows *rows)
{
    free(rows->path);
    *rows = (struct copper_rows){0};
}

int copper_rows_append(struct copper_rows *rows, const char *text, size_t len,
                       struct jp_error *err)
{
    size_t need = rows->len + len + 1;

    if (need > COPPER_PATH_MAX)
        return copper_stream_bad(rows->stream, err, "a path over %d bytes",
                                 COPPER_PATH_MAX);
    if (need > rows->size) {
        size_t size = need < 512 ? 1024 : 2 * need;
        char *more = realloc(rows->path, size);

        if (!more)
            return error_set(err, "out of memory");
        rows->path = more;
        rows->size = size;
    }
    if (len)
        memcpy(rows->path + rows->len, text, len);
    rows->len += len;
    rows->path[rows->len] = '\0';
    return 0;
}

int copper_rows_next(struct copper_rows *rows, struct copper_row *row,
                     struct jp_error *err)
{
    int rc;

    if (rows->ended)
        return 0;
    rc = rows->top ? copper_top_next(rows, row, err)
                   : copper_table_next(rows, row, err);
    if (rc > 0 && memchr(row->path, '\0', row->len))
        rc = copper_stream_bad(rows->stream, err, "a NUL in a path");
    rows->ended = rc <= 0;
    rows->rows += rc > 0;
    return rc;
}
