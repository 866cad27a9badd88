/* report_jobs.c - one page over the jobs of a folder, worst first.
 *
 * A job is a folder with a job.json, which the report of its last step wrote.
 * For each job, the page shows the verdict of its worst step.
 */
#include "orchestrator/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/jsonload.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/index_page.h"
#include "orchestrator/table/table.h"

#define JOB_FILE "job.json"
/* if there are more, those with the latest names, because each file is read
 * whole */
#define JOBS_MAX 2000

/* A job, and its line in the page. */
struct job {
    char *dir, *id, *name, *user, *step, *text; /* owned */
    enum jp_verdict_word word;
    uint64_t steps, nodes, created_us;
};

struct jobs {
    struct job *list;
    size_t n, left_out;
};

/* Also frees a job that is filled in part. */
static void job_fini(struct job *job)
{
    free(job->dir);
    free(job->id);
    free(job->name);
    free(job->user);
    free(job->step);
    free(job->text);
}

static void jobs_fini(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        job_fini(&jobs->list[i]);
    free(jobs->list);
}

/* --- find and read them --------------------------------------------------- */

/* Returns true for a folder (not a link) with a job.json that is a file (not a
 * link). */
static bool is_job(int folder, const char *name)
{
    struct stat st;
    /* "." and ".." are no jobs */
    int fd = name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]))
                 ? -1
                 : openat(folder, name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is = fd >= 0 && fstatat(fd, JOB_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
              S_ISREG(st.st_mode);

    if (fd >= 0)
        close(fd);
    return is;
}

bool report_jobs_is_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool found = false;

    if (!dir && fd >= 0)
        close(fd);
    /* stops at the first job */
    while (dir && !found && (entry = readdir(dir)))
        found = is_job(fd, entry->d_name);
    if (dir)
        closedir(dir);
    return found;
}

/* Returns the step's verdict. Worse words have smaller numbers. */
static enum jp_verdict_word word_of(const json_t *step)
{
    const char *text = json_tree_text(step, "verdict");

    for (int i = 0; i <= JP_VERDICT_OK; i++)
        if (!strcmp(text, verdict_word_name((enum jp_verdict_word) i)))
            return (enum jp_verdict_word) i;
    return JP_VERDICT_NODATA; /* its job.json cannot be read */
}

/* Copies the fields that the page shows. Returns false when out of memory; free
 * *job in any case. */
static bool take_job(const json_t *root, const char *name, struct job *job)
{
    const json_t *steps = json_tree_at(root, "steps");
    const json_t *facts = json_tree_at(root, "job"), *worst = NULL;
    uint64_t id, n;

    job->word = JP_VERDICT_NODATA;
    job->steps = json_array_size(steps);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);

        if (!worst || word_of(step) < job->word) {
            worst = step;
            job->word = word_of(step);
        }
        /* the job's size is that of its largest step, its start that of the
         * first */
        if (json_tree_count(step, "nodes", &n) && n > job->nodes)
            job->nodes = n;
        if (json_tree_count(step, "created_us", &n) && n &&
            (!job->created_us || n < job->created_us))
            job->created_us = n;
    }
    if (*json_tree_text(facts, "array"))
        job->id = strdup(json_tree_text(facts, "array"));
    else
        job->id = json_tree_count(facts, "id", &id)
                      ? text_format("%" PRIu64, id)
                      : strdup(name);
    job->dir = strdup(name);
    job->name = strdup(json_tree_text(facts, "name"));
    job->user = strdup(json_tree_text(facts, "user"));
    job->step = strdup(json_tree_text(worst, "id"));
    job->text = strdup(index_page_sentence(worst));
    return job->id && job->dir && job->name && job->user && job->step &&
           job->text;
}

/* Returns 1 if the job was read, 0 if there is no job.json of ours, -1 when out
 * of memory. */
static int read_job(const char *folder, const char *name, struct job *job)
{
    char *path = text_format("%s/%s/" JOB_FILE, folder, name), *text = NULL;
    json_t *root = NULL;
    size_t len;
    int rc = path ? 0 : -1;

    /* a file that cannot be read is no job, and no error */
    if (path && fileio_read(path, false, jsonload_limits[JSONLOAD_JOB].bytes,
                            &text, &len, NULL) == 0)
        root = jsonload(JSONLOAD_JOB, path, text, len, 0, NULL);
    /* job.json is a common name: accept only ours */
    if (!strcmp(json_tree_text(root, "generator.name"), "jobprof"))
        rc = take_job(root, name, job) ? 1 : -1;
    json_decref(root);
    free(text);
    free(path);
    return rc;
}

/* Reads the jobs, the last names first, so JOBS_MAX leaves out the oldest.
 * Returns 0, or -1 when out of memory. */
static int collect_jobs(const char *folder, struct dirent **names, size_t n,
                        struct jobs *jobs)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    jobs->list = calloc(n + 1, sizeof(*jobs->list));
    if (!jobs->list)
        rc = -1;
    for (size_t i = n; rc >= 0 && i-- > 0;) {
        struct job job = {0};

        /* folders of other things are common */
        if (!is_job(fd, names[i]->d_name))
            continue;
        if (jobs->n == JOBS_MAX) {
            jobs->left_out++;
            continue;
        }
        rc = read_job(folder, names[i]->d_name, &job);
        if (rc > 0)
            jobs->list[jobs->n++] = job;
        else
            job_fini(&job);
    }
    if (fd >= 0)
        close(fd);
    return rc < 0 ? -1 : 0;
}

/* Worst first; of equally bad ones the latest first. */
static int by_badness(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    if (x->created_us != y->created_us)
        return x->created_us > y->created_us ? -1 : 1;
    return -strverscmp(x->dir, y->dir);
}

