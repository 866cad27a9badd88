/* metricsfile.c - write, replace and remove a step's .prom file.
 *
 * The folder is shared by all users, so every function opens it by
 * metricsfile_open, works relative to its descriptor, and touches only files of
 * its own user. */
#include "orchestrator/metrics/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"

#define PREFIX "jobprof-"
#define SUFFIX ".prom"
#define TEMP ".tmp" /* suffix of files that are being written */

char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES])
{
    char word[33];
    size_t n = 0;

    /* The step's name becomes part of a file name, so other characters are
     * replaced. */
    for (const char *c = step->step ? step->step : "";
         *c && n < sizeof(word) - 1; c++)
        word[n++] = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                            (*c >= 'A' && *c <= 'Z')
                        ? *c
                        : '_';
    word[n] = '\0';
    snprintf(buf, METRICSFILE_NAME_BYTES,
             PREFIX "%" PRIu64 ".%s-n%" PRIu32 "-%lu" SUFFIX, step->job, word,
             step->nodeid, (unsigned long) geteuid());
    return buf;
}

/* Checks the folder. If others may write to it, only the sticky bit protects a
 * file from being replaced. */
static int check(int fd, const char *folder, struct jp_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(err, "%s: %s", folder, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return error_set(err, "%s: owned by uid %lu (chown root)", folder,
                         (unsigned long) st.st_uid);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
        return error_set(err, "%s: others may write to it (chmod +t)", folder);
    return 0;
}

/* Links are refused, because their target could be changed between checks. */
int metricsfile_open(const char *folder, struct jp_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, "%s: %s", folder,
                         errno == ELOOP || errno == ENOTDIR ? "no folder"
                                                            : strerror(errno));
    if (check(fd, folder, err) == 0 && ownplace_check_folders(folder, err) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Whether the name is a regular file of this user. */
static bool is_ours(int dir, const char *name, struct stat *st)
{
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st->st_uid == geteuid() && S_ISREG(st->st_mode);
}

/* Opens the empty temporary file. Removes what an earlier process of ours with
 * the same pid has left. */
static int open_twin(int dir, const char *twin)
{
    struct stat st;

    if (is_ours(dir, twin, &st))
        unlinkat(dir, twin, 0);
    return openat(dir, twin,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Writes everything, then makes the file readable. */
static int put(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t got = write(fd, bytes, n);

        if (got < 0 && errno == EINTR)
            continue;
        /* write() may return 0 without an error if there is no space. */
        if (got <= 0) {
            errno = got ? errno : ENOSPC;
            return -1;
        }
        bytes += got;
        n -= (size_t) got;
    }
    return fchmod(fd, 0644); /* node_exporter runs as another user */
}

/* Writes to a temporary file and renames it. Returns -1 and removes that file
 * on failure. */
static int replace(int dir, const char *name, const void *bytes, size_t n,
                   const char *folder, struct jp_error *err)
{
    char twin[METRICSFILE_NAME_BYTES + 32];
    struct stat st;
    int fd, rc;

    /* Another user's file of this name is left alone. */
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !is_ours(dir, name, &st))
        return error_set(err, "%s/%s: another user's, or not a file", folder,
                         name);
    /* A leading dot hides it from node_exporter, which reads *.prom. */
    snprintf(twin, sizeof(twin), ".%s.%ld" TEMP, name, (long) getpid());
    fd = open_twin(dir, twin);
    if (fd < 0)
        return error_set(err, "%s/%s: %s", folder, twin, strerror(errno));
    rc = put(fd, bytes, n);
    if (close(fd) < 0)
        rc = -1;
    if (rc == 0)
        rc = renameat(dir, twin, dir, name);
    if (rc < 0) {
        error_set(err, "%s/%s: %s", folder, name, strerror(errno));
        unlinkat(dir, twin, 0);
    }
    return rc;
}

/* Replaces the file, or reports why not. */
int metricsfile_write(const char *folder, const struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err)
{
    char name[METRICSFILE_NAME_BYTES];
    int dir = metricsfile_open(folder, err), rc;

    if (dir < 0)
        return -1;
    rc = replace(dir, metricsfile_name(step, name), bytes, n, folder, err);
    close(dir);
    return rc;
}

/* Errors are ignored: the file becomes stale and is removed later. */
void metricsfile_remove(const char *folder, const struct metricsfile_step *step)
{
    char name[METRICSFILE_NAME_BYTES];
    int dir = metricsfile_open(folder, NULL);
    struct stat st;

    if (dir < 0)
        return;
    if (is_ours(dir, metricsfile_name(step, name), &st))
        unlinkat(dir, name, 0);
    close(dir);
}

/* --- files of killed agents ----------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), len = strlen(end);

    return n > len && !strcmp(name + n - len, end);
}

/* Whether the name is that of a .prom file or of its temporary file. */
static bool is_name(const char *name)
{
    bool twin = *name == '.';

    return !strncmp(name + twin, PREFIX, strlen(PREFIX)) &&
           ends_with(name, twin ? TEMP : SUFFIX) &&
           (!twin || strstr(name, SUFFIX "."));
}

/* root may remove the files of all users. */
static bool is_stale(int dir, const char *name, time_t now)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && (st.st_uid == geteuid() || geteuid() == 0) &&
           now - st.st_mtime > METRICSFILE_STALE_S;
}

/* Never fails because of a single file. */
int metricsfile_clean(const char *folder, int dry, size_t *n,
                      struct jp_error *err)
{
    int fd = metricsfile_open(folder, err);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    time_t now = time(NULL);
    struct dirent *entry;
    size_t found = 0;

    if (!dir) {
        if (fd >= 0) {
            error_set(err, "%s: %s", folder, strerror(errno));
            close(fd);
        }
        return -1;
    }
    while ((entry = readdir(dir)))
        /* Name and age decide; the contents are never read. */
        if (is_name(entry->d_name) &&
            is_stale(dirfd(dir), entry->d_name, now) &&
            (dry || unlinkat(dirfd(dir), entry->d_name, 0) == 0))
            found++;
    closedir(dir);
    if (n)
        *n = found;
    return 0;
}
