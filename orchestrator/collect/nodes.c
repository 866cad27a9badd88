/* nodes.c - join the records of a step's nodes. */
#include "orchestrator/collect/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/fileio.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/noderead.h"
#include "orchestrator/collect/stepdir.h"

#define NODES_MAX 100000
#define NOTES_MAX 100
#define WHY_MAX 1024

static void fini_node(struct jp_node *node)
{
    free(node->name);
    free(node->hostname);
    free(node->boot_id);
    free(node->topology_addr);
    free(node->tasks);
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
    nodelist_free(nodes->missing, nodes->n_missing);
    nodelist_free(nodes->notes, nodes->n_notes);
    free(nodes);
}

static void note(struct jp_nodes *nodes, const char *text)
{
    char *copy = nodes->n_notes < NOTES_MAX ? strdup(text) : NULL;

    if (copy)
        nodes->notes[nodes->n_notes++] = copy;
}

/* What the nodes say of the step: the largest numbers, the first list. */
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

/* Has it said that it has no profiler? The first node's reason is kept. */
static bool is_unprofiled(struct jp_nodes *nodes, const char *folder,
                          const char *name)
{
    char *path = fileio_path("%s/" JP_NODES_UNPROFILED, folder);
    char *text = NULL, *why = NULL;
    bool found = path &&
                 fileio_read(path, false, WHY_MAX, &text, NULL, NULL) == 0;

    if (found) {
        nodes->n_unprofiled++;
        text[strcspn(text, "\n")] = '\0';
        why = fileio_path("%s: %s", name, text);
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

/* Reads nodes/<name>; a record that cannot be used becomes a note. */
static int read_node(struct jp_nodes *nodes, const char *folder,
                     const char *name)
{
    struct jp_node node = {.name = strdup(name)};
    struct jp_node_step step = {0};
    struct jp_error err;
    int bad;

    if (!node.name)
        return -1;
    if (noderead_record(folder, &node, &step, &err) < 0) {
        if (!is_unprofiled(nodes, folder, name))
            note(nodes, err.text);
        free(step.nodelist);
        fini_node(&node);
        return 0;
    }
    bad = noderead_tasks(folder, &node, &err);
    if (bad > 0)
        error_set(&err, "%s/tasks.jsonl: %d bad lines", folder, bad);
    if (bad != 0)
        note(nodes, err.text);
    if (noderead_manifest(folder, &node, &err) < 0)
        note(nodes, err.text);
    merge_step(nodes, &step);
    nodes->nodes[nodes->n_nodes++] = node;
    return 0;
}

static int read_entry(struct jp_nodes *nodes, size_t *room, const char *root,
                      const char *name)
{
    struct jp_node *more;
    char *folder;
    int rc = 0;

    if (!stepdir_name_ok(name) || nodes->n_nodes >= NODES_MAX)
        return 0;
    if (nodes->n_nodes == *room) {
        more = realloc(nodes->nodes, (*room * 2 + 16) * sizeof(*more));
        if (!more)
            return -1;
        nodes->nodes = more;
        *room = *room * 2 + 16;
    }
    folder = fileio_path("%s/%s", root, name);
    if (!folder)
        return -1;
    if (stepdir_is_folder(folder))
        rc = read_node(nodes, folder, name);
    free(folder);
    return rc;
}

static int read_all(struct jp_nodes *nodes, const char *root)
{
    DIR *dir = stepdir_is_folder(root) ? opendir(root) : NULL;
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

/* Takes over names, which are sorted: those without a record are missing. */
static int keep_missing(struct jp_nodes *nodes, char **names, size_t n)
{
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

/* No list of names: count, and give the absent ones a number. */
static int count_missing(struct jp_nodes *nodes)
{
    size_t n = nodes->step_nodes > nodes->n_nodes
                   ? nodes->step_nodes - nodes->n_nodes
                   : 0;

    if (n == 0 || n > NODES_MAX)
        return 0;
    nodes->missing = calloc(n, sizeof(*nodes->missing));
    for (; nodes->missing && nodes->n_missing < n; nodes->n_missing++) {
        char *name = fileio_path("(unnamed %zu)", nodes->n_missing + 1);

        if (!name)
            return -1;
        nodes->missing[nodes->n_missing] = name;
    }
    return nodes->missing ? 0 : -1;
}

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

static void count_failed(struct jp_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++)
            nodes->tasks_failed += nodes->nodes[i].tasks[k].status > 0;
}

struct jp_nodes *nodes_read(const char *step_dir, struct jp_error *err)
{
    struct jp_nodes *nodes = calloc(1, sizeof(*nodes));
    char *root = fileio_path("%s/nodes", step_dir);
    int rc = -1;

    if (nodes)
        nodes->notes = calloc(NOTES_MAX, sizeof(*nodes->notes));
    if (root && nodes && nodes->notes && read_all(nodes, root) == 0) {
        if (nodes->n_nodes > 0)
            qsort(nodes->nodes, nodes->n_nodes, sizeof(*nodes->nodes), by_seat);
        count_failed(nodes);
        rc = find_missing(nodes);
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
