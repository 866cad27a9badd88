/* metrics.c - the metrics of steps, and the output of sets as text.
 *
 * A set is an array of objects with a hash table over their labels
 * (metrics_add_texts); metrics_write prints it metric by metric, as both
 * formats require. */
#include "orchestrator/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/utf8.h"
#include "common/vector.h"

/* The column of a row of metrics.h. */
#define COLUMN(place, ...) METRICS_ROW(__VA_ARGS__),

static const struct jp_column of_step[] = {
    METRICS_STEP_LABELS, METRICS_LABEL("user"), METRICS_LABEL("account"),
    METRICS_LABEL("partition"), METRICS_OF_STEP(COLUMN)};
const struct jp_table metrics_step = {
    .help = "a step, as measured by a node",
    JP_COLUMNS(of_step),
    .metrics_place = 10,
};

static const struct jp_column of_verdict[] = {
    METRICS_STEP_LABELS, METRICS_LABEL("verdict"), METRICS_OF_VERDICT(COLUMN)};
const struct jp_table metrics_verdict = {
    .help = "a step's verdict",
    JP_COLUMNS(of_verdict),
    .metrics_place = 20,
};

static const struct jp_column of_finding[] = {
    METRICS_STEP_LABELS, METRICS_LABEL("kind"), METRICS_OF_FINDING(COLUMN)};
const struct jp_table metrics_finding = {
    .help = "a kind of findings",
    JP_COLUMNS(of_finding),
    .metrics_place = 30,
};

static const struct jp_column of_node[] = {METRICS_STEP_LABELS,
                                           METRICS_OF_NODE(COLUMN)};
const struct jp_table metrics_node = {
    .help = "a node of a step",
    JP_COLUMNS(of_node),
    .metrics_place = 40,
};

static const struct jp_column of_rank[] = {
    METRICS_STEP_LABELS, METRICS_LABEL("rank"), METRICS_OF_RANK(COLUMN)};
const struct jp_table metrics_rank = {
    .help = "a rank",
    JP_COLUMNS(of_rank),
    .metrics_place = 50,
};

#undef COLUMN
#define COLUMN(place, of_coll, of_p2p, help)                                   \
    METRICS_ROW(of_coll, METRICS_UNTYPED, NULL, METRICS_BOTH, help),

static const struct jp_column of_coll[] = {
    METRICS_INSPECTOR_LABELS("collective"), METRICS_LABEL("algo_proto"),
    METRICS_LABEL("step"), METRICS_LABEL("rank"), METRICS_OF_SIZE(COLUMN)};
const struct jp_table metrics_coll = {
    .help = "a rank's collectives of one size",
    JP_COLUMNS(of_coll),
    .metrics_place = 60,
};

#undef COLUMN

const struct jp_table *const metrics_of_steps[] = {
    &metrics_step, &metrics_verdict, &metrics_finding,
    &metrics_node, &metrics_rank,    &metrics_coll,
    NULL};

/* --- tables --------------------------------------------------------------- */

const char *metrics_label(const struct jp_table *table, size_t i)
{
    /* Rows of a report's own table do not say of which step they are. */
    if (table->name) {
        if (i < METRICS_OWN_LABELS)
            return i ? "step" : "jobid";
        i -= METRICS_OWN_LABELS;
    }
    for (size_t k = 0; k < table->n_columns; k++)
        if (table->columns[k].label && !i--)
            return table->columns[k].label;
    return NULL;
}

const struct metrics_row *metrics_at(const struct jp_table *table, size_t i)
{
    for (size_t k = 0; k < table->n_columns; k++)
        if (table->columns[k].metric && !i--)
            return table->columns[k].metric;
    return NULL;
}

/* The number of metrics in a row of the table. */
static size_t count_metrics(const struct jp_table *table)
{
    size_t n = 0;

    for (size_t k = 0; k < table->n_columns; k++)
        n += table->columns[k].metric != NULL;
    return n;
}

/* --- sets ----------------------------------------------------------------- */

void metrics_init(struct metrics_set *set)
{
    *set = (struct metrics_set){.time_s = NAN};
}

/* Leaves an empty set. */
void metrics_fini(struct metrics_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->objects[i]);
    free(set->objects);
    hash_fini(&set->table);
    metrics_init(set);
}

/* Copies a label's value: complete UTF-8 characters without control
 * characters. */
