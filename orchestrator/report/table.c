/* table.c - write a described table as CSV, JSON, HTML and text.
 *
 * A column's value comes from get_value: a member of the row's struct, or a
 * getter. How it looks follows from the column's kind (`kinds` below). Each
 * medium has its own columns in its own order (make_order). The four writers
 * are table_csv, table_json, table_html and table_text; all but CSV show only
 * the most important rows (pick_rows). */
#include "orchestrator/report/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/baseline_file.h"

#define MAX_COLUMNS 64     /* of one medium */
#define LINE_MAX_BYTES 400 /* longer than a line before it is cut */

/* How values of each kind are shown. */
static const struct {
    const char *name;
    unsigned width; /* width in text */
    bool number;    /* right-aligned */
    bool cut;       /* cut to its width */
} kinds[JP_COL_KINDS] = {
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
};

const char *table_kind_name(enum jp_column_kind kind)
{
    return kinds[kind].name;
}

/* Gets the value of a column in a row. v->buf stays uninitialised: clearing it
 * for each value would cost more than the rest. */
static void get_value(const struct jp_column *c, const struct jp_row *row,
                      struct jp_value *v)
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
    default:
        c->get(row, v);
    }
}

size_t table_count(const struct jp_table *table, const struct jp_report *report)
{
    if (table->count)
        return table->count(report);
    /* an array of the result: its count is a member at a known offset */
    return report->result
               ? *(const size_t *) (const void *) ((const char *)
                                                       report->result +
                                                   table->n_rows)
               : 0;
}

/* Sets row->at to the row with this index: by the table's function, or as the
 * element of an array of the result. */
static void find_row(const struct jp_table *table, size_t index,
                     struct jp_row *row)
{
    row->index = index;
    if (table->find)
        table->find(row);
    else
        row->at =
            *(const char *const *) (const void *) ((const char *) row->result +
                                                   table->rows) +
            index * table->row_size;
}

/* How rows are compared by a column, for a table that shows its worst rows. */
struct worth {
    const struct jp_table *table;
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

