/* ranklines.c - read starts.jsonl and ranks.jsonl of a step's nodes. */
#include "orchestrator/topo/ranklines.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

#define BLOCK_BYTES 65536
#define TEXT_MAX 1024 /* of one text */
#define MAX_DEVICES 64
#define MAX_VARIABLES 64 /* of a process */

/* Memory that is freed as a whole. */
struct ranklines_block {
    struct ranklines_block *next;
    size_t used;
    _Alignas(16) char bytes[BLOCK_BYTES];
};

static void *take(struct jp_rank_records *r, size_t size)
{
    struct ranklines_block *block = r->blocks;

    size = (size + 7) & ~(size_t) 7;
    if (!block || block->used + size > BLOCK_BYTES) {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        block->next = r->blocks;
        block->used = 0;
        r->blocks = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

static const char *keep(struct jp_rank_records *r, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    char *copy;

    if (!len)
        return "";
    if (len > TEXT_MAX)
        len = TEXT_MAX;
    copy = take(r, len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

static const char *keep_member(struct jp_rank_records *r, const json_t *object,
                               const char *key)
{
    return keep(r, json_string_value(json_object_get(object, key)));
}

static int64_t number_of(const json_t *object, const char *key,
                         int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    json_int_t n = json_integer_value(value);

    return json_is_integer(value) && n >= 0 ? n : otherwise;
}

/* Room for one more of *array; false: enough, or no memory. */
static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n < *room)
        return true;
    more = realloc(*array, (*room * 2 + 64) * size);
    if (!more)
        return false;
    *array = more;
    *room = *room * 2 + 64;
    return true;
}

static enum jp_rank_source source_of(const json_t *object)
{
    const char *word = json_string_value(json_object_get(object, "source"));

    if (word && strcmp(word, "recorder") == 0)
        return JP_RANK_FROM_RECORDER;
    if (word && strcmp(word, "nccl_log") == 0)
        return JP_RANK_FROM_NCCL_LOG;
    return JP_RANK_FROM_FILE_NAME;
}

static int add_fact(struct jp_rank_records *r, const json_t *object,
                    const char *node, bool is_rank)
{
    struct jp_rankmap_fact fact = {
        .source = source_of(object),
        .node = node,
        .host = keep_member(r, object, "host"),
        .boot_id = keep_member(r, object, "boot_id"),
        .pid = number_of(object, "pid", -1),
        .pid_ns = (uint64_t) number_of(object, "pid_ns", 0),
        .procid = number_of(object, "procid", -1),
        .localid = number_of(object, "localid", -1),
        .comm = is_rank ? keep_member(r, object, "comm") : "",
        .rank = is_rank ? number_of(object, "rank", -1) : -1,
        .busid = is_rank ? keep_member(r, object, "busid") : "",
        .uuid = is_rank ? keep_member(r, object, "uuid") : ""};

    if (!fact.host || !fact.boot_id || !fact.comm || !fact.busid || !fact.uuid)
        return -1;
    if (r->n_facts == RANKLINES_MAX_LINES)
        return 0;
    if (!grow((void **) &r->facts, r->n_facts, &r->fact_room,
              sizeof(*r->facts)))
        return -1;
    r->facts[r->n_facts++] = fact;
    return 0;
}

static int add_variable(struct jp_rank_records *r, struct jp_rank_variable v)
{
    if (r->n_variables == RANKLINES_MAX_LINES)
        return 0;
    if (!v.host || !v.name || !v.value ||
        !grow((void **) &r->variables, r->n_variables, &r->variable_room,
              sizeof(*r->variables)))
        return -1;
    r->variables[r->n_variables++] = v;
    return 0;
}

static int add_variables(struct jp_rank_records *r, const json_t *process)
{
    struct jp_rank_variable v = {.host = keep_member(r, process, "host"),
                                 .pid = number_of(process, "pid", -1),
                                 .name = "",
                                 .value = ""};
    json_t *variables = json_object_get(process, "variables"), *value;
    const char *name;
    size_t n = 0;

    if (!json_is_object(variables))
        return v.host ? 0 : -1;
    if (add_variable(r, v) < 0)
        return -1;
    json_object_foreach(variables, name, value)
    {
        if (!*name || !json_is_string(value) || n++ >= MAX_VARIABLES)
            continue;
        v.name = keep(r, name);
        v.value = keep(r, json_string_value(value));
        if (add_variable(r, v) < 0)
            return -1;
    }
    return 0;
}

static int add_path(struct jp_rank_records *r, const json_t *object)
{
    struct jp_rank_path path = {
        .comm = keep_member(r, object, "comm"),
        .via = keep_member(r, object, "via"),
        .detail = keep_member(r, object, "detail"),
        .device = keep_member(r, object, "device"),
        .lines = (uint64_t) number_of(object, "lines", 1)};

    if (!path.comm || !path.via || !path.detail || !path.device)
        return -1;
    if (r->n_paths == RANKLINES_MAX_LINES)
        return 0;
    if (!grow((void **) &r->paths, r->n_paths, &r->path_room,
              sizeof(*r->paths)))
        return -1;
    r->paths[r->n_paths++] = path;
    return 0;
}

int ranklines_add_rank(const char *line, size_t len, const char *node,
                       struct jp_rank_records *r)
{
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *process = json_object_get(root, "process");
    const json_t *rank = json_object_get(root, "rank");
    const json_t *path = json_object_get(root, "path");
    int rc = 0;

    if (json_is_object(process))
        rc = add_fact(r, process, node, false) < 0 ? -1
                                                   : add_variables(r, process);
    else if (json_is_object(rank))
        rc = add_fact(r, rank, node, true);
    else if (json_is_object(path))
        rc = add_path(r, path);
    else if (!json_is_object(json_object_get(root, "end")))
        r->bad_lines++;
    json_decref(root);
    return rc;
}

/* Minors of the GPUs that the task may open. */
static int read_devices(struct jp_rank_records *r, const json_t *object,
                        struct jp_rankmap_task *task)
{
    const json_t *devices = json_object_get(object, "devices");
    size_t n = json_array_size(devices);
    int *copy;

    task->n_devices = -1;
    if (!json_is_array(devices) || n > MAX_DEVICES)
        return 0;
    copy = take(r, n * sizeof(*copy) + 1);
    if (!copy)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *device = json_array_get(devices, i);
        json_int_t minor = json_integer_value(device);

        if (!json_is_integer(device) || minor < 0 || minor > INT_MAX)
            return 0;
        copy[i] = (int) minor;
    }
    task->devices = copy;
    task->n_devices = (int) n;
    return 0;
}

int ranklines_add_start(const char *line, size_t len, const char *node,
                        struct jp_rank_records *r)
{
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    struct jp_rankmap_task task = {
        .node = node,
        .boot_id = keep_member(r, root, "boot_id"),
        .pid = number_of(root, "pid", -1),
        .pid_ns = (uint64_t) number_of(root, "pid_ns", 0),
        .procid = number_of(root, "procid", -1),
        .localid = number_of(root, "localid", -1)};
    int rc = task.boot_id ? read_devices(r, root, &task) : -1;

    if (number_of(root, "schema", 0) != 1)
        r->bad_lines++;
    else if (rc == 0 && r->n_tasks < RANKLINES_MAX_LINES) {
        if (grow((void **) &r->tasks, r->n_tasks, &r->task_room,
                 sizeof(*r->tasks)))
            r->tasks[r->n_tasks++] = task;
        else
            rc = -1;
    }
    json_decref(root);
    return rc;
}

static int read_file(const char *folder, const char *name, const char *node,
                     int (*add)(const char *, size_t, const char *,
                                struct jp_rank_records *),
                     struct jp_rank_records *r, struct jp_error *err)
{
    char *path = fileio_path("%s/%s", folder, name);
    char *text = NULL, *rest, *line;
    int rc = path ? 0 : -1;

    if (path &&
        fileio_read(path, false, RANKLINES_MAX_BYTES, &text, NULL, NULL) < 0)
        text = NULL;
    for (rest = text; rc == 0 && rest && (line = strsep(&rest, "\n"));)
        if (*line)
            rc = add(line, strlen(line), node, r);
    free(text);
    free(path);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

int ranklines_read(const char *folder, const char *node,
                   struct jp_rank_records *r, struct jp_error *err)
{
    const char *name = keep(r, node);

    if (!name)
        return error_set(err, "out of memory");
    if (read_file(folder, "ranks.jsonl", name, ranklines_add_rank, r, err) < 0)
        return -1;
    return read_file(folder, "starts.jsonl", name, ranklines_add_start, r, err);
}

void ranklines_fini(struct jp_rank_records *r)
{
    while (r->blocks) {
        struct ranklines_block *next = r->blocks->next;

        free(r->blocks);
        r->blocks = next;
    }
    free(r->facts);
    free(r->tasks);
    free(r->variables);
    free(r->paths);
    memset(r, 0, sizeof(*r));
}
