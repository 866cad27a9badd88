/* cmd_report_job.c - which steps of a job have one report together.
 *
 * Launchers such as Ray start one srun a node, and Open MPI's mpirun keeps the
 * first node's ranks in the batch script. Each step has its report, of its own
 * ranks. report_job_open finds the steps that have ranks of the same
 * communicators, and opens a session for one report of all their files in
 * <job>/job/. The step's own report says where the others are instead of
 * calling them lost (report_job_kin). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/vector.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"
#include "plugins/nccl_recorder/recfile.h"

/* The most steps that are looked at, and communicators of one step. */
#define STEPS_MAX 256
#define COMMS_MAX 65536

struct step {
    char *name;   /* of the folder: "step-0" */
    size_t group; /* smallest index of a step that it is joined with */
    uint64_t ranks;
};

/* A communicator of which a step lacks ranks. */
struct partial {
    char *id;
    uint64_t n_ranks;
    size_t step;
};

struct job {
    struct step *steps; /* by name: step-2 before step-10 */
    size_t n;
    struct partial *partials;
    size_t n_partials;
    size_t unreported; /* steps that are not over, as far as their files tell */
};

static void job_fini(struct job *job)
{
    for (size_t i = 0; i < job->n; i++)
        free(job->steps[i].name);
    for (size_t i = 0; i < job->n_partials; i++)
        free(job->partials[i].id);
    free(job->steps);
    free(job->partials);
}

/* --- which steps belong together ------------------------------------------ */

static int is_step(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "step-", 5) &&
           stepdir_name_ok(entry->d_name);
}

static int by_comm(const void *a, const void *b)
{
    const struct partial *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    if (order || x->n_ranks == y->n_ranks)
        return order;
    return x->n_ranks < y->n_ranks ? -1 : 1;
}

/* Keeps the communicators of which the step's report has some ranks. */
static int take_comms(struct job *job, size_t step,
                      const struct summary_file *s)
{
    size_t n = s->n_comms < COMMS_MAX ? s->n_comms : COMMS_MAX;

    if (vector_resize(&job->partials, job->n_partials + n + 1,
                      sizeof(*job->partials)) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct summary_comm *comm = &s->comms[i];
        struct partial *p = &job->partials[job->n_partials];

        *p = (struct partial){.step = step, .n_ranks = comm->n_ranks};
        if (comm->n_ranks == JSON_UNKNOWN || !comm->ranks_seen ||
            comm->ranks_seen >= comm->n_ranks)
            continue;
        p->id = strdup(comm->id);
        if (!p->id)
            return -1;
        job->n_partials++;
    }
    return 0;
}

/* Reads what the step's report has of communicators. A step without a report
 * is left out. */
static int take_step(struct job *job, const char *job_dir, const char *name)
{
    char *dir = text_format("%s/%s", job_dir, name);
    struct step *step = &job->steps[job->n];
    struct summary_file s;
    int rc = 0;

    if (!dir)
        return -1;
    if (stepdir_is_folder(dir) && !stepdir_has(dir, JP_SUMMARY_NAME))
        job->unreported++;
    if (summary_file_read(dir, SUMMARY_WHOLE, &s, NULL) == 0 &&
        stepdir_has(dir, "raw")) {
        *step = (struct step){.name = strdup(name),
                              .group = job->n,
                              .ranks = json_count_or(s.quality.ranks_seen, 0)};
        job->n += step->name != NULL;
        rc = step->name ? take_comms(job, job->n - 1, &s) : -1;
    }
    summary_file_fini(&s);
    free(dir);
    return rc;
}

/* Makes two steps, and all that either is joined with, one group. */
static void join_groups(struct job *job, size_t a, size_t b)
{
    size_t x = job->steps[a].group, y = job->steps[b].group;
    size_t from = x > y ? x : y, to = x > y ? y : x;

    for (size_t i = 0; i < job->n; i++)
        if (job->steps[i].group == from)
            job->steps[i].group = to;
}

