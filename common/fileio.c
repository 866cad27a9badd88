/* fileio.c - careful opening, reading, replacing and removing of files. The
 * first part decides where root may work by path; the last one visits trees. */
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

/* --- places where root may work by path --- */

/* As many symbolic links as the kernel follows. */
enum { LINKS_MAX = 40 };

struct walk {
    const char *path; /* for errors */
    uid_t root;
    int at; /* the folder that was reached, O_PATH */
    unsigned links;
    bool must_exist; /* all of it */
    char *rest;      /* what is left of the way; owned */
};

static int refuse(const struct walk *w, const struct stat *st,
                  struct jp_error *err)
{
    errno = EPERM;
    if (st->st_uid != w->root && st->st_uid != 0)
        return error_set(err,
                         "%s: root does not use it, because uid %ld owns it or "
                         "a folder or link above it",
                         w->path, (long) st->st_uid);
    return error_set(err,
                     "%s: root does not use it, because others can write to it "
                     "or a folder above it (mode %04o)",
                     w->path, (unsigned) st->st_mode & 07777);
}

/* Whether only root can change it. In a user namespace, the owner of "/" may be
 * a uid that is unknown there, while root of the namespace has uid 0. */
static bool is_roots(const struct walk *w, const struct stat *st)
{
    return (st->st_uid == w->root || st->st_uid == 0) &&
           (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH)) ||
            (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX));
}

/* Continues at the target of the link, with the rest of the path after it. */
static int follow(struct walk *w, int link, const char *left,
                  struct jp_error *err)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
    char *rest;

    if (n <= 0 || ++w->links > LINKS_MAX) {
        errno = n < 0 ? errno : ELOOP;
        return error_set(err, "%s: %s", w->path, strerror(errno));
    }
    target[n] = '\0';
    rest = text_format("%s/%s", target, left);
    if (!rest)
        return error_set(err, "out of memory");
    free(w->rest);
    w->rest = rest;
    if (*target == '/') {
        close(w->at);
        w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return 0;
}

/* Goes one component further. Returns 1 at the end of the path, or if the
 * component does not exist and need not. */
static int step(struct walk *w, struct jp_error *err)
{
    char *name = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(name, "/");
    struct stat st;
    int fd, rc;

    if (!n)
        return 1;
    name = strndup(name, n);
    if (!name)
        return error_set(err, "out of memory");
    fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    free(name);
    if (fd < 0 && errno == ENOENT && !w->must_exist)
        return 1;
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = error_set(err, "%s: %s", w->path, strerror(errno));
    } else if (!is_roots(w, &st)) {
        rc = refuse(w, &st, err);
    } else if (S_ISLNK(st.st_mode)) {
        rc = follow(w, fd, w->rest + strspn(w->rest, "/") + n, err);
    } else {
        memmove(w->rest, w->rest + strspn(w->rest, "/") + n,
                strlen(w->rest + strspn(w->rest, "/") + n) + 1);
        close(w->at);
        w->at = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Checks a path from the root on, component by component. Only for root. */
static int check(const char *path, bool must_exist, struct jp_error *err)
{
    struct walk w = {.path = path, .at = -1, .must_exist = must_exist};
    char here[PATH_MAX] = "";
    struct stat st;
    int rc = 0;

    if (geteuid() != 0)
        return 0;
    if (*path != '/' && !getcwd(here, sizeof(here)))
        return error_set(err, "%s: %s", path, strerror(errno));
    w.rest = text_format("%s/%s", here, path);
    w.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!w.rest || w.at < 0 || fstat(w.at, &st) < 0) {
        rc = error_set(err, "%s: %s", path, strerror(errno));
    } else {
        w.root = st.st_uid;
        if (!is_roots(&w, &st))
            rc = refuse(&w, &st, err);
    }
    while (rc == 0)
        rc = step(&w, err);
    if (w.at >= 0)
        close(w.at);
    free(w.rest);
    return rc < 0 ? -1 : 0;
}

int ownplace_check(const char *path, struct jp_error *err)
{
    return check(path, false, err);
}

int ownplace_check_parent(const char *path, struct jp_error *err)
{
    const char *slash;
    char *parent;
    size_t n = strlen(path);
    int rc;

    if (geteuid() != 0)
        return 0;
    while (n > 1 && path[n - 1] == '/')
        n--;
    slash = memrchr(path, '/', n);
    parent = !slash ? strdup(".")
                    : strndup(path, slash > path ? (size_t) (slash - path) : 1);
    rc = parent ? check(parent, true, err) : error_set(err, "out of memory");
    free(parent);
    return rc;
}

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
    int fd = open(path, flags | (follow ? 0 : O_NOFOLLOW));

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

