/* cmd_report_session.c - open one step for a report, decide whether srun, the
 * watcher or a user writes it, and put its directory in order afterwards.
 *
 * The claim (collect/claim.h) makes sure that only one process writes. Four
 * properties guide the order of steps here: a report is never written twice by
 * srun and the watcher; a dead reporter is replaced; a hidden directory becomes
 * visible in one rename; and files are removed only when no other process can
 * need them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/report/report.h"
#include "plugins/backend.h"

const char *report_kind_name(enum report_kind kind)
{
    static const char *const names[] = {[REPORT_USER] = "user",
                                        [REPORT_SRUN] = "srun",
                                        [REPORT_WATCHER] = "watcher"};

    return names[kind];
}

/* ".../.jobprof-12/step-0" -> ".../jobprof-12/step-0"; NULL: not hidden. */
static char *visible_twin(const char *dir)
{
    char *job = stepdir_job_dir(dir);
    char *base = job ? strrchr(job, '/') : NULL;
    const char *step = strrchr(dir, '/');
    char *twin = NULL;

    /* not for "..", which is no hidden folder */
    if (base && step && base[1] == '.' && base[2] && base[2] != '.') {
        *base = '\0';
        twin = text_format("%s/%s%s", job, base + 2, step);
    }
    free(job);
    return twin;
}

/* Follows a hidden directory that has been renamed meanwhile. False: dir is
 * gone without a twin. */
static bool follow_rename(struct report_session *session)
{
    char *twin;

    if (stepdir_is_folder(session->dir))
        return true;
    /* set_final_dir has set the name, if job.conf could be read */
    if (session->has_conf && *session->conf.final_dir)
        twin = strdup(session->conf.final_dir);
    else
        twin = visible_twin(session->dir);
    if (!twin || !stepdir_is_folder(twin)) {
        free(twin);
        return false;
    }
    stepdir_release(session->dir);
    free(session->dir);
    session->dir = twin;
    /* false also if it is somebody else's folder */
    return stepdir_hold(session->dir, NULL) == 0;
}

/* Returns the resolved path of dir, or a copy of dir if it does not exist;
 * NULL and err if it is somebody else's or reached by his link. Caller frees.
 */
static char *absolute_path(const char *dir, struct jp_error *err)
{
    char *real = ownplace_real(dir, OWNPLACE_OURS, err);

    if (!real && errno == ENOENT && !(real = strdup(dir)))
        error_set(err, "out of memory");
    return real;
}

/* Sets where the step is moved to: its visible twin, or "" for none. job.conf
 * may be a copy that names another folder, so the value there is not used. */
static int set_final_dir(struct report_session *session)
{
    char *twin = visible_twin(session->dir);

    if (!twin)
        twin = strdup("");
    if (!twin)
        return -1;
    free(session->conf.final_dir);
    session->conf.final_dir = twin;
    return 0;
}

/* Reads job.conf and the limits of the site. Returns 0; 1 and err if job.conf
 * cannot be used; -1 without memory. */
static int read_conf(struct report_session *session, struct jp_error *err)
{
    struct jp_policy site;
    int rc = jobconf_read_step(session->dir, session->options->hash,
                               &session->conf, err);

    ceiling_site(session->options->site, &site);
    session->policy = site;
    if (rc == 0) {
        session->has_conf = true;
        session->policy = session->conf.policy;
        /* the user can write to job.conf, so the site's ceilings hold */
        ceiling_apply(&session->policy, &site);
        if (set_final_dir(session) < 0 ||
            (!session->options->paths &&
             jobconf_hide_paths(&session->conf) < 0))
            return error_set(err, "out of memory");
        return 0;
    }
    return 1;
}

/* Whether agents show that the step runs. */
static bool is_running(const char *dir)
{
    for (size_t i = 0; command_registry[i]; i++)
        if (command_registry[i]->is_running &&
            command_registry[i]->is_running(dir))
            return true;
    return false;
}

