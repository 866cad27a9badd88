/* plan_table.c - lay out columns of text. Widths are counted in bytes; the
 * texts are ASCII except for names and paths of the user. */
#include "orchestrator/agent/plan_view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "common/vector.h"

/* Blanks between two columns. */
#define GAP 2
/* A last column narrower than this starts on its own line. */
#define ROOM_MIN 24
#define OWN_LINE_INDENT 4

/* Replaces control characters: a line break in a value would break the
 * table. */
static void clean(char *text)
{
    for (unsigned char *c = (unsigned char *) text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
}

void plan_table_add(struct plan_table *table, const char *fmt, ...)
{
    char *cell = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&cell, fmt, ap) < 0)
        cell = NULL;
    va_end(ap);
    /* The cell is dropped without memory; the table then prints nothing at all,
     * because the cells after it would be in wrong columns. */
    if (!cell || VECTOR_DOUBLE(table->cells, table->n) < 0) {
        free(cell);
        table->failed = true;
        return;
    }
    clean(cell);
    table->cells[table->n++] = cell;
}

/* Computes where each column starts: after the widest cell of the columns
 * before it. Cells above a column's limit do not count, and a column without
 * text takes no space. */
static void place_columns(const struct plan_table *table, unsigned indent,
                          unsigned start[PLAN_TABLE_MAX])
{
    unsigned at = indent;

    for (size_t c = 0; c < table->n_columns; c++) {
        unsigned width = 0;

        for (size_t i = c; i < table->n; i += table->n_columns) {
            size_t len = strlen(table->cells[i]);

            if (len > width && (!table->limit[c] || len <= table->limit[c]))
                width = (unsigned) len;
        }
        start[c] = at;
        at += width ? width + GAP : 0;
    }
}

/* Moves from column `at` of the line to the start of a cell of length len. If
 * the cells before it were too long, the cell follows after a gap, or in a new
 * line if it would not fit. Returns the new column. */
static unsigned move_to(FILE *out, unsigned at, unsigned start, size_t len)
{
    if (at == 0 || at + GAP <= start) {
        quote_printf(out, "%*s", (int) (start - at), "");
        return start;
    }
    if (at + GAP + len <= PLAN_TABLE_COLUMNS) {
        quote_printf(out, "%*s", GAP, "");
        return at + GAP;
    }
    quote_printf(out, "\n%*s", (int) start, "");
    return start;
}

/* Prints text wrapped at blanks. A word longer than a line is not cut. */
static void put_wrapped(FILE *out, unsigned at, unsigned indent,
                        const char *text)
{
    size_t room = PLAN_TABLE_COLUMNS - at;

    while (strlen(text) > room) {
        /* The last blank that fits, else the end of the first word. */
        size_t n = room;

        while (n > 0 && text[n] != ' ')
            n--;
        if (!n)
            n = strcspn(text, " ");
        if (!text[n])
            break;
        quote_printf(out, "%.*s\n%*s", (int) n, text, (int) indent, "");
        text += n + 1;
        room = PLAN_TABLE_COLUMNS - indent;
    }
    quote_print(out, text);
}

/* Prints the last cell of a row. If too little room is left for it, it starts
 * in a line of its own. */
static void put_last(FILE *out, unsigned at, unsigned start, const char *text)
{
    if (start + ROOM_MIN > PLAN_TABLE_COLUMNS) {
        start = OWN_LINE_INDENT;
        if (at + GAP + strlen(text) > PLAN_TABLE_COLUMNS) {
            fputc('\n', out);
            at = 0;
        }
    }
    at = move_to(out, at, start, strlen(text));
    put_wrapped(out, at, at < start ? at : start, text);
}

/* Prints one row; empty cells are skipped. */
static void put_row(FILE *out, char *const *cells, size_t n,
                    const unsigned start[PLAN_TABLE_MAX])
{
    unsigned at = 0;

    for (size_t c = 0; c < n; c++) {
        size_t len = strlen(cells[c]);

        if (!len)
            continue;
        if (c + 1 == n) {
            put_last(out, at, start[c], cells[c]);
            break;
        }
        at = move_to(out, at, start[c], len) + (unsigned) len;
        quote_print(out, cells[c]);
    }
    fputc('\n', out);
}

int plan_table_print(struct plan_table *table, unsigned indent, FILE *out,
                     struct jp_error *err)
{
    unsigned start[PLAN_TABLE_MAX] = {0};
    int rc = table->failed ? error_set(err, "out of memory") : 0;

    if (rc == 0) {
        place_columns(table, indent, start);
        for (size_t i = 0; i + table->n_columns <= table->n;
             i += table->n_columns)
            put_row(out, table->cells + i, table->n_columns, start);
    }
    for (size_t i = 0; i < table->n; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->n = 0;
    return rc;
}
