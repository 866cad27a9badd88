/* nodes.c - the nodes of a step, from their records and folders.
 *
 * nodes_read reads nodes/<node>/ of every node (read_node), sorts them, and
 * compares them with the step's node list to find those that are missing. Every
 * file is foreign input: a bad one becomes a note, and the rest is used.
 */
#include "orchestrator/collect/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/record.h"
#include "common/vector.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/collect/noderec.h"

/* What the record of a node contains about the whole step. */
struct jp_node_step {
    uint32_t nodes, tasks; /* 0 unknown */
    char *nodelist;        /* malloc'ed; NULL unknown */
};

/* Reads and parses <folder>/<name>, which must be an object. NULL with errno
 * ENOENT: the file does not exist; with another errno: err. */
static json_t *load_object(const char *folder, const char *name,
                           enum jsonload_kind kind, struct jp_error *err)
{
    char *path = text_format("%s/%s", folder, name);
    char *text = NULL;
    size_t len = 0;
    json_t *json = NULL;

    /* Without a path, text_format has had no memory. */
    errno = ENOMEM;
    if (path && fileio_read(path, false, jsonload_limits[kind].bytes, &text,
                            &len, err) == 0) {
        json = jsonload(kind, path, text, len, JSON_REJECT_DUPLICATES, err);
        errno = EINVAL;
        if (json && !json_is_object(json)) {
            json_decref(json);
            json = NULL;
            error_set(err, "%s: not an object", path);
        }
    }
    free(text);
    free(path);
    return json;
}

/* The integer of a member; `otherwise` if it is missing, not an integer, or
 * outside of 0 to max. */
static uint64_t get_number(const json_t *json, const char *key, uint64_t max,
                           uint64_t otherwise)
{
    uint64_t n = jsonload_count(json, key, UINT64_MAX);

    return n <= max ? n : otherwise;
}

/* The text of a member, "" if there is none. Caller frees; NULL: no memory. */
static char *get_text(const json_t *json, const char *key)
{
    return strdup(jsonload_text(json, key));
}

/* Reads node.json of folder into *node and *step. Both are zeroed by the
 * caller, who frees what was set, even on failure. -1: the file is missing or
 * malformed. */
