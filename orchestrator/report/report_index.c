/* report_index.c - job.json and index.html over all steps of a job.
 *
 * Every step's report calls report_index when it ends, perhaps at the same time
 * on several nodes. write_until_stable therefore writes both files again until
 * no step has changed meanwhile: whoever writes last has seen all. An earlier
 * job.json saves reading summaries that have not changed. */
#include "orchestrator/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/num.h"
#include "orchestrator/report/index_page.h"
#include "orchestrator/report/summary_file.h"

#define STEPS_MAX 10000 /* in job.json; left_out counts the others */

/* The finished steps of a job directory: folders step-<id> (no symbolic links)
 * with a summary.json. */
struct step {
    char *dir;     /* "step-0": letters, digits, . _ - */
    int64_t bytes; /* size and mtime_ns of summary.json are its fingerprint */
    int64_t mtime_ns;
};

struct steps {
    struct step *list; /* sorted by id: step-2 before step-10 */
    size_t n;
    size_t left_out; /* number of steps beyond STEPS_MAX */
};

/* --- the entry of a step in job.json ------------------------------------- */

/* Returns true if the entry was made of this summary.json and has all members
 * that this version needs. */
static bool is_same(const json_t *entry, const struct step *step)
{
    uint64_t bytes, mtime;

    return json_tree_count(entry, "summary_bytes", &bytes) &&
           json_tree_count(entry, "summary_mtime_ns", &mtime) &&
           (int64_t) bytes == step->bytes &&
           (int64_t) mtime == step->mtime_ns &&
           json_is_string(json_object_get(entry, "verdict")) &&
           json_object_get(entry, "failed_on") &&
           json_is_object(json_object_get(entry, "util")) &&
           json_is_array(json_object_get(entry, "cells"));
}

/* Finds the step's entry in an earlier job.json, if its summary has not changed
 * since; borrowed. The search starts at *hint and wraps around once. */
static json_t *find_known(const json_t *old, const struct step *step,
                          size_t *hint)
{
    const json_t *steps = json_object_get(old, "steps");
    size_t n = json_array_size(steps);

    for (size_t i = 0; i < n; i++) {
        size_t at = (*hint + i) % n;
        json_t *entry = json_array_get(steps, at);

        if (strcmp(json_tree_text(entry, "dir"), step->dir))
            continue;
        /* both lists are sorted, so the next one is usually the match */
        *hint = at + 1;
        return is_same(entry, step) ? entry : NULL;
    }
    return NULL;
}

/* Copies a value of another job.json: numbers and null unchanged, text cleaned.
 */
static void copy_member(struct jp_json *j, json_t *entry, const char *key,
                        const json_t *from, const char *from_key)
{
    json_t *value = json_object_get(from, from_key);

    if (json_is_string(value))
        json_out_text(j, entry, key, json_string_value(value));
    else if (json_is_number(value) || json_is_object(value))
        /* shared, as neither document is changed later */
        json_out_put(j, entry, key, json_incref(value));
    else
        json_out_put(j, entry, key, json_null());
}

#define CELLS_KEPT 8 /* the heaviest of a step */

/* Set a value of a summary: null if it is unknown. */
static void put_text(struct jp_json *j, json_t *object, const char *key,
                     const char *text)
{
    json_out_text(j, object, key, *text ? text : NULL);
}

static void put_count(struct jp_json *j, json_t *object, const char *key,
                      uint64_t count)
{
    if (count == JSON_UNKNOWN)
        json_out_put(j, object, key, json_null());
    else
        json_out_count(j, object, key, count);
}

/* Appends a cell with the few figures that the trend needs. */
static void put_cell(struct jp_json *j, json_t *list,
                     const struct summary_cell *cell)
{
    json_t *object = json_out_object(j);

    put_text(j, object, "comm_type", cell->comm_type);
    put_text(j, object, "coll", cell->coll);
    put_count(j, object, "msg_size_bytes", cell->msg_size_bytes);
    put_count(j, object, "ops", cell->ops);
    json_out_real(j, object, "time_us", summary_cell_time(cell));
    json_out_real(j, object, "busbw_p50_gbs", cell->busbw_gbs.p50);
    json_out_append(j, list, object);
}