/* Sets whether the job is over, and whether the step still runs, for a user's
 * report. A node that died never leaves its step. Slurm is asked before the
 * claim is taken, because the claim's thread forbids calls of libslurm. A busy
 * controller may not answer; then the snapshots of the step's agents tell. */
static void ask_job(struct report_session *session)
{
    bool is_open = session->options->kind == REPORT_USER && session->has_conf &&
                   stepdir_has(session->dir, "done");
    struct slurmjob job;
    bool known = is_open && slurmjob_get((uint32_t) session->conf.job_id,
                                         JP_SLURMJOB_WAIT_MS, &job);

    session->job_ended = known && job.ended;
    session->job_runs = known && !job.ended && job.uid == session->conf.uid;
    if (session->job_runs || (!known && is_open && is_running(session->dir)))
        session->going = NODES_GOING_ON;
    else if (!known && is_open)
        session->going = NODES_GOING_UNKNOWN;
}

int report_session_init(struct report_session *session, const char *dir,
                        const struct report_options *options,
                        struct jp_error *err)
{
    int rc;

    *session = (struct report_session){.options = options,
                                       .dir = absolute_path(dir, err),
                                       .start_ms = clock_mono_ms()};
    if (session->dir && !follow_rename(session))
        return error_set(err, "%s: folder not found", dir);
    if (!session->dir || stepdir_hold(session->dir, err) < 0)
        return error_set(
            err,
            "reports are written only into your own directories: %.300s; read "
            "this one with jobprof show, or copy it (cp -r)",
            strdupa(err->text));
    if (!stepdir_has(session->dir, JP_JOBCONF_NAME) &&
        !stepdir_has(session->dir, "nodes") &&
        !stepdir_has(session->dir, "raw"))
        return error_set(err,
                         "%s: not a step's directory (jobprof aggregate reads "
                         "plain folders of logs)",
                         session->dir);
    rc = read_conf(session, err);
    ask_job(session);
    return rc;
}

void report_session_fini(struct report_session *session)
{
    claim_release(session->claim);
    if (session->dir)
        stepdir_release(session->dir);
    if (session->has_conf)
        jobconf_fini(&session->conf);
    result_destroy(session->result);
    free(session->dir);
    *session = (struct report_session){0};
}

bool report_session_enabled(const struct report_session *session,
                            const char *key)
{
    const char *value = session->has_conf ? jobconf_find(&session->conf, key)
                                          : NULL;

    return value && !strcmp(value, "1");
}

/* --- decide who of srun, watcher and users reports a step ---------------- */

#define POLL_MS 50
#define WATCH_POLL_MS 500
#define NODES_POLL_MS 20
/* part of KillWait after which srun no longer waits */
#define RUNNER_RESERVE_S 2

/* Tries to take the claim, then checks again that the report is still wanted.
 */
static enum report_turn try_claim(struct report_session *session,
                                  struct jp_error *err)
{
    const struct report_options *options = session->options;
    int rc;

    if (!follow_rename(session))
        return REPORT_GONE;
    if (options->kind != REPORT_USER && barrier_is_reported(session->dir))
        return REPORT_DONE;
    rc = claim_take(session->dir, report_kind_name(options->kind),
                    session->policy.claim_stale_ms, &session->claim, err);
    /* an error in a directory that is gone means that another reporter has
     * moved it */
    if (rc < 0)
        return stepdir_is_folder(session->dir) ? REPORT_FAILED : REPORT_LATE;
    if (rc == 0)
        return REPORT_LATE;
    /* the report was finished while the claim was taken */
    if (options->kind != REPORT_USER && barrier_is_reported(session->dir)) {
        claim_release(session->claim);
        session->claim = NULL;
        return REPORT_DONE;
    }
    session->over = session->job_ended ||
                    stepdir_has(session->dir, "alldone") ||
                    barrier_is_reported(session->dir);
    return REPORT_OURS;
}

/* Waits for the claim. A user waits as long as the other reporter lives, srun
 * within its limit. */
