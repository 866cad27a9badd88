/* copper_find.c - walk the inputs, keep what Copper's names mark. */
#include "orchestrator/copper/copper_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/treewalk.h"
#include "plugins/copper/copper_notes.h"

/* The last component of path[0..len); *at is where it begins. */
static size_t last_part(const char *path, size_t len, size_t *at)
{
    size_t begin = len;

    while (begin && path[begin - 1] != '/')
        begin--;
    *at = begin;
    return len - begin;
}

/* How much of path is its log directory. */
static size_t root_length(const char *path)
{
    static const char *const families[] = {"profiling", "tables", "logs"};
    size_t at, len = strlen(path), own;

    last_part(path, len, &at);
    own = len = at ? at - 1 : 0;
    for (int up = 0; up < 2 && len; up++) {
        size_t n = last_part(path, len, &at);

        for (size_t i = 0; i < 3; i++)
            if (n == strlen(families[i]) && !memcmp(path + at, families[i], n))
                return at ? at - 1 : 0;
        len = at ? at - 1 : 0;
    }
    return own;
}

static int add(struct copper_found *found, const char *path,
               const struct copper_name *name, const struct stat *st)
{
    struct copper_file *more = found->files;

    if (!(found->n & (found->n - 1))) {
        more = reallocarray(more, found->n ? 2 * found->n : 1, sizeof(*more));
        if (!more)
            return -1;
        found->files = more;
    }
    more[found->n] = (struct copper_file){
        .path = strdup(path),
        .root_len = root_length(path),
        .name = *name,
        .size = st->st_size > 0 ? (uint64_t) st->st_size : 0,
        .mtime_us = (int64_t) st->st_mtim.tv_sec * 1000000 +
                    st->st_mtim.tv_nsec / 1000};
    found->lists += name->kind > COPPER_FILE_OTHER;
    found->profiles += name->kind < COPPER_FILE_LOG;
    return more[found->n++].path ? 0 : -1;
}

/* Other programs name logs so, too. At log level 0 Copper's are empty. */
static bool is_copper_log(const char *path, const char *folder,
                          const struct stat *st)
{
    char head[512];
    ssize_t n = 0;
    int fd;

    if (!st->st_size)
        return !strcmp(folder, "logs");
    fd = fileio_open_regular(path, false, NULL);
    if (fd >= 0) {
        n = read(fd, head, sizeof(head));
        close(fd);
    }
    return n > 0 && copper_log_probe(head, (size_t) n);
}

static int take_file(struct copper_found *found, const char *path,
                     const struct stat *st)
{
    size_t at, len = strlen(path);
    struct copper_name name;
    char folder[NAME_MAX + 1];
    const char *file;

    last_part(path, len, &at);
    file = path + at;
    len = last_part(path, at ? at - 1 : 0, &at);
    if (len >= sizeof(folder))
        return 0;
    memcpy(folder, path + at, len);
    folder[len] = '\0';
    if (!copper_name_parse(folder, file, &name) ||
        (name.kind == COPPER_FILE_LOG && !is_copper_log(path, folder, st)))
        return 0;
    found->logs += name.kind == COPPER_FILE_LOG && st->st_size;
    return add(found, path, &name, st);
}

/* A treewalk_see. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    return entry->what == TREEWALK_FILE ? take_file(arg, entry->path, entry->st)
                                        : 0;
}

static int take_input(struct copper_found *found, const char *input,
                      struct jp_error *err)
{
    int rc, fd = open(input, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = strdup(input);
    struct stat st;

    for (size_t n = path ? strlen(path) : 0; n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    if (!path)
        rc = -1;
    else if (fd >= 0)
        rc = treewalk(fd, path, COPPER_FIND_DEPTH, take_entry, found);
    else if (errno != ENOTDIR || lstat(path, &st) < 0)
        rc = error_set(err, "%s: %s", path, strerror(errno));
    else
        rc = S_ISREG(st.st_mode) ? take_file(found, path, &st) : 0;
    if (!path && fd >= 0)
        close(fd);
    if (rc < 0 && err && !*err->text)
        error_set(err, "out of memory");
    free(path);
    return rc;
}

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_daemon(const void *a, const void *b)
{
    const struct copper_file *x = a, *y = b;
    size_t n = x->root_len < y->root_len ? x->root_len : y->root_len;
    int order = strcmp(x->name.host, y->name.host);

    if (!order)
        order = number_order((uint64_t) x->name.pid, (uint64_t) y->name.pid);
    if (!order)
        order = memcmp(x->path, y->path, n);
    if (!order)
        order = number_order(x->root_len, y->root_len);
    if (!order)
        order = number_order(x->name.kind, y->name.kind);
    if (!order)
        order = number_order(x->name.tag, y->name.tag);
    if (!order)
        order = number_order(x->name.copy, y->name.copy);
    return order ? order : strcmp(x->path, y->path);
}

/* A folder may have been given twice. */
static void drop_twins(struct copper_found *found)
{
    size_t kept = 0;

    for (size_t i = 0; i < found->n; i++) {
        if (kept && !strcmp(found->files[kept - 1].path, found->files[i].path))
            free(found->files[i].path);
        else
            found->files[kept++] = found->files[i];
    }
    found->n = kept;
}

int copper_find(const char *const *inputs, size_t n_inputs,
                struct copper_found *found, struct jp_error *err)
{
    *found = (struct copper_found){0};
    if (err)
        *err->text = '\0';
    for (size_t i = 0; i < n_inputs; i++)
        if (take_input(found, inputs[i], err) < 0) {
            copper_found_fini(found);
            return -1;
        }
    if (found->n)
        qsort(found->files, found->n, sizeof(*found->files), by_daemon);
    drop_twins(found);
    return 0;
}

void copper_found_fini(struct copper_found *found)
{
    for (size_t i = 0; i < found->n; i++)
        free(found->files[i].path);
    free(found->files);
    *found = (struct copper_found){0};
}
