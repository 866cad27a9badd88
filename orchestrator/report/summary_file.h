/* summary_file.h - JSON as a tree: reads a summary.json and writes small
 * documents. */
#ifndef JP_REPORT_SUMMARY_FILE_H
#define JP_REPORT_SUMMARY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/defaults.h"
#include "common/error.h"

/* --- read a summary.json: foreign input ----------------------------------
 *
 * The file may come from another version, be truncated, or hold anything. Only
 * what these functions check can be trusted. */

/* How much to read. The long tables are comms, ranks, windows and busy. */
enum summary_parts { SUMMARY_WITHOUT_TABLES, SUMMARY_WHOLE };

/* Reads <step_dir>/summary.json within the limits of common/jsonload.h. The
 * result is an object of schema_version 1; its verdict has a known word and a
 * text. The caller drops the reference. Returns NULL and err on failure. */
json_t *summary_file_read(const char *step_dir, enum summary_parts parts,
                          struct jp_error *err);

/* Checks that root is a summary as above. Returns 0, or -1 and err, which names
 * path. */
int summary_file_check(const json_t *root, const char *path,
                       struct jp_error *err);

/* Values by their path, keys with dots between them: "quality.ranks_seen" of
 * the root, "host" of a row. If object is NULL, or the value is absent or of
 * another type, they return NULL, "", false or NAN. Strings are borrowed and
 * not cleaned. */
const json_t *summary_file_at(const json_t *object, const char *path);
const char *summary_file_text(const json_t *object, const char *path);
bool summary_file_count(const json_t *object, const char *path,
                        uint64_t *value);
double summary_file_real(const json_t *object, const char *path);
/* A count that may be absent or null, which leaves *value unchanged. Returns -1
 * and err for anything else: "ranks[3].records: not a count". where: the place
 * of object in the file; "": the root. */
int summary_file_need_count(const json_t *object, const char *where,
                            const char *path, uint64_t *value,
                            struct jp_error *err);

/* The text of a verdict or a finding for readers: its plain sentences, or in an
 * older report its text. */
const char *summary_file_sentence(const json_t *object);

/* The version of jobprof that a report names. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#define JP_VERSION PACKAGE_VERSION
#else
#define JP_VERSION "unknown"
#endif

/* --- JSON as a tree, for small documents that are also read --------------
 *
 * Strings are cleaned; a number that is not finite becomes null. A failure is
 * remembered. The functions take over each json_t they get. Documents that are
 * only written use common/json_stream.h instead. */

struct jp_json {
    bool failed;
};

json_t *json_out_object(struct jp_json *json);
json_t *json_out_array(struct jp_json *json);

/* Sets a key of an object, or appends to an array. */
void json_out_put(struct jp_json *json, json_t *object, const char *key,
                  json_t *value);
void json_out_append(struct jp_json *json, json_t *array, json_t *value);

/* A cleaned string; NULL becomes null. */
json_t *json_out_string(const char *text);
void json_out_text(struct jp_json *json, json_t *object, const char *key,
                   const char *text);
/* A value above INT64_MAX is stored as INT64_MAX. */
void json_out_count(struct jp_json *json, json_t *object, const char *key,
                    uint64_t value);
void json_out_real(struct jp_json *json, json_t *object, const char *key,
                   double value);

/* Writes root and a newline. root is an object and is taken over; it may be
 * NULL after a failure. Reals have 15 significant digits; keys keep their order
 * of insertion. */
int json_out_dump(struct jp_json *json, json_t *root, FILE *out,
                  struct jp_error *err);

/* The value of a setting in a list of job{}, such as "settings"; "": none. */
const char *summary_file_setting(const json_t *root, const char *list,
                                 const char *key);

/* Whether NCCL was not to be profiled, and nothing of it is there: the step was
 * profiled for something else. */
bool summary_file_without_nccl(const json_t *root);

#endif
