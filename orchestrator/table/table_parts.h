/* table_parts.h - what the writers of tables share. */
#ifndef JP_TABLE_TABLE_PARTS_H
#define JP_TABLE_TABLE_PARTS_H

#include "common/figure.h"
#include "orchestrator/table/table.h"

#define MAX_COLUMNS 64 /* of one medium */

/* How values of each kind are shown. */
struct table_kind {
    const char *name;
    unsigned width; /* width in text */
    bool number;    /* right-aligned */
    bool cut;       /* cut to its width */
};
extern const struct table_kind table_kinds[JP_COL_KINDS];

/* Gets the value of a column in a row. v->buf stays uninitialised: clearing it
 * for each value would cost more than the rest. */
static inline void table_get_value(const struct jp_column *c,
                                   const struct jp_row *row, struct jp_value *v)
{
    const char *at = (const char *) row->at + c->offset;

    /* the members that a getter may leave unset */
    v->text = NULL;
    v->full = 0;
    if (c->if_field &&
        table_is_zero(c->if_field, (const char *) row->at + c->if_offset)) {
        v->type = JP_VALUE_UNKNOWN;
        return;
    }
    switch (c->field) {
    case JP_FIELD_BOOL:
        value_bool(v, *(const bool *) at);
        break;
    case JP_FIELD_U32:
        value_count(v, *(const uint32_t *) (const void *) at);
        break;
    case JP_FIELD_U64:
        value_count(v, *(const uint64_t *) (const void *) at);
        break;
    case JP_FIELD_I64:
        v->type = JP_VALUE_INT;
        v->number = *(const int64_t *) (const void *) at;
        break;
    case JP_FIELD_F64:
        value_real(v, *(const double *) (const void *) at);
        break;
    case JP_FIELD_TEXT:
        value_text(v, *(const char *const *) (const void *) at);
        break;
    case JP_FIELD_CHARS:
        value_text(v, at);
        break;
    default:
        c->get(row, v);
    }
}

/* Returns a row of the source without an index. */
static inline struct jp_row table_row(const struct table_source *source)
{
    return (struct jp_row){source->report, source->result, source->extra, 0,
                           NULL};
}

/* Sets row->at to the row with this index; NULL if there is none. */
void table_find_row(const struct jp_table *table,
                    const struct table_source *source, size_t index,
                    struct jp_row *row);

/* Picks at most max rows. by_weight: the most important first, by the column
 * `worst` if the table names one, else by its weight. Returns 0, or -1 when out
 * of memory. Free with rows_fini. */
int table_pick_rows(const struct jp_table *table,
                    const struct table_source *source, size_t max,
                    bool by_weight, struct jp_rows *rows);

/* The columns of one medium, in its order. */
struct table_order {
    const struct jp_column *at[MAX_COLUMNS];
    size_t n;
};

/* Collects the columns of a medium, sorted by position. place: returns a
 * column's position there; 0 if it is absent. Columns with the same position
 * (JP_LAST) keep the order of the array. */
void table_make_order(const struct jp_table *table,
                      unsigned char (*place)(const struct jp_column *),
                      struct table_order *order);

/* Returns the number to sort or compare by; NaN for a text or an unknown
 * value. */
double table_as_real(const struct jp_value *v);

/* Returns the word for a bool in CSV, the page and text. */
const char *table_yes_or_no(const struct jp_value *v);

/* Returns true if the column's values are texts, also a text of several
 * figures. */
bool table_is_text(const struct jp_column *c);

/* Returns what readers see in place of an unknown value. */
const char *table_none(const struct jp_column *c);

/* Returns the text of a value; what stands for "unknown" if it has none. */
const char *table_text_of(const struct jp_column *c, const struct jp_value *v);

/* Formats a figure with its unit. commas: whether ranks have thousands
 * separators; in text they have none. buf: JP_FIGURE_LEN bytes. Returns buf, or
 * a borrowed text for an unknown value. */
const char *table_figure(const struct jp_column *c, const struct jp_value *v,
                         bool commas, char *buf);

#endif
