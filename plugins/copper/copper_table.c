/* copper_table.c - *_cache_event.output: blocks of counters, a path each.
 *
 *     Metdata Cache Events {
 *     /lustre/orion {
 *     cache hits: 127,
 *     cache misses: 0,
 *     neg: 0
 *     }
 *     }
 *
 * Paths are not escaped: one may hold newlines or end in " {". A line opens a
 * block only if the counters' first line follows; else it belongs to the path.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_rows.h"

static const char *const titles[COPPER_N_CATEGORIES] = {
    "Metdata Cache Events {", "Data Cache Events {", "Tree Cache Events {",
    "Metadata ENOENT TTL Events {"};
static const char *const cache_labels[] = {
    "cache hits: ", "cache misses: ", "neg: "};
static const char *const ttl_labels[] = {
    "stores: ", "serves: ", "expires: ", "clears: "};

static int start(struct copper_rows *rows, struct jp_error *err)
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

/* "<label><count>" with a comma unless it is the last. */
static bool take_counter(const char *text, size_t len, const char *label,
                         bool last, uint64_t *value, bool *wrapped)
{
    size_t n = strlen(label);

    if (!copper_begins(text, len, label))
        return false;
    if (!last && (!len || text[--len] != ','))
        return false;
    return len > n && copper_counter(text + n, len - n, value, wrapped);
}

/* Lines of a path until the counters begin; their first goes to *row.
 * 1: so it is; 0: the table's end. */
static int take_path(struct copper_rows *rows, const char *label,
                     struct copper_row *row, struct jp_error *err)
{
    bool open = false, closed = false; /* last line: ends in " {", is "}" */
    const char *text;
    size_t len, lines = 0;
    int rc;

    rows->len = 0;
    while ((rc = copper_stream_line(rows->stream, &text, &len, err)) > 0) {
        if (open && take_counter(text, len, label, false, &row->count[0],
                                 &row->wrapped)) {
            rows->len -= 2;
            rows->path[rows->len] = '\0';
            return 1;
        }
        if ((lines++ && copper_rows_append(rows, "\n", 1, err) < 0) ||
            copper_rows_append(rows, text, len, err) < 0)
            return -1;
        open = len > 2 && !memcmp(text + len - 2, " {", 2);
        closed = copper_is(text, len, "}");
    }
    if (rc < 0)
        return -1;
    /* an ioctl's dump ends in one newline more */
    if (lines == 1 && closed)
        return 0;
    return copper_stream_bad(rows->stream, err,
                             lines ? "cut within a path"
                                   : "cut: the closing brace is missing");
}

int copper_table_next(struct copper_rows *rows, struct copper_row *row,
                      struct jp_error *err)
{
    bool ttl = rows->category == COPPER_TTL;
    const char *const *labels = ttl ? ttl_labels : cache_labels;
    size_t n = ttl ? 4 : 3, len;
    const char *text;
    int rc;

    if (!rows->started && start(rows, err) < 0)
        return -1;
    *row = (struct copper_row){.category = rows->category};
    rc = take_path(rows, labels[0], row, err);
    if (rc <= 0)
        return rc;
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