/* Keeps the heaviest cells with a bandwidth, most time first, for the trend. */
static void put_cells(struct jp_json *j, json_t *entry,
                      const struct summary_file *s)
{
    const struct summary_cell *kept[CELLS_KEPT + 1];
    json_t *list = json_out_array(j);
    size_t n = 0;

    for (size_t i = 0; i < s->n_cells; i++) {
        const struct summary_cell *cell = &s->cells[i];
        double time = summary_cell_time(cell);
        size_t at = n;

        if (!(cell->busbw_gbs.p50 > 0))
            continue;
        /* one place more than is kept: the lightest falls out at the end */
        for (; at > 0 && time > summary_cell_time(kept[at - 1]); at--)
            kept[at] = kept[at - 1];
        kept[at] = cell;
        /* the list grows up to its limit */
        n += n < CELLS_KEPT;
    }
    for (size_t i = 0; i < n; i++)
        put_cell(j, list, kept[i]);
    json_out_put(j, entry, "cells", list);
}

/* Copies what the index shows from a summary; null what is unknown. */
static void put_summary(struct jp_json *j, json_t *entry,
                        const struct summary_file *s)
{
    put_text(j, entry, "failed_on", s->end.fault ? s->end.node : "");
    put_text(j, entry, "verdict", s->verdict.word);
    put_text(j, entry, "text", s->verdict.text);
    put_text(j, entry, "plain", s->verdict.plain);
    put_text(j, entry, "name", s->job.name);
    put_text(j, entry, "command", s->job.command);
    put_count(j, entry, "nodes", s->job.nodes);
    put_count(j, entry, "ntasks", s->job.ntasks);
    if (s->job.labels) {
        json_t *labels = json_out_object(j);

        for (size_t i = 0; i < s->job.n_labels; i++)
            json_out_text(j, labels, s->job.labels[i].key,
                          s->job.labels[i].value);
        json_out_put(j, entry, "labels", labels);
    } else {
        json_out_put(j, entry, "labels", json_null());
    }
    put_count(j, entry, "created_us", s->job.created_us);
    put_count(j, entry, "written_us", s->written_us);
    put_count(j, entry, "records", s->quality.records);
    json_out_real(j, entry, "coverage", s->quality.coverage);
    put_cells(j, entry, s);
    index_page_step(j, entry, s);
}

/* Adds the step's names, its links, and the fingerprint of its summary. */
static void put_paths(struct jp_json *j, json_t *entry, const struct step *step)
{
    char path[512];

    json_out_text(j, entry, "id", step->dir + strlen("step-"));
    json_out_text(j, entry, "dir", step->dir);
    snprintf(path, sizeof(path), "%s/report.html", step->dir);
    json_out_text(j, entry, "report", path);
    snprintf(path, sizeof(path), "%s/%s", step->dir, JP_SUMMARY_NAME);
    json_out_text(j, entry, "summary", path);
    json_out_count(j, entry, "summary_bytes", (uint64_t) step->bytes);
    json_out_count(j, entry, "summary_mtime_ns", (uint64_t) step->mtime_ns);
}

/* Makes the entry of a step in job.json. Takes it from old (an earlier
 * job.json; NULL: none) if the fingerprint matches, else from the step's
 * summary.json. If that cannot be read, the verdict is null and the text holds
 * the reason. *hint, initially 0, makes a walk over all steps in order linear.
 * Returns a new reference, or NULL when out of memory. */
static json_t *steps_entry(const char *job_dir, const struct step *step,
                           const json_t *old, size_t *hint)
{
    json_t *known = find_known(old, step, hint);
    struct jp_json j = {0};
    struct summary_file summary = {0};
    struct jp_error why = {""};
    json_t *entry;
    bool read;
    char *dir;

    /* the usual case: only the step that has just ended is read */
    if (known)
        return json_incref(known);
    dir = text_format("%s/%s", job_dir, step->dir);
    entry = json_out_object(&j);
    put_paths(&j, entry, step);
    read = dir &&
           summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &summary, &why) == 0;
    if (dir)
        put_summary(&j, entry, &summary); /* unknown if it was not read */
    else
        j.failed = true;
    if (!read)
        json_out_text(&j, entry, "text", why.text);
    summary_file_fini(&summary);
    free(dir);
    if (j.failed) {
        json_decref(entry);
        entry = NULL;
    }
    return entry;
}

