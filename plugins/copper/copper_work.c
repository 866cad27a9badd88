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
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "plugins/copper/copper_book.h"

#define LOG_MAX (1024 * 1024) /* bytes of each log that are kept */

int copper_work_init(struct copper_work *w, const struct jp_jobconf *conf,
                     const char *node, struct jp_error *err)
{
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
    *w = (struct copper_work){NULL, NULL, NULL};
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

static int make_inside(const struct copper_work *w, const char *view,
                       const char *raw, struct jp_error *err)
{
    char *logs = fileio_path("%s/logs", w->node);
    char *book = fileio_path("%s/book", w->node);
    char *raw_logs = fileio_path("%s/logs", raw);
    int rc = -1;

    if (!logs || !book || !raw_logs)
        error_set(err, "out of memory");
    else if (fileio_mkdir(logs, err) == 0 && point(w->fs, view, err) == 0 &&
             point(raw_logs, logs, err) == 0) {
        unlink(book);
        rc = mkfifo(book, 0600) == 0
                 ? 0
                 : error_set(err, "%s: %s", book, strerror(errno));
    }
    free(logs);
    free(book);
    free(raw_logs);
    return rc;
}

int copper_work_make(const struct copper_work *w, const char *view,
                     const char *raw, struct jp_error *err)
{
    if (fileio_mkdir(w->base, err) < 0 || check_own(w->base, err) < 0 ||
        fileio_mkdir(w->node, err) < 0)
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

bool copper_work_is_left(const struct copper_work *w)
{
    char *path = fileio_path("%s/pid", w->node), *text = NULL;
    uint64_t pid = 0;
    bool left = path && fileio_read(path, false, 24, &text, NULL, NULL) == 0 &&
                num_parse_u64(text, 1, INT32_MAX, &pid, NULL) == 0 &&
                is_gone(pid);

    free(text);
    free(path);
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
    char *to = fileio_path("%s/logs", raw);
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
