/* history_sink.c - write a step's line to a folder shared by all users, to a
 * program or to syslog.
 *
 *     DIR/           root's, mode 1777
 *     DIR/UID/       the user's, 0700
 *         HOST.jsonl           lines of reports that this host has written
 *         HOST.TIME-PID.jsonl  older ones
 *
 * Each host appends to its own file, because network file systems may mix lines
 * that two hosts append. On one host, a lock separates the writers.
 */
#include "orchestrator/history/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/sitelog.h"
#include "common/vector.h"

/* Names and limits of files. */
#define SUFFIX ".jsonl"
/* a file may hold this fraction of a user's limit */
#define PARTS 16
/* minimum size of a file, and interval of checks of the sum */
#define PART_LEAST (64 << 10)
#define PART_MOST (16 << 20)
#define LOCK_TRIES 500 /* each of 10 ms */

int history_sink_check(const char *dir, struct jp_error *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return error_set(err, "%s: %m", dir);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, "%s: not a folder", dir);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return error_set(err, "%s: belongs to user %lu, not to root", dir,
                         (unsigned long) st.st_uid);
    if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
        return error_set(
            err, "%s: writable by all, but not sticky (chmod 1777)", dir);
    return 0;
}

/* --- a folder ------------------------------------------------------------- */

/* This host's file in the user's folder. */
struct place {
    int dir; /* descriptor of the user's folder */
    const char *path;
    char name[300]; /* name of this host's file */
    char host[256];
    uint64_t max_bytes;
};

/* Returns the size at which a file is rotated. */
static uint64_t part_bytes(const struct place *p)
{
    uint64_t bytes = p->max_bytes / PARTS;

    return bytes < PART_LEAST  ? PART_LEAST
           : bytes > PART_MOST ? PART_MOST
                               : bytes;
}

/* Opens the user's folder, and creates it if needed. */
static int open_folder(const char *path, struct jp_error *err)
{
    struct stat st;
    int fd;

    if (fileio_mkdir(path, err) < 0)
        return -1;
    /* O_NOFOLLOW: another user may have put a link there */
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, "%s: %m", path);
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
        close(fd);
        return error_set(err, "%s: belongs to user %lu", path,
                         (unsigned long) st.st_uid);
    }
    return fd;
}

/* Sets the name of this host's file. A host name with odd characters is
 * replaced by a harmless one. */
static void name_file(struct place *p)
{
    if (gethostname(p->host, sizeof(p->host) - 1) < 0)
        p->host[0] = '\0';
    p->host[sizeof(p->host) - 1] = '\0';
    for (char *c = p->host; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                    "0123456789._-",
                    *c) ||
            (c == p->host && *c == '.'))
            *c = '_';
    snprintf(p->name, sizeof(p->name), "%s" SUFFIX, *p->host ? p->host : "_");
}

/* Locks the file. Waits up to five seconds, because a writer holds the lock
 * only for a moment. Returns -1 if it is still locked. */
