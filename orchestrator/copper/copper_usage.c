/* copper_usage.c - compare the observed paths with the files that exist now,
 * and find folders with unsuccessful lookups.
 *
 * compare_files chooses roots (find_roots), walks each of them, and looks up
 * the observed paths below it. If the data belongs to another user, or root
 * runs the analysis (`guarded`), only roots that were named are examined, and
 * no link is followed: a prepared path must not reveal which files exist. */
#include "orchestrator/copper/copper_build.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/vector.h"

#define COPPER_MAX_ROOTS 64 /* further ones are ignored */

/* Whether path is root or below it. */
static bool is_below(const char *path, const char *root)
{
    size_t n = strlen(root);

    return !strncmp(path, root, n) && (!path[n] || path[n] == '/');
}

/* Adds path[0..len) unless it is below a root or the limit is reached. Removes
 * roots below it. */
static int add_root(struct jp_copper *c, const char *path, size_t len)
{
    size_t kept = 0;
    char *root;

    /* "/" alone is no root: everything would be below it */
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len < 2 || path[0] != '/')
        return 0;
    root = strndup(path, len);
    if (!root)
        return -1;
    for (size_t i = 0; i < c->n_used_roots; i++)
        if (is_below(root, c->used_roots[i].path)) {
            free(root);
            return 0;
        }
    for (size_t i = 0; i < c->n_used_roots; i++) {
        if (is_below(c->used_roots[i].path, root))
            free(c->used_roots[i].path);
        else
            c->used_roots[kept++] = c->used_roots[i];
    }
    c->n_used_roots = kept;
    if (kept == COPPER_MAX_ROOTS) {
        free(root);
        return 0;
    }
    c->used_roots[c->n_used_roots++] = (struct jp_copper_root){.path = root};
    return 0;
}

/* Length of the path up to the component conda_env; 0: none. */
static size_t conda_part(const char *path)
{
    static const char word[] = "/conda_env";

    for (const char *at = strstr(path, word); at; at = strstr(at + 1, word))
        if (!at[sizeof(word) - 1] || at[sizeof(word) - 1] == '/')
            return (size_t) (at - path) + sizeof(word) - 1;
    return 0;
}

/* Length of the path before /lib/python<digit>; 0: none, or the system's
 * Python, which is no environment to reduce. */
static size_t python_part(const char *path)
{
    static const char word[] = "/lib/python";
    const char *at = strstr(path, word);
    size_t n = at ? (size_t) (at - path) : 0;

    if (!n || at[sizeof(word) - 1] < '0' || at[sizeof(word) - 1] > '9' ||
        (n == 4 && !strncmp(path, "/usr", n)) ||
        (n == 10 && !strncmp(path, "/usr/local", n)))
        return 0;
    return n;
}

/* Length of <home>/<child>; 0: not below home. */
static size_t home_part(const char *path, const char *home)
{
    size_t n = home ? strlen(home) : 0;

    while (n > 1 && home[n - 1] == '/')
        n--;
    if (n < 2 || strncmp(path, home, n) || path[n] != '/' || !path[n + 1])
        return 0;
    return n + 1 + strcspn(path + n + 1, "/");
}

/* For qsort of roots. */
static int by_path(const void *a, const void *b)
{
    const struct jp_copper_root *x = a, *y = b;

    return strcmp(x->path, y->path);
}

/* Sets copper->used_roots from the observed paths: options' usage_roots; the
 * folder of an environment, recognised by a component conda_env or by a file
 * read below <folder>/lib/python<digit>; and children of the home. Roots below
 * other roots are dropped. If guarded, uses only options' usage_roots. */
static int find_roots(struct copper_build *b)
{
    const struct jp_copper_options *o = b->options;
    struct jp_copper *c = b->copper;

    c->used_roots = calloc(COPPER_MAX_ROOTS, sizeof(*c->used_roots));
    if (!c->used_roots)
        return -1;
    for (size_t i = 0; i < o->n_usage_roots; i++)
        if (add_root(c, o->usage_roots[i], strlen(o->usage_roots[i])) < 0)
            return -1;
    for (size_t i = 0; i < c->n_paths && !b->guarded; i++) {
        const struct jp_copper_path *p = &c->paths[i];

        if (!p->full)
            continue;
        if (add_root(c, p->path, conda_part(p->path)) < 0 ||
            (p->category == COPPER_DATA &&
             add_root(c, p->path, python_part(p->path)) < 0) ||
            (p->category != COPPER_TTL &&
             add_root(c, p->path, home_part(p->path, o->home)) < 0))
            return -1;
    }
    if (c->n_used_roots)
        qsort(c->used_roots, c->n_used_roots, sizeof(*c->used_roots), by_path);
    return 0;
}

/* --- observed paths and existing files --- */
/* Files are looked up on the host and at the time of the report, which is later
 * than the run. */

#define DEFAULT_ENTRIES 2000000
#define WALK_MS 60000 /* limit, because a file system may be slow */
#define LOOK_EACH 64  /* entries between two checks of the time */
#define MAX_DEPTH 100 /* also the number of folders open at once */

