/* table_show.c - write a described table on a terminal, or as columns for
 * programs.
 *
 * table_view_init chooses the columns and their widths: first the columns have
 * their own widths, or those of longer texts; if these are too many, they
 * become as narrow as their texts; then columns are left out in their given
 * order; finally the text of the last one is cut. */
#include "orchestrator/table/table_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/quote.h"

#define TEXT 400 /* bytes of a cell */
#define HEADINGS SIZE_MAX

static unsigned char place_text(const struct jp_column *c)
{
    return c->text;
}

static unsigned char place_raw(const struct jp_column *c)
{
    return c->raw;
}

/* Gets the value of a column in a row of the source. */
static void get_cell(const struct table_view *view, size_t index,
                     const struct jp_column *c, struct jp_value *v)
{
    struct jp_row row = table_row(view->source);

    table_find_row(view->table, view->source, index, &row);
    table_get_value(c, &row, v);
}

/* Formats a value as a program reads it. */
static void format_raw(const struct jp_column *c, const struct jp_value *v,
                       char buf[TEXT])
{
    switch (v->type) {
    case JP_VALUE_COUNT:
        snprintf(buf, TEXT, "%" PRIu64, v->count);
        break;
    case JP_VALUE_INT:
        snprintf(buf, TEXT, "%" PRId64, v->number);
        break;
    case JP_VALUE_REAL:
        if (isfinite(v->real))
            snprintf(buf, TEXT, "%.*f", c->decimals, v->real);
        else
            snprintf(buf, TEXT, "%s", table_none(c));
        break;
    default:
        snprintf(buf, TEXT, "%s", table_text_of(c, v));
    }
}

/* Returns the text of a cell or heading, in buf. */
static const char *cell_text(const struct table_view *view, size_t index,
                             const struct jp_column *c, char buf[TEXT])
{
    char figure[JP_FIGURE_LEN];
    struct jp_value v;

    if (index == HEADINGS) {
        snprintf(buf, TEXT, "%s",
                 c->brief && view->look != TABLE_FOR_PROGRAMS ? c->brief
                                                              : c->title);
        return buf;
    }
    get_cell(view, index, c, &v);
    if (view->look == TABLE_FOR_PROGRAMS)
        format_raw(c, &v, buf);
    else if (table_is_text(c) || v.type == JP_VALUE_TEXT)
        snprintf(buf, TEXT, "%s", table_text_of(c, &v));
    else
        snprintf(buf, TEXT, "%s", table_figure(c, &v, false, figure));
    return buf;
}

/* Returns true if a row knows the column's value. */
static bool is_known(const struct table_view *view, const struct jp_column *c)
{
    struct jp_value v;

    for (size_t i = 0; i < table_rows(view->table, view->source); i++) {
        get_cell(view, i, c, &v);
        if (v.type != JP_VALUE_UNKNOWN && v.type != JP_VALUE_ABSENT)
            return true;
    }
    return false;
}

/* Returns the width that the column's texts need; negative if left-aligned. */
static int narrow_width(const struct table_view *view,
                        const struct jp_column *c)
{
    size_t rows = table_rows(view->table, view->source);
    int most = (int) strlen(cell_text(view, HEADINGS, c, (char[TEXT]){""}));
    char buf[TEXT];

    for (size_t i = 0; i < rows; i++) {
        int len = (int) strlen(cell_text(view, i, c, buf));

        len = c->cut && len > c->cut ? c->cut : len;
        most = len > most ? len : most;
    }
    return table_kinds[c->kind].number ? most : -most;
}

/* Makes columns as wide as their longest texts, so that the columns behind them
 * stay in their places. */
static void widen_columns(struct table_view *view)
{
    for (size_t i = 0; i < view->n; i++) {
        int width = narrow_width(view, view->columns[i]);

        /* no blanks at the end of a line */
        if (i + 1 == view->n && width < 0)
            continue;
        if (abs(width) > abs(view->widths[i]))
            view->widths[i] = width;
    }
}

/* Returns what is between two columns. */
static const char *gap_of(const struct jp_table *table)
{
    return table->fitted ? "  " : " ";
}

/* Returns the width of the view, with the blanks before and between columns. */
static int total_width(const struct table_view *view)
{
    int gap = (int) strlen(gap_of(view->table));
    int sum = view->table->indent - gap;

    for (size_t i = 0; i < view->n; i++)
        sum += gap + abs(view->widths[i]);
    return sum;
}

