/* resolve_conf.c - fill in job.conf. */
#include "orchestrator/agent/resolve.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/agent/resolve_env.h"
#include "orchestrator/collect/clock.h"
#ifdef HAVE_SLURM
#include <slurm/slurm.h>
#endif

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

bool resolve_is_explicit(const struct jp_plan *plan)
{
    return (resolve_is_profiled(plan) && plan->nccl.mode_source >= PLAN_ENV) ||
           (plan->copper.mode && plan->copper.mode_source >= PLAN_ENV);
}

int resolve_note(char **note, struct jp_error *err, const char *fmt, ...)
{
    char *line = NULL, *both;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        line = NULL;
    va_end(ap);
    if (!line)
        return error_set(err, "out of memory");
    both = *note ? fileio_path("%s\n%s", *note, line) : strdup(line);
    free(line);
    if (!both)
        return error_set(err, "out of memory");
    free(*note);
    *note = both;
    return 0;
}

/* Copies text ("" for NULL) into *slot; *ok turns false without memory. */
static void copy_to(char **slot, const char *text, bool *ok)
{
    *slot = strdup(text ? text : "");
    *ok = *ok && *slot;
}

static char *slurm_release(void)
{
#ifdef SLURM_VERSION_NUMBER
    return fileio_path("%d.%02d.%d", SLURM_VERSION_NUMBER >> 16 & 255,
                       SLURM_VERSION_NUMBER >> 8 & 255,
                       SLURM_VERSION_NUMBER & 255);
#else
    return strdup("");
#endif
}

