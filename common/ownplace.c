/* ownplace.c - walk to a folder and see on the way whose everything is; hold
 * folders; open files in them. */
#include "common/ownplace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/vector.h"

/* As many symbolic links as the kernel follows. */
enum { LINKS_MAX = 40 };

/* How often a component that vanishes between mkdir and open is made again
 * (pending/, which another node removes). */
enum { MAKE_TRIES = 100 };

/* --- folders that are held ------------------------------------------------ */

struct held {
    char *path; /* without slashes at the end */
    int fd;
    /* to recognise the descriptor: a child may have closed it */
    dev_t dev;
    ino_t ino;
};

static struct held *held;
static size_t n_held;

/* The length of a path without the slashes at its end. */
static size_t length_of(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* Returns the innermost held folder that path is in, or that it names, and the
 * rest of the path; NULL: none. */
static const struct held *find_held(const char *path, const char **rest)
{
    const struct held *found = NULL;
    size_t most = 0;
    struct stat st;

    for (size_t i = 0; i < n_held; i++) {
        size_t n = strlen(held[i].path);

        if (n > most && strncmp(path, held[i].path, n) == 0 &&
            (path[n] == '/' || !path[n]) && fstat(held[i].fd, &st) == 0 &&
            st.st_dev == held[i].dev && st.st_ino == held[i].ino) {
            found = &held[i];
            most = n;
        }
    }
    if (found)
        *rest = path + most + strspn(path + most, "/");
    return found;
}

/* Whether path is that of a held folder. */
static bool is_held(const char *path)
{
    const char *rest;

    return find_held(path, &rest) && !*rest;
}

int ownplace_at(const char **path)
{
    const char *rest;
    const struct held *folder = find_held(*path, &rest);

    if (!folder || !*rest)
        return AT_FDCWD;
    *path = rest;
    return folder->fd;
}

DIR *ownplace_opendir(const char *path)
{
    int at = ownplace_at(&path);
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

void ownplace_release(const char *path)
{
    size_t n = length_of(path);
    struct stat st;

    for (size_t i = 0; i < n_held; i++) {
        if (strlen(held[i].path) != n || strncmp(held[i].path, path, n) != 0)
            continue;
        /* the number may stand for another file in a child */
        if (fstat(held[i].fd, &st) == 0 && st.st_dev == held[i].dev &&
            st.st_ino == held[i].ino)
            close(held[i].fd);
        free(held[i].path);
        held[i] = held[--n_held];
        if (!n_held) {
            free(held);
            held = NULL;
        }
        return;
    }
}

void ownplace_moved(const char *from, const char *to)
{
    size_t n = length_of(from);

    for (size_t i = 0; i < n_held; i++) {
        char *path;

        if (strlen(held[i].path) != n || strncmp(held[i].path, from, n) != 0)
            continue;
        path = strndup(to, length_of(to));
        if (!path) {
            ownplace_release(from);
            return;
        }
        free(held[i].path);
        held[i].path = path;
        return;
    }
}

int ownplace_hold(const char *path, enum ownplace_kind kind,
                  struct jp_error *err)
{
    bool again = is_held(path);
    struct held one;
    struct stat st;

    /* its descriptor was closed: before another file gets the number */
    if (!again)
        ownplace_release(path);
    one.fd = ownplace_open(path, kind, err);
    if (one.fd < 0)
        return -1;
    if (again) {
        close(one.fd);
        return 0;
    }
    one.path = strndup(path, length_of(path));
    if (!one.path || VECTOR_DOUBLE(held, n_held) < 0 ||
        fstat(one.fd, &st) < 0) {
        close(one.fd);
        free(one.path);
        return error_set(err, "%s: cannot be held", path);
    }
    one.dev = st.st_dev;
    one.ino = st.st_ino;
    held[n_held++] = one;
    return 0;
}

/* --- the walk ------------------------------------------------------------- */

/* Who is trusted with the folders and links on the way. */
enum rule {
    RULE_ROOT,   /* root alone */
    RULE_SITE,   /* root and the caller */
    RULE_CALLER, /* anybody, but for links */
};

struct walk {
    const char *path; /* for errors */
    enum rule rule;
    bool make;      /* missing folders are created */
    bool may_lack;  /* a missing component ends the walk */
    bool for_file;  /* the last component may be a file, which is not checked */
    uid_t root;     /* the owner of "/" */
    int at;         /* what was reached, O_PATH */
    struct stat st; /* its status */
    char *rest;     /* what is left of the way; owned */
    unsigned links; /* number of links that were followed */
    /* The length of `rest` where the text of a link ends, and where that of
     * somebody else's link ends. What follows was written by the caller. */
    size_t after_link, after_strange;
    bool strange;   /* somebody else's link was followed: */
    uid_t stranger; /* the last one's owner */
    bool last_link; /* the caller's words end with a link */
    bool magic;     /* at is the folder of a link that the kernel must follow */
};

/* Skips the slashes before a component. */
static const char *skip(const char *rest)
{
    return rest + strspn(rest, "/");
}

/* Whether the next component is from the text of a link. */
static bool in_link(const struct walk *w)
{
    return w->links && strlen(skip(w->rest)) > w->after_link;
}

/* Whether it is from the text of somebody else's link, or of a link there. */
static bool in_strange(const struct walk *w)
{
    return w->strange && strlen(skip(w->rest)) > w->after_strange;
}

/* The name of an open folder or link for an error. */
static const char *name_of(int fd, char buf[PATH_MAX])
{
    char link[32];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, buf, PATH_MAX - 1);
    buf[n > 0 ? n : 0] = '\0';
    return n > 0 ? buf : "a folder above it";
}

static bool is_roots(const struct walk *w, uid_t uid)
{
    /* In a user namespace, the owner of "/" may be a uid that is unknown there,
     * while root of the namespace has uid 0. */
    return uid == w->root || uid == 0;
}

/* Whether a user other than the owner can change the entries of a folder, or
 * the content of a file. The entries of a sticky folder are their owners'. */
static bool is_open_to(const struct stat *st, mode_t writers)
{
    return !S_ISLNK(st->st_mode) && st->st_mode & writers &&
           !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX);
}

