/* json_tree.h - JSON as a tree: values read by their path or by a table of
 * fields, and small documents written.
 *
 * What is read is foreign: the file may come from another version, be
 * truncated, or hold anything. A tree is parsed by common/jsonload.h. */
#ifndef JP_REPORT_JSON_TREE_H
#define JP_REPORT_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/defaults.h"
#include "common/error.h"

/* --- values by their path ------------------------------------------------- */

/* Keys with dots between them: "quality.ranks_seen" of the root, "host" of a
 * row. If object is NULL, or the value is absent or of another type, they
 * return NULL, "", false or NAN. Strings are borrowed and not cleaned. */
const json_t *json_tree_at(const json_t *object, const char *path);
const char *json_tree_text(const json_t *object, const char *path);
bool json_tree_count(const json_t *object, const char *path, uint64_t *value);
double json_tree_real(const json_t *object, const char *path);

/* --- a struct that is read by a table ---------------------------------------
 *
 * A row of the table is a member of the struct, whose type decides what the
 * file may have there. Its name is its path in the file, so members of an
 * object stand in a struct of that name:
 *
 *     struct disk { struct { const char *name; uint64_t bytes; } volume; };
 *     static const struct json_field disk_fields[] = {
 *         JSON_FIELD(struct disk, volume.name),
 *         JSON_FIELD(struct disk, volume.bytes),
 *     };
 *     static const struct json_fields disk = JSON_FIELDS(struct disk,
 *                                                        disk_fields);
 *
 *     type of the member   in the file              unknown (absent, or null)
 *     const char *         text, not cleaned        ""
 *     uint64_t             an integer, 0 or more    JSON_UNKNOWN
 *     int64_t              an integer               INT64_MIN
 *     double               a number                 NAN
 *     bool                 true or false            false
 *     JSON_FIELD_ROWS      an array of objects      NULL, and n 0
 *     JSON_FIELD_TEXTS     an array of texts        NULL, and n 0
 *     JSON_FIELD_PAIRS     an object of texts       NULL, and n 0
 *     JSON_FIELD_ROW       the row itself, for who copies from it
 */
#define JSON_UNKNOWN UINT64_MAX

/* A count that was read, or other if it is unknown. */
static inline uint64_t json_count_or(uint64_t count, uint64_t other)
{
    return count == JSON_UNKNOWN ? other : count;
}

/* Most members of an array: more than jobprof writes. */
#define JSON_ROWS_MAX 100000

enum json_member {
    JSON_MEMBER_TEXT,
    JSON_MEMBER_COUNT,
    JSON_MEMBER_INT,
    JSON_MEMBER_NUMBER,
    JSON_MEMBER_BOOL,
    JSON_MEMBER_ROWS,
    JSON_MEMBER_TEXTS,
    JSON_MEMBER_PAIRS,
    JSON_MEMBER_ROW
};

struct json_field {
    const char *path;
    enum json_member type;
    size_t at;                      /* of the member in the struct */
    size_t n_at;                    /* of the number of an array's members */
    const struct json_fields *rows; /* of an array of objects */
};

struct json_fields {
    const struct json_field *fields;
    size_t n, size; /* of fields; bytes of the struct */
};

/* A member of JSON_FIELD_PAIRS. Borrowed. */
struct json_pair {
    const char *key, *value;
};

#define JSON_FIELD(type_, member)                                                \
    {                                                                            \
        .path = #member,                                                       \
        .type = _Generic(((type_ *) 0)->member,                                \
            const char *: JSON_MEMBER_TEXT,                                    \
            uint64_t: JSON_MEMBER_COUNT,                                       \
            int64_t: JSON_MEMBER_INT,                                          \
            double: JSON_MEMBER_NUMBER,                                        \
            bool: JSON_MEMBER_BOOL),                                           \
        .at = offsetof(type_, member) \
    }
/* count: the member with their number. table: the struct json_fields of a row.
 */
#define JSON_FIELD_ROWS(type_, member, count, table)                           \
    {                                                                          \
        .path = #member, .type = JSON_MEMBER_ROWS,                             \
        .at = offsetof(type_, member), .n_at = offsetof(type_, count),         \
        .rows = &(table)                                                       \
    }
#define JSON_FIELD_TEXTS(type_, member, count)                                 \
    {                                                                          \
        .path = #member, .type = JSON_MEMBER_TEXTS,                            \
        .at = offsetof(type_, member), .n_at = offsetof(type_, count)          \
    }
#define JSON_FIELD_PAIRS(type_, member, count)                                 \
    {                                                                          \
        .path = #member, .type = JSON_MEMBER_PAIRS,                            \
        .at = offsetof(type_, member), .n_at = offsetof(type_, count)          \
    }
#define JSON_FIELD_ROW(type_, member)                                          \
    {                                                                          \
        .path = "", .type = JSON_MEMBER_ROW, .at = offsetof(type_, member)     \
    }
#define JSON_FIELDS(type_, array)                                              \
    {                                                                          \
        (array), sizeof(array) / sizeof(*(array)), sizeof(type_)               \
    }

/* Reads the members of the table from object into the struct at out. Texts are
 * borrowed from the tree; free the arrays with json_fields_fini. If object is
 * NULL, all is unknown. Returns 0, or -1 and err, which names the member,
 * "cells[3].exec_us.p50: not a number"; all is unknown then, too. */
int json_fields_read(const struct json_fields *table, const json_t *object,
                     void *out, struct jp_error *err);
/* Frees the arrays; all is unknown then. */
void json_fields_fini(const struct json_fields *table, void *out);

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

#endif
