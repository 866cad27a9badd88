/* claim.c - take, keep alive, steal and release the right to report.
 *
 * claim_take creates the file with O_EXCL, or first removes a stale claim
 * (oust). adopt() makes a file into a claim: signal handlers that remove it,
 * and a thread that touches it. claim.h describes when a claim is stale.
 */
#include "orchestrator/collect/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "orchestrator/collect/clock.h"

/* The longest interval between two touches. */
#define BEAT_MS 1000
/* For how many beats a stale claim must stay untouched before it is taken. */
#define LOOK_ON_BEATS 2

struct jp_claim {
    /* The step directory, held: the claim stays where it is when the directory
     * or a folder above it is renamed. */
    int folder;
    /* The file as created, to recognise it later by device and inode. */
    struct stat file;
    int fd;
    uint32_t beat_ms;
    pthread_t thread;
    bool beating; /* the thread has been started */
    /* The thread ends. Guarded by lock; wake interrupts its sleep. */
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void claim_host(char out[65])
{
    if (gethostname(out, 64) < 0)
        memcpy(out, "unknown", 8);
    out[64] = '\0';
}

/* Whether both are the same file. A claim that was stolen and created again has
 * the same name but is another file. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The interval between two touches in ms: at least four in the stale time. */
static uint32_t beat_of(uint32_t stale_ms)
{
    return stale_ms / 4 < BEAT_MS ? stale_ms / 4 + 1 : BEAT_MS;
}

/* --- another process's claim --- */

/* The time that the file system of the folder gives to a file touched now,
 * which may be a server's. Only that time can be compared with the time of the
 * claim. Returns -1 if no file can be created. */
static int probe_time(int folder, struct timespec *now)
{
    char host[65];
    char *name;
    struct stat st;
    int fd;
    int rc = -1;

    claim_host(host);
    name = text_format("report.probe.%s.%ld", host, (long) getpid());
    if (!name)
        return -1;
    fd = openat(folder, name,
                O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0) {
        /* Set the time explicitly: open() does not change that of an existing
         * file. */
        rc = futimens(fd, NULL) < 0 || fstat(fd, &st) < 0 ? -1 : 0;
        close(fd);
        unlinkat(folder, name, 0);
    }
    if (rc == 0)
        *now = st.st_mtim;
    free(name);
    return rc;
}

/* The difference between two times in milliseconds; negative if then is
 * later. */
static int64_t age_ms(const struct timespec *now, const struct timespec *then)
{
    return ((int64_t) now->tv_sec - then->tv_sec) * 1000 +
           (now->tv_nsec - then->tv_nsec) / 1000000;
}

/* Whether a claim with this status looks stale. */
static enum claim_state state_of_claim(int folder, const struct stat *st,
                                       uint32_t stale_ms)
{
    struct timespec now;

    if (probe_time(folder, &now) < 0)
        return CLAIM_BAD;
    return age_ms(&now, &st->st_mtim) > (int64_t) stale_ms ? CLAIM_STALE
                                                           : CLAIM_LIVE;
}

/* lstat of the claim. */
static int stat_claim(int folder, struct stat *st)
{
    return fstatat(folder, JP_CLAIM_NAME, st, AT_SYMLINK_NOFOLLOW);
}

enum claim_state claim_look(const char *dir, uint32_t stale_ms)
{
    int folder = ownplace_open(dir, OWNPLACE_OURS, NULL);
    enum claim_state state = CLAIM_BAD;
    struct stat st;

