/* rankread.c - read the records of ranks and tasks of one node. */
#include "orchestrator/topo/rankread.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "orchestrator/topo/rankscan.h"

#define TEXT_MAX 1024
#define DEVICES_MAX 64

/* Room for one more of an array. -1 without memory, 1 at the bound. */
static int grow(void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n >= JP_RANKREAD_MAX)
        return 1;
    if (n < *room)
        return 0;
    more = realloc(*array, (*room * 2 + 256) * size);
    if (!more)
        return -1;
    *array = more;
    *room = *room * 2 + 256;
    return 0;
}

/* Takes a malloc'ed pointer over until rankread_fini. -1 without memory, which
 * NULL is too; then it is freed. */
static int keep(struct jp_rank_records *r, void *pointer)
{
    void **more;

    if (pointer && r->n_owned < r->room_owned) {
        r->owned[r->n_owned++] = pointer;
        return 0;
    }
    more = pointer
               ? realloc(r->owned, (r->room_owned * 2 + 1024) * sizeof(*more))
               : NULL;
    if (!more) {
        free(pointer);
        return -1;
    }
    r->owned = more;
    r->room_owned = r->room_owned * 2 + 1024;
    r->owned[r->n_owned++] = pointer;
    return 0;
}

/* A member's text, "" where it is none or too long; NULL without memory. Most
 * are the one of the line before. */
static const char *text(struct jp_rank_records *r, const json_t *json,
                        const char *key, const char *before)
{
    const char *value = json_string_value(json_object_get(json, key));
    char *copy;

    if (!value || !*value || strlen(value) > TEXT_MAX)
        return "";
    if (before && strcmp(before, value) == 0)
        return before;
    copy = strdup(value);
    return keep(r, copy) < 0 ? NULL : copy;
}

static int64_t number(const json_t *json, const char *key, int64_t max)
{
    const json_t *value = json_object_get(json, key);
    json_int_t n = json_integer_value(value);

    return json_is_integer(value) && n >= 0 && n <= max ? (int64_t) n : -1;
}

static enum jp_rank_source source_of(const json_t *json)
{
    const char *word = json_string_value(json_object_get(json, "source"));

    if (word && strcmp(word, "recorder") == 0)
        return JP_RANK_FROM_RECORDER;
    if (word && strcmp(word, "nccl_log") == 0)
        return JP_RANK_FROM_NCCL_LOG;
    return word && strcmp(word, "file") == 0 ? JP_RANK_FROM_FILE_NAME
                                             : JP_RANK_FROM_NOTHING;
}

static int take_variables(struct jp_rank_records *r,
                          const struct jp_rankmap_fact *fact,
                          const json_t *variables)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *) variables, name, value)
    {
        struct jp_rank_variable one = {fact->node, fact->host, fact->pid, NULL,
                                       NULL};
        char *copy;
        int rc = grow((void **) &r->variables, r->n_variables,
                      &r->room_variables, sizeof(*r->variables));

        if (rc != 0)
            return rc;
        if (!json_is_string(value) || strlen(name) > TEXT_MAX)
            continue;
        copy = strdup(name);
        one.name = copy;
        one.value = keep(r, copy) < 0 ? NULL : text(r, variables, name, NULL);
        if (!one.value)
            return -1;
        r->variables[r->n_variables++] = one;
    }
    return 0;
}

