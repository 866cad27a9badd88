/* summary_file.h - read a summary.json back: foreign input.
 *
 * It may have been written by another version, cut, or replaced by anything. No
 * more is trusted than what these functions check.
 */
#ifndef JP_REPORT_SUMMARY_FILE_H
#define JP_REPORT_SUMMARY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/error.h"

#define JP_SUMMARY_NAME "summary.json"
#define JP_SUMMARY_MAX_BYTES (64 * 1024 * 1024)

/* Reads <step_dir>/summary.json. The result is an object of schema_version 1
 * whose verdict has a known word and a text; caller decrefs. */
json_t *summary_file_read(const char *step_dir, struct jp_error *err);

/* Is root a summary as above? 0, or -1 and err, which names path. */
int summary_file_check(const json_t *root, const char *path,
                       struct jp_error *err);

/* Parts of an object; a NULL object, an absent key or another type give "",
 * false or NAN. Strings are borrowed and not cleaned. */
const char *summary_file_text(const json_t *object, const char *key);
bool summary_file_count(const json_t *object, const char *key, uint64_t *value);
double summary_file_real(const json_t *object, const char *key);

#endif
