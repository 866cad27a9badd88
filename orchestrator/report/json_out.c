/* json_out.c - jansson with cleaned strings and finite numbers. */
#include "orchestrator/report/json_out.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/quote.h"

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

    if (json->failed || !root) {
        json_decref(root);
        return error_set(err, "out of memory");
    }
    errno = 0;
    rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
    if (rc == 0 && fputc('\n', out) != EOF)
        return 0;
    return error_set(err, "%s", errno ? strerror(errno) : "cannot be written");
}