int fileio_check_owner(int fd, const char *path, bool group,
                       struct jp_error *err)
{
    mode_t bad = group ? S_IWOTH : S_IWGRP | S_IWOTH;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    errno = EPERM;
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return error_set(err, "%s: owned by uid %ld, not by root or you", path,
                         (long) st.st_uid);
    if (st.st_mode & bad)
        return error_set(err, "%s: writable by %s (mode %04o)", path,
                         st.st_mode & S_IWOTH ? "everybody" : "its group",
                         (unsigned) st.st_mode & 07777);
    return 0;
}

/* Checks one folder of a path. A group that may write to our own folder is our
 * own choice. */
static int check_folder(const char *path, struct jp_error *err)
{
    struct stat root, st;
    mode_t bad;

    if (stat("/", &root) < 0 || stat(path, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    errno = EPERM;
    if (st.st_uid != root.st_uid && st.st_uid != geteuid())
        return error_set(err, "%s: owned by uid %ld, not by root or you", path,
                         (long) st.st_uid);
    bad = st.st_uid == root.st_uid ? S_IWGRP | S_IWOTH : S_IWOTH;
    if (st.st_mode & bad && !(st.st_mode & S_ISVTX))
        return error_set(err, "%s: writable by %s (mode %04o)", path,
                         st.st_mode & S_IWOTH ? "everybody" : "its group",
                         (unsigned) st.st_mode & 07777);
    return 0;
}

/* Checks each folder of the path. Cuts the path temporarily. */
static int check_chain(char *path, struct jp_error *err)
{
    int rc = *path == '/' ? check_folder("/", err) : 0;

    for (char *c = path; rc == 0 && *c && (c = strchr(c + 1, '/'));) {
        *c = '\0';
        rc = check_folder(path, err);
        *c = '/';
    }
    return rc;
}

int fileio_check_folders(const char *path, struct jp_error *err)
{
    char *named = strdup(path), *real = realpath(path, NULL);
    int rc = -1;

    if (!named || !real)
        error_set(err, "%s: %s", path, strerror(errno));
    else if (check_chain(named, err) < 0 || check_chain(real, err) < 0)
        error_wrap(err, "%s: folder above it", path);
    else
        rc = 0;
    free(named);
    free(real);
    return rc;
}

int fileio_check_site(int fd, const char *path, struct jp_error *err)
{
    return fileio_check_owner(fd, path, false, err) < 0 ||
                   fileio_check_folders(path, err) < 0
               ? -1
               : 0;
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
    char *copy;
    struct stat st;
    int rc = -1;

    if (ownplace_check(path, err) < 0)
        return -1;
    copy = strdup(path);
    if (!copy)
        return error_set(err, "out of memory");
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        errno = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST && errno != EROFS &&
            errno != EACCES && errno != EPERM && errno != EISDIR) {
            error_set(err, "%s: %s", copy, strerror(errno));
            goto out;
        }
        if (errno == EEXIST && ownplace_check(copy, err) < 0)
            goto out; /* another process was faster: check its folder */
        *p = '/';
    }
    if (mkdir(copy, 0700) < 0) {
        int saved = errno;

        if (saved == EEXIST && ownplace_check(copy, err) < 0)
            goto out;
        if (stat(copy, &st) < 0 || !S_ISDIR(st.st_mode)) {
            errno = saved == EEXIST ? ENOTDIR : saved;
            error_set(err, "%s: %s", path, strerror(errno));
            goto out;
        }
    }
    rc = 0;
out:
    free(copy);
    return rc;
}

/* What exists at the path may vanish before it is examined (pending/, by
 * another node's rmdir). Then try again. */
#define MAKE_TRIES 100