static void take_text(char out[METRICS_LABEL_BYTES], const char *text)
{
    size_t used = 0;

    while (text && *text) {
        uint32_t point = 0;
        /* 0: not valid UTF-8; one byte is replaced. */
        size_t n = utf8_decode(text, strlen(text), &point);
        /* Control characters of C0 and C1 would break a line, or a terminal. */
        bool good = n && point >= 0x20 && (point < 0x7f || point > 0x9f);

        /* Truncate between characters. */
        if (used + (good ? n : 1) >= METRICS_LABEL_BYTES)
            break;
        if (good)
            memcpy(out + used, text, n);
        else
            out[used] = '?';
        used += good ? n : 1;
        text += n ? n : 1;
    }
    out[used] = '\0';
}

static uint64_t hash_of(const struct metrics_object *o)
{
    uint64_t hash = hash_word(hash_start(), (uintptr_t) o->table);

    for (size_t i = 0; i < METRICS_LABELS; i++)
        hash = hash_text(hash, o->labels[i]);
    return hash;
}

/* All labels are compared; unused ones are "". */
static bool is_same(const struct metrics_object *a,
                    const struct metrics_object *b)
{
    if (a->table != b->table)
        return false;
    for (size_t i = 0; i < METRICS_LABELS; i++)
        if (strcmp(a->labels[i], b->labels[i]) != 0)
            return false;
    return true;
}

/* Values are found by the labels, so that several callers may fill one object.
 */
double *metrics_add_texts(struct metrics_set *set, const struct jp_table *table,
                          const char *const texts[METRICS_LABELS])
{
    size_t n = count_metrics(table);
    /* Objects are allocated one by one, so that the returned pointers stay
     * valid. */
    struct metrics_object *o = calloc(1, sizeof(*o) + n * sizeof(*o->values));
    uint64_t hash;
    uint32_t at;

    if (!o || VECTOR_ROOM(set->objects, set->n + 1, set->room) < 0)
        goto fail;
    /* The object is made first, because it is its own key. */
    o->table = table;
    o->time_s = set->time_s;
    for (size_t i = 0; i < METRICS_LABELS && metrics_label(table, i); i++)
        take_text(o->labels[i], texts[i]);
    /* An object with these labels exists: drop the new one. */
    hash = hash_of(o);
    for (size_t i = 0; (at = hash_next(&set->table, hash, &i)) != HASH_NONE;)
        if (is_same(set->objects[at], o)) {
            free(o);
            return set->objects[at]->values;
        }
    if (hash_add(&set->table, hash, (uint32_t) set->n) < 0)
        goto fail;
    for (size_t i = 0; i < n; i++)
        /* A value that is never set is not written. */
        o->values[i] = NAN;
    set->objects[set->n++] = o;
    return o->values;
fail:
    free(o);
    return NULL;
}

double *metrics_add_named(struct metrics_set *set, const struct jp_table *table,
                          const struct metrics_named *labels, size_t n)
{
    const char *texts[METRICS_LABELS] = {NULL}, *name;

    for (size_t k = 0; k < n; k++) {
        size_t i = 0;

        while ((name = metrics_label(table, i)) &&
               strcmp(name, labels[k].label))
            i++;
        if (!name || i == METRICS_LABELS)
            return NULL;
        texts[i] = labels[k].text;
    }
    return metrics_add_texts(set, table, texts);
}

/* A value as a number; NAN: unknown, or no number. */
static double real_of(const struct jp_value *v)
{
    switch (v->type) {
    case JP_VALUE_COUNT:
    case JP_VALUE_BOOL:
        return (double) v->count;
    case JP_VALUE_INT:
        return (double) v->number;
    case JP_VALUE_REAL:
        return v->real;
    default:
        return NAN;
    }
}

/* A value as a label; "": unknown. */
static const char *label_of(const struct jp_value *v, char buf[32])
{
    if (v->type == JP_VALUE_TEXT)
        return v->text;
    if (v->type != JP_VALUE_COUNT && v->type != JP_VALUE_INT)
        return "";
    if (v->type == JP_VALUE_COUNT)
        snprintf(buf, 32, "%" PRIu64, v->count);
    else
        snprintf(buf, 32, "%" PRId64, v->number);
    return buf;
}

int metrics_add_rows(struct metrics_set *set, const struct jp_table *table,
                     const void *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char bufs[METRICS_LABELS][32];
        const char *texts[METRICS_LABELS] = {NULL};
        struct jp_value cells[METRICS_LABELS], v;
        const struct jp_row row = {
            .index = i, .at = (const char *) rows + i * table->row_size};
        size_t n_labels = 0, n_values = 0;
        double *values;

        for (size_t k = 0; k < table->n_columns; k++)
            if (table->columns[k].label && n_labels < METRICS_LABELS) {
                table_value(&table->columns[k], &row, &cells[n_labels]);
                texts[n_labels] = label_of(&cells[n_labels], bufs[n_labels]);
                n_labels++;
            }
        values = metrics_add_texts(set, table, texts);
        if (!values)
            return -1;
        for (size_t k = 0; k < table->n_columns; k++)
            if (table->columns[k].metric) {
                table_value(&table->columns[k], &row, &v);
                values[n_values++] = real_of(&v);
            }
    }
    return 0;
}

