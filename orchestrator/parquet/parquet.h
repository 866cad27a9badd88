/* parquet.h - write a table as an Apache Parquet file.
 *
 * Source of the format: github.com/apache/parquet-format, README.md (layout),
 * src/main/thrift/parquet.thrift (headers, in Thrift's compact protocol),
 * Encodings.md and LogicalTypes.md. What is written of it:
 *
 *   file         "PAR1", row groups, FileMetaData, its length, "PAR1"
 *   row group    at most PARQUET_ROWS rows or some PARQUET_TEXT bytes of text:
 *                whoever reads a file needs memory for one of them
 *   column       flat and optional: unknown values are nulls. A dictionary
 *                page and indices (RLE_DICTIONARY) where values repeat, else
 *                whole numbers as DELTA_BINARY_PACKED and the rest as PLAIN
 *   page         version 1, at most PARQUET_PAGE_ROWS rows, definition levels
 *                as RLE, compressed by zstd, gzip or not at all
 *   statistics   of a column in a row group: nulls, least and greatest value
 *                (texts by their bytes; none where one is long)
 *
 * | type          | physical   | logical                       |
 * |---------------|------------|-------------------------------|
 * | PARQUET_TEXT  | BYTE_ARRAY | STRING (UTF8)                 |
 * | PARQUET_BOOL  | BOOLEAN    |                               |
 * | PARQUET_COUNT | INT64      | INTEGER(64, unsigned)         |
 * | PARQUET_INT   | INT64      |                               |
 * | PARQUET_CLOCK | INT64      | TIMESTAMP(UTC, microseconds)  |
 * | PARQUET_REAL  | DOUBLE     |                               |
 *
 * Threads may each fill and encode groups of their own; a file takes encoded
 * groups one after the other.
 */
#ifndef JP_PARQUET_PARQUET_H
#define JP_PARQUET_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum {
    PARQUET_ROWS = 131072,     /* of a row group, at most */
    PARQUET_PAGE_ROWS = 32768, /* of a page, at most */
    PARQUET_COLUMNS = 64
};
#define PARQUET_TEXT_BYTES (32u << 20) /* of a row group before it is full */

enum parquet_type {
    PARQUET_TEXT,
    PARQUET_BOOL,
    PARQUET_COUNT,
    PARQUET_INT,
    PARQUET_CLOCK, /* microseconds since 1970, UTC */
    PARQUET_REAL,
    PARQUET_TYPES
};

enum parquet_codec { PARQUET_NONE, PARQUET_GZIP, PARQUET_ZSTD };

/* zstd where this program has it, else gzip. */
enum parquet_codec parquet_codec_best(void);
/* "none", "gzip" or "zstd". -1: no such word, or this program lacks it. */
int parquet_codec_find(const char *word, enum parquet_codec *codec);

struct parquet_column {
    const char *name; /* borrowed as long as its group or file lives */
    enum parquet_type type;
};

/* --- rows of one row group ------------------------------------------------ */

struct parquet_group;

/* 1 to PARQUET_COLUMNS columns, copied but for their names. NULL: no memory.
 * Memory grows with the rows: 12 bytes a value, and the texts. Destroy takes
 * NULL. */
struct parquet_group *parquet_group_create(const struct parquet_column *columns,
                                           size_t n, enum parquet_codec codec);
void parquet_group_destroy(struct parquet_group *group);

/* One value of the row: each column once, in any order, then
 * parquet_group_end_row. Missing memory shows in parquet_group_encode. */
void parquet_put_null(struct parquet_group *group, size_t column);
void parquet_put_bool(struct parquet_group *group, size_t column, bool value);
/* COUNT; INT and CLOCK by their 64 bits. */
void parquet_put_number(struct parquet_group *group, size_t column,
                        uint64_t value);
void parquet_put_real(struct parquet_group *group, size_t column, double value);
void parquet_put_text(struct parquet_group *group, size_t column,
                      const char *text, size_t len);
void parquet_group_end_row(struct parquet_group *group);

size_t parquet_group_rows(const struct parquet_group *group);
/* True: it is to be encoded and appended before the next row. */
bool parquet_group_full(const struct parquet_group *group);

/* Makes the pages. 0, or -1 without memory. */
int parquet_group_encode(struct parquet_group *group, struct jp_error *err);

/* --- the file ------------------------------------------------------------- */

struct parquet_file;

/* Begins a file on out, which is borrowed and at its start. table: its name,
 * for readers ("jobprof.table" among the file's pairs). NULL and err: no
 * memory, or it cannot be written. Destroy takes NULL and writes nothing. */
struct parquet_file *parquet_create(FILE *out, const char *table,
                                    const struct parquet_column *columns,
                                    size_t n, struct jp_error *err);
void parquet_destroy(struct parquet_file *file);

/* Writes an encoded group of the same columns; the group is empty after it.
 * One without rows is left out. */
int parquet_append(struct parquet_file *file, struct parquet_group *group,
                   struct jp_error *err);

/* Writes what ends a file. */
int parquet_finish(struct parquet_file *file, struct jp_error *err);

#endif
