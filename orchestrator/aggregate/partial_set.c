/* partial_set.c - find partials, and merge those that hold. */
#include "orchestrator/aggregate/partial_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/partial.h"

/* Logs from `first` on that are below the same folder of raw as it; *skip: how
 * long their common beginning is. 0: it is in none. */
static size_t logs_of_node(const struct jp_logwalk *walk, size_t first,
                           size_t raw_len, size_t *skip)
{
    const char *path = walk->logs[first].path, *end;
    size_t n = 1;

    end = strlen(path) > raw_len ? strchr(path + raw_len + 1, '/') : NULL;
    if (!end || path[raw_len] != '/')
        return 0;
    *skip = (size_t) (end - path) + 1;
    while (first + n < walk->n_logs &&
           !strncmp(walk->logs[first + n].path, path, *skip))
        n++;
    return n;
}

/* NULL: every log is as the partial names it, else what is not. */
static const char *differs(const struct partial *partial,
                           const struct partial_node *node,
                           const struct jp_logwalk *walk)
{
    if (partial->n_files != node->n)
        return "there are other files now";
    for (size_t i = 0; i < node->n; i++) {
        const struct jp_logfile *log = &walk->logs[node->first + i];
        const struct partial_file *file = &partial->files[i];

        if (strcmp(log->path + node->skip, file->path))
            return "there are other files now";
        if (log->size != file->size || log->mtime_us != file->mtime_us)
            return "a file has changed since";
    }
    return NULL;
}

/* NULL, with node->why unless there is none at all. */
static struct partial *open_matching(struct partial_node *node,
                                     const struct jp_logwalk *walk)
{
    struct jp_error err = {""};
    struct partial *partial = partial_open(node->path, &err);
    const char *why;

    if (!partial) {
        if (errno != ENOENT)
            snprintf(node->why, sizeof(node->why), "%.190s", err.text);
        return NULL;
    }
    why = differs(partial, node, walk);
    if (!why)
        return partial;
    snprintf(node->why, sizeof(node->why), "%s", why);
    partial_close(partial);
    return NULL;
}

/* Adds the node of a log, if it has a partial. -1 without memory. */
static int add_node(struct partial_set *set, const struct jp_logwalk *walk,
                    const char *folder, size_t raw_len,
                    struct partial_node node)
{
    struct partial_node *more = set->nodes;
    const char *name = walk->logs[node.first].path + raw_len + 1;
    struct partial *partial;

    if (!(set->n & (set->n - 1)))
        more = reallocarray(more, set->n ? 2 * set->n : 1, sizeof(*more));
    if (!more)
        return -1;
    set->nodes = more;
    node.name = strndup(name, node.skip - raw_len - 2);
    node.path = node.name ? fileio_path("%s/%s/partial.jpp", folder, node.name)
                          : NULL;
    for (size_t i = 0; i < node.n; i++)
        node.bytes += walk->logs[node.first + i].size;
    more[set->n++] = node;
    if (!node.path)
        return -1;
    partial = open_matching(&more[set->n - 1], walk);
    more[set->n - 1].good = partial != NULL;
    partial_close(partial);
    return 0;
}

int partial_set_init(struct partial_set *set, const struct jp_logwalk *walk,
                     const char *raw, const char *folder)
{
    size_t n, raw_len = strlen(raw);

    *set = (struct partial_set){0};
    for (size_t i = 0; i < walk->n_logs; i += n ? n : 1) {
        struct partial_node node = {.first = i};

        node.n = n = logs_of_node(walk, i, raw_len, &node.skip);
        if (n && add_node(set, walk, folder, raw_len, node) < 0) {
            partial_set_fini(set);
            return -1;
        }
    }
    return 0;
}

/* Is one of the first n logs below a folder? */
static bool has_logs(const struct jp_logwalk *walk, size_t n,
                     const char *folder)
{
    size_t len = strlen(folder);

    for (size_t i = 0; i < n; i++)
        if (!strncmp(walk->logs[i].path, folder, len) &&
            walk->logs[i].path[len] == '/')
            return true;
    return false;
}

/* A name that leads out of its node's folder is none that finish has seen. */
static bool stays_inside(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!*at || *at == '/' || !strncmp(at, "../", 3) || !strcmp(at, ".."))
            return false;
    }
    return true;
}

