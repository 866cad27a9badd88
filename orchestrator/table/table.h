/* table.h - one description per table, and the writers that use it.
 *
 * Each row of a const array describes one column. CSV, JSON, the page, text,
 * docs/dev/report-format.md and docs/summary.schema.json are made from it. The
 * column's kind decides here how a figure looks, how wide it is and what stands
 * for "unknown": an empty field in CSV, null in JSON, "-" in the page and in
 * text. There is one file a writer: table_csv.c, table_json.c, table_html.c,
 * table_text.c and table_show.c. The rows are those of a report
 * (orchestrator/report/table.h), or an array of the caller's.
 */
#ifndef JP_TABLE_TABLE_H
#define JP_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/json_stream.h"
#include "orchestrator/table/csv_out.h"

struct jp_report; /* this room hands these on, and looks into none */
struct jp_result;
struct metrics_row; /* orchestrator/metrics/metrics.h */

/* --- which rows of a long table are shown ---
 *
 * A report is bounded: a table shows the K most important rows. It counts the
 * others, which are in the CSV files. */

/* How important a row is. Below 0: the row is not useful alone; the page folds
 * it if other rows remain (see folded in struct jp_table). */
typedef double jp_row_weight(const struct jp_result *result, size_t row);

struct jp_rows {
    size_t *index; /* indices of the rows shown */
    size_t n;
    size_t left_out;
};

/* Picks at most max of n rows: those of greatest weight; of equal rows, the
 * first. weight NULL: all rows weigh the same. by_weight: returns the heaviest
 * first; else keeps the result's order. result may be NULL if n is 0. Returns
 * 0, or -1 when out of memory. Free with rows_fini. */
int rows_pick(const struct jp_result *result, size_t n, size_t max,
              jp_row_weight *weight, bool by_weight, struct jp_rows *rows);
/* The same by a figure of arg's: greatest first. */
typedef double jp_row_worth(void *arg, size_t row);
int rows_pick_by(size_t n, size_t max, jp_row_worth *worth, void *arg,
                 struct jp_rows *rows);
void rows_fini(struct jp_rows *rows);

/* --- columns --- */

/* A row and its context. */
struct jp_row {
    const struct jp_report *report; /* NULL: only the result is available */
    const struct jp_result *result;
    const void *extra; /* further data that the table's rows need */
    size_t index;
    const void *at; /* the row, of the type that the table's columns read */
};

/* The value of one column in a row. Text is borrowed from the row, or is in
 * buf. A text in a column of figures is shown unchanged. */
struct jp_value {
    enum jp_value_type {
        JP_VALUE_UNKNOWN,
        JP_VALUE_ABSENT, /* unknown, and JSON has no such member */
        JP_VALUE_COUNT,
        JP_VALUE_INT,
        JP_VALUE_REAL,
        JP_VALUE_BOOL, /* count holds 0 or 1 */
        JP_VALUE_TEXT,
        JP_VALUE_LIST, /* n texts */
        JP_VALUE_HIST
    } type;
    uint64_t count;
    int64_t number;
    double real; /* also the sort value of a JP_COL_FIGURE */
    double full; /* of a JP_BAR: the value of a full bar; 0: the weight of the
                    heaviest row */
    size_t n;
    char *const *list;
    const char *text;
    const char *more; /* JP_COL_MORE: text shown after a click; JP_COL_LINK:
                         where it leads, a relative path; JP_COL_VERDICT: the
                         word that has the colour */
    const void *hist; /* of a JP_VALUE_HIST, which put_hist writes */
    void (*put_hist)(struct jp_json_stream *s, const char *key,
                     const void *hist);
    char buf[480]; /* the size is that of JP_PLAIN_TEXT */
};

