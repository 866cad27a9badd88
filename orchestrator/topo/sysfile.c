/* sysfile.c - open folders of sysfs and procfs below a root, and list the
 * entries of any folder in order. */
#include "orchestrator/topo/sysfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path that does not fit is treated as absent. */
int sysfile_folder(const char *root, const char *path)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof(full), "%s/%s", root, path);

    if (n < 0 || (size_t) n >= sizeof(full))
        return -1;
    return open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* readdir has no order, but callers promise one. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Lists the names in a folder, sorted; closes the folder. Returns -1 without
 * memory; the *n names so far are the caller's to free in any case. */
static int list(int folder, size_t max, char ***names, size_t *n, int *more)
{
    DIR *dir = fdopendir(folder);
    struct dirent *entry;
    int rc = 0;

    *names = NULL;
    *n = 0;
    if (!dir) {
        close(folder);
        return 0;
    }
    *names = calloc(max, sizeof(**names));
    while (*names && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        /* *more is only set when there really is another entry. */
        if (*n == max) {
            if (more)
                *more = 1;
            break;
        }
        (*names)[*n] = strdup(entry->d_name);
        if (!(*names)[*n]) {
            rc = -1;
            break;
        }
        (*n)++;
    }
    closedir(dir);
    if (!*names)
        return -1;
    /* In order, so that records of the same node are equal. */
    qsort(*names, *n, sizeof(**names), by_name);
    return rc;
}

/* fdopendir takes over the descriptor, so a duplicate is used for the calls. */
int sysfile_each(int folder, size_t max,
                 int (*each)(void *arg, int folder, const char *name),
                 void *arg, int *more)
{
    /* 3: never a standard stream. */
    int again = fcntl(folder, F_DUPFD_CLOEXEC, 3);
    char **names;
    size_t n;
    int rc = 0;

    if (again < 0) {
        close(folder);
        return -1;
    }
    if (list(folder, max, &names, &n, more) < 0)
        rc = -1;
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            /* After an error the remaining names are only freed. */
            rc = each(arg, again, names[i]);
        free(names[i]);
    }
    free(names);
    close(again);
    return rc;
}