struct walk {
    struct copper_build *b;
    size_t root;
    int root_fd;     /* if guarded: folder in which its paths are looked up */
    uint64_t left;   /* entries left before the limit */
    uint64_t end_ms; /* for all walks */
};

/* Appends a path of a root. Returns -1 without memory. */
static int add_used(struct copper_build *b, const char *path, size_t root,
                    bool exists, bool is_dir)
{
    struct jp_copper *c = b->copper;

    if (VECTOR_DOUBLE(c->used, c->n_used) < 0)
        return -1;
    c->used[c->n_used++] = (struct jp_copper_used){
        .path = path, .root = root, .exists = exists, .is_dir = is_dir};
    return 0;
}

/* Adds a path that the walk has found. */
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

/* Links to folders are counted as folders; they are not walked. */
static bool is_link_to_folder(const struct treewalk_entry *entry, bool guarded)
{
    struct stat st;

    return !guarded && entry->st && S_ISLNK(entry->st->st_mode) &&
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

/* Whether the time for all walks is over. */
static bool is_late(const struct walk *w)
{
    return now_ms(w->b) >= w->end_ms;
}

/* A callback of type treewalk_see. Returns 1 if the walk is cut. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    struct walk *w = arg;
    struct jp_copper_root *root = &w->b->copper->used_roots[w->root];

    if (entry->what == TREEWALK_CLOSED || entry->what == TREEWALK_DEEP) {
        /* a folder that could not be opened, or is too deep */
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
                          is_link_to_folder(entry, w->b->guarded));
}

/* The path on this host. Caller frees; NULL: no memory. */
static char *in_sysroot(const struct copper_build *b, const char *path)
{
    const char *sysroot = b->options->sysroot;

    return text_format("%s%s", sysroot ? sysroot : "", path);
}

/* Opens path below the folder `at`, component by component, without following
 * links and without "..". Returns an O_PATH descriptor, or -1. */
static int open_below(int at, const char *path)
{
    char *copy = strdup(path), *rest = copy, *name;
    int fd = copy ? fcntl(at, F_DUPFD_CLOEXEC, 3) : -1;

    while (fd >= 0 && (name = strsep(&rest, "/"))) {
        int next;

        if (!*name || !strcmp(name, "."))
            continue;
        next = strcmp(name, "..")
                   ? openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                   : -1;
        close(fd);
        fd = next;
    }
    free(copy);
    return fd;
}

/* Opens a root for reading, or returns -1. */
static int open_root(const struct copper_build *b, const char *path)
{
    int top, at, fd;

    if (!b->guarded)
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    at = top < 0 ? -1 : open_below(top, path);
    fd = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top >= 0)
        close(top);
    if (at >= 0)
        close(at);
    return fd;
}

/* Whether an observed path of a root exists; *st describes it. root_len: length
 * of the root's part of `where`. */
static bool look_up(const struct walk *w, const char *where, size_t root_len,
                    struct stat *st)
{
    bool exists;
    int fd;

    if (!w->b->guarded)
        return stat(where, st) == 0;
    fd = w->root_fd < 0 ? -1 : open_below(w->root_fd, where + root_len);
    exists = fd >= 0 && fstat(fd, st) == 0;
    if (fd >= 0)
        close(fd);
    return exists;
}

/* Lists everything below the root. Returns -1 without memory; a root that does
 * not exist is no error. */
