/* table_text.c - write a described table as lines of text. */
#include "orchestrator/table/table_parts.h"

#include <ctype.h>
#include <string.h>

#include "common/quote.h"
#include "orchestrator/table/text_out.h"

#define LINE_MAX_BYTES 400 /* longer than a line before it is cut */

/* Returns a column's position. */
static unsigned char place_text(const struct jp_column *c)
{
    return c->text;
}

/* Appends a field to a line of n bytes. Returns the new length. */
static size_t add_text(char line[LINE_MAX_BYTES], size_t n,
                       const struct jp_column *c, const char *text)
{
    int width = c->width ? c->width : (int) table_kinds[c->kind].width;
    int more = snprintf(line + n, LINE_MAX_BYTES - n, "%s%*s", n ? " " : "  ",
                        table_kinds[c->kind].number ? width : -width, text);

    n += more > 0 ? (size_t) more : 0;
    return n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES - 1;
}

/* Writes the headings in lower case, unless the column has a brief one. */
static void put_text_head(const struct table_order *order, FILE *out)
{
    char line[LINE_MAX_BYTES] = "";
    size_t n = 0;

    for (size_t i = 0; i < order->n; i++) {
        const struct jp_column *c = order->at[i];
        char small[40];

        snprintf(small, sizeof(small), "%s", c->brief ? c->brief : c->title);
        for (char *p = small; !c->brief && *p; p++)
            *p = (char) tolower((unsigned char) *p);
        n = add_text(line, n, c, small);
    }
    text_out_line(out, "%s", line);
}

/* Cuts text to width characters. Names are cut in the middle, because they
 * differ at their ends; a sentence is cut at its end. */
static const char *cut_text(const struct jp_column *c, const char *text,
                            size_t width, char cut[64])
{
    bool name = c->kind == JP_COL_TEXT || c->kind == JP_COL_CODE;
    char whole[JP_CLEAN_MAX];
    size_t n, tail;

    /* too narrow for a start, dots and an end, or no name */
    if (!name || width < 9 || width >= 64)
        return clean_text(text, JP_CLEAN_ASCII, cut,
                          width < 64 ? width + 1 : 64);
    n = strlen(clean_text(text, JP_CLEAN_ASCII, whole, sizeof(whole)));
    /* short enough after cleaning */
    if (n <= width)
        return memcpy(cut, whole, n + 1);
    /* "beginning...end": the end has the smaller half */
    tail = (width - 3) / 2;
    snprintf(cut, 64, "%.*s...%s", (int) (width - 3 - tail), whole,
             whole + n - tail);
    return cut;
}

/* Writes a row of text: figures right-aligned, texts left-aligned. */
static void put_text_row(const struct table_order *order,
                         const struct jp_row *row, FILE *out)
{
    char line[LINE_MAX_BYTES] = "";
    size_t n = 0;

    for (size_t i = 0; i < order->n; i++) {
        const struct jp_column *c = order->at[i];
        size_t width = c->width ? c->width : table_kinds[c->kind].width;
        char buf[JP_FIGURE_LEN], cut[64];
        struct jp_value v;

        table_get_value(c, row, &v);
        /* figures always fit; names may be cut; other texts make a column wider
         */
        if (!table_is_text(c))
            n = add_text(line, n, c, table_figure(c, &v, false, buf));
        else if (table_kinds[c->kind].cut)
            n = add_text(line, n, c,
                         cut_text(c, table_text_of(c, &v), width, cut));
        else
            n = add_text(line, n, c, table_text_of(c, &v));
    }
    text_out_line(out, "%s", line);
}

int table_write_text(const struct jp_table *table,
                     const struct table_source *source, FILE *out)
{
    struct jp_row row = table_row(source);
    struct jp_rows rows;
    struct table_order order;

    if (table_pick_rows(table, source, table->max_text, table->by_weight,
                        &rows) < 0)
        return -1;
    table_make_order(table, place_text, &order);
    /* an empty line separates the table from what is above */
    fputc('\n', out);
    if (table->title)
        text_out_line(out, "%s", table->title);
    if (table->banner)
        text_out_line(out, "%s", table->banner);
    put_text_head(&order, out);
    for (size_t i = 0; i < rows.n; i++) {
        table_find_row(table, source, rows.index[i], &row);
        put_text_row(&order, &row, out);
        if (table->below)
            table->below(&row, out);
    }
    if (rows.left_out)
        text_out_line(out, "  ... and %s more in csv/%s.csv",
                      FIG_COUNT(rows.left_out), table->name);
    rows_fini(&rows);
    return 0;
}