static int fill_job(const struct resolve_input *in,
                    const struct resolve_facts *facts, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    const struct plan_input *env = &in->plan;
    const char *submit_host = plan_env(env, "SLURM_SUBMIT_HOST");
    char host[65] = "";
    bool ok = true;

    if (!submit_host && gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    conf->schema = JP_JOBCONF_SCHEMA;
    conf->created_us = clock_real_us();
    conf->job_id = facts->names.job_id;
    conf->restart = facts->restart;
    conf->uid = (uint32_t) getuid();
    conf->nnodes = in->nnodes;
    conf->ntasks = in->ntasks;
    copy_to(&conf->version, PACKAGE_VERSION, &ok);
    copy_to(&conf->step_id, facts->names.step_id, &ok);
    copy_to(&conf->user, facts->user, &ok);
    copy_to(&conf->job_name, facts->names.job_name, &ok);
    copy_to(&conf->account, plan_env(env, "SLURM_JOB_ACCOUNT"), &ok);
    copy_to(&conf->partition, plan_env(env, "SLURM_JOB_PARTITION"), &ok);
    copy_to(&conf->submit_dir, facts->submit_dir, &ok);
    copy_to(&conf->submit_host, submit_host ? submit_host : host, &ok);
    copy_to(&conf->command, in->command, &ok);
    copy_to(&conf->site_file, env->config, &ok);
    conf->slurm_version = slurm_release();
    return ok && conf->slurm_version ? 0 : error_set(err, "out of memory");
}

/* The profiler that runs, as the first of the settings. */
static int add_mode(const struct plan_side *side, const char *mode,
                    const char *reason, struct jp_setting **list, size_t *n,
                    struct jp_error *err)
{
    struct jp_setting one = {(char *) "mode", (char *) mode,
                             (char *) plan_source_words[side->mode_source],
                             side->mode_where, (char *) reason};

    return resolve_add_setting(list, n, &one, err);
}

/* mode first, then the knobs. */
static int fill_settings(const struct plan_side *side, const char *mode,
                         const char *reason, struct jp_setting **out, size_t *n,
                         struct jp_error *err)
{
    struct jp_setting *knobs = NULL;
    size_t n_knobs = 0;
    int rc;

    if (resolve_settings(side, &knobs, &n_knobs, err) < 0)
        return -1;
    rc = add_mode(side, mode, reason, out, n, err);
    for (size_t i = 0; i < n_knobs && rc == 0; i++)
        if (strcmp(knobs[i].key, "mode") != 0)
            rc = resolve_add_setting(out, n, &knobs[i], err);
    resolve_free_settings(knobs, n_knobs);
    return rc;
}

/* With variables of the user's own nobody knows what will be kept. */
static int fill_forecast(const struct backend_forecast *forecast,
                         const char *own, struct jp_jobconf *conf,
                         struct jp_error *err)
{
    conf->lost =
        own ? fileio_path("not known: %s stays as the user has set it", own)
            : strdup(forecast->lost);
    if (!conf->lost)
        return error_set(err, "out of memory");
    if (own)
        return 0;
    conf->memory_bytes = forecast->memory_bytes;
    conf->disk_bytes = forecast->disk_bytes;
    conf->planned_ops = forecast->planned_ops;
    conf->kept_ops = forecast->kept_ops;
    return 0;
}

/* What srun says: another profiler, what is lost, and the warnings. */
static int fill_note(const struct resolve_choice *choice, bool own, char **note,
                     struct jp_error *err)
{
    const char *title = resolve_title(choice->backend->name);

    if (*choice->reason &&
        resolve_note(note, err, "%s; %s runs", choice->reason, title) < 0)
        return -1;
    if (*choice->forecast.lost && !own &&
        resolve_note(note, err, "%s %s", title, choice->forecast.lost) < 0)
        return -1;
    return choice->warnings ? resolve_note(note, err, "%s", choice->warnings)
                            : 0;
}

/* Only Copper is profiled. */
static int fill_off(const struct plan_side *side, struct jp_jobconf *conf,
                    struct jp_error *err)
{
    bool ok = true;

    copy_to(&conf->nccl_request, "off", &ok);
    copy_to(&conf->nccl_mode, "off", &ok);
    copy_to(&conf->lost, "", &ok);
    if (!ok)
        return error_set(err, "out of memory");
    return add_mode(side, "off", "", &conf->settings, &conf->n_settings, err);
}

static int fill_nccl(const struct resolve_input *in, const struct jp_plan *plan,
                     struct resolve_choice *choice, struct jp_jobconf *conf,
                     char **note, struct jp_error *err)
{
    const struct plan_side *side = &plan->nccl;
    const char *request = side->grammar->modes[side->mode].name;
    const char *reason = choice->reason;
    char *own = NULL;
    bool ok = true;
    int rc = -1;

    conf->summary = (enum jp_summary) plan_number(side, "summary");
    conf->explicit_request = resolve_is_explicit(plan);
    if (!choice->backend)
        return fill_off(side, conf, err);
    if (!*reason && !strcmp(request, "auto"))
        reason = "auto is the recorder";
    copy_to(&conf->nccl_request, request, &ok);
    copy_to(&conf->nccl_mode, choice->backend->name, &ok);
    if (!ok)
        return error_set(err, "out of memory");
    if (fill_settings(side, choice->backend->name, reason, &conf->settings,
                      &conf->n_settings, err) < 0)
        return -1;
    if (resolve_env(in, plan, choice, conf, err) == 0 &&
        resolve_env_own(conf, &own, err) == 0 &&
        fill_forecast(&choice->forecast, own, conf, err) == 0)
        rc = fill_note(choice, own != NULL, note, err);
    free(own);
    return rc;
}

int resolve_conf(const struct resolve_input *in, const struct jp_plan *plan,
                 const struct resolve_place *place,
                 struct resolve_choice *choice, struct jp_jobconf *out,
                 char **note, struct jp_error *err)
{
    struct jp_jobconf conf = {.policy = plan->policy, .hidden = place->hidden};
    struct resolve_facts facts;
    char *said = NULL;
    int rc = -1;

    if (resolve_facts(&in->plan, &facts, err) < 0 ||
        fill_job(in, &facts, &conf, err) < 0 ||
        fill_nccl(in, plan, choice, &conf, &said, err) < 0 ||
        resolve_container(in, plan, &conf, err) < 0 ||
        resolve_copper(in, plan, &conf, &said, err) < 0)
        goto out;
    conf.final_dir = strdup(place->final_dir);
    if (!conf.final_dir) {
        error_set(err, "out of memory");
        goto out;
    }
    *note = said;
    said = NULL;
    *out = conf;
    conf = (struct jp_jobconf){0};
    rc = 0;
out:
    free(said);
    jobconf_fini(&conf);
    return rc;
}
