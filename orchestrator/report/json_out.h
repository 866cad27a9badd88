/* json_out.h - JSON as a tree, for small documents that are read as well.
 *
 * Text is cleaned, what is not finite becomes null. A failure is remembered;
 * every json_t given is taken over. What is written only goes through
 * common/json_stream.h.
 */
#ifndef JP_REPORT_JSON_OUT_H
#define JP_REPORT_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/error.h"

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
