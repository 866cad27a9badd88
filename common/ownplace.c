/* ownplace.c - is a place root's alone, so that root may work there by path? */
#include "common/ownplace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"

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
                         "%s: uid %ld owns it, or a folder or link to it: not "
                         "for root",
                         w->path, (long) st->st_uid);
    return error_set(err,
                     "%s: others can write it, or a folder to it (mode %04o): "
                     "not for root",
                     w->path, (unsigned) st->st_mode & 07777);
}

/* Whether nobody else can change it. In a user namespace the owner of "/" may
 * be nobody that is known there, and who is root there has uid 0. */
static bool is_roots(const struct walk *w, const struct stat *st)
{
    return (st->st_uid == w->root || st->st_uid == 0) &&
           (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH)) ||
            (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX));
}

/* The way goes on at the link's target. */
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
    rest = fileio_path("%s/%s", target, left);
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

/* One component. 1: the end, or it is not there. */
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
    w.rest = fileio_path("%s/%s", here, path);
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
