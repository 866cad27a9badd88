/* table.h - one description of a table, and its writers.
 *
 * A column is one row of a const array (tables.c). CSV, JSON, the page,
 * summary.txt, docs/report-format.md and docs/summary.schema.json are made from
 * it. What a kind of figure looks like, how wide it is and what stands for
 * "unknown" is decided here, by kind: an empty field in CSV, null in JSON, "-"
 * in the page and in text.
 */
#ifndef JP_REPORT_TABLE_H
#define JP_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/report/out.h"
#include "common/json_stream.h"
#include "orchestrator/report/report.h"

/* --- which rows of a long table are worth showing ---
 *
 * A report is bounded: tables show the K rows that matter most; the rest is
 * counted and stands in the CSV files. */

/* How much a row matters. Below 0: it says nothing by itself; the page folds it
 * where other rows remain (struct jp_table's folded). */
typedef double jp_row_weight(const struct jp_result *result, size_t row);

jp_row_weight rows_comm_time;   /* longest ranks' time, us */
jp_row_weight rows_cell_time;   /* operations x mean longest time, us */
jp_row_weight rows_cell_busbw;  /* the same; < 0: without any bandwidth */
jp_row_weight rows_rank_caused; /* what others waited for it, us */
jp_row_weight rows_p2p_bytes;
jp_row_weight rows_p2p_node_bytes;
jp_row_weight rows_window_time;

struct jp_rows {
    size_t *index; /* rows shown */
    size_t n;
    size_t left_out;
};

/* Picks at most max of n rows, those of greatest weight (ties: first come).
 * weight NULL: all weigh the same. by_weight: in order of weight, heaviest
 * first; else in the result's order. result may be NULL with n = 0. Returns 0,
 * or -1 when out of memory. Free with rows_fini. */
int rows_pick(const struct jp_result *result, size_t n, size_t max,
              jp_row_weight *weight, bool by_weight, struct jp_rows *rows);
/* The same by a figure of arg's: greatest first. */
typedef double jp_row_worth(void *arg, size_t row);
int rows_pick_by(size_t n, size_t max, jp_row_worth *worth, void *arg,
                 struct jp_rows *rows);
void rows_fini(struct jp_rows *rows);

/* The communicator of a row, never NULL (an index out of range gives an
 * empty one). */
const struct jp_comm *rows_comm(const struct jp_result *result, size_t comm);

/* --- columns --- */

/* A row and what it belongs to. */
struct jp_row {
    const struct jp_report *report; /* NULL: only the result is known */
    const struct jp_result *result;
    const void *extra; /* what the table's rows need besides */
    size_t index;
    const void *at; /* of the type that the table's columns read */
};

/* One field of a row. Text is borrowed from the row, or stands in buf. Text in
 * place of a figure is shown as it is. */
struct jp_value {
    enum jp_value_type {
        JP_VALUE_UNKNOWN,
        JP_VALUE_COUNT,
        JP_VALUE_INT,
        JP_VALUE_REAL,
        JP_VALUE_BOOL, /* count is 0 or 1 */
        JP_VALUE_TEXT,
        JP_VALUE_LIST, /* of n texts */
        JP_VALUE_HIST
    } type;
    uint64_t count;
    int64_t number;
    double real; /* also what a JP_COL_FIGURE is sorted by */
    double full; /* of a JP_BAR: what fills it; 0: the heaviest row's weight */
    size_t n;
    char *const *list;
    const char *text;
    const char *more; /* JP_COL_MORE: what a click shows */
    const struct jp_bwhist *hist;
    char buf[480]; /* JP_PLAIN_TEXT */
};

enum jp_column_kind {
    JP_COL_ID,     /* text: code, never cut */
    JP_COL_CODE,   /* text: a path */
    JP_COL_TEXT,   /* text: foreign, may be empty */
    JP_COL_WORD,   /* text: one of a few */
    JP_COL_BOOL,   /* bool: "yes" and "no" but for JSON */
    JP_COL_LIST,   /* list */
    JP_COL_COUNT,  /* count */
    JP_COL_RANK,   /* count: a number that names something */
    JP_COL_PID,    /* int */
    JP_COL_BYTES,  /* count */
    JP_COL_US,     /* count or real */
    JP_COL_CLOCK,  /* count: microseconds since 1970 */
    JP_COL_GBS,    /* real: GB/s of 1e9 bytes a second */
    JP_COL_SHARE,  /* real: 0 to 1 */
    JP_COL_NUMBER, /* real: its unit is another column's */
    JP_COL_FIGURE, /* text made of several figures, sorted by real */
    JP_COL_MORE,   /* text, and more behind a click */
    JP_COL_PROSE,  /* text of a sentence or more */
    JP_COL_HIST,   /* [bucket, count] of a distribution; JSON only */
    JP_COL_KINDS
};

enum jp_column_flag {
    JP_CSV = 1,       /* stands in the CSV file, in the order of rows */
    JP_MAYBE = 2,     /* may be unknown */
    JP_TIP = 4,       /* the page shows help at the heading */
    JP_BAR = 8,       /* the page draws it as a bar of the table's weight */
    JP_LOWEST = 0x10, /* the page sorts an unknown one below all */
    JP_ROUND = 0x20,  /* JSON has it rounded to a whole number */
    JP_REAL = 0x40,   /* what get gives is a real, whatever the kind */
};

