/* rankread.c - read ranks.jsonl and starts.jsonl of a step's nodes.
 *
 * rankread_node is the entry. Texts are kept in blocks (take, keep) that
 * rankread_fini frees as a whole; all rows point into them. */
#include "orchestrator/topo/rankread.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/lines.h"
#include "common/vector.h"
#include "orchestrator/collect/clock.h"

/* Limit of the rows of each kind that are kept from all files. */
#define RANKLINES_MAX_ROWS 1000000
/* Limit of the bytes kept from all files; 10,000 ranks with ten communicators
 * each take 15 MB. Lines beyond it count as bad. */
#define RANKLINES_MAX_HELD (32u << 20)

#define BLOCK_BYTES 65536
#define TEXT_MAX 1024 /* of one text */
#define MAX_DEVICES 64
#define MAX_READ 64 /* variables of a process */

/* Memory that is freed as a whole. */
struct ranklines_block {
    struct ranklines_block *next;
    /* bytes given out */
    size_t used;
    _Alignas(16) char bytes[BLOCK_BYTES];
};

/* Returns size bytes of block memory, aligned to 8. size is at most
 * BLOCK_BYTES. NULL without memory. */
static void *take_bytes(struct jp_rank_records *r, size_t size)
{
    struct ranklines_block *block = r->blocks;

    size = (size + 7) & ~(size_t) 7;
    /* The rest of the previous block stays unused. */
    if (!block || block->used + size > BLOCK_BYTES) {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        block->next = r->blocks;
        block->used = 0;
        r->blocks = block;
        r->n_blocks++;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

/* Copies a text, truncated to TEXT_MAX. "" needs no memory. Returns NULL
 * without memory. */
static const char *keep_text(struct jp_rank_records *r, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    char *copy;

    /* Most texts are empty, and need no copy. */
    if (!len)
        return "";
    if (len > TEXT_MAX)
        len = TEXT_MAX;
    copy = take_bytes(r, len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

/* Keeps a member's text; "" if it is missing. NULL without memory. */
static const char *keep_member(struct jp_rank_records *r, const json_t *object,
                               const char *key)
{
    return keep_text(r, jsonload_text(object, key));
}

/* Returns a number of an object that is not negative, or `otherwise`. */
static int64_t number_of(const json_t *object, const char *key,
                         int64_t otherwise)
{
    int64_t n = jsonload_int(object, key, -1);

    return n >= 0 ? n : otherwise;
}

/* Unknown words count as the weakest source. */
static enum jp_rank_source source_of(const json_t *object)
{
    const char *word = jsonload_text(object, "source");

    if (strcmp(word, "recorder") == 0)
        return JP_RANK_FROM_RECORDER;
    if (strcmp(word, "nccl_log") == 0)
        return JP_RANK_FROM_NCCL_LOG;
    return JP_RANK_FROM_FILE_NAME;
}

/* Adds a fact about a process, or about a rank (is_rank). Returns -1 without
 * memory; a bad line is counted. */
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
        /* Members of a rank are "" or -1 for a whole process. */
        .comm = is_rank ? keep_member(r, object, "comm") : "",
        .rank = is_rank ? number_of(object, "rank", -1) : -1,
        .busid = is_rank ? keep_member(r, object, "busid") : "",
        .uuid = is_rank ? keep_member(r, object, "uuid") : "",
        .task_pid = number_of(object, "task_pid", 0)};

    /* A NULL is a copy that failed. */
    if (!fact.host || !fact.boot_id || !fact.comm || !fact.busid || !fact.uuid)
        return -1;
    /* Without these numbers the fact cannot be attributed. */
    if (fact.pid < 0 || (is_rank && fact.rank < 0)) {
        r->bad_lines++;
        return 0;
    }
    /* Further facts are ignored; the memory stays bounded. */
    if (r->n_facts == RANKLINES_MAX_ROWS)
        return 0;
    if (VECTOR_ROOM(r->facts, r->n_facts + 1, r->fact_room) < 0)
        return -1;
    r->facts[r->n_facts++] = fact;
    return 0;
}

/* Adds one variable of a process. */
static int read_variable(struct jp_rank_records *r, struct jp_rank_variable v)
{
    if (r->n_variables == RANKLINES_MAX_ROWS)
        return 0;
    if (!v.host || !v.name || !v.value ||
        VECTOR_ROOM(r->variables, r->n_variables + 1, r->variable_room) < 0)
        return -1;
    r->variables[r->n_variables++] = v;
    return 0;
}

/* The row without a name comes first: it marks a process whose variables are
 * complete. */
static int read_variables(struct jp_rank_records *r, const json_t *process)
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
    if (read_variable(r, v) < 0)
        return -1;
    json_object_foreach(variables, name, value)
    {
        /* The empty name is reserved for the row above. */
        if (!*name || !json_is_string(value) || n++ >= MAX_READ)
            continue;
        v.name = keep_text(r, name);
        v.value = keep_text(r, json_string_value(value));
        if (read_variable(r, v) < 0)
            return -1;
    }
    return 0;
}

/* Adds a path that NCCL's log named. Returns -1 without memory. */
static int add_path(struct jp_rank_records *r, const json_t *object)
{
    struct jp_rank_path path = {
        .comm = keep_member(r, object, "comm"),
        .via = keep_member(r, object, "via"),
        .detail = keep_member(r, object, "detail"),
        .device = keep_member(r, object, "device"),
        .layer = keep_member(r, object, "layer"),
        .gdr = json_is_true(json_object_get(object, "gdr")),
        .pxn = json_is_true(json_object_get(object, "pxn")),
        .lines = (uint64_t) number_of(object, "lines", 1)};

    if (!path.comm || !path.via || !path.detail || !path.device || !path.layer)
        return -1;
    /* Further paths are ignored. */
    if (r->n_paths == RANKLINES_MAX_ROWS)
        return 0;
    if (VECTOR_ROOM(r->paths, r->n_paths + 1, r->path_room) < 0)
        return -1;
    r->paths[r->n_paths++] = path;
    return 0;
}

/* Adds what a log says about a communicator as a whole. Returns -1 without
 * memory. */
static int add_carriers(struct jp_rank_records *r, const json_t *object)
{
    struct jp_rank_carriers c = {
        .comm = keep_member(r, object, "comm"),
        .nvls_channels = number_of(object, "nvls_channels", -1),
        .nvls = json_is_true(json_object_get(object, "nvls")),
        .collnet = json_is_true(json_object_get(object, "collnet"))};

    if (!c.comm)
        return -1;
    if (r->n_carriers == RANKLINES_MAX_ROWS)
        return 0;
    if (VECTOR_ROOM(r->carriers, r->n_carriers + 1, r->carrier_room) < 0)
        return -1;
    r->carriers[r->n_carriers++] = c;
    return 0;
}

/* One object per line; its key says what it is. */
int rankread_rank_line(struct jp_rank_records *r, const char *node,
                       const char *line, size_t len)
{
    json_t *root =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *process = json_object_get(root, "process");
    const json_t *rank = json_object_get(root, "rank");
    const json_t *path = json_object_get(root, "path");
    const json_t *carriers = json_object_get(root, "carriers");
    int rc = 0;

    /* A line has one of these keys; "end" is the last line. */
    if (json_is_object(process))
        rc = add_fact(r, process, node, false) < 0 ? -1
                                                   : read_variables(r, process);
    else if (json_is_object(rank))
        rc = add_fact(r, rank, node, true);
    else if (json_is_object(path))
        rc = add_path(r, path);
    else if (json_is_object(carriers))
        rc = add_carriers(r, carriers);
    else if (!json_is_object(json_object_get(root, "end")))
        r->bad_lines++;
    json_decref(root);
    return rc;
}

/* Reads the minors of the GPUs that the task may open; -1 devices: unknown. */
static int read_devices(struct jp_rank_records *r, const json_t *object,
                        struct jp_rankmap_task *task)
{
    const json_t *devices = json_object_get(object, "devices");
    size_t n = json_array_size(devices);
    int *copy;

    task->n_devices = -1;
    if (!json_is_array(devices) || n > MAX_DEVICES)
        return 0;
    copy = take_bytes(r, n * sizeof(*copy) + 1);
    if (!copy)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *device = json_array_get(devices, i);
        json_int_t minor = json_integer_value(device);

        /* One bad entry makes the whole list unknown. */
        if (!json_is_integer(device) || minor < 0 || minor > INT_MAX)
            return 0;
        copy[i] = (int) minor;
    }
    task->devices = copy;
    task->n_devices = (int) n;
    return 0;
}