enum jp_column_kind {
    JP_COL_ID,      /* text: code, never cut */
    JP_COL_CODE,    /* text: a path */
    JP_COL_TEXT,    /* text: foreign, may be empty */
    JP_COL_WORD,    /* text: one of a few words */
    JP_COL_BOOL,    /* bool: "yes" and "no", except in JSON */
    JP_COL_LIST,    /* list of texts */
    JP_COL_COUNT,   /* count */
    JP_COL_RANK,    /* count: a number used as a name */
    JP_COL_PID,     /* int */
    JP_COL_BYTES,   /* count */
    JP_COL_US,      /* count or real */
    JP_COL_CLOCK,   /* count: microseconds since 1970 */
    JP_COL_GBS,     /* real: GB/s of 1e9 bytes a second */
    JP_COL_SHARE,   /* real: 0 to 1 */
    JP_COL_NUMBER,  /* real: another column has its unit */
    JP_COL_FIGURE,  /* text with several figures, sorted by real */
    JP_COL_MORE,    /* text, with more after a click */
    JP_COL_PROSE,   /* text of one or more sentences */
    JP_COL_HIST,    /* [bucket, count] pairs of a distribution; JSON only */
    JP_COL_SECONDS, /* real */
    JP_COL_DATE,    /* count: microseconds since 1970; readers see the day */
    JP_COL_CHANCE,  /* real: a probability, by its order of magnitude */
    JP_COL_REAL,    /* real: three digits, such as a mean of counts */
    JP_COL_LINK,    /* text, on the page a link to more */
    JP_COL_VERDICT, /* text: a verdict, on the page in the colour of `more` */
    JP_COL_PICTURE, /* on the page only: draw writes the cell */
    JP_COL_FIXED,   /* real: with the column's decimals and unit, so that a
                     * figure on a screen keeps its form */
    JP_COL_KINDS
};

enum jp_column_flag {
    JP_CSV = 1,       /* is in the CSV file, in the order of the array */
    JP_MAYBE = 2,     /* may be unknown */
    JP_TIP = 4,       /* the page shows help on the heading */
    JP_BAR = 8,       /* the page draws a bar, relative to the table's weight */
    JP_LOWEST = 0x10, /* the page sorts an unknown value below all others */
    JP_ROUND = 0x20,  /* JSON has it rounded to an integer */
    JP_REAL = 0x40,   /* get returns a real, whatever the kind */
    JP_FIXED = 0x80,  /* JSON has it with json_decimals */
    JP_OMIT = 0x100,  /* JSON has no member if it is unknown */
    JP_OPTIONAL = 0x200, /* table_show leaves it out if no row knows it */
};

enum jp_field {
    JP_FIELD_NONE,
    JP_FIELD_BOOL,
    JP_FIELD_U32,
    JP_FIELD_U64,
    JP_FIELD_I64,
    JP_FIELD_F64,
    JP_FIELD_TEXT,
    JP_FIELD_CHARS, /* char[] */
    JP_FIELD_MICRO  /* uint64_t, written / 1e6; CSV only */
};

#define JP_LAST 255 /* as a place: after all others */

struct jp_column {
    const char *key; /* heading in CSV; also the key in JSON if path is NULL */
    enum jp_column_kind kind;
    unsigned flags;
    unsigned char json, html, text; /* position there, from 1; 0: absent */
    const char *title;              /* heading in the page */
    const char *help;  /* one phrase; NULL: the title is enough, in a
                          table without a place in docs/ */
    const char *path;  /* path in JSON, "object.key"; the object is null if all
                          its members but "n" are unknown */
    const char *brief; /* heading in text; NULL: title in lower case */
    const char *none;  /* what readers see in place of "-" */
    const char *const *words; /* the words of a JP_COL_WORD; NULL: any */
    unsigned char width;      /* width in text; 0: that of the kind */
    unsigned short max;       /* most members of a list in JSON */
    unsigned char n_words;
    enum jp_field field; /* type of the member at offset in the row; NONE: get
                            reads the value */
    /* the value is unknown if the member at if_offset is 0 */
    enum jp_field if_field;
    size_t offset, if_offset;
    void (*get)(const struct jp_row *row, struct jp_value *v);
    void (*csv)(struct jp_csv *csv,
                const struct jp_row *row); /* writes the value; CSV only */
    void (*draw)(FILE *out, const struct jp_row *row); /* JP_COL_PICTURE */
    const char *zero; /* what readers see in place of 0 or "no"; NULL: that */
    const char *unit; /* of a JP_COL_FIXED; "%": a share in percent */
    unsigned char json_decimals; /* of a JP_FIXED */
    /* for table_show: position in the columns for programs, from 1, and the
     * decimals of a real there and of a JP_COL_FIXED; longest text, in bytes
     * (0: no limit); left out as the first, second, ... on a narrow terminal
     * (0: never) */
    unsigned char raw, decimals, cut, drops;
    /* for Prometheus: the name of the label that the column is, or the metric.
     * NULL: neither */
    const char *label;
    const struct metrics_row *metric;
};