enum jp_field {
    JP_FIELD_NONE,
    JP_FIELD_BOOL,
    JP_FIELD_U32,
    JP_FIELD_U64,
    JP_FIELD_I64,
    JP_FIELD_F64,
    JP_FIELD_TEXT,
    JP_FIELD_MICRO /* uint64_t, / 1e6; CSV only */
};

#define JP_LAST 255 /* of a place: behind all others */

struct jp_column {
    const char *key; /* CSV's heading, and JSON's key where path is NULL */
    enum jp_column_kind kind;
    unsigned flags;
    unsigned char json, html, text; /* its place there, from 1; 0: absent */
    const char *title;              /* on the page */
    const char *help;               /* one phrase; NULL: the title says it */
    const char *path;  /* JSON's, "object.key"; an object is null where all its
                          members but "n" are unknown */
    const char *brief; /* heading in text; NULL: title in small letters */
    const char *none;  /* for readers, in place of "-" */
    const char *const *words; /* of JP_COL_WORD; NULL: any */
    unsigned char width;      /* in text; 0: the kind's */
    unsigned short max;       /* of a list, in JSON */
    unsigned char n_words;
    enum jp_field field;    /* at offset in the row; NONE: get says it */
    enum jp_field if_field; /* unknown where the field at if_offset is 0 */
    size_t offset, if_offset;
    void (*get)(const struct jp_row *row, struct jp_value *v);
    void (*csv)(struct jp_csv *csv, const struct jp_row *row); /* CSV only */
};

/* clang-format off */
#define JP_FIELD_TYPE(row, member)                                             \
    _Generic(((row *) 0)->member, bool: JP_FIELD_BOOL, uint32_t: JP_FIELD_U32, \
             uint64_t: JP_FIELD_U64, int64_t: JP_FIELD_I64,                    \
             double: JP_FIELD_F64, char *: JP_FIELD_TEXT,                      \
             const char *: JP_FIELD_TEXT)
/* clang-format on */

/* The member of a row's struct that a column shows as it is. */
#define JP_FIELD(row, member)                                                  \
    .field = JP_FIELD_TYPE(row, member), .offset = offsetof(row, member)
/* The member that is 0 where the column is unknown. */
#define JP_IF(row, member)                                                     \
    .if_field = JP_FIELD_TYPE(row, member), .if_offset = offsetof(row, member)

struct jp_table {
    const char *name; /* csv/NAME.csv, where a column is in it */
    const char *json; /* its array in summary.json; NULL: none */
    const char *help; /* one phrase on its rows */
    const struct jp_column *columns;
    size_t n_columns;
    const char *title;  /* in text; NULL: none */
    const char *banner; /* a line above text's headings; NULL: none */
    /* rows: an array and its count in struct jp_result, or these two */
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
    bool unsorted; /* a click on the page's headings does not sort */
    /* What stands in a row's JSON object behind its columns; NULL: nothing. */
    void (*json_more)(struct jp_json_stream *s, const struct jp_row *row);
    /* A line of text below a row; NULL: none. */
    void (*below)(const struct jp_row *row, FILE *out);
};

#define JP_COLUMNS(list)                                                       \
    .columns = (list), .n_columns = sizeof(list) / sizeof(*(list))
#define JP_WORDS(list)                                                         \
    .words = (list), .n_words = sizeof(list) / sizeof(*(list))

/* .rows and what goes with it, of result->member. */
#define JP_ROWS(member)                                                        \
    .rows = offsetof(struct jp_result, member),                                \
    .n_rows = offsetof(struct jp_result, n_##member),                          \
    .row_size = sizeof(*((struct jp_result *) 0)->member)

size_t table_count(const struct jp_table *table,
                   const struct jp_report *report);

/* The heading; then the columns [from, to) of one row; then all rows. */
void table_csv_head(const struct jp_table *table, FILE *out);
void table_csv_part(struct jp_csv *csv, const struct jp_table *table,
                    const struct jp_row *row, size_t from, size_t to);
/* One column of a row. Inline, so that a loop over a constant array of columns
 * becomes code without a loop. */
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
    default:
        return false;
    }
}

void table_csv_other(struct jp_csv *csv, const struct jp_column *c,
                     const struct jp_row *row);

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

void table_csv(struct jp_csv *csv, const struct jp_table *table,
               const struct jp_report *report, const void *extra);

/* An array of at most max_json rows; returns how many were left out. */
size_t table_json(struct jp_json_stream *s, const struct jp_table *table,
                  const struct jp_report *report, const void *extra);

/* The same without the array's brackets. */
size_t table_json_rows(struct jp_json_stream *s, const struct jp_table *table,
                       const struct jp_report *report, const void *extra);

/* The object of one row. */
void table_json_row(struct jp_json_stream *s, const struct jp_table *table,
                    const struct jp_report *report, size_t index);

/* <table> of at most max_html rows. 0, or -1 when out of memory; so does
 * table_text. */
int table_html(const struct jp_table *table, const struct jp_report *report,
               const void *extra, FILE *out);
int table_text(const struct jp_table *table, const struct jp_report *report,
               FILE *out);

const char *table_kind_name(enum jp_column_kind kind);

/* --- for getters --- */

/* get_NAME: puts a field of `at`, a struct ROW, into v. */
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

/* What fills a JP_BAR; 0: it stays empty. */
static inline void value_fill(struct jp_value *v, double full)
{
    v->full = full > 0 ? full : __builtin_inf();
}

static inline void value_bool(struct jp_value *v, bool is)
{
    v->type = JP_VALUE_BOOL;
    v->count = is;
}

#endif