/* A process or a rank: both are facts. */
static int take_fact(struct jp_rank_records *r, const char *node,
                     const json_t *json, bool is_rank)
{
    const struct jp_rankmap_fact *last = r->n_facts ? &r->facts[r->n_facts - 1]
                                                    : NULL;
    struct jp_rankmap_fact fact = {
        .source = source_of(json),
        .node = node,
        .host = text(r, json, "host", last ? last->host : NULL),
        .boot_id = text(r, json, "boot_id", last ? last->boot_id : NULL),
        .pid = number(json, "pid", INT32_MAX),
        .procid = number(json, "procid", UINT32_MAX),
        .localid = number(json, "localid", UINT32_MAX),
        .comm = text(r, json, "comm", NULL),
        .rank = is_rank ? number(json, "rank", UINT32_MAX) : -1,
        .busid = text(r, json, "busid", last ? last->busid : NULL),
        .uuid = text(r, json, "uuid", last ? last->uuid : NULL)};
    int64_t ns = number(json, "pid_ns", INT64_MAX);
    int rc;

    if (!fact.host || !fact.boot_id || !fact.comm || !fact.busid || !fact.uuid)
        return -1;
    fact.pid_ns = ns > 0 ? (uint64_t) ns : 0;
    if (!*fact.host || fact.pid < 0 || fact.source == JP_RANK_FROM_NOTHING ||
        (is_rank && fact.rank < 0))
        return 1;
    rc = grow((void **) &r->facts, r->n_facts, &r->room_facts,
              sizeof(*r->facts));
    if (rc == 0)
        r->facts[r->n_facts++] = fact;
    return rc == 0 && !is_rank
               ? take_variables(r, &fact, json_object_get(json, "variables"))
               : rc;
}

static int take_path(struct jp_rank_records *r, const char *node,
                     const json_t *json)
{
    const struct jp_rank_path *last = r->n_paths ? &r->paths[r->n_paths - 1]
                                                 : NULL;
    const char *via = json_string_value(json_object_get(json, "via"));
    int64_t rank = number(json, "rank", UINT32_MAX - 1);
    int64_t peer = number(json, "peer", UINT32_MAX - 1);
    int64_t lines = number(json, "lines", INT64_MAX);
    struct jp_rank_path path = {
        .node = node,
        .host = text(r, json, "host", last ? last->host : NULL),
        .comm = text(r, json, "comm", last ? last->comm : NULL),
        .pid = number(json, "pid", INT32_MAX),
        .rank = (uint32_t) rank,
        .peer = peer < 0 ? NCCLDEBUG_NO_PEER : (uint32_t) peer,
        .via = JP_N_VIAS,
        .detail = text(r, json, "detail", last ? last->detail : NULL),
        .device = text(r, json, "device", last ? last->device : NULL),
        .gdr = json_is_true(json_object_get(json, "gdr")),
        .lines = lines > 0 ? (uint64_t) lines : 1};
    int rc;

    if (!path.host || !path.comm || !path.detail || !path.device)
        return -1;
    for (int i = 0; via && i < JP_N_VIAS; i++)
        if (strcmp(via, nccldebug_via_word[i]) == 0)
            path.via = (enum jp_nccl_via) i;
    if (!*path.host || path.pid < 0 || rank < 0 || path.via == JP_N_VIAS)
        return 1;
    rc = grow((void **) &r->paths, r->n_paths, &r->room_paths,
              sizeof(*r->paths));
    if (rc == 0)
        r->paths[r->n_paths++] = path;
    return rc;
}

int rankread_rank_line(struct jp_rank_records *r, const char *node,
                       const char *line, size_t len, bool *end)
{
    json_t *json =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *one;
    int rc = 1;

    if ((one = json_object_get(json, "rank")) && json_is_object(one))
        rc = take_fact(r, node, one, true);
    else if ((one = json_object_get(json, "process")) && json_is_object(one))
        rc = take_fact(r, node, one, false);
    else if ((one = json_object_get(json, "path")) && json_is_object(one))
        rc = take_path(r, node, one);
    else if (json_is_object(json_object_get(json, "carriers")))
        rc = 0; /* of the communicator, not of its ranks */
    else if ((one = json_object_get(json, "end")) && json_is_object(one)) {
        *end = json_is_true(json_object_get(one, "complete"));
        rc = 0;
    }
    json_decref(json);
    return rc;
}

/* The minors of "devices"; NULL: unknown. -1 in *n without memory. */
static int *take_devices(struct jp_rank_records *r, const json_t *devices,
                         int *n)
{
    size_t size = json_array_size(devices);
    int *minors = json_is_array(devices) && size <= DEVICES_MAX
                      ? calloc(size + 1, sizeof(*minors))
                      : NULL;

    *n = -1;
    if (!minors || keep(r, minors) < 0)
        return NULL;
    *n = 0;
    for (size_t i = 0; i < size; i++) {
        json_int_t minor = json_integer_value(json_array_get(devices, i));

        if (json_is_integer(json_array_get(devices, i)) && minor >= 0 &&
            minor < 65536)
            minors[(*n)++] = (int) minor;
    }
    return minors;
}

