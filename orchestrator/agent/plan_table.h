/* plan_table.h - text columns with short lines and no truncation.
 *
 * Cells are added row by row. A column is as wide as its widest cell within the
 * column's limit. A longer cell is printed whole and shifts the rest of its
 * row. The last column is wrapped at blanks. Control characters become '?'.
 *
 * An error (out of memory) is stored, and plan_table_print returns it.
 */
#ifndef JP_AGENT_PLAN_TABLE_H
#define JP_AGENT_PLAN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

#define PLAN_TABLE_COLUMNS 100 /* line length */
#define PLAN_TABLE_MAX 6       /* columns per table */

struct plan_table {
    size_t n_columns;
    unsigned limit[PLAN_TABLE_MAX]; /* width limit of each column; 0: none */
    char **cells;                   /* owned */
    size_t n;
    bool failed;
};

/* Adds the next cell, row by row. */
void plan_table_add(struct plan_table *table, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints all rows, each line indented by `indent` blanks, and frees the
 * cells. */
int plan_table_print(struct plan_table *table, unsigned indent, FILE *out,
                     struct jp_error *err);

#endif
