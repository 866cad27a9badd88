/* copper_work.c - make, read and remove a daemon's place on its node. */
#include "plugins/copper/copper_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/num.h"
#include "plugins/copper/copper_book.h"

#define LOG_MAX (1024 * 1024) /* bytes of each log that are kept */
#define SWEEP_MS 3000
#define FRESH_S 60 /* a folder without nodes may be one that is being made */
#define LOCK_MS 300
#define LOCK_POLL_MS 5

int copper_work_init(struct copper_work *w, const struct jp_jobconf *conf,
                     const char *node, struct jp_error *err)
{
    w->lock = -1;
    w->base = fileio_path(COPPER_WORK_PREFIX "%lu-%" PRIu64 ".%s",
                          (unsigned long) getuid(), conf->job_id,
                          conf->step_id);
    w->node = w->base ? fileio_path("%s/%s", w->base, node) : NULL;
    w->fs = w->node ? fileio_path("%s/fs", w->node) : NULL;
    if (w->fs)
        return 0;
    copper_work_fini(w);
    return error_set(err, "out of memory");
}

void copper_work_fini(struct copper_work *w)
{
    free(w->base);
    free(w->node);
    free(w->fs);
    if (w->lock >= 0)
        close(w->lock);
    *w = (struct copper_work){.lock = -1};
}

static int check_own(const char *path, struct jp_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid() || (st.st_mode & 077))
        return error_set(err, "%s: not a folder of yours alone", path);
    return 0;
}

/* link -> target, in place of what was there. */
static int point(const char *link, const char *target, struct jp_error *err)
{
    char *temp = fileio_path("%s.new", link);
    int rc = 0;

    if (!temp)
        return error_set(err, "out of memory");
    unlink(temp);
    if (symlink(target, temp) < 0 || rename(temp, link) < 0)
        rc = error_set(err, "%s: %s", link, strerror(errno));
    free(temp);
    return rc;
}

/* Whether we hold it now. A step that starts at the same moment looks whether
 * anybody does, and has it for an instant. */
static bool lock_it(int fd)
{
    for (int waited_ms = 0;; waited_ms += LOCK_POLL_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (waited_ms >= LOCK_MS)
            return false;
        usleep(LOCK_POLL_MS * 1000);
    }
}

/* Not close-on-exec: the daemon holds it, too, also when its supervisor has
 * been killed. */
static int take_lock(struct copper_work *w, struct jp_error *err)
{
    char *path = fileio_path("%s/lock", w->node);
    struct stat st;
    int rc = 0;

    w->lock = path ? open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) : -1;
    if (w->lock < 0)
        rc = path ? error_set(err, "%s: %s", path, strerror(errno))
                  : error_set(err, "out of memory");
    else if (!lock_it(w->lock))
        rc = error_set(err, "%s: another one of this step is there", w->node);
    else if (fstat(w->lock, &st) < 0 || st.st_nlink == 0)
        rc = error_set(err, "%s: cleared away while it began", w->node);
    if (rc < 0 && w->lock >= 0) {
        close(w->lock);
        w->lock = -1;
    }
    free(path);
    return rc;
}

static int make_inside(const struct copper_work *w, const char *view,
                       const char *raw, struct jp_error *err)
{
    char *logs = fileio_path("%s/logs", w->node);
    char *book = fileio_path("%s/book", w->node);
    char *raw_logs = fileio_path("%s/logs", raw);
    char *to_raw = fileio_path("%s/raw", w->node);
    int rc = -1;

    if (!logs || !book || !raw_logs || !to_raw)
        error_set(err, "out of memory");
    else if (fileio_mkdir(logs, err) == 0 && point(w->fs, view, err) == 0 &&
             point(to_raw, raw, err) == 0 && point(raw_logs, logs, err) == 0) {
        unlink(book);
        rc = mkfifo(book, 0600) == 0
                 ? 0
                 : error_set(err, "%s: %s", book, strerror(errno));
    }
    free(logs);
    free(book);
    free(raw_logs);
    free(to_raw);
    return rc;
}

