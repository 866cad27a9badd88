/* fileio.c - careful opening, reading, replacing and removing of files. The
 * last part visits trees. */
#include "common/fileio.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/child.h"
#include "common/ownplace.h"

/* --- files and folders --- */

char *text_format(const char *fmt, ...)
{
    char *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&path, fmt, ap) < 0)
        path = NULL;
    va_end(ap);
    return path;
}

int fileio_open_regular(const char *path, bool follow, struct jp_error *err)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    const char *rest = path;
    int at = ownplace_at(&rest);
    int fd = openat(at, rest, flags | (follow ? 0 : O_NOFOLLOW));

    if (fd < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return error_set(err, "%s: not a regular file", path);
    }
    return fd;
}

/* Reads until end of file or max bytes; returns the count or -1. */
static ssize_t read_all(int fd, char *buf, size_t max)
{
    size_t done = 0;

    while (done < max) {
        ssize_t n = read(fd, buf + done, max - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t) n;
    }
    return (ssize_t) done;
}

int fileio_read_fd(int fd, const char *path, size_t max, char **text,
                   size_t *len, struct jp_error *err)
{
    struct stat st;
    char *buf;
    size_t room;
    ssize_t n;

    if (fstat(fd, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (st.st_size < 0 || (uintmax_t) st.st_size > max) {
        errno = EFBIG;
        return error_set(err, "%s: %jd bytes are too many (at most %zu)", path,
                         (intmax_t) st.st_size, max);
    }
    /* files in /proc have size 0; a file may grow while it is read */
    room = st.st_size ? (size_t) st.st_size + 1 : max;
    if (room > max)
        room = max;
    buf = malloc(room + 1);
    if (!buf)
        return error_set(err, "%s: out of memory", path);
    n = read_all(fd, buf, room);
    if (n < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        free(buf);
        return -1;
    }
    buf[n] = '\0';
    *text = buf;
    if (len)
        *len = (size_t) n;
    return 0;
}

int fileio_read(const char *path, bool follow, size_t max, char **text,
                size_t *len, struct jp_error *err)
{
    int fd = fileio_open_regular(path, follow, err);
    int rc;

    if (fd < 0)
        return -1;
    rc = fileio_read_fd(fd, path, max, text, len, err);
    close(fd);
    return rc;
}

int fileio_mkdirs(const char *path, struct jp_error *err)
{
    int fd = ownplace_make(path, OWNPLACE_OURS, err);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int fileio_mkdirs_held(const char *path, struct jp_error *err)
{
    struct jp_error why; /* what is wrong with it is told below */
    char *above = strdup(path), *slash;

    if (!above)
        return error_set(err, "out of memory");
    while ((slash = strrchr(above, '/')) && slash > above) {
        *slash = '\0';
        if (ownplace_hold(above, OWNPLACE_OURS, &why) == 0)
            break;
    }
    free(above);
    if (fileio_mkdirs(path, err) < 0)
        return -1;
    return ownplace_hold(path, OWNPLACE_OURS, err);
}

/* Whether what exists where a folder is wanted is one, and ours. */
static int check_made(const char *path, const struct stat *st,
                      struct jp_error *err)
{
    if (!S_ISDIR(st->st_mode)) {
        errno = ENOTDIR;
        return error_set(err, "%s: not a folder (symbolic links are refused)",
                         path);
    }
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        errno = EPERM;
        return error_set(err, "%s: belongs to uid %lu, not to you", path,
                         (unsigned long) st->st_uid);
    }
    return 0;
}

/* What exists at the path may vanish before it is examined (pending/, by
 * another node's rmdir). Then try again. */
#define MAKE_TRIES 100

int fileio_mkdir(const char *path, struct jp_error *err)
{
    char name[NAME_MAX + 1];
    int at = ownplace_open_parent(path, OWNPLACE_OURS, name, err);
    struct stat st;
    int rc = 1;

    if (at < 0)
        return -1;
    for (int i = 0; i < MAKE_TRIES && rc > 0; i++) {
        if (mkdirat(at, name, 0700) == 0)
            rc = 0;
        else if (errno != EEXIST)
            rc = error_set(err, "%s: %s", path, strerror(errno));
        else if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            rc = check_made(path, &st, err);
        else if (errno != ENOENT)
            rc = error_set(err, "%s: %s", path, strerror(errno));
    }
    close(at);
    return rc > 0 ? error_set(err, "%s: it vanishes again and again", path)
                  : rc;
}

bool fileio_temp_parse(const char *name, pid_t *pid, const char **host)
{
    const char *mark = strstr(name, ".tmp.");
    char *end;

    if (!mark || !isdigit((unsigned char) mark[5]))
        return false;
    *pid = (pid_t) strtol(mark + 5, &end, 10);
    *host = *end == '.' ? strchr(end + 1, '.') : NULL;
    return *host && *++*host;
}

char *fileio_temp_name(const char *path)
{
    static unsigned counter;
    char host[65] = "host";

    gethostname(host, sizeof(host) - 1); /* two hosts may share the folder */
    return text_format("%s.tmp.%ld.%u.%s", path, (long) getpid(),
                       __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED), host);
}

/* Frees what a file has besides its stream. */
static void free_temp(struct jp_tempfile *file)
{
    if (file->name)
        close(file->folder);
    free(file->path);
    free(file->name);
    free(file->temp_name);
    *file = (struct jp_tempfile){0};
}

/* Opens the temporary file in the open folder, which is taken over. name: that
 * of the final file. */
static int open_temp(struct jp_tempfile *file, const char *path, int folder,
                     const char *name, struct jp_error *err)
{
    struct stat st;
    int fd = -1;

    *file = (struct jp_tempfile){.folder = folder, .name = strdup(name)};
    if (!file->name) {
        close(folder);
        return error_set(err, "out of memory");
    }
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) {
        error_set(err, "%s: a device is not replaced", path);
        goto fail;
    }
    file->path = strdup(path);
    file->temp_name = fileio_temp_name(name);
    if (!file->path || !file->temp_name) {
        error_set(err, "out of memory");
        goto fail;
    }
    fd = openat(folder, file->temp_name,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || !(file->stream = fdopen(fd, "w"))) {
        error_set(err, "%s: %s", path, strerror(errno));
        goto fail;
    }
    return 0;
fail:
    if (fd >= 0) {
        close(fd);
        unlinkat(folder, file->temp_name, 0);
    }
    free_temp(file);
    return -1;
}

