/* tempdir.c - temporary folders and files for tests. */
#include "tests/common/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileio.h"

int tempdir_make(void **state)
{
    char template[] = "/tmp/jp-test.XXXXXX";

    *state = mkdtemp(template) ? strdup(template) : NULL;
    return *state ? 0 : -1;
}

int tempdir_make_home(void **state)
{
    char *path;
    int rc = tempdir_make(state);

    if (rc < 0)
        return -1;
    path = tempdir_path(*state, ".config/jobprof");
    rc = fileio_mkdirs(path, NULL);
    free(path);
    return rc;
}

int tempdir_drop(void **state)
{
    int rc = fileio_remove_tree(*state, NULL);

    free(*state);
    return rc;
}

char *tempdir_path(const char *dir, const char *name)
{
    char *path = text_format("%s/%s", dir, name);

    if (!path)
        abort();
    return path;
}

char *tempdir_file(const char *dir, const char *name, mode_t mode,
                   const char *text)
{
    char *path = tempdir_path(dir, name);
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0 ||
        chmod(path, mode) < 0)
        abort();
    return path;
}

void tempdir_bytes(const char *dir, const char *name, const void *bytes,
                   size_t n)
{
    char *path = tempdir_path(dir, name);
    FILE *file = fopen(path, "w");

    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
        abort();
    free(path);
}

void tempdir_status(const char *dir, long pid, uid_t uid, const char *rest)
{
    char name[64], text[1024];

    snprintf(name, sizeof(name), "proc/%ld/status", pid);
    snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n%s", uid, uid,
             uid, uid, rest);
    free(tempdir_file(dir, name, 0600, text));
}
