/* csvtable.c - split CSV into fields, and find columns by name.
 *
 * The whole reader is read_record: a state machine over bytes, with one record
 * in memory. The files are foreign input: every limit is an error with the
 * line's number. */
#include "orchestrator/show/csvtable.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

/* Sets err to PATH:LINE: WHAT. Returns -1. */
static int damaged(const struct jp_csvtable *t, struct jp_error *err,
                   const char *what)
{
    return error_set(err, "%s:%" PRIu64 ": %s", t->path, t->line, what);
}

/* Returns the character, or '?' for a control character, which could harm a
 * terminal or JSON. */
static char harmless(int c)
{
    return (unsigned) c < 0x20 || c == 0x7f ? '?' : (char) c;
}

/* Reads one record into bytes and fields, which point into bytes. Returns 1; 0
 * at the end; -1 and err for damage. */
static int read_record(struct jp_csvtable *t, struct jp_error *err)
{
    bool quoted = false, any = false, closed = false;
    size_t used = 0;
    int c;

    t->n_fields = 0;
    t->fields[t->n_fields++] = t->bytes;
    while ((c = getc_unlocked(t->in)) != EOF) {
        any = true;
        if (used + 1 >= CSVTABLE_MAX)
            return damaged(t, err, "row too long");
        /* within quotes all characters count, also commas and line breaks */
        if (quoted) {
            if (c != '"') {
                t->bytes[used++] = harmless(c);
                continue;
            }
            /* the end of the field, or the first one of a doubled quote */
            quoted = false;
            closed = true;
        } else if (c == '"' && closed) { /* a doubled quote */
            t->bytes[used++] = '"';
            quoted = true;
            closed = false;
            /* only the first character of a field opens quotes */
        } else if (c == '"' && t->bytes + used == t->fields[t->n_fields - 1]) {
            quoted = true;
        } else if (c == '\n') {
            break;
        } else if (c == ',') {
            if (t->n_fields == CSVTABLE_FIELDS)
                return damaged(t, err, "too many columns");
            t->bytes[used++] = '\0';
            t->fields[t->n_fields++] = t->bytes + used;
            closed = false;
            /* a NUL would end the field early; nothing may follow closed quotes
             */
        } else if (c == '\0' || closed || c == '"') {
            return damaged(t, err, "not CSV");
        } else {
            t->bytes[used++] = harmless(c);
        }
    }
    t->line++;
    t->bytes[used] = '\0';
    if (ferror(t->in))
        return error_set(err, "%s: %m", t->path);
    /* a complete file ends with a line break, so this one was cut */
    if (c == EOF && any)
        return damaged(t, err, quoted ? "a quote has no end" : "truncated row");
    return any;
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
        if (t->at[i] == t->n_fields)
            return error_set(err, "%s: no column \"%s\"", t->path, columns[i]);
    }
    return 0;
}

/* Starts to read; closes the table on failure. */
static int begin(struct jp_csvtable *t, const char *const *columns, size_t n,
                 struct jp_error *err)
{
    t->bytes = malloc(CSVTABLE_MAX);
    if (!t->bytes)
        error_set(err, "out of memory");
    if (t->bytes && find_columns(t, columns, n, err) == 0)
        return 0;
    csvtable_close(t);
    return -1;
}

int csvtable_open(struct jp_csvtable *t, const char *path,
                  const char *const *columns, size_t n, struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);

    *t = (struct jp_csvtable){.path = path};
    if (fd < 0)
        return -1;
    t->in = fdopen(fd, "r");
    if (t->in)
        return begin(t, columns, n, err);
    error_set(err, "%s: %m", path);
    close(fd);
    return -1;
}

int csvtable_open_bytes(struct jp_csvtable *t, const void *bytes, size_t n,
                        const char *const *columns, size_t n_columns,
                        struct jp_error *err)
{
    *t = (struct jp_csvtable){.path = "bytes"};
    t->in = n ? fmemopen((void *) bytes, n, "r") : NULL;
    if (!t->in)
        return error_set(err, "bytes: empty");
    return begin(t, columns, n_columns, err);
}

void csvtable_close(struct jp_csvtable *t)
{
    if (t->in)
        fclose(t->in);
    free(t->bytes);
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
