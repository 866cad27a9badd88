/* noderead.c - read node.json, tasks.jsonl and manifest of one node. */
#include "orchestrator/collect/noderead.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/collect/tasklines.h"

/* Reads and parses <folder>/<name>. NULL with errno ENOENT: not there. */
static json_t *load(const char *folder, const char *name, size_t max,
                    struct jp_error *err)
{
    char *path = fileio_path("%s/%s", folder, name);
    char *text = NULL;
    size_t len = 0;
    json_t *json = NULL;
    json_error_t why;

    errno = ENOMEM;
    if (path && fileio_read(path, false, max, &text, &len, err) == 0) {
        json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
        errno = EINVAL;
        if (json && !json_is_object(json)) {
            json_decref(json);
            json = NULL;
            error_set(err, "%s: not an object", path);
        } else if (!json) {
            error_set(err, "%s:%d: %s", path, why.line, why.text);
        }
    }
    free(text);
    free(path);
    return json;
}

/* An integer of 0..max; anything else is `otherwise`. */
static uint64_t get_number(const json_t *json, const char *key, uint64_t max,
                           uint64_t otherwise)
{
    const json_t *value = json_object_get(json, key);
    json_int_t n = json_integer_value(value);

    return json_is_integer(value) && n >= 0 && (uint64_t) n <= max
               ? (uint64_t) n
               : otherwise;
}

static char *get_text(const json_t *json, const char *key)
{
    const char *value = json_string_value(json_object_get(json, key));

    return strdup(value ? value : "");
}

int noderead_record(const char *folder, struct jp_node *node,
                    struct jp_node_step *step, struct jp_error *err)
{
    json_t *json = load(folder, "node.json", JP_NODEREAD_JSON_MAX, err);
    int rc = 0;

    if (!json)
        return -1;
    if (get_number(json, "schema", 1, 0) != 1) {
        rc = error_set(err, "%s/node.json: unknown schema", folder);
        goto out;
    }
    node->hostname = get_text(json, "hostname");
    node->boot_id = get_text(json, "boot_id");
    node->topology_addr = get_text(json, "topology_addr");
    node->nodeid = (uint32_t) get_number(json, "nodeid", UINT32_MAX, 0);
    node->component = get_number(json, "component", INT64_MAX, 0);
    step->nodes = (uint32_t) get_number(json, "step_nodes", UINT32_MAX, 0);
    step->tasks = (uint32_t) get_number(json, "step_tasks", UINT32_MAX, 0);
    step->nodelist = get_text(json, "step_nodelist");
    if (!node->hostname || !node->boot_id || !node->topology_addr ||
        !step->nodelist)
        rc = error_set(err, "out of memory");
out:
    json_decref(json);
    return rc;
}

static int by_gtid(const void *a, const void *b)
{
    const struct jp_task *x = a;
    const struct jp_task *y = b;

    return x->gtid < y->gtid ? -1 : x->gtid > y->gtid;
}

static int add_task(struct jp_node *node, const char *line, size_t len)
{
    json_t *json = json_loadb(line, len, 0, NULL);
    const json_t *status = json_object_get(json, "status");
    uint64_t gtid = get_number(json, "gtid", UINT32_MAX, UINT64_MAX);
    int rc = -1;

    if (gtid <= UINT32_MAX && json_is_integer(status) &&
        node->n_tasks < JP_TASKLINES_MAX) {
        json_int_t n = json_integer_value(status);

        node->tasks[node->n_tasks++] = (struct jp_task){
            .gtid = (uint32_t) gtid,
            .ltid = (uint32_t) get_number(json, "ltid", UINT32_MAX, 0),
            .pid = (int64_t) get_number(json, "pid", INT32_MAX, 0),
            .status = n >= -1 && n <= INT_MAX ? (int) n : -1};
        rc = 0;
    }
    json_decref(json);
    return rc;
}

int noderead_tasks(const char *folder, struct jp_node *node,
                   struct jp_error *err)
{
    char *path = fileio_path("%s/tasks.jsonl", folder);
    char *text = NULL;
    char *line;
    size_t lines = 1;
    int bad = 0;

    errno = ENOMEM;
    if (!path ||
        fileio_read(path, false, JP_NODEREAD_TASKS_MAX, &text, NULL, err) < 0) {
        free(path);
        return errno == ENOENT ? 0 : -1;
    }
    free(path);
    for (line = text; (line = strchr(line, '\n')); line++)
        lines++;
    if (lines > JP_TASKLINES_MAX)
        lines = JP_TASKLINES_MAX;
    node->tasks = calloc(lines, sizeof(*node->tasks));
    if (!node->tasks) {
        free(text);
        return error_set(err, "out of memory");
    }
    for (char *rest = text; (line = strsep(&rest, "\n"));)
        if (*line && add_task(node, line, strlen(line)) < 0)
            bad++;
    qsort(node->tasks, node->n_tasks, sizeof(*node->tasks), by_gtid);
    free(text);
    return bad;
}

int noderead_manifest(const char *folder, struct jp_node *node,
                      struct jp_error *err)
{
    json_t *json = load(folder, "manifest", JP_NODEREAD_MANIFEST_MAX, err);
    const json_t *file;
    size_t i;

    if (!json)
        return errno == ENOENT ? 0 : -1;
    node->finished = true;
    node->complete = json_is_true(json_object_get(json, "complete"));
    node->finish_us = get_number(json, "finish_us", INT64_MAX, 0);
    json_array_foreach(json_object_get(json, "files"), i, file)
    {
        uint64_t bytes = get_number(file, "bytes", INT64_MAX, 0);

        node->files++;
        if (__builtin_add_overflow(node->bytes, bytes, &node->bytes))
            node->bytes = UINT64_MAX;
    }
    json_decref(json);
    return 0;
}