/* The type of a member, by its address: an array of char has no type here, so a
 * column of it does not compile and needs a getter. */
/* clang-format off */
#define JP_FIELD_TYPE(row, member)                                             \
    _Generic(&((row *) 0)->member, bool *: JP_FIELD_BOOL,                      \
             uint32_t *: JP_FIELD_U32, uint64_t *: JP_FIELD_U64,               \
             int64_t *: JP_FIELD_I64, double *: JP_FIELD_F64,                  \
             char **: JP_FIELD_TEXT, const char **: JP_FIELD_TEXT)
/* clang-format on */

/* The member of a row's struct that the column shows unchanged. */
#define JP_FIELD(row, member)                                                  \
    .field = JP_FIELD_TYPE(row, member), .offset = offsetof(row, member)
#define JP_CHARS(row, member)                                                  \
    .field = JP_FIELD_CHARS, .offset = offsetof(row, member)
/* A member that is 0, or an empty text, if the column's value is unknown. */
#define JP_IF(row, member)                                                     \
    .if_field = JP_FIELD_TYPE(row, member), .if_offset = offsetof(row, member)
#define JP_IF_CHARS(row, member)                                               \
    .if_field = JP_FIELD_CHARS, .if_offset = offsetof(row, member)

struct jp_table {
    const char *name; /* csv/NAME.csv, if a column is in CSV */
    const char *json; /* key of its array in summary.json; NULL: none */
    const char *help; /* one phrase about its rows */
    const struct jp_column *columns;
    size_t n_columns;
    const char *title; /* heading in text; NULL: none */
    /* a line above the column headings in text; NULL: none */
    const char *banner;
    /* The rows: a member of struct jp_result that is an array, and its count
     * (JP_ROWS of orchestrator/report/table.h); or count and find; or only
     * row_size: the array of the source. */
    size_t rows, n_rows, row_size;
    size_t (*count)(const struct jp_report *report);
    void (*find)(struct jp_row *row); /* sets at, by index; NULL: CSV leaves
                                         the row out */
    jp_row_weight *weight; /* NULL: the first are shown, a full bar is 1 */
    bool by_weight;    /* readers get the heaviest first; else in rows' order */
    const char *worst; /* with by_weight, in place of weight: the key of the
                          column whose greatest figures are shown first */
    bool least_first;  /* its least ones are the worst */
    const char *folded[2]; /* what a row below 0 is, what several are; NULL:
                              there are none */
    size_t max_json, max_html, max_text;
    /* the file that has the rows left out of a page; NULL: csv/NAME.csv, or
     * summary.json */
    const char *rest;
    bool unsorted; /* a click on a heading of the page does not sort */
    /* for table_show: columns are as wide as their texts; blanks before the
     * first one */
    bool fitted;
    unsigned char indent;
    /* for Prometheus: tables of lower places come first, and are the last to be
     * left out; 0: after all others */
    unsigned char metrics_place;
    /* Writes further keys into a row's JSON object, after its columns. NULL:
     * none. */
    void (*json_more)(struct jp_json_stream *s, const struct jp_row *row);
    /* Writes a line of text below a row. NULL: none. */
    void (*below)(const struct jp_row *row, FILE *out);
};

/* What a column's values are in CSV, for writers of formats that have types. */
enum table_type {
    TABLE_TYPE_TEXT,
    TABLE_TYPE_BOOL, /* "yes", "no" */
    TABLE_TYPE_COUNT,
    TABLE_TYPE_INT,
    TABLE_TYPE_CLOCK, /* a count of microseconds since 1970 */
    TABLE_TYPE_REAL
};
enum table_type table_type_of(const struct jp_column *column);
/* Gets the value of a column in a row. */
void table_value(const struct jp_column *column, const struct jp_row *row,
                 struct jp_value *value);
