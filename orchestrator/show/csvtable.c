/* csvtable.c - split CSV into fields, and find columns by name.
 *
 * The whole reader is read_record: it adds lines (common/lines.h) to one record
 * in memory, and splits it (table/csv_in.h). The files are foreign input: every
 * limit is an error with the line's number. */
#include "orchestrator/show/csvtable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/table/csv_in.h"

/* Sets err to PATH:LINE: WHAT. Returns -1. */
static int damaged(const struct jp_csvtable *t, struct jp_error *err,
                   const char *what)
{
    return error_set(err, "%s:%" PRIu64 ": %s", t->path, lines_number(t->lines),
                     what);
}

/* Returns the character, or '?' for a control character, which could harm a
 * terminal or JSON. */
static char harmless(int c)
{
    return (unsigned) c < 0x20 || c == 0x7f ? '?' : (char) c;
}

/* Appends a line to the record. Returns false if it is too long. */
static bool add_line(struct jp_csvtable *t, const char *line, size_t len,
                     size_t *used)
{
    if (len >= CSVTABLE_MAX - *used)
        return false;
    for (size_t i = 0; i < len; i++)
        t->bytes[(*used)++] = harmless((unsigned char) line[i]);
    return true;
}

/* Splits the record from *at on, up to a cell whose quotes are still open, and
 * terminates each cell. *at: where the next cell begins; NULL after the last
 * one. Returns NULL, or what is wrong. */
static const char *split_record(struct jp_csvtable *t, const char **at,
                                const char *end)
{
    while (*at) {
        char *from = t->bytes + (*at - t->bytes);
        struct csv_cell cell;
        enum csv_in in = csv_in_cell(at, end, t->cell, &cell);

        if (in == CSV_IN_OPEN)
            return NULL;
        if (in == CSV_IN_BAD)
            return "not CSV";
        if (t->n_fields == CSVTABLE_FIELDS)
            return "too many columns";
        /* without its quotes it is shorter */
        if (cell.at == t->cell)
            memcpy(from, t->cell, cell.n);
        from[cell.n] = '\0';
        t->fields[t->n_fields++] = from;
    }
    return NULL;
}

/* Reads one record into bytes and fields, which point into bytes. It has
 * several lines if a line ends within quotes. Returns 1; 0 at the end; -1 and
 * err for damage. */
static int read_record(struct jp_csvtable *t, struct jp_error *err)
{
    const char *wrong = NULL, *at = t->bytes;
    size_t used = 0, len;
    bool open = false;
    char *line;

    t->n_fields = 0;
    do {
        int rc = lines_next(t->lines, &line, &len, err);

        if (rc < 0)
            return -1;
        if (rc == 0)
            return open ? damaged(t, err, "a quote has no end") : 0;
        /* the line break before this line is a part of the field */
        if ((open && !add_line(t, "\n", 1, &used)) ||
            !add_line(t, line, len, &used))
            wrong = "row too long";
        else
            wrong = split_record(t, &at, t->bytes + used);
        if (wrong)
            return damaged(t, err, wrong);
        open = at != NULL;
        /* a complete file ends with a line break, so this one was cut */
        if (lines_is_cut(t->lines))
            return damaged(t, err,
                           open ? "a quote has no end" : "truncated row");
    } while (open);
    return 1;
}

/* Reads the heading and finds the requested columns. Returns -1 and err if one
 * is missing. */
static int find_columns(struct jp_csvtable *t, const char *const *columns,
                        size_t n, struct jp_error *err)
{
    int rc = read_record(t, err);

    if (rc <= 0)
        return rc < 0 ? -1 : error_set(err, "%s: empty", t->path);
    t->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        for (t->at[i] = 0; t->at[i] < t->n_fields; t->at[i]++)
            if (!strcmp(t->fields[t->at[i]], columns[i]))
                break;
        if (t->at[i] == t->n_fields) {
            error_set(err, "%s: no column \"%s\"", t->path, columns[i]);
            errno = ENODATA;
            return -1;
        }
    }
    return 0;
}

/* Starts to read; closes the table on failure. */
static int begin_table(struct jp_csvtable *t, const char *const *columns,
                       size_t n, struct jp_error *err)
{
    int saved;

    t->bytes = malloc(CSVTABLE_MAX);
    t->cell = malloc(CSVTABLE_MAX);
    if (!t->bytes || !t->cell)
        error_set(err, "out of memory");
    else if (find_columns(t, columns, n, err) == 0)
        return 0;
    saved = errno;
    csvtable_close(t);
    errno = saved;
    return -1;
}

int csvtable_open(struct jp_csvtable *t, const char *path,
                  const char *const *columns, size_t n, struct jp_error *err)
{
    *t = (struct jp_csvtable){
        .path = path,
        .lines = lines_open(path, &lines_limits[LINES_TABLE], err)};
    return t->lines ? begin_table(t, columns, n, err) : -1;
}

int csvtable_open_bytes(struct jp_csvtable *t, const void *bytes, size_t n,
                        const char *const *columns, size_t n_columns,
                        struct jp_error *err)
{
    *t = (struct jp_csvtable){
        .path = "bytes",
        .lines = lines_open_memory(bytes, n, "bytes",
                                   &lines_limits[LINES_TABLE], err)};
    return t->lines ? begin_table(t, columns, n_columns, err) : -1;
}

void csvtable_close(struct jp_csvtable *t)
{
    lines_close(t->lines);
    free(t->bytes);
    free(t->cell);
    *t = (struct jp_csvtable){0};
}

int csvtable_next(struct jp_csvtable *t, const char *values[],
                  struct jp_error *err)
{
    int rc = read_record(t, err);

    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < t->n_columns; i++) {
        /* a row may be shorter than the heading */
        if (t->at[i] >= t->n_fields)
            return damaged(t, err, "a column is missing");
        values[i] = t->fields[t->at[i]];
    }
    return 1;
}