static enum report_turn wait_for_claim(struct report_session *session,
                                       struct jp_error *err)
{
    uint64_t deadline = session->start_ms + session->policy.report_limit_ms;
    bool said = false;

    for (;;) {
        enum report_turn turn = try_claim(session, err);

        if (turn != REPORT_LATE)
            return turn;
        if (session->options->kind == REPORT_SRUN &&
            clock_mono_ms() >= deadline)
            return REPORT_LATE;
        if (!said && session->options->kind == REPORT_USER &&
            !session->options->quiet)
            quote_printf(stderr, "jobprof: %s: waiting for another report\n",
                         session->dir);
        said = true;
        clock_sleep_ms(POLL_MS);
    }
}

/* Whether the watcher may step in now. `owner` is missing if no srun will make
 * the report. */
static bool may_step_in(const struct report_session *session)
{
    uint64_t age_ms = clock_mono_ms() - session->start_ms;

    switch (claim_look(session->dir, session->policy.claim_stale_ms)) {
    case CLAIM_STALE:
        return true;
    case CLAIM_FREE:
        /* srun gets a head start; without an owner file there is no srun */
        return age_ms >= session->policy.watcher_delay_ms ||
               !stepdir_has(session->dir, "owner");
    default:
        return false;
    }
}

/* Whether a reported step is complete. The reporter removes the markers and
 * releases its claim last. If it was killed before that, the watcher does
 * both. */
static bool is_settled(struct report_session *session)
{
    enum claim_state state =
        claim_look(session->dir, session->policy.claim_stale_ms);

    /* the reporter still removes the markers */
    if (state == CLAIM_LIVE)
        return false;
    if ((state == CLAIM_STALE || !barrier_is_clear(session->dir)) &&
        claim_take(session->dir, report_kind_name(REPORT_WATCHER),
                   session->policy.claim_stale_ms, &session->claim, NULL) > 0) {
        barrier_clear(session->dir);
        claim_release(session->claim);
        session->claim = NULL;
    }
    return true;
}

/* Waits until the step is reported; takes over if no other process reports
 * it. */
static enum report_turn watch_turn(struct report_session *session,
                                   struct jp_error *err)
{
    const struct jp_policy *policy = &session->policy;
    uint64_t end_ms = session->start_ms + policy->watcher_life_ms;
    /* short delays, as in tests, are checked more often */
    uint32_t poll_ms = policy->watcher_delay_ms / 4 < WATCH_POLL_MS
                           ? policy->watcher_delay_ms / 4 + 1
                           : WATCH_POLL_MS;
    enum report_turn turn;

    while (clock_mono_ms() < end_ms) {
        if (!follow_rename(session))
            return REPORT_GONE;
        if (barrier_is_reported(session->dir)) {
            if (is_settled(session))
                return REPORT_DONE;
        } else if (may_step_in(session)) {
            turn = try_claim(session, err);
            if (turn != REPORT_LATE)
                return turn;
        }
        clock_sleep_ms(poll_ms);
    }
    return REPORT_LATE;
}

/* Programs beside the tasks write their files within KillWait. The time of the
 * figures begins after that. */
static void await_runners(struct report_session *session)
{
    uint64_t start_ms = clock_mono_ms(), wait_s = JP_DEF_KILL_WAIT_S;
    enum jp_option option = backend_beside(&session->conf);
    const struct backend *backend = backend_of_option(option);
    uint32_t n[RUNMARKS];

    if (backend)
        num_parse_u64(jobconf_side_find(&session->conf, option, "kill_wait"), 0,
                      3600, &wait_s, NULL);
    if (session->options->kind == REPORT_WATCHER &&
        wait_s > CEILING_KILL_WAIT_S)
        wait_s = CEILING_KILL_WAIT_S;
    wait_s -= wait_s > RUNNER_RESERVE_S ? RUNNER_RESERVE_S : 0;
    for (;;) {
        runmarks_count(session->dir, n);
        if (n[RUNMARK_DONE] >= n[RUNMARK_READY] ||
            clock_mono_ms() - start_ms >= wait_s * 1000)
            break;
        clock_sleep_ms(POLL_MS);
    }
    /* this wait must not shorten the time for the figures */
    session->start_ms += clock_mono_ms() - start_ms;
    if (n[RUNMARK_DONE] < n[RUNMARK_READY])
        stepdir_log(session->dir, "%s has not ended on %u nodes",
                    backend ? backend->about.title : "a program",
                    n[RUNMARK_READY] - n[RUNMARK_DONE]);
}