/* Applies root's rule. */
static int check_root(const struct walk *w, const struct stat *st,
                      struct jp_error *err)
{
    errno = EPERM;
    if (!is_roots(w, st->st_uid))
        return error_set(err,
                         "%s: root does not use it, because uid %ld owns it or "
                         "a folder or link above it",
                         w->path, (long) st->st_uid);
    if (is_open_to(st, S_IWGRP | S_IWOTH))
        return error_set(err,
                         "%s: root does not use it, because others can write "
                         "to it or a folder above it (mode %04o)",
                         w->path, (unsigned) st->st_mode & 07777);
    return 0;
}

/* Applies the rule for files that the site names. A group that may write to our
 * own folder is our own choice. */
static int check_site(const struct walk *w, int fd, const struct stat *st,
                      struct jp_error *err)
{
    mode_t writers = is_roots(w, st->st_uid) ? S_IWGRP | S_IWOTH : S_IWOTH;
    char buf[PATH_MAX];

    errno = EPERM;
    if (!is_roots(w, st->st_uid) && st->st_uid != geteuid())
        return error_set(err,
                         "%s: folder above it: %s: owned by uid %ld, not by "
                         "root or you",
                         w->path, name_of(fd, buf), (long) st->st_uid);
    if (is_open_to(st, writers))
        return error_set(
            err, "%s: folder above it: %s: writable by %s (mode %04o)", w->path,
            name_of(fd, buf), st->st_mode & S_IWOTH ? "everybody" : "its group",
            (unsigned) st->st_mode & 07777);
    return 0;
}

static int refuse_stranger(const struct walk *w, struct jp_error *err)
{
    errno = EPERM;
    return error_set(err,
                     "%s: uid %ld's link on the way leads to what belongs "
                     "to somebody else; name the file or folder itself",
                     w->path, (long) w->stranger);
}

/* Applies the rule for other callers to the next component: somebody else's
 * link is noted, and refused if its own text leads into the caller's folders.
 */
static int check_caller(struct walk *w, const struct stat *st,
                        const char *after, struct jp_error *err)
{
    bool own = st->st_uid == geteuid();

    if (!S_ISLNK(st->st_mode))
        return own && in_strange(w) ? refuse_stranger(w, err) : 0;
    if (own || is_roots(w, st->st_uid))
        return 0;
    if (!in_strange(w))
        w->after_strange = strlen(after);
    w->strange = true;
    w->stranger = st->st_uid;
    return 0;
}

static int check_component(struct walk *w, int fd, const struct stat *st,
                           const char *after, struct jp_error *err)
{
    if (w->rule == RULE_CALLER)
        return check_caller(w, st, after, err);
    if (w->for_file && !*after && !S_ISLNK(st->st_mode))
        return 0;
    return w->rule == RULE_ROOT ? check_root(w, st, err)
                                : check_site(w, fd, st, err);
}

