/* cmd_compare_earlier.c - find an earlier report of the same program.
 *
 * Candidates are the steps of the jobs' directories that lie beside the step's
 * own, and jobs of the same name that a command has kept (history). A
 * candidate counts if its summary.json has the same job name, number of ranks
 * and nodes, and if it is older. */
#include "orchestrator/cmd/cmd_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/report/summary_file.h"

#define DAY_US INT64_C(86400000000)
/* Reports that are read; more would take too long. */
#define REPORTS_READ 2000
/* Jobs of the same name that are looked for elsewhere. */
#define JOBS_LOOKED 50

/* What decides whether two steps are comparable. */
struct facts {
    char name[128];
    uint64_t job, restart, n_ranks, nodes, created_us;
    char step[64];
    double period_us; /* NAN: unknown */
    bool whole;       /* its data is complete enough for a comparison */
};

struct search {
    struct facts own;
    enum earlier which;
    const char *config;
    struct earlier_found best;
    int64_t best_off_us; /* from a week before */
    size_t read;
    /* jobs of the same name that commands know of, such as the history */
    char *jobs[JOBS_LOOKED];
    size_t n_jobs;
};

/* Reads the facts of a report. Returns -1 and err if it cannot be read. */
static int read_facts(const char *dir, struct facts *f, struct jp_error *err)
{
    struct summary_file s;

    if (summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, err) < 0)
        return -1;
    *f = (struct facts){.period_us = s.iteration.period_us,
                        .whole = !summary_file_is(&s, "INCOMPLETE") &&
                                 !summary_file_is(&s, "NODATA"),
                        .job = json_count_or(s.job.id, 0),
                        .restart = json_count_or(s.job.restart, 0),
                        .n_ranks = json_count_or(s.job.ntasks, 0),
                        .nodes = json_count_or(s.job.nodes, 0),
                        .created_us = json_count_or(s.job.created_us, 0)};
    snprintf(f->name, sizeof(f->name), "%.*s", (int) sizeof(f->name) - 1,
             s.job.name);
    snprintf(f->step, sizeof(f->step), "%.*s", (int) sizeof(f->step) - 1,
             s.job.step);
    summary_file_fini(&s);
    return 0;
}

/* Whether the report is an older one of the same program and size. */
static bool is_comparable(const struct facts *own, const struct facts *f)
{
    bool same = f->job == own->job && f->restart == own->restart &&
                !strcmp(f->step, own->step);

    return !same && f->whole && !strcmp(f->name, own->name) &&
           f->n_ranks == own->n_ranks && f->nodes == own->nodes &&
           f->created_us && f->created_us < own->created_us;
}

/* Whether it is better than the one that was found so far. */
static bool is_better(const struct search *s, const struct facts *f,
                      int64_t off_us)
{
    if (s->which == EARLIER_WEEK)
        return off_us <= 3 * DAY_US &&
               (!s->best.dir || off_us < s->best_off_us);
    return isfinite(f->period_us) && f->period_us > 0 &&
           (!s->best.dir || f->period_us < s->best.period_us);
}

/* Looks at a step's report. Without one it is skipped. Returns -1 without
 * memory. */
static int look(struct search *s, const char *dir)
{
    int64_t off_us;
    struct facts f;
    char *copy;

    if (s->read == REPORTS_READ || read_facts(dir, &f, NULL) < 0)
        return 0;
    s->read++;
    if (!is_comparable(&s->own, &f))
        return 0;
    s->best.of++;
    off_us = (int64_t) (s->own.created_us - f.created_us) - 7 * DAY_US;
    off_us = off_us < 0 ? -off_us : off_us;
    if (!is_better(s, &f, off_us))
        return 0;
    copy = strdup(dir);
    if (!copy)
        return -1;
    free(s->best.dir);
    s->best.dir = copy;
    s->best.period_us = f.period_us;
    snprintf(s->best.when, sizeof(s->best.when), "%s", FIG_UTC(f.created_us));
    s->best_off_us = off_us;
    return 0;
}

/* Looks at the steps of the jobs beside that of step_dir. */
static int look_beside(struct search *s, const char *step_dir)
{
    char *path = realpath(step_dir, NULL), **dirs = NULL;
    size_t n = 0;
    int rc = 0;

    /* the job's directory, then its folder */
    for (int i = 0; path && i < 2; i++) {
        char *slash = strrchr(path, '/');

        if (slash && slash > path)
            *slash = '\0';
    }
    if (path)
        rc = cmd_inputs_jobs(path, &dirs, &n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = look(s, dirs[i]);
    nodelist_free(dirs, n);
    free(path);
    return rc;
}

/* Keeps a job of the same name, the last ones. A callback of
 * command.earlier. */
static int keep_job(void *arg, uint64_t id, const char *step)
{
    struct search *s = arg;
    char *word;

    if (id == s->own.job)
        return 0;
    word = text_format("%" PRIu64 ".%s", id, step);
    if (!word)
        return -1;
    free(s->jobs[s->n_jobs % JOBS_LOOKED]);
    s->jobs[s->n_jobs++ % JOBS_LOOKED] = word;
    return 0;
}

/* Looks at the jobs that commands know of. What cannot be found any more is
 * skipped. */
static int look_in_commands(struct search *s, const struct jp_sitefile *site)
{
    int rc = 0;

    for (size_t i = 0; command_registry[i] && rc == 0; i++)
        if (command_registry[i]->earlier)
            rc = command_registry[i]->earlier(site, s->own.name, keep_job, s);
    for (size_t i = 0; rc == 0 && i < JOBS_LOOKED; i++) {
        char **dirs = NULL;
        size_t n = 0;

        if (s->jobs[i] &&
            cmd_inputs_steps(s->jobs[i], s->config, &dirs, &n, NULL) == 0)
            for (size_t k = 0; rc == 0 && k < n; k++)
                rc = look(s, dirs[k]);
        nodelist_free(dirs, n);
    }
    for (size_t i = 0; i < JOBS_LOOKED; i++)
        free(s->jobs[i]);
    return rc;
}

int earlier_find(const char *step_dir, const char *config,
                 const struct jp_sitefile *site, enum earlier which,
                 struct earlier_found *found, struct jp_error *why)
{
    struct search s = {.which = which, .config = config};
    int rc;

    if (read_facts(step_dir, &s.own, why) < 0)
        return -1;
    if (!*s.own.name)
        return error_set(why, "%s: its report names no job", step_dir);
    s.best.period_us = NAN;
    rc = look_beside(&s, step_dir);
    if (rc == 0)
        rc = look_in_commands(&s, site);
    if (rc < 0) {
        free(s.best.dir);
        return error_set(why, "out of memory");
    }
    s.best.own_us = s.own.period_us;
    s.best.n_ranks = s.own.n_ranks;
    snprintf(s.best.name, sizeof(s.best.name), "%s", s.own.name);
    *found = s.best;
    if (s.best.dir)
        return 1;
    if (!s.best.of)
        error_set(
            why,
            "no earlier report of \"%s\" with %s ranks is beside it or in "
            "the history",
            s.own.name, FIG_COUNT(s.own.n_ranks));
    else
        error_set(why, "%s earlier report%s of \"%s\" with %s ranks, none %s",
                  FIG_COUNT(s.best.of), plural(s.best.of), s.own.name,
                  FIG_COUNT(s.own.n_ranks),
                  which == EARLIER_WEEK ? "of 4 to 10 days before"
                                        : "with a known time of a step");
    return 0;
}