/* --- the page ------------------------------------------------------------- */

static void put_link(FILE *out, const struct job *job)
{
    fputs("<a href=\"", out);
    html_out_text(out, job->dir);
    fputs("/index.html\">", out);
    html_out_text(out, job->id);
    fputs("</a>", out);
}

/* "12 jobs: 1 HANG, 2 SLOW, 9 OK." */
static void put_counts(FILE *out, const struct jobs *jobs)
{
    size_t count[JP_VERDICT_OK + 1] = {0};

    for (size_t i = 0; i < jobs->n; i++)
        count[jobs->list[i].word]++;
    html_out_verdicts(out, "job", jobs->n, count);
}

/* Writes the verdict of the worst job, as the list is sorted. */
static void put_answer(FILE *out, const struct jobs *jobs)
{
    const struct job *worst = &jobs->list[0];
    const char *word = verdict_word_name(worst->word);

    fprintf(out,
            "<div id=\"answer\" class=\"%s\">\n<div class=\"verdict\">"
            "<strong>%s</strong><p>Job ",
            word, word);
    put_link(out, worst);
    fputs(", step ", out);
    html_out_text(out, worst->step);
    fputs(": ", out);
    html_out_text(out, worst->text);
    fputs("</p></div>\n", out);
    put_counts(out, jobs);
    fputs("</div>\n", out);
}

/* --- the list ------------------------------------------------------------- */

JP_GETTER(link, job, {
    value_text(v, at->id);
    snprintf(v->buf, sizeof(v->buf), "%s/index.html", at->dir);
    v->more = v->buf;
})
JP_GETTER(word, job, value_text(v, verdict_word_name(at->word));
          v->more = v->text)
JP_GETTER(started, job, value_text(v, figure_utc(at->created_us, v->buf)))

#define FIELD(member) JP_FIELD(struct job, member)
/* key, kind, flags, places in JSON, on the page and in text */
static const struct jp_column columns[] = {
    {"job", JP_COL_LINK, 0, 0, 1, 0, "Job", .get = get_link},
    {"verdict", JP_COL_VERDICT, JP_TIP, 0, 2, 0, "Verdict", "of its worst step",
     .get = get_word},
    {"summary", JP_COL_PROSE, JP_TIP, 0, 3, 0, "Summary",
     "verdict sentence of the worst step", .none = "", FIELD(text)},
    {"step", JP_COL_TEXT, 0, 0, 4, 0, "Worst step", .none = "", FIELD(step)},
    {"steps", JP_COL_COUNT, 0, 0, 5, 0, "Steps", FIELD(steps)},
    {"nodes", JP_COL_COUNT, JP_TIP, 0, 6, 0, "Nodes", "of its largest step",
     .zero = "-", FIELD(nodes)},
    {"started", JP_COL_TEXT, 0, 0, 7, 0, "Started", .get = get_started},
    {"name", JP_COL_TEXT, 0, 0, 8, 0, "Name", .none = "", FIELD(name)},
    {"user", JP_COL_TEXT, 0, 0, 9, 0, "User", .none = "", FIELD(user)},
};
#undef FIELD
static const struct jp_table table = {.name = "jobs",
                                      JP_COLUMNS(columns),
                                      .row_size = sizeof(struct job),
                                      .max_html = JOBS_MAX};

/* Writes the page; failed writes show in the stream. Returns -1 without memory.
 */
static int page_write(const struct jobs *jobs, FILE *out)
{
    int rc;

    html_out_begin(out, "jobprof: jobs");
    fputs("<main class=\"job\">\n<h1>jobprof &middot; jobs of this folder"
          "</h1>\n",
          out);
    put_answer(out, jobs);
    fputs("<section id=\"steps\"><h2>Jobs, worst first</h2>\n", out);
    rc = table_write_html(
        &table, &(const struct table_source){.rows = jobs->list, .n = jobs->n},
        out);
    if (jobs->left_out)
        fprintf(out, "<p class=\"note\">%s older folder%s left out.</p>\n",
                FIG_COUNT(jobs->left_out),
                jobs->left_out == 1 ? " is" : "s are");
    fputs("</section>\n</main>\n", out);
    html_out_end(out);
    return rc;
}

int report_jobs(const char *folder, struct report_jobs_done *done,
                struct jp_error *err)
{
    struct dirent **names = NULL;
    struct jobs jobs = {0};
    char *path = text_format("%s/" REPORT_JOBS_NAME, folder);
    /* sorted by name, numbers by value: job 9 before job 10 */
    int n = scandir(folder, &names, NULL, versionsort), rc = -1;
    struct jp_tempfile file;

    if (n < 0) {
        error_set(err, "%s: %s", folder, strerror(errno));
    } else if (!path || collect_jobs(folder, names, (size_t) n, &jobs) < 0) {
        error_set(err, "out of memory");
    } else if (!jobs.n) {
        error_set(err, "%s: no job with a report in this folder", folder);
    } else if (fileio_temp_open_in(&file, path, OWNPLACE_ANY, err) == 0) {
        /* the worst job is the first; *done needs it, too */
        qsort(jobs.list, jobs.n, sizeof(*jobs.list), by_badness);
        if (page_write(&jobs, file.stream) < 0) {
            fileio_temp_abort(&file);
            error_set(err, "out of memory");
        } else {
            *done = (struct report_jobs_done){jobs.n, jobs.list[0].word};
            rc = fileio_temp_commit(&file, err);
        }
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    jobs_fini(&jobs);
    free(path);
    return rc;
}