static int record(const char *folder, struct jp_node *node,
                  struct jp_node_step *step, struct jp_error *err)
{
    json_t *json = load_object(folder, "node.json", JSONLOAD_NODE, err);
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
    /* The count at begin. UINT64_MAX if it is unknown, so that the difference
     * to the count at finish is 0. */
    node->oom_kills = get_number(json, "oom_kills", INT64_MAX, UINT64_MAX);
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

/* Adds the task of one line of tasks.jsonl. -1: the line is malformed. */
static int add_task(struct jp_node *node, const char *line, size_t len)
{
    json_t *json = jsonload(JSONLOAD_LINE, "", line, len, 0, NULL);
    const json_t *status = json_object_get(json, "status");
    uint64_t gtid = get_number(json, "gtid", UINT32_MAX, UINT64_MAX);
    int rc = -1;

    /* Without id or status the line is useless; other fields may be missing. */
    if (gtid <= UINT32_MAX && json_is_integer(status) &&
        node->n_tasks < JP_TASKLINES_MAX) {
        json_int_t n = json_integer_value(status);

        node->tasks[node->n_tasks++] = (struct jp_task){
            .gtid = (uint32_t) gtid,
            .ltid = (uint32_t) get_number(json, "ltid", UINT32_MAX, 0),
            .pid = (int64_t) get_number(json, "pid", INT32_MAX, 0),
            .status = n >= -1 && n <= INT_MAX ? (int) n : -1,
            .mono_us = (int64_t) get_number(json, "mono_us", INT64_MAX, 0),
            .end_us = (int64_t) get_number(json, "end_us", INT64_MAX, 0)};
        rc = 0;
    }
    json_decref(json);
    return rc;
}

/* The task with that process id; NULL: none. */
static const struct jp_task *find_task(const struct jp_node *node, int64_t pid)
{
    for (size_t i = 0; i < node->n_tasks; i++)
        if (node->tasks[i].pid == pid)
            return &node->tasks[i];
    return NULL;
}

/* Takes the exception that a worker has written itself. */
static void take_error(struct jp_task *worker, const json_t *json)
{
    const char *type = json_string_value(json_object_get(json, "error"));
    const char *text = json_string_value(json_object_get(json, "message"));
    const char *at = json_string_value(json_object_get(json, "at"));

    if (!type && !text)
        return;
    worker->error = text_format("%.64s%s%.160s", type ? type : "",
                                type && *type && text && *text ? ": " : "",
                                text ? text : "");
    worker->error_at = text_format("%.96s", at ? at : "");
}

/* Adds the process of one line of ends.jsonl, unless it is a task, whose end
 * Slurm tells. -1: the line is malformed. */
static int add_worker(struct jp_node *node, const char *line, size_t len)
{
    json_t *json = jsonload(JSONLOAD_LINE, "", line, len, 0, NULL);
    const json_t *status = json_object_get(json, "status");
    uint64_t pid = get_number(json, "pid", INT32_MAX, 0);
    int rc = -1;

    if (pid && json_is_integer(status) && node->n_workers < JP_TASKLINES_MAX) {
        json_int_t n = json_integer_value(status);

        rc = 0;
        if (!find_task(node, (int64_t) pid)) {
            struct jp_task *worker = &node->workers[node->n_workers++];

            *worker = (struct jp_task){
                .gtid = (uint32_t) get_number(json, "procid", UINT32_MAX - 1,
                                              UINT32_MAX),
                .is_worker = true,
                .pid = (int64_t) pid,
                .instance =
                    process_instance(get_number(json, "pid_ns", INT64_MAX, 0),
                                     get_number(json, "start", INT64_MAX, 0)),
                .start = get_number(json, "start", INT64_MAX, 0),
                .restarts =
                    (uint32_t) get_number(json, "restarts", UINT32_MAX, 0),
                .status = n >= -1 && n <= INT_MAX ? (int) n : -1,
                .mono_us = (int64_t) get_number(json, "mono_us", INT64_MAX, 0),
                .end_us = (int64_t) get_number(json, "end_us", INT64_MAX, 0)};
            take_error(worker, json);
        }
    }
    json_decref(json);
    return rc;
}

static int by_pid(const void *a, const void *b)
{
    const struct jp_task *x = a;
    const struct jp_task *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* A file with a line for each process of a node that has ended. */
struct endfile {
    const char *name;
    const struct lines_limit *limit;
    size_t list, n; /* offsets in struct jp_node */
    int (*add)(struct jp_node *node, const char *line, size_t len);
    int (*order)(const void *a, const void *b);
};

static const struct endfile tasks_file = {"tasks.jsonl",
                                          &lines_limits[LINES_TASKS],
                                          offsetof(struct jp_node, tasks),
                                          offsetof(struct jp_node, n_tasks),
                                          add_task,
                                          by_gtid};
/* read after the tasks: a task is no worker */
static const struct endfile workers_file = {"ends.jsonl",
                                            &lines_limits[LINES_WORKERS],
                                            offsetof(struct jp_node, workers),
                                            offsetof(struct jp_node, n_workers),
                                            add_worker,
                                            by_pid};

/* Reads such a file of folder; the processes are sorted. Returns the number of
 * lines that were dropped (0 if the file does not exist), or -1; err unless it
 * is 0. */
static int noderead_ends(const char *folder, const struct endfile *file,
                         struct jp_node *node, struct jp_error *err)
{
    struct jp_task **list = (struct jp_task **) ((char *) node + file->list);
    size_t *n = (size_t *) ((char *) node + file->n);
    char *path = text_format("%s/%s", folder, file->name), *line;
    const struct lines_left *left;
    struct jp_lines *lines;
    uint64_t bad = 0;
    size_t len;
    int rc = 0;

    errno = ENOMEM;
    lines = path ? lines_open(path, file->limit, err) : NULL;
    if (!lines) {
        free(path);
        return errno == ENOENT ? 0 : -1;
    }
    while (rc == 0 && lines_next(lines, &line, &len, NULL) > 0) {
        if (!len)
            continue;
        /* the lines are limited */
        if (VECTOR_DOUBLE(*list, *n) < 0)
            rc = error_set(err, "out of memory");
        if (rc == 0)
            bad += file->add(node, line, len) < 0;
    }
    left = lines_left(lines);
    bad += left->too_long + left->with_nul + left->early;
    if (rc == 0 && bad)
        error_set(err, "%s: %llu bad lines",
                  left->why ? left->first.text : path,
                  (unsigned long long) bad);
    lines_close(lines);
    free(path);
    if (*n)
        qsort(*list, *n, sizeof(**list), file->order);
    return rc < 0 ? -1 : (int) bad;
}

/* Reads the manifest of folder. Returns 0 if it does not exist; then finished
 * stays false. node->oom_kills becomes the difference of the two counts. */
static int manifest(const char *folder, struct jp_node *node,
                    struct jp_error *err)
{
    json_t *json = load_object(folder, "manifest", JSONLOAD_MANIFEST, err);
    uint64_t before = node->oom_kills, after;
    const json_t *file;
    size_t i;

    node->oom_kills = 0;
    if (!json)
        return errno == ENOENT ? 0 : -1;
    after = get_number(json, "oom_kills", INT64_MAX, 0);
    node->oom_kills = after > before ? after - before : 0;
    node->finished = true;
    node->complete = json_is_true(json_object_get(json, "complete"));
    node->finish_us = get_number(json, "finish_us", INT64_MAX, 0);
    json_array_foreach(json_object_get(json, "files"), i, file)
    {
        node->files++;
        node->bytes =
            num_add(node->bytes, get_number(file, "bytes", INT64_MAX, 0));
    }
    json_decref(json);
    return 0;
}

/* Reads plugin.json of folder; 0 if it does not exist. */
static int read_plugin(const char *folder, struct jp_node *node,
                       struct jp_error *err)
{
    static const char *const words[JP_OTHERS] = {
        [JP_OTHER_SLURM] = "slurm",
        [JP_OTHER_MODULE] = "module",
        [JP_OTHER_PROLOG] = "prolog",
        [JP_OTHER_PROGRAM] = "program"};
    json_t *json = load_object(folder, "plugin.json", JSONLOAD_LINE, err);
    const char *by, *program;
    int rc = 0;

    if (!json)
        return errno == ENOENT ? 0 : -1;
    by = json_string_value(json_object_get(json, "by"));
    program = json_string_value(json_object_get(json, "program"));
    node->other_plugin = get_text(json, "found");
    for (int i = 0; by && i < JP_OTHERS; i++)
        if (!strcmp(by, words[i]))
            node->other_by = (enum jp_other_by) i;
    snprintf(node->other_program, sizeof(node->other_program), "%s",
             program ? program : "");
    if (!node->other_plugin)
        rc = error_set(err, "out of memory");
    json_decref(json);
    return rc;
}

/* --- join the records of a step's nodes --- */

/* Limits for foreign input: nodes of a step, notes, bytes of a node's
 * reason. */
#define NODES_MAX 100000
#define NOTES_MAX 100
#define WHY_MAX 1024

static void fini_node(struct jp_node *node)
{
    free(node->step_dir);
    free(node->name);
    free(node->hostname);
    free(node->boot_id);
    free(node->topology_addr);
    free(node->tasks);
    for (size_t i = 0; i < node->n_workers; i++) {
        free(node->workers[i].error);
        free(node->workers[i].error_at);
    }
    free(node->workers);
    free(node->other_plugin);
}

/* Moves the times of one node to the step's clock. node->unc_us becomes the
 * largest uncertainty of its tasks' ends. */
static void align_node(struct jp_node *node, const struct clockmap_node *clock)
{
    node->clock = clock;
    node->unc_us = 0;
    node->finish_us = clockmap_us(clock, node->finish_us);
    for (size_t i = 0; i < node->n_tasks + node->n_workers; i++) {
        struct jp_task *task = i < node->n_tasks
                                   ? &node->tasks[i]
                                   : &node->workers[i - node->n_tasks];
        double unc_us = clockmap_unc_ns(clock, task->end_us * 1000) / 1000;

        if (task->end_us <= 0)
            continue;
        node->unc_us = unc_us > node->unc_us ? unc_us : node->unc_us;
        task->end_us = (int64_t) clockmap_us(clock, (uint64_t) task->end_us);
    }
}

void nodes_align(struct jp_nodes *nodes, const struct clockmap *map)
{
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        struct jp_node *node = &nodes->nodes[i];
        const struct clockmap_node *clock = NULL;

        /* Until the node is aligned. */
        node->unc_us = -1;
        if (map && node->hostname)
            clock = clockmap_find(map, node->hostname, strlen(node->hostname));
        /* The agents may know the node by Slurm's name only. */
        if (map && !clock)
            clock = clockmap_find(map, node->name, strlen(node->name));
        if (clock && clock->aligned)
            align_node(node, clock);
    }
}

void nodes_destroy(struct jp_nodes *nodes)
{
    if (!nodes)
        return;
    for (size_t i = 0; i < nodes->n_nodes; i++)
        fini_node(&nodes->nodes[i]);
    free(nodes->nodes);
    free(nodes->step_nodelist);
    free(nodes->why_unprofiled);
    free(nodes->own_folder);
    nodelist_free(nodes->missing, nodes->n_missing);
    nodelist_free(nodes->notes, nodes->n_notes);
    free(nodes);
}

int nodes_hide_paths(struct jp_nodes *nodes)
{
    const char *last = nodes->own_folder ? strrchr(nodes->own_folder, '/')
                                         : NULL;
    char *cut = last ? text_format("...%s", last) : NULL;

    if (last && !cut)
        return -1;
    if (cut) {
        free(nodes->own_folder);
        nodes->own_folder = cut;
    }
    return 0;
}

/* Adds a note; dropped if there are too many or without memory. */
static void add_note(struct jp_nodes *nodes, const char *text)
{
    char *copy = nodes->n_notes < NOTES_MAX ? strdup(text) : NULL;

    if (copy)
        nodes->notes[nodes->n_notes++] = copy;
}

/* Merges what a node's record contains about the step: the largest numbers and
 * the first list, because a node of one component may not know the others.
 * Takes step's list over. */
static void merge_step(struct jp_nodes *nodes, struct jp_node_step *step)
{
    if (step->nodes > nodes->step_nodes)
        nodes->step_nodes = step->nodes;
    if (step->tasks > nodes->step_tasks)
        nodes->step_tasks = step->tasks;
    if (!nodes->step_nodelist && step->nodelist && *step->nodelist) {
        nodes->step_nodelist = step->nodelist;
        step->nodelist = NULL;
    }
    free(step->nodelist);
}

/* Whether the node has noted that its tasks run unprofiled. The reason of the
 * first node by name is kept, so that reports are the same in any order of the
 * folder. */
static bool is_unprofiled(struct jp_nodes *nodes, const char *folder,
                          const char *name)
{
    char *path = text_format("%s/" JP_NODES_UNPROFILED, folder);
    char *text = NULL, *why = NULL;
    bool found = path &&
                 fileio_read(path, false, WHY_MAX, &text, NULL, NULL) == 0;

    if (found) {
        nodes->n_unprofiled++;
        text[strcspn(text, "\n")] = '\0';
        why = text_format("%s: %s", name, text);
    }
    if (why &&
        (!nodes->why_unprofiled || strcmp(why, nodes->why_unprofiled) < 0)) {
        free(nodes->why_unprofiled);
        nodes->why_unprofiled = why;
        why = NULL;
    }
    free(why);
    free(text);
    free(path);
    return found;
}

/* Adds what the node has taken from the user's own folder of raw files. Returns
 * 0 if there is no such record. */
static int own_folder(const char *folder, struct jp_nodes *nodes,
                      struct jp_error *err)
{
    json_t *json = load_object(folder, JP_NODES_FOLDER, JSONLOAD_NODE, err);

