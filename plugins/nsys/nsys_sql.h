/* nsys_sql.h - read tables of a foreign SQLite file, and nothing else of it.
 *
 * The file is opened by jobprof (no link, no FIFO), and SQLite reads it through
 * that descriptor: it opens no other file, takes no lock, writes nothing and
 * needs no journal, so a folder that is read-only or on a file system without
 * locks is as good as any. A journal beside the file means that its writer has
 * not finished: such a file is refused, as is one that is shorter than its head
 * says. Only real tables are read, row by row; no view, no virtual table and no
 * expression of the file is evaluated. Memory is bounded by a small cache.
 *
 * Without libsqlite3 (docs/dependencies.md) nsys_sql_open always fails and says
 * so.
 */
#ifndef JP_PLUGINS_NSYS_SQL_H
#define JP_PLUGINS_NSYS_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Most columns that a scan gives. */
#define NSYS_SQL_COLUMNS 16

struct nsys_db;

/* Called now and then while rows are read; true ends it with an error. */
typedef bool nsys_stop(void *arg);

/* Is this build able to read them? */
bool nsys_sql_built(void);

/* NULL: err says what it is instead. stop may be NULL; it and arg live until
 * nsys_sql_close, which takes NULL. */
struct nsys_db *nsys_sql_open(const char *path, nsys_stop *stop, void *arg,
                              struct jp_error *err);
void nsys_sql_close(struct nsys_db *db);

/* A table of that name. Case does not matter. */
bool nsys_sql_has(struct nsys_db *db, const char *table);

struct nsys_cell {
    enum nsys_cell_type {
        NSYS_CELL_NONE, /* NULL, or the table has no such column */
        NSYS_CELL_NUMBER,
        NSYS_CELL_TEXT,
        NSYS_CELL_OTHER /* a fraction or bytes: of no use here */
    } type;
    int64_t number;
    const char *text; /* borrowed for the call */
};

typedef int nsys_row(void *arg, const struct nsys_cell *cells,
                     struct jp_error *err);

/* Calls row for each row of the table, with a cell for each of the n columns;
 * NULL among them gives NSYS_CELL_NONE. 0, also for a table that does not
 * exist; -1: row failed, or the file is damaged. */
int nsys_sql_scan(struct nsys_db *db, const char *table,
                  const char *const *columns, size_t n, nsys_row *row,
                  void *arg, struct jp_error *err);

/* The text of a number in table(id, column): StringIds(id, value). Borrowed
 * until the next call; NULL: none. */
const char *nsys_sql_text(struct nsys_db *db, int64_t id);

#endif
