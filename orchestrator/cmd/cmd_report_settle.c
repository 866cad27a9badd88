/* cmd_report_settle.c - move, clean or remove a step's directory after its
 * report. */
#include "orchestrator/cmd/cmd_report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/barrier.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/report/report.h"

enum { FINISH_LIFE_S = 8 }; /* the module kills a finish after 6 s */

/* Moves one node's topology to the visible job; one that is there stays. */
static void move_topology(const char *from, const char *to, const char *node)
{
    char *old = fileio_path("%s/nodes/%s/topology.xml", from, node);
    char *folder = fileio_path("%s/nodes/%s", to, node);
    char *new = fileio_path("%s/nodes/%s/topology.xml", to, node);

    if (old && folder && new &&access(old, F_OK) == 0 &&
        fileio_mkdirs(folder, NULL) == 0 && access(new, F_OK) < 0 &&
        rename(old, new) < 0)
        stepdir_log(to, "%s: %s", old, strerror(errno));
    free(old);
    free(folder);
    free(new);
}

static void move_topologies(const char *from, const char *to)
{
    char *path = fileio_path("%s/nodes", from);
    DIR *nodes = path && stepdir_is_folder(path) ? opendir(path) : NULL;
    struct dirent *entry;

    free(path);
    while (nodes && (entry = readdir(nodes)))
        if (stepdir_name_ok(entry->d_name))
            move_topology(from, to, entry->d_name);
    if (nodes)
        closedir(nodes);
}

/* Whether any step of the job is still in its (hidden) directory. */
static bool has_steps(const char *job_dir)
{
    DIR *dir = opendir(job_dir);
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strncmp(entry->d_name, "step-", 5) == 0;
    if (dir)
        closedir(dir);
    return found;
}

/* Removes a hidden job directory that has no more steps. A step that starts in
 * this moment keeps it: rmdir takes empty folders only. */
static void tidy_job(const char *job_dir)
{
    static const char *const names[] = {"nodes", "job.json", "index.html"};

    if (has_steps(job_dir))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = fileio_path("%s/%s", job_dir, names[i]);

        if (path && unlink(path) < 0)
            fileio_remove_tree(path, NULL);
        free(path);
    }
    rmdir(job_dir);
}

/* A user may report a step that runs or has not begun. Its directory is in use
 * then, even if the step ends while the report is made. */
static bool is_final(const struct report_session *session)
{
    return session->options->kind != REPORT_USER || session->over;
}

static int move_step(struct report_session *session, const char *from,
                     const char *to, struct jp_error *err)
{
    const char *final = session->conf.final_dir;

    if (fileio_mkdirs(to, err) < 0)
        return -1;
    if (access(final, F_OK) == 0)
        return error_set(err, "%s exists already", final);
    if (rename(session->dir, final) < 0)
        return error_set(err, "%s: %s", final, strerror(errno));
    claim_moved(session->claim, final, NULL);
    move_topologies(from, to);
    return 0;
}

/* Moves a hidden step into the visible job directory, including the claim and
 * the topologies. Does nothing for visible steps, nor for a user's report of a
 * running step. On an error the step stays hidden, and the log says why. */
void report_settle_promote(struct report_session *session)
{
    char *from, *to, *dir;
    struct jp_error err;

    if (!is_final(session) || !session->has_conf || !session->conf.hidden ||
        !*session->conf.final_dir ||
        strcmp(session->dir, session->conf.final_dir) == 0)
        return;
    from = stepdir_job_dir(session->dir);
    to = stepdir_job_dir(session->conf.final_dir);
    dir = strdup(session->conf.final_dir);
    if (!from || !to || !dir)
        error_set(&err, "out of memory");
    else if (move_step(session, from, to, &err) == 0) {
        free(session->dir);
        session->dir = dir;
        dir = NULL;
        tidy_job(from);
    }
    if (dir)
        stepdir_log(session->dir, "not moved into place: %s", err.text);
    free(from);
    free(to);
    free(dir);
}

/* Releases the claim first, because NFS keeps files that a process has open. */
static int remove_gone(struct report_session *session, const char *gone,
                       struct jp_error *err)
{
    claim_moved(session->claim, gone, NULL);
    claim_release(session->claim);
    session->claim = NULL;
    return fileio_remove_tree(gone, err);
}

/* Removes a hidden step without records, and releases the claim. The rename
 * comes first, so that other processes see all of the step or nothing. */
int report_settle_remove(struct report_session *session, struct jp_error *err)
{
    char *job = stepdir_job_dir(session->dir);
    char host[65];
    char *gone;
    int rc = -1;

    claim_host(host);
    gone = job ? fileio_path("%s/.gone-%s.%ld", job, host, (long) getpid())
               : NULL;
    if (!gone)
        error_set(err, "out of memory");
    else if (rename(session->dir, gone) < 0)
        error_set(err, "%s: %s", session->dir, strerror(errno));
    else
        rc = remove_gone(session, gone, err);
    if (rc == 0)
        tidy_job(job);
    free(gone);
    free(job);
    return rc;
}

static bool is_older(int folder, const char *name, int64_t than)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtime < than;
}

/* Removes the temporary files of a folder that were last written before that
 * time. */
static void sweep_folder(const char *dir, const char *name, int64_t before)
{
    char *path = fileio_path("%s/%s", dir, name);
    DIR *folder = path && stepdir_is_folder(path) ? opendir(path) : NULL;
    struct dirent *entry;
    const char *host;
    pid_t pid;

    free(path);
    while (folder && (entry = readdir(folder)))
        if (fileio_temp_parse(entry->d_name, &pid, &host) &&
            is_older(dirfd(folder), entry->d_name, before))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

/* Removes temporary files of reporters that were killed. */
void report_settle_sweep(const struct report_session *session)
{
    sweep_folder(session->dir, ".", INT64_MAX);
    sweep_folder(session->dir, "csv", INT64_MAX);
    sweep_folder(session->dir, "plots", INT64_MAX);
}

/* Removes what a killed finish left behind. Another finish may still be at
 * work, so only old files go. "Now" is the time that the file system gave the
 * summary. */
static void sweep_nodes(const char *dir)
{
    char *summary = fileio_path("%s/summary.json", dir);
    char *nodes = fileio_path("%s/nodes", dir);
    DIR *folder = nodes && stepdir_is_folder(nodes) ? opendir(nodes) : NULL;
    struct dirent *entry;
    struct stat now;

    if (!summary || stat(summary, &now) < 0)
        now.st_mtime = 0;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            sweep_folder(nodes, entry->d_name,
                         (int64_t) now.st_mtime - FINISH_LIFE_S);
    if (folder)
        closedir(folder);
    free(summary);
    free(nodes);
}

/* Call it after summary.json is written. Writes the job's index, then removes
 * the protocol's files and what a killed finish left in nodes/, except for a
 * user's report of a running step. */
void report_settle_finish(struct report_session *session)
{
    char *job = stepdir_job_dir(session->dir);
    struct jp_error err;

    if (job && report_index(job, &err) < 0)
        stepdir_log(session->dir, "no index: %s", err.text);
    free(job);
    if (is_final(session)) {
        sweep_nodes(session->dir);
        barrier_clear(session->dir);
    }
}
