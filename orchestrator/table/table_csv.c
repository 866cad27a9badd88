/* table_csv.c - write a described table as CSV. */
#include "orchestrator/table/table_parts.h"

void table_csv_head(const struct jp_table *table, FILE *out)
{
    const char *comma = "";

    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].flags & JP_CSV) {
            fprintf(out, "%s%s", comma, table->columns[i].key);
            comma = ",";
        }
    fputc('\n', out);
}

/* Writes a value that is not a plain number of the row. The inline part in the
 * header handles those, because they are most values of the large tables. */
void table_csv_other(struct jp_csv *csv, const struct jp_column *c,
                     const struct jp_row *row)
{
    struct jp_value value, *v = &value;

    table_get_value(c, row, v);
    switch (v->type) {
    case JP_VALUE_COUNT:
        csv_out_count(csv, v->count);
        break;
    case JP_VALUE_INT:
        csv_out_int(csv, v->number);
        break;
    case JP_VALUE_REAL:
        csv_out_real(csv, v->real);
        break;
    case JP_VALUE_BOOL:
        csv_out_text(csv, table_yes_or_no(v));
        break;
    case JP_VALUE_TEXT:
        csv_out_text(csv, v->text);
        break;
    case JP_VALUE_LIST:
        csv_out_list(csv, v->list, v->n);
        break;
    /* unknown: an empty field; a histogram has no form in CSV */
    default:
        csv_out_empty(csv);
    }
}

void table_csv_part(struct jp_csv *csv, const struct jp_table *table,
                    const struct jp_row *row, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        table_csv_column(csv, &table->columns[i], row);
}

void table_write_csv(struct jp_csv *csv, const struct jp_table *table,
                     const struct table_source *source)
{
    struct jp_row row = table_row(source);

    for (size_t i = 0, n = table_rows(table, source); i < n; i++) {
        table_find_row(table, source, i, &row);
        /* a row that does not exist, such as a slice in which the process did
         * not run */
        if (!row.at)
            continue;
        table_csv_part(csv, table, &row, 0, table->n_columns);
        csv_out_end(csv);
    }
}