int fileio_mkdir(const char *path, struct jp_error *err)
{
    struct stat st;

    if (ownplace_check_parent(path, err) < 0)
        return -1;
    for (int i = 0; i < MAKE_TRIES; i++) {
        if (mkdir(path, 0700) == 0)
            return 0;
        if (errno != EEXIST)
            return error_set(err, "%s: %s", path, strerror(errno));
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return 0;
        if (errno != ENOENT)
            break;
    }
    errno = ENOTDIR;
    return error_set(err, "%s: not a folder (symbolic links are refused)",
                     path);
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

int fileio_temp_open(struct jp_tempfile *file, const char *path,
                     struct jp_error *err)
{
    struct stat st;
    int fd = -1;

    *file = (struct jp_tempfile){0};
    if (ownplace_check_parent(path, err) < 0)
        return -1;
    if (lstat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
        return error_set(err, "%s: a device is not replaced", path);
    file->path = strdup(path);
    file->temp_path = fileio_temp_name(path);
    if (!file->path || !file->temp_path) {
        error_set(err, "out of memory");
        goto fail;
    }
    fd = open(file->temp_path,
              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || !(file->stream = fdopen(fd, "w"))) {
        error_set(err, "%s: %s", file->temp_path, strerror(errno));
        goto fail;
    }
    return 0;
fail:
    if (fd >= 0 && !file->stream) {
        close(fd);
        unlink(file->temp_path);
    }
    free(file->path);
    free(file->temp_path);
    *file = (struct jp_tempfile){0};
    return -1;
}

/* What stands at path and may not be replaced: a device, a pipe, a link. */
static bool is_in_place(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode);
}

int fileio_output_open(struct jp_tempfile *file, const char *path,
                       struct jp_error *err)
{
    int fd;

    if (!is_in_place(path))
        return fileio_temp_open(file, path, err);
    *file = (struct jp_tempfile){.path = strdup(path)};
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0600);
    if (file->path && fd >= 0 && (file->stream = fdopen(fd, "w")))
        return 0;
    error_set(err, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(file->path);
    *file = (struct jp_tempfile){0};
    return -1;
}

void fileio_temp_abort(struct jp_tempfile *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->temp_path)
        unlink(file->temp_path);
    free(file->path);
    free(file->temp_path);
    *file = (struct jp_tempfile){0};
}

/* Provokes the error of an earlier write again, because stdio has lost its
 * errno. A disk or quota that was full may have room for less than a buffer. */
static void ask_again(int fd)
{
    static const char probe[65536];

    for (int i = 0; i < 4 && write(fd, probe, sizeof(probe)) > 0; i++)
        ;
}

int fileio_temp_commit(struct jp_tempfile *file, struct jp_error *err)
{
    int bad = ferror(file->stream);
    int rc = 0;

    /* fclose may fail without errno. */
    errno = EIO;
    if (bad)
        ask_again(fileno(file->stream));
    bad |= fclose(file->stream);
    file->stream = NULL;
    if (bad || (file->temp_path && rename(file->temp_path, file->path) < 0)) {
        rc = error_set(err, "%s: %s", file->path, strerror(errno));
        fileio_temp_abort(file);
        return rc;
    }
    free(file->path);
    free(file->temp_path);
    *file = (struct jp_tempfile){0};
    return 0;
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

static void sync_folder_of(const char *path, uint32_t limit_ms)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t) (slash - path) + 1)
                         : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        sync_within(fd, limit_ms);
        close(fd);
    }
    free(folder);
}

int fileio_temp_commit_synced(struct jp_tempfile *file, uint32_t limit_ms,
                              struct jp_error *err)
{
    char *path = strdup(file->path);
    int rc;

    if (fflush(file->stream) == 0)
        sync_within(fileno(file->stream), limit_ms);
    rc = fileio_temp_commit(file, err);
    if (rc == 0 && path)
        sync_folder_of(path, limit_ms);
    free(path);
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
    char *parent = NULL, *name = NULL, *slash;
    struct stat st;
    int at = -1, rc = -1;

    if (lstat(path, &st) < 0)
        return errno == ENOENT
                   ? 0
                   : error_set(err, "%s: %s", path, strerror(errno));
    if (ownplace_check_parent(path, err) < 0)
        return -1;
    parent = strdup(path);
    while (parent && (slash = strrchr(parent, '/')) && !slash[1])
        *slash = '\0'; /* without slashes at the end */
    slash = parent ? strrchr(parent, '/') : NULL;
    name = parent ? strdup(slash ? slash + 1 : parent) : NULL;
    if (slash)
        slash[slash == parent] = '\0';
    if (name)
        at = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!name)
        error_set(err, "out of memory");
    else if (at < 0)
        error_set(err, "%s: %s", path, strerror(errno));
    else if ((rc = remove_folder(at, name, 0)) < 0)
        error_set(err, "%s: cannot be removed: %s", path, strerror(errno));
    if (at >= 0)
        close(at);
    free(name);
    free(parent);
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
static int take(const struct treewalk_state *walk, int dir, const char *name,
                const char *path, unsigned depth)
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
        rc = below ? take(walk, dirfd(dir), entry->d_name, below, depth) : -1;
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
