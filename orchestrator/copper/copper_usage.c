/* copper_usage.c - observed paths against the files that there are now.
 *
 * What exists is looked up when the report is made, on the host where it is
 * made: a later state than the run's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/treewalk.h"
#include "orchestrator/copper/copper_roots.h"

#define DEFAULT_ENTRIES 2000000
#define WALK_MS 60000 /* a file system may be slow */
#define LOOK_EACH 64  /* entries between two looks at the clock */
#define MAX_DEPTH 100 /* as many folders are open at once */

struct walk {
    struct copper_build *b;
    size_t root;
    uint64_t left;   /* entries that may still come */
    uint64_t end_ms; /* of all walks */
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

static bool is_link_to_folder(const struct treewalk_entry *entry)
{
    struct stat st;

    return entry->st && S_ISLNK(entry->st->st_mode) &&
           fstatat(entry->dir, entry->name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static uint64_t clock_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

static uint64_t now_ms(const struct copper_build *b)
{
    return b->options->now_ms ? b->options->now_ms() : clock_ms();
}

static bool is_late(const struct walk *w)
{
    return now_ms(w->b) >= w->end_ms;
}

/* A treewalk_see; 1: the walk is cut. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    struct walk *w = arg;
    struct jp_copper_root *root = &w->b->copper->used_roots[w->root];

    if (entry->what == TREEWALK_CLOSED || entry->what == TREEWALK_DEEP) {
        root->cut = true;
        return 0;
    }
    if (!w->left || (w->left % LOOK_EACH == 0 && is_late(w))) {
        root->cut = true;
        return 1;
    }
    w->left--;
    return take_found(w, entry->path,
                      entry->what == TREEWALK_FOLDER ||
                          is_link_to_folder(entry));
}

static char *in_sysroot(const struct copper_build *b, const char *path)
{
    const char *sysroot = b->options->sysroot;

    return fileio_path("%s%s", sysroot ? sysroot : "", path);
}

static int walk_root(struct walk *w)
{
    struct copper_build *b = w->b;
    struct jp_copper_root *r = &b->copper->used_roots[w->root];
    char *path = in_sysroot(b, r->path);
    int fd, rc = 0;

    if (!path)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r->exists = fd >= 0;
    if (fd >= 0) {
        rc = take_found(w, r->path, true);
        if (rc == 0)
            rc = treewalk(fd, r->path, MAX_DEPTH, take_entry, w);
        else
            close(fd);
    }
    free(path);
    return rc < 0 ? -1 : 0;
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
static int take_observed(const struct walk *w, const char *path)
{
    struct copper_build *b = w->b;
    struct jp_copper_root *r = &b->copper->used_roots[w->root];
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
    if (add_used(b, path, w->root, exists, exists && S_ISDIR(st.st_mode)) < 0)
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

/* The root itself, and what was observed below it. */
static int use_root(struct walk *w, const char *const *paths, size_t n)
{
    struct jp_copper_root *r = &w->b->copper->used_roots[w->root];
    int rc = walk_root(w);

    for (size_t at = 0; at < n && rc == 0; at++) {
        if (!copper_is_below(paths[at], r->path))
            continue;
        if (at % LOOK_EACH == 0 && is_late(w)) {
            r->cut = true;
            break;
        }
        rc = take_observed(w, paths[at]);
    }
    return rc;
}

int copper_usage(struct copper_build *b)
{
    const struct jp_copper_options *o = b->options;
    struct jp_copper *c = b->copper;
    struct walk w = {.b = b,
                     .left = o->walk_entries ? o->walk_entries
                                             : DEFAULT_ENTRIES,
                     .end_ms = now_ms(b) + WALK_MS};
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
    for (w.root = 0; w.root < c->n_used_roots && rc == 0; w.root++)
        rc = use_root(&w, paths, n);
    free(paths);
    if (rc == 0)
        merge(c);
    return rc;
}
