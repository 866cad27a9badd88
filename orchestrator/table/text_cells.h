/* text_cells.h - columns of text with short lines and no truncation, for facts
 * and settings: what `jobprof plan` prints.
 *
 * Cells are added row by row. A column is as wide as its widest cell within the
 * column's limit. A longer cell is printed whole and shifts the rest of its
 * row. The last column is wrapped at blanks. Control characters become '?'.
 *
 * An error (out of memory) is stored, and text_cells_print returns it. Rows of
 * a described table are laid out in the same way by table_lay_out (table.h).
 */
#ifndef JP_TABLE_TEXT_CELLS_H
#define JP_TABLE_TEXT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

#define TEXT_CELLS_COLUMNS 100 /* line length */
#define TEXT_CELLS_MAX 6       /* columns of text */

struct text_cells {
    size_t n_columns;
    unsigned limit[TEXT_CELLS_MAX]; /* width limit of each column; 0: none */
    char **at;                      /* owned */
    size_t n;
    bool failed;
};

/* Adds the next cell, row by row. */
void text_cells_add(struct text_cells *cells, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints all rows, each line indented by `indent` blanks, and frees the
 * cells. */
int text_cells_print(struct text_cells *cells, unsigned indent, FILE *out,
                     struct jp_error *err);

#endif
