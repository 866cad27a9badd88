/* gc_job.c - look at one job and clear it, following no link and no mount.
 *
 * gc_look examines all steps of a job (look_at_step); gc_clear takes each
 * step's claim, examines it again, and removes raw data or the whole step.
 * Everything works by descriptors of open folders, so that a folder that is
 * renamed or replaced meanwhile is never mistaken for the one that was
 * examined.
 */
#include "orchestrator/gc/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/figure.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/jsonload.h"
#include "common/openhere.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/summary_file.h"

/* --- measure and remove our own trees, without following links --- */

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
/* Folders below each other; each one that is open takes a descriptor. */
#define DEPTH_MAX 64
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Opens a folder in `at` that is neither a link nor mounted there. -1: errno.
 * openhere returns a descriptor with O_PATH, which cannot be read. */
static int open_folder(int at, const char *name)
{
    int path = openhere(at, name);
    int fd = path < 0 ? -1
                      : openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int kept = errno;

    if (path >= 0)
        close(path);
    errno = kept;
    return fd;
}

int gc_open(int at, const char *path)
{
    char *copy = strdup(path), *rest = copy, *name;
    /* Walk one component at a time: each is opened in the one before it. */
    int fd = copy ? fcntl(at, F_DUPFD_CLOEXEC, 3) : -1;

    while (fd >= 0 && (name = strsep(&rest, "/"))) {
        int next = *name ? open_folder(fd, name) : -1;
        int kept = errno;

        close(fd);
        errno = kept;
        fd = next;
    }
    free(copy);
    return fd;
}

/* A walk that measures or removes a tree. */
struct walk {
    /* Remove what is found, instead of only measuring it. */
    bool remove;
    /* Only entries of this file system and user are counted or removed. */
    dev_t dev;
    uid_t uid;
    uint64_t bytes;   /* found, or freed */
    int64_t newest_s; /* when the last of the files was written */
    /* Something has been left: foreign, mounted, too deep, or not removable. */
    bool left;
};

static void walk_entry(struct walk *w, int at, const char *name, int depth);

/* Visits all entries of a folder. fd is taken over. */
static void walk_folder(struct walk *w, int fd, int depth)
{
    DIR *dir = depth > DEPTH_MAX ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        close(fd);
        w->left = true;
        return;
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            walk_entry(w, dirfd(dir), entry->d_name, depth);
    closedir(dir);
}

/* Whether fd is a mount point. A part of the same file system can also be
 * mounted (a bind mount), which st_dev does not show. */
static bool is_mounted(int fd)
{
    struct statx at = {0};

    return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &at) == 0 &&
           at.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Enters a folder. Owner and file system are those of its descriptor, because
 * the name may have been replaced since it was examined. */
static void walk_below(struct walk *w, int at, const char *name, int depth)
{
    int fd = openat(at, name, FOLDER);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->dev ||
        st.st_uid != w->uid || is_mounted(fd)) {
        if (fd >= 0)
            close(fd);
        w->left = true;
        return;
    }
    walk_folder(w, fd, depth + 1);
}

static void walk_entry(struct walk *w, int at, const char *name, int depth)
{
    struct stat st;
    bool folder;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    folder = S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode) && st.st_mtime > w->newest_s)
        w->newest_s = st.st_mtime;
    if (st.st_uid != w->uid || st.st_dev != w->dev) {
        w->left = true;
        return;
    }
    if (folder)
        walk_below(w, at, name, depth);
    if (w->remove && unlinkat(at, name, folder ? AT_REMOVEDIR : 0) < 0) {
        w->left = true;
        return;
    }
    /* A file with another name elsewhere frees nothing. */
    if (folder || st.st_nlink == 1 || !w->remove)
        w->bytes += (uint64_t) st.st_blocks * 512;
}

/* Prepares a walk in the folder at. False: it cannot be examined. */
static bool start(struct walk *w, int at)
{
    struct stat st;

    if (fstat(at, &st) < 0)
        return false;
    w->dev = st.st_dev;
    w->uid = geteuid();
    return true;
}

