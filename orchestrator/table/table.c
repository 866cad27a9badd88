/* table.c - what the writers of described tables share: kinds, rows, the order
 * of columns, and how a cell looks to people. */
#include "orchestrator/table/table_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct table_kind table_kinds[JP_COL_KINDS] = {
    [JP_COL_ID] = {"id", 18, false, false},
    [JP_COL_CODE] = {"code", 40, false, true},
    [JP_COL_TEXT] = {"text", 20, false, true},
    [JP_COL_WORD] = {"word", 11, false, false},
    [JP_COL_BOOL] = {"bool", 4, false, false},
    [JP_COL_LIST] = {"list", 20, false, true},
    [JP_COL_COUNT] = {"count", 9, true, false},
    [JP_COL_RANK] = {"rank", 6, true, false},
    [JP_COL_PID] = {"pid", 8, true, false},
    [JP_COL_BYTES] = {"bytes", 9, true, false},
    [JP_COL_US] = {"us", 9, true, false},
    [JP_COL_CLOCK] = {"clock", 23, true, false},
    [JP_COL_GBS] = {"gbs", 7, true, false},
    [JP_COL_SHARE] = {"share", 8, true, false},
    [JP_COL_NUMBER] = {"number", 9, true, false},
    [JP_COL_FIGURE] = {"figure", 9, true, false},
    [JP_COL_MORE] = {"more", 20, false, true},
    [JP_COL_PROSE] = {"prose", 20, false, true},
    [JP_COL_HIST] = {"hist", 20, false, true},
    [JP_COL_SECONDS] = {"seconds", 9, true, false},
    [JP_COL_DATE] = {"date", 10, true, false},
    [JP_COL_CHANCE] = {"chance", 9, true, false},
    [JP_COL_REAL] = {"real", 9, true, false},
    [JP_COL_LINK] = {"link", 20, false, true},
    [JP_COL_VERDICT] = {"verdict", 11, false, false},
    [JP_COL_PICTURE] = {"picture", 0, false, false},
    [JP_COL_FIXED] = {"fixed", 9, true, false},
};

const char *table_kind_name(enum jp_column_kind kind)
{
    return table_kinds[kind].name;
}

/* --- rows ----------------------------------------------------------------- */

size_t table_rows(const struct jp_table *table,
                  const struct table_source *source)
{
    if (table->count)
        return table->count(source->report);
    if (!table->n_rows)
        return source->n;
    /* an array of the result: its count is a member at a known offset */
    return source->result
               ? *(const size_t *) (const void *) ((const char *)
                                                       source->result +
                                                   table->n_rows)
               : 0;
}

void table_find_row(const struct jp_table *table,
                    const struct table_source *source, size_t index,
                    struct jp_row *row)
{
    const char *rows = source->rows;

    row->index = index;
    if (table->find) {
        table->find(row);
        return;
    }
    /* an array of the result, or the caller's */
    if (table->n_rows)
        rows = *(
            const char *const *) (const void *) ((const char *) source->result +
                                                 table->rows);
    row->at = rows + index * table->row_size;
}

/* How rows are compared by a column, for a table that shows its worst rows. */
struct worth {
    const struct jp_table *table;
    const struct table_source *source;
    const struct jp_column *column; /* the figure that makes a row bad */
    struct jp_row row;              /* scratch */
};

/* Returns the row's figure in that column, greatest for the worst row;
 * -INFINITY if it is unknown, so that such rows come last. */
static double worth_of(void *arg, size_t index)
{
    struct worth *w = arg;
    struct jp_value v;
    double worth;

    table_find_row(w->table, w->source, index, &w->row);
    table_get_value(w->column, &w->row, &v);
    if (v.type != JP_VALUE_COUNT && v.type != JP_VALUE_INT &&
        v.type != JP_VALUE_REAL)
        return -INFINITY;
    worth = v.type == JP_VALUE_COUNT ? (double) v.count
            : v.type == JP_VALUE_INT ? (double) v.number
                                     : v.real;
    if (isnan(worth))
        return -INFINITY;
    return w->table->least_first ? -worth : worth;
}

int table_pick_rows(const struct jp_table *table,
                    const struct table_source *source, size_t max,
                    bool by_weight, struct jp_rows *rows)
{
    size_t n = table_rows(table, source);
    struct worth worth = {table, source, NULL, table_row(source)};

    /* the column that the table names as `worst` */
    for (size_t i = 0; by_weight && table->worst && i < table->n_columns; i++)
        if (!strcmp(table->columns[i].key, table->worst))
            worth.column = &table->columns[i];
    /* the rows that a reader should see first */
    if ((worth.column ? rows_pick_by(n, max, worth_of, &worth, rows)
                      : rows_pick(source->result, n, max, table->weight,
                                  by_weight, rows)) < 0)
        return -1;
    rows->left_out += source->left_out;
    return 0;
}

/* --- which columns, in which order ---------------------------------------- */

/* An insertion sort, as tables have few columns. */
void table_make_order(const struct jp_table *table,
                      unsigned char (*place)(const struct jp_column *),
                      struct table_order *order)
{
    order->n = 0;
    for (size_t i = 0; i < table->n_columns && order->n < MAX_COLUMNS; i++) {
        const struct jp_column *c = &table->columns[i];
        size_t at = order->n;

        if (!place(c))
            continue;
        for (; at && place(order->at[at - 1]) > place(c); at--)
            order->at[at] = order->at[at - 1];
        order->at[at] = c;
        order->n++;
    }
}

