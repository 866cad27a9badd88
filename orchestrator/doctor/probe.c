/* probe.c - a folder made to see whether one can write in its parent. */
#include "orchestrator/doctor/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ownplace.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
enum { TRIES = 100 };

/* Under a name that nobody has; it stays ours by what it is. */
static int make(struct probe *p)
{
    struct stat st;
    uint64_t number;

    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
            number = (uint64_t) getpid() * TRIES + (unsigned) i;
        snprintf(p->name, sizeof(p->name), ".jobprof-doctor-%08x",
                 (unsigned) number);
        if (mkdirat(p->parent, p->name, 0700) == 0)
            break;
        if (errno != EEXIST || i + 1 == TRIES)
            return -1;
    }
    p->fd = openat(p->parent, p->name, FOLDER);
    if (p->fd < 0 || fstat(p->fd, &st) < 0)
        return -1;
    p->dev = st.st_dev;
    p->ino = st.st_ino;
    if (st.st_uid == geteuid())
        return 0;
    unlinkat(p->parent, p->name, AT_REMOVEDIR); /* a server made it another's */
    errno = EACCES;
    return -1;
}

int probe_open(const char *parent, struct probe *probe, struct jp_error *err)
{
    *probe = (struct probe){.parent = -1, .fd = -1};
    if (ownplace_check(parent, err) < 0)
        return -1;
    probe->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (probe->parent < 0 || make(probe) < 0) {
        error_set(err, "%s: %s", parent, strerror(errno));
        if (probe->fd >= 0)
            close(probe->fd);
        if (probe->parent >= 0)
            close(probe->parent);
        return -1;
    }
    snprintf(probe->path, sizeof(probe->path), "%s/%s", parent, probe->name);
    return 0;
}

/* The whole file, synced by nobody: it is not there for long. */
static int write_new(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t n = strlen(text);
    bool whole = fd >= 0 && write(fd, text, n) == (ssize_t) n;

    if (fd >= 0 && close(fd) < 0)
        whole = false;
    return whole ? 0 : -1;
}

int probe_write(int folder, const char *name, const char *text,
                struct jp_error *err)
{
    char temp[NAME_MAX + 1];

    snprintf(temp, sizeof(temp), "%.200s.tmp", name);
    if (write_new(folder, temp, text) < 0 ||
        renameat(folder, temp, folder, name) < 0)
        return error_set(err, "%s: %s", name, strerror(errno));
    return 0;
}

int probe_close(struct probe *probe, struct jp_error *err)
{
    int copy = openat(probe->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    struct stat st;
    int rc;

    while (dir && (entry = readdir(dir)))
        unlinkat(probe->fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
    rc = fstatat(probe->parent, probe->name, &st, AT_SYMLINK_NOFOLLOW);
    if (rc == 0 && (st.st_dev != probe->dev || st.st_ino != probe->ino)) {
        errno = EBUSY;
        rc = -1;
    }
    if (rc == 0) /* takes an empty folder only */
        rc = unlinkat(probe->parent, probe->name, AT_REMOVEDIR);
    if (rc < 0)
        error_set(err, "%s: cannot be removed: %s", probe->path,
                  strerror(errno));
    close(probe->fd);
    close(probe->parent);
    return rc;
}