uint64_t gc_measure(int at, const char *name, int64_t *newest_s)
{
    struct walk w = {.remove = false};

    if (start(&w, at))
        walk_entry(&w, at, name, 0);
    if (newest_s)
        *newest_s = w.newest_s;
    return w.bytes;
}

/* Removes name and everything of ours below it, and adds what that frees to
 * *freed_bytes. -1: something is left. */
static int gc_remove(int at, const char *name, uint64_t *freed_bytes)
{
    struct walk w = {.remove = true};

    if (!start(&w, at))
        return -1;
    walk_entry(&w, at, name, 0);
    *freed_bytes += w.bytes;
    return w.left ? -1 : 0;
}

/* --- one job: look at it, clear it --- */

/* Raw data that is being removed. The name keeps a report from reading it as if
 * it were complete. */
#define REMOVED ".raw-removed"
#define RAW "raw"

/* What a step directory contains, in the order of removal: if the removal is
 * interrupted, what remains is still recognised as a finished step, by its
 * job.conf and summary.json. */
static const char *const step_files[] = {
    REMOVED,      RAW,           "nodes",         "csv",          "plots",
    "run",        "summary.txt", "report.html",   "timeline.js",  "summary",
    "output.log", "log.txt",     JP_SUMMARY_NAME, JP_JOBCONF_NAME};
/* The same for the job's directory. */
static const char *const job_files[] = {"nodes", "job", "index.html",
                                        "job.json"};
/* Files of a step that runs, or is still to be reported. The claim comes last,
 * because it is left out if it is ours. */
static const char *const protocol[] = {"owner", "pending", "done", "alldone",
                                       JP_CLAIM_NAME};

/* Sets a job's state and reason, unless a worse state is set already. */
static void __attribute__((format(printf, 3, 4)))
say(struct gc_outcome *out, enum gc_state state, const char *fmt, ...)
{
    va_list ap;

    if (out->state >= state && *out->why)
        return; /* keep the first reason of the worst state */
    out->state = state;
    va_start(ap, fmt);
    vsnprintf(out->why, sizeof(out->why), fmt, ap);
    va_end(ap);
}

/* Whether the folder has an entry of that name; *st is its own status. */
static bool has(int at, const char *name, struct stat *st)
{
    return fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Opens a job's folder, if it is still the one that was found, and ours. -1:
 * errno. */
static int open_job(int root, const struct gc_job *job)
{
    int fd = strcmp(job->path, ".")
                 ? gc_open(root, job->path)
                 : openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
                    st.st_dev != job->dev || st.st_ino != job->ino)) {
        close(fd);
        errno = EPERM;
        fd = -1;
    }
    return fd;
}

/* A path for functions that take one, which always leads to the open folder.
 * Returns buf. */
static const char *path_of(int fd, char buf[32])
{
    snprintf(buf, 32, "/proc/self/fd/%d", fd);
    return buf;
}

/* Whether a report found that there is nothing to read. A report that ran out
 * of time has the same word but another text. */
static bool says_nodata(const struct summary_file *s)
{
    return summary_file_is(s, "NODATA") &&
           !strstr(s->verdict.text, "not yet analysed");
}

/* Whether the step has a report of jobprof. *analysed: it contains records or
 * a feature's data, or there was nothing to read; only then may raw data be
 * removed. */
static bool is_report(int step, bool *analysed)
{
    struct summary_file s;
    bool read = summary_file_read(path_of(step, (char[32]){""}),
                                  SUMMARY_WITHOUT_TABLES, &s, NULL) == 0;

    *analysed = read &&
                (feature_reported(s.root) ||
                 json_count_or(s.quality.records, 0) > 0 || says_nodata(&s));
    summary_file_fini(&s);
    return read;
}

/* Examines one step and adds its result to out. held: report.claim is ours. If
 * nothing of the step would be removed, its report is not read. */
static void look_at_step(int step, const char *name, bool held, bool reports,
                         struct gc_outcome *out)
{
    size_t n = sizeof(protocol) / sizeof(*protocol) - held;
    struct stat st, raw;
    int64_t newest_s;
    uint64_t bytes = gc_measure(step, RAW, &newest_s);
    bool analysed;