int rankread_start_line(struct jp_rank_records *r, const char *node,
                        const char *line, size_t len)
{
    json_t *json =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    struct jp_rankmap_task task = {
        .node = node,
        .boot_id = text(r, json, "boot_id",
                        r->n_tasks ? r->tasks[r->n_tasks - 1].boot_id : NULL),
        .pid = number(json, "pid", INT32_MAX),
        .procid = number(json, "procid", UINT32_MAX),
        .localid = number(json, "localid", UINT32_MAX)};
    int64_t ns = number(json, "pid_ns", INT64_MAX);
    int rc = 1;

    task.pid_ns = ns > 0 ? (uint64_t) ns : 0;
    if (number(json, "schema", 1) == 1 && task.boot_id && task.pid >= 0 &&
        task.procid >= 0) {
        task.devices =
            take_devices(r, json_object_get(json, "devices"), &task.n_devices);
        rc = grow((void **) &r->tasks, r->n_tasks, &r->room_tasks,
                  sizeof(*r->tasks));
        if (rc == 0)
            r->tasks[r->n_tasks++] = task;
    }
    json_decref(json);
    return task.boot_id ? rc : -1;
}

void rankread_fini(struct jp_rank_records *r)
{
    for (size_t i = 0; i < r->n_owned; i++)
        free(r->owned[i]);
    free(r->owned);
    free(r->facts);
    free(r->tasks);
    free(r->paths);
    free(r->variables);
    *r = (struct jp_rank_records){.nodes = 0};
}

/* ------------------------ read the records of ranks and tasks of one node */

/* Reads a file by lines; 0, 1: not there, -1 without memory. end NULL: start
 * records. */
static int read_lines(struct jp_rank_records *r, const char *path,
                      const char *node, bool *end)
{
    const size_t size = jsonload_limits[JSONLOAD_LINE].bytes;
    FILE *file = shortline_open(path);
    char *line = malloc(size);
    ssize_t n;
    int rc = line ? 0 : -1;

    if (!file) {
        free(line);
        return 1;
    }
    while (rc >= 0 && (n = shortline_next(file, line, (int) size)) >= 0) {
        rc = end ? rankread_rank_line(r, node, line, (size_t) n, end)
                 : rankread_start_line(r, node, line, (size_t) n);
        r->bad_lines += rc > 0;
    }
    free(line);
    fclose(file);
    return rc < 0 ? -1 : 0;
}

/* Makes the file that a killed finish has left undone. */
static void make_up(const char *step_dir, const char *node, const char *path,
                    uint32_t limit_ms)
{
    char *raw = fileio_path("%s/raw/%s", step_dir, node);
    struct timespec ts;
    struct stat st;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    if (raw && lstat(path, &st) < 0 && errno == ENOENT &&
        lstat(raw, &st) == 0 && S_ISDIR(st.st_mode))
        (void) rankscan_write(step_dir, node,
                              (uint64_t) ts.tv_sec * 1000 +
                                  (uint64_t) ts.tv_nsec / 1000000 + limit_ms,
                              NULL);
    free(raw);
}

int rankread_node(struct jp_rank_records *r, const char *step_dir,
                  const char *node, uint32_t limit_ms, struct jp_error *err)
{
    char *ranks = fileio_path("%s/nodes/%s/ranks.jsonl", step_dir, node);
    char *starts = fileio_path("%s/nodes/%s/starts.jsonl", step_dir, node);
    char *name = strdup(node);
    bool end = false;
    int rc = keep(r, name);

    if (!ranks || !starts)
        rc = -1;
    if (rc == 0) {
        make_up(step_dir, name, ranks, limit_ms);
        rc = read_lines(r, ranks, name, &end);
    }
    if (rc >= 0) {
        r->nodes += rc == 0;
        r->nodes_incomplete += rc == 0 && !end;
        rc = read_lines(r, starts, name, NULL);
    }
    free(ranks);
    free(starts);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}