/* Removes a column. */
static void drop_column(struct table_view *view, size_t at)
{
    view->n--;
    view->whole = false;
    for (size_t i = at; i < view->n; i++) {
        view->columns[i] = view->columns[i + 1];
        view->widths[i] = view->widths[i + 1];
    }
}

/* Leaves columns out until the others fit. */
static void drop_columns(struct table_view *view, int columns)
{
    size_t n = view->table->n_columns;

    for (unsigned turn = 1; turn <= n; turn++)
        for (size_t i = 0; i < view->n && total_width(view) > columns;)
            if (view->columns[i]->drops == turn)
                drop_column(view, i);
            else
                i++;
}

void table_view_init(struct table_view *view, const struct jp_table *table,
                     const struct table_source *source, enum table_look look,
                     unsigned columns)
{
    bool raw = look == TABLE_FOR_PROGRAMS;
    struct table_order order;
    size_t last;

    *view = (struct table_view){
        .table = table, .source = source, .look = look, .whole = true};
    table_make_order(table, raw ? place_raw : place_text, &order);
    for (size_t i = 0; i < order.n; i++) {
        const struct jp_column *c = order.at[i];
        int width = c->width ? c->width : (int) table_kinds[c->kind].width;

        if (c->flags & JP_OPTIONAL && !is_known(view, c))
            continue;
        width = table_kinds[c->kind].number ? width : -width;
        if (table->fitted)
            width = narrow_width(view, c);
        /* a column without a heading and a text */
        if (!width)
            continue;
        view->columns[view->n] = c;
        view->widths[view->n++] = width;
    }
    if (look != TABLE_ON_SCREEN && !table->fitted)
        widen_columns(view);
    if (!columns || total_width(view) <= (int) columns || !view->n)
        goto out;
    for (size_t i = 0; look != TABLE_ON_SCREEN && i < view->n; i++)
        view->widths[i] = narrow_width(view, view->columns[i]);
    drop_columns(view, (int) columns);
    last = view->n - 1;
    /* what remains of the last column's texts */
    if (look != TABLE_ON_SCREEN && view->widths[last] < 0) {
        int over = total_width(view) - (int) columns,
            most = -view->widths[last];

        view->last_cut = over > 0 && most > over ? most - over : most;
        /* no blanks at the end of a line */
        view->widths[last] = -1;
    }
out:
    /* the same for a fitted table, whose columns end where their texts end */
    if (table->fitted && view->n && view->widths[view->n - 1] < 0)
        view->widths[view->n - 1] = 0;
}

void table_view_row(const struct table_view *view, size_t index, FILE *out)
{
    const char *blank = "";

    fprintf(out, "%*s", view->table->indent, "");
    for (size_t i = 0; i < view->n; i++) {
        const struct jp_column *c = view->columns[i];
        int width = view->widths[i], cut = TEXT;
        char buf[TEXT], clean[TEXT];
        const char *text = cell_text(view, index, c, buf);

        if (view->last_cut && i + 1 == view->n)
            cut = view->last_cut;
        else if (c->cut && index != HEADINGS)
            cut = c->cut;
        if (view->look == TABLE_ON_SCREEN) {
            text = clean_text(text, JP_CLEAN_ASCII, clean, sizeof(clean));
            cut = width ? abs(width) : cut;
            /* a mark of the cut */
            if ((int) strlen(clean) > cut)
                clean[cut - 1] = '~';
        }
        quote_printf(out, "%s%*.*s", blank, width, cut, text);
        blank = gap_of(view->table);
    }
}

unsigned table_terminal_columns(FILE *out)
{
    struct winsize size;

    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool table_show(const struct jp_table *table, const struct table_source *source,
                enum table_look look, FILE *out)
{
    unsigned columns = look == TABLE_FOR_PEOPLE ? table_terminal_columns(out)
                                                : 0;
    size_t n = table_rows(table, source);
    struct table_view view;

    table_view_init(&view, table, source, look, columns);
    table_view_row(&view, HEADINGS, out);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        table_view_row(&view, i, out);
        fputc('\n', out);
    }
    return view.whole;
}

int table_output_end(struct jp_json_stream *s, FILE *out, struct jp_error *err)
{
    bool failed = s && json_stream_close(s, NULL) < 0;

    failed |= fflush(out) != 0;
    /* the reader has seen enough */
    if (failed && errno == EPIPE)
        return 0;
    return failed || ferror(out) ? error_set(err, "output failed: %m") : 0;
}