/* Continues at the target of the link fd, with `after` behind it. */
static int follow(struct walk *w, int fd, const char *after,
                  struct jp_error *err)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
    char *rest;

    if (n <= 0 || w->links == LINKS_MAX) {
        errno = n < 0 ? errno : ELOOP;
        return error_set(err, "%s: %s", w->path, strerror(errno));
    }
    target[n] = '\0';
    if (!in_link(w)) {
        w->after_link = strlen(after);
        w->last_link = !*after;
    }
    w->links++;
    if (asprintf(&rest, "%s/%s", target, after) < 0)
        return error_set(err, "out of memory");
    free(w->rest);
    w->rest = rest;
    if (*target == '/') {
        close(w->at);
        w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (w->at < 0 || fstat(w->at, &w->st) < 0)
            return error_set(err, "/: %s", strerror(errno));
    }
    return 0;
}

/* Opens a component: a folder, a link itself, a file. -1: errno. */
static int open_component(const struct walk *w, const char *name)
{
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;

    for (int i = 0;; i++) {
        /* O_DIRECTORY first: without it, the folder below an automounter is not
         * mounted */
        int fd = openat(w->at, name, flags | O_DIRECTORY);

        if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
            fd = openat(w->at, name, flags);
        /* like mkdir, this creates no folder where a link leads to nothing */
        if (fd >= 0 || errno != ENOENT || !w->make || in_link(w) ||
            i == MAKE_TRIES)
            return fd;
        if (mkdirat(w->at, name, 0700) < 0 && errno != EEXIST)
            return -1;
    }
}

/* Whether it is a link in /proc. It stands for what a process has open, and its
 * text is not always a path. */