/* Reads the reports of the job's steps and groups the steps. -1: no memory. */
static int job_read(struct job *job, const char *job_dir)
{
    struct dirent **list = NULL;
    int n = scandir(job_dir, &list, is_step, versionsort), rc = 0;

    job->steps = calloc(STEPS_MAX, sizeof(*job->steps));
    for (int i = 0; i < n; i++) {
        if (job->steps && rc == 0 && job->n < STEPS_MAX)
            rc = take_step(job, job_dir, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    if (!job->steps || rc < 0)
        return -1;
    if (job->n_partials)
        qsort(job->partials, job->n_partials, sizeof(*job->partials), by_comm);
    for (size_t i = 1; i < job->n_partials; i++)
        if (by_comm(&job->partials[i - 1], &job->partials[i]) == 0)
            join_groups(job, job->partials[i - 1].step, job->partials[i].step);
    return 0;
}

/* Returns the group of several steps that has most ranks; SIZE_MAX: none. */
static size_t largest_group(const struct job *job)
{
    size_t found = SIZE_MAX;
    uint64_t most = 0;

    for (size_t g = 0; g < job->n; g++) {
        uint64_t ranks = 0;
        size_t n = 0;

        for (size_t i = 0; i < job->n; i++)
            if (job->steps[i].group == g) {
                ranks += job->steps[i].ranks;
                n++;
            }
        if (n > 1 && (found == SIZE_MAX || ranks > most)) {
            found = g;
            most = ranks;
        }
    }
    return found;
}

/* --- the session ---------------------------------------------------------- */

/* "0-3+batch" of step-0 to step-3 and step-batch, as cmd_inputs_steps takes
 * it. */
static char *name_steps(const struct job *job, size_t group)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    uint64_t first = 0, last = 0, number;
    bool open = false;

    for (size_t i = 0; out && i <= job->n; i++) {
        const char *id = i < job->n ? job->steps[i].name + 5 : "";
        bool counts = i < job->n && job->steps[i].group == group;
        bool digits = counts &&
                      num_parse_u64(id, 0, UINT32_MAX, &number, NULL) == 0;

        if (i < job->n && !counts)
            continue;
        if (digits && open && number == last + 1) {
            last = number;
            continue;
        }
        if (open && last > first)
            fprintf(out, "-%llu", (unsigned long long) last);
        if (i < job->n)
            fprintf(out, "%s%s", ftell(out) > 0 ? "+" : "", id); /* raw: id */
        open = digits;
        first = last = digits ? number : 0;
    }
    if (out && fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Fills the settings of the job's report: those of its first step that srun
 * has started, with the size of all. */
static void take_conf(struct report_session *s, struct jp_jobconf *conf)
{
    bool better = !s->has_conf || facts_is_script(s->conf.step_id);
    uint32_t tasks = conf->ntasks + (s->has_conf ? s->conf.ntasks : 0);
    uint64_t created = conf->created_us;

    if (s->has_conf && s->conf.created_us < created)
        created = s->conf.created_us;
    if (better) {
        if (s->has_conf)
            jobconf_fini(&s->conf);
        s->conf = *conf;
        s->has_conf = true;
    } else {
        jobconf_fini(conf);
    }
    s->conf.ntasks = tasks;
    s->conf.created_us = created;
}

/* Opens the session of the group's report. -1: err. */
static int session_open(struct report_session *s, const struct job *job,
                        size_t group, const char *job_dir, struct jp_error *err)
{
    char *name = name_steps(job, group);
    struct jp_policy site;

    s->dir = text_format("%s/" REPORT_JOB_FOLDER, job_dir);
    s->steps = calloc(job->n + 1, sizeof(*s->steps));
    if (!name || !s->dir || !s->steps) {
        free(name);
        return error_set(err, "out of memory");
    }
    ceiling_site(s->options->site, &site);
    s->policy = site;
    s->over = true;
    for (size_t i = 0; i < job->n; i++) {
        char *dir;
        struct jp_jobconf conf;

        if (job->steps[i].group != group)
            continue;
        dir = text_format("%s/%s", job_dir, job->steps[i].name);
        s->steps[s->n_steps] = dir;
        s->n_steps += dir != NULL;
        if (dir && jobconf_read_step(dir, NULL, &conf, NULL) == 0)
            take_conf(s, &conf);
    }
    if (s->has_conf) {
        s->policy = s->conf.policy;
        ceiling_apply(&s->policy, &site);
        /* unknown: a node may be in several steps */
        s->conf.nnodes = 0;
        s->conf.hidden = false;
        free(s->conf.step_id);
        s->conf.step_id = name;
        name = NULL;
        if (!s->options->paths && jobconf_hide_paths(&s->conf) < 0)
            return error_set(err, "out of memory");
    }
    free(name);
    return fileio_mkdir(s->dir, err) < 0 || stepdir_hold(s->dir, err) < 0 ? -1
                                                                          : 0;
}

void report_job_close(struct report_session *s)
{
    for (size_t i = 0; i < s->n_steps; i++)
        free(s->steps[i]);
    free(s->steps);
    s->steps = NULL;
    s->n_steps = 0;
    report_session_fini(s);
}

int report_job_open(struct report_session *s, const char *job_dir,
                    struct jp_error *err)
{
    struct job job = {0};
    size_t group;
    int rc = 0;

    error_set(err, "out of memory");
    if (job_read(&job, job_dir) == 0 &&
        (group = largest_group(&job)) != SIZE_MAX &&
        (s->options->kind == REPORT_USER || !job.unreported))
        rc = session_open(s, &job, group, job_dir, err) < 0 ? -1 : 1;
    job_fini(&job);
    return rc;
}

/* --- where the ranks are that a step lacks -------------------------------- */

/* Limits of what is read: communicators stand at the begin of a recording,
 * between its first operations. */
#define KIN_STEPS_MAX 64
#define KIN_RECORDS_MAX 4096

/* Whether the result lacks ranks of that communicator. */
static bool lacks_ranks(const struct jp_result *r, const char *id,
                        int64_t n_ranks)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].ranks_seen < r->comms[i].n_ranks &&
            r->comms[i].n_ranks == n_ranks && !strcmp(r->comms[i].id, id))
            return true;
    return false;
}