/* --- find the steps of a job --------------------------------------------- */

/* A filter of scandirat. The allowed characters are safe in a link. */
static int is_step_name(const struct dirent *entry)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const char *name = entry->d_name;

    return !strncmp(name, "step-", 5) && name[5] &&
           !name[strspn(name, allowed)];
}

/* Takes the fingerprint of the step's summary.json. Returns false if the folder
 * has none. Does not follow links, because a link could lead out of the job's
 * folder. */
static bool look_at(int job_fd, const char *name, struct step *step)
{
    int fd =
        openat(job_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool found;

    if (fd < 0)
        return false;
    found = fstatat(fd, JP_SUMMARY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode);
    close(fd);
    if (found) {
        step->bytes = st.st_size;
        step->mtime_ns = (int64_t) st.st_mtim.tv_sec * 1000000000 +
                         st.st_mtim.tv_nsec;
    }
    return found;
}

/* Keeps the folders that are steps. Takes over the names. Returns 0, or -1 when
 * out of memory. */
static int collect_steps(int job_fd, struct dirent **names, size_t n,
                         struct steps *steps)
{
    int rc = 0;

    steps->list = calloc(n + 1, sizeof(*steps->list));
    for (size_t i = 0; i < n; i++) {
        struct step step = {0};

        if (!steps->list) {
            rc = -1;
        } else if (look_at(job_fd, names[i]->d_name, &step)) {
            /* names are sorted, so the last steps are left out */
            if (steps->n == STEPS_MAX)
                steps->left_out++;
            else if ((step.dir = strdup(names[i]->d_name)))
                steps->list[steps->n++] = step;
            else
                rc = -1;
        }
        free(names[i]);
    }
    free(names);
    return steps->list ? rc : -1;
}

static void steps_fini(struct steps *steps)
{
    for (size_t i = 0; i < steps->n; i++)
        free(steps->list[i].dir);
    free(steps->list);
    *steps = (struct steps){0};
}

/* Lists the steps. An unreadable folder is an error. Free with steps_fini. */
static int steps_scan(const char *job_dir, struct steps *steps,
                      struct jp_error *err)
{
    struct steps found = {0};
    struct dirent **names = NULL;
    int fd = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandirat(fd, ".", &names, is_step_name, versionsort);
    int rc = -1;

    if (n < 0) {
        error_set(err, "%s: %s", job_dir, strerror(errno));
        goto out;
    }
    if (collect_steps(fd, names, (size_t) n, &found) < 0) {
        steps_fini(&found);
        error_set(err, "out of memory");
        goto out;
    }
    *steps = found;
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Returns true if both have the same folders with the same fingerprints. */
static bool steps_equal(const struct steps *a, const struct steps *b)
{
    if (a->n != b->n || a->left_out != b->left_out)
        return false;
    /* both lists are sorted */
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].dir, b->list[i].dir) ||
            a->list[i].bytes != b->list[i].bytes ||
            a->list[i].mtime_ns != b->list[i].mtime_ns)
            return false;
    return true;
}

/* --- job.json and index.html --------------------------------------------- */

#define JOB_SCHEMA 1 /* a file of another version is made again */
#define RUNS_MAX 99  /* of a requeued job */
#define ROUNDS 50    /* give up if a step ends during each of so many rounds */

/* Reads an earlier job.json, which only saves work; NULL: none. */
static json_t *read_old(const char *path)
{
    json_t *root = NULL;
    char *text = NULL;
    uint64_t schema = 0;
    size_t len;

    if (fileio_read(path, false, jsonload_limits[JSONLOAD_JOB].bytes, &text,
                    &len, NULL) == 0)
        root = jsonload(JSONLOAD_JOB, path, text, len, 0, NULL);
    free(text);
    /* another version or a damaged file is ignored */
    if (json_tree_count(root, "schema_version", &schema) &&
        schema == JOB_SCHEMA)
        return root;
    json_decref(root);
    return NULL;
}

/* Adds a fact about the job, unless it is unknown. */
static void put_fact(struct jp_json *j, json_t *job, const char *key,
                     const char *text)
{
    if (*text)
        json_out_text(j, job, key, text);
}

