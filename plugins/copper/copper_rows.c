/* copper_rows.c - events of paths, from Copper's two formats: blocks of
 * counters in tables, and rows of top_paths.csv.
 *
 * Paths may contain anything, even newlines, quotes and text that looks like a
 * counter. So a path in a table ends where a line " {" is followed by the first
 * counter, and a path of top_paths.csv at its closing quote. table_next and
 * top_next read the two formats. */
#include "plugins/copper/copper_counts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"

/* First lines of the tables; "Metdata" is Copper's spelling. */
static const char *const titles[COPPER_N_CATEGORIES] = {
    "Metdata Cache Events {", "Data Cache Events {", "Tree Cache Events {",
    "Metadata ENOENT TTL Events {"};
static const char *const cache_labels[] = {
    "cache hits: ", "cache misses: ", "neg: "};
static const char *const ttl_labels[] = {
    "stores: ", "serves: ", "expires: ", "clears: "};

/* The first line must be the title of the category's table. */
static int read_title(struct copper_rows *rows, struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc = copper_stream_line(rows->stream, &text, &len, err);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "empty");
    if (!copper_is(text, len, titles[rows->category]))
        return copper_stream_bad(rows->stream, err, "\"%s\" is not \"%s\"",
                                 COPPER_SHOW(text, len),
                                 titles[rows->category]);
    rows->started = true;
    return 0;
}

/* "<label><count>", with a comma unless it is the last one. */
static bool take_counter(const char *text, size_t len, const char *label,
                         bool last, uint64_t *value, bool *wrapped)
{
    size_t n = strlen(label);

    if (!copper_begins(text, len, label))
        return false;
    /* without the comma, the line was cut or belongs to a path */
    if (!last && (!len || text[--len] != ','))
        return false;
    return len > n && copper_counter(text + n, len - n, value, wrapped);
}

/* Appends to rows->path. Returns -1 if the path becomes too long, or without
 * memory. */
static int rows_append(struct copper_rows *rows, const char *text, size_t len,
                       struct jp_error *err)
{
    size_t need = rows->len + len + 1;

    if (need > COPPER_PATH_MAX)
        return copper_stream_bad(rows->stream, err, "a path over %d bytes",
                                 COPPER_PATH_MAX);
    if (VECTOR_ROOM(rows->path, need, rows->size) < 0)
        return error_set(err, "out of memory");
    if (len)
        memcpy(rows->path + rows->len, text, len);
    rows->len += len;
    rows->path[rows->len] = '\0';
    return 0;
}

/* Reads the lines of a path until its counters begin; the first counter goes to
 * *row. Returns 1 for a path, 0 at the end of the table. */
static int take_path(struct copper_rows *rows, const char *label,
                     struct copper_row *row, struct jp_error *err)
{
    bool open = false, closed = false; /* the last line ends in " {"; is "}" */
    const char *text;
    size_t len, lines = 0;
    int rc;

    rows->len = 0;
    while ((rc = copper_stream_line(rows->stream, &text, &len, err)) > 0) {
        if (open && take_counter(text, len, label, false, &row->count[0],
                                 &row->wrapped)) {
            /* without " {" */
            rows->len -= 2;
            rows->path[rows->len] = '\0';
            return 1;
        }
        /* not a counter: the line belongs to the path */
        if ((lines++ && rows_append(rows, "\n", 1, err) < 0) ||
            rows_append(rows, text, len, err) < 0)
            return -1;
        open = len > 2 && !memcmp(text + len - 2, " {", 2);
        closed = copper_is(text, len, "}");
    }
    if (rc < 0)
        return -1;
    /* the dump of an ioctl ends in one more newline */
    if (lines == 1 && closed)
        return 0;
    return copper_stream_bad(rows->stream, err,
                             lines ? "cut within a path"
                                   : "cut: the closing brace is missing");
}

/* Reads a block: the path, its counters, a closing brace. */
static int table_next(struct copper_rows *rows, struct copper_row *row,
                      struct jp_error *err)
{
    bool ttl = rows->category == COPPER_TTL;
    const char *const *labels = ttl ? ttl_labels : cache_labels;
    size_t n = ttl ? 4 : 3, len;
    const char *text;
    int rc;

    if (!rows->started && read_title(rows, err) < 0)
        return -1;
    *row =
        (struct copper_row){.category = (enum copper_category) rows->category};
    rc = take_path(rows, labels[0], row, err);
    if (rc <= 0)
        return rc;
    /* the counters after the first, then the brace */
    for (size_t i = 1; i <= n; i++) {
        rc = copper_stream_line(rows->stream, &text, &len, err);
        if (rc < 0)
            return -1;
        if (rc == 0 || rows->stream->cut)
            return copper_stream_bad(rows->stream, err, "cut within a block");
        if (i < n ? !take_counter(text, len, labels[i], i + 1 == n,
                                  &row->count[i], &row->wrapped)
                  : !copper_is(text, len, "}"))
            return copper_stream_bad(rows->stream, err, "bad line \"%s\"",
                                     COPPER_SHOW(text, len));
    }
    row->path = rows->path;
    row->len = rows->len;
    return 1;
}

