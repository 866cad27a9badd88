/* resolve_make.c - make the step directory, or take it back. */
#include "orchestrator/agent/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"

#define MAX_OLD 9999

/* Bytes of path's longest prefix that exists. */
static size_t existing_prefix(const char *path)
{
    char *copy = strdup(path), *slash;
    struct stat st;
    size_t n = 0;

    while (copy && lstat(copy, &st) < 0 && (slash = strrchr(copy, '/')))
        *slash = '\0';
    n = copy ? strlen(copy) : strlen(path);
    free(copy);
    return n;
}

/* Nobody else's: he could read and swap what stands below. */
static int check_owner(const char *path, struct jp_error *err)
{
    struct stat st;

    for (int follow = 0; follow < 2; follow++) {
        if ((follow ? stat(path, &st) : lstat(path, &st)) < 0)
            return error_set(err, "%s: %s", path, strerror(errno));
        if (st.st_uid != geteuid() && st.st_uid != 0)
            return error_set(err, "%s: belongs to uid %lu, not to you", path,
                             (unsigned long) st.st_uid);
    }
    return 0;
}

static bool is_empty_folder(const char *path)
{
    struct dirent *entry;
    struct stat st;
    bool empty = true;
    DIR *dir;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || !(dir = opendir(path)))
        return false;
    while (empty && (entry = readdir(dir)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    closedir(dir);
    return empty;
}

/* Renames what an older job of the same id has left. Never deletes. */
static int move_old(const char *path, struct jp_error *err)
{
    struct stat st;

    for (unsigned n = 1; n <= MAX_OLD; n++) {
        char *old = fileio_path("%s.old-%u", path, n);
        bool taken = old && lstat(old, &st) == 0;
        int rc = old && !taken ? rename(path, old) : -1;

        free(old);
        if (!old)
            return error_set(err, "out of memory");
        if (!taken && rc < 0)
            return error_set(err, "%s: cannot be renamed: %s", path,
                             strerror(errno));
        if (rc == 0)
            return 0;
    }
    return error_set(err, "%s: has %d older ones already", path, MAX_OLD);
}

static int make_step(const char *path, struct jp_error *err)
{
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno == EEXIST) {
        if (!is_empty_folder(path)) {
            if (move_old(path, err) < 0)
                return -1;
        } else if (rmdir(path) < 0) {
            return error_set(err, "%s: cannot be removed: %s", path,
                             strerror(errno));
        }
        if (mkdir(path, 0700) == 0)
            return 0;
    }
    return error_set(err, "%s: %s", path, strerror(errno));
}

static int make_folders(const char *step_dir, struct jp_error *err)
{
    static const char *const names[] = {"pending", "done", "raw", "nodes"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *path = fileio_path("%s/%s", step_dir, names[i]);
        int rc = path ? mkdir(path, 0700) : -1;

        if (rc < 0)
            error_set(err, "%s/%s: %s", step_dir, names[i], strerror(errno));
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* "HOST PID STARTTIME_US": srun is our parent. */
static int write_owner(const char *step_dir, struct jp_error *err)
{
    char host[65] = "unknown", line[160];
    char *path = fileio_path("%s/owner", step_dir);
    int n, rc;

    if (!path)
        return error_set(err, "out of memory");
    if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "unknown");
    n = snprintf(line, sizeof(line), "%s %ld %" PRIu64 "\n", host,
                 (long) getppid(), clock_real_us());
    rc = fileio_write(path, line, (size_t) n, err);
    free(path);
    return rc;
}

/* Job and step directory. ENOENT: the job's vanished in between. */
static int make_both(const struct resolve_place *place, struct jp_error *err)
{
    if (fileio_mkdirs(place->job_dir, err) < 0 ||
        check_owner(place->job_dir, err) < 0)
        return -1;
    return make_step(place->step_dir, err);
}

int resolve_make(struct resolve_place *place, bool owner, struct jp_error *err)
{
    int rc = -1;

    place->kept = existing_prefix(place->job_dir);
    /* a hidden directory goes with the report of the step before */
    for (int i = 0; i < 3 && rc < 0; i++) {
        errno = 0;
        rc = make_both(place, err);
        if (rc < 0 && errno != ENOENT)
            break;
    }
    if (rc < 0) {
        resolve_unmake_job(place);
        return -1;
    }
    if (make_folders(place->step_dir, err) < 0 ||
        (owner && write_owner(place->step_dir, err) < 0)) {
        resolve_unmake(place);
        return -1;
    }
    return 0;
}

void resolve_unmake_job(const struct resolve_place *place)
{
    char *path = strdup(place->job_dir), *slash;

    /* a step beside ours keeps it: rmdir takes only what is empty */
    while (path && strlen(path) > place->kept && rmdir(path) == 0 &&
           (slash = strrchr(path, '/')))
        *slash = '\0';
    free(path);
}

void resolve_unmake(const struct resolve_place *place)
{
    fileio_remove_tree(place->step_dir, NULL);
    resolve_unmake_job(place);
}
