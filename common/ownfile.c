/* ownfile.c - a file that stays open for a long time, and is still ours at each
 * use.
 *
 * Each function that uses a descriptor first calls has_folder() or has_file(),
 * which compare what is open with what was opened. */
#include "common/ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The lowest number that is wanted, so that programs with fewer files never
 * reach it: below the usual limit of 1024. FIRST is the lowest that is
 * accepted. */
enum { HIGH = 960, FIRST = STDERR_FILENO + 1 };

/* F_SETSIG keeps a number with the open file, which means nothing without
 * O_ASYNC. A file that somebody else has opened has 0 there. */
enum { MARK = SIGWINCH };

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

bool ownfile_may_open(void)
{
    return getauxval(AT_SECURE) == 0;
}

/* --- system calls --------------------------------------------------------- */

static int call_open(int at, const char *path, int flags)
{
    return (int) syscall(SYS_openat, at, path, flags, 0600);
}

static void call_close(int fd)
{
    (void) syscall(SYS_close, fd);
}

static long call_write(int fd, const void *bytes, size_t n, uint64_t at)
{
#if __SIZEOF_LONG__ == 8
    return syscall(SYS_pwrite64, fd, bytes, n, at);
#else /* the offset takes two arguments, in an order that libc knows */
    return pwrite(fd, bytes, n, (off_t) at);
#endif
}

static pid_t call_getpid(void)
{
    /* not libc's, which once remembered the pid across clone() */
    return (pid_t) syscall(SYS_getpid);
}

/* Reads what an entry of a folder is, or with an empty name the descriptor
 * itself; without the mark. statx() answers from the cache where the older
 * calls would ask a file server. */
static bool look_at(int at, const char *name, struct ownfile_id *id)
{
    struct stat st;
    long rc = -1;
#ifdef SYS_statx
    struct statx stx;

    if (syscall(SYS_statx, at, name,
                AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
                STATX_INO | STATX_TYPE | STATX_MODE, &stx) == 0) {
        *id = (struct ownfile_id){stx.stx_dev_major, stx.stx_dev_minor,
                                  stx.stx_ino, stx.stx_mode, 0};
        return true;
    }
#endif
    /* older kernels, some filters */
    if (!*name)
        rc = syscall(SYS_fstat, at, &st);
#ifdef SYS_newfstatat
    else
        rc = syscall(SYS_newfstatat, at, name, &st, AT_SYMLINK_NOFOLLOW);
#endif
    if (rc != 0)
        return false;
    *id = (struct ownfile_id){major(st.st_dev), minor(st.st_dev), st.st_ino,
                              st.st_mode, 0};
    return true;
}

/* The same for a descriptor, with its mark. */
static bool identify(int fd, struct ownfile_id *id)
{
    if (!look_at(fd, "", id))
        return false;
    id->mark = (int) syscall(SYS_fcntl, fd, F_GETSIG, 0);
    return true;
}

static bool is_same_inode(const struct ownfile_id *a,
                          const struct ownfile_id *b)
{
    return a->inode == b->inode && a->major == b->major &&
           a->minor == b->minor && (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

/* Moves a new descriptor to a high number, marks and identifies it. Closes it
 * on failure and returns -1. The low number is closed without a comparison: it
 * was opened a moment ago. */
static int settle_descriptor(int fd, struct ownfile_id *id)
{
    int error, high;

    if (fd < 0)
        return -1;
    high = (int) syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH);
    if (high < 0) /* a low limit, or no number is free there */
        high = fd >= FIRST
                   ? fd
                   : (int) syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST);
    error = errno;
    if (high != fd)
        call_close(fd);
    errno = error;
    if (high < 0)
        return -1;
    (void) syscall(SYS_fcntl, high, F_SETSIG, MARK);
    if (identify(high, id))
        return high;
    error = errno;
    call_close(high);
    errno = error;
    return -1;
}

/* --- the thread's own table ----------------------------------------------- */

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* Returns the number of places in this thread's table, or 0 if it is
 * unknown. */