/* --- sizes ---------------------------------------------------------------- */

#define UNIT 1024
#define UNITS 5

/* Returns the unit of a size, 0 to 4; *scale: its bytes. */
static unsigned unit_of(uint64_t bytes, uint64_t *scale)
{
    unsigned unit = 0;

    for (*scale = 1; unit + 1 < UNITS && bytes / *scale >= UNIT; unit++)
        *scale *= UNIT;
    return unit;
}

/* The same rule as Inspector's. */
uint64_t metrics_size_first(uint64_t bytes)
{
    uint64_t scale;

    unit_of(bytes, &scale);
    return bytes / scale * scale;
}

char *metrics_size_text(uint64_t bytes, char *buf, size_t size)
{
    /* Inspector writes KB for 1,024 bytes. */
    static const char *const units[UNITS] = {"B", "KB", "MB", "GB", "TB"};
    uint64_t scale;
    unsigned unit = unit_of(bytes, &scale);

    if (bytes)
        snprintf(buf, size, "%" PRIu64 "-%" PRIu64 "%s", bytes / scale,
                 bytes / scale + 1, units[unit]);
    /* The range is shown even if the size is its first one, as in Inspector's
     * files. */
    else
        snprintf(buf, size, "0B");
    return buf;
}

/* --- text ----------------------------------------------------------------- */

/* Whether the object has a value for its i-th metric that can be written. */
static bool is_told(const struct metrics_object *o, size_t i)
{
    const struct metrics_row *row = metrics_at(o->table, i);

    return isfinite(o->values[i]) &&
           (row->type != METRICS_COUNTER || o->values[i] >= 0);
}

/* Counts with the rule of metrics_write. */
size_t metrics_count(const struct metrics_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; metrics_at(set->objects[i]->table, k); k++)
            n += is_told(set->objects[i], k);
    return n;
}

/* Writes the header of a metric. */
static void put_family(const struct metrics_row *row, enum metrics_format how,
                       FILE *out)
{
    /* By enum metrics_type, in OpenMetrics' words. */
    static const char *const words[] = {"gauge", "counter", "unknown"};
    size_t len = strlen(row->name);

    /* Metrics of Inspector's names have no header, see metrics.h. */
    if (how == METRICS_TEXT) {
        if (row->type != METRICS_UNTYPED)
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
                    row->name, words[row->type]);
        return;
    }
    /* OpenMetrics names the family of a counter without "_total". */
    if (row->type == METRICS_COUNTER)
        len -= strlen("_total");
    fprintf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int) len, row->name,
            row->help, (int) len, row->name, words[row->type]);
    if (row->unit)
        fprintf(out, "# UNIT %.*s %s\n", (int) len, row->name, row->unit);
}

/* take_text has replaced line ends, so only these two characters need an
 * escape. */
static void put_label(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
}

/* Whether a double of this value is an integer that it holds exactly. */
static bool is_exact(double value)
{
    return fabs(value) < 0x1p53 && value == floor(value);
}

/* Writes exact integers with all of their digits and other numbers with nine.
 * If the nine digits are those of an exact integer, they are written as one: so
 * a number that is read and written again stays the same. */
static void put_number(double value, FILE *out)
{
    char text[32];

    if (!is_exact(value)) {
        snprintf(text, sizeof(text), "%.9g", value);
        value = strtod(text, NULL);
    }
    fprintf(out, is_exact(value) ? "%.0f" : "%.9g", value);
}

/* Writes the line of one of the object's metrics. */
static void put_sample(const struct metrics_object *o, size_t at,
                       const struct metrics_how *how, FILE *out)
{
    const char *name;
    /* Empty labels are omitted; without any label there are no braces. */
    const char *before = "{";

    fputs(metrics_at(o->table, at)->name, out);
    for (size_t i = 0;
         i < METRICS_LABELS && (name = metrics_label(o->table, i)); i++) {
        if (!*o->labels[i])
            continue;
        fprintf(out, "%s%s=\"", before, name);
        put_label(o->labels[i], out);
        putc('"', out);
        before = ",";
    }
    fputs(*before == ',' ? "} " : " ", out);
    put_number(o->values[at], out);
    if (how->format == METRICS_OPENMETRICS && isfinite(o->time_s))
        fprintf(out, " %.3f", o->time_s);
    putc('\n', out);
}

