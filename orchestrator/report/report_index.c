/* report_index.c - job.json and index.html over all steps of a job.
 *
 * Reports of two steps may end at once, on two hosts. Nobody locks: who has
 * renamed both files into place looks again, and writes again if a step came or
 * changed meanwhile. Whoever renames last thus has seen every summary.json that
 * was there at that time, and a later one brings its own call.
 */
#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/report/index_page.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/report/steps.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/version.h"

#define JOB_SCHEMA 1
#define JOB_MAX_BYTES (32 * 1024 * 1024)
#define ROUNDS 50 /* a step ends during each of them: give up */

/* A former job.json, or NULL: it only saves reading. */
static json_t *read_old(const char *path)
{
    json_t *root = NULL;
    char *text = NULL;
    uint64_t schema = 0;
    size_t len;

    if (fileio_read(path, false, JOB_MAX_BYTES, &text, &len, NULL) == 0)
        root = json_loadb(text, len, 0, NULL);
    free(text);
    if (summary_file_count(root, "schema_version", &schema) &&
        schema == JOB_SCHEMA)
        return root;
    json_decref(root);
    return NULL;
}

/* The job's own facts, from the first step that knows them. */
static json_t *job_facts(struct jp_json *j, const char *job_dir,
                         const struct jp_steps *steps, const json_t *old)
{
    static const char *const keys[] = {"id",   "restart", "name",
                                       "user", "account", "partition"};
    json_t *known = json_object_get(old, "job");
    json_t *job;

    if (json_is_integer(json_object_get(known, "id")))
        return json_incref(known);
    job = json_out_object(j);
    for (size_t i = 0; i < steps->n && i < 16; i++) {
        char *dir = fileio_path("%s/%s", job_dir, steps->list[i].dir);
        json_t *root = dir ? summary_file_read(dir, NULL) : NULL;
        const json_t *from = json_object_get(root, "job");

        for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
            json_t *value = json_object_get(from, keys[k]);

            if (json_is_string(value))
                json_out_text(j, job, keys[k], json_string_value(value));
            else if (json_is_integer(value))
                json_out_put(j, job, keys[k], json_incref(value));
        }
        json_decref(root);
        free(dir);
        if (json_object_get(job, "id"))
            break;
    }
    return job;
}

static json_t *make_job(struct jp_json *j, const char *job_dir,
                        const struct jp_steps *steps, const json_t *old)
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
    for (size_t i = 0; i < steps->n; i++)
        json_out_append(j, list,
                        steps_entry(job_dir, &steps->list[i], old, &hint));
    json_out_put(j, root, "steps", list);
    json_out_count(j, root, "left_out", steps->left_out);
    return root;
}

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
    index_page_write(root, file.stream);
    return fileio_temp_commit(&file, err);
}

/* Writes both files from one look at the steps. */
static int write_once(const char *job_dir, const char *const paths[2],
                      const struct jp_steps *steps, struct jp_error *err)
{
    struct jp_json j = {0};
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

static int write_until_stable(const char *job_dir, const char *const paths[2],
                              struct jp_error *err)
{
    struct jp_steps before = {0}, after = {0};
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
        before = after;
        if (stable)
            break;
    }
    steps_fini(&before);
    return rc;
}

int report_index(const char *job_dir, struct jp_error *err)
{
    char *json = fileio_path("%s/job.json", job_dir);
    char *page = fileio_path("%s/index.html", job_dir);
    const char *const paths[2] = {json, page};
    int rc = json && page ? write_until_stable(job_dir, paths, err)
                          : error_set(err, "out of memory");

    free(json);
    free(page);
    return rc;
}
