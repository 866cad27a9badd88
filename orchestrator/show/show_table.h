/* show_table.h - a table of show's: its columns described once, for a terminal
 * and for JSON.
 */
#ifndef JP_SHOW_SHOW_TABLE_H
#define JP_SHOW_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/json_stream.h"

enum show_kind {
    SHOW_TEXT,  /* char[] at offset */
    SHOW_COUNT, /* uint64_t at offset */
    SHOW_PID,   /* int64_t at offset; below 0: unknown */
    SHOW_REAL,  /* what real gives */
};

/* How a figure looks to people. */
enum show_unit { SHOW_PLAIN, SHOW_GROUPED, SHOW_BYTES, SHOW_US, SHOW_GBS };

/* What a table is for: people (2 MiB, 28.1 us), a program that reads columns
 * (2097152, 28.1), or JSON. */
enum show_form { SHOW_HUMAN, SHOW_RAW, SHOW_JSON };

struct show_column {
    const char *key;  /* JSON's */
    const char *head; /* NULL: JSON only */
    int width;        /* below 0: to the left */
    enum show_kind kind;
    size_t offset;
    double (*real)(const void *row);
    int decimals, json_decimals; /* of real */
    int cut;                     /* text's bytes on a terminal; 0: all */
    /* False: "-", and JSON has no such member. NULL: it is known. */
    bool (*known)(const void *row);
    bool last; /* JSON has it behind the others */
    enum show_unit unit;
    const char *human; /* heading with such a figure; NULL: head */
};

struct show_table {
    const struct show_column *columns;
    size_t n_columns, row_size;
};

/* Heading and rows, human or raw. */
void show_table_print(const struct show_table *table, const void *rows,
                      size_t n, enum show_form form, FILE *out);
/* An array. */
void show_table_json(struct jp_json_stream *s, const char *key,
                     const struct show_table *table, const void *rows,
                     size_t n);

/* Ends the stream (NULL: there is none). 0, or -1: output failed; a reader that
 * has seen enough (head) is no failure. */
int show_table_end(struct jp_json_stream *s, FILE *out, struct jp_error *err);

#endif
