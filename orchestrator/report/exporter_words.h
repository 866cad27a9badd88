/* exporter_words.h - sizes, times and names in the exporter's own notation.
 *
 * Each function writes into buf of EXPORTER_WORD bytes and returns it. The
 * notation is Python's, pandas' and numpy's, as the exporter's columns and file
 * names show it.
 */
#ifndef JP_REPORT_EXPORTER_WORDS_H
#define JP_REPORT_EXPORTER_WORDS_H

#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

#define EXPORTER_WORD 80

/* "65.54KB": powers of 1000, two decimals; "0B". The exporter rounds the size
 * in a CSV column by Python (exact decimal value, ties to even), the one in a
 * folder's name by numpy (times 100, ties to even, / 100): 1055 is 1.05KB in
 * the first, 1.06KB in the second. */
char *exporter_size(uint64_t bytes, char *buf);
char *exporter_size_numpy(uint64_t bytes, char *buf);

/* "2026-11-21 11:02:03.123" in local time; what is below a millisecond is cut
 * off. */
char *exporter_datetime(uint64_t us, char *buf);

/* "110.0\u03bcs", "33.2ms", "1.5s", in UTF-8. */
char *exporter_duration(uint64_t us, char *buf);

/* A double as Python prints it: shortest that reads back, "5.0" for 5. NaN is
 * "", as pandas writes it. */
char *exporter_real(double value, char *buf);

/* The name of a function as part of a file's name: letters, digits and "._-";
 * any other byte is '_', and the function's number behind keeps names apart. */
char *exporter_coll(const struct jp_result *result, uint32_t coll, char *buf);

/* Whether the exporter has files of this function. */
bool exporter_knows(const char *coll);

#endif
