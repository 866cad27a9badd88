/* stepdir.c - make, test and log into the folders of a step directory. */
#include "orchestrator/collect/stepdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"

bool stepdir_name_ok(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = name ? strlen(name) : 0;

    return n > 0 && n <= JP_STEPDIR_NAME_MAX && name[0] != '.' &&
           strspn(name, allowed) == n;
}

bool stepdir_is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int stepdir_check_own(const char *path, struct jp_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return error_set(err, "%s: not a folder (symbolic links are refused)",
                         path);
    if (st.st_uid != geteuid())
        return error_set(err, "%s: belongs to uid %lu, not to you", path,
                         (unsigned long) st.st_uid);
    return ownplace_check(path, err);
}

/* Makes <dir>/<name> and, with node, <dir>/<name>/<node>. */
static int make_below(const char *dir, const char *name, const char *node,
                      struct jp_error *err)
{
    char *path = fileio_path("%s/%s", dir, name);
    char *below = node ? fileio_path("%s/%s/%s", dir, name, node) : NULL;
    int rc = -1;

    if (!path || (node && !below))
        error_set(err, "out of memory");
    else if (fileio_mkdir(path, err) == 0)
        rc = below ? fileio_mkdir(below, err) : 0;
    free(path);
    free(below);
    return rc;
}

int stepdir_prepare(const char *dir, const char *node, struct jp_error *err)
{
    if (!stepdir_name_ok(node))
        return error_set(err, "node name \"%s\" cannot be part of a path",
                         node ? node : "");
    if (make_below(dir, "done", NULL, err) < 0 ||
        make_below(dir, "nodes", node, err) < 0)
        return -1;
    return make_below(dir, "raw", node, err);
}

bool stepdir_has(const char *dir, const char *name)
{
    char *path = fileio_path("%s/%s", dir, name);
    struct stat st;
    bool there = path && lstat(path, &st) == 0;

    free(path);
    return there;
}

char *stepdir_job_dir(const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return n ? strndup(dir, n) : strdup(".");
}

/* "2026-01-02T03:04:05Z host program[pid]: " into buf; returns its length. */
static size_t format_prefix(char *buf, size_t len)
{
    char host[65] = "?";
    struct tm tm;
    time_t now = time(NULL);
    size_t n;
    int more;

    gmtime_r(&now, &tm);
    n = strftime(buf, len, "%Y-%m-%dT%H:%M:%SZ ", &tm);
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '?';
    more = snprintf(buf + n, len - n, "%s %s[%ld]: ", host,
                    program_invocation_short_name, (long) getpid());
    return more > 0 && (size_t) more < len - n ? n + (size_t) more : n;
}

void stepdir_log(const char *dir, const char *fmt, ...)
{
    char line[1200];
    char *path = fileio_path("%s/log.txt", dir);
    size_t n = format_prefix(line, 200);
    int saved = errno;
    int fd = -1;
    va_list ap;
    int more;

    va_start(ap, fmt);
    more = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
    va_end(ap);
    if (more < 0 || !path)
        goto out;
    for (char *c = line; *c; c++)
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            *c = '?';
    n = strlen(line);
    line[n++] = '\n';
    fd = open(path,
              O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
                  O_CLOEXEC,
              0600);
    if (fd >= 0 && write(fd, line, n) < 0)
        goto out; /* the log is full or gone: nothing more to do about it */
out:
    if (fd >= 0)
        close(fd);
    free(path);
    errno = saved;
}