/* The place of a table in the output. */
static unsigned place_of(const struct jp_table *table)
{
    return table->metrics_place ? table->metrics_place : UINT_MAX;
}

/* By place; tables without one by their names, so that the order does not
 * depend on who adds first. */
static int by_place(const void *a, const void *b)
{
    const struct jp_table *x = *(const struct jp_table *const *) a;
    const struct jp_table *y = *(const struct jp_table *const *) b;
    unsigned p = place_of(x), q = place_of(y);

    if (p != q)
        return p < q ? -1 : 1;
    return strcmp(metrics_at(x, 0)->name, metrics_at(y, 0)->name);
}

/* The tables of the set's objects in the order of the output. NULL: no memory,
 * or no object. Caller frees. */
static const struct jp_table **tables_of(const struct metrics_set *set,
                                         size_t *n)
{
    const struct jp_table **tables = NULL;

    *n = 0;
    for (size_t i = 0; i < set->n; i++) {
        size_t k = 0;

        while (k < *n && tables[k] != set->objects[i]->table)
            k++;
        if (k < *n)
            continue;
        if (VECTOR_DOUBLE(tables, *n) < 0) {
            free(tables);
            return NULL;
        }
        tables[(*n)++] = set->objects[i]->table;
    }
    if (*n)
        qsort(tables, *n, sizeof(*tables), by_place);
    return tables;
}

/* Writes a metric's samples. *n counts them, beyond the limit, too. */
static void put_metric(const struct metrics_set *set,
                       const struct jp_table *table, size_t metric,
                       const struct metrics_how *how, size_t *n, FILE *out)
{
    bool began = false;

    for (size_t i = 0; i < set->n; i++) {
        const struct metrics_object *o = set->objects[i];

        if (o->table != table || !is_told(o, metric) ||
            ((*n)++ >= how->max_series && how->max_series))
            continue;
        /* A metric without samples has no header either. */
        if (!began)
            put_family(metrics_at(table, metric), how->format, out);
        began = true;
        put_sample(o, metric, how, out);
    }
}

/* Both formats want all samples of a metric together. */
int metrics_write(const struct metrics_set *set, const struct metrics_how *how,
                  FILE *out, size_t *left, struct jp_error *err)
{
    size_t n = 0, n_tables = 0;
    const struct jp_table **tables = tables_of(set, &n_tables);

    if (!tables && set->n)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n_tables; i++)
        for (size_t m = 0; metrics_at(tables[i], m); m++)
            put_metric(set, tables[i], m, how, &n, out);
    free(tables);
    /* OpenMetrics requires this last line. */
    if (how->format == METRICS_OPENMETRICS)
        fputs("# EOF\n", out);
    if (left)
        *left = how->max_series && n > how->max_series ? n - how->max_series
                                                       : 0;
    return fflush(out) != 0 || ferror(out)
               ? error_set(err, "cannot be written: %s", strerror(errno))
               : 0;
}

/* --- the tables of the documentation -------------------------------------- */

/* Prints the rows of one kind as a table in Markdown. */
static void describe(const struct jp_table *const *tables, unsigned told,
                     const char *title, FILE *out)
{
    /* By enum metrics_type, in the words of the text format. */
    static const char *const words[] = {"gauge", "counter", "untyped"};
    const struct metrics_row *row;
    const char *label;

    fprintf(
        out,
        "\n### %s\n\n| metric | type | labels | what |\n|---|---|---|---|\n",
        title);
    for (; *tables; tables++)
        for (size_t m = 0; (row = metrics_at(*tables, m)); m++) {
            /* A metric that occurs in several places is listed in the first
             * one only. */
            if (!(row->told & told) || (row->told & (told - 1)))
                continue;
            fprintf(out, "| `%s` | %s |", row->name, words[row->type]);
            for (size_t i = 0; (label = metrics_label(*tables, i)); i++)
                fprintf(out, " %s", label);
            fprintf(out, " | %s%s |\n", row->help,
                    row->told == METRICS_BOTH ? " (also of a report)" : "");
        }
}

void metrics_describe(const struct jp_table **tables, size_t n, FILE *out)
{
    static const struct {
        unsigned told;
        const char *title;
    } parts[] = {{METRICS_RUNNING, "While a step runs"},
                 {METRICS_REPORT, "Of a report"},
                 {METRICS_HISTORY, "Of a site"},
                 {METRICS_COLLECT, "Of the collector on a node"}};

    if (n)
        qsort(tables, n, sizeof(*tables), by_place);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        describe(tables, parts[i].told, parts[i].title, out);
}
