/* rival.c - tell a living claim of somebody else from a dead one. */
#include "orchestrator/collect/rival.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/claim.h"

void rival_host(char out[65])
{
    if (gethostname(out, 64) < 0)
        memcpy(out, "unknown", 8);
    out[64] = '\0';
}

bool rival_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The time that the file system of dir gives to a file touched now. */
static int probe_time(const char *dir, struct timespec *now)
{
    char host[65];
    char *path;
    struct stat st;
    int fd;
    int rc = -1;

    rival_host(host);
    path = fileio_path("%s/report.probe.%s.%ld", dir, host, (long) getpid());
    if (!path)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0600);
    if (fd >= 0) {
        rc = futimens(fd, NULL) < 0 || fstat(fd, &st) < 0 ? -1 : 0;
        close(fd);
        unlink(path);
    }
    if (rc == 0)
        *now = st.st_mtim;
    free(path);
    return rc;
}

static int64_t age_ms(const struct timespec *now, const struct timespec *then)
{
    return ((int64_t) now->tv_sec - then->tv_sec) * 1000 +
           (now->tv_nsec - then->tv_nsec) / 1000000;
}

static enum jp_rival judge(const char *dir, const struct stat *st,
                           uint32_t stale_ms)
{
    struct timespec now;

    if (probe_time(dir, &now) < 0)
        return JP_RIVAL_BAD;
    return age_ms(&now, &st->st_mtim) > (int64_t) stale_ms ? JP_RIVAL_STALE
                                                           : JP_RIVAL_LIVE;
}

enum jp_rival rival_look(const char *dir, uint32_t stale_ms)
{
    char *path = fileio_path("%s/" JP_CLAIM_NAME, dir);
    enum jp_rival state = JP_RIVAL_BAD;
    struct stat st;

    if (path && lstat(path, &st) == 0)
        state = judge(dir, &st, stale_ms);
    else if (path && errno == ENOENT && access(dir, X_OK) == 0)
        state = JP_RIVAL_NONE;
    free(path);
    return state;
}

/* Moves the judged file away. Whoever else judged the same file and was faster
 * has put a fresh claim there: then that one is put back. */
static bool move_away(const char *path, const struct stat *judged)
{
    char host[65];
    char *aside;
    struct stat st;
    bool ours = false;

    rival_host(host);
    aside = fileio_path("%s.stale.%s.%ld", path, host, (long) getpid());
    if (!aside)
        return false;
    if (rename(path, aside) == 0) {
        ours = lstat(aside, &st) == 0 && rival_same_file(&st, judged);
        if (!ours && link(aside, path) < 0 && errno != EEXIST)
            ours = true; /* no hard links here: it is lost, so take over */
        unlink(aside);
    }
    free(aside);
    return ours;
}

bool rival_oust(const char *dir, const char *path, uint32_t stale_ms,
                int *lock_fd)
{
    struct stat opened, now;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT;
    *lock_fd = fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    if (fstat(fd, &opened) < 0 || lstat(path, &now) < 0 ||
        !rival_same_file(&opened, &now) ||
        judge(dir, &now, stale_ms) != JP_RIVAL_STALE)
        return false;
    return move_away(path, &opened);
}
