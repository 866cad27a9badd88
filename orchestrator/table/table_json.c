/* table_json.c - write a described table as JSON. */
#include "orchestrator/table/table_parts.h"

#include <math.h>
#include <string.h>

/* Returns a column's position. */
static unsigned char place_json(const struct jp_column *c)
{
    return c->json;
}

/* Writes a value under its key; null if it is unknown. */
static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_column *c, const struct jp_value *v)
{
    if (v->type == JP_VALUE_ABSENT ||
        (v->type == JP_VALUE_UNKNOWN && c->flags & JP_OMIT))
        return;
    switch (v->type) {
    case JP_VALUE_COUNT:
        json_stream_count(s, key, v->count);
        break;
    case JP_VALUE_INT:
        json_stream_int(s, key, v->number);
        break;
    case JP_VALUE_REAL:
        if (c->flags & JP_FIXED) {
            json_stream_fixed(s, key, v->real, c->json_decimals);
            break;
        }
        json_stream_real(s, key,
                         c->flags & JP_ROUND ? round(v->real) : v->real);
        break;
    case JP_VALUE_BOOL:
        json_stream_bool(s, key, v->count);
        break;
    case JP_VALUE_HIST:
        v->put_hist(s, key, v->hist);
        break;
    case JP_VALUE_TEXT:
        json_stream_text(s, key, v->text);
        break;
    case JP_VALUE_LIST:
        json_stream_texts(s, key, v->list, v->n, c->max);
        break;
    /* unknown */
    default:
        json_stream_null(s, key);
    }
}

/* Returns the column's path in JSON: "object.key", or only a key. */
static const char *path_of(const struct jp_column *c)
{
    return c->path ? c->path : c->key;
}

/* Returns the length of the object's name in a path; 0: no object. */
static size_t object_length(const struct jp_column *c)
{
    const char *path = path_of(c), *dot = strchr(path, '.');

    return dot ? (size_t) (dot - path) : 0;
}

/* Returns true if both columns are members of one object. Compares the dot,
 * too, so that no name is taken for the start of another. */
static bool same_object(const struct jp_column *a, const struct jp_column *b)
{
    return object_length(a) == object_length(b) &&
           !strncmp(path_of(a), path_of(b), object_length(a) + 1);
}

/* Writes the columns [from, to) of order, which belong to one object. The
 * object is null if all members but the count ".n" are unknown. */
static void put_json_object(struct jp_json_stream *s,
                            const struct table_order *order, size_t from,
                            size_t to, const struct jp_row *row)
{
    size_t len = object_length(order->at[from]);
    struct jp_value v[MAX_COLUMNS];
    bool known = false;
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int) len, path_of(order->at[from]));
    /* all values first, because null is decided by all of them */
    for (size_t i = from; i < to; i++) {
        table_get_value(order->at[i], row, &v[i]);
        known |= v[i].type != JP_VALUE_UNKNOWN &&
                 strcmp(path_of(order->at[i]) + len, ".n") != 0;
    }
    if (!known) {
        json_stream_null(s, name);
        return;
    }
    json_stream_object(s, name);
    for (size_t i = from; i < to; i++)
        put_json(s, path_of(order->at[i]) + len + 1, order->at[i], &v[i]);
    json_stream_end_object(s);
}

/* Writes the members of a row. Neighbouring columns of one object are grouped,
 * so the columns of an object must be neighbours in JSON's order. */
static void put_json_row(struct jp_json_stream *s,
                         const struct table_order *order,
                         const struct jp_row *row)
{
    for (size_t i = 0, to; i < order->n; i = to) {
        to = i + 1;
        if (object_length(order->at[i])) {
            while (to < order->n && same_object(order->at[i], order->at[to]))
                to++;
            put_json_object(s, order, i, to, row);
        } else {
            struct jp_value v;

            table_get_value(order->at[i], row, &v);
            put_json(s, path_of(order->at[i]), order->at[i], &v);
        }
    }
}

size_t table_write_json(struct jp_json_stream *s, const char *key,
                        const struct jp_table *table,
                        const struct table_source *source)
{
    struct jp_row row = table_row(source);
    struct jp_rows rows = {0};
    struct table_order order;
    size_t left_out;

    if (key)
        json_stream_array(s, key);
    /* the rows keep their order, so readers can use indices into them */
    if (table_pick_rows(table, source, table->max_json, false, &rows) < 0)
        s->failed = true;
    table_make_order(table, place_json, &order);
    for (size_t i = 0; i < rows.n; i++) {
        table_find_row(table, source, rows.index[i], &row);
        json_stream_object(s, NULL);
        put_json_row(s, &order, &row);
        if (table->json_more)
            table->json_more(s, &row);
        json_stream_end_object(s);
    }
    left_out = rows.left_out;
    rows_fini(&rows);
    if (key)
        json_stream_end_array(s);
    return left_out;
}

void table_write_json_row(struct jp_json_stream *s,
                          const struct jp_table *table,
                          const struct table_source *source, size_t index)
{
    struct jp_row row = table_row(source);
    struct table_order order;

    table_make_order(table, place_json, &order);
    table_find_row(table, source, index, &row);
    json_stream_object(s, NULL);
    put_json_row(s, &order, &row);
    json_stream_end_object(s);
}