static bool is_magic(int fd, const struct stat *st)
{
    struct statfs fs;

    return S_ISLNK(st->st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == PROC_SUPER_MAGIC;
}

/* Lets the kernel follow a link in /proc: *fd becomes what it stands for, which
 * is checked in its turn. */
static int jump(struct walk *w, const char *name, int *fd, struct stat *st,
                const char *after, struct jp_error *err)
{
    int to = openat(w->at, name, O_PATH | O_CLOEXEC);

    if (to < 0 || fstat(to, st) < 0) {
        if (to >= 0)
            close(to);
        return error_set(err, "%s: %s", w->path, strerror(errno));
    }
    close(*fd);
    *fd = to;
    return check_component(w, to, st, after, err);
}

/* Goes one component further. Returns 1 at the end of the path, or if the
 * component does not exist and need not. */
static int step(struct walk *w, struct jp_error *err)
{
    const char *next = skip(w->rest), *after;
    size_t n = strcspn(next, "/");
    struct stat st;
    char *name;
    int fd, rc;

    if (!n)
        return 1;
    after = skip(next + n);
    name = strndup(next, n);
    if (!name)
        return error_set(err, "out of memory");
    fd = open_component(w, name);
    if (fd < 0 && errno == ENOENT && w->may_lack)
        rc = 1;
    else if (fd < 0 || fstat(fd, &st) < 0)
        rc = error_set(err, "%s: %s", w->path, strerror(errno));
    else
        rc = check_component(w, fd, &st, after, err);
    if (rc == 0 && is_magic(fd, &st)) {
        w->magic = w->for_file && !*after;
        rc = w->magic ? 1 : jump(w, name, &fd, &st, after, err);
    }
    free(name);
    if (rc == 0 && S_ISLNK(st.st_mode)) {
        rc = follow(w, fd, after, err);
    } else if (rc == 0) {
        close(w->at);
        w->at = fd;
        w->st = st;
        memmove(w->rest, after, strlen(after) + 1);
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Opens where the walk begins: a held folder; "/"; or the working directory of
 * a caller whose rule does not concern the folders above it. */
static int begin(struct walk *w, struct jp_error *err)
{
    const char *rest = w->path;
    const struct held *folder = find_held(w->path, &rest);
    char here[PATH_MAX] = "";
    struct stat root;

    if (stat("/", &root) < 0)
        return error_set(err, "/: %s", strerror(errno));
    w->root = root.st_uid;
    if (folder) {
        w->at = openat(folder->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    } else if (*rest != '/' && w->rule == RULE_CALLER) {
        w->at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    } else {
        if (*rest != '/' && !getcwd(here, sizeof(here)))
            return error_set(err, "%s: %s", w->path, strerror(errno));
        w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (w->at < 0 || fstat(w->at, &w->st) < 0)
        return error_set(err, "%s: %s", w->path, strerror(errno));
    if (asprintf(&w->rest, "%s/%s", here, rest) < 0) {
        w->rest = NULL;
        return error_set(err, "out of memory");
    }
    if (!*w->path) {
        errno = ENOENT;
        return error_set(err, "\"\": %s", strerror(errno));
    }
    return folder ? 0 : check_component(w, w->at, &w->st, "/", err);
}

/* Walks the whole path. On success w->at is what was reached. Call fini in any
 * case. */
static int walk(struct walk *w, struct jp_error *err)
{
    int rc;

    w->at = -1;
    rc = begin(w, err);
    while (rc == 0)
        rc = step(w, err);
    return rc < 0 ? -1 : 0;
}

/* Releases everything but errno. */
static void fini(struct walk *w)
{
    int saved = errno;

    if (w->at >= 0)
        close(w->at);
    free(w->rest);
    errno = saved;
}

/* Returns w->at, which the caller closes, or -1 if rc is not 0. */
static int take_folder(struct walk *w, int rc)
{
    int fd = rc == 0 ? w->at : -1;

    if (rc == 0)
        w->at = -1;
    fini(w);
    return fd;
}

static enum rule own_rule(void)
{
    return geteuid() == 0 ? RULE_ROOT : RULE_CALLER;
}

/* --- folders -------------------------------------------------------------- */

/* Whether somebody else's link has led to what is neither the caller's nor that
 * user's. */
static bool is_third(const struct walk *w)
{
    return w->strange && w->st.st_uid != geteuid() &&
           w->st.st_uid != w->stranger;
}

/* Checks whose the folder is that the walk has reached. */
static int check_kind(const struct walk *w, enum ownplace_kind kind,
                      struct jp_error *err)
{
    uid_t owner = w->st.st_uid;
    bool own = owner == geteuid();

    if (!S_ISDIR(w->st.st_mode)) {
        errno = ENOTDIR;
        return error_set(err, "%s: %s", w->path, strerror(errno));
    }
    if (kind == OWNPLACE_PRIVATE && w->last_link) {
        errno = ENOTDIR;
        return error_set(err, "%s: not a folder (symbolic links are refused)",
                         w->path);
    }
    errno = EPERM;
    if (!own && (kind == OWNPLACE_PRIVATE ||
                 (kind == OWNPLACE_OURS && !is_roots(w, owner))))
        return error_set(err, "%s: belongs to uid %lu, not to you", w->path,
                         (unsigned long) owner);
    if (is_third(w))
        return refuse_stranger(w, err);
    if (kind == OWNPLACE_PRIVATE && w->st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err,
                         "%s: others can write to it (mode %04o); chmod go-w",
                         w->path, (unsigned) w->st.st_mode & 07777);
    return 0;
}

static int open_folder(const char *path, enum ownplace_kind kind, bool make,
                       struct jp_error *err)
{
    struct walk w = {.path = path, .rule = own_rule(), .make = make};
    int rc = walk(&w, err);

    if (rc == 0)
        rc = check_kind(&w, kind, err);
    return take_folder(&w, rc);
}

int ownplace_open(const char *path, enum ownplace_kind kind,
                  struct jp_error *err)
{
    return open_folder(path, kind, false, err);
}

int ownplace_make(const char *path, enum ownplace_kind kind,
                  struct jp_error *err)
{
    return open_folder(path, kind, true, err);
}

char *ownplace_real(const char *path, enum ownplace_kind kind,
                    struct jp_error *err)
{
    int fd = ownplace_open(path, kind, err);
    char link[32], *real;

    if (fd < 0)
        return NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    real = realpath(link, NULL);
    if (!real)
        error_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    return real;
}

/* Splits a path. Returns the malloc'ed path of the folder, and the last
 * component in name; NULL with errno and err. */
static char *split(const char *path, char name[NAME_MAX + 1],
                   struct jp_error *err)
{
    size_t n = length_of(path), k;
    const char *slash = memrchr(path, '/', n), *base = slash ? slash + 1 : path;
    char *parent;

    k = n - (size_t) (base - path);
    if (k == 0 || k > NAME_MAX || (k == 1 && *base == '.') ||
        (k == 2 && base[0] == '.' && base[1] == '.')) {
        errno = k > NAME_MAX ? ENAMETOOLONG : EINVAL;
        error_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    memcpy(name, base, k);
    name[k] = '\0';
    parent = !slash ? strdup(".")
                    : strndup(path, slash > path ? (size_t) (slash - path) : 1);
    if (!parent)
        error_set(err, "out of memory");
    return parent;
}

int ownplace_open_parent(const char *path, enum ownplace_kind kind,
                         char name[NAME_MAX + 1], struct jp_error *err)
{
    char *parent = split(path, name, err);
    int fd = parent ? ownplace_open(parent, kind, err) : -1;

    free(parent);
    return fd;
}

/* --- files ---------------------------------------------------------------- */

/* Opens a file with these flags in a folder of ours. */
static int open_file(const char *path, int flags, struct jp_error *err)
{
    char name[NAME_MAX + 1];
    int folder = ownplace_open_parent(path, OWNPLACE_OURS, name, err);
    int fd, saved;

    if (folder < 0)
        return -1;
    fd = openat(
        folder, name,
        flags | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
    saved = errno;
    close(folder);
    errno = saved;
    return fd < 0 ? error_set(err, "%s: %s", path, strerror(errno)) : fd;
}

/* Whether a file that exists may be written: a regular one of the caller's.
 * Closes it otherwise. */
static int keep_if_own(int fd, const char *path, struct jp_error *err)
{
    struct stat st;
    bool known = fstat(fd, &st) == 0;

    if (known && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    errno = known && S_ISREG(st.st_mode) ? EPERM : EINVAL;
    return errno == EPERM ? error_set(err, "%s: belongs to uid %lu, not to you",
                                      path, (unsigned long) st.st_uid)
                          : error_set(err, "%s: not a regular file", path);
}

int ownplace_create(const char *path, struct jp_error *err)
{
    return open_file(path, O_WRONLY | O_EXCL, err);
}

int ownplace_append(const char *path, struct jp_error *err)
{
    int fd = open_file(path, O_WRONLY | O_APPEND, err);

    return fd < 0 ? -1 : keep_if_own(fd, path, err);
}

int ownplace_unlink(const char *path)
{
    char name[NAME_MAX + 1];
    int folder = ownplace_open_parent(path, OWNPLACE_OURS, name, NULL);
    int rc, saved;

    if (folder < 0)
        return -1;
    rc = unlinkat(folder, name, 0);
    saved = errno;
    close(folder);
    errno = saved;
    return rc;
}

/* Opens what the walk has reached: through its link in /proc, because an O_PATH
 * descriptor cannot be written to. */
static int reopen(const struct walk *w, int flags)
{
    char link[32];
    const char *name = skip(w->rest);

    if (w->magic)
        return openat(w->at, name, flags);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", w->at);
    return open(link, flags);
}

int ownplace_open_output(const char *path, struct jp_error *err)
{
    struct walk w = {.path = path, .rule = own_rule(), .for_file = true};
    int rc = walk(&w, err), fd = -1;
    mode_t kind = rc == 0 ? w.st.st_mode & S_IFMT : 0;

    if (rc < 0) {
        fini(&w);
        return -1;
    }
    if (!w.magic && (kind == S_IFREG || kind == S_IFIFO) &&
        w.st.st_uid != geteuid() && !is_roots(&w, w.st.st_uid)) {
        errno = EPERM;
        error_set(err, "%s: belongs to uid %lu, not to you", path,
                  (unsigned long) w.st.st_uid);
    } else if (is_third(&w)) {
        /* a file or device of root's that the caller may write to */
        refuse_stranger(&w, err);
    } else if ((fd = reopen(&w, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC)) <
               0) {
        error_set(err, "%s: %s", path, strerror(errno));
    }
    fini(&w);
    return fd;
}

/* --- checks --------------------------------------------------------------- */

int ownplace_check(const char *path, struct jp_error *err)
{
    struct walk w = {.path = path, .rule = own_rule(), .may_lack = true};
    int rc = walk(&w, err);

    fini(&w);
    return rc;
}

int ownplace_check_parent(const char *path, struct jp_error *err)
{
    char name[NAME_MAX + 1];
    int fd = ownplace_open_parent(path, OWNPLACE_ANY, name, err);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int ownplace_check_owner(int fd, const char *path, bool group,
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

int ownplace_check_folders(const char *path, struct jp_error *err)
{
    struct walk w = {.path = path, .rule = RULE_SITE, .for_file = true};
    int rc = walk(&w, err);

    fini(&w);
    return rc;
}

int ownplace_check_site(int fd, const char *path, struct jp_error *err)
{
    return ownplace_check_owner(fd, path, false, err) < 0 ||
                   ownplace_check_folders(path, err) < 0
               ? -1
               : 0;
}
