/* top_steps.c - the steps that `jobprof top` watches.
 *
 * A step is opened once (open_step: job.conf) and looked at again and again
 * (look_at: its nodes' snapshots). If the argument is a whole job, steps that
 * begin later are added. */
#include "orchestrator/live/top_steps.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/profiler.h"
#include "common/vector.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livewant.h"

/* Whether a step's directory has a file of that name. */
static bool has(const char *dir, const char *name)
{
    return stepdir_has(dir, name);
}

/* Explains why a step that has not ended has no data, as far as its job.conf
 * shows. */
static void explain(struct top_step *step, const struct jp_jobconf *conf)
{
    const char *mode = conf->nccl_mode ? conf->nccl_mode : "";
    const char *on_hang = jobconf_find(conf, "on_hang");
    const struct jp_profiler *profiler = profiler_get(mode);
    const char *why = "it has not used NCCL yet";

    /* the order is that of certainty: profiler, site, option */
    if (!profiler->records_live && !profiler->records_ended)
        why = "its profiler shows nothing while a step runs; the recorder does";
    else if (!conf->policy.hang_suspect_ms)
        why = "the site has switched this off (policy.hang_suspect = 0)";
    else if (on_hang && !strcmp(on_hang, "off"))
        why = "on_hang=off has switched this off";
    snprintf(step->text, sizeof(step->text),
             "step %s: no node has written data: %s", step->name, why);
}

/* Describes a step that has ended. A hidden directory is moved at the end. */
static void say_ended(struct top_step *step)
{
    const char *dir = step->final_dir && !stepdir_is_folder(step->dir)
                          ? step->final_dir
                          : step->dir;
    /* a report without a page is one of a release or a site without it */
    const char *page = has(dir, "report.html") ? "report.html" : "summary.txt";

    step->status = TOP_ENDED;
    if (has(dir, JP_SUMMARY_NAME))
        snprintf(step->text, sizeof(step->text),
                 "step %s has ended; its report: %.800s/%s", step->name, dir,
                 page);
    else
        snprintf(step->text, sizeof(step->text),
                 "the tasks of step %s have ended; its report is not there "
                 "yet (jobprof report %.800s)",
                 step->name, dir);
}

/* Reads job.conf and computes its checksum. hash stays "" if it cannot be
 * computed. Returns -1 and err if job.conf cannot be read. */
static int read_conf(struct top_step *step, struct jp_jobconf *conf,
                     char hash[SHA256_HEX], struct jp_error *err)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, step->dir);
    int rc = path ? jobconf_read(path, conf, err)
                  : error_set(err, "out of memory");

    if (rc == 0 && jobconf_hash(path, hash, NULL) < 0)
        *hash = '\0';
    free(path);
    return rc;
}

/* Reads the facts of a step. Returns -1 and err if its job.conf cannot be read.
 */
static int open_step(struct top_step *step, struct jp_error *err)
{
    struct livestate_place place = {.dir = step->dir};
    char name[JP_JOBCONF_NAME_LEN];
    struct jp_jobconf conf;
    char hash[SHA256_HEX] = "";

    if (read_conf(step, &conf, hash, err) < 0)
        return -1;
    place.conf = livesnap_conf(hash);
    snprintf(step->name, sizeof(step->name), "%.63s",
             jobconf_step_name(&conf, name));
    place.nodes = conf.nnodes;
    /* with hang detection off, the default still classifies ages */
    hung_times_set(&place.times, conf.policy.hang_suspect_ms
                                     ? conf.policy.hang_suspect_ms
                                     : JP_DEF_HANG_SUSPECT_MS);
    livestate_init(&step->state, &place);
    step->final_dir = conf.final_dir && *conf.final_dir ? strdup(conf.final_dir)
                                                        : NULL;
    explain(step, &conf);
    jobconf_fini(&conf);
    return 0;
}

/* Asks the nodes of a step to write more often while a user watches. Only in a
 * directory that is ours, and only while the nodes write data. */
static void ask_for_data(struct top_step *step)
{
    char *nodes = text_format("%s/" LIVE_NODES, step->dir);

    /* another user's directory is not written to */
    step->asked = nodes && stepdir_is_folder(nodes) &&
                  stepdir_check_own(step->dir, NULL) == 0 &&
                  livewant_touch(step->dir, NULL) == 0;
    free(nodes);
}

/* Reads a step's snapshots and sets its status. Returns -1 and err without
 * memory. */
