/* show_table.h - a table of `jobprof show`; one description of its columns
 * serves the terminal and JSON.
 */
#ifndef JP_SHOW_SHOW_TABLE_H
#define JP_SHOW_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/figure.h"
#include "common/json_stream.h"

enum show_kind {
    SHOW_TEXT,  /* char[] at offset */
    SHOW_COUNT, /* uint64_t at offset */
    SHOW_PID,   /* int64_t at offset; negative: unknown */
    SHOW_REAL,  /* result of real */
};

/* The format of a figure for people. */
enum show_unit { SHOW_PLAIN, SHOW_GROUPED, SHOW_BYTES, SHOW_US, SHOW_GBS };

/* The purpose of the output: for people (2 MiB, 28.1 us), for a program that
 * reads columns (2097152, 28.1), or JSON. */
enum show_form { SHOW_HUMAN, SHOW_RAW, SHOW_JSON };

/* The outputs that have a column. JSON has every column with a key. */
enum show_where {
    SHOW_EVERYWHERE,
    SHOW_FOR_PEOPLE,   /* not in SHOW_RAW */
    SHOW_FOR_PROGRAMS, /* not in SHOW_HUMAN */
};

/* A number in a line below a table. */
#define SHOW_NUMBER(n, form)                                                   \
    ((form) == SHOW_HUMAN ? FIG_COUNT(n) : FIG_EXACT((double) (n)))

struct show_column {
    const char *key;  /* name in JSON; NULL: not in JSON */
    const char *head; /* NULL: only in JSON */
    int width;        /* negative: left-aligned */
    enum show_kind kind;
    size_t offset;
    double (*real)(const void *row);
    int decimals, json_decimals; /* decimals of real */
    int cut;                     /* longest text on a terminal, in bytes; 0: no
                                  * limit */
    /* False: prints "-", and JSON omits the member. NULL: always known. */
    bool (*known)(const void *row);
    bool last;     /* placed after the others in JSON */
    bool optional; /* left out if no row has a known value */
    enum show_where where;
    enum show_unit unit;
    const char *human; /* heading in SHOW_HUMAN; NULL: head */
    unsigned dropped;  /* left out as the first, second, ... for people whose
                        * terminal is too narrow; 0: never */
};

struct show_table {
    const struct show_column *columns;
    size_t n_columns, row_size;
};

/* Prints heading and rows, human or raw. For people whose terminal is narrower
 * than the table, columns are as wide as their texts, and as many as fit.
 * Returns true if these are all. */
bool show_table_print(const struct show_table *table, const void *rows,
                      size_t n, enum show_form form, FILE *out);
/* Prints a line. For people on a terminal that is narrower it is broken at
 * blanks, and what follows has this indent. */
__attribute__((format(printf, 3, 4))) void
show_table_line(FILE *out, int indent, const char *fmt, ...);
/* Writes an array. */
void show_table_json(struct jp_json_stream *s, const char *key,
                     const struct show_table *table, const void *rows,
                     size_t n);

/* Formats a rank for people: the job's, and the communicator's in brackets if
 * it is another: "5", "5 (1)", "- (1)" if the job's is unknown. Negative:
 * unknown. Returns buf. */
#define SHOW_RANK_LEN 48
char *show_rank(int64_t job_rank, int64_t comm_rank, char buf[SHOW_RANK_LEN]);

/* Ends the stream (NULL: none). Returns 0, or -1 if the output failed. A reader
 * that closes the pipe early (head) is not an error. */
int show_table_end(struct jp_json_stream *s, FILE *out, struct jp_error *err);

#endif
