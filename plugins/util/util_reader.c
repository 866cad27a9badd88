/* util_reader.c - read the kernel's files, most of them by an open descriptor.
 */
#include "plugins/util/util_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/util/util_kernel.h"

const char *util_reader_path(const struct util_reader *r, char *out,
                             const char *fmt, ...)
{
    int n = snprintf(out, PATH_MAX, "%s", r->root);
    va_list args;

    va_start(args, fmt);
    if (n >= 0 && n < PATH_MAX)
        vsnprintf(out + n, (size_t) (PATH_MAX - n), fmt, args);
    va_end(args);
    return out;
}

const char *util_reader_text(struct util_reader *r, const char *path)
{
    return util_read_file(path, r->text, sizeof(r->text), NULL) ?: "";
}

const char *util_reader_again(struct util_reader *r, int *fd, const char *path)
{
    struct stat st;

    /* a machine that is a folder may have lost the file meanwhile */
    if (*r->root && *fd >= 0 && fstat(*fd, &st) == 0 && !st.st_nlink) {
        close(*fd);
        *fd = -1;
    }
    return util_read_again(fd, path, r->text, sizeof(r->text)) ?: "";
}

/* The file's place among those that stay open; NULL: there is no room. */
static struct util_kept *find_kept(struct util_reader *r, const char *folder,
                                   const char *name)
{
    for (size_t i = 0; i < UTIL_KEPT_MAX; i++) {
        struct util_kept *kept = &r->kept[i];

        if (!kept->name)
            *kept = (struct util_kept){folder, name, -1};
        if (kept->folder == folder && strcmp(kept->name, name) == 0)
            return kept;
    }
    return NULL;
}

const char *util_reader_kept(struct util_reader *r, const char *folder,
                             const char *name)
{
    struct util_kept *kept = find_kept(r, folder, name);
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.4000s/%s", folder, name);
    return kept ? util_reader_again(r, &kept->fd, path)
                : util_reader_text(r, path);
}

void util_reader_fini(struct util_reader *r)
{
    for (size_t i = 0; i < UTIL_KEPT_MAX; i++)
        if (r->kept[i].name && r->kept[i].fd >= 0)
            close(r->kept[i].fd);
}
