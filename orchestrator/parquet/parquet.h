/* parquet.h - write a table as an Apache Parquet file.
 *
 * Format: github.com/apache/parquet-format, README.md (layout),
 * src/main/thrift/parquet.thrift (headers, in Thrift's compact protocol),
 * Encodings.md and LogicalTypes.md. This writer uses:
 *
 *   file         "PAR1", row groups, FileMetaData, its length, "PAR1"
 *   row group    at most PARQUET_ROWS rows or about PARQUET_TEXT_BYTES of
 *                text: a reader needs memory for one row group
 *   column       flat and optional: unknown values are nulls. Repeated values
 *                have a dictionary page and indices (RLE_DICTIONARY); other
 *                integers are DELTA_BINARY_PACKED, and the rest is PLAIN
 *   page         version 1, at most PARQUET_PAGE_ROWS rows, definition levels
 *                as RLE, compressed by zstd, gzip or not at all
 *   statistics   of a column in a row group: nulls, smallest and largest value
 *                (strings by their bytes; none if one of them is long)
 *
 *   | type          | physical   | logical                       |
 *   |---------------|------------|-------------------------------|
 *   | PARQUET_TEXT  | BYTE_ARRAY | STRING (UTF8)                 |
 *   | PARQUET_BOOL  | BOOLEAN    |                               |
 *   | PARQUET_COUNT | INT64      | INTEGER(64, unsigned)         |
 *   | PARQUET_INT   | INT64      |                               |
 *   | PARQUET_CLOCK | INT64      | TIMESTAMP(UTC, microseconds)  |
 *   | PARQUET_REAL  | DOUBLE     |                               |
 *
 * Several threads may fill and encode their own groups. A file takes encoded
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
    PARQUET_ROWS = 131072,     /* limit of rows per row group */
    PARQUET_PAGE_ROWS = 32768, /* limit of rows per page */
    PARQUET_COLUMNS = 64
};
/* a row group with this much text is full */
#define PARQUET_TEXT_BYTES (32u << 20)

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

/* zstd if this program has it, otherwise gzip. */
enum parquet_codec parquet_codec_best(void);
/* Parses "none", "gzip" or "zstd". Returns -1 if the word is unknown or this
 * program does not have the codec. */
int parquet_codec_find(const char *word, enum parquet_codec *codec);

struct parquet_column {
    const char *name; /* borrowed while its group or file exists */
    enum parquet_type type;
};

/* --- rows of one row group ------------------------------------------------ */

struct parquet_group;

/* Makes a group with 1 to PARQUET_COLUMNS columns, which are copied except for
 * their names. Returns NULL without memory. Memory grows with the rows: 12
 * bytes per value, plus the strings. Destroy accepts NULL. */
struct parquet_group *parquet_group_create(const struct parquet_column *columns,
                                           size_t n, enum parquet_codec codec);
void parquet_group_destroy(struct parquet_group *group);

/* Puts one value of the row. Each column gets one value, in any order; then
 * call parquet_group_end_row. Lack of memory is reported by
 * parquet_group_encode. */
void parquet_put_null(struct parquet_group *group, size_t column);
void parquet_put_bool(struct parquet_group *group, size_t column, bool value);
/* For COUNT. INT and CLOCK are passed as their 64 bits. */
void parquet_put_number(struct parquet_group *group, size_t column,
                        uint64_t value);
void parquet_put_real(struct parquet_group *group, size_t column, double value);
void parquet_put_text(struct parquet_group *group, size_t column,
                      const char *text, size_t len);
void parquet_group_end_row(struct parquet_group *group);

/* True: encode and append the group before the next row. */
bool parquet_group_full(const struct parquet_group *group);

/* Makes the pages. Returns 0, or -1 without memory. */
int parquet_group_encode(struct parquet_group *group, struct jp_error *err);

/* --- the file ------------------------------------------------------------- */

struct parquet_file;

/* Begins a file on out, which is borrowed and positioned at its start. table:
 * name of the table for readers ("jobprof.table" in the file's metadata).
 * Returns NULL and err without memory, or if it cannot be written. Destroy
 * accepts NULL and writes nothing. */
struct parquet_file *parquet_create(FILE *out, const char *table,
                                    const struct parquet_column *columns,
                                    size_t n, struct jp_error *err);
void parquet_destroy(struct parquet_file *file);

/* Writes an encoded group with the same columns and empties it. Skips a group
 * without rows. */
int parquet_append(struct parquet_file *file, struct parquet_group *group,
                   struct jp_error *err);

/* Writes the end of the file. */
int parquet_finish(struct parquet_file *file, struct jp_error *err);

#endif
