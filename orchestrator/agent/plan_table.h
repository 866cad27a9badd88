/* plan_table.h - columns of text that keep their lines short and cut nothing.
 *
 * Cells are added row by row. A column is as wide as its widest cell, but for
 * cells above the column's limit: those are printed whole, and what follows
 * them in their row moves. The last column is broken at blanks. Control
 * characters become '?'.
 *
 * A failure (out of memory) is remembered and reported by plan_table_print.
 */
#ifndef JP_AGENT_PLAN_TABLE_H
#define JP_AGENT_PLAN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

#define PLAN_TABLE_COLUMNS 100 /* of a line */
#define PLAN_TABLE_MAX 6       /* of a table */

struct plan_table {
    size_t n_columns;
    unsigned limit[PLAN_TABLE_MAX]; /* 0: none */
    char **cells;                   /* owned */
    size_t n;
    bool failed;
};

/* The next cell, row by row. */
void plan_table_add(struct plan_table *table, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints all rows, each line after `indent` blanks, and frees the cells. */
int plan_table_print(struct plan_table *table, unsigned indent, FILE *out,
                     struct jp_error *err);

#endif
