/* place.c - name a step's directory, make it, or take it back.
 *
 * place_find computes the names from facts and settings and touches nothing;
 * srun and each node call it and get the same result. place_make creates the
 * directory, and place_unmake removes it after a later failure. Nothing that a
 * user has put there is ever deleted: an older step is renamed.
 */
#include "orchestrator/agent/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/ownplace.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"

/* The longest path of a directory, in bytes. It leaves room for
 * raw/<node>/<host>-pid<pid>-1.jpr within PATH_MAX. */
#define MAX_DIR 3000
/* How many older steps of one id are kept as step-ID.old-N. */
#define MAX_OLD 9999

/* --- derived -------------------------------------------------------------- */

char *place_pattern(const char *pattern)
{
    size_t n = strlen(pattern);

    while (n > 1 && pattern[n - 1] == '/')
        n--;
    return text_format("%.*s%s", (int) n, pattern,
                       pattern_names_job(pattern) ? "" : "-%j");
}

/* Makes the suffix for what the pattern does not distinguish: other jobs in the
 * same place ("-ID"), and a requeued job, which keeps its id ("_r1"). */
static void make_suffix(const char *pattern, const struct launch_facts *facts,
                        char *buf, size_t len)
{
    char id[32] = "", run[32] = "";

    if (!pattern_names_job(pattern))
        snprintf(id, sizeof(id), "-%llu",
                 (unsigned long long) facts->names.job_id);
    if (facts->restart)
        snprintf(run, sizeof(run), "_r%u", facts->restart);
    snprintf(buf, len, "%s%s", id, run);
}

/* The job's directory, absolute, without trailing slashes. A relative pattern
 * starts at the submit directory, which is the same on all hosts. Caller frees;
 * NULL: err. */
