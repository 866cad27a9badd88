/* gc_tree.c - measure and remove trees that are ours, following nothing. */
#include "orchestrator/gc/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "common/fileio.h"

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
#define DEPTH_MAX 64
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Kernels before 5.6: the descriptor asks no file system, nor does statx(). */
static int open_path(int at, const char *name)
{
    int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    unsigned flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    struct statx here, there;

    if (fd >= 0 && (statx(at, "", (int) flags, 0, &here) < 0 ||
                    statx(fd, "", (int) flags, 0, &there) < 0 ||
                    here.stx_dev_major != there.stx_dev_major ||
                    here.stx_dev_minor != there.stx_dev_minor)) {
        close(fd);
        errno = EXDEV;
        fd = -1;
    }
    return fd;
}

/* Opens name with O_PATH, or -1: it is of another file system than at. */
static int open_here(int at, const char *name)
{
#ifdef RESOLVE_NO_XDEV
    const struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    int fd = (int) syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
        return fd;
#endif
    return open_path(at, name);
}

static int open_folder(int at, const char *name)
{
    int path = open_here(at, name);
    int fd = path < 0 ? -1
                      : openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int kept = errno;

    if (path >= 0)
        close(path);
    errno = kept;
    return fd;
}

int gc_stat(int at, const char *name, struct stat *st)
{
    int fd = open_here(at, name), rc = fd < 0 ? -1 : fstat(fd, st);
    int kept = errno;

    if (fd >= 0)
        close(fd);
    errno = kept;
    return rc;
}

int gc_open(int at, const char *path)
{
    char *copy = strdup(path), *rest = copy, *name;
    int fd = copy ? fcntl(at, F_DUPFD_CLOEXEC, 3) : -1;

    while (fd >= 0 && (name = strsep(&rest, "/"))) {
        int next = *name ? open_folder(fd, name) : -1;
        int kept = errno;

        close(fd);
        errno = kept;
        fd = next;
    }
    free(copy);
    return fd;
}

struct walk {
    bool remove;
    dev_t dev;
    uid_t uid;
    uint64_t bytes;   /* found, or freed */
    int64_t newest_s; /* when the last of the files was written */
    bool left;
};

static void walk_entry(struct walk *w, int at, const char *name, int depth);

static void walk_folder(struct walk *w, int fd, int depth)
{
    DIR *dir = depth > DEPTH_MAX ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        close(fd);
        w->left = true;
        return;
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            walk_entry(w, dirfd(dir), entry->d_name, depth);
    closedir(dir);
}

/* A part of the same file system may be mounted, too. */
static bool is_mounted(int fd)
{
    struct statx at = {0};

    return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &at) == 0 &&
           at.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* A folder is entered by its descriptor, and it is that one's owner and file
 * system that count. */
static void walk_below(struct walk *w, int at, const char *name, int depth)
{
    int fd = openat(at, name, FOLDER);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->dev ||
        st.st_uid != w->uid || is_mounted(fd)) {
        if (fd >= 0)
            close(fd);
        w->left = true;
        return;
    }
    walk_folder(w, fd, depth + 1);
}

static void walk_entry(struct walk *w, int at, const char *name, int depth)
{
    struct stat st;
    bool folder;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    folder = S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode) && st.st_mtime > w->newest_s)
        w->newest_s = st.st_mtime;
    if (st.st_uid != w->uid || st.st_dev != w->dev) {
        w->left = true;
        return;
    }
    if (folder)
        walk_below(w, at, name, depth);
    if (w->remove && unlinkat(at, name, folder ? AT_REMOVEDIR : 0) < 0) {
        w->left = true;
        return;
    }
    if (folder || st.st_nlink == 1 || !w->remove)
        w->bytes += (uint64_t) st.st_blocks * 512;
}

static bool start(struct walk *w, int at)
{
    struct stat st;

    if (fstat(at, &st) < 0)
        return false;
    w->dev = st.st_dev;
    w->uid = geteuid();
    return true;
}

uint64_t gc_measure(int at, const char *name, int64_t *newest_s)
{
    struct walk w = {.remove = false};

    if (start(&w, at))
        walk_entry(&w, at, name, 0);
    if (newest_s)
        *newest_s = w.newest_s;
    return w.bytes;
}

int gc_remove(int at, const char *name, uint64_t *freed_bytes)
{
    struct walk w = {.remove = true};

    if (!start(&w, at))
        return -1;
    walk_entry(&w, at, name, 0);
    *freed_bytes += w.bytes;
    return w.left ? -1 : 0;
}
