/* upload_schema.c - the fields of our documents, and the check of documents
 * that come from a file.
 *
 * A file of documents is foreign input: the bulk API has actions that delete
 * and change documents, and the server obeys whoever has the password. So only
 * lines that this program could have written itself are sent. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/jsonload.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/upload/upload.h"

/* Our names of these fields are those of Inspector's exporter. The order of the
 * first ones is that of enum upload_operation. The types of columns are those
 * of the table's description. */
const struct upload_field upload_operations[] = {
    {"id", .column = "comm"},
    {"comm_name", .column = "comm_name"},
    {"coll", .column = "coll"},
    {"coll_sn", .column = "sn"},
    {"coll_msg_size_bytes", .column = "msg_size_bytes"},
    {"n_ranks", .column = "n_ranks"},
    {"log_count", .column = "records"},
    {"mean_coll_busbw_gbs", .column = "mean"},
    {"coll_start_timestamp_us", .column = "dump_min_us"},
    {"coll_end_timestamp_us", .column = "dump_max_us"},
    {"exec_max_us", .column = "exec_max_us"},
    {"comm_type", .kind = FIELD_TEXT},
    {"coll_duration_us", .kind = FIELD_COUNT},
    {NULL},
};

/* The order of the first ones is that of enum upload_cell. */
const struct upload_field upload_cells[] = {
    {"comm_type", .column = "comm_type"},
    {"coll", .column = "coll"},
    {"coll_msg_size_bytes", .column = "msg_size_bytes"},
    {"ops", .column = "ops"},
    {"log_count", .column = "records"},
    {"mean_coll_busbw_gbs", .column = "mean"},
    {"min_coll_busbw_gbs", .column = "min"},
    {"p50_coll_busbw_gbs", .column = "p50"},
    {"p95_coll_busbw_gbs", .column = "p95"},
    {"p99_coll_busbw_gbs", .column = "p99"},
    {"max_coll_busbw_gbs", .column = "max"},
    {"exec_mean_us", .column = "exec_mean_us"},
    {"exec_p50_us", .column = "exec_p50_us"},
    {"exec_p99_us", .column = "exec_p99_us"},
    {NULL},
};

static const struct upload_field steps[] = {
    {"verdict", .kind = FIELD_TEXT},
    {"verdict_text", .kind = FIELD_TEXT},
    {"coverage", .kind = FIELD_REAL},
    {"findings", .kind = FIELD_COUNT},
    {"operations", .kind = FIELD_COUNT},
    {"detailed", .kind = FIELD_COUNT},
    {NULL},
};

/* What all documents have. */
static const struct upload_field all[] = {
    {"@timestamp", .kind = FIELD_COUNT},
    {"kind", .kind = FIELD_TEXT},
    {"job_id", .kind = FIELD_COUNT},
    {"job_id_from", .kind = FIELD_TEXT},
    {"step", .kind = FIELD_TEXT},
    {"job_name", .kind = FIELD_TEXT},
    {"uid", .kind = FIELD_COUNT},
    {"user", .kind = FIELD_TEXT},
    {"account", .kind = FIELD_TEXT},
    {"partition", .kind = FIELD_TEXT},
    {NULL},
};

/* The kinds of documents. */
static const struct kind {
    const char *name;
    const struct upload_field *fields;
    const struct jp_table *table; /* that has its columns; NULL: none */
    bool detailed;                /* its index */
} kinds[] = {
    {"operation", upload_operations, &table_ops, true},
    {"cell", upload_cells, &table_cells, false},
    {"step", steps, NULL, false},
};

enum upload_kind upload_kind_of(const struct upload_field *field,
                                const struct jp_table *table)
{
    static const enum upload_kind of_type[] = {
        [TABLE_TYPE_TEXT] = FIELD_TEXT,   [TABLE_TYPE_BOOL] = FIELD_TEXT,
        [TABLE_TYPE_COUNT] = FIELD_COUNT, [TABLE_TYPE_INT] = FIELD_COUNT,
        [TABLE_TYPE_CLOCK] = FIELD_COUNT, [TABLE_TYPE_REAL] = FIELD_REAL};
    const struct jp_column *column =
        field->column ? table_column(table, field->column) : NULL;

    return column ? of_type[table_type_of(column)] : field->kind;
}

/* --- one document --------------------------------------------------------- */

static const struct upload_field *find_field(const struct upload_field *fields,
                                             const char *name)
{
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name))
            return fields;
    return NULL;
}

static bool has_kind(const struct upload_field *field,
                     const struct jp_table *table, const json_t *value)
{
    switch (upload_kind_of(field, table)) {
    case FIELD_TEXT:
        return json_is_string(value);
    case FIELD_COUNT:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case FIELD_REAL:
        return json_is_number(value);
    }
    return false;
}

/* Checks names and types of all fields. Returns the kind, or NULL and err. */
static const struct kind *check_fields(json_t *source, struct jp_error *err)
{
    const char *word = json_string_value(json_object_get(source, "kind"));
    const struct kind *kind = NULL;
    const char *name;
    json_t *value;

    for (size_t i = 0; word && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(word, kinds[i].name))
            kind = &kinds[i];
    if (!kind) {
        error_set(err, "\"%s\" is not a kind of our documents", QUOTE(word));
        return NULL;
    }
    for (const struct upload_field *f = all; f->name; f++)
        if (!json_object_get(source, f->name)) {
            error_set(err, "the document has no \"%s\"", f->name);
            return NULL;
        }
    json_object_foreach(source, name, value)
    {
        const struct upload_field *field = find_field(all, name);

        if (!field)
            field = find_field(kind->fields, name);
        if (!field) {
            error_set(err, "\"%s\" is not a field of kind \"%s\"", QUOTE(name),
                      word);
            return NULL;
        }
        if (!has_kind(field, kind->table, value)) {
            error_set(err, "\"%s\" has a value of another type", name);
            return NULL;
        }
    }
    return kind;
}