/* --- for people ----------------------------------------------------------- */

const char *table_yes_or_no(const struct jp_value *v)
{
    return v->count ? "yes" : "no";
}

double table_as_real(const struct jp_value *v)
{
    switch (v->type) {
    case JP_VALUE_COUNT:
        return (double) v->count;
    case JP_VALUE_INT:
        return (double) v->number;
    case JP_VALUE_REAL:
        return v->real;
    default:
        return NAN;
    }
}

const char *table_none(const struct jp_column *c)
{
    return c->none ? c->none : "-";
}

char *table_chance(double chance, char *buf)
{
    if (!isfinite(chance))
        snprintf(buf, JP_FIGURE_LEN, "-");
    else if (chance >= 0.1)
        snprintf(buf, JP_FIGURE_LEN, chance > 0.995 ? "1" : "%.2f", chance);
    else if (chance >= 1e-4)
        snprintf(buf, JP_FIGURE_LEN, "%.1g", chance);
    else
        snprintf(buf, JP_FIGURE_LEN, chance < 1e-99 ? "< 1e-99" : "%.0e",
                 chance);
    return buf;
}

/* Rounds to four digits, or to all digits before the point. */
static double rounded(double value)
{
    double size = fabs(value), scale;

    /* beyond this range, the scale would be useless or overflow */
    if (!isfinite(value) || size >= 1000 || size < 1e-9)
        return round(value);
    scale = pow(10, 3 - floor(log10(size)));
    return round(value * scale) / scale;
}

const char *table_figure(const struct jp_column *c, const struct jp_value *v,
                         bool commas, char *buf)
{
    if (v->type == JP_VALUE_UNKNOWN || v->type == JP_VALUE_ABSENT)
        return table_none(c);
    if (c->zero && table_as_real(v) == 0)
        return c->zero;
    switch (c->kind) {
    case JP_COL_BYTES:
        return figure_bytes(v->count, buf);
    case JP_COL_US:
        return figure_us(table_as_real(v), buf);
    case JP_COL_GBS:
        return figure_gbs(v->real, buf);
    case JP_COL_NUMBER:
        return commas && fabs(v->real) >= 999.5
                   ? figure_real(v->real, buf)
                   : figure_exact(rounded(v->real), buf);
    case JP_COL_SHARE:
        return figure_share(v->real, buf);
    case JP_COL_CLOCK:
        return figure_utc(v->count, buf);
    case JP_COL_DATE:
        figure_utc(v->count, buf)[strlen("2026-11-21")] = '\0';
        return buf;
    case JP_COL_SECONDS:
        return figure_us(v->real * 1e6, buf);
    case JP_COL_CHANCE:
        return table_chance(v->real, buf);
    case JP_COL_REAL:
        return figure_real(v->real, buf);
    case JP_COL_FIXED:
        if (!isfinite(v->real))
            return table_none(c);
        snprintf(buf, JP_FIGURE_LEN, "%.*f%s", c->decimals,
                 c->unit && *c->unit == '%' ? 100 * v->real : v->real,
                 c->unit ? c->unit : "");
        return buf;
    case JP_COL_PID:
        snprintf(buf, JP_FIGURE_LEN, "%" PRId64, v->number);
        return buf;
    case JP_COL_RANK:
        if (commas)
            return figure_count(v->count, buf);
        snprintf(buf, JP_FIGURE_LEN, "%" PRIu64, v->count);
        return buf;
    default:
        return figure_count(v->count, buf);
    }
}

const char *table_text_of(const struct jp_column *c, const struct jp_value *v)
{
    if (v->type == JP_VALUE_BOOL)
        return c->zero && !v->count ? c->zero : table_yes_or_no(v);
    return v->type == JP_VALUE_TEXT && *v->text ? v->text : table_none(c);
}

bool table_is_text(const struct jp_column *c)
{
    return !table_kinds[c->kind].number || c->kind == JP_COL_FIGURE;
}

/* --- types, for formats that have them ------------------------------------ */

/* By its kind and by the member that it comes from. Counts that are means are
 * reals. */
enum table_type table_type_of(const struct jp_column *c)
{
    switch (c->kind) {
    case JP_COL_BOOL:
        return TABLE_TYPE_BOOL;
    case JP_COL_PID:
        return TABLE_TYPE_INT;
    case JP_COL_CLOCK:
        return TABLE_TYPE_CLOCK;
    case JP_COL_GBS:
    case JP_COL_SHARE:
    case JP_COL_NUMBER:
        return TABLE_TYPE_REAL;
    case JP_COL_COUNT:
    case JP_COL_RANK:
    case JP_COL_BYTES:
    case JP_COL_US:
        if (c->flags & JP_REAL || c->field == JP_FIELD_F64 ||
            c->field == JP_FIELD_MICRO)
            return TABLE_TYPE_REAL;
        return c->field == JP_FIELD_I64 ? TABLE_TYPE_INT : TABLE_TYPE_COUNT;
    default:
        return TABLE_TYPE_TEXT;
    }
}

void table_value(const struct jp_column *column, const struct jp_row *row,
                 struct jp_value *value)
{
    table_get_value(column, row, value);
}

const struct jp_column *table_column(const struct jp_table *table,
                                     const char *key)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i].key, key) == 0)
            return &table->columns[i];
    return NULL;
}
