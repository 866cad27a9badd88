/* copper_top.c - the rows of top_paths.csv: quoted paths with raw newlines. */
#include <string.h>

#include "plugins/copper/copper_rows.h"

static const char header[] =
    "category,path,total_events,cache_hits,cache_misses,negative_results,"
    "ttl_stores,ttl_serves,ttl_expires,ttl_clears";

static int start(struct copper_rows *rows, struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc = copper_stream_line(rows->stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_heading(text, len, header, &rows->extra))
        return copper_stream_bad(rows->stream, err, "\"%s\" is no heading",
                                 COPPER_SHOW(text, len));
    rows->started = true;
    return 0;
}

/* Takes the quoted path on; *text and *len move behind its closing quote.
 * 1: closed; 0: it goes on in the next line. */
static int take_path(struct copper_rows *rows, const char **text, size_t *len,
                     struct jp_error *err)
{
    while (*len) {
        const char *quote = memchr(*text, '"', *len);
        size_t n = quote ? (size_t) (quote - *text) : *len;

        if (copper_rows_append(rows, *text, n, err) < 0)
            return -1;
        *text += n;
        *len -= n;
        if (!quote)
            break;
        *text += 1;
        *len -= 1;
        if (!*len || **text != '"')
            return 1;
        if (copper_rows_append(rows, "\"", 1, err) < 0)
            return -1;
        *text += 1;
        *len -= 1;
    }
    return 0;
}

/* Reads lines until the path is closed. */
static int whole_path(struct copper_rows *rows, const char **text, size_t *len,
                      struct jp_error *err)
{
    int rc;

    while ((rc = take_path(rows, text, len, err)) == 0) {
        if (rows->stream->cut)
            return copper_stream_bad(rows->stream, err, "cut within a path");
        rc = copper_stream_line(rows->stream, text, len, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return copper_stream_bad(rows->stream, err, "cut within a path");
        if (copper_rows_append(rows, "\n", 1, err) < 0)
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

static bool take_category(const char **text, size_t *len,
                          enum copper_category *category)
{
    const char *field;
    size_t n;

    copper_field(text, len, &field, &n);
    for (unsigned i = 0; i < COPPER_N_CATEGORIES; i++)
        if (copper_is(field, n, copper_category_names[i])) {
            *category = i;
            return *text && *len && **text == '"';
        }
    return false;
}

/* ",total,hits,misses,neg,stores,serves,expires,clears" behind the path. */
static int take_counts(struct copper_rows *rows, const char *text, size_t len,
                       struct copper_row *row, struct jp_error *err)
{
    uint64_t value[8];
    const char *field;
    size_t n, i;

    if (!len || *text != ',')
        return copper_stream_bad(rows->stream, err,
                                 rows->stream->cut ? "cut" : "no counts");
    text++;
    len--;
    for (i = 0; i < 8 && copper_field(&text, &len, &field, &n); i++)
        if (!copper_counter(field, n, &value[i], &row->wrapped))
            return copper_stream_bad(rows->stream, err, "%s count \"%s\"",
                                     rows->stream->cut ? "cut" : "bad",
                                     COPPER_SHOW(field, n));
    for (size_t k = rows->extra; i == 8 && k; k--)
        copper_field(&text, &len, &field, &n);
    if (i < 8 || text || rows->stream->cut)
        return copper_stream_bad(
            rows->stream, err, "%s",
            rows->stream->cut ? "cut" : "not as many values as in the heading");
    memcpy(row->count, row->category == COPPER_TTL ? value + 4 : value + 1,
           sizeof(row->count));
    if (row->category != COPPER_TTL)
        row->count[3] = 0;
    if (!row->wrapped && copper_row_events(row) != value[0])
        return copper_stream_bad(rows->stream, err,
                                 "counts do not add up to the total");
    return 0;
}

int copper_top_next(struct copper_rows *rows, struct copper_row *row,
                    struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc;

    if (!rows->started && start(rows, err) < 0)
        return -1;
    rc = copper_stream_line(rows->stream, &text, &len, err);
    if (rc <= 0)
        return rc;
    rows->len = 0;
    row->wrapped = false;
    if (!take_category(&text, &len, &row->category))
        return copper_stream_bad(rows->stream, err, "%s row",
                                 rows->stream->cut ? "cut" : "bad");
    text++;
    len--;
    if (copper_rows_append(rows, "", 0, err) < 0 ||
        whole_path(rows, &text, &len, err) < 0 ||
        take_counts(rows, text, len, row, err) < 0)
        return -1;
    row->path = rows->path;
    row->len = rows->len;
    return 1;
}