int fileio_temp_open_in(struct jp_tempfile *file, const char *path,
                        enum ownplace_kind kind, struct jp_error *err)
{
    char name[NAME_MAX + 1];
    int folder = ownplace_open_parent(path, kind, name, err);

    *file = (struct jp_tempfile){0};
    return folder < 0 ? -1 : open_temp(file, path, folder, name, err);
}

int fileio_temp_open(struct jp_tempfile *file, const char *path,
                     struct jp_error *err)
{
    return fileio_temp_open_in(file, path, OWNPLACE_OURS, err);
}

int fileio_output_open(struct jp_tempfile *file, const char *path,
                       struct jp_error *err)
{
    char name[NAME_MAX + 1];
    int folder = ownplace_open_parent(path, OWNPLACE_ANY, name, err);
    struct stat st;
    int fd;

    *file = (struct jp_tempfile){0};
    if (folder < 0)
        return -1;
    /* what exists there and may not be replaced: a device, a pipe, a link */
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return open_temp(file, path, folder, name, err);
    close(folder);
    fd = ownplace_open_output(path, err);
    if (fd < 0)
        return -1;
    file->path = strdup(path);
    if (file->path && (file->stream = fdopen(fd, "w")))
        return 0;
    error_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    free_temp(file);
    return -1;
}

void fileio_temp_abort(struct jp_tempfile *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->temp_name)
        unlinkat(file->folder, file->temp_name, 0);
    free_temp(file);
}

/* Provokes the error of an earlier write again, because stdio has lost its
 * errno. A disk or quota that was full may have room for less than a buffer. */
static void ask_again(int fd)
{
    static const char probe[65536];

    for (int i = 0; i < 4 && write(fd, probe, sizeof(probe)) > 0; i++)
        ;
}

/* Flushes, closes and renames. The file is empty after a failure; after a
 * success the caller frees it. */
static int commit(struct jp_tempfile *file, struct jp_error *err)
{
    int bad = ferror(file->stream);
    int rc;

    /* fclose may fail without errno. */
    errno = EIO;
    if (bad)
        ask_again(fileno(file->stream));
    bad |= fclose(file->stream);
    file->stream = NULL;
    if (!bad && (!file->temp_name || renameat(file->folder, file->temp_name,
                                              file->folder, file->name) == 0))
        return 0;
    rc = error_set(err, "%s: %s", file->path, strerror(errno));
    fileio_temp_abort(file);
    return rc;
}

int fileio_temp_commit(struct jp_tempfile *file, struct jp_error *err)
{
    int rc = commit(file, err);

    free_temp(file);
    return rc;
}

/* Runs in the child (child.work), which may never end: it closes everything
 * else, so that no other process waits for a pipe that it holds. */
static int sync_only(void *arg, int out)
{
    unsigned fd = (unsigned) *(int *) arg;

    (void) out;
#ifdef SYS_close_range
    if (fd > 0)
        syscall(SYS_close_range, 0, fd - 1, 0);
    syscall(SYS_close_range, fd + 1, ~0U, 0);
#endif
    return fsync((int) fd) < 0;
}

static void sync_within(int fd, uint32_t limit_ms)
{
    const struct child child = {.work = sync_only,
                                .arg = &fd,
                                .limit_ms = limit_ms,
                                .dies_with_us = true};

    child_run(&child, NULL);
}