/* Adds the logs of one node, as its partial has them. -1 without memory. */
static int recall(struct jp_logwalk *walk, const struct partial *partial,
                  const char *folder)
{
    struct jp_logfile *more = reallocarray(
        walk->logs, walk->n_logs + partial->n_files + 1, sizeof(*more));

    if (!more)
        return -1;
    walk->logs = more;
    for (size_t i = 0; i < partial->n_files; i++)
        if (!stays_inside(partial->files[i].path))
            return 0;
    for (size_t i = 0; i < partial->n_files; i++) {
        const struct partial_file *file = &partial->files[i];
        char *path = fileio_path("%s/%s", folder, file->path);

        if (!path)
            return -1;
        more[walk->n_logs++] = (struct jp_logfile){
            .path = path, .size = file->size, .mtime_us = file->mtime_us};
    }
    return 0;
}

/* The node, if its partial is all that is left. -1 without memory. */
static int recall_node(struct jp_logwalk *walk, size_t n_seen, const char *raw,
                       const char *folder, const char *node)
{
    char *path = fileio_path("%s/%s/partial.jpp", folder, node);
    char *logs = fileio_path("%s/%s", raw, node);
    struct partial *partial = NULL;
    int rc = path && logs ? 0 : -1;

    if (rc == 0 && !has_logs(walk, n_seen, logs))
        partial = partial_open(path, NULL);
    if (partial)
        rc = recall(walk, partial, logs);
    partial_close(partial);
    free(path);
    free(logs);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    const struct jp_logfile *x = a, *y = b;

    return strcmp(x->path, y->path);
}

int partial_set_recall(struct jp_logwalk *walk, const char *raw,
                       const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n_seen = walk->n_logs;
    struct dirent *entry;
    struct stat st;
    int rc = 0;

    while (rc == 0 && dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            rc = recall_node(walk, n_seen, raw, folder, entry->d_name);
    if (dir)
        closedir(dir);
    if (walk->n_logs > n_seen)
        qsort(walk->logs, walk->n_logs, sizeof(*walk->logs), by_path);
    for (size_t i = walk->bytes = 0; i < walk->n_logs; i++)
        walk->bytes += walk->logs[i].size;
    return rc;
}

void partial_set_fini(struct partial_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->nodes[i].path);
        free(set->nodes[i].name);
    }
    free(set->nodes);
    *set = (struct partial_set){0};
}

enum join_status partial_set_read(struct partial_node *node,
                                  const struct jp_logwalk *walk,
                                  struct join *join, uint64_t events,
                                  struct source_facts *files)
{
    struct partial *partial = open_matching(node, walk);
    struct jp_error err = {""};
    struct join *from;
    enum join_status status;

    if (!partial)
        return JOIN_LEFT_OUT;
    partial->timeline_events = events;
    from = partial_load(partial, join->budget, &err);
    if (!from) {
        snprintf(node->why, sizeof(node->why), "%.190s", err.text);
        join->conflict |= partial->over; /* the bound: in order, then */
        status = partial->over ? JOIN_OK : JOIN_LEFT_OUT;
    } else {
        status = join_merge(join, from);
        node->used = status == JOIN_OK && !join->conflict;
        for (size_t i = 0; i < node->n && node->used; i++) {
            files[node->first + i] = partial->files[i].read;
            partial->files[i].read.notes = NULL; /* handed over */
            partial->files[i].read.busy = NULL;
            partial->files[i].read.timeline = NULL;
        }
        if (status == JOIN_LEFT_OUT) /* the bound; conflict is set */
            status = JOIN_OK;
    }
    if (from)
        join_give_back(from);
    join_destroy(from);
    partial_close(partial);
    return status;
}

int partial_set_hangs(const struct partial_node *node,
                      const struct jp_logwalk *walk, struct hangs_sum *sum)
{
    struct partial *partial = partial_open(node->path, NULL);
    struct hangs_evidence *all = NULL;
    size_t n = 0;
    int rc = 0;

    if (partial && !differs(partial, node, walk))
        all = partial_load_hangs(partial, &n, NULL);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = hangs_sum_add(sum, &all[i]);
    if (!all)
        rc = 1;
    partial_free_hangs(all, n);
    partial_close(partial);
    return rc;
}