    find_row(w->table, index, &w->row);
    get_value(w->column, &w->row, &v);
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

/* Picks at most max rows. by_weight: the most important first, by the column
 * `worst` if the table names one, else by its weight. Returns 0, or -1 when out
 * of memory. */
static int pick_rows(const struct jp_table *table, const struct jp_row *row,
                     size_t max, bool by_weight, struct jp_rows *rows)
{
    size_t n = table_count(table, row->report);
    struct worth worth = {table, NULL, *row};

    /* the column that the table names as `worst` */
    for (size_t i = 0; by_weight && table->worst && i < table->n_columns; i++)
        if (!strcmp(table->columns[i].key, table->worst))
            worth.column = &table->columns[i];
    /* the rows that a reader should see first */
    if (worth.column)
        return rows_pick_by(n, max, worth_of, &worth, rows);
    return rows_pick(row->result, n, max, table->weight, by_weight, rows);
}

/* --- CSV ------------------------------------------------------------------ */

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

/* Returns the word for a bool in CSV, the page and text. */
static const char *yes_or_no(const struct jp_value *v)
{
    return v->count ? "yes" : "no";
}

/* Writes a value that is not a plain number of the row. The inline part in the
 * header handles those, because they are most values of the large tables. */
void table_csv_other(struct jp_csv *csv, const struct jp_column *c,
                     const struct jp_row *row)
{
    struct jp_value value, *v = &value;

    get_value(c, row, v);
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
        csv_out_text(csv, yes_or_no(v));
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

void table_csv(struct jp_csv *csv, const struct jp_table *table,
               const struct jp_report *report, const void *extra)
{
    struct jp_row row = {report, report->result, extra, 0, NULL};

    for (size_t i = 0, n = table_count(table, report); i < n; i++) {
        find_row(table, i, &row);
        /* a row that does not exist, such as a slice in which the process did
         * not run */
        if (!row.at)
            continue;
        table_csv_part(csv, table, &row, 0, table->n_columns);
        csv_out_end(csv);
    }
}

/* --- which columns, in which order ---------------------------------------- */

/* The columns of one medium, in its order. */
struct order {
    const struct jp_column *at[MAX_COLUMNS];
    size_t n;
};

/* Each returns a column's position in one medium; 0 if it is absent. */
static unsigned char place_json(const struct jp_column *c)
{
    return c->json;
}

static unsigned char place_html(const struct jp_column *c)
{
    return c->html;
}

static unsigned char place_text(const struct jp_column *c)
{
    return c->text;
}

/* Collects the columns of a medium, sorted by position. Columns with the same
 * position (JP_LAST) keep the order of the array. An insertion sort, as tables
 * have few columns. */
static void make_order(const struct jp_table *table,
                       unsigned char (*place)(const struct jp_column *),
                       struct order *order)
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

/* --- JSON ----------------------------------------------------------------- */

/* Writes a value under its key; null if it is unknown. */
static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_column *c, const struct jp_value *v)
{
    switch (v->type) {
    case JP_VALUE_COUNT:
        json_stream_count(s, key, v->count);
        break;
    case JP_VALUE_INT:
        json_stream_int(s, key, v->number);
        break;
    case JP_VALUE_REAL:
        json_stream_real(s, key,
                         c->flags & JP_ROUND ? round(v->real) : v->real);
        break;
    case JP_VALUE_BOOL:
        json_stream_bool(s, key, v->count);
        break;
    case JP_VALUE_HIST:
        netkey_put_hist(s, key, v->hist);
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
static void put_json_object(struct jp_json_stream *s, const struct order *order,
                            size_t from, size_t to, const struct jp_row *row)
{
    size_t len = object_length(order->at[from]);
    struct jp_value v[MAX_COLUMNS];
    bool known = false;
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int) len, path_of(order->at[from]));
    /* all values first, because null is decided by all of them */
    for (size_t i = from; i < to; i++) {
        get_value(order->at[i], row, &v[i]);
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
static void put_json_row(struct jp_json_stream *s, const struct order *order,
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

            get_value(order->at[i], row, &v);
            put_json(s, path_of(order->at[i]), order->at[i], &v);
        }
    }
}

size_t table_json_rows(struct jp_json_stream *s, const struct jp_table *table,
                       const struct jp_report *report, const void *extra)
{
    struct jp_row row = {report, report->result, extra, 0, NULL};
    struct jp_rows rows;
    struct order order;
    size_t left_out;

    /* the rows keep their order, so readers can use indices into them */
    if (pick_rows(table, &row, table->max_json, false, &rows) < 0) {
        s->failed = true;
        return 0;
    }
    make_order(table, place_json, &order);
    for (size_t i = 0; i < rows.n; i++) {
        find_row(table, rows.index[i], &row);
        json_stream_object(s, NULL);
        put_json_row(s, &order, &row);
        if (table->json_more)
            table->json_more(s, &row);
        json_stream_end_object(s);
    }
    left_out = rows.left_out;
    rows_fini(&rows);
    return left_out;
}

void table_json_row(struct jp_json_stream *s, const struct jp_table *table,
                    const struct jp_report *report, size_t index)
{
    struct jp_row row = {report, report->result, NULL, 0, NULL};
    struct order order;

    make_order(table, place_json, &order);
    find_row(table, index, &row);
    json_stream_object(s, NULL);
    put_json_row(s, &order, &row);
    json_stream_end_object(s);
}

size_t table_json(struct jp_json_stream *s, const struct jp_table *table,
                  const struct jp_report *report, const void *extra)
{
    /* the key is the last part; the caller has opened the objects before it */
    const char *dot = strrchr(table->json, '.');
    size_t left_out;

    json_stream_array(s, dot ? dot + 1 : table->json);
    left_out = table_json_rows(s, table, report, extra);
    json_stream_end_array(s);
    return left_out;
}

/* --- for readers ---------------------------------------------------------- */

/* Returns the number to sort or compare by; NaN for a text or an unknown value.
 */
static double as_real(const struct jp_value *v)
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

/* Returns what readers see in place of an unknown value. */
static const char *none_of(const struct jp_column *c)
{
    return c->none ? c->none : "-";
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

/* Formats a figure with its unit. commas: whether ranks have thousands
 * separators; in text they have none. Returns buf, or a borrowed text for an
 * unknown value. */
static const char *figure(const struct jp_column *c, const struct jp_value *v,
                          bool commas, char *buf)
{
    if (v->type == JP_VALUE_UNKNOWN)
        return none_of(c);
    switch (c->kind) {
    case JP_COL_BYTES:
        return figure_bytes(v->count, buf);
    case JP_COL_US:
        return figure_us(as_real(v), buf);
    case JP_COL_GBS:
        return figure_gbs(v->real, buf);
    case JP_COL_NUMBER:
        return figure_exact(rounded(v->real), buf);
    case JP_COL_SHARE:
        return figure_share(v->real, buf);
    case JP_COL_CLOCK:
        return figure_utc(v->count, buf);
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

static const char *text_of(const struct jp_column *c, const struct jp_value *v)
{
    if (v->type == JP_VALUE_BOOL)
        return yes_or_no(v);
    return v->type == JP_VALUE_TEXT && *v->text ? v->text : none_of(c);
}

/* Returns true if the column's values are texts, also a text of several
 * figures. */
static bool is_text(const struct jp_column *c)
{
    return !kinds[c->kind].number || c->kind == JP_COL_FIGURE;
}

/* Writes one cell. full: the value of a full bar, unless the value has its own.
 */
static void put_html(FILE *out, const struct jp_column *c,
                     const struct jp_value *v, double full)
{
    char buf[JP_FIGURE_LEN];
    double real = as_real(v);

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
    else if (!is_text(c) && v->type == JP_VALUE_TEXT)
        html_out_cell(out, v->text);
    else if (c->kind == JP_COL_MORE)
        html_out_more(out, v->text, v->more);
    else if (c->kind == JP_COL_FIGURE)
        html_out_figure(out, text_of(c, v),
                        v->type == JP_VALUE_UNKNOWN ? real : v->real);
    else if (c->kind == JP_COL_PROSE)
        html_out_prose(out, text_of(c, v));
    else if (is_text(c))
        html_out_cell(out, text_of(c, v));
    else if (c->flags & JP_BAR && v->type != JP_VALUE_UNKNOWN)
        html_out_bar(out, figure(c, v, true, buf), real,
                     real / (v->full > 0 ? v->full : full));
    else
        html_out_figure(out, figure(c, v, true, buf), real);
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
static void put_html_head(FILE *out, const struct order *order, bool sortable)
{
    struct jp_html_column heads[MAX_COLUMNS];

    for (size_t i = 0; i < order->n; i++) {
        const struct jp_column *c = order->at[i];

        heads[i] = (struct jp_html_column){c->title,
                                           c->flags & JP_TIP ? c->help : NULL,
                                           kinds[c->kind].number};
    }
    html_out_table(out, heads, order->n, sortable);
}

/* Writes a row of the page. */
static void put_html_row(FILE *out, const struct order *order,
                         const struct jp_row *row, double full)
{
    html_out_row(out);
    for (size_t i = 0; i < order->n; i++) {
        struct jp_value v;

        get_value(order->at[i], row, &v);
        put_html(out, order->at[i], &v, full);
    }
    html_out_row_end(out);
}

/* Writes the rows [from, to) of the picked ones as a table of their own. */
static void put_html_table(FILE *out, const struct jp_table *table,
                           struct jp_row *row, const struct jp_rows *rows,
                           size_t from, size_t to)
{
    double full = full_bar(table, row->result, rows);
    struct order order;
    char file[64];

    make_order(table, place_html, &order);
    put_html_head(out, &order, !table->unsorted);
    for (size_t i = from; i < to; i++) {
        find_row(table, rows->index[i], row);
        put_html_row(out, &order, row, full);
    }
    /* where readers find the rows that are left out */
    if (table->columns->flags & JP_CSV)
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

int table_html(const struct jp_table *table, const struct jp_report *report,
               const void *extra, FILE *out)
{
    struct jp_row row = {report, report->result, extra, 0, NULL};
    struct jp_rows rows;
    size_t n;

    if (pick_rows(table, &row, table->max_html, table->by_weight, &rows) < 0)
        return -1;
    n = n_unfolded(table, row.result, &rows);
    put_html_table(out, table, &row, &rows, 0, n);
    if (n < rows.n) {
        fprintf(out,
                "<details class=\"folded\"><summary>%s %s folded</summary>\n",
                FIG_COUNT(rows.n - n), table->folded[rows.n - n > 1]);
        put_html_table(out, table, &row, &rows, n, rows.n);
        fputs("</details>\n", out);
    }
    rows_fini(&rows);
    return 0;
}

/* Appends a field to a line of n bytes. Returns the new length. */
static size_t add_text(char line[LINE_MAX_BYTES], size_t n,
                       const struct jp_column *c, const char *text)
{
    int width = c->width ? c->width : (int) kinds[c->kind].width;
    int more = snprintf(line + n, LINE_MAX_BYTES - n, "%s%*s", n ? " " : "  ",
                        kinds[c->kind].number ? width : -width, text);

    n += more > 0 ? (size_t) more : 0;
    return n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES - 1;
}

/* Writes the headings in lower case, unless the column has a brief one. */
static void put_text_head(const struct order *order, FILE *out)
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
static void put_text_row(const struct order *order, const struct jp_row *row,
                         FILE *out)
{
    char line[LINE_MAX_BYTES] = "";
    size_t n = 0;

    for (size_t i = 0; i < order->n; i++) {
        const struct jp_column *c = order->at[i];
        size_t width = c->width ? c->width : kinds[c->kind].width;
        char buf[JP_FIGURE_LEN], cut[64];
        struct jp_value v;

        get_value(c, row, &v);
        /* figures always fit; names may be cut; other texts make a column wider
         */
        if (!is_text(c))
            n = add_text(line, n, c, figure(c, &v, false, buf));
        else if (kinds[c->kind].cut)
            n = add_text(line, n, c, cut_text(c, text_of(c, &v), width, cut));
        else
            n = add_text(line, n, c, text_of(c, &v));
    }
    text_out_line(out, "%s", line);
}

int table_text(const struct jp_table *table, const struct jp_report *report,
               FILE *out)
{
    struct jp_row row = {report, report->result, NULL, 0, NULL};
    struct jp_rows rows;
    struct order order;

    if (pick_rows(table, &row, table->max_text, table->by_weight, &rows) < 0)
        return -1;
    make_order(table, place_text, &order);
    /* an empty line separates the table from what is above */
    fputc('\n', out);
    if (table->title)
        text_out_line(out, "%s", table->title);
    if (table->banner)
        text_out_line(out, "%s", table->banner);
    put_text_head(&order, out);
    for (size_t i = 0; i < rows.n; i++) {
        find_row(table, rows.index[i], &row);
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