static int lock(int fd)
{
    const struct timespec pause = {0, 10 * 1000000};

    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return 0; /* the file system has no locks: rely on O_APPEND */
        if (i == LOCK_TRIES)
            return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Opens and locks this host's file; -1 on failure. */
static int open_locked(const struct place *p, struct stat *st,
                       struct jp_error *err)
{
    struct stat now;

    for (int i = 0; i < LOCK_TRIES; i++) {
        int fd = openat(p->dir, p->name,
                        O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
                            O_NONBLOCK,
                        0600);

        if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) ||
            st->st_uid != geteuid()) {
            error_set(err, "%s/%s: %s", p->path, p->name,
                      fd < 0 ? strerror(errno) : "not a file of the user");
        } else if (lock(fd) < 0) {
            error_set(err, "%s/%s: locked for too long", p->path, p->name);
            /* the name still leads to the locked file */
        } else if (fstat(fd, st) == 0 &&
                   fstatat(p->dir, p->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                   now.st_ino == st->st_ino && now.st_dev == st->st_dev) {
            return fd;
        } else {
            close(fd); /* renamed or removed in the meantime */
            continue;
        }
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return error_set(err, "%s/%s: changes too often", p->path, p->name);
}

/* Renames the file to its final name. The next writer creates a new one. */
static int rotate(const struct place *p, struct jp_error *err)
{
    char name[sizeof(p->host) + 64];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    /* time and process make the name unique on this host */
    snprintf(name, sizeof(name), "%s.%lld%09ld-%ld" SUFFIX,
             *p->host ? p->host : "_", (long long) now.tv_sec, now.tv_nsec,
             (long) getpid());
    return renameat(p->dir, p->name, p->dir, name) < 0
               ? error_set(err, "%s/%s: %m", p->path, p->name)
               : 0;
}

/* A file of the user's folder. */
struct entry {
    char name[256];
    uint64_t bytes;
    int64_t written_ns;
};

/* Orders by time of the last write. */
static int oldest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->written_ns > y->written_ns) - (x->written_ns < y->written_ns);
}

/* Whether the name is that of a file of lines. */
static bool is_ours(const char *name)
{
    size_t n = strlen(name), end = sizeof(SUFFIX) - 1;

    return *name != '.' && n > end && strcmp(name + n - end, SUFFIX) == 0;
}

/* Removes the oldest files while the sum exceeds the limit, but never this
 * host's. Failures are retried at a later time. */
static void trim(const struct place *p)
{
    int copy = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct entry *entries = NULL;
    uint64_t sum = 0;
    size_t n = 0;

    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct stat st;

        if (!is_ours(d->d_name) ||
            fstatat(p->dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (VECTOR_DOUBLE(entries, n) < 0)
            break;
        snprintf(entries[n].name, sizeof(entries[n].name), "%s", d->d_name);
        entries[n].bytes = (uint64_t) st.st_size;
        entries[n].written_ns = st.st_mtim.tv_sec * INT64_C(1000000000) +
                                st.st_mtim.tv_nsec;
        sum += entries[n++].bytes;
    }
    if (n)
        qsort(entries, n, sizeof(*entries), oldest_first);
    for (size_t i = 0; i < n && sum > p->max_bytes; i++)
        if (strcmp(entries[i].name, p->name) != 0 &&
            unlinkat(p->dir, entries[i].name, 0) == 0)
            sum -= entries[i].bytes;
    free(entries);
    if (dir)
        closedir(dir);
}

/* Appends the whole line or nothing. */
static int append_line(int fd, off_t size, const char *line, size_t len)
{
    char last = '\n';
    int kept;

    /* a writer was killed in the middle of a line */
    if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
        write(fd, "\n", 1) != 1)
        return -1;
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, line + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        /* often a quota or a full file system */
        if (n <= 0) {
            kept = n ? errno : ENOSPC;
            /* remove what was written */
            if (ftruncate(fd, size) < 0) {
                /* the reader skips the incomplete line */
            }
            errno = kept;
            return -1;
        }
        done += (size_t) n;
    }
    return 0;
}

/* Writes the line to this host's file; rotates a full one, and removes old
 * files now and then. Returns 0, or -1 and err. */
static int write_locked(const struct place *p, const char *line, size_t len,
                        struct jp_error *err)
{
    struct stat st;
    uint64_t size;
    int fd = open_locked(p, &st, err), rc;

    if (fd >= 0 && st.st_size > 0 &&
        (uint64_t) st.st_size + len > part_bytes(p)) {
        rc = rotate(p, err);
        close(fd);
        fd = rc < 0 ? -1 : open_locked(p, &st, err);
    }
    if (fd < 0)
        return -1;
    size = (uint64_t) st.st_size;
    rc = append_line(fd, st.st_size, line, len);
    if (rc < 0)
        error_set(err, "%s/%s: %m", p->path, p->name);
    /* after each PART_LEAST bytes, because it lists the folder */
    else if (!size || size / PART_LEAST != (size + len) / PART_LEAST)
        trim(p);
    close(fd);
    return rc;
}