bool copper_table_is_whole(const char *path)
{
    int fd = fileio_open_regular(path, false, NULL);
    char tail[4] = "";
    ssize_t n = 0;
    off_t size;

    if (fd < 0)
        return false;
    /* the last bytes are those of a block and of the table: "}\n}", or "{\n}"
     * if it is empty */
    size = lseek(fd, 0, SEEK_END);
    if (size > 0)
        n = pread(fd, tail, sizeof(tail),
                  size < (off_t) sizeof(tail) ? 0
                                              : size - (off_t) sizeof(tail));
    close(fd);
    if (n > 0 && tail[n - 1] == '\n')
        n--;
    return n >= 3 && tail[n - 1] == '}' && tail[n - 2] == '\n' &&
           (tail[n - 3] == '}' || tail[n - 3] == '{');
}

/* --- the rows of top_paths.csv: quoted paths with raw newlines --- */

static const char header[] =
    "category,path,total_events,cache_hits,cache_misses,negative_results,"
    "ttl_stores,ttl_serves,ttl_expires,ttl_clears";

/* The first line must be the heading of top_paths.csv. */
static int start_row(struct copper_rows *rows, struct jp_error *err)
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

/* Takes a part of a quoted path, in which quotes are doubled; *text and *len
 * move past the closing quote. Returns 1 if the path is complete, 0 if it
 * continues in the next line. */
static int take_row_path(struct copper_rows *rows, const char **text,
                         size_t *len, struct jp_error *err)
{
    while (*len) {
        const char *quote = memchr(*text, '"', *len);
        size_t n = quote ? (size_t) (quote - *text) : *len;

        if (rows_append(rows, *text, n, err) < 0)
            return -1;
        *text += n;
        *len -= n;
        if (!quote)
            break;
        /* a doubled quote stands for one, a single one ends the path */
        *text += 1;
        *len -= 1;
        if (!*len || **text != '"')
            return 1;
        if (rows_append(rows, "\"", 1, err) < 0)
            return -1;
        *text += 1;
        *len -= 1;
    }
    return 0;
}

/* Reads lines until the path's closing quote. */
static int whole_path(struct copper_rows *rows, const char **text, size_t *len,
                      struct jp_error *err)
{
    int rc;

    while ((rc = take_row_path(rows, text, len, err)) == 0) {
        if (rows->stream->cut)
            return copper_stream_bad(rows->stream, err, "cut within a path");
        rc = copper_stream_line(rows->stream, text, len, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return copper_stream_bad(rows->stream, err, "cut within a path");
        if (rows_append(rows, "\n", 1, err) < 0)
            return -1;
    }
    return rc < 0 ? -1 : 0;
}

/* The first field. After it, a quote must begin the path. */
static bool take_category(const char **text, size_t *len,
                          enum copper_category *category)
{
    const char *field;
    size_t n;

    copper_field(text, len, &field, &n);
    for (unsigned i = 0; i < COPPER_N_CATEGORIES; i++)
        if (copper_is(field, n, copper_category_names[i])) {
            *category = i;
            /* paths are always quoted */
            return *text && *len && **text == '"';
        }
    return false;
}

/* ",total,hits,misses,negatives,stores,serves,expires,clears" after the path.
 * The row is refused if its counts do not add up to the total. */
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
    /* skip the columns of a later Copper */
    for (size_t k = rows->extra; i == 8 && k; k--)
        copper_field(&text, &len, &field, &n);
    if (i < 8 || text || rows->stream->cut)
        return copper_stream_bad(
            rows->stream, err, "%s",
            rows->stream->cut ? "cut" : "not as many values as in the heading");
    /* a path of the TTL has the last four figures, others the three before */
    memcpy(row->count, row->category == COPPER_TTL ? value + 4 : value + 1,
           sizeof(row->count));
    if (row->category != COPPER_TTL)
        row->count[3] = 0;
    if (!row->wrapped && copper_row_events(row) != value[0])
        return copper_stream_bad(rows->stream, err,
                                 "counts do not add up to the total");
    return 0;
}

/* Reads a row of top_paths.csv. */
static int top_next(struct copper_rows *rows, struct copper_row *row,
                    struct jp_error *err)
{
    const char *text;
    size_t len;
    int rc;

    if (!rows->started && start_row(rows, err) < 0)
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
    if (rows_append(rows, "", 0, err) < 0 ||
        whole_path(rows, &text, &len, err) < 0 ||
        take_counts(rows, text, len, row, err) < 0)
        return -1;
    row->path = rows->path;
    row->len = rows->len;
    return 1;
}

/* --- what both formats of path events share --- */

const char *const copper_category_names[COPPER_N_CATEGORIES] = {
    "metadata", "data", "tree", "metadata_ttl"};

uint64_t copper_row_events(const struct copper_row *row)
{
    uint64_t sum = 0;

    /* a sum beyond 64 bits stays at the maximum */
    for (size_t i = 0; i < 4; i++)
        if (__builtin_add_overflow(sum, row->count[i], &sum))
            return UINT64_MAX;
    return sum;
}

void copper_rows_init(struct copper_rows *rows, struct copper_stream *stream,
                      int category)
{
    *rows = (struct copper_rows){.stream = stream, .category = category};
}

void copper_rows_fini(struct copper_rows *rows)
{
    free(rows->path);
    *rows = (struct copper_rows){0};
}

int copper_rows_next(struct copper_rows *rows, struct copper_row *row,
                     struct jp_error *err)
{
    int rc;

    if (rows->ended)
        return 0;
    rc = rows->category == COPPER_TOP_PATHS ? top_next(rows, row, err)
                                            : table_next(rows, row, err);
    /* a path is used as a C string later */
    if (rc > 0 && memchr(row->path, '\0', row->len))
        rc = copper_stream_bad(rows->stream, err, "a NUL in a path");
    rows->ended = rc <= 0;
    rows->rows += rc > 0;
    return rc;
}