/* A start record of another schema is a bad line. */
int rankread_start_line(struct jp_rank_records *r, const char *node,
                        const char *line, size_t len)
{
    json_t *root =
        jsonload(JSONLOAD_LINE, "", line, len, JSON_REJECT_DUPLICATES, NULL);
    struct jp_rankmap_task task = {
        .node = node,
        .boot_id = keep_member(r, root, "boot_id"),
        .pid = number_of(root, "pid", -1),
        .pid_ns = (uint64_t) number_of(root, "pid_ns", 0),
        .start = (uint64_t) number_of(root, "start", 0),
        .procid = number_of(root, "procid", -1),
        .localid = number_of(root, "localid", -1)};
    int rc = task.boot_id ? read_devices(r, root, &task) : -1;

    /* Written by another version of jobprof. */
    if (number_of(root, "schema", 0) != 1)
        r->bad_lines++;
    else if (rc == 0 && r->n_tasks < RANKLINES_MAX_ROWS) {
        if (VECTOR_ROOM(r->tasks, r->n_tasks + 1, r->task_room) == 0)
            r->tasks[r->n_tasks++] = task;
        else
            rc = -1;
    }
    json_decref(root);
    return rc;
}

/* Whether the limit of kept bytes is reached, so that foreign files cannot
 * exhaust the memory. */
