/* json_tree.c - JSON as a tree: values read by their path or by a table of
 * fields, and small documents written.
 *
 * json_fields_read goes through the table once for each object; an array of
 * objects is a table of its own. The last part wraps jansson for writing:
 * strings are cleaned, failures are collected in struct jp_json. */
#include "orchestrator/report/json_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"

/* --- values by their path ------------------------------------------------- */

const json_t *json_tree_at(const json_t *object, const char *path)
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

const char *json_tree_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(json_tree_at(object, path));

    return text ? text : "";
}

bool json_tree_count(const json_t *object, const char *path, uint64_t *value)
{
    const json_t *number = json_tree_at(object, path);

    /* a number with a point is no count, even 3.0 */
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *value = (uint64_t) json_integer_value(number);
    return true;
}

double json_tree_real(const json_t *object, const char *path)
{
    const json_t *number = json_tree_at(object, path);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

/* --- a struct that is read by a table ------------------------------------- */

/* Sets the member of an array, whatever its pointer's type. */
static void set_array(const struct json_field *f, void *out, void *array,
                      size_t n)
{
    memcpy((char *) out + f->at, &array, sizeof(array));
    memcpy((char *) out + f->n_at, &n, sizeof(n));
}

static void *get_array(const struct json_field *f, const void *out, size_t *n)
{
    void *array;

    memcpy(&array, (const char *) out + f->at, sizeof(array));
    memcpy(n, (const char *) out + f->n_at, sizeof(*n));
    return array;
}

static void set_unknown(const struct json_fields *table, void *out)
{
    memset(out, 0, table->size);
    for (const struct json_field *f = table->fields;
         f < table->fields + table->n; f++) {
        void *member = (char *) out + f->at;

        if (f->type == JSON_MEMBER_TEXT)
            *(const char **) member = "";
        else if (f->type == JSON_MEMBER_COUNT)
            *(uint64_t *) member = JSON_UNKNOWN;
        else if (f->type == JSON_MEMBER_INT)
            *(int64_t *) member = INT64_MIN;
        else if (f->type == JSON_MEMBER_NUMBER)
            *(double *) member = NAN;
    }
}

void json_fields_fini(const struct json_fields *table, void *out)
{
    for (const struct json_field *f = table->fields;
         f < table->fields + table->n; f++) {
        size_t n;
        char *array;

        if (f->type != JSON_MEMBER_ROWS && f->type != JSON_MEMBER_TEXTS &&
            f->type != JSON_MEMBER_PAIRS)
            continue;
        array = get_array(f, out, &n);
        for (size_t i = 0; f->type == JSON_MEMBER_ROWS && i < n; i++)
            json_fields_fini(f->rows, array + i * f->rows->size);
        free(array);
    }
    set_unknown(table, out);
}

/* Finds the value of a path; NULL: unknown, as it or an object on the way is
 * absent or null. Returns -1 and err if what should be an object is none. */
static int find_value(const json_t *object, const char *path,
                      const json_t **value, struct jp_error *err)
{
    const char *key = path;
    char name[64];

    for (;;) {
        size_t n = strcspn(key, ".");

        *value = NULL;
        if (!object || json_is_null(object))
            return 0;
        if (!json_is_object(object))
            return error_set(err, "%.*s: not an object", (int) (key - path - 1),
                             path);
        if (n >= sizeof(name))
            return 0;
        memcpy(name, key, n);
        name[n] = '\0';
        object = json_object_get(object, name);
        if (!key[n]) {
            *value = json_is_null(object) ? NULL : object;
            return 0;
        }
        key += n + 1;
    }
}

/* Reads an array of texts. */
static int read_texts(const struct json_field *f, const json_t *list, void *out,
                      struct jp_error *err)
{
    size_t n = json_array_size(list);
    const char **texts;

    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(list, i)))
            return error_set(err, "%s[%zu]: not a text", f->path, i);
    texts = calloc(n + 1, sizeof(*texts));
    if (!texts)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        texts[i] = json_string_value(json_array_get(list, i));
    set_array(f, out, (void *) texts, n);
    return 0;
}