/* Checks who the document says it is of. */
static int check_owner(const struct upload_allowed *allowed,
                       const json_t *source, struct jp_error *err)
{
    const char *user = json_string_value(json_object_get(source, "user"));
    const char *from =
        json_string_value(json_object_get(source, "job_id_from"));
    json_int_t uid = json_integer_value(json_object_get(source, "uid"));

    if (strcmp(from, UPLOAD_FROM_SLURM) != 0 &&
        strcmp(from, UPLOAD_CLAIMED) != 0)
        return error_set(err, "\"%s\" is not a job_id_from", QUOTE(from));
    if (allowed->any_user)
        return 0;
    /* who sends for another user has not asked Slurm about the job */
    if (allowed->uid != geteuid() && strcmp(from, UPLOAD_CLAIMED) != 0)
        return error_set(err, "job_id_from is \"%s\" in another user's file",
                         from);
    if (uid != (json_int_t) allowed->uid || strcmp(user, allowed->user) != 0)
        return error_set(err,
                         "the document is of \"%s\" (uid %" PRId64
                         "), the file of \"%s\" (uid %lu)",
                         QUOTE(user), (int64_t) uid, allowed->user,
                         (unsigned long) allowed->uid);
    return 0;
}

/* Checks that the id is one that this program makes of the document's own
 * fields, so that it replaces no document of another user or job:
 * "UID-CREATED-JOB.STEP-RESTART-...". */
static int check_id(const char *id, const json_t *source, struct jp_error *err)
{
    const char *step = json_string_value(json_object_get(source, "step"));
    char begin[48], middle[96];
    size_t n;

    n = (size_t) snprintf(
        begin, sizeof(begin), "%" PRId64 "-",
        (int64_t) json_integer_value(json_object_get(source, "uid")));
    if (strncmp(id, begin, n) != 0)
        return error_set(err, "the _id \"%s\" is not of this user", QUOTE(id));
    n += strspn(id + n, "0123456789");
    snprintf(middle, sizeof(middle), "-%" PRId64 ".%.60s-",
             (int64_t) json_integer_value(json_object_get(source, "job_id")),
             step);
    if (strncmp(id + n, middle, strlen(middle)) != 0 ||
        strlen(id) > UPLOAD_ID_MAX)
        return error_set(err, "the _id \"%s\" is not of this job and step",
                         QUOTE(id));
    return 0;
}

/* A member's text; NULL if it is none. */
static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

bool upload_is_action(const char *line, size_t len, struct jp_error *err)
{
    json_t *action = jsonload(JSONLOAD_LINE, "action", line, len,
                              JSON_REJECT_DUPLICATES, err);
    const char *name = json_object_iter_key(json_object_iter(action));
    const json_t *meta = json_object_iter_value(json_object_iter(action)),
                 *value;
    const char *key;
    bool good = false;

    if (!action)
        return false;
    if (!name || json_object_size(action) != 1 ||
        (strcmp(name, "index") != 0 && strcmp(name, "create") != 0))
        error_set(err, "\"%s\" is not the action index or create", QUOTE(name));
    else if (!text_of(meta, "_index") || !text_of(meta, "_id"))
        error_set(err, "an action without _index and _id");
    else
        good = true;
    json_object_foreach((json_t *) meta, key,
                        value) if (good && strcmp(key, "_index") != 0 &&
                                   strcmp(key, "_id") != 0)
    {
        error_set(err, "\"%s\" is not allowed in an action", QUOTE(key));
        good = false;
    }
    json_decref(action);
    return good;
}

int upload_check(const struct upload_allowed *allowed, const char *action,
                 size_t action_len, const char *source, size_t source_len,
                 struct jp_error *err)
{
    json_t *head = jsonload(JSONLOAD_LINE, "action", action, action_len,
                            JSON_REJECT_DUPLICATES, err);
    json_t *body = jsonload(JSONLOAD_LINE, "document", source, source_len,
                            JSON_REJECT_DUPLICATES, err);
    const json_t *meta = json_object_iter_value(json_object_iter(head));
    const char *index = text_of(meta, "_index"), *id = text_of(meta, "_id");
    const struct kind *kind;
    int rc = -1;

    if (!head || !body || !index || !id)
        goto out; /* err is set, by upload_is_action at the latest */
    if (!json_is_object(body)) {
        error_set(err, "the document is not an object");
        goto out;
    }
    kind = check_fields(body, err);
    if (!kind)
        goto out;
    if (strcmp(index, kind->detailed ? allowed->what->detailed
                                     : allowed->what->summary) != 0) {
        error_set(err, "\"%s\" is not the index of kind \"%s\"", QUOTE(index),
                  kind->name);
        goto out;
    }
    if (check_owner(allowed, body, err) == 0 && check_id(id, body, err) == 0)
        rc = 0;
out:
    json_decref(head);
    json_decref(body);
    return rc;
}
