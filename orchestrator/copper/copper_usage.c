/* copper_usage.c - observed paths against the files that there are now.
 *
 * What exists is looked up when the report is made, on the host where it is
 * made: a later state than the run's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/copper/copper_roots.h"

#define DEFAULT_ENTRIES 2000000
#define MAX_DEPTH 100 /* as many folders are open at once */

struct walk {
    struct copper_build *b;
    size_t root;
    uint64_t left; /* entries that may still come */
};

static int add_used(struct copper_build *b, const char *path, size_t root,
                    bool exists, bool is_dir)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_used *more = c->used;

    if (!(c->n_used & (c->n_used - 1))) {
        more = reallocarray(more, c->n_used ? 2 * c->n_used : 1, sizeof(*more));
        if (!more)
            return -1;
        c->used = more;
    }
    more[c->n_used++] = (struct jp_copper_used){
        .path = path, .root = root, .exists = exists, .is_dir = is_dir};
    return 0;
}

static int take_found(struct walk *w, const char *path, bool is_dir)
{
    struct jp_copper *c = w->b->copper;
    struct jp_copper_root *root = &c->used_roots[w->root];
    const char *kept = copper_memory_keep(&c->used_memory, path, strlen(path));

    if (!kept || add_used(w->b, kept, w->root, true, is_dir) < 0)
        return -1;
    c->used[c->n_used - 1].walked = true;
    root->dirs += is_dir;
    root->files += !is_dir;
    return 0;
}

/* 0: no folder; 1: a folder to go into; 2: a link to a folder. */
static int folder_kind(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return 1;
    return S_ISLNK(st.st_mode) && fstatat(dir, name, &st, 0) == 0 &&
                   S_ISDIR(st.st_mode)
               ? 2
               : 0;
}

static int walk_folder(struct walk *w, int fd, const char *path,
                       unsigned depth);

static int take_entry(struct walk *w, int dir, const char *name,
                      const char *path, unsigned depth)
{
    int kind = folder_kind(dir, name), fd;

    if (!w->left) {
        w->b->copper->used_roots[w->root].cut = true;
        return 0;
    }
    w->left--;
    if (take_found(w, path, kind > 0) < 0)
        return -1;
    if (kind != 1)
        return 0;
    fd =
        depth < MAX_DEPTH
            ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            : -1;
    if (fd < 0) {
        w->b->copper->used_roots[w->root].cut = true;
        return 0;
    }
    return walk_folder(w, fd, path, depth + 1);
}

/* fd is taken over. */
static int walk_folder(struct walk *w, int fd, const char *path, unsigned depth)
{
    struct jp_copper_root *root = &w->b->copper->used_roots[w->root];
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    while (rc == 0 && !root->cut && (entry = readdir(dir))) {
        char *below;

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        below = fileio_path("%s/%s", path, entry->d_name);
        rc = below ? take_entry(w, dirfd(dir), entry->d_name, below, depth)
                   : -1;
        free(below);
    }
    closedir(dir);
    return rc;
}

static char *in_sysroot(const struct copper_build *b, const char *path)
{
    const char *sysroot = b->options->sysroot;

    return fileio_path("%s%s", sysroot ? sysroot : "", path);
}

static int walk_root(struct copper_build *b, size_t root, uint64_t *left)
{
    struct walk w = {.b = b, .root = root, .left = *left};
    struct jp_copper_root *r = &b->copper->used_roots[root];
    char *path = in_sysroot(b, r->path);
    int fd, rc = 0;

    if (!path)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r->exists = fd >= 0;
    if (fd >= 0) {
        rc = take_found(&w, r->path, true);
        if (rc == 0)
            rc = walk_folder(&w, fd, r->path, 0);
        else
            close(fd);
    }
    *left = w.left;
    free(path);
    return rc;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static int by_used(const void *a, const void *b)
{
    const struct jp_copper_used *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : y->walked - x->walked;
}

/* One observed path of a root. */
static int take_observed(struct copper_build *b, size_t root, const char *path)
{
    struct jp_copper_root *r = &b->copper->used_roots[root];
    char *where = in_sysroot(b, path);
    struct stat st;
    bool exists;

    if (!where)
        return -1;
    exists = stat(where, &st) == 0;
    free(where);
    if (!r->observed++)
        r->example = path;
    r->observed_dirs += exists && S_ISDIR(st.st_mode);
    r->observed_files += exists && S_ISREG(st.st_mode);
    r->missing += !exists;
    if (add_used(b, path, root, exists, exists && S_ISDIR(st.st_mode)) < 0)
        return -1;
    b->copper->used[b->copper->n_used - 1].observed = true;
    return 0;
}

/* A path that was both found and observed stands twice: makes one of it. */
static void merge(struct jp_copper *c)
{
    size_t kept = 0;

    if (c->n_used)
        qsort(c->used, c->n_used, sizeof(*c->used), by_used);
    for (size_t i = 0; i < c->n_used; i++) {
        if (kept && !strcmp(c->used[kept - 1].path, c->used[i].path))
            c->used[kept - 1].observed |= c->used[i].observed;
        else
            c->used[kept++] = c->used[i];
    }
    c->n_used = kept;
}

/* Each path once, of all categories. */
static const char **observed(const struct jp_copper *c, size_t *n)
{
    const char **list = calloc(c->n_paths ? c->n_paths : 1, sizeof(*list));
    size_t kept = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < c->n_paths; i++)
        if (c->paths[i].full && c->paths[i].path[0] == '/')
            list[kept++] = c->paths[i].path;
    if (kept)
        qsort(list, kept, sizeof(*list), by_text);
    *n = 0;
    for (size_t i = 0; i < kept; i++)
        if (!*n || strcmp(list[*n - 1], list[i]))
            list[(*n)++] = list[i];
    return list;
}

int copper_usage(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    uint64_t left = b->options->walk_entries ? b->options->walk_entries
                                             : DEFAULT_ENTRIES;
    const char **paths;
    size_t n;
    int rc = 0;

    if (!b->options->usage || !c->n_paths)
        return 0;
    paths = observed(c, &n);
    if (!paths)
        return -1;
    /* top rows alone would make all but the busiest look unused */
    if (n)
        rc = copper_roots(b);
    for (size_t r = 0; r < c->n_used_roots && rc == 0; r++) {
        rc = walk_root(b, r, &left);
        for (size_t at = 0; at < n && rc == 0; at++)
            if (copper_is_below(paths[at], c->used_roots[r].path))
                rc = take_observed(b, r, paths[at]);
    }
    free(paths);
    if (rc == 0)
        merge(c);
    return rc;
}