static int n_places(void)
{
    int fd =
        call_open(AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    char text[2048];
    const char *at;
    int n = 0;
    long len;

    if (fd < 0)
        return 0;
    len = syscall(SYS_read, fd, text, sizeof(text) - 1);
    call_close(fd);
    text[len > 0 ? len : 0] = '\0';
    at = strstr(text, "\nFDSize:");
    /* not strtol() or sscanf(): their newest symbol versions are too new */
    for (at = at ? at + strlen("\nFDSize:") : ""; *at == '\t' || *at == ' ';)
        at++;
    for (; *at >= '0' && *at <= '9' && n < 100000000; at++)
        n = 10 * n + (*at - '0');
    return n;
}

/* For kernels before 5.9: makes a copy of the table and closes all of it.
 * Closing a copy does not touch the program's descriptor or its locks. */
static bool leave_table(void)
{
    int before = n_places(), n;

    /* a copy that cannot be closed would keep pipes of the program open */
    if (before == 0 || syscall(SYS_unshare, CLONE_FILES) != 0)
        return false;
    for (int fd = 0; fd < FIRST; fd++) /* n_places() needs a free number */
        call_close(fd);
    /* the program may have opened more just before the copy was made */
    n = n_places();
    for (int fd = 0; fd < (n > before ? n : before); fd++)
        call_close(fd);
    return true;
}

bool ownfile_own_table(void)
{
    /* a filter could end the program for a call that it does not know */
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
        return false;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0)
        return true;
#endif
    return leave_table();
}

/* --- whether it is still ours --------------------------------------------- */

static bool is_same(int fd, const struct ownfile_id *opened)
{
    struct ownfile_id now;

    return fd >= FIRST && identify(fd, &now) && is_same_inode(&now, opened) &&
           now.mark == opened->mark;
}

static void close_same(int fd, const struct ownfile_id *opened)
{
    if (is_same(fd, opened))
        call_close(fd);
}

static bool is_parents(const struct ownfile *file)
{
    return file->pid != call_getpid();
}

void ownfile_close_file(struct ownfile *file)
{
    if (!is_parents(file))
        close_same(file->fd, &file->id);
    file->fd = 0;
    file->name[0] = '\0';
}

void ownfile_close(struct ownfile *file)
{
    ownfile_close_file(file);
    if (!is_parents(file))
        close_same(file->folder, &file->folder_id);
    memset(file, 0, sizeof(*file));
}

/* A descriptor belongs to the program by now: gives the other one up as
 * well. */
static bool lose(struct ownfile *file)
{
    ownfile_close(file);
    file->lost = true;
    errno = ESTALE;
    return false;
}

static bool has_folder(struct ownfile *file)
{
    if (file->folder < FIRST || is_parents(file)) {
        errno = ESTALE;
        return false;
    }
    return is_same(file->folder, &file->folder_id) || lose(file);
}

static bool has_file(struct ownfile *file)
{
    if (file->fd < FIRST || is_parents(file)) {
        errno = ESTALE;
        return false;
    }
    return is_same(file->fd, &file->id) || lose(file);
}

/* Whether the file's name in the folder is still that of the file. */
static bool has_name(struct ownfile *file)
{
    struct ownfile_id entry;

    if (!has_folder(file) || !has_file(file))
        return false;
    if (look_at(file->folder, file->name, &entry) &&
        is_same_inode(&entry, &file->id))
        return true;
    errno = ENOENT;
    return false;
}

int ownfile_folder(struct ownfile *file)
{
    return has_folder(file) ? file->folder : -1;
}

int ownfile_fd(struct ownfile *file)
{
    return has_file(file) ? file->fd : -1;
}

/* --- opening -------------------------------------------------------------- */

/* Returns the offset of the last n components of the path. */
static size_t last_components(const char *path, unsigned n)
{
    size_t at = strlen(path);

    while (n-- > 0 && at > 0) {
        while (at > 0 && path[at - 1] == '/')
            at--;
        while (at > 0 && path[at - 1] != '/')
            at--;
    }
    return at;
}

/* Replaces the folder by the one of that name in it, which is made unless it
 * exists. */
static int descend(struct ownfile *file, const char *name)
{
    struct ownfile_id id;
    int fd;

    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0) {
        errno = EINVAL;
        return -1;
    }
    if (!has_folder(file))
        return -1;
    if (syscall(SYS_mkdirat, file->folder, name, 0700) != 0 && errno != EEXIST)
        return -1;
    if (!has_folder(file))
        return -1;
    fd = settle_descriptor(call_open(file->folder, name, FOLDER | O_NOFOLLOW),
                           &id);
    if (fd < 0)
        return -1;
    close_same(file->folder, &file->folder_id);
    file->folder = fd;
    file->folder_id = id;
    return 0;
}

