/* table_html.c - write a described table into a page. */
#include "orchestrator/table/table_parts.h"

#include "common/defaults.h"
#include "orchestrator/table/html_out.h"

/* Returns a column's position. */
static unsigned char place_html(const struct jp_column *c)
{
    return c->html;
}

/* Writes one cell. full: the value of a full bar, unless the value has its own.
 */
static void put_html(FILE *out, const struct jp_column *c,
                     const struct jp_value *v, double full)
{
    char buf[JP_FIGURE_LEN];
    double real = table_as_real(v);

    /* the page sorts cells without a value last; -1 sorts below all others */
    if (v->type == JP_VALUE_UNKNOWN && c->flags & JP_LOWEST)
        real = -1;
    /* the kind of the column decides; a text in a column of figures is an
     * exception */
    if (c->kind == JP_COL_ID)
        html_out_id(out, v->text);
    else if (c->kind == JP_COL_CODE)
        html_out_code(out, v->text);
    /* a text in place of a figure, such as the reason why it is unknown */
    else if (!table_is_text(c) && v->type == JP_VALUE_TEXT)
        html_out_cell(out, v->text);
    else if (c->kind == JP_COL_MORE)
        html_out_more(out, v->text, v->more);
    else if (c->kind == JP_COL_LINK && v->type == JP_VALUE_TEXT)
        html_out_link(out, v->text, v->more);
    else if (c->kind == JP_COL_VERDICT)
        html_out_verdict(out, table_text_of(c, v), v->more);
    else if (c->kind == JP_COL_FIGURE)
        html_out_figure(out, table_text_of(c, v),
                        v->type == JP_VALUE_UNKNOWN ? real : v->real);
    else if (c->kind == JP_COL_PROSE)
        html_out_prose(out, table_text_of(c, v));
    else if (c->kind == JP_COL_WORD)
        html_out_word(out, table_text_of(c, v));
    else if (table_is_text(c))
        html_out_cell(out, table_text_of(c, v));
    else if (c->flags & JP_BAR && v->type != JP_VALUE_UNKNOWN)
        html_out_bar(out, table_figure(c, v, true, buf), real,
                     real / (v->full > 0 ? v->full : full));
    else
        html_out_figure(out, table_figure(c, v, true, buf), real);
}

/* Returns the value of a full bar: the greatest weight of the rows shown, or 1
 * without weights, as for shares. */
static double full_bar(const struct jp_table *table,
                       const struct jp_result *result,
                       const struct jp_rows *rows)
{
    double most = 0;

    for (size_t i = 0; table->weight && i < rows->n; i++)
        if (table->weight(result, rows->index[i]) > most)
            most = table->weight(result, rows->index[i]);
    /* a table of zeros draws empty bars */
    return most > 0 ? most : 1;
}

/* Writes the headings. Only columns with JP_TIP explain themselves there. */
static void put_html_head(FILE *out, const struct table_order *order,
                          bool sortable)
{
    struct jp_html_column heads[MAX_COLUMNS];

    for (size_t i = 0; i < order->n; i++) {
        const struct jp_column *c = order->at[i];

        heads[i] = (struct jp_html_column){c->title,
                                           c->flags & JP_TIP ? c->help : NULL,
                                           table_kinds[c->kind].number};
    }
    html_out_table(out, heads, order->n, sortable);
}

/* Writes a row of the page. */
static void put_html_row(FILE *out, const struct table_order *order,
                         const struct jp_row *row, double full)
{
    html_out_row(out);
    for (size_t i = 0; i < order->n; i++) {
        struct jp_value v;

        if (order->at[i]->draw) {
            fputs("<td>", out);
            order->at[i]->draw(out, row);
            fputs("</td>", out);
            continue;
        }
        table_get_value(order->at[i], row, &v);
        put_html(out, order->at[i], &v, full);
    }
    html_out_row_end(out);
}

/* Writes the rows [from, to) of the picked ones as a table of their own. */
static void put_html_table(FILE *out, const struct jp_table *table,
                           const struct table_source *source,
                           const struct jp_rows *rows, size_t from, size_t to)
{
    double full = full_bar(table, source->result, rows);
    struct jp_row row = table_row(source);
    struct table_order order;
    char file[64];

    table_make_order(table, place_html, &order);
    put_html_head(out, &order, !table->unsorted);
    for (size_t i = from; i < to; i++) {
        table_find_row(table, source, rows->index[i], &row);
        put_html_row(out, &order, &row, full);
    }
    /* where readers find the rows that are left out */
    if (table->rest)
        snprintf(file, sizeof(file), "%s", table->rest);
    else if (table->columns->flags & JP_CSV)
        snprintf(file, sizeof(file), "csv/%s.csv", table->name);
    else
        snprintf(file, sizeof(file), JP_SUMMARY_NAME);
    /* the rows left out are counted once, below the last of two tables */
    html_out_table_end(out, order.n, to == rows->n ? rows->left_out : 0, file);
}

/* Returns how many of the rows (heaviest first) are not folded; all of them if
 * none would remain. */
static size_t n_unfolded(const struct jp_table *table,
                         const struct jp_result *result,
                         const struct jp_rows *rows)
{
    size_t n = 0;

    if (!table->folded[0] || !table->by_weight)
        return rows->n;
    while (n < rows->n && table->weight(result, rows->index[n]) >= 0)
        n++;
    return n ? n : rows->n;
}

int table_write_html(const struct jp_table *table,
                     const struct table_source *source, FILE *out)
{
    struct jp_rows rows;
    size_t n;

    if (table_pick_rows(table, source, table->max_html, table->by_weight,
                        &rows) < 0)
        return -1;
    n = n_unfolded(table, source->result, &rows);
    put_html_table(out, table, source, &rows, 0, n);
    if (n < rows.n) {
        fprintf(out,
                "<details class=\"folded\"><summary>%s %s folded</summary>\n",
                FIG_COUNT(rows.n - n), table->folded[rows.n - n > 1]);
        put_html_table(out, table, source, &rows, n, rows.n);
        fputs("</details>\n", out);
    }
    rows_fini(&rows);
    return 0;
}