    if (!json)
        return errno == ENOENT ? 0 : -1;
    if (!nodes->own_folder)
        nodes->own_folder = get_text(json, "path");
    nodes->own_taken =
        num_add(nodes->own_taken, get_number(json, "taken", INT64_MAX, 0));
    nodes->own_missed =
        num_add(nodes->own_missed, get_number(json, "missed", INT64_MAX, 0));
    json_decref(json);
    return 0;
}

/* Reads nodes/<name>. A record that cannot be used becomes a note. -1: no
 * memory. */
static int read_node(struct jp_nodes *nodes, const char *folder,
                     const char *name)
{
    struct jp_node node = {.name = strdup(name)};
    struct jp_node_step step = {0};
    struct jp_error err;
    int bad;

    if (!node.name)
        return -1;
    /* Without node.json there is no node, but perhaps a reason. */
    if (record(folder, &node, &step, &err) < 0) {
        if (!is_unprofiled(nodes, folder, name))
            add_note(nodes, err.text);
        free(step.nodelist);
        fini_node(&node);
        return 0;
    }
    bad = noderead_ends(folder, &tasks_file, &node, &err);
    if (bad != 0)
        add_note(nodes, err.text);
    bad = noderead_ends(folder, &workers_file, &node, &err);
    if (bad != 0)
        add_note(nodes, err.text);
    if (manifest(folder, &node, &err) < 0)
        add_note(nodes, err.text);
    if (read_plugin(folder, &node, &err) < 0)
        add_note(nodes, err.text);
    if (own_folder(folder, nodes, &err) < 0)
        add_note(nodes, err.text);
    merge_step(nodes, &step);
    nodes->nodes[nodes->n_nodes++] = node;
    return 0;
}

/* Reads one entry of nodes/. Anything but a folder with a valid name is
 * ignored. */
static int read_entry(struct jp_nodes *nodes, size_t *room, const char *root,
                      const char *name)
{
    char *folder;
    int rc = 0;

    if (!stepdir_name_ok(name) || nodes->n_nodes >= NODES_MAX)
        return 0;
    if (VECTOR_ROOM(nodes->nodes, nodes->n_nodes + 1, *room) < 0)
        return -1;
    folder = text_format("%s/%s", root, name);
    if (!folder)
        return -1;
    if (stepdir_is_folder(folder))
        rc = read_node(nodes, folder, name);
    free(folder);
    return rc;
}

/* Reads all entries of nodes/. A missing folder means no nodes. */
static int read_all(struct jp_nodes *nodes, const char *root)
{
    DIR *dir = ownplace_opendir(root);
    struct dirent *entry;
    size_t room = 0;
    int rc = 0;

    if (!dir)
        return 0;
    while (rc == 0 && (entry = readdir(dir)))
        rc = read_entry(nodes, &room, root, entry->d_name);
    closedir(dir);
    return rc;
}

static int by_seat(const void *a, const void *b)
{
    const struct jp_node *x = a;
    const struct jp_node *y = b;

    /* By component, then by index, then by name. */
    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    if (x->nodeid != y->nodeid)
        return x->nodeid < y->nodeid ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Stores the names without a record as missing. names are sorted and taken
 * over. */
static int keep_missing(struct jp_nodes *nodes, char **names, size_t n)
{
    /* seen[i]: there is a record of names[i]. */
    bool *seen = calloc(n + 1, sizeof(*seen));
    size_t kept = 0;

    if (!seen) {
        nodelist_free(names, n);
        return -1;
    }
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        char **hit =
            bsearch(&nodes->nodes[i].name, names, n, sizeof(*names), by_name);

        if (hit)
            seen[hit - names] = true;
    }
    for (size_t i = 0; i < n; i++) {
        if (seen[i])
            free(names[i]);
        else
            names[kept++] = names[i];
    }
    free(seen);
    nodes->missing = names;
    nodes->n_missing = kept;
    return 0;
}

/* Without a list of names: counts the missing nodes and numbers them. */
static int count_missing(struct jp_nodes *nodes)
{
    size_t n = nodes->step_nodes > nodes->n_nodes
                   ? nodes->step_nodes - nodes->n_nodes
                   : 0;

    if (n == 0 || n > NODES_MAX)
        return 0;
    nodes->missing = calloc(n, sizeof(*nodes->missing));
    for (; nodes->missing && nodes->n_missing < n; nodes->n_missing++) {
        char *name = text_format("(unnamed %zu)", nodes->n_missing + 1);

        if (!name)
            return -1;
        nodes->missing[nodes->n_missing] = name;
    }
    return nodes->missing ? 0 : -1;
}

/* Finds the expected nodes that have no record. */
static int find_missing(struct jp_nodes *nodes)
{
    char **names = NULL;
    size_t n = 0;

    if (nodes->step_nodelist &&
        nodelist_expand(nodes->step_nodelist, &names, &n, NULL) == 0) {
        qsort(names, n, sizeof(*names), by_name);
        return keep_missing(nodes, names, n);
    }
    return count_missing(nodes);
}

/* Counts tasks with a non-zero wait status over all nodes. */
static void count_failed(struct jp_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++)
            nodes->tasks_failed += nodes->nodes[i].tasks[k].status > 0;
}

