/* json_out.c - jansson with cleaned strings and finite numbers. */
#include "orchestrator/report/json_out.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "orchestrator/report/clean.h"

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

json_t *json_out_strings(struct jp_json *json, char *const *texts, size_t n,
                         size_t max)
{
    json_t *array = json_out_array(json);

    for (size_t i = 0; i < n && i < max; i++)
        json_out_append(json, array, json_out_string(texts[i]));
    return array;
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

void json_out_known(struct jp_json *json, json_t *object, const char *key,
                    bool known, uint64_t value)
{
    if (known)
        json_out_count(json, object, key, value);
    else
        json_out_null(json, object, key);
}

void json_out_real(struct jp_json *json, json_t *object, const char *key,
                   double value)
{
    json_out_put(json, object, key,
                 isfinite(value) ? json_real(value) : json_null());
}

void json_out_null(struct jp_json *json, json_t *object, const char *key)
{
    json_out_put(json, object, key, json_null());
}

/* jansson writes piece by piece; the stream's lock alone would take half of the
 * time. */
struct pieces {
    FILE *out;
    size_t used;
    char bytes[32 << 10];
};

static int flush(struct pieces *p)
{
    size_t n = p->used;

    p->used = 0;
    return fwrite(p->bytes, 1, n, p->out) == n ? 0 : -1;
}

static int take_piece(const char *text, size_t n, void *arg)
{
    struct pieces *p = arg;

    if (p->used + n > sizeof(p->bytes) && flush(p) < 0)
        return -1;
    if (n > sizeof(p->bytes))
        return fwrite(text, 1, n, p->out) == n ? 0 : -1;
    memcpy(p->bytes + p->used, text, n);
    p->used += n;
    return 0;
}

int json_out_dump(struct jp_json *json, json_t *root, FILE *out,
                  struct jp_error *err)
{
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(15);
    struct pieces pieces = {.out = out};
    int rc = 0;

    errno = 0;
    if (json->failed || !root)
        rc = error_set(err, "out of memory");
    else if (json_dump_callback(root, take_piece, &pieces, flags) < 0 ||
             take_piece("\n", 1, &pieces) < 0 || flush(&pieces) < 0)
        rc =
            error_set(err, "%s", errno ? strerror(errno) : "cannot be written");
    json_decref(root);
    return rc;
}
