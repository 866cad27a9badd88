/* copper_vain.c - folders that were searched for what is not in them.
 *
 * A search path (LD_LIBRARY_PATH, PATH, PYTHONPATH) is tried folder by folder:
 * what ends in ENOENT in one of them was looked up for nothing. That is what
 * pruning a search path can save.
 */
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/copper/copper_build.h"

#define MAX_VAIN 1000

struct lookup {
    const struct jp_copper_path *path;
    size_t folder_len;
    uint64_t events;
};

static int by_folder(const void *a, const void *b)
{
    const struct lookup *x = a, *y = b;
    size_t n = x->folder_len < y->folder_len ? x->folder_len : y->folder_len;
    int order = memcmp(x->path->path, y->path->path, n);

    if (order)
        return order;
    if (x->folder_len != y->folder_len)
        return x->folder_len < y->folder_len ? -1 : 1;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->path->path, y->path->path);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static int by_events(const void *a, const void *b)
{
    const struct jp_copper_vain *x = a, *y = b;

    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->folder, y->folder);
}

/* Does the sorted list hold a path below folder? */
static bool holds(const char **list, size_t n, const char *folder)
{
    size_t len = strlen(folder), low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strncmp(list[mid], folder, len);

        if (!order && list[mid][len] == '/')
            return true;
        if (!order)
            order = (unsigned char) list[mid][len] < '/' ? -1 : 1;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* Lookups [0, n) are of one folder, the most frequent first. */
static int add(struct jp_copper *c, const struct lookup *lookup, size_t n,
               const char **read, size_t n_read)
{
    uint64_t by_class[JP_COPPER_N_CLASSES] = {0};
    struct jp_copper_vain *v = &c->vain[c->n_vain++];

    *v = (struct jp_copper_vain){
        .folder = strndup(lookup->path->path, lookup->folder_len),
        .names = n,
        .class = lookup->path->class,
        .example = strdup(lookup->path->path)};
    if (!v->folder || !v->example)
        return -1;
    for (size_t i = 0; i < n; i++) {
        enum jp_copper_class class = lookup[i].path->class;

        v->events = num_add(v->events, lookup[i].events);
        by_class[class] = num_add(by_class[class], lookup[i].events);
        if (by_class[class] > by_class[v->class])
            v->class = class;
    }
    v->wholly = c->vain_known && !holds(read, n_read, v->folder);
    return 0;
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash > path ? (size_t) (slash - path) : 0;
}

static void drop_rest(struct jp_copper *c)
{
    if (c->n_vain)
        qsort(c->vain, c->n_vain, sizeof(*c->vain), by_events);
    for (; c->n_vain > MAX_VAIN; c->n_vain--) {
        free(c->vain[c->n_vain - 1].folder);
        free(c->vain[c->n_vain - 1].example);
    }
}

int copper_vain(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    size_t first = c->path_from[COPPER_TTL], n = 0, n_read = 0, i, k;
    size_t most = c->n_paths - first;
    struct lookup *lookups = calloc(most ? most : 1, sizeof(*lookups));
    const char **read = calloc(c->n_paths ? c->n_paths : 1, sizeof(*read));
    int rc = lookups && read ? 0 : -1;

    c->vain_known = c->n_tables && c->n_tables >= c->n_counted;

    for (i = first; i < c->n_paths && rc == 0; i++) {
        const struct jp_copper_path *p = &c->paths[i];
        uint64_t events =
            num_add(p->count[COPPER_ROW_STORES], p->count[COPPER_ROW_SERVES]);

        if (events && folder_length(p->path))
            lookups[n++] = (struct lookup){p, folder_length(p->path), events};
    }
    for (i = c->path_from[COPPER_DATA];
         i < c->path_from[COPPER_TREE] && rc == 0; i++)
        read[n_read++] = c->paths[i].path;
    if (n)
        qsort(lookups, n, sizeof(*lookups), by_folder);
    if (n_read)
        qsort(read, n_read, sizeof(*read), by_text);
    c->vain = calloc(n ? n : 1, sizeof(*c->vain));
    if (!c->vain)
        rc = -1;
    for (i = 0; i < n && rc == 0; i += k) {
        for (k = 1; i + k < n &&
                    lookups[i].folder_len == lookups[i + k].folder_len &&
                    !memcmp(lookups[i].path->path, lookups[i + k].path->path,
                            lookups[i].folder_len);)
            k++;
        rc = add(c, lookups + i, k, read, n_read);
    }
    free(lookups);
    free(read);
    drop_rest(c);
    return rc;
}
