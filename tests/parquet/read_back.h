/* read_back.h - a small reader of Parquet, for the files that parquet.h writes.
 * It takes any file of flat, optional columns with data pages of version 1, in
 * PLAIN, RLE_DICTIONARY or DELTA_BINARY_PACKED, without compression or with
 * gzip. A file that violates the format fails an assertion. */
#ifndef JP_TESTS_PARQUET_READ_BACK_H
#define JP_TESTS_PARQUET_READ_BACK_H

#include <stddef.h>
#include <stdint.h>

/* Compares the file's cells with the CSV text (RFC 4180, without line ends in
 * cells), which has a heading and `rows` rows: texts except for bytes that are
 * cleaned, numbers by value. A cell is null if it is empty, or a time beyond 63
 * bits. */
void read_back_equal(const uint8_t *file, size_t n, const char *csv, size_t len,
                     uint64_t rows);

#endif