/* Steps: read every folder in nodes/, sort by seat, count failed tasks, compare
 * with the node list. Only a lack of memory is an error. */
struct jp_nodes *nodes_read(const char *step_dir, struct jp_error *err)
{
    struct jp_nodes *nodes = calloc(1, sizeof(*nodes));
    char *root = text_format("%s/nodes", step_dir);
    int rc = -1;

    if (nodes)
        /* Room for all notes at once. */
        nodes->notes = calloc(NOTES_MAX, sizeof(*nodes->notes));
    if (root && nodes && nodes->notes && read_all(nodes, root) == 0) {
        if (nodes->n_nodes > 0)
            qsort(nodes->nodes, nodes->n_nodes, sizeof(*nodes->nodes), by_seat);
        count_failed(nodes);
        rc = find_missing(nodes);
        nodes->n_steps = 1;
        if (rc == 0 && !nodes->step_nodelist)
            rc = (nodes->step_nodelist = strdup("")) ? 0 : -1;
    }
    free(root);
    if (rc == 0)
        return nodes;
    error_set(err, "%s: out of memory", step_dir);
    nodes_destroy(nodes);
    return NULL;
}

/* --- nodes of several steps --------------------------------------------- */

const char *nodes_step_dir(const struct jp_node *node, const char *step_dir)
{
    return node->step_dir ? node->step_dir : step_dir;
}