int copper_work_make(struct copper_work *w, const char *view, const char *raw,
                     struct jp_error *err)
{
    if (fileio_mkdir(w->base, err) < 0 || check_own(w->base, err) < 0 ||
        fileio_mkdir(w->node, err) < 0 || take_lock(w, err) < 0)
        return -1;
    return make_inside(w, view, raw, err);
}

int copper_work_note_pid(const struct copper_work *w, pid_t pid,
                         struct jp_error *err)
{
    char *path = fileio_path("%s/pid", w->node), text[24];
    int n = snprintf(text, sizeof(text), "%ld", (long) pid);
    int rc = path ? fileio_write(path, text, (size_t) n, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* A process that has ended has no command line any more, also while nobody has
 * waited for it. */
static bool is_gone(uint64_t pid)
{
    char *path = fileio_path("/proc/%" PRIu64 "/cmdline", pid), *text = NULL;
    size_t len = 0;
    bool gone = path && (fileio_read(path, false, 65536, &text, &len, NULL) < 0
                             ? kill((pid_t) pid, 0) < 0 && errno == ESRCH
                             : len == 0);

    free(text);
    free(path);
    return gone;
}

/* Holds the lock as *fd, -1 where there is none. False: somebody else does. */
static bool hold(const struct copper_work *w, int *fd)
{
    char *path = fileio_path("%s/lock", w->node);
    bool held;

    *fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    held = path && (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) == 0);
    free(path);
    return held;
}

/* Whether nobody is there any more; *fd keeps whoever would come from starting,
 * until it is closed. */
static bool is_left(const struct copper_work *w, int *fd)
{
    char *path = fileio_path("%s/pid", w->node), *text = NULL;
    bool left = path && hold(w, fd);
    uint64_t pid = 0;

    if (left && fileio_read(path, false, 24, &text, NULL, NULL) == 0)
        left = num_parse_u64(text, 1, INT32_MAX, &pid, NULL) == 0 &&
               is_gone(pid);
    else
        left = left && *fd >= 0; /* killed before its daemon started */
    free(text);
    free(path);
    return left;
}

bool copper_work_is_left(const struct copper_work *w)
{
    int fd = -1;
    bool left = is_left(w, &fd);

    if (fd >= 0)
        close(fd);
    return left;
}

void copper_work_bypass(const struct copper_work *w)
{
    struct stat st;

    if (lstat(w->fs, &st) == 0)
        point(w->fs, "/", NULL);
}

/* "2026-11-21 09-16-20.662 [Fatal] (function) text" */
void copper_work_fatal(const struct copper_work *w, const char *name, char *out,
                       size_t len)
{
    char *path = fileio_path("%s/logs/%s-output.log", w->node, name);
    char *text = NULL, *rest, *line;

    *out = '\0';
    if (path && fileio_read(path, false, LOG_MAX, &text, NULL, NULL) == 0) {
        rest = text;
        while ((line = strsep(&rest, "\n"))) {
            const char *fatal = strstr(line, "[Fatal] (");
            const char *said = fatal ? strstr(fatal, ") ") : NULL;

            if (said)
                snprintf(out, len, "%s", said + 2);
        }
    }
    free(text);
    free(path);
}

void copper_work_address(const struct copper_work *w, char *out, size_t len)
{
    char *path = fileio_path("%s/logs/" COPPER_BOOK_NAME, w->node);
    char *text = NULL, *end, *at;

    *out = '\0';
    if (path && fileio_read(path, false, LOG_MAX, &text, NULL, NULL) == 0) {
        end = strchr(text, '\n');
        at = strchr(text, ' ');
        if (end && at && at < end) {
            *end = '\0';
            snprintf(out, len, "%s", at + 1);
        }
    }
    free(text);
    free(path);
}

/* --- the end -------------------------------------------------------------- */

static void keep_log(const char *from_dir, const char *to_dir, const char *name)
{
    char *from = fileio_path("%s/%s", from_dir, name);
    char *to = fileio_path("%s/%s", to_dir, name), *text = NULL;
    int fd = from ? fileio_open_regular(from, false, NULL) : -1;
    ssize_t n = -1;

    if (fd >= 0 && to && (text = malloc(LOG_MAX)))
        n = read(fd, text, LOG_MAX);
    if (n > 0)
        fileio_write(to, text, (size_t) n, NULL);
    if (fd >= 0)
        close(fd);
    free(text);
    free(from);
    free(to);
}

static void keep_logs(const struct copper_work *w, const char *raw)
{
    char *from = fileio_path("%s/logs", w->node);
    char *to = raw ? fileio_path("%s/logs", raw) : NULL;
    DIR *dir = from && to ? opendir(from) : NULL;
    struct dirent *entry;

    if (dir) {
        unlink(to);
        fileio_mkdir(to, NULL);
        while ((entry = readdir(dir)))
            if (strstr(entry->d_name, "-output.log"))
                keep_log(from, to, entry->d_name);
        closedir(dir);
    }
    free(from);
    free(to);
}

/* Does a node's folder stand beside the mount point? */
static bool is_used(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    bool used = false;

    while (dir && !used && (entry = readdir(dir)))
        used = *entry->d_name != '.' && strcmp(entry->d_name, "mnt") != 0;
    if (dir)
        closedir(dir);
    return used;
}

void copper_work_clean(const struct copper_work *w, const char *raw)
{
    char *view = fileio_path("%s/mnt", w->base);

    keep_logs(w, raw);
    fileio_remove_tree(w->node, NULL);
    if (view && !is_used(w->base)) {
        rmdir(view);
        rmdir(w->base);
    }
    free(view);
}

/* --- what earlier steps have left ------------------------------------------
 */

static bool is_fresh(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || time(NULL) - st.st_mtime < FRESH_S;
}

static void sweep_step(char *base, const char *node)
{
    struct copper_work w = {.base = base, .lock = -1};
    char *link, *view, raw[PATH_MAX];
    struct stat st;
    ssize_t n = -1;
    int fd = -1;

    w.node = fileio_path("%s/%s", base, node);
    link = fileio_path("%s/%s/raw", base, node);
    view = fileio_path("%s/mnt", base);
    if (!w.node || !link || !view || check_own(base, NULL) < 0)
        ;
    else if (lstat(w.node, &st) == 0) {
        if (is_left(&w, &fd)) {
            n = readlink(link, raw, sizeof(raw) - 1);
            raw[n > 0 ? n : 0] = '\0';
            copper_work_clean(&w, n > 0 ? raw : NULL);
        }
    } else if (!is_used(base) && !is_fresh(base)) {
        rmdir(view);
        rmdir(base);
    }
    if (fd >= 0)
        close(fd);
    free(w.node);
    free(link);
    free(view);
}

static int sweep(void *node, int out)
{
    static const char prefix[] = COPPER_WORK_PREFIX;
    const char *name = strrchr(prefix, '/') + 1;
    char *mine = fileio_path("%s%lu-", name, (unsigned long) geteuid());
    DIR *dir = mine ? opendir("/tmp") : NULL;
    struct dirent *entry;

    (void) out;
    while (dir && (entry = readdir(dir)))
        if (!strncmp(entry->d_name, mine, strlen(mine))) {
            char *base = fileio_path("/tmp/%s", entry->d_name);

            if (base)
                sweep_step(base, node);
            free(base);
        }
    if (dir)
        closedir(dir);
    free(mine);
    return 0;
}

/* In a child: the logs go to a shared file system, which may not answer. */
void copper_work_sweep(const char *node)
{
    const struct child child = {
        .work = sweep, .arg = (char *) node, .limit_ms = SWEEP_MS};

    child_run(&child, NULL);
}