static bool is_full(const struct jp_rank_records *r)
{
    return r->n_blocks * sizeof(struct ranklines_block) +
               r->n_facts * sizeof(*r->facts) + r->n_tasks * sizeof(*r->tasks) +
               r->n_variables * sizeof(*r->variables) +
               r->n_paths * sizeof(*r->paths) >
           RANKLINES_MAX_HELD;
}

/* Counts what the reader has left out of a file, and keeps the first reason. */
static void note_left(struct jp_rank_records *r, const struct lines_left *left,
                      const char *node, const char *name)
{
    r->bad_lines += left->too_long + left->with_nul + left->early;
    if (!left->why || r->left_file)
        return;
    r->left_file = text_format("nodes/%s/%s", node, name);
    r->left_why = text_format("line %llu: %s", (unsigned long long) left->line,
                              left->why);
}

/* Passes each line of a file to `add`. An absent file is not an error. */
static int read_file(const char *folder, const char *name, const char *node,
                     const struct lines_limit *limit,
                     int (*add)(struct jp_rank_records *, const char *,
                                const char *, size_t),
                     struct jp_rank_records *r, struct jp_error *err)
{
    char *path = text_format("%s/%s", folder, name), *line;
    struct jp_lines *lines = path ? lines_open(path, limit, NULL) : NULL;
    int rc = path ? 0 : -1;
    size_t n;

    while (rc == 0 && lines && lines_next(lines, &line, &n, NULL) > 0)
        /* Read on, to count what is missing. */
        if (is_full(r))
            r->bad_lines++;
        else if (n)
            rc = add(r, node, line, n);
    if (lines)
        note_left(r, lines_left(lines), node, name);
    lines_close(lines);
    free(path);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* Makes the file that a killed finish has left undone, but only from a folder
 * that belongs to this user. */
static void make_up(const char *step_dir, const char *folder, const char *node,
                    uint64_t deadline_ms)
{
    char *path = text_format("%s/ranks.jsonl", folder);
    char *raw = text_format("%s/raw/%s", step_dir, node);
    struct stat st;

    if (path && raw && lstat(path, &st) < 0 && errno == ENOENT &&
        lstat(raw, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        clock_mono_ms() < deadline_ms)
        /* Without the file the ranks are unknown, which is no error. */
        (void) rankscan_write(step_dir, node, deadline_ms, NULL);
    free(raw);
    free(path);
}

int rankread_starts(struct jp_rank_records *r, const char *step_dir,
                    const char *node, struct jp_error *err)
{
    char *folder = text_format("%s/nodes/%s", step_dir, node);
    const char *name = folder ? keep_text(r, node) : NULL;
    int rc = name ? read_file(folder, "starts.jsonl", name,
                              &lines_limits[LINES_STARTS], rankread_start_line,
                              r, err)
                  : error_set(err, "out of memory");

    free(folder);
    return rc;
}

/* The node's name is kept once for all its rows. */
int rankread_node(struct jp_rank_records *r, const char *step_dir,
                  const char *node, uint64_t deadline_ms, struct jp_error *err)
{
    char *folder = text_format("%s/nodes/%s", step_dir, node);
    const char *name = folder ? keep_text(r, node) : NULL;
    int rc = -1;

    if (!name) {
        error_set(err, "out of memory");
    } else {
        make_up(step_dir, folder, node, deadline_ms);
        rc = read_file(folder, "ranks.jsonl", name, &lines_limits[LINES_RANKS],
                       rankread_rank_line, r, err);
        if (rc == 0)
            rc = read_file(folder, "starts.jsonl", name,
                           &lines_limits[LINES_STARTS], rankread_start_line, r,
                           err);
    }
    free(folder);
    return rc;
}

void rankread_fini(struct jp_rank_records *r)
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
    free(r->carriers);
    free(r->left_file);
    free(r->left_why);
    memset(r, 0, sizeof(*r));
}
