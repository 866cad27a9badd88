/* claim.c - take, keep alive and release the right to report. */
#include "orchestrator/collect/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/rival.h"

#define BEAT_MS 1000

struct jp_claim {
    int fd;
    uint32_t beat_ms;
    pthread_t thread;
    bool beating; /* the thread runs */
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* What the signal handler removes: the one claim of this process. */
static char held_path[PATH_MAX];
static struct stat held_stat;
static volatile sig_atomic_t held;

static const int quit_signals[] = {SIGTERM, SIGINT, SIGHUP};
#define N_QUIT (sizeof(quit_signals) / sizeof(quit_signals[0]))
static struct sigaction saved[N_QUIT]; /* as they were before the claim */

static void unlink_if_held(void)
{
    struct stat st;

    if (stat(held_path, &st) == 0 && rival_same_file(&st, &held_stat))
        unlink(held_path);
}

static void on_quit(int sig)
{
    if (held)
        unlink_if_held();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* A signal that is ignored (nohup) stays so. */
static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_quit};

    for (size_t i = 0; i < N_QUIT; i++) {
        sigaction(quit_signals[i], NULL, &saved[i]);
        if (saved[i].sa_handler != SIG_IGN)
            sigaction(quit_signals[i], &action, NULL);
    }
}

static void unwatch_signals(void)
{
    for (size_t i = 0; i < N_QUIT; i++)
        sigaction(quit_signals[i], &saved[i], NULL);
}

static void *beat(void *arg)
{
    struct jp_claim *claim = arg;
    struct timespec until;

    pthread_mutex_lock(&claim->lock);
    while (!claim->stop) {
        futimens(claim->fd, NULL);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += claim->beat_ms / 1000;
        until.tv_nsec += (long) (claim->beat_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&claim->wake, &claim->lock, &until);
    }
    pthread_mutex_unlock(&claim->lock);
    return NULL;
}

/* Signals go to the main thread, not to this one. */
static int start_beat(struct jp_claim *claim)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&claim->thread, NULL, beat, claim);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    claim->beating = rc == 0;
    return rc;
}

static int remember(int fd, const char *path)
{
    size_t n = strlen(path);

    if (n >= sizeof(held_path) || fstat(fd, &held_stat) < 0)
        return -1;
    memcpy(held_path, path, n + 1);
    held = 1;
    watch_signals();
    return 0;
}

/* Makes *out from the fresh file fd (taken over also on failure). */
static int adopt(int fd, const char *path, const char *kind, uint32_t stale_ms,
                 struct jp_claim **out, struct jp_error *err)
{
    struct jp_claim *claim = calloc(1, sizeof(*claim));
    char host[65];

    if (!claim || remember(fd, path) < 0) {
        unlink(path);
        close(fd);
        free(claim);
        return error_set(err, "%s: cannot be kept", path);
    }
    rival_host(host);
    dprintf(fd, "%s %ld %s %" PRIu64 "\n", host, (long) getpid(), kind,
            clock_real_us());
    claim->fd = fd;
    claim->beat_ms = stale_ms / 4 < BEAT_MS ? stale_ms / 4 + 1 : BEAT_MS;
    pthread_mutex_init(&claim->lock, NULL);
    pthread_cond_init(&claim->wake, NULL);
    if (start_beat(claim) != 0) {
        claim_release(claim);
        return error_set(err, "%s: no thread for the heartbeat", path);
    }
    *out = claim;
    return 1;
}

int claim_take(const char *dir, const char *kind, uint32_t stale_ms,
               struct jp_claim **out, struct jp_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char *path = fileio_path("%s/" JP_CLAIM_NAME, dir);
    int lock_fd = -1;
    int rc = -1;
    int fd;

    if (!path)
        return error_set(err, "out of memory");
    fd = open(path, flags, 0600);
    if (fd < 0 && errno == EEXIST) {
        rc = 0;
        if (!rival_oust(dir, path, stale_ms, &lock_fd))
            goto out;
        fd = open(path, flags, 0600);
    }
    if (fd >= 0)
        rc = adopt(fd, path, kind, stale_ms, out, err);
    else if (errno == EEXIST)
        rc = 0;
    else
        rc = error_set(err, "%s: %s", path, strerror(errno));
out:
    if (lock_fd >= 0)
        close(lock_fd);
    free(path);
    return rc;
}

bool claim_held(const struct jp_claim *claim)
{
    struct stat st;

    (void) claim;
    return held && stat(held_path, &st) == 0 && rival_same_file(&st, &held_stat);
}

int claim_moved(struct jp_claim *claim, const char *dir, struct jp_error *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/" JP_CLAIM_NAME, dir);

    (void) claim;
    if (n < 0 || (size_t) n >= sizeof(path))
        return error_set(err, "%s: the path is too long", dir);
    held = 0; /* no signal may see half a path */
    memcpy(held_path, path, (size_t) n + 1);
    held = 1;
    return 0;
}

void claim_release(struct jp_claim *claim)
{
    if (!claim)
        return;
    if (claim->beating) {
        pthread_mutex_lock(&claim->lock);
        claim->stop = true;
        pthread_cond_signal(&claim->wake);
        pthread_mutex_unlock(&claim->lock);
        pthread_join(claim->thread, NULL);
    }
    if (held) {
        unlink_if_held();
        held = 0;
        unwatch_signals();
    }
    close(claim->fd);
    pthread_cond_destroy(&claim->wake);
    pthread_mutex_destroy(&claim->lock);
    free(claim);
}
