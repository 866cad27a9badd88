/* summary_file.h - JSON as a tree: a summary.json that is read back, small
 * documents that are written.
 */
#ifndef JP_REPORT_SUMMARY_FILE_H
#define JP_REPORT_SUMMARY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/defaults.h"
#include "common/error.h"

/* --- read a summary.json back: foreign input -----------------------------
 *
 * It may have been written by another version, cut, or replaced by anything. No
 * more is trusted than what these functions check.
 */

/* How much of it is wanted: the long tables are comms, ranks, windows, busy. */
enum summary_parts { SUMMARY_WITHOUT_TABLES, SUMMARY_WHOLE };

/* Reads <step_dir>/summary.json, within the limits of common/jsonload.h. The
 * result is an object of schema_version 1 whose verdict has a known word and a
 * text; caller decrefs. */
json_t *summary_file_read(const char *step_dir, enum summary_parts parts,
                          struct jp_error *err);

/* Is root a summary as above? 0, or -1 and err, which names path. */
int summary_file_check(const json_t *root, const char *path,
                       struct jp_error *err);

/* Parts of an object; a NULL object, an absent key or another type give "",
 * false or NAN. Strings are borrowed and not cleaned. */
const char *summary_file_text(const json_t *object, const char *key);
bool summary_file_count(const json_t *object, const char *key, uint64_t *value);
double summary_file_real(const json_t *object, const char *key);

/* What people read of a verdict or a finding: its plain sentences, else (an
 * older report) its text. */
const char *summary_file_sentence(const json_t *object);

/* What reports say they were written by. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#define JP_VERSION PACKAGE_VERSION
#else
#define JP_VERSION "unknown"
#endif

/* --- JSON as a tree, for small documents that are read as well -----------
 *
 * Text is cleaned, what is not finite becomes null. A failure is remembered;
 * every json_t given is taken over. What is written only goes through
 * common/json_stream.h.
 */

struct jp_json {
    bool failed;
};

json_t *json_out_object(struct jp_json *json);
json_t *json_out_array(struct jp_json *json);

/* Sets object's key, or appends to array. */
void json_out_put(struct jp_json *json, json_t *object, const char *key,
                  json_t *value);
void json_out_append(struct jp_json *json, json_t *array, json_t *value);

/* A cleaned string; NULL becomes null. */
json_t *json_out_string(const char *text);
void json_out_text(struct jp_json *json, json_t *object, const char *key,
                   const char *text);
/* Values above INT64_MAX are given as INT64_MAX. */
void json_out_count(struct jp_json *json, json_t *object, const char *key,
                    uint64_t value);
void json_out_real(struct jp_json *json, json_t *object, const char *key,
                   double value);

/* Writes root (an object; taken over, may be NULL after a failure) and a
 * newline; reals with 15 significant digits, keys in order of insertion. */
int json_out_dump(struct jp_json *json, json_t *root, FILE *out,
                  struct jp_error *err);

#endif
