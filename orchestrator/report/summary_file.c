/* summary_file.c - JSON as a tree: reads summaries and writes small documents.
 *
 * The first half reads foreign JSON: each function accepts a missing object, a
 * missing key and a wrong type. The second half wraps jansson for writing:
 * strings are cleaned, failures are collected in struct jp_json. */
#include "orchestrator/report/summary_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "orchestrator/insight/verdict.h"

/* --- summary.json, read without trust ------------------------------------ */

const json_t *summary_file_at(const json_t *object, const char *path)
{
    char key[64];
    size_t n;

    for (; path[n = strcspn(path, ".")]; path += n + 1) {
        if (n >= sizeof(key))
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        object = json_object_get(object, key);
    }
    return json_object_get(object, path);
}

const char *summary_file_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(summary_file_at(object, path));

    return text ? text : "";
}

const char *summary_file_sentence(const json_t *object)
{
    const char *plain = summary_file_text(object, "plain");

    /* reports of older versions have no plain text */
    return *plain ? plain : summary_file_text(object, "text");
}

bool summary_file_count(const json_t *object, const char *path, uint64_t *value)
{
    const json_t *number = summary_file_at(object, path);

    /* a number with a point is no count, even 3.0 */
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *value = (uint64_t) json_integer_value(number);
    return true;
}

double summary_file_real(const json_t *object, const char *path)
{
    const json_t *number = summary_file_at(object, path);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

int summary_file_need_count(const json_t *object, const char *where,
                            const char *path, uint64_t *value,
                            struct jp_error *err)
{
    const json_t *number = summary_file_at(object, path);

    if (!number || json_is_null(number) ||
        summary_file_count(object, path, value))
        return 0;
    return error_set(err, "%s%s%s: not a count", where, *where ? "." : "",
                     path);
}

/* Returns true for a verdict's word of this version. */
static bool is_known_word(const char *text)
{
    for (int word = JP_VERDICT_HANG; word <= JP_VERDICT_OK; word++)
        if (!strcmp(text, verdict_word_name((enum jp_verdict_word) word)))
            return true;
    return false;
}

int summary_file_check(const json_t *root, const char *path,
                       struct jp_error *err)
{
    const json_t *verdict = json_object_get(root, "verdict");
    uint64_t schema = 0;

    if (!summary_file_count(root, "schema_version", &schema) || schema != 1)
        return error_set(err, "%s: not a summary of schema_version 1", path);
    /* callers may then use the word without another check */
    if (!is_known_word(summary_file_text(verdict, "word")) ||
        !json_is_string(json_object_get(verdict, "text")))
        return error_set(err, "%s: no verdict", path);
    return 0;
}

/* the long tables, which most readers do not need */
static const char *const tables[] = {"comms", "ranks", "windows", "busy", NULL};

json_t *summary_file_read(const char *step_dir, enum summary_parts parts,
                          struct jp_error *err)
{
    enum jsonload_kind kind = parts == SUMMARY_WHOLE ? JSONLOAD_SUMMARY
                                                     : JSONLOAD_CARD;
    char *path = text_format("%s/%s", step_dir, JP_SUMMARY_NAME);
    json_t *root = NULL;
    char *text = NULL;
    size_t len;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_read(path, false, jsonload_limits[kind].bytes, &text, &len,
                    err) < 0)
        goto out;
    /* cut out of the text: parsing them would take most time and memory */
    if (parts == SUMMARY_WITHOUT_TABLES)
        len = jsonscan_drop(text, len, tables);
    /* the limits of jsonload bound the memory that a hostile file can take */
    root = jsonload(kind, path, text, len, 0, err);
    if (!root)
        goto out;
    if (summary_file_check(root, path, err) < 0) {
        json_decref(root);
        root = NULL;
    }
out:
    free(text);
    free(path);
    return root;
}

/* --- jansson with cleaned strings and finite numbers --------------------- */

/* Remembers a failed allocation, so that callers check once at the end. */
static json_t *note(struct jp_json *json, json_t *value)
{
    if (!value)
        json->failed = true;
    return value;
}

json_t *json_out_object(struct jp_json *json)
{
    return note(json, json_object());
}

json_t *json_out_array(struct jp_json *json)
{
    return note(json, json_array());
}

void json_out_put(struct jp_json *json, json_t *object, const char *key,
                  json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        json->failed = true;
}

void json_out_append(struct jp_json *json, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        json->failed = true;
}

json_t *json_out_string(const char *text)
{
    char buf[JP_CLEAN_MAX];

    /* unknown is null, not an empty string */
    if (!text)
        return json_null();
    return json_string(clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf)));
}

void json_out_text(struct jp_json *json, json_t *object, const char *key,
                   const char *text)
{
    json_out_put(json, object, key, json_out_string(text));
}

void json_out_count(struct jp_json *json, json_t *object, const char *key,
                    uint64_t value)
{
    /* jansson has only signed integers */
    json_int_t n = value > INT64_MAX ? INT64_MAX : (json_int_t) value;

    json_out_put(json, object, key, json_integer(n));
}

void json_out_real(struct jp_json *json, json_t *object, const char *key,
                   double value)
{
    json_out_put(json, object, key,
                 isfinite(value) ? json_real(value) : json_null());
}

int json_out_dump(struct jp_json *json, json_t *root, FILE *out,
                  struct jp_error *err)
{
    int rc;

    /* root is freed in any case */
    if (json->failed || !root) {
        json_decref(root);
        return error_set(err, "out of memory");
    }
    /* json_dumpf gives no reason for a failure */
    errno = 0;
    rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
    if (rc == 0 && fputc('\n', out) != EOF)
        return 0;
    return error_set(err, "%s", errno ? strerror(errno) : "cannot be written");
}

const char *summary_file_setting(const json_t *root, const char *list,
                                 const char *key)
{
    const json_t *rows = json_object_get(json_object_get(root, "job"), list);

    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!strcmp(summary_file_text(json_array_get(rows, i), "key"), key))
            return summary_file_text(json_array_get(rows, i), "value");
    return "";
}

bool summary_file_without_nccl(const json_t *root)
{
    uint64_t files = 0;

    summary_file_count(json_object_get(root, "quality"), "files", &files);
    return !files &&
           !strcmp(summary_file_text(json_object_get(root, "job"), "nccl_mode"),
                   "off");
}
