/* resolve.c - from settings to a step directory with its job.conf. */
#include "orchestrator/agent/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

bool resolve_is_profiled(const struct jp_plan *plan)
{
    const struct plan_side *nccl = &plan->nccl;

    return nccl->mode && nccl->mode != grammar_find_mode(nccl->grammar, "plan");
}

static bool asks(const char *text)
{
    return text && *text && strcmp(text, "off") != 0;
}

bool resolve_is_asked(const struct plan_input *in)
{
    return asks(in->nccl) || asks(in->copper) || asks(in->default_mode) ||
           asks(plan_env(in, "JOBPROF_NCCL")) ||
           asks(plan_env(in, "JOBPROF_COPPER"));
}

/* Writes job.conf and hashes it. */
static int write_conf(const struct resolve_place *place,
                      const struct jp_jobconf *conf, char hash[17],
                      struct jp_error *err)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, place->step_dir);
    int rc = -1;

    if (!path)
        error_set(err, "out of memory");
    else if (jobconf_write(path, conf, err) == 0 &&
             jobconf_hash(path, hash, err) == 0)
        rc = 0;
    free(path);
    return rc;
}

/* Another job's step without a finished report may be running: it is not to be
 * moved aside, nor joined. */
static int check_rival(const char *step_dir, uint64_t job_id,
                       struct jp_error *err)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, step_dir);
    char *done = fileio_path("%s/done", step_dir);
    struct jp_jobconf conf;
    int rc = 0;

    if (!path || !done) {
        rc = error_set(err, "out of memory");
    } else if (access(done, F_OK) == 0 &&
               jobconf_read(path, &conf, NULL) == 0) {
        if (conf.job_id != job_id)
            rc = error_set(err,
                           "%s: is job %llu's, which may still run; put %%j "
                           "into the dir setting",
                           step_dir, (unsigned long long) conf.job_id);
        jobconf_fini(&conf);
    }
    free(path);
    free(done);
    return rc;
}

/* Why the site's default is for this job, behind what is said of the mode. */
static int explain_mode(const struct plan_side *side, struct jp_jobconf *conf,
                        struct jp_error *err)
{
    char *text;

    if (!side->mode_reason || !*side->mode_reason || !conf->n_settings)
        return 0;
    text = fileio_path("%s%s%s", conf->settings[0].reason,
                       *conf->settings[0].reason ? "; " : "",
                       side->mode_reason);
    if (!text)
        return error_set(err, "out of memory");
    free(conf->settings[0].reason);
    conf->settings[0].reason = text;
    return 0;
}

/* The directory with its job.conf. */
static int make_place(const struct resolve_input *in,
                      struct resolve_place *place,
                      const struct jp_jobconf *conf, char hash[17],
                      struct jp_error *err)
{
    if (check_rival(place->step_dir, conf->job_id, err) < 0 ||
        resolve_make(place, in->owner, err) < 0)
        return -1;
    if (write_conf(place, conf, hash, err) == 0)
        return 0;
    resolve_unmake(place);
    return -1;
}

/* Trouble with the directory. Where only a default asked for a profile, the
 * step runs without one, and nobody hears of it. */
static int no_place(const struct jp_plan *plan)
{
    return resolve_is_explicit(plan) ? -1 : 0;
}

static int make_step(const struct resolve_input *in, const struct jp_plan *plan,
                     struct resolve_answer *answer, struct jp_error *err)
{
    struct resolve_place place = {0};
    struct resolve_choice choice = {0};
    struct jp_jobconf conf = {0};
    int rc = -1;

    if (resolve_place(&in->plan, plan, &place, err) < 0) {
        rc = no_place(plan);
        goto out;
    }
    if (resolve_choose(in, plan, place.step_dir, &choice, err) < 0 ||
        resolve_conf(in, plan, &place, &choice, &conf, &answer->note, err) <
            0 ||
        explain_mode(&plan->nccl, &conf, err) < 0)
        goto out;
    if (make_place(in, &place, &conf, answer->hash, err) < 0) {
        rc = no_place(plan);
        goto out;
    }
    answer->limit_s = (plan->policy.report_limit_ms + 999) / 1000;
    if (resolve_copper_refusal(in, plan) == NULL) {
        const char *kill_wait = jobconf_copper(&conf, "kill_wait");

        answer->runs_copper = true;
        answer->limit_s += (unsigned) strtoul(kill_wait, NULL, 10);
    }
    answer->dir = place.step_dir;
    place.step_dir = NULL;
    rc = 0;
out:
    jobconf_fini(&conf);
    resolve_choice_fini(&choice);
    resolve_place_fini(&place);
    return rc;
}

/* A locked default has overruled the user: that is worth a line. */
static int note_lock(const struct jp_plan *plan, char **note,
                     struct jp_error *err)
{
    const struct plan_side *sides[] = {&plan->nccl, &plan->copper};

    for (size_t i = 0; i < 2; i++)
        if (sides[i]->overruled &&
            resolve_note(note, err, "%s", sides[i]->overruled) < 0)
            return -1;
    return 0;
}

int resolve_step(const struct resolve_input *in, struct resolve_answer *out,
                 struct jp_error *err)
{
    struct resolve_answer answer = {0};
    const char *refusal;
    struct jp_plan plan;
    int rc = 0;

    if (plan_make(&in->plan, &plan, err) < 0)
        return -1;
    refusal = resolve_copper_refusal(in, &plan);
    if (resolve_is_profiled(&plan) || !refusal)
        rc = make_step(in, &plan, &answer, err);
    else if (plan.copper.mode && plan.copper.mode_source >= PLAN_ENV)
        rc = error_set(err, "Copper does not run: %s", refusal);
    /* what a site's default leaves out is nobody's surprise */
    if (rc == 0 && !resolve_is_explicit(&plan)) {
        free(answer.note);
        answer.note = NULL;
    }
    if (rc == 0)
        rc = note_lock(&plan, &answer.note, err);
    plan_fini(&plan);
    if (rc < 0) {
        resolve_answer_fini(&answer);
        return -1;
    }
    *out = answer;
    return 0;
}

void resolve_answer_fini(struct resolve_answer *answer)
{
    free(answer->dir);
    free(answer->note);
    *answer = (struct resolve_answer){0};
}
