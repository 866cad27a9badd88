/* barrier.c - the markers that tell which node leaves a step last. */
#include "orchestrator/collect/barrier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "orchestrator/collect/stepdir.h"

/* Leaving nodes rmdir pending/ between our mkdir and open; each try loses
 * against another node's exit, so a few hundred cannot fail in practice. */
#define ENTER_TRIES 500
#define CLEAR_TRIES 5

static char *mark_path(const struct jp_seat *seat, const char *folder)
{
    return fileio_path("%s/%s/%" PRIu64 ".%" PRIu32, seat->dir, folder,
                       seat->component, seat->nodeid);
}

/* Creates an empty file; one that is there already is as good. */
static int touch(const char *path)
{
    int fd = open(
        path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

bool barrier_is_reported(const char *dir)
{
    return stepdir_has(dir, JP_SUMMARY_NAME) && !stepdir_has(dir, "done");
}

/* Whether this seat has been left, or the whole step. */
static bool is_over(const struct jp_seat *seat, const char *done)
{
    struct stat st;

    return lstat(done, &st) == 0 || stepdir_has(seat->dir, "alldone");
}

int barrier_enter(const struct jp_seat *seat, struct jp_error *err)
{
    char *token = mark_path(seat, "pending");
    char *done = mark_path(seat, "done");
    char *pending = fileio_path("%s/pending", seat->dir);
    int rc = -1;

    if (!token || !done || !pending) {
        error_set(err, "out of memory");
        goto out;
    }
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

/* Entries of <dir>/<name>; -1 when it is not there. */
static int64_t count_entries(const char *dir, const char *name)
{
    char *path = fileio_path("%s/%s", dir, name);
    DIR *folder = path && stepdir_is_folder(path) ? opendir(path) : NULL;
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

/* Removes our token and, when it was the last one, pending/. 1: no tokens are
 * left, 0: others are, -1: error. */
static int drop_token(const struct jp_seat *seat, struct jp_error *err)
{
    char *token = mark_path(seat, "pending");
    char *pending = fileio_path("%s/pending", seat->dir);
    int rc = -1;

    if (!token || !pending)
        error_set(err, "out of memory");
    else if (unlink(token) < 0 && errno != ENOENT)
        error_set(err, "%s: %s", token, strerror(errno));
    else if (rmdir(pending) == 0 || errno == ENOENT)
        rc = 1;
    else if (errno == ENOTEMPTY || errno == EEXIST)
        rc = 0;
    else
        error_set(err, "%s: %s", pending, strerror(errno));
    free(token);
    free(pending);
    return rc;
}

/* All tokens are gone: are all nodes done, and is it us who says so? */
static int claim_alldone(const struct jp_seat *seat, enum barrier_state *out,
                         struct jp_error *err)
{
    int64_t n = count_entries(seat->dir, "done");
    char *path;
    int rc = 0;

    if (n < (int64_t) seat->nodes) {
        *out = n < 0 ? BARRIER_GONE : BARRIER_OTHERS;
        return 0;
    }
    path = fileio_path("%s/alldone", seat->dir);
    if (!path)
        return error_set(err, "out of memory");
    if (mkdir(path, 0700) == 0)
        *out = BARRIER_LAST;
    else if (errno == EEXIST)
        *out = BARRIER_OTHERS;
    else
        rc = error_set(err, "%s: %s", path, strerror(errno));
    /* another node said so first, and its report is over: see barrier_clear */
    if (rc == 0 && *out == BARRIER_LAST && !stepdir_has(seat->dir, "done")) {
        rmdir(path);
        *out = BARRIER_GONE;
    }
    free(path);
    return rc;
}

int barrier_leave(const struct jp_seat *seat, enum barrier_state *out,
                  struct jp_error *err)
{
    char *done = mark_path(seat, "done");
    int rc = -1;
    int left;

    if (!done)
        return error_set(err, "out of memory");
    if (touch(done) < 0) {
        if (errno == ENOENT) {
            drop_token(seat, NULL); /* a late begin may have made it anew */
            *out = BARRIER_GONE;
            rc = 0;
        } else {
            error_set(err, "%s: %s", done, strerror(errno));
        }
        goto out;
    }
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

/* alldone behind done: a node that makes it anew sees that done is gone */
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
        char *path = fileio_path("%s/%s", dir, cleared[i]);

        for (int try = 0; path && try < CLEAR_TRIES; try++) {
            if (unlink(path) == 0 || errno == ENOENT ||
                fileio_remove_tree(path, NULL) == 0)
                break;
        }
        free(path);
    }
}