/* Reads an object of texts; a value of null is "". */
static int read_pairs(const struct json_field *f, const json_t *object,
                      void *out, struct jp_error *err)
{
    struct json_pair *pairs =
        calloc(json_object_size(object) + 1, sizeof(*pairs));
    const char *key;
    json_t *value;
    size_t n = 0;

    if (!pairs)
        return error_set(err, "out of memory");
    json_object_foreach((json_t *) object, key, value)
    {
        if (!json_is_string(value) && !json_is_null(value)) {
            free(pairs);
            return error_set(err, "%s.%s: not a text", f->path, QUOTE(key));
        }
        pairs[n].key = key;
        pairs[n++].value = json_is_null(value) ? "" : json_string_value(value);
    }
    set_array(f, out, pairs, n);
    return 0;
}

/* Puts the row before the member that err names. Returns -1. */
static int name_row(struct jp_error *err, const char *path, size_t i)
{
    struct jp_error inner = {""};

    if (err)
        inner = *err;
    return error_set(err, "%s[%zu].%s", path, i, inner.text);
}

/* Reads an array of objects. */
static int read_rows(const struct json_field *f, const json_t *list, void *out,
                     struct jp_error *err)
{
    size_t n = json_array_size(list);
    char *rows;

    /* before memory is taken for them: what is no object takes less of it in
     * the tree than a row here */
    for (size_t i = 0; i < n; i++)
        if (!json_is_object(json_array_get(list, i)))
            return error_set(err, "%s[%zu]: not an object", f->path, i);
    rows = calloc(n + 1, f->rows->size);
    if (!rows)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (json_fields_read(f->rows, json_array_get(list, i),
                             rows + i * f->rows->size, err) < 0) {
            set_array(f, out, rows, i); /* for json_fields_fini */
            return name_row(err, f->path, i);
        }
    set_array(f, out, rows, n);
    return 0;
}

/* Reads one member. */
static int read_member(const struct json_field *f, const json_t *object,
                       void *out, struct jp_error *err)
{
    void *member = (char *) out + f->at;
    const json_t *value = object;
    const char *what = NULL;

    if (f->type == JSON_MEMBER_ROW) {
        *(const json_t **) member = object;
        return 0;
    }
    if (find_value(object, f->path, &value, err) < 0)
        return -1;
    if (!value)
        return 0;
    switch (f->type) {
    case JSON_MEMBER_TEXT:
        if (json_is_string(value))
            *(const char **) member = json_string_value(value);
        else
            what = "a text";
        break;
    case JSON_MEMBER_COUNT:
        /* a number with a point is no count, even 3.0 */
        if (json_is_integer(value) && json_integer_value(value) >= 0)
            *(uint64_t *) member = (uint64_t) json_integer_value(value);
        else
            what = "a count";
        break;
    case JSON_MEMBER_INT:
        if (json_is_integer(value))
            *(int64_t *) member = json_integer_value(value);
        else
            what = "an integer";
        break;
    case JSON_MEMBER_NUMBER:
        if (json_is_number(value))
            *(double *) member = json_number_value(value);
        else
            what = "a number";
        break;
    case JSON_MEMBER_BOOL:
        if (json_is_boolean(value))
            *(bool *) member = json_is_true(value);
        else
            what = "true or false";
        break;
    case JSON_MEMBER_PAIRS:
        if (json_is_object(value))
            return read_pairs(f, value, out, err);
        what = "an object";
        break;
    case JSON_MEMBER_ROWS:
    case JSON_MEMBER_TEXTS:
        if (json_is_array(value) && json_array_size(value) <= JSON_ROWS_MAX)
            return f->type == JSON_MEMBER_ROWS ? read_rows(f, value, out, err)
                                               : read_texts(f, value, out, err);
        if (json_is_array(value))
            return error_set(err, "%s: %zu members are too many (at most %d)",
                             f->path, json_array_size(value), JSON_ROWS_MAX);
        what = "an array";
        break;
    case JSON_MEMBER_ROW:
        break;
    }
    return what ? error_set(err, "%s: not %s", f->path, what) : 0;
}

int json_fields_read(const struct json_fields *table, const json_t *object,
                     void *out, struct jp_error *err)
{
    set_unknown(table, out);
    for (size_t i = 0; i < table->n; i++)
        if (read_member(&table->fields[i], object, out, err) < 0) {
            json_fields_fini(table, out);
            return -1;
        }
    return 0;
}

/* --- jansson with cleaned strings and finite numbers --------------------- */

/* Remembers a failed allocation, so that callers check once at the end. */
static json_t *note_value(struct jp_json *json, json_t *value)
{
    if (!value)
        json->failed = true;
    return value;
}

json_t *json_out_object(struct jp_json *json)
{
    return note_value(json, json_object());
}

json_t *json_out_array(struct jp_json *json)
{
    return note_value(json, json_array());
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