static char *job_dir(const struct jp_plan *plan,
                     const struct launch_facts *facts, struct jp_error *err)
{
    const struct plan_value *dir = plan_find(&plan->sides[OPTION_NCCL], "dir");
    char *text = pattern_expand(dir->value, &facts->names, err);
    char *path, suffix[64];
    size_t n;

    if (!text)
        return NULL;
    for (n = strlen(text); n > 1 && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    make_suffix(dir->value, facts, suffix, sizeof(suffix));
    /* Three forms: the root (refused later), absolute, relative. */
    if (!text[1] && *text == '/')
        path = strdup(text); /* check_path refuses it */
    else if (*text == '/')
        path = text_format("%s%s", text, suffix);
    else
        path = text_format("%s/%s%s", facts->submit_dir, text, suffix);
    free(text);
    if (!path)
        error_set(err, "out of memory");
    return path;
}

/* Refuses paths that are too long or would be ambiguous later. */
static int check_path(const char *path, struct jp_error *err)
{
    if (strlen(path) > MAX_DIR)
        return error_set(err, "the directory's path is longer than %d bytes",
                         MAX_DIR);
    for (const unsigned char *c = (const unsigned char *) path; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return error_set(err, "%s: a control character in the path", path);
    /* In the tasks' variables, %N is replaced by the node's name, so a
     * directory with that name could not be passed on. */
    if (strstr(path, "%N"))
        return error_set(err, "%s: \"%%N\" in the path", path);
    if (!strcmp(path, "/") || path[strlen(path) - 1] == '/')
        return error_set(err, "%s: not a directory for a job", path);
    return 0;
}

/* The hidden name of a directory: .../name becomes .../.name. Caller frees. */
static char *hidden_path(const char *path)
{
    const char *base = strrchr(path, '/') + 1;

    return text_format("%.*s.%s", (int) (base - path), path, base);
}

/* Checks that the facts for a step's directory are known. Returns -1 and err if
 * one is missing. */
static int check_facts(const struct launch_facts *facts, struct jp_error *err)
{
    if (!facts->names.job_id)
        return error_set(err, "SLURM_JOB_ID is missing or not a number");
    if (!facts->names.step_id)
        return error_set(err, "SLURM_STEP_ID is missing or not a number");
    if (!facts->submit_dir || *facts->submit_dir != '/')
        return error_set(err, "SLURM_SUBMIT_DIR is missing or not absolute");
    return 0;
}

int place_find(const struct launch_facts *facts, const struct jp_plan *plan,
               struct launch_place *out, struct jp_error *err)
{
    struct launch_place place = {
        .hidden = !plan_is_explicit(plan) ||
                  facts_is_script(facts->names.step_id)};
    char *shown = NULL;
    int rc = -1;

    if (check_facts(facts, err) < 0)
        return -1;
    shown = job_dir(plan, facts, err);
    if (!shown || check_path(shown, err) < 0)
        goto out;
    place.job_dir = place.hidden ? hidden_path(shown) : strdup(shown);
    place.final_dir =
        place.hidden ? text_format("%s/step-%s", shown, facts->names.step_id)
                     : strdup("");
    if (place.job_dir)
        place.step_dir =
            text_format("%s/step-%s", place.job_dir, facts->names.step_id);
    if (!place.step_dir || !place.final_dir) {
        error_set(err, "out of memory");
        goto out;
    }
    *out = place;
    place = (struct launch_place){0};
    rc = 0;
out:
    place_fini(&place);
    free(shown);
    return rc;
}

void place_fini(struct launch_place *place)
{
    free(place->job_dir);
    free(place->step_dir);
    free(place->final_dir);
    *place = (struct launch_place){0};
}

/* --- created -------------------------------------------------------------- */

/* The length of the longest prefix of path that exists. What comes after it has
 * been created by us and may be removed again. */
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

/* Whether it is a folder without entries, not a link to one. */
static bool is_empty_folder(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool empty = true;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (empty && (entry = readdir(dir)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    closedir(dir);
    return empty;
}

/* Renames what an older job of the same id has left to name.old-N, with the
 * first N that is free. Never deletes anything. */
static int move_old(int at, const char *name, const char *path,
                    struct jp_error *err)
{
    struct stat st;

    for (unsigned n = 1; n <= MAX_OLD; n++) {
        char *old = text_format("%s.old-%u", name, n);
        bool taken = old && fstatat(at, old, &st, AT_SYMLINK_NOFOLLOW) == 0;
        int rc = old && !taken ? renameat(at, name, at, old) : -1;

        free(old);
        if (!old)
            return error_set(err, "out of memory");
        if (!taken && rc < 0)
            return error_set(err, "%s: cannot be renamed: %s", path,
                             strerror(errno));
        if (rc == 0)
            return 0;
    }
    return error_set(err, "%s: already has %d older copies", path, MAX_OLD);
}

/* Takes the rights away that the folder above has given to others (an access
 * list that new folders inherit). */
static int close_to_others(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int rc = fd < 0 || fstat(fd, &st) < 0 ? -1 : 0;

    if (rc == 0 && st.st_mode & (S_IWGRP | S_IWOTH))
        rc = fchmod(fd, 0700);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Makes the step directory in the job's. mkdir must create it: if it exists, it
 * is replaced (empty) or renamed, so that no file of an older step is taken for
 * ours. */
static int make_step(int at, const char *path, struct jp_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    int rc = mkdirat(at, name, 0700);

    if (rc < 0 && errno == EEXIST) {
        if (!is_empty_folder(at, name)) {
            if (move_old(at, name, path, err) < 0)
                return -1;
        } else if (unlinkat(at, name, AT_REMOVEDIR) < 0) {
            return error_set(err, "%s: cannot be removed: %s", path,
                             strerror(errno));
        }
        rc = mkdirat(at, name, 0700);
    }
    if (rc < 0 || close_to_others(at, name) < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

/* Makes the folders of the protocol (docs/dev/contracts.md, section 2). */
static int make_folders(const char *step_dir, struct jp_error *err)
{
    static const char *const names[] = {"pending", "done", "raw", "nodes"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *path = text_format("%s/%s", step_dir, names[i]);
        int rc = path ? fileio_mkdir(path, err) : -1;

        if (!path)
            error_set(err, "out of memory");
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Writes "HOST PID STARTTIME_US" of srun, which is our parent. The watcher
 * waits for the report of that srun if the file exists; its content is for
 * people. */
static int write_owner(const char *step_dir, struct jp_error *err)
{
    char host[65] = "unknown", line[160];
    char *path = text_format("%s/owner", step_dir);
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

/* Makes the job and step directories, and holds them. errno is ENOENT if the
 * job's directory vanished in between. */
static int make_both_folders(const struct launch_place *place,
                             struct jp_error *err)
{
    int at = ownplace_make(place->job_dir, OWNPLACE_OURS, err);
    int rc, saved;

    if (at < 0)
        return -1;
    rc = make_step(at, place->step_dir, err);
    saved = errno;
    close(at);
    errno = saved;
    /* an older step's folder, which this process may hold, was renamed */
    if (rc == 0)
        stepdir_release(place->step_dir);
    if (rc == 0 && stepdir_hold(place->step_dir, err) < 0) {
        saved = errno;
        stepdir_release(place->step_dir); /* the next try walks again */
        errno = saved;
        rc = -1;
    }
    return rc;
}

/* Refuses the directory of another job's step that has no finished report
 * (done/ exists): that step may be running, so its directory can be neither
 * moved nor joined. */
static int check_rival(const char *step_dir, uint64_t job_id,
                       struct jp_error *err)
{
    char *done = text_format("%s/done", step_dir);
    struct jp_jobconf conf;
    int rc = 0;

    if (!done) {
        rc = error_set(err, "out of memory");
    } else if (access(done, F_OK) == 0 &&
               jobconf_read_step(step_dir, NULL, &conf, NULL) == 0) {
        if (conf.job_id != job_id)
            rc = error_set(err,
                           "%s: is job %llu's, which may still run; put %%j "
                           "into the dir setting",
                           step_dir, (unsigned long long) conf.job_id);
        jobconf_fini(&conf);
    }
    free(done);
    return rc;
}

/* Removes the folders of the job directory that place_make has created, from
 * the innermost one up. rmdir keeps a folder that another step uses. */
static void unmake_job(const struct launch_place *place)
{
    char *path = strdup(place->job_dir), *slash;

    while (path && strlen(path) > place->kept && rmdir(path) == 0 &&
           (slash = strrchr(path, '/')))
        *slash = '\0';
    free(path);
}

/* Steps: refuse another job's step, make both directories, then the folders of
 * the protocol and the owner file. Every failure removes what was made. */
int place_make(struct launch_place *place, const struct launch_facts *facts,
               struct jp_error *err)
{
    int rc = -1;

    /* Before anything is created or renamed. */
    if (check_rival(place->step_dir, facts->names.job_id, err) < 0)
        return -1;
    place->kept = existing_prefix(place->job_dir);
    /* The report of an earlier step may remove the empty job directory of a
     * hidden profile between our two mkdir calls. Try again then. */
    for (int i = 0; i < 3 && rc < 0; i++) {
        errno = 0;
        rc = make_both_folders(place, err);
        if (rc < 0 && errno != ENOENT)
            break;
    }
    if (rc < 0) {
        unmake_job(place);
        return -1;
    }
    if (make_folders(place->step_dir, err) < 0 ||
        (facts->owner && write_owner(place->step_dir, err) < 0)) {
        place_unmake(place);
        return -1;
    }
    return 0;
}

void place_unmake(const struct launch_place *place)
{
    fileio_remove_tree(place->step_dir, NULL);
    stepdir_release(place->step_dir);
    unmake_job(place);
}