    if (folder < 0)
        return CLAIM_BAD;
    if (stat_claim(folder, &st) == 0)
        state = state_of_claim(folder, &st, stale_ms);
    else if (errno == ENOENT)
        state = CLAIM_FREE;
    close(folder);
    return state;
}

/* Whether the claim is still the file that was opened, and has not been touched
 * since `before`. */
static bool stays_untouched(int folder, const struct stat *opened,
                            const struct stat *before)
{
    struct stat now;

    return stat_claim(folder, &now) == 0 && is_same_file(opened, &now) &&
           now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Moves the judged file away. Between our last check and the rename, another
 * thief may have replaced it with a new claim; then the wrong file was moved,
 * and it is put back. Returns true if the stale claim is gone. */
static bool move_away(int folder, const struct stat *judged)
{
    char host[65];
    char *aside;
    struct stat st;
    bool ours = false;

    claim_host(host);
    aside = text_format(JP_CLAIM_NAME ".stale.%s.%ld", host, (long) getpid());
    if (!aside)
        return false;
    if (renameat(folder, JP_CLAIM_NAME, folder, aside) == 0) {
        ours = fstatat(folder, aside, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               is_same_file(&st, judged);
        /* If this file system has no hard links, the other claim cannot be put
         * back. Its owner notices the loss (claim_held). */
        if (!ours && linkat(folder, aside, folder, JP_CLAIM_NAME, 0) < 0 &&
            errno != EEXIST)
            ours = true;
        unlinkat(folder, aside, 0);
    }
    free(aside);
    return ours;
}

/* Removes the folder's claim if it is stale. If *lock_fd is set, its lock
 * keeps other thieves out until the caller has created a new claim; the caller
 * closes it in any case. Returns false if the owner is alive or another thief
 * was faster. */
static bool oust(int folder, uint32_t stale_ms, int *lock_fd)
{
    struct stat opened, now;
    int fd = openat(folder, JP_CLAIM_NAME,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT;
    *lock_fd = fd;
    /* Other errors mean that the file system has no locks: continue without. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    if (fstat(fd, &opened) < 0 || stat_claim(folder, &now) < 0 ||
        !is_same_file(&opened, &now) ||
        state_of_claim(folder, &now, stale_ms) != CLAIM_STALE)
        return false;
    /* A clock that was set forward makes a live claim look old, until its owner
     * touches it again, or permanently if that is the clock of another host. So
     * do not rely on the age alone: watch whether the claim is touched. */
    clock_sleep_ms(LOOK_ON_BEATS * beat_of(stale_ms));
    return stays_untouched(folder, &opened, &now) && move_away(folder, &opened);
}

/* --- the end by a signal --- */

/* The claim that the signal handler removes. A process has one claim at
 * most. */
static struct jp_claim *volatile held;

static const int quit_signals[] = {SIGTERM, SIGINT, SIGHUP};
#define N_QUIT (sizeof(quit_signals) / sizeof(quit_signals[0]))
static struct sigaction saved[N_QUIT]; /* actions before the claim was taken */

/* Whether the claim is still the file that we have created. */
static bool is_ours(const struct jp_claim *claim)
{
    struct stat st;

    return stat_claim(claim->folder, &st) == 0 &&
           is_same_file(&st, &claim->file);
}

/* The signal handler: fstatat, unlinkat, signal and raise are
 * async-signal-safe. */
static void on_quit(int sig)
{
    const struct jp_claim *claim = held;

    if (claim && is_ours(claim))
        unlinkat(claim->folder, JP_CLAIM_NAME, 0);
    /* End by the signal, so that the parent sees the true reason. */
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Installs the handlers. A signal that is ignored (nohup) stays ignored. */
static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_quit};

    for (size_t i = 0; i < N_QUIT; i++) {
        sigaction(quit_signals[i], NULL, &saved[i]);
        if (saved[i].sa_handler != SIG_IGN)
            sigaction(quit_signals[i], &action, NULL);
    }
}

/* Restores the actions from before the claim. */
static void unwatch_signals(void)
{
    for (size_t i = 0; i < N_QUIT; i++)
        sigaction(quit_signals[i], &saved[i], NULL);
}

/* --- the heartbeat --- */

/* The thread: touches the file once a beat until it is stopped. */
static void *beat(void *arg)
{
    struct jp_claim *claim = arg;
    struct timespec until;

    pthread_mutex_lock(&claim->lock);
    while (!claim->stop) {
        /* By descriptor: the file may have moved with its directory. */
        futimens(claim->fd, NULL);
        clock_gettime(CLOCK_MONOTONIC, &until);
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

/* Prepares the condition for CLOCK_MONOTONIC: a calendar clock that is set back
 * must not delay the next touch. */
static void init_wake(struct jp_claim *claim)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&claim->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&claim->wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Starts the thread with all signals blocked, so that the main thread gets
 * them. Returns an errno, 0 on success. */
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

/* --- the claim --- */

/* Makes *out from the new file fd. Both descriptors are taken over even on
 * failure. Returns 1 on success and -1 otherwise, like claim_take. */
static int adopt(int folder, int fd, const char *dir, const char *kind,
                 uint32_t stale_ms, struct jp_claim **out, struct jp_error *err)
{
    /* The handler can remove one claim only. */
    struct jp_claim *claim = held ? NULL : calloc(1, sizeof(*claim));
    char host[65];

    if (!claim || fstat(fd, &claim->file) < 0) {
        unlinkat(folder, JP_CLAIM_NAME, 0);
        close(folder);
        close(fd);
        free(claim);
        return error_set(err, "%s/" JP_CLAIM_NAME ": %s", dir,
                         held ? "this process holds another claim"
                              : "cannot be kept");
    }
    claim->folder = folder;
    claim->fd = fd;
    held = claim;
    watch_signals();
    claim_host(host);
    dprintf(fd, "%s %ld %s %" PRIu64 "\n", host, (long) getpid(), kind,
            clock_real_us());
    claim->beat_ms = beat_of(stale_ms);
    init_wake(claim);
    if (start_beat(claim) != 0) {
        claim_release(claim);
        return error_set(
            err, "%s/" JP_CLAIM_NAME ": no thread for the heartbeat", dir);
    }
    *out = claim;
    return 1;
}

int claim_take(const char *dir, const char *kind, uint32_t stale_ms,
               struct jp_claim **out, struct jp_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int folder = ownplace_open(dir, OWNPLACE_OURS, err);
    int lock_fd = -1;
    int rc = 0;
    int fd;

    if (folder < 0)
        return -1;
    fd = openat(folder, JP_CLAIM_NAME, flags, 0600);
    if (fd < 0 && errno == EEXIST) {
        /* another process has it, unless its claim is stale */
        if (!oust(folder, stale_ms, &lock_fd))
            goto out;
        /* The stale claim is gone. Another process may still be faster. */
        fd = openat(folder, JP_CLAIM_NAME, flags, 0600);
    }
    if (fd >= 0) {
        rc = adopt(folder, fd, dir, kind, stale_ms, out, err);
        folder = -1;
    } else if (errno != EEXIST) {
        rc = error_set(err, "%s/" JP_CLAIM_NAME ": %s", dir, strerror(errno));
    }
out:
    if (lock_fd >= 0)
        close(lock_fd);
    if (folder >= 0)
        close(folder);
    return rc;
}

bool claim_held(const struct jp_claim *claim)
{
    return claim && is_ours(claim);
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
    if (is_ours(claim))
        unlinkat(claim->folder, JP_CLAIM_NAME, 0);
    held = NULL;
    unwatch_signals();
    close(claim->fd);
    close(claim->folder);
    pthread_cond_destroy(&claim->wake);
    pthread_mutex_destroy(&claim->lock);
    free(claim);
}