bool nodes_are_distinct(const struct jp_nodes *nodes)
{
    const char **names = calloc(nodes->n_nodes + 1, sizeof(*names));
    bool distinct = names != NULL;

    for (size_t i = 0; names && i < nodes->n_nodes; i++)
        names[i] = nodes->nodes[i].name;
    if (names && nodes->n_nodes)
        qsort(names, nodes->n_nodes, sizeof(*names), by_name);
    for (size_t i = 1; names && i < nodes->n_nodes; i++)
        distinct = distinct && strcmp(names[i - 1], names[i]) != 0;
    free(names);
    return distinct;
}

/* Moves all strings of one list behind those of another. */
static int move_texts(char ***to, size_t *n, char ***from, size_t *more)
{
    if (!*more)
        return 0;
    if (vector_resize(to, *n + *more, sizeof(**to)) < 0)
        return -1;
    memcpy(*to + *n, *from, *more * sizeof(**to));
    *n += *more;
    *more = 0;
    return 0;
}

/* Numbers the tasks of a node's record after those of earlier steps. */
static void number_tasks(struct jp_node *node, uint32_t before)
{
    for (size_t i = 0; i < node->n_tasks; i++)
        node->tasks[i].gtid += before;
    for (size_t i = 0; i < node->n_workers; i++)
        if (node->workers[i].gtid != UINT32_MAX)
            node->workers[i].gtid += before;
}

