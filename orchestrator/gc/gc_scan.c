/* gc_scan.c - find the jobs below a root. */
#include "orchestrator/gc/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"

#define DEPTH_MAX 8
#define ENTRIES_MAX 5000000
#define JOBS_MAX 1000000

struct scan {
    struct gc_result *out;
    bool all;
    uid_t uid;
    dev_t dev;
    uint64_t entries;
    bool no_memory;
};

static void scan_folder(struct scan *s, int fd, const char *path, int depth);

/* A step directory, whatever its state. */
static bool is_step(int at, const char *name)
{
    struct stat st;
    int fd;
    bool found;

    if (strncmp(name, "step-", 5) != 0)
        return false;
    fd = gc_open(at, name);
    found = fd >= 0 &&
            fstatat(fd, JP_JOBCONF_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return found;
}

static void add_job(struct scan *s, int fd, const char *path)
{
    struct gc_result *out = s->out;
    struct gc_job *more;
    struct stat st;

    if (fstat(fd, &st) < 0 || (!s->all && st.st_uid != s->uid))
        return;
    if (out->n >= JOBS_MAX) {
        out->cut = true;
        return;
    }
    more = reallocarray(out->jobs, out->n + 1, sizeof(*more));
    if (!more) {
        s->no_memory = true;
        return;
    }
    out->jobs = more;
    out->jobs[out->n] = (struct gc_job){.path = strdup(path),
                                        .uid = st.st_uid,
                                        .dev = st.st_dev,
                                        .ino = st.st_ino};
    if (out->jobs[out->n].path)
        out->n++;
    else
        s->no_memory = true;
}

/* Folders that are no step are looked into; of other file systems none. */
static void scan_below(struct scan *s, int at, const char *path,
                       const char *name, int depth)
{
    int fd = gc_open(at, name);
    char *below = NULL;
    struct stat st;

    if (fd < 0)
        return; /* no folder, or not for us */
    if (fstat(fd, &st) < 0 || st.st_dev != s->dev) {
        close(fd);
        return;
    }
    below = strcmp(path, ".") ? fileio_path("%s/%s", path, name) : strdup(name);
    if (depth >= DEPTH_MAX) {
        s->out->cut = true;
        close(fd);
    } else if (!below) {
        s->no_memory = true;
        close(fd);
    } else {
        scan_folder(s, fd, below, depth + 1);
    }
    free(below);
}

static void scan_folder(struct scan *s, int fd, const char *path, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    bool job = false;

    if (!dir) {
        close(fd);
        return;
    }
    while (!s->no_memory && (entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (!strcmp(name, ".") || !strcmp(name, "..") ||
            (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        if (++s->entries > ENTRIES_MAX) {
            s->out->cut = true;
            break;
        }
        if (is_step(dirfd(dir), name))
            job = true;
        else
            scan_below(s, dirfd(dir), path, name, depth);
    }
    if (job)
        add_job(s, dirfd(dir), path);
    closedir(dir);
}

int gc_scan(int root, bool all, uid_t uid, struct gc_result *out,
            struct jp_error *err)
{
    struct scan s = {.out = out, .all = all, .uid = uid};
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return error_set(err, "%s", strerror(errno));
    }
    s.dev = st.st_dev;
    scan_folder(&s, fd, ".", 0);
    return s.no_memory ? error_set(err, "out of memory") : 0;
}
