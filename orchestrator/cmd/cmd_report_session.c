/* cmd_report_session.c - open one step for a report. */
#include "orchestrator/cmd/cmd_report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/jobconf.h"
#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"

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

    if (base && step && base[1] == '.' && base[2] && base[2] != '.') {
        *base = '\0';
        twin = fileio_path("%s/%s%s", job, base + 2, step);
    }
    free(job);
    return twin;
}

bool report_session_follow(struct report_session *session)
{
    char *twin;

    if (stepdir_is_folder(session->dir))
        return true;
    if (session->has_conf && *session->conf.final_dir)
        twin = strdup(session->conf.final_dir);
    else
        twin = visible_twin(session->dir);
    if (!twin || !stepdir_is_folder(twin)) {
        free(twin);
        return false;
    }
    free(session->dir);
    session->dir = twin;
    return true;
}

static char *absolute(const char *dir)
{
    char *real = realpath(dir, NULL);

    return real ? real : strdup(dir);
}

/* Where a hidden step goes: its twin, whatever a copied job.conf says. */
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

static int read_conf(struct report_session *session, struct jp_error *err)
{
    struct jp_policy site;
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, session->dir);
    int rc = path ? jobconf_read_pinned(path, session->options->hash,
                                        &session->conf, err)
                  : error_set(err, "out of memory");

    ceiling_site(session->options->site, &site);
    session->policy = site;
    free(path);
    if (rc == 0) {
        session->has_conf = true;
        session->policy = session->conf.policy;
        ceiling_apply(&session->policy, &site);
        if (set_final_dir(session) < 0 ||
            (!session->options->paths &&
             jobconf_hide_paths(&session->conf) < 0))
            return error_set(err, "out of memory");
        return 0;
    }
    return 1;
}

/* A node that died never leaves its step: Slurm knows that all is over. Before
 * there is a claim, whose thread forbids the question. */
static bool is_job_ended(const struct report_session *session)
{
    struct slurmjob job;

    return session->options->kind == REPORT_USER && session->has_conf &&
           stepdir_has(session->dir, "done") &&
           slurmjob_get((uint32_t) session->conf.job_id, JP_SLURMJOB_LAUNCH_MS,
                        &job) &&
           job.ended;
}

int report_session_init(struct report_session *session, const char *dir,
                        const struct report_options *options,
                        struct jp_error *err)
{
    int rc;

    *session = (struct report_session){
        .options = options, .dir = absolute(dir), .start_ms = clock_mono_ms()};
    if (!session->dir)
        return error_set(err, "out of memory");
    if (!report_session_follow(session))
        return error_set(err, "%s: no such folder", dir);
    if (stepdir_check_own(session->dir, err) < 0)
        return error_set(err,
                         "a report is written only into your own: %.300s; "
                         "jobprof show reads this one, or copy it (cp -r)",
                         strdupa(err->text));
    if (!stepdir_has(session->dir, JP_JOBCONF_NAME) &&
        !stepdir_has(session->dir, "nodes") &&
        !stepdir_has(session->dir, "raw"))
        return error_set(err,
                         "%s: not a step's directory (jobprof aggregate reads "
                         "plain folders of logs)",
                         session->dir);
    rc = read_conf(session, err);
    session->job_ended = is_job_ended(session);
    return rc;
}

void report_session_fini(struct report_session *session)
{
    claim_release(session->claim);
    if (session->has_conf)
        jobconf_fini(&session->conf);
    result_destroy(session->result);
    free(session->dir);
    *session = (struct report_session){0};
}

/* An eighth stays for writing the files. srun's user has waited since the
 * start; the watcher has nobody waiting for it. */
void report_session_set_budget(struct report_session *session)
{
    uint64_t limit_ms = session->policy.report_limit_ms;
    uint64_t from_ms = session->options->kind == REPORT_SRUN ? session->start_ms
                                                             : clock_mono_ms();

    if (session->options->kind != REPORT_USER)
        session->deadline_ms = from_ms + limit_ms - limit_ms / 8;
}
