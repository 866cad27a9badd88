/* csv_in.h - split a row of CSV (RFC 4180) into its cells, as csv_out.h writes
 * them. Every reader of a report's tables uses it: those of single rows by
 * show/csvtable.h, and those that convert parts of a file in threads. Inline,
 * because it is called for each cell.
 */
#ifndef JP_TABLE_CSV_IN_H
#define JP_TABLE_CSV_IN_H

#include <stddef.h>
#include <string.h>

/* A cell's text; not terminated. */
struct csv_cell {
    const char *at;
    size_t n;
};

enum csv_in {
    CSV_IN_CELL,
    CSV_IN_OPEN, /* the row ends within quotes */
    CSV_IN_BAD   /* not CSV */
};

/* Parses the next cell of a row that ends at end. After CSV_IN_CELL, *at has
 * moved past the comma; NULL after the last cell. buf: room for the text of a
 * cell in quotes, which is the row's length. */
static inline enum csv_in csv_in_cell(const char **at, const char *end,
                                      char *buf, struct csv_cell *cell)
{
    const char *p = *at, *comma;
    size_t n = 0;

    /* without quotes: up to the comma */
    if (p == end || *p != '"') {
        comma = memchr(p, ',', (size_t) (end - p));
        *cell = (struct csv_cell){p, (size_t) ((comma ? comma : end) - p)};
        if (memchr(cell->at, '"', cell->n))
            return CSV_IN_BAD;
        *at = comma ? comma + 1 : NULL;
        return CSV_IN_CELL;
    }
    /* within quotes: up to the next quote that is not doubled */
    for (p++;; p++) {
        if (p == end)
            return CSV_IN_OPEN;
        if (*p == '"' && (p + 1 == end || p[1] != '"'))
            break;
        /* two quotes are one */
        p += *p == '"';
        buf[n++] = *p;
    }
    p++;
    /* nothing may follow closed quotes */
    if (p != end && *p != ',')
        return CSV_IN_BAD;
    *cell = (struct csv_cell){buf, n};
    *at = p == end ? NULL : p + 1;
    return CSV_IN_CELL;
}

#endif