static int walk_root(struct walk *w)
{
    struct copper_build *b = w->b;
    struct jp_copper_root *r = &b->copper->used_roots[w->root];
    char *path = in_sysroot(b, r->path);
    int fd, rc = 0;

    if (!path)
        return -1;
    fd = open_root(b, path);
    r->exists = fd >= 0;
    w->root_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
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

/* By path; the walked entry before the observed one. */
static int by_used(const void *a, const void *b)
{
    const struct jp_copper_used *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : y->walked - x->walked;
}

/* Lists each path once, over all categories. */
static const char **observed(const struct jp_copper *c, size_t *n)
{
    const char **list = calloc(c->n_paths ? c->n_paths : 1, sizeof(*list));
    size_t kept = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < c->n_paths; i++)
        /* only full tables: top rows are too few to call the rest unused */
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

/* Handles one observed path of a root. */
static int take_observed(const struct walk *w, const char *path)
{
    struct copper_build *b = w->b;
    struct jp_copper_root *r = &b->copper->used_roots[w->root];
    char *where = in_sysroot(b, path);
    struct stat st;
    bool exists;

    if (!where)
        return -1;
    exists =
        look_up(w, where, strlen(where) - strlen(path) + strlen(r->path), &st);
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

/* Merges the two entries of a path that was both found and observed. */
static void merge_entries(struct jp_copper *c)
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

/* Walks the root and adds what was observed below it. */
static int use_root(struct walk *w, const char *const *paths, size_t n)
{
    struct jp_copper_root *r = &w->b->copper->used_roots[w->root];
    int rc = walk_root(w);

    for (size_t at = 0; at < n && rc == 0; at++) {
        if (!is_below(paths[at], r->path))
            continue;
        if (at % LOOK_EACH == 0 && is_late(w)) {
            r->cut = true;
            break;
        }
        rc = take_observed(w, paths[at]);
    }
    if (w->root_fd >= 0)
        close(w->root_fd);
    w->root_fd = -1;
    return rc;
}

/* Notes a missing root: its contents are unknown. */
static int note_absent(struct copper_build *b, const struct jp_copper_root *r)
{
    if (r->exists || !r->observed)
        return 0;
    return copper_note(
        b, r->path, false,
        "not on this host, so it is unknown which of its %" PRIu64
        " observed paths are missing; make the report on a "
        "node that has it",
        r->observed);
}

/* Returns -1 when out of memory. */
static int compare_files(struct copper_build *b)
{
    const struct jp_copper_options *o = b->options;
    struct jp_copper *c = b->copper;
    struct walk w = {.b = b,
                     .root_fd = -1,
                     .left = o->walk_entries ? o->walk_entries
                                             : DEFAULT_ENTRIES,
                     .end_ms = now_ms(b) + WALK_MS};
    const char **paths;
    size_t n;
    int rc = 0;

    if (!b->options->usage || !c->n_paths)
        return 0;
    if (b->guarded && !o->n_usage_roots)
        return copper_note(b, c->n_roots ? c->roots[0] : "Copper", false,
                           "not compared with the existing files: %s, and no "
                           "--usage-root DIR is given",
                           b->found.foreign
                               ? "it belongs to another user"
                               : "root can see the files of all users");
    paths = observed(c, &n);
    if (!paths)
        return -1;
    /* with top rows alone, most files would seem unused */
    if (n)
        rc = find_roots(b);
    for (w.root = 0; w.root < c->n_used_roots && rc == 0; w.root++) {
        rc = use_root(&w, paths, n);
        if (rc == 0)
            rc = note_absent(b, &c->used_roots[w.root]);
    }
    free(paths);
    if (rc == 0)
        merge_entries(c);
    return rc;
}

/* --- folders with unsuccessful lookups --- */
/* A search path (LD_LIBRARY_PATH, PATH, PYTHONPATH) is tried folder by folder.
 * Each ENOENT in one of its folders was a useless lookup, which a shorter
 * search path would save. */

#define MAX_VAIN 1000 /* folders in the result */

/* A path that was not found, with the length of its folder's part. */
struct lookup {
    const struct jp_copper_path *path;
    size_t folder_len;
    uint64_t events;
};

/* By folder, then most events. */
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

/* Most events first. */
static int by_events(const void *a, const void *b)
{
    const struct jp_copper_failed *x = a, *y = b;

    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->folder, y->folder);
}

/* Whether the sorted list has a path below folder. */
static bool holds(const char **list, size_t n, const char *folder)
{
    size_t len = strlen(folder), low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        /* binary search; a longer name that begins with the folder's is ordered
         * by its next character */
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

/* Adds a folder. Lookups [0, n) are in that folder, most frequent first. read:
 * sorted paths that were read. Returns -1 without memory. */
static int add_folder(struct jp_copper *c, const struct lookup *lookup,
                      size_t n, const char **read, size_t n_read)
{
    uint64_t by_class[JP_COPPER_N_CLASSES] = {0};
    struct jp_copper_failed *v = &c->failed_lookups[c->n_failed_lookups++];

    *v = (struct jp_copper_failed){
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
        /* the class with most events stands for the folder */
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

/* Sorts and keeps the first MAX_VAIN. */
static void drop_rest(struct jp_copper *c)
{
    if (c->n_failed_lookups)
        qsort(c->failed_lookups, c->n_failed_lookups,
              sizeof(*c->failed_lookups), by_events);
    for (; c->n_failed_lookups > MAX_VAIN; c->n_failed_lookups--) {
        free(c->failed_lookups[c->n_failed_lookups - 1].folder);
        free(c->failed_lookups[c->n_failed_lookups - 1].example);
    }
}

/* Groups the lookups by folder. Returns -1 without memory. */
static int failed_lookups(struct copper_build *b)
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
        /* each ENOENT that was remembered or served */
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
    c->failed_lookups = calloc(n ? n : 1, sizeof(*c->failed_lookups));
    if (!c->failed_lookups)
        rc = -1;
    for (i = 0; i < n && rc == 0; i += k) {
        /* the lookups of one folder */
        for (k = 1; i + k < n &&
                    lookups[i].folder_len == lookups[i + k].folder_len &&
                    !memcmp(lookups[i].path->path, lookups[i + k].path->path,
                            lookups[i].folder_len);)
            k++;
        rc = add_folder(c, lookups + i, k, read, n_read);
    }
    free(lookups);
    free(read);
    drop_rest(c);
    return rc;
}

int copper_usage(struct copper_build *b)
{
    return compare_files(b) < 0 || failed_lookups(b) < 0 ? -1 : 0;
}