/* Returns the facts about the job, from the first step that has them. */
static json_t *job_facts(struct jp_json *j, const char *job_dir,
                         const struct steps *steps, const json_t *old)
{
    json_t *known = json_object_get(old, "job");
    json_t *job;

    if (json_is_integer(json_object_get(known, "id")))
        return json_incref(known);
    job = json_out_object(j);
    /* a few steps are enough: usually the first has the facts */
    for (size_t i = 0; i < steps->n && i < 16; i++) {
        char *dir = text_format("%s/%s", job_dir, steps->list[i].dir);
        struct summary_file s = {0};

        if (dir &&
            summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, NULL) == 0) {
            if (s.job.id != JSON_UNKNOWN)
                json_out_count(j, job, "id", s.job.id);
            put_fact(j, job, "array", s.job.array);
            if (s.job.restart != JSON_UNKNOWN)
                json_out_count(j, job, "restart", s.job.restart);
            put_fact(j, job, "name", s.job.name);
            put_fact(j, job, "user", s.job.user);
            put_fact(j, job, "account", s.job.account);
            put_fact(j, job, "partition", s.job.partition);
        }
        summary_file_fini(&s);
        free(dir);
        if (json_object_get(job, "id"))
            break;
    }
    return job;
}

/* Adds the report of the job's steps that share communicators, if there is one
 * (cmd_report_job.c). */
static void put_joined(struct jp_json *j, json_t *root, const char *job_dir)
{
    char *dir = text_format("%s/" REPORT_JOB_FOLDER, job_dir);
    struct summary_file s = {0};
    json_t *joined;

    if (dir && summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &s, NULL) == 0) {
        joined = json_out_object(j);
        put_text(j, joined, "steps", s.job.step);
        json_out_text(j, joined, "report", REPORT_JOB_FOLDER "/report.html");
        json_out_text(j, joined, "summary",
                      REPORT_JOB_FOLDER "/" JP_SUMMARY_NAME);
        put_text(j, joined, "verdict", s.verdict.word);
        put_text(j, joined, "text", s.verdict.text);
        put_text(j, joined, "plain", s.verdict.plain);
        put_count(j, joined, "written_us", s.written_us);
        json_out_put(j, root, "joined", joined);
    }
    summary_file_fini(&s);
    free(dir);
}

/* --- the runs of a job that was requeued ---------------------------------- */

/* Returns the run's number by its directory's name, ".../jobprof-12_r3": 3; 0:
 * the first one. *base: the length of the path without it. */
static unsigned run_of(const char *job_dir, size_t *base)
{
    const char *tail = strrchr(job_dir, '_');
    uint64_t n = 0;

    *base = strlen(job_dir);
    if (!tail || tail[1] != 'r' || strchr(tail, '/') ||
        num_parse_u64(tail + 2, 1, RUNS_MAX, &n, NULL) < 0)
        return 0;
    *base = (size_t) (tail - job_dir);
    return (unsigned) n;
}

/* Adds a run: its worst step, where a step of it failed first, when it began,
 * and when its last report was written. */
static void put_run(struct jp_json *j, json_t *runs, unsigned number,
                    const char *name, const json_t *steps)
{
    json_t *run = json_out_object(j);
    const json_t *worst = index_page_worst(steps), *failed = NULL;
    uint64_t began = 0, written = 0, us;

    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);

        if (json_tree_count(step, "created_us", &us) && us &&
            (!began || us < began))
            began = us;
        if (json_tree_count(step, "written_us", &us) && us > written)
            written = us;
        if (!failed && *json_tree_text(step, "failed_on"))
            failed = step;
    }
    json_out_count(j, run, "restart", number);
    json_out_text(j, run, "dir", name);
    copy_member(j, run, "verdict", worst, "verdict");
    copy_member(j, run, "plain", worst, "plain");
    copy_member(j, run, "failed_on", failed, "failed_on");
    json_out_count(j, run, "created_us", began);
    json_out_count(j, run, "written_us", written);
    json_out_append(j, runs, run);
}

/* Adds this run, and the earlier ones of a job that was requeued, to which each
 * run's directory is a neighbour. Nothing for the first run. */
