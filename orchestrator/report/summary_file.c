/* summary_file.c - parse summary.json without trusting it. */
#include "orchestrator/report/summary_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "orchestrator/insight/verdict.h"

const char *summary_file_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

bool summary_file_count(const json_t *object, const char *key, uint64_t *value)
{
    const json_t *number = json_object_get(object, key);

    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *value = (uint64_t) json_integer_value(number);
    return true;
}

double summary_file_real(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

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
    if (!is_known_word(summary_file_text(verdict, "word")) ||
        !json_is_string(json_object_get(verdict, "text")))
        return error_set(err, "%s: no verdict", path);
    return 0;
}

static const char *const tables[] = {"comms", "ranks", "windows", "busy", NULL};

json_t *summary_file_read(const char *step_dir, enum summary_parts parts,
                          struct jp_error *err)
{
    enum jsonload_kind kind = parts == SUMMARY_WHOLE ? JSONLOAD_SUMMARY
                                                     : JSONLOAD_CARD;
    char *path = fileio_path("%s/%s", step_dir, JP_SUMMARY_NAME);
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
    if (parts == SUMMARY_WITHOUT_TABLES)
        len = jsonscan_drop(text, len, tables);
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
