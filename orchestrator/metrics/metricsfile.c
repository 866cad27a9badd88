/* metricsfile.c - write, replace and remove a step's .prom file, and judge and
 * remove what else lies in the spool.
 *
 * The folder is shared by all users, so every function opens it by
 * metricsfile_open, works relative to its descriptor, and touches only files of
 * its own user, or as root what does not belong there. */
#include "orchestrator/metrics/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/openhere.h"
#include "common/ownplace.h"

#define PREFIX "jobprof-"
#define SUFFIX ".prom"
#define TEMP "tmp" /* ends the names of files that are being written */
/* How many names are tried if others have them. */
#define TRIES 8
/* Digits of the random number in a name. */
#define NUMBER_DIGITS 16

char *metricsfile_word(const char *step, char buf[METRICSFILE_STEP_BYTES])
{
    size_t n = 0;

    for (const char *c = step ? step : ""; *c && n < METRICSFILE_STEP_BYTES - 1;
         c++)
        buf[n++] = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                           (*c >= 'A' && *c <= 'Z')
                       ? *c
                       : '_';
    buf[n] = '\0';
    return buf;
}

/* The name up to the user's id. Returns its length. */
static int begin_name(const struct metricsfile_step *step,
                      char buf[METRICSFILE_NAME_BYTES])
{
    char word[METRICSFILE_STEP_BYTES];

    return snprintf(buf, METRICSFILE_NAME_BYTES,
                    PREFIX "%" PRIu64 ".%s-n%" PRIu32 "-%lu", step->job,
                    metricsfile_word(step->step, word), step->nodeid,
                    (unsigned long) geteuid());
}

char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES])
{
    int n = begin_name(step, buf);

    if (step->number)
        n += snprintf(buf + n, METRICSFILE_NAME_BYTES - (size_t) n,
                      "-%0*" PRIx64, NUMBER_DIGITS, step->number);
    snprintf(buf + n, METRICSFILE_NAME_BYTES - (size_t) n, SUFFIX);
    return buf;
}

/* A number that nobody can guess, not 0. */
static uint64_t random_number(void)
{
    static uint64_t count;
    uint64_t number = 0;

    /* soon after the start of the host there is none yet */
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) !=
        (ssize_t) sizeof(number))
        number = ((uint64_t) getpid() << 32) + (uint64_t) time(NULL) + ++count;
    return number ? number : 1;
}

/* Checks the folder. If others may write to it, only the sticky bit protects a
 * file from being replaced. */