static void put_runs(struct jp_json *j, json_t *root, const char *job_dir,
                     const json_t *steps)
{
    size_t base;
    unsigned self = run_of(job_dir, &base);
    json_t *runs = self ? json_out_array(j) : NULL;

    for (unsigned n = 0; runs && n < self; n++) {
        char *dir = n ? text_format("%.*s_r%u", (int) base, job_dir, n)
                      : text_format("%.*s", (int) base, job_dir);
        char *path = dir ? text_format("%s/job.json", dir) : NULL;
        json_t *old = path ? read_old(path) : NULL;

        if (old && strrchr(dir, '/'))
            put_run(j, runs, n, strrchr(dir, '/') + 1,
                    json_object_get(old, "steps"));
        json_decref(old);
        free(path);
        free(dir);
    }
    if (runs && strrchr(job_dir, '/'))
        put_run(j, runs, self, strrchr(job_dir, '/') + 1, steps);
    if (runs)
        json_out_put(j, root, "runs", runs);
}

/* --- all ------------------------------------------------------------------ */

/* Makes the content of job.json. A failure is remembered in *j. */
static json_t *make_job(struct jp_json *j, const char *job_dir,
                        const struct steps *steps, const json_t *old)
{
    json_t *root = json_out_object(j);
    json_t *generator = json_out_object(j);
    json_t *list = json_out_array(j);
    size_t hint = 0;

    json_out_count(j, root, "schema_version", JOB_SCHEMA);
    json_out_text(j, generator, "name", "jobprof");
    json_out_text(j, generator, "version", JP_VERSION);
    json_out_put(j, root, "generator", generator);
    json_out_put(j, root, "job", job_facts(j, job_dir, steps, old));
    put_joined(j, root, job_dir);
    for (size_t i = 0; i < steps->n; i++)
        json_out_append(j, list,
                        steps_entry(job_dir, &steps->list[i], old, &hint));
    put_runs(j, root, job_dir, list);
    index_page_job(j, root, list);
    json_out_put(j, root, "steps", list);
    json_out_count(j, root, "left_out", steps->left_out);
    return root;
}

/* Writes job.json by temp + rename. root stays the caller's. */
static int write_json(const char *path, json_t *root, struct jp_error *err)
{
    struct jp_json j = {0};
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (json_out_dump(&j, json_incref(root), file.stream, err) < 0) {
        fileio_temp_abort(&file);
        return error_wrap(err, "%s", path);
    }
    return fileio_temp_commit(&file, err);
}

static int write_page(const char *path, const json_t *root,
                      struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (index_page_write(root, file.stream) < 0) {
        fileio_temp_abort(&file);
        return error_set(err, "out of memory");
    }
    return fileio_temp_commit(&file, err);
}

/* Scans the steps once and writes both files from that. */
static int write_once(const char *job_dir, const char *const paths[2],
                      const struct steps *steps, struct jp_error *err)
{
    struct jp_json j = {0};
    /* read each time: another process may have written it */
    json_t *old = read_old(paths[0]);
    json_t *root = make_job(&j, job_dir, steps, old);
    int rc = -1;

    if (j.failed)
        error_set(err, "out of memory");
    else if (write_json(paths[0], root, err) == 0 &&
             write_page(paths[1], root, err) == 0)
        rc = 0;
    json_decref(root);
    json_decref(old);
    return rc;
}

/* Writes the files until two scans are equal. Another process may have scanned
 * before this step ended and write after it; then that process sees the change
 * in its second scan and writes again. */
static int write_until_stable(const char *job_dir, const char *const paths[2],
                              struct jp_error *err)
{
    struct steps before = {0}, after = {0};
    int rc = steps_scan(job_dir, &before, err);

    for (int round = 0; rc == 0 && round < ROUNDS; round++) {
        bool stable;

        if (write_once(job_dir, paths, &before, err) < 0 ||
            steps_scan(job_dir, &after, err) < 0) {
            rc = -1;
            break;
        }
        stable = steps_equal(&before, &after);
        steps_fini(&before);
        /* after owns the list that the next round compares with */
        before = after;
        if (stable)
            break;
    }
    steps_fini(&before);
    return rc;
}

int report_index(const char *job_dir, struct jp_error *err)
{
    char *json = text_format("%s/job.json", job_dir);
    char *page = text_format("%s/index.html", job_dir);
    const char *const paths[2] = {json, page};
    int rc = json && page ? write_until_stable(job_dir, paths, err)
                          : error_set(err, "out of memory");

    free(json);
    free(page);
    return rc;
}
