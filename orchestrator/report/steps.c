/* steps.c - find the steps of a job. */
#include "orchestrator/report/steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/report/summary_file.h"

static bool is_same(const json_t *entry, const struct jp_step *step)
{
    uint64_t bytes, mtime;

    return summary_file_count(entry, "summary_bytes", &bytes) &&
           summary_file_count(entry, "summary_mtime_ns", &mtime) &&
           (int64_t) bytes == step->bytes &&
           (int64_t) mtime == step->mtime_ns &&
           json_is_string(json_object_get(entry, "verdict")) &&
           json_is_array(json_object_get(entry, "cells"));
}

/* The step's entry in a former job.json if its summary has not changed since;
 * borrowed. The search starts at *hint and goes round once. */
static json_t *find_known(const json_t *old, const struct jp_step *step,
                          size_t *hint)
{
    const json_t *steps = json_object_get(old, "steps");
    size_t n = json_array_size(steps);

    for (size_t i = 0; i < n; i++) {
        size_t at = (*hint + i) % n;
        json_t *entry = json_array_get(steps, at);

        if (strcmp(summary_file_text(entry, "dir"), step->dir))
            continue;
        *hint = at + 1;
        return is_same(entry, step) ? entry : NULL;
    }
    return NULL;
}

/* Copies a value as it is (numbers, null) or cleaned (text). */
static void copy(struct jp_json *j, json_t *entry, const char *key,
                 const json_t *from, const char *from_key)
{
    json_t *value = json_object_get(from, from_key);

    if (json_is_string(value))
        json_out_text(j, entry, key, json_string_value(value));
    else if (json_is_number(value) || json_is_object(value))
        json_out_put(j, entry, key, json_incref(value));
    else
        json_out_put(j, entry, key, json_null());
}

#define CELLS_KEPT 8

static double time_of(const json_t *cell)
{
    const json_t *exec = json_object_get(cell, "exec_us");
    double us = summary_file_real(exec, "mean") * summary_file_real(exec, "n");

    return isfinite(us) ? us : 0;
}

static void put_cell(struct jp_json *j, json_t *list, const json_t *cell)
{
    json_t *object = json_out_object(j);

    copy(j, object, "comm_type", cell, "comm_type");
    copy(j, object, "coll", cell, "coll");
    copy(j, object, "msg_size_bytes", cell, "msg_size_bytes");
    copy(j, object, "ops", cell, "ops");
    json_out_real(j, object, "time_us", time_of(cell));
    copy(j, object, "busbw_p50_gbs", json_object_get(cell, "busbw_gbs"), "p50");
    json_out_append(j, list, object);
}

/* The heaviest cells with a bandwidth, most time first. */
static void put_cells(struct jp_json *j, json_t *entry, const json_t *root)
{
    const json_t *cells = json_object_get(root, "cells"), *kept[CELLS_KEPT + 1];
    json_t *list = json_out_array(j);
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        size_t at = n;

        if (!(summary_file_real(json_object_get(cell, "busbw_gbs"), "p50") > 0))
            continue;
        for (; at > 0 && time_of(cell) > time_of(kept[at - 1]); at--)
            kept[at] = kept[at - 1];
        kept[at] = cell;
        n += n < CELLS_KEPT;
    }
    for (size_t i = 0; i < n; i++)
        put_cell(j, list, kept[i]);
    json_out_put(j, entry, "cells", list);
}

static void put_summary(struct jp_json *j, json_t *entry, const json_t *root)
{
    const json_t *job = json_object_get(root, "job");
    const json_t *verdict = json_object_get(root, "verdict");
    const json_t *quality = json_object_get(root, "quality");

    copy(j, entry, "verdict", verdict, "word");
    copy(j, entry, "text", verdict, "text");
    copy(j, entry, "name", job, "name");
    copy(j, entry, "command", job, "command");
    copy(j, entry, "nodes", job, "nodes");
    copy(j, entry, "ntasks", job, "ntasks");
    copy(j, entry, "labels", job, "labels");
    copy(j, entry, "created_us", job, "created_us");
    copy(j, entry, "written_us", root, "written_us");
    copy(j, entry, "records", quality, "records");
    copy(j, entry, "coverage", quality, "coverage");
    put_cells(j, entry, root);
}

static void put_paths(struct jp_json *j, json_t *entry,
                      const struct jp_step *step)
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

json_t *steps_entry(const char *job_dir, const struct jp_step *step,
                    const json_t *old, size_t *hint)
{
    json_t *known = find_known(old, step, hint);
    struct jp_json j = {0};
    struct jp_error why = {""};
    json_t *entry, *root;
    char *dir;

    if (known)
        return json_incref(known);
    dir = fileio_path("%s/%s", job_dir, step->dir);
    entry = json_out_object(&j);
    put_paths(&j, entry, step);
    root = dir ? summary_file_read(dir, SUMMARY_WITHOUT_TABLES, &why) : NULL;
    put_summary(&j, entry, root);
    if (!root)
        json_out_text(&j, entry, "text", dir ? why.text : "out of memory");
    json_decref(root);
    free(dir);
    if (j.failed) {
        json_decref(entry);
        entry = NULL;
    }
    return entry;
}

/* --- find the steps of a job */

static int is_step_name(const struct dirent *entry)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const char *name = entry->d_name;

    return !strncmp(name, "step-", 5) && name[5] &&
           !name[strspn(name, allowed)];
}

/* False where the folder has no summary.json. */
static bool look_at(int job_fd, const char *name, struct jp_step *step)
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

/* Takes the names over. */
static int collect(int job_fd, struct dirent **names, size_t n,
                   struct jp_steps *steps)
{
    int rc = 0;

    steps->list = calloc(n + 1, sizeof(*steps->list));
    for (size_t i = 0; i < n; i++) {
        struct jp_step step = {0};

        if (!steps->list) {
            rc = -1;
        } else if (look_at(job_fd, names[i]->d_name, &step)) {
            if (steps->n == JP_STEPS_MAX)
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

int steps_scan(const char *job_dir, struct jp_steps *steps,
               struct jp_error *err)
{
    struct jp_steps found = {0};
    struct dirent **names = NULL;
    int fd = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandirat(fd, ".", &names, is_step_name, versionsort);
    int rc = -1;

    if (n < 0) {
        error_set(err, "%s: %s", job_dir, strerror(errno));
        goto out;
    }
    if (collect(fd, names, (size_t) n, &found) < 0) {
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

void steps_fini(struct jp_steps *steps)
{
    for (size_t i = 0; i < steps->n; i++)
        free(steps->list[i].dir);
    free(steps->list);
    *steps = (struct jp_steps){0};
}

bool steps_equal(const struct jp_steps *a, const struct jp_steps *b)
{
    if (a->n != b->n || a->left_out != b->left_out)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].dir, b->list[i].dir) ||
            a->list[i].bytes != b->list[i].bytes ||
            a->list[i].mtime_ns != b->list[i].mtime_ns)
            return false;
    return true;
}