/* The column of this key; NULL: there is none. */
const struct jp_column *table_column(const struct jp_table *table,
                                     const char *key);

#define JP_COLUMNS(list)                                                       \
    .columns = (list), .n_columns = sizeof(list) / sizeof(*(list))
#define JP_WORDS(list)                                                         \
    .words = (list), .n_words = sizeof(list) / sizeof(*(list))

/* Where the rows of a table are. */
struct table_source {
    const struct jp_report *report; /* for the table's count and getters */
    const struct jp_result *result; /* for tables with n_rows */
    const void *extra;              /* for getters */
    const void *rows; /* of tables with neither count nor n_rows: an array, of
                         elements of the table's row_size */
    size_t n;         /* its length */
    size_t left_out;  /* further rows, of which readers see the number */
};

/* Returns the number of rows, shown or not. */
size_t table_rows(const struct jp_table *table,
                  const struct table_source *source);

/* table_csv_head writes the heading, table_csv_part the columns [from, to) of
 * one row, table_csv all rows. */
void table_csv_head(const struct jp_table *table, FILE *out);
void table_csv_part(struct jp_csv *csv, const struct jp_table *table,
                    const struct jp_row *row, size_t from, size_t to);
/* Returns true if a member is 0, so the value that depends on it is unknown. */
static inline __attribute__((always_inline)) bool
table_is_zero(enum jp_field field, const void *at)
{
    switch (field) {
    case JP_FIELD_BOOL:
        return !*(const bool *) at;
    case JP_FIELD_U32:
        return !*(const uint32_t *) at;
    case JP_FIELD_U64:
        return !*(const uint64_t *) at;
    case JP_FIELD_CHARS:
        return !*(const char *) at;
    case JP_FIELD_TEXT: {
        const char *text = *(const char *const *) at;

        return !text || !*text;
    }
    default:
        return false;
    }
}

/* For table_csv_column: writes any other value. */
void table_csv_other(struct jp_csv *csv, const struct jp_column *c,
                     const struct jp_row *row);

/* Writes one column of a row. Inline, so that the compiler unrolls a loop over
 * a constant array of columns. */
static inline __attribute__((always_inline)) void
table_csv_column(struct jp_csv *csv, const struct jp_column *c,
                 const struct jp_row *row)
{
    const char *at = (const char *) row->at + c->offset;

    if (!(c->flags & JP_CSV))
        return;
    if (c->if_field &&
        table_is_zero(c->if_field, (const char *) row->at + c->if_offset))
        csv_out_empty(csv);
    else if (c->field == JP_FIELD_U64)
        csv_out_count(csv, *(const uint64_t *) (const void *) at);
    else if (c->field == JP_FIELD_U32)
        csv_out_count(csv, *(const uint32_t *) (const void *) at);
    else if (c->field == JP_FIELD_MICRO)
        csv_out_micro(csv, *(const uint64_t *) (const void *) at);
    else if (c->csv)
        c->csv(csv, row);
    else
        table_csv_other(csv, c, row);
}

void table_write_csv(struct jp_csv *csv, const struct jp_table *table,
                     const struct table_source *source);

/* Writes an array of at most max_json rows under key; NULL: without key and
 * brackets. Returns the number of rows left out. */
size_t table_write_json(struct jp_json_stream *s, const char *key,
                        const struct jp_table *table,
                        const struct table_source *source);

/* Writes the object of one row. */
void table_write_json_row(struct jp_json_stream *s,
                          const struct jp_table *table,
                          const struct table_source *source, size_t index);

/* Writes a <table> of at most max_html rows. Returns 0, or -1 when out of
 * memory, like table_write_text. */
int table_write_html(const struct jp_table *table,
                     const struct table_source *source, FILE *out);
/* Writes lines of at most JP_TEXT_COLUMNS: title, headings and at most max_text
 * rows. */
int table_write_text(const struct jp_table *table,
                     const struct table_source *source, FILE *out);

/* Writes headings and all rows with lines of at most TEXT_CELLS_COLUMNS, as in
 * text_cells.h: nothing is cut, and the last column is wrapped. A column's
 * width is the limit above which a text moves the rest of its row. Returns 0,
 * or -1 and err without memory. */