static void await_nodes(struct report_session *session)
{
    uint64_t wait_ms = session->policy.alldone_wait_ms;
    uint64_t end_ms;

    /* half of srun's time is left for the figures */
    if (wait_ms > session->policy.report_limit_ms / 2)
        wait_ms = session->policy.report_limit_ms / 2;
    end_ms = session->start_ms + wait_ms;
    while (barrier_count_pending(session->dir) > 0 &&
           !stepdir_has(session->dir, "alldone") && clock_mono_ms() < end_ms)
        clock_sleep_ms(NODES_POLL_MS);
    if (session->has_conf && runmarks_there(session->dir)) {
        runmark_end_step(session->dir, NULL); /* a node may have died */
        await_runners(session);
    }
}

/* An eighth of the time is left for writing the files. The user of srun has
 * waited since the program's start. Nobody waits for the watcher. */
static void set_budget(struct report_session *session)
{
    uint64_t limit_ms = session->policy.report_limit_ms;
    uint64_t from_ms = session->options->kind == REPORT_SRUN ? session->start_ms
                                                             : clock_mono_ms();

    session->deadline_ms = from_ms + limit_ms - limit_ms / 8;
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
    char *path = text_format("%s/%s", dir, name);
    DIR *folder = path ? ownplace_opendir(path) : NULL;
    struct dirent *entry;
    const char *host;
    pid_t pid;

    free(path);
    while (folder && (entry = readdir(folder)))
        /* only names that fileio makes for temporary files */
        if (fileio_temp_parse(entry->d_name, &pid, &host) &&
            is_older(dirfd(folder), entry->d_name, before))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

/* Removes temporary files of reporters that were killed. The claim is held, so
 * no other reporter uses them. */
static void remove_temporary(const struct report_session *session)
{
    sweep_folder(session->dir, ".", INT64_MAX);
    sweep_folder(session->dir, "csv", INT64_MAX);
    sweep_folder(session->dir, "plots", INT64_MAX);
}

enum report_turn report_turn_wait(struct report_session *session,
                                  struct jp_error *err)
{
    enum report_turn turn = session->options->kind == REPORT_WATCHER
                                ? watch_turn(session, err)
                                : wait_for_claim(session, err);

    if (turn != REPORT_OURS)
        return turn;
    if (session->options->kind != REPORT_USER) {
        await_nodes(session);
        set_budget(session);
    }
    remove_temporary(session);
    return REPORT_OURS;
}

/* --- move, clean or remove a step's directory after its report ----------- */

enum { FINISH_LIFE_S = 8 }; /* the module kills a finish after 6 s */

/* Like lstat and rename, in held folders. */
static bool is_absent(const char *path)
{
    int at = ownplace_at(&path);
    struct stat st;

    return fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int rename_held(const char *old, const char *new)
{
    int from = ownplace_at(&old), to = ownplace_at(&new);

    return renameat(from, old, to, new);
}

/* Moves one node's topology to the visible job. One that is there already
 * stays, because another step may be reading it. */
static void move_topology(const char *from, const char *to, const char *node)
{
    char *old = text_format("%s/nodes/%s/topology.xml", from, node);
    char *folder = text_format("%s/nodes/%s", to, node);
    char *new = text_format("%s/nodes/%s/topology.xml", to, node);

    if (old && folder && new && !is_absent(old) &&
        fileio_mkdirs(folder, NULL) == 0 && is_absent(new) &&
        rename_held(old, new) < 0)
        stepdir_log(to, "%s: %s", old, strerror(errno));
    free(old);
    free(folder);
    free(new);
}

/* Moves the topologies of all nodes. */
static void move_topologies(const char *from, const char *to)
{
    char *path = text_format("%s/nodes", from);
    DIR *nodes = path ? ownplace_opendir(path) : NULL;
    struct dirent *entry;

    free(path);
    while (nodes && (entry = readdir(nodes)))
        if (stepdir_name_ok(entry->d_name))
            move_topology(from, to, entry->d_name);
    if (nodes)
        closedir(nodes);
}

/* Whether any step of the job is in that directory, except for one (NULL:
 * none). */
static bool has_steps(const char *job_dir, const char *except)
{
    DIR *dir = ownplace_opendir(job_dir);
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strncmp(entry->d_name, "step-", 5) == 0 &&
                (!except || strcmp(entry->d_name, except) != 0);
    if (dir)
        closedir(dir);
    return found;
}

/* Removes a hidden job directory that has no more steps. A step that starts at
 * this moment keeps it: rmdir removes empty folders only. */
static void tidy_job(const char *job_dir)
{
    static const char *const names[] = {"nodes", REPORT_JOB_FOLDER, "job.json",
                                        "index.html"};

    if (has_steps(job_dir, NULL))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = text_format("%s/%s", job_dir, names[i]);

        if (path && ownplace_unlink(path) < 0)
            fileio_remove_tree(path, NULL);
        free(path);
    }
    rmdir(job_dir);
}

bool report_settle_has_others(const struct report_session *session)
{
    char *here = stepdir_job_dir(session->dir);
    char *there = stepdir_job_dir(session->conf.final_dir);
    const char *name = strrchr(session->dir, '/');
    bool found = name && ((here && has_steps(here, name + 1)) ||
                          (there && *there && has_steps(there, name + 1)));

    free(here);
    free(there);
    return found;
}

/* Whether the step's directory may be moved and cleaned. A user may report a
 * step that runs or has not begun. Its directory is in use then, even if the
 * step ends while the report is made. */
static bool is_final(const struct report_session *session)
{
    return session->options->kind != REPORT_USER || session->over;
}

static int move_step(struct report_session *session, const char *from,
                     const char *to, struct jp_error *err)
{
    const char *final = session->conf.final_dir;

    if (fileio_mkdirs_held(to, err) < 0)
        return -1;
    if (!is_absent(final))
        return error_set(err, "%s exists already", final);
    /* one rename, so that other processes see all of the step or nothing */
    if (rename_held(session->dir, final) < 0)
        return error_set(err, "%s: %s", final, strerror(errno));
    ownplace_moved(session->dir, final);
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
        ownplace_release(from);
    }
    /* still set: the move has failed */
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

    /* a name that no other host or process uses */
    claim_host(host);
    gone = job ? text_format("%s/.gone-%s.%ld", job, host, (long) getpid())
               : NULL;
    if (!gone)
        error_set(err, "out of memory");
    else if (rename_held(session->dir, gone) < 0)
        error_set(err, "%s: %s", session->dir, strerror(errno));
    else
        rc = remove_gone(session, gone, err);
    if (rc == 0)
        tidy_job(job);
    free(gone);
    free(job);
    return rc;
}

/* Removes what a killed finish left behind. Another finish may still be at
 * work, so only old files go. "Now" is the time that the file system gave the
 * summary. */
static void sweep_nodes(const char *dir)
{
    char *summary = text_format("%s/summary.json", dir);
    char *nodes = text_format("%s/nodes", dir);
    DIR *folder = nodes ? ownplace_opendir(nodes) : NULL;
    const char *rest = summary;
    int at = summary ? ownplace_at(&rest) : -1;
    struct dirent *entry;
    struct stat now;

    /* time 0: nothing is old enough */
    if (!summary || fstatat(at, rest, &now, AT_SYMLINK_NOFOLLOW) < 0)
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
        /* last: without the markers no process looks after this step any more
         */
        barrier_clear(session->dir);
    }
}