/* Moves the nodes of a step into those of the job. -1: no memory. */
static int move_step(struct jp_nodes *all, struct jp_nodes *step,
                     const char *step_dir)
{
    size_t n = all->n_nodes + step->n_nodes;
    bool has_room = vector_resize(&all->nodes, n + 1, sizeof(*all->nodes)) == 0;
    char *list =
        text_format("%s%s%s", all->step_nodelist,
                    *all->step_nodelist && *step->step_nodelist ? "," : "",
                    step->step_nodelist);

    if (!has_room || !list) {
        free(list);
        return -1;
    }
    free(all->step_nodelist);
    all->step_nodelist = list;
    for (size_t i = 0; i < step->n_nodes; i++) {
        struct jp_node *node = &all->nodes[all->n_nodes];

        *node = step->nodes[i];
        node->step_dir = strdup(step_dir);
        number_tasks(node, all->step_tasks);
        all->n_nodes++;
        step->nodes[i] = (struct jp_node){0};
        if (!node->step_dir)
            return -1;
    }
    all->n_steps++;
    all->step_nodes += step->step_nodes;
    all->step_tasks += step->step_tasks;
    all->tasks_failed += step->tasks_failed;
    all->n_unprofiled += step->n_unprofiled;
    all->own_taken += step->own_taken;
    all->own_missed += step->own_missed;
    if (!all->why_unprofiled) {
        all->why_unprofiled = step->why_unprofiled;
        step->why_unprofiled = NULL;
    }
    if (!all->own_folder) {
        all->own_folder = step->own_folder;
        step->own_folder = NULL;
    }
    return move_texts(&all->missing, &all->n_missing, &step->missing,
                      &step->n_missing) < 0 ||
                   move_texts(&all->notes, &all->n_notes, &step->notes,
                              &step->n_notes) < 0
               ? -1
               : 0;
}

struct jp_nodes *nodes_read_steps(char *const *step_dirs, size_t n,
                                  struct jp_error *err)
{
    struct jp_nodes *all = calloc(1, sizeof(*all));
    int rc = all && (all->step_nodelist = strdup("")) ? 0 : -1;

    for (size_t i = 0; i < n && rc == 0; i++) {
        struct jp_nodes *step = nodes_read(step_dirs[i], err);

        rc = step ? move_step(all, step, step_dirs[i]) : -1;
        nodes_destroy(step);
    }
    if (rc == 0)
        return all;
    error_set(err, "the nodes of a job: out of memory");
    nodes_destroy(all);
    return NULL;
}