int table_lay_out(const struct jp_table *table,
                  const struct table_source *source, FILE *out,
                  struct jp_error *err);

/* --- on a terminal, or as columns for programs (table_show.c) --- */

enum table_look {
    TABLE_FOR_PEOPLE,   /* "2 MiB", "28.1 us" */
    TABLE_FOR_PROGRAMS, /* "2097152", "28.1" */
    TABLE_ON_SCREEN, /* as for people; a long text is cut to its column, so that
                      * lines stay in their places */
};

/* The columns that are shown, and their widths. */
struct table_view {
    const struct jp_table *table;
    const struct table_source *source;
    enum table_look look;
    const struct jp_column *columns[64];
    int widths[64]; /* negative: left-aligned; 0: no padding */
    size_t n;
    int last_cut; /* longest text of a left-aligned last column; 0: no limit */
    bool whole;   /* all columns of the look are shown */
};

/* Chooses the columns. On a narrower terminal they become as narrow as their
 * texts, then some are left out, and finally the text of the last one is cut.
 * On a screen some are left out at once. columns: of the terminal; 0: no limit.
 * Borrows table and source. */
void table_view_init(struct table_view *view, const struct jp_table *table,
                     const struct table_source *source, enum table_look look,
                     unsigned columns);
/* Writes a row without the end of the line. Index SIZE_MAX: the headings. */
void table_view_row(const struct table_view *view, size_t index, FILE *out);

/* Writes headings and rows; for people, as many columns as the terminal has
 * room for. Returns true if these are all. */
bool table_show(const struct jp_table *table, const struct table_source *source,
                enum table_look look, FILE *out);

/* Returns the number of columns of out's terminal; 0 if it is none. */
unsigned table_terminal_columns(FILE *out);

/* Formats a JP_COL_CHANCE into buf of JP_FIGURE_LEN bytes. Returns buf. */
char *table_chance(double chance, char *buf);

/* Returns the kind's word in docs/dev/report-format.md. */
const char *table_kind_name(enum jp_column_kind kind);

/* --- for getters --- */

/* Defines get_NAME, which puts a member of `at`, a struct ROW, into v. */
#define JP_GETTER(name, row_type, ...)                                         \
    static void get_##name(const struct jp_row *row, struct jp_value *v)       \
    {                                                                          \
        const struct row_type *at = row->at;                                   \
                                                                               \
        __VA_ARGS__;                                                           \
    }

static inline void value_count(struct jp_value *v, uint64_t count)
{
    v->type = JP_VALUE_COUNT;
    v->count = count;
}

static inline void value_real(struct jp_value *v, double real)
{
    v->type = JP_VALUE_REAL;
    v->real = real;
}

/* NULL: unknown. */
static inline void value_text(struct jp_value *v, const char *text)
{
    v->type = text ? JP_VALUE_TEXT : JP_VALUE_UNKNOWN;
    v->text = text;
}

/* Empty: unknown. */
static inline void value_name(struct jp_value *v, const char *text)
{
    value_text(v, text && *text ? text : NULL);
}

static inline void value_known(struct jp_value *v, bool known, uint64_t count)
{
    value_count(v, count);
    if (!known)
        v->type = JP_VALUE_UNKNOWN;
}

/* Below 0: unknown. */
static inline void value_signed(struct jp_value *v, int64_t n)
{
    value_known(v, n >= 0, n < 0 ? 0 : (uint64_t) n);
}

/* NaN: unknown. */
static inline void value_finite(struct jp_value *v, double real)
{
    value_real(v, real);
    if (real != real)
        v->type = JP_VALUE_UNKNOWN;
}

/* Sets the value of a full JP_BAR. 0: the bar stays empty. */
static inline void value_fill(struct jp_value *v, double full)
{
    v->full = full > 0 ? full : __builtin_inf();
}

static inline void value_bool(struct jp_value *v, bool is)
{
    v->type = JP_VALUE_BOOL;
    v->count = is;
}

/* Ends the stream (NULL: none). Returns 0, or -1 if the output failed. A reader
 * that closes the pipe early (head) is not an error. */
int table_output_end(struct jp_json_stream *s, FILE *out, struct jp_error *err);

#endif
