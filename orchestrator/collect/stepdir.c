/* stepdir.c - make, test and log into the folders of a step directory; the
 * barrier that finds the last node to leave.
 *
 * The barrier has no server and no lock: it is built on mkdir and rmdir, which
 * are atomic even on network file systems. stepdir.h explains it, and each
 * function here is one step of that protocol.
 */
#include "orchestrator/collect/stepdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/ownplace.h"

bool stepdir_name_ok(const char *name)
{
    /* The names of Slurm's nodes; "." and ".." and hidden files are excluded by
     * the first byte. */
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = name ? strlen(name) : 0;

    return n > 0 && n <= JP_STEPDIR_NAME_MAX && name[0] != '.' &&
           strspn(name, allowed) == n;
}

bool stepdir_is_folder(const char *path)
{
    int at = ownplace_at(&path);
    struct stat st;

    return fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

int stepdir_check_own(const char *path, struct jp_error *err)
{
    int fd = ownplace_open(path, OWNPLACE_PRIVATE, err);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int stepdir_hold(const char *dir, struct jp_error *err)
{
    char *job = stepdir_job_dir(dir);
    int rc = -1;

    /* the step after the job's directory: it is then opened below that one */
    if (!job)
        error_set(err, "out of memory");
    else if (ownplace_hold(job, OWNPLACE_ANY, err) == 0 &&
             ownplace_hold(dir, OWNPLACE_PRIVATE, err) == 0)
        rc = 0;
    free(job);
    return rc;
}

void stepdir_release(const char *dir)
{
    char *job = stepdir_job_dir(dir);

    ownplace_release(dir);
    if (job)
        ownplace_release(job);
    free(job);
}

/* Makes <dir>/<name> and, unless node is NULL, <dir>/<name>/<node>. */
static int make_below(const char *dir, const char *name, const char *node,
                      struct jp_error *err)
{
    char *path = text_format("%s/%s", dir, name);
    char *below = node ? text_format("%s/%s/%s", dir, name, node) : NULL;
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
    char *path = text_format("%s/%s", dir, name);
    const char *rest = path;
    int at = path ? ownplace_at(&rest) : -1;
    struct stat st;
    bool there = path && fstatat(at, rest, &st, AT_SYMLINK_NOFOLLOW) == 0;

    free(path);
    return there;
}

char *stepdir_job_dir(const char *dir)
{
    size_t n = strlen(dir);

    /* Drop trailing slashes, the last component, and the slashes before it. */
    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return n ? strndup(dir, n) : strdup(".");
}

/* Writes "2026-01-02T03:04:05Z host program[pid]: " into buf. Returns its
 * length. */
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

/* One write of a whole line with O_APPEND keeps the lines of several processes
 * apart. */
void stepdir_log(const char *dir, const char *fmt, ...)
{
    char line[1200];
    char *path = text_format("%s/log.txt", dir);
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
    /* A line break in a path or message must not forge an entry. */
    for (char *c = line; *c; c++)
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            *c = '?';
    n = strlen(line);
    line[n++] = '\n';
    fd = ownplace_append(path, NULL);
    if (fd >= 0 && write(fd, line, n) < 0)
        goto out; /* there is no other place to report it */
out:
    if (fd >= 0)
        close(fd);
    free(path);
    errno = saved;
}

/* --- the marks that show which node leaves a step last -------------------- */

/* A leaving node may remove the empty pending/ between our mkdir and open. Each
 * failed try is caused by the exit of another node, so a few hundred tries are
 * enough for any step. */
#define ENTER_TRIES 500
/* How often the removal of a folder is tried while nodes may still write to
 * it. */
#define CLEAR_TRIES 5

/* The path of this seat's mark: <dir>/<folder>/<component>.<nodeid>. */
static char *mark_path(const struct jp_seat *seat, const char *folder)
{
    return text_format("%s/%s/%" PRIu64 ".%" PRIu32, seat->dir, folder,
                       seat->component, seat->nodeid);
}

/* Creates an empty file. An existing one is no error. -1: errno. */
static int touch(const char *path)
{
    int at = ownplace_at(&path);
    int fd = openat(at, path,
                    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0600);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

bool barrier_is_reported(const char *dir)
{
    return stepdir_has(dir, JP_SUMMARY_NAME) && !stepdir_has(dir, "done");
}

/* Whether this seat was left, or the whole step has ended. */
static bool is_over(const struct jp_seat *seat, const char *done)
{
    int at = ownplace_at(&done);
    struct stat st;

    return fstatat(at, done, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           stepdir_has(seat->dir, "alldone");
}

/* The token and pending/ are created in a loop, because a leaving node removes
 * pending/ whenever it is empty. */
int barrier_enter(const struct jp_seat *seat, struct jp_error *err)
{
    char *token = mark_path(seat, "pending");
    char *done = mark_path(seat, "done");
    char *pending = text_format("%s/pending", seat->dir);
    int rc = -1;

    if (!token || !done || !pending) {
        error_set(err, "out of memory");
        goto out;
    }
    /* Check in every turn: the step may end while we try. */
    for (int i = 0; i < ENTER_TRIES && rc < 0; i++) {
        if (is_over(seat, done)) {
            errno = EALREADY;
            error_set(err, "%s: this step has already ended on this node",
                      seat->dir);
            goto out;
        }
        if (fileio_mkdir(pending, err) < 0)
            goto out;
        rc = touch(token);
        if (rc < 0 && errno != ENOENT)
            break;
    }
    if (rc < 0)
        error_set(err, "%s: %s", token, strerror(errno));
out:
    free(token);
    free(done);
    free(pending);
    return rc;
}

/* The number of entries in <dir>/<name>; -1: the folder does not exist. */
static int64_t count_entries(const char *dir, const char *name)
{
    char *path = text_format("%s/%s", dir, name);
    DIR *folder = path ? ownplace_opendir(path) : NULL;
    struct dirent *entry;
    int64_t n = 0;

    free(path);
    if (!folder)
        return -1;
    while ((entry = readdir(folder)))
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

uint32_t barrier_count_pending(const char *dir)
{
    int64_t n = count_entries(dir, "pending");

    return n > 0 ? (uint32_t) n : 0;
}

/* Like rmdir, in a held folder. */
static int remove_empty(const char *path)
{
    int at = ownplace_at(&path);

    return unlinkat(at, path, AT_REMOVEDIR);
}

/* Removes our token and, if it was the last one, pending/. Returns 1 if no
 * tokens are left, 0 if others are, -1 on error. */
static int drop_token(const struct jp_seat *seat, struct jp_error *err)
{
    char *token = mark_path(seat, "pending");
    char *pending = text_format("%s/pending", seat->dir);
    int rc = -1;

    if (!token || !pending)
        error_set(err, "out of memory");
    else if (ownplace_unlink(token) < 0 && errno != ENOENT)
        error_set(err, "%s: %s", token, strerror(errno));
    else if (remove_empty(pending) == 0 || errno == ENOENT)
        rc = 1;
    else if (errno == ENOTEMPTY || errno == EEXIST)
        rc = 0;
    else
        error_set(err, "%s: %s", pending, strerror(errno));
    free(token);
    free(pending);
    return rc;
}

/* All tokens are gone. If all nodes are done, tries to create alldone/; the one
 * process that succeeds is the last one. Tokens alone are not enough: a node
 * may begin after all others have left. */
static int claim_alldone(const struct jp_seat *seat, enum barrier_state *out,
                         struct jp_error *err)
{
    int64_t n = count_entries(seat->dir, "done");
    const char *rest;
    char *path;
    int at, rc = 0;

    if (n < (int64_t) seat->nodes) {
        *out = n < 0 ? BARRIER_GONE : BARRIER_OTHERS;
        return 0;
    }
    path = text_format("%s/alldone", seat->dir);
    if (!path)
        return error_set(err, "out of memory");
    rest = path;
    at = ownplace_at(&rest);
    if (mkdirat(at, rest, 0700) == 0)
        *out = BARRIER_LAST;
    else if (errno == EEXIST)
        *out = BARRIER_OTHERS;
    else
        rc = error_set(err, "%s: %s", path, strerror(errno));
    /* Another node was last and its report has cleared the step already
     * (barrier_clear removes alldone after done). Our alldone is a mistake
     * then. */
    if (rc == 0 && *out == BARRIER_LAST && !stepdir_has(seat->dir, "done")) {
        remove_empty(path);
        *out = BARRIER_GONE;
    }
    free(path);
    return rc;
}

/* Steps: mark done, remove the token, and if no token is left, see whether all
 * nodes are done. */
int barrier_leave(const struct jp_seat *seat, enum barrier_state *out,
                  struct jp_error *err)
{
    char *done = mark_path(seat, "done");
    int rc = -1;
    int left;

    if (!done)
        return error_set(err, "out of memory");
    if (touch(done) < 0) {
        /* done/ is gone: a report has cleared the step. */
        if (errno == ENOENT) {
            drop_token(seat, NULL); /* a late begin may have created it again */
            *out = BARRIER_GONE;
            rc = 0;
        } else {
            error_set(err, "%s: %s", done, strerror(errno));
        }
        goto out;
    }
    /* The mark in done/ first: the node that finds no tokens counts the
     * marks. */
    left = drop_token(seat, err);
    if (left < 0)
        goto out;
    if (left == 0) {
        *out = BARRIER_OTHERS;
        rc = 0;
    } else {
        rc = claim_alldone(seat, out, err);
    }
out:
    free(done);
    return rc;
}

/* The files of the protocol, in the order of their removal. alldone comes after
 * done: a node that creates alldone again can see that done is gone. */
static const char *const cleared[] = {"owner", "pending",  "done",   "alldone",
                                      "run",   LIVE_NODES, LIVE_WANT};
#define N_CLEARED (sizeof(cleared) / sizeof(cleared[0]))

bool barrier_is_clear(const char *dir)
{
    for (size_t i = 0; i < N_CLEARED; i++)
        if (stepdir_has(dir, cleared[i]))
            return false;
    return true;
}

void barrier_clear(const char *dir)
{
    for (size_t i = 0; i < N_CLEARED; i++) {
        char *path = text_format("%s/%s", dir, cleared[i]);

        /* Files first: unlink fails for folders, which are then removed as
         * trees. */
        for (int try = 0; path && try < CLEAR_TRIES; try++) {
            if (ownplace_unlink(path) == 0 || errno == ENOENT ||
                fileio_remove_tree(path, NULL) == 0)
                break;
        }
        free(path);
    }
}