static int look_at(struct top_step *step, struct jp_error *err)
{
    const struct livestate_time now = {clock_real_us() * 1000, clock_mono_ms()};
    int rc;

    if (step->status == TOP_ENDED) {
        say_ended(step); /* the report may exist by now */
        return 0;
    }
    rc = livestate_look(&step->state, &now, err);
    if (rc > 0 && step->state.word != LIVESTATE_ENDED) {
        step->status = TOP_RUNS;
        step->seen = true;
        ask_for_data(step);
    } else if (rc >= 0) {
        step->status = TOP_SILENT;
        /* the snapshots are removed at the end, so their absence may mean the
         * end */
        if (rc > 0 || step->seen || has(step->dir, JP_SUMMARY_NAME) ||
            has(step->dir, "alldone"))
            say_ended(step);
    }
    return rc < 0 ? -1 : 0;
}

/* Returns the step with that directory, or NULL. */
static struct top_step *find_step(struct top *top, const char *dir)
{
    for (size_t i = 0; i < top->n; i++)
        if (!strcmp(top->steps[i].dir, dir))
            return &top->steps[i];
    return NULL;
}

/* Adds a new step. Takes ownership of dir. */
static int add_step(struct top *top, char *dir, struct jp_error *err)
{
    struct top_step *more;

    if (VECTOR_DOUBLE(top->steps, top->n) < 0) {
        free(dir);
        return error_set(err, "out of memory");
    }
    more = &top->steps[top->n];
    *more = (struct top_step){.dir = dir, .status = TOP_SILENT};
    if (open_step(more, err) < 0) {
        free(dir);
        return -1;
    }
    top->n++;
    return 0;
}

/* Adds the steps of word that are not there yet. Sets job_dir if word means a
 * whole job. */
int top_find_steps(struct top *top, const char *word, struct jp_error *err)
{
    char **dirs = NULL;
    size_t n = 0;
    int rc = 0;

    if (cmd_inputs_steps(word, top->config, &dirs, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!find_step(top, dirs[i])) {
            /* a step without job.conf is not yet a step */
            if (add_step(top, dirs[i], err) < 0 && n == 1)
                rc = -1;
            dirs[i] = NULL;
        }
    /* the directory of a job */
    if (rc == 0 && !top->job_dir && n && stepdir_is_folder(word) &&
        !has(word, JP_JOBCONF_NAME))
        top->job_dir = strdup(word);
    /* JOBID without a step */
    else if (rc == 0 && !top->job_dir && n && !stepdir_is_folder(word) &&
             !strchr(word, '.'))
        top->job_dir = top->n ? stepdir_job_dir(top->steps[0].dir) : NULL;
    nodelist_free(dirs, n);
    return rc;
}

int top_look(struct top *top, struct jp_error *err)
{
    if (top->job_dir)
        /* an error now is not an error of the steps that are known */
        top_find_steps(top, top->job_dir, NULL);
    for (size_t i = 0; i < top->n; i++)
        if (look_at(&top->steps[i], err) < 0)
            return -1;
    return 0;
}

bool top_writes(const char *dir)
{
    const struct livestate_time now = {clock_real_us() * 1000, clock_mono_ms()};
    struct top_step step = {.dir = (char *) dir};
    bool found = false;

    if (open_step(&step, NULL) < 0)
        return false;
    if (livestate_look(&step.state, &now, NULL) > 0)
        for (size_t i = 0; i < step.state.n_nodes; i++)
            found |= !step.state.nodes[i].last && !step.state.nodes[i].stale;
    livestate_fini(&step.state);
    free(step.final_dir);
    return found;
}

void top_fini(struct top *top)
{
    for (size_t i = 0; i < top->n; i++) {
        livestate_fini(&top->steps[i].state);
        free(top->steps[i].dir);
        free(top->steps[i].final_dir);
    }
    free(top->steps);
    free(top->job_dir);
}

/* --- no argument --------------------------------------------------------- */

/* Returns the step whose snapshots folder below the current folder changed
 * last; NULL: none. Caller frees. */
static char *find_newest(void)
{
    static const char *const patterns[] = {"jobprof-*/step-*/" LIVE_NODES,
                                           ".jobprof-*/step-*/" LIVE_NODES};
    struct timespec newest = {0};
    char *dir = NULL;

    for (size_t p = 0; p < sizeof(patterns) / sizeof(*patterns); p++) {
        glob_t found = {0};
        struct stat st;

        if (glob(patterns[p], GLOB_NOSORT, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *path = found.gl_pathv[i];

            /* a link could lead to any folder */
            if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) ||
                st.st_mtim.tv_sec < newest.tv_sec ||
                (st.st_mtim.tv_sec == newest.tv_sec &&
                 st.st_mtim.tv_nsec <= newest.tv_nsec))
                continue;
            newest = st.st_mtim;
            free(dir);
            dir = strndup(path, strlen(path) - strlen("/" LIVE_NODES));
        }
        globfree(&found);
    }
    return dir;
}

/* *made: caller frees. */
const char *top_default_word(char **made)
{
    const char *job = getenv("SLURM_JOB_ID");

    *made = NULL;
    if (job && *job)
        return job;
    *made = find_newest();
    return *made;
}