/* The folder is an O_PATH descriptor, which cannot be synced. */
static void sync_folder(int folder, uint32_t limit_ms)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        sync_within(fd, limit_ms);
        close(fd);
    }
}

int fileio_temp_commit_synced(struct jp_tempfile *file, uint32_t limit_ms,
                              struct jp_error *err)
{
    int rc;

    if (fflush(file->stream) == 0)
        sync_within(fileno(file->stream), limit_ms);
    rc = commit(file, err);
    if (rc == 0 && file->name)
        sync_folder(file->folder, limit_ms);
    free_temp(file);
    return rc;
}

int fileio_write(const char *path, const char *text, size_t len,
                 struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    fwrite(text, 1, len, file.stream); /* the commit checks ferror */
    return fileio_temp_commit(&file, err);
}

static int remove_folder(int at, const char *name, int depth);

/* Removes what is in the folder fd (taken over). */
static int remove_below(int fd, int depth)
{
    DIR *dir = depth > 64 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (unlinkat(dirfd(dir), name, 0) == 0 || errno == ENOENT)
            continue;
        if (remove_folder(dirfd(dir), name, depth + 1) < 0)
            rc = -1;
    }
    closedir(dir);
    return rc;
}

/* Removes a folder with its content. A folder of another user, which may have
 * been moved here, is not entered, and neither is a mount. At the end, only an
 * empty folder is removed, if it is still the one that was emptied. */
static int remove_folder(int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat above, st, now;

    if (fd < 0)
        return -1;
    if (fstat(at, &above) < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
        (depth && st.st_dev != above.st_dev)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    if (remove_below(fd, depth) < 0)
        return -1;
    if (fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
        now.st_dev != st.st_dev || now.st_ino != st.st_ino) {
        errno = EBUSY;
        return -1;
    }
    return unlinkat(at, name, AT_REMOVEDIR);
}

int fileio_remove_tree(const char *path, struct jp_error *err)
{
    char name[NAME_MAX + 1];
    struct jp_error why;
    int at = ownplace_open_parent(path, OWNPLACE_OURS, name, &why);
    struct stat st;
    int rc = 0;

    if (at < 0)
        return errno == ENOENT ? 0 : error_set(err, "%s", why.text);
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            rc = error_set(err, "%s: %s", path, strerror(errno));
    } else if (remove_folder(at, name, 0) < 0) {
        rc = error_set(err, "%s: cannot be removed: %s", path, strerror(errno));
    }
    close(at);
    return rc;
}

/* --- trees of folders --- */

struct treewalk_state {
    unsigned max_depth;
    treewalk_see *see;
    void *arg;
};

static int walk_folder(const struct treewalk_state *walk, int fd,
                       const char *path, unsigned depth);

/* Enters a folder, unless it is too deep or cannot be opened. */
static int enter(const struct treewalk_state *walk,
                 struct treewalk_entry *entry, unsigned depth)
{
    int fd;

    entry->what = depth < walk->max_depth ? TREEWALK_CLOSED : TREEWALK_DEEP;
    if (entry->what == TREEWALK_DEEP)
        return walk->see(walk->arg, entry);
    fd = openat(entry->dir, entry->name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? walk->see(walk->arg, entry)
                  : walk_folder(walk, fd, entry->path, depth + 1);
}

/* Reports one entry, and enters it if it is a folder. */
static int report_entry(const struct treewalk_state *walk, int dir,
                        const char *name, const char *path, unsigned depth)
{
    struct stat st;
    struct treewalk_entry entry = {.dir = dir, .name = name, .path = path};
    int rc;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        entry.what = TREEWALK_LOST;
        return errno == ENOENT ? 0 : walk->see(walk->arg, &entry);
    }
    entry.st = &st;
    entry.what = S_ISREG(st.st_mode)   ? TREEWALK_FILE
                 : S_ISDIR(st.st_mode) ? TREEWALK_FOLDER
                                       : TREEWALK_ODD;
    rc = walk->see(walk->arg, &entry);
    return rc == 0 && S_ISDIR(st.st_mode) ? enter(walk, &entry, depth) : rc;
}

/* fd is taken over. */
static int walk_folder(const struct treewalk_state *walk, int fd,
                       const char *path, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    while (rc == 0 && (entry = readdir(dir))) {
        char *below;

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        below = text_format("%s/%s", path, entry->d_name);
        rc = below ? report_entry(walk, dirfd(dir), entry->d_name, below, depth)
                   : -1;
        free(below);
    }
    closedir(dir);
    return rc;
}

int treewalk(int fd, const char *path, unsigned max_depth, treewalk_see *see,
             void *arg)
{
    const struct treewalk_state walk = {max_depth, see, arg};

    return walk_folder(&walk, fd, path, 0);
}

int fileio_check_site(const char *path, struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err), rc;

    if (fd < 0)
        return -1;
    rc = ownplace_check_site(fd, path, err);
    close(fd);
    return rc;
}