/* Sends the line to the folder. Returns 0, or -1 and err. */
static int to_folder(const struct history_sink *sink, const char *line,
                     size_t len, struct jp_error *err)
{
    char *path = text_format("%s/%lu", sink->dir, (unsigned long) geteuid());
    struct place p = {.dir = -1,
                      .path = path,
                      .max_bytes = sink->max_bytes ? sink->max_bytes
                                                   : HISTORY_MAX_BYTES};
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
    } else if (history_sink_check(sink->dir, err) == 0 &&
               (p.dir = open_folder(path, err)) >= 0) {
        name_file(&p);
        rc = write_locked(&p, line, len, err);
        close(p.dir);
    }
    free(path);
    return rc;
}

/* --- a program ------------------------------------------------------------ */

struct program {
    const char *path;
    int input;
};

/* Becomes the program, in a child with a process group of its own. */
static int run_program(void *arg, int out)
{
    const struct program *p = arg;
    char *argv[] = {(char *) (uintptr_t) p->path, NULL};
    int null = open("/dev/null", O_RDWR);

    (void) out;
    setpgid(0, 0);
    /* its output goes nowhere: there is no terminal */
    if (null < 0 || dup2(p->input, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(null, 2) < 0)
        return 126;
    execv(p->path, argv);
    return 127;
}

/* Sends the line to the program's standard input. Returns 0, or -1 and err. */
static int to_program(const struct history_sink *sink, const char *line,
                      size_t len, struct jp_error *err)
{
    struct program program = {.path = sink->command};
    struct child child = {.work = run_program,
                          .arg = &program,
                          .leads_group = true,
                          .limit_ms = sink->limit_ms ? sink->limit_ms
                                                     : HISTORY_LIMIT_MS};
    struct child_result result = {0};
    enum child_end end;
    int fd = fileio_open_regular(sink->command, true, err), rc = -1;

    /* a file instead of a pipe, so that a program that does not read cannot
     * block us */
    program.input = memfd_create("jobprof-history", MFD_CLOEXEC);
    /* the program runs with the rights of each user */
    if (fd < 0 || ownplace_check_site(fd, sink->command, err) < 0)
        goto out;
    if (program.input < 0 || write(program.input, line, len) != (ssize_t) len ||
        lseek(program.input, 0, SEEK_SET) != 0) {
        error_set(err, "%s: %m", sink->command);
        goto out;
    }
    end = child_run(&child, &result);
    if (child_succeeded(end, &result))
        rc = 0;
    else if (end == CHILD_LATE)
        error_set(err, "%s: was ended after %" PRIu32 " ms", sink->command,
                  child.limit_ms);
    else
        error_set(err, "%s: failed (status %#x)", sink->command,
                  (unsigned) result.status);
out:
    if (program.input >= 0)
        close(program.input);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* --- syslog --------------------------------------------------------------- */

/* Sends the line without its end. */
static int to_syslog(const char *path, const char *line, size_t len,
                     struct jp_error *err)
{
    return sitelog_send(path, SITELOG_INFO, line, len - 1) < 0
               ? error_set(err, "%s: %m", path)
               : 0;
}

int history_sink_write(const struct history_sink *sink, const char *line,
                       size_t len, struct jp_error *err)
{
    struct jp_error one;
    int rc = 0;

    /* an error of one sink does not stop the others; the first one is reported
     */
    if (sink->dir && to_folder(sink, line, len, &one) < 0)
        rc = error_set(err, "%s", one.text);
    if (sink->command && to_program(sink, line, len, &one) < 0)
        rc = rc < 0 ? rc : error_set(err, "%s", one.text);
    if (sink->syslog && to_syslog(sink->syslog, line, len, &one) < 0)
        rc = rc < 0 ? rc : error_set(err, "%s", one.text);
    return rc;
}