int ownfile_open(struct ownfile *file, const char *path, unsigned n_made)
{
    struct ownfile opened = {.pid = call_getpid()};
    char base[4096], name[OWNFILE_NAME_MAX];
    size_t at = last_components(path, n_made), len;
    int error;

    if (!ownfile_may_open()) {
        errno = EPERM;
        return -1;
    }
    if (file->lost) {
        errno = ESTALE;
        return -1;
    }
    if (at >= sizeof(base)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(base, path, at);
    base[at] = '\0';
    if (at == 0) /* all of it is made */
        snprintf(base, sizeof(base), "%s", *path == '/' ? "/" : ".");
    opened.folder =
        settle_descriptor(call_open(AT_FDCWD, base, FOLDER), &opened.folder_id);
    if (opened.folder < 0)
        return -1;
    for (path += at; *path; path += len) {
        len = strcspn(path, "/");
        if (len == 0) {
            len = 1;
            continue;
        }
        if (len >= sizeof(name)) {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(name, path, len);
        name[len] = '\0';
        if (descend(&opened, name) < 0)
            break;
    }
    if (*path) {
        error = errno;
        ownfile_close(&opened);
        errno = error;
        return -1;
    }
    *file = opened;
    return 0;
}

int ownfile_open_beside(struct ownfile *file, struct ownfile *other)
{
    struct ownfile opened = {.pid = call_getpid()};

    if (!has_folder(other))
        return -1;
    opened.folder = settle_descriptor(call_open(other->folder, ".", FOLDER),
                                      &opened.folder_id);
    if (opened.folder < 0)
        return -1;
    *file = opened;
    return 0;
}

int ownfile_create(struct ownfile *file, const char *name)
{
    size_t len = strlen(name);
    struct ownfile_id id;
    int fd;

    if (len == 0 || len >= sizeof(file->name) || strchr(name, '/')) {
        errno = EINVAL;
        return -1;
    }
    ownfile_close_file(file);
    if (!has_folder(file))
        return -1;
    fd = settle_descriptor(
        call_open(file->folder, name,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC),
        &id);
    if (fd < 0)
        return -1;
    /* an unusual umask took these permissions away */
    if ((id.mode & 0600) != 0600)
        (void) syscall(SYS_fchmod, fd, 0600);
    file->fd = fd;
    file->id = id;
    memcpy(file->name, name, len + 1);
    return 0;
}

int ownfile_create_anew(struct ownfile *file, const char *name)
{
    if (!has_folder(file))
        return -1;
    if (syscall(SYS_unlinkat, file->folder, name, 0) != 0 && errno != ENOENT)
        return -1;
    return ownfile_create(file, name);
}

/* --- changing ------------------------------------------------------------- */

/* The comparison is made before each call, because the program may close
 * descriptors at any time. */
int ownfile_write(struct ownfile *file, const void *bytes, size_t n,
                  uint64_t at)
{
    const char *from = bytes;

    while (n > 0) {
        long k;

        if (!has_file(file))
            return -1;
        k = call_write(file->fd, from, n, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = ENOSPC;
        if (k <= 0)
            return -1;
        from += k;
        at += (uint64_t) k;
        n -= (size_t) k;
    }
    return 0;
}

int ownfile_truncate(struct ownfile *file, uint64_t size)
{
    if (!has_file(file))
        return -1;
#if __SIZEOF_LONG__ == 8
    return (int) syscall(SYS_ftruncate, file->fd, size);
#else
    return ftruncate(file->fd, (off_t) size);
#endif
}

int ownfile_copy(struct ownfile *file)
{
    int fd = ownfile_fd(file), error;

    fd = fd < 0 ? -1 : (int) syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST);
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) < 0) {
        error = errno;
        call_close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int ownfile_rename(struct ownfile *file, const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len >= sizeof(file->name) || strchr(name, '/')) {
        errno = EINVAL;
        return -1;
    }
    if (!has_name(file))
        return -1;
    if (renameat(file->folder, file->name, file->folder, name) != 0)
        return -1;
    memcpy(file->name, name, len + 1);
    return 0;
}

int ownfile_unlink(struct ownfile *file)
{
    if (!has_name(file))
        return -1;
    return (int) syscall(SYS_unlinkat, file->folder, file->name, 0);
}