static int check_folder(int fd, const char *folder, struct jp_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_set(err, "%s: %s", folder, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return error_set(err, "%s: owned by uid %lu (chown root)", folder,
                         (unsigned long) st.st_uid);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
        return error_set(err, "%s: others may write to it (chmod +t)", folder);
    return 0;
}

/* Links are refused, because their target could be changed between checks. */
int metricsfile_open(const char *folder, struct jp_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, "%s: %s", folder,
                         errno == ELOOP || errno == ENOTDIR ? "no folder"
                                                            : strerror(errno));
    if (check_folder(fd, folder, err) == 0 &&
        ownplace_check_folders(folder, err) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Whether the name is a regular file of this user. */
static bool is_ours(int dir, const char *name, struct stat *st)
{
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st->st_uid == geteuid() && S_ISREG(st->st_mode);
}

/* Writes everything, then sets the mode. */
static int write_bytes(int fd, const char *bytes, size_t n, mode_t mode)
{
    while (n) {
        ssize_t got = write(fd, bytes, n);

        if (got < 0 && errno == EINTR)
            continue;
        /* write() may return 0 without an error if there is no space. */
        if (got <= 0) {
            errno = got ? errno : ENOSPC;
            return -1;
        }
        bytes += got;
        n -= (size_t) got;
    }
    return fchmod(fd, mode);
}

/* Makes the temporary file of the name; its own name is returned in twin. A
 * leading dot hides it from node_exporter, which reads *.prom. Nobody can have
 * made it before. -1: errno. */
static int open_twin(int dir, const char *name,
                     char twin[METRICSFILE_NAME_BYTES + 32])
{
    int fd = -1;

    for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(twin, METRICSFILE_NAME_BYTES + 32, ".%s.%" PRIu64 "." TEMP,
                 name, random_number());
        fd = openat(dir, twin,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    return fd;
}

/* Whether an entry of this name is none of our regular files. */
static bool is_taken(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           !is_ours(dir, name, &st);
}

/* Replaces the file by a temporary one, whose name shows plain, so that nobody
 * who looks on learns a name that is to come. *taken: another user has the
 * name. */
static int replace(int dir, const char *name, const char *plain,
                   const void *bytes, size_t n, const char *folder, bool *taken,
                   struct jp_error *err)
{
    char twin[METRICSFILE_NAME_BYTES + 32];
    int fd, rc;
    /* node_exporter and the collector run as other users */
    mode_t mode = *name == '.' ? 0600 : 0644;

    /* Another user's file of this name is left alone. */
    *taken = is_taken(dir, name);
    if (*taken)
        return error_set(err, "%s/%s: another user's, or not a file", folder,
                         name);
    fd = open_twin(dir, plain, twin);
    if (fd < 0)
        return error_set(err, "%s/%s: %s", folder, twin, strerror(errno));
    rc = write_bytes(fd, bytes, n, mode);
    if (close(fd) < 0)
        rc = -1;
    if (rc == 0)
        rc = renameat(dir, twin, dir, name);
    if (rc < 0) {
        error_set(err, "%s/%s: %s", folder, name, strerror(errno));
        *taken = is_taken(dir, name); /* meanwhile */
        unlinkat(dir, twin, 0);
    }
    return rc;
}

int metricsfile_replace(int dir, const char *name, const void *bytes, size_t n,
                        const char *folder, struct jp_error *err)
{
    bool taken;

    return replace(dir, name, name, bytes, n, folder, &taken, err);
}

/* Whether the name is the step's, or that of its temporary file: with and
 * without a number. */
static bool is_of_step(const char *name, const char *begins, size_t n)
{
    name += *name == '.';
    return strncmp(name, begins, n) == 0 && (name[n] == '-' || name[n] == '.');
}

/* Removes all files of the step that are ours. Errors are ignored: a file
 * becomes stale and is removed later. */
static void remove_all(int spool, const struct metricsfile_step *step)
{
    char begins[METRICSFILE_NAME_BYTES];
    size_t n = (size_t) begin_name(step, begins);
    int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *d;
    struct stat st;

    while (dir && (d = readdir(dir)))
        if (is_of_step(d->d_name, begins, n) && is_ours(spool, d->d_name, &st))
            unlinkat(spool, d->d_name, 0);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}

/* Replaces the file, or reports why not. */
int metricsfile_write(const char *folder, struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err)
{
    const struct metricsfile_step plain = {
        .job = step->job, .step = step->step, .nodeid = step->nodeid};
    char name[METRICSFILE_NAME_BYTES], first[METRICSFILE_NAME_BYTES];
    int dir = metricsfile_open(folder, err), rc = -1;
    bool taken = true;

    if (dir < 0)
        return -1;
    metricsfile_name(&plain, first);
    for (int i = 0; rc < 0 && taken && i < TRIES; i++) {
        rc = replace(dir, metricsfile_name(step, name), first, bytes, n, folder,
                     &taken, err);
        if (!taken)
            break;
        step->refused++;
        step->number = random_number();
        /* of an earlier agent of this step */
        remove_all(dir, step);
    }
    close(dir);
    return rc;
}

void metricsfile_remove(const char *folder, const struct metricsfile_step *step)
{
    int dir = metricsfile_open(folder, NULL);

    if (dir < 0)
        return;
    remove_all(dir, step);
    close(dir);
}

/* --- what lies in the spool ----------------------------------------------- */

const char *const metricsfile_words[METRICSFILE_STATES] = {
    [METRICSFILE_GOOD] = "good",
    [METRICSFILE_TEMP] = "being written",
    [METRICSFILE_GONE] = "removed",
    [METRICSFILE_ODD] = "not a regular file",
    [METRICSFILE_NAME] = "not a name of a step's file",
    [METRICSFILE_OWNER] = "the name has another user's id",
    [METRICSFILE_STALE] = "not written for long, or from the future",
};

/* Skips digits and parses them. Returns false if there are none, or too many.
 */
static bool take_number(const char **at, uint64_t *out)
{
    size_t n = strspn(*at, "0123456789");
    char digits[24];

    if (!n || n >= sizeof(digits))
        return false;
    memcpy(digits, *at, n);
    digits[n] = '\0';
    *at += n;
    return num_parse_u64(digits, 0, UINT64_MAX, out, NULL) == 0;
}

/* Whether `with` is next; skips it. */
static bool take_word(const char **at, const char *with)
{
    size_t n = strlen(with);

    if (strncmp(*at, with, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Skips "-" and a random number, if it is there. Returns false if it is none.
 */
static bool skip_number(const char **at)
{
    if (!take_word(at, "-"))
        return true;
    if (strspn(*at, "0123456789abcdef") != NUMBER_DIGITS)
        return false;
    *at += NUMBER_DIGITS;
    return true;
}

/* Parses the name of a .prom file, or of its temporary file. Returns false for
 * other names. step may be NULL. */
static bool parse_name(const char *name, bool *is_temp, uint64_t *uid,
                       char step[METRICSFILE_STEP_BYTES])
{
    const char *at = name, *word;
    uint64_t number;
    size_t n;

    *is_temp = take_word(&at, ".");
    if (!take_word(&at, PREFIX) || !take_number(&at, &number) ||
        !take_word(&at, "."))
        return false;
    word = at;
    n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_");
    at += n;
    if (n >= METRICSFILE_STEP_BYTES || !take_word(&at, "-n") ||
        !take_number(&at, &number) || !take_word(&at, "-") ||
        !take_number(&at, uid) || !skip_number(&at) || !take_word(&at, SUFFIX))
        return false;
    if (*is_temp && (!take_word(&at, ".") || !take_number(&at, &number) ||
                     !take_word(&at, "." TEMP)))
        return false;
    memcpy(step, word, n);
    step[n] = '\0';
    return !*at;
}

/* Sets what the entry is. */
static void judge_entry(struct metricsfile_entry *entry, time_t now)
{
    bool is_temp = false, is_named;
    uint64_t uid = 0;

    is_named = parse_name(entry->name, &is_temp, &uid, entry->step);
    if (openhere_stat(entry->dir, entry->name, &entry->st) < 0)
        /* something is mounted there, and nobody knows who did it: the folder's
         * owner has to look */
        entry->state = errno == EXDEV ? METRICSFILE_ODD : METRICSFILE_GONE;
    /* a second name may be anywhere */
    else if (!S_ISREG(entry->st.st_mode) || entry->st.st_nlink != 1)
        entry->state = METRICSFILE_ODD;
    else if (!is_named)
        entry->state = METRICSFILE_NAME;
    else if (uid != entry->st.st_uid)
        entry->state = METRICSFILE_OWNER;
    else if (now - entry->st.st_mtime > METRICSFILE_STALE_S ||
             entry->st.st_mtime - now > METRICSFILE_STALE_S)
        entry->state = METRICSFILE_STALE;
    else
        entry->state = is_temp ? METRICSFILE_TEMP : METRICSFILE_GOOD;
}

int metricsfile_each(const char *folder,
                     int (*see)(void *arg,
                                const struct metricsfile_entry *entry),
                     void *arg, struct jp_error *err)
{
    int fd = metricsfile_open(folder, err), rc = 0;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    time_t now = time(NULL);
    struct dirent *d;

    if (!dir) {
        if (fd >= 0) {
            error_set(err, "%s: %s", folder, strerror(errno));
            close(fd);
        }
        return -1;
    }
    while (rc == 0 && (d = readdir(dir))) {
        struct metricsfile_entry entry = {.dir = dirfd(dir), .name = d->d_name};

        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        judge_entry(&entry, now);
        rc = see(arg, &entry);
    }
    closedir(dir);
    return rc;
}

struct cleaning {
    bool shared, dry;
    struct metricsfile_cleaned *out;
};

/* Whether the entry is one that metricsfile_clean removes. */
static bool is_removed(const struct cleaning *c,
                       const struct metricsfile_entry *entry)
{
    bool is_temp;
    uint64_t uid;
    char step[METRICSFILE_STEP_BYTES];

    if (entry->state == METRICSFILE_GOOD || entry->state == METRICSFILE_TEMP ||
        entry->state == METRICSFILE_GONE)
        return false;
    if (geteuid() != 0 && entry->st.st_uid != geteuid())
        return false;
    /* another program's file in its own folder */
    return !c->shared || (parse_name(entry->name, &is_temp, &uid, step) &&
                          (entry->state == METRICSFILE_STALE ||
                           entry->state == METRICSFILE_ODD));
}

/* A callback of metricsfile_each. The sticky folder belongs to root, so root
 * may remove what others have put there. If the entry is replaced meanwhile,
 * another entry of this folder goes, and its agent writes it again. */
static int clean_entry(void *arg, const struct metricsfile_entry *entry)
{
    struct cleaning *c = arg;
    int flags = S_ISDIR(entry->st.st_mode) ? AT_REMOVEDIR : 0;

    if (!is_removed(c, entry))
        return 0;
    if (!c->dry && unlinkat(entry->dir, entry->name, flags) < 0)
        c->out->kept += errno != ENOENT;
    else if (entry->state == METRICSFILE_STALE)
        c->out->stale++;
    else
        c->out->odd++;
    return 0;
}

int metricsfile_clean(const char *folder, bool shared, bool dry,
                      struct metricsfile_cleaned *out, struct jp_error *err)
{
    struct metricsfile_cleaned found = {0};
    struct cleaning c = {shared, dry, &found};
    int rc = metricsfile_each(folder, clean_entry, &c, err);

    if (rc == 0 && out)
        *out = found;
    return rc;
}
