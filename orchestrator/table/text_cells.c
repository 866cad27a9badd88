/* text_cells.c - lay out columns of text. Widths are counted in bytes; the
 * texts are ASCII except for names and paths of the user. */
#include "orchestrator/table/text_cells.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/table/table_parts.h"

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

void text_cells_add(struct text_cells *cells, const char *fmt, ...)
{
    char *cell = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&cell, fmt, ap) < 0)
        cell = NULL;
    va_end(ap);
    /* The cell is dropped without memory; the table then prints nothing at all,
     * because the cells after it would be in wrong columns. */
    if (!cell || VECTOR_DOUBLE(cells->at, cells->n) < 0) {
        free(cell);
        cells->failed = true;
        return;
    }
    clean(cell);
    cells->at[cells->n++] = cell;
}

/* Computes where each column starts: after the widest cell of the columns
 * before it. Cells above a column's limit do not count, and a column without
 * text takes no space. */
static void place_columns(const struct text_cells *cells, unsigned indent,
                          unsigned start[TEXT_CELLS_MAX])
{
    unsigned at = indent;

    for (size_t c = 0; c < cells->n_columns; c++) {
        unsigned width = 0;

        for (size_t i = c; i < cells->n; i += cells->n_columns) {
            size_t len = strlen(cells->at[i]);

            if (len > width && (!cells->limit[c] || len <= cells->limit[c]))
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
    if (at + GAP + len <= TEXT_CELLS_COLUMNS) {
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
    size_t room = TEXT_CELLS_COLUMNS - at;

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
        room = TEXT_CELLS_COLUMNS - indent;
    }
    quote_print(out, text);
}

/* Prints the last cell of a row. If too little room is left for it, it starts
 * in a line of its own. */
static void put_last(FILE *out, unsigned at, unsigned start, const char *text)
{
    if (start + ROOM_MIN > TEXT_CELLS_COLUMNS) {
        start = OWN_LINE_INDENT;
        if (at + GAP + strlen(text) > TEXT_CELLS_COLUMNS) {
            fputc('\n', out);
            at = 0;
        }
    }
    at = move_to(out, at, start, strlen(text));
    put_wrapped(out, at, at < start ? at : start, text);
}

/* Prints one row; empty cells are skipped. */
static void put_row(FILE *out, char *const *cells, size_t n,
                    const unsigned start[TEXT_CELLS_MAX])
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

int text_cells_print(struct text_cells *cells, unsigned indent, FILE *out,
                     struct jp_error *err)
{
    unsigned start[TEXT_CELLS_MAX] = {0};
    int rc = cells->failed ? error_set(err, "out of memory") : 0;

    if (rc == 0) {
        place_columns(cells, indent, start);
        for (size_t i = 0; i + cells->n_columns <= cells->n;
             i += cells->n_columns)
            put_row(out, cells->at + i, cells->n_columns, start);
    }
    for (size_t i = 0; i < cells->n; i++)
        free(cells->at[i]);
    free(cells->at);
    cells->at = NULL;
    cells->n = 0;
    return rc;
}

/* Returns a column's position. */
static unsigned char place_text(const struct jp_column *c)
{
    return c->text;
}

int table_lay_out(const struct jp_table *table,
                  const struct table_source *source, FILE *out,
                  struct jp_error *err)
{
    struct jp_row row = table_row(source);
    struct text_cells cells = {0};
    struct table_order order;

    table_make_order(table, place_text, &order);
    cells.n_columns = order.n;
    for (size_t c = 0; c < order.n && c < TEXT_CELLS_MAX; c++) {
        cells.limit[c] = order.at[c]->width;
        text_cells_add(&cells, "%s", order.at[c]->title);
    }
    for (size_t i = 0; i < table_rows(table, source); i++) {
        table_find_row(table, source, i, &row);
        for (size_t c = 0; c < order.n; c++) {
            char figure[JP_FIGURE_LEN];
            struct jp_value v;

            table_get_value(order.at[c], &row, &v);
            text_cells_add(&cells, "%s",
                           table_is_text(order.at[c])
                               ? table_text_of(order.at[c], &v)
                               : table_figure(order.at[c], &v, false, figure));
        }
    }
    return text_cells_print(&cells, table->indent, out, err);
}