/* Whether the first recording of a step has such a communicator. */
static bool has_ranks(const char *dir, const struct jp_result *r)
{
    char *raw = text_format("%s/raw", dir);
    const char *inputs[] = {raw};
    struct jp_recwalk walk;
    struct jpr_record record;
    char id[RECORD_MAX_ID + 1];
    bool found = false;

    if (!raw || !stepdir_is_folder(raw) ||
        recwalk_init(&walk, inputs, 1, NULL) < 0) {
        free(raw);
        return false;
    }
    if (recwalk_open(&walk))
        for (size_t i = 0;
             i < KIN_RECORDS_MAX && !found && recwalk_record(&walk, &record);
             i++)
            if (record.type == JPR_COMM) {
                recfile_id(record.comm->id, id);
                found = lacks_ranks(r, id, record.comm->n_ranks);
            }
    recwalk_fini(&walk);
    free(raw);
    return found;
}

/* Whether any communicator of the result lacks ranks. */
static bool is_partial(const struct jp_result *r)
{
    for (size_t i = 0; r && i < r->n_comms; i++)
        if (r->comms[i].ranks_seen < r->comms[i].n_ranks)
            return true;
    return false;
}

/* Appends the ids of the steps in a job's directory that have such
 * communicators, except for the step itself. *looks counts the steps. */
static size_t find_in(const char *job, const char *self,
                      const struct jp_result *r, char *buf, size_t size,
                      size_t *looks)
{
    struct dirent **list = NULL;
    int n = stepdir_is_folder(job) ? scandir(job, &list, NULL, versionsort) : 0;
    size_t len = strlen(buf);

    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        char *dir;

        if (!strncmp(name, "step-", 5) && strcmp(name, self) != 0 &&
            (*looks)++ < KIN_STEPS_MAX &&
            (dir = text_format("%s/%s", job, name))) {
            if (len + 32 < size && has_ranks(dir, r))
                len += (size_t) snprintf(buf + len, size - len, "%s%.20s",
                                         len ? ", " : "", name + 5);
            free(dir);
        }
        free(list[i]);
    }
    free(list);
    return len;
}

char *report_job_kin(const char *step_dir, const struct jp_result *r, char *buf,
                     size_t size)
{
    char *job = is_partial(r) ? stepdir_job_dir(step_dir) : NULL;
    const char *base = job ? strrchr(job, '/') : NULL;
    const char *self = strrchr(step_dir, '/');
    size_t looks = 0;
    char *twin;

    buf[0] = '\0';
    if (!base || !self) {
        free(job);
        return buf;
    }
    find_in(job, self + 1, r, buf, size, &looks);
    /* a batch script, and the steps of a site's default, are hidden while they
     * run */
    twin = text_format("%.*s%s%s", (int) (base + 1 - job), job,
                       base[1] == '.' ? "" : ".", base + 1 + (base[1] == '.'));
    if (twin)
        find_in(twin, self + 1, r, buf, size, &looks);
    free(twin);
    free(job);
    return buf;
}
