/* The files of one process: its log of records, its file of counts. */
#include "plugins/nccl_recorder/rec_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TRIES = 1000 };

static struct jp_rec_process process;
static int dir_fd = -1;
static int log_fd = -1;
static off_t log_end;  /* bytes of whole lines in the log */
static char base[320]; /* file name without suffix, once the log exists */

const char *rec_sink_init(const char *dir)
{
    int fd;

    if (!dir || !dir[0])
        return "JOBPROF_RECORDER_DIR is not set";
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return "the directory of JOBPROF_RECORDER_DIR cannot be opened";
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        close(fd);
        return "the directory of JOBPROF_RECORDER_DIR is not writable";
    }
    memset(&process, 0, sizeof(process));
    if (gethostname(process.hostname, sizeof(process.hostname) - 1) < 0 ||
        strchr(process.hostname, '/'))
        memcpy(process.hostname, "unknown", sizeof("unknown"));
    process.pid = getpid();
    dir_fd = fd;
    return NULL;
}

bool rec_sink_ready(void)
{
    return dir_fd >= 0;
}

const struct jp_rec_process *rec_sink_process(void)
{
    return &process;
}

/* Creates the log under a name nobody has; 0 or -1. */
static int create_log(void)
{
    char name[sizeof(base) + 8];
    int i;

    for (i = 0; i < MAX_TRIES && log_fd < 0; i++) {
        int n = snprintf(base, sizeof(base), "%s-pid%d", process.hostname,
                         (int) process.pid);

        if (i > 0)
            snprintf(base + n, sizeof(base) - (size_t) n, "-%d", i);
        snprintf(name, sizeof(name), "%s.log", base);
        log_fd = openat(dir_fd, name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0600);
        if (log_fd < 0 && errno != EEXIST)
            break;
    }
    return log_fd < 0 ? -1 : 0;
}

/* Length of the whole lines in text[0..n). */
static size_t whole_lines(const char *text, size_t n)
{
    const char *newline = n ? memrchr(text, '\n', n) : NULL;

    return newline ? (size_t) (newline - text) + 1 : 0;
}

size_t rec_sink_append(const char *text, size_t n)
{
    size_t done = 0;

    if (dir_fd < 0 || (log_fd < 0 && create_log() < 0))
        return 0;
    while (done < n) {
        ssize_t k =
            pwrite(log_fd, text + done, n - done, log_end + (off_t) done);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            break;
        done += (size_t) k;
    }
    if (done < n) {
        done = whole_lines(text, done);
        /* should this fail too, the next write goes over the cut line */
        (void) !ftruncate(log_fd, log_end + (off_t) done);
    }
    log_end += (off_t) done;
    return done;
}

static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, text, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        text += k;
        n -= (size_t) k;
    }
    return 0;
}

int rec_sink_counts(const char *text, size_t n)
{
    char name[sizeof(base) + 16];
    char temp[sizeof(base) + 24];
    int fd = -1;
    int rc = -1;

    if (dir_fd < 0 || (log_fd < 0 && create_log() < 0))
        return -1;
    snprintf(name, sizeof(name), "%s.counts.json", base);
    snprintf(temp, sizeof(temp), ".%s.tmp", name);
    fd = openat(dir_fd, temp,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) /* ours, left by an earlier failure: base is ours alone */
        goto out;
    if (write_all(fd, text, n) < 0)
        goto out;
    if (renameat(dir_fd, temp, dir_fd, name) < 0)
        goto out;
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        unlinkat(dir_fd, temp, 0);
    return rc;
}

void rec_sink_close(void)
{
    if (log_fd >= 0)
        close(log_fd);
    if (dir_fd >= 0)
        close(dir_fd);
    log_fd = -1;
    dir_fd = -1;
    log_end = 0;
}