    out->steps++;
    out->raw_bytes += bytes;
    for (size_t i = 0; i < n; i++)
        if (has(step, protocol[i], &st)) {
            say(out, GC_BUSY, "%s is running, or waits for its report", name);
            return;
        }
    if (!has(step, JP_SUMMARY_NAME, &st) || !S_ISREG(st.st_mode)) {
        say(out, GC_BUSY, "%s has no report", name);
        return;
    }
    if (st.st_mtime > out->reported_s)
        out->reported_s = st.st_mtime;
    if (!has(step, RAW, &raw) && !reports)
        return;
    if (!is_report(step, &analysed))
        say(out, GC_BUSY, "%s has a summary.json that is not a report", name);
    else if (bytes > 0 && !analysed)
        say(out, GC_BUSY, "%s is not analysed; run jobprof report", name);
    else if (newest_s > st.st_mtime) /* written by a node that was late */
        say(out, GC_BUSY,
            "%s has raw data newer than its report; run jobprof report", name);
}

typedef void step_action(int job, int step, const char *name, void *arg);

/* Calls action for each step directory of ours in the job's folder. */
static void each_step(int job, step_action *action, void *arg)
{
    int copy = openat(job, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    struct stat st;

    while (dir && (entry = readdir(dir))) {
        int step;

        if (strncmp(entry->d_name, "step-", 5) != 0)
            continue;
        step = gc_open(job, entry->d_name);
        if (step >= 0 && fstat(step, &st) == 0 && st.st_uid == geteuid() &&
            has(step, JP_JOBCONF_NAME, &st))
            action(job, step, entry->d_name, arg);
        if (step >= 0)
            close(step);
    }
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

/* The arguments of gc_look for each step. */
struct looking {
    bool reports;
    struct gc_outcome *out;
};

/* Examines one step (step_action). */
static void look_action(int job, int step, const char *name, void *arg)
{
    const struct looking *l = arg;

    (void) job;
    look_at_step(step, name, false, l->reports, l->out);
}

void gc_look(int root, const struct gc_job *job, bool reports,
             struct gc_outcome *out)
{
    struct looking looking = {reports, out};
    int fd = open_job(root, job);

    memset(out, 0, sizeof(*out));
    if (fd < 0) {
        say(out, GC_BUSY, "it changed: %s", strerror(errno));
        return;
    }
    each_step(fd, look_action, &looking);
    close(fd);
}

/* --- clearing ------------------------------------------------------------- */

/* The arguments of gc_clear for each step. */
struct clearing {
    bool reports;
    struct gc_outcome *out;
};

/* Removes raw data. It is renamed first, so that no report reads it as if it
 * were complete. A rest of an interrupted removal goes first. */
static int remove_raw(int step, uint64_t *freed)
{
    struct stat st;

    if (has(step, REMOVED, &st) && gc_remove(step, REMOVED, freed) < 0)
        return -1;
    if (!has(step, RAW, &st))
        return 0;
    if (renameat(step, RAW, step, REMOVED) < 0)
        return -1;
    return gc_remove(step, REMOVED, freed);
}

/* Removes the named entries in order, and stops at the first that cannot be
 * removed completely. -1: something is left. */
static int remove_all(int at, const char *const *names, size_t n,
                      uint64_t *freed)
{
    struct stat st;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        if (has(at, names[i], &st) && gc_remove(at, names[i], freed) < 0)
            rc = -1;
    return rc;
}

/* Clears one step while we hold its claim, so that no other process reads or
 * writes its report. It is examined again, because it may have changed since
 * gc_look. */
static void clear_held(int step, const char *name, const struct clearing *c)
{
    struct gc_outcome now = {0};
    uint64_t freed = 0;
    int rc;

    look_at_step(step, name, true, c->reports, &now);
    if (now.state != GC_KEPT) {
        say(c->out, now.state, "%s", now.why);
        return;
    }
    rc = remove_raw(step, &freed);
    if (rc == 0 && c->reports)
        rc = remove_all(step, step_files,
                        sizeof(step_files) / sizeof(*step_files), &freed);
    else if (rc == 0 && freed)
        stepdir_log(path_of(step, (char[32]){""}), "gc: raw data removed, %s",
                    FIG_BYTES(freed));
    c->out->freed_bytes += freed;
    if (rc < 0)
        say(c->out, GC_FAILED,
            "%s: it contains files that jobprof may not remove", name);
}

/* Clears one step (step_action), if its report can be claimed. */
static void clear_action(int job, int step, const char *name, void *arg)
{
    const struct clearing *c = arg;
    struct jp_claim *claim = NULL;
    struct jp_error err;
    char path[32];
    int rc = claim_take(path_of(step, path), "user", JP_DEF_CLAIM_STALE_MS,
                        &claim, &err);

    if (rc == 1)
        clear_held(step, name, c);
    else if (rc == 0)
        say(c->out, GC_BUSY, "the report of %s is being written", name);
    else
        say(c->out, GC_FAILED, "%.50s: cannot be locked%.120s", name,
            strchr(err.text, ':') ?: "");
    claim_release(claim);
    /* After the release, because the claim's file is in the folder. */
    if (c->reports && rc == 1 && c->out->state == GC_KEPT &&
        unlinkat(job, name, AT_REMOVEDIR) < 0)
        say(c->out, GC_FAILED, "%s: it still contains other files", name);
}

/* Counts steps (step_action). */
static void count_action(int job, int step, const char *name, void *arg)
{
    (void) job, (void) step, (void) name;
    ++*(unsigned *) arg;
}

/* Whether job.json was written by jobprof. A folder to which steps were copied
 * may have other files of these names. */
static bool is_jobs_own(int job)
{
    static const char *const steps_of_job[] = {"steps", NULL};
    char *path = text_format("/proc/self/fd/%d/job.json", job), *text = NULL;
    json_t *root = NULL;
    size_t len;
    bool own;

    if (path && fileio_read(path, false, jsonload_limits[JSONLOAD_JOB].bytes,
                            &text, &len, NULL) == 0)
        root = jsonload(JSONLOAD_JOB, path, text,
                        jsonscan_drop(text, len, steps_of_job), 0, NULL);
    own = !strcmp(json_tree_text(root, "generator.name"), "jobprof");
    json_decref(root);
    free(text);
    free(path);
    return own;
}

/* Removes the job's folder, if it is empty and still where it was found. */
static void remove_folder(int root, const struct gc_job *job)
{
    char *parent = strdup(job->path), *name = job->path, *slash;
    struct stat st;
    int fd = -1;

    if (parent && (slash = strrchr(parent, '/'))) {
        *slash = '\0';
        name += slash + 1 - parent;
        fd = gc_open(root, parent);
    } else if (parent) {
        fd = fcntl(root, F_DUPFD_CLOEXEC, 3);
    }
    if (fd >= 0 && has(fd, name, &st) && st.st_dev == job->dev &&
        st.st_ino == job->ino)
        unlinkat(fd, name, AT_REMOVEDIR);
    if (fd >= 0)
        close(fd);
    free(parent);
}

/* Removes the files of the job, unless a step has begun meanwhile. A folder
 * that contains files of the user stays. */
static void clear_job(int root, int fd, const struct gc_job *job,
                      struct gc_outcome *out)
{
    unsigned steps = 0;

    each_step(fd, count_action, &steps);
    if (steps)
        return;
    if (is_jobs_own(fd))
        remove_all(fd, job_files, sizeof(job_files) / sizeof(*job_files),
                   &out->freed_bytes);
    if (strcmp(job->path, ".") != 0)
        remove_folder(root, job);
}

void gc_clear(int root, const struct gc_job *job,
              const struct gc_options *options, struct gc_outcome *out)
{
    struct clearing c = {.reports = options->reports, .out = out};
    int fd = open_job(root, job);

    if (fd < 0) {
        say(out, GC_BUSY, "it changed: %s", strerror(errno));
        return;
    }
    each_step(fd, clear_action, &c);
    if (out->state == GC_KEPT && options->reports)
        clear_job(root, fd, job, out);
    close(fd);
    if (out->state == GC_KEPT)
        out->state = GC_FREED;
}
