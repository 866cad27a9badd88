/* upload_docs.c - write a step's report as documents of the bulk API.
 *
 * put_all is the order: documents of operations (every n-th, if there are too
 * many), of cells, and one of the step. A document is two lines: put_action has
 * its index and its id, begin_source what all documents of a job share. Values
 * come from the report's CSV files and summary.json, so a report can be
 * uploaded at any time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/show/csvtable.h"
#include "orchestrator/upload/upload.h"

/* The type of a communicator, by its id and name. */
struct comm {
    char *id, *name, *type;
};

/* The step whose report is uploaded. */
struct job {
    struct jp_jobconf conf;
    uid_t uid; /* the owner of the step's folder */
    char user[64];
    const char *job_id_from;
    struct summary_file summary;
    struct comm *comms;
    size_t n_comms;
    FILE *out;
};

static int by_id(const void *a, const void *b)
{
    const struct comm *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    return order ? order : strcmp(x->name, y->name);
}

/* Reads the types of communicators, sorted by id and name. 0, or -1 and err. */
static int load_comms(struct job *job, const char *step, struct jp_error *err)
{
    static const char *const columns[] = {"id", "name", "comm_type"};
    char *path = text_format("%s/csv/comms.csv", step);
    struct jp_csvtable table;
    const char *v[3];
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    rc = csvtable_open(&table, path, columns, 3, err);
    if (rc < 0) {
        free(path);
        return -1;
    }
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        struct comm *c = VECTOR_DOUBLE_ADD(job->comms, job->n_comms);

        if (!c) {
            rc = error_set(err, "out of memory");
            break;
        }
        *c = (struct comm){strdup(v[0]), strdup(v[1]), strdup(v[2])};
        if (!c->id || !c->name || !c->type) {
            rc = error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    free(path);
    if (rc == 0 && job->n_comms)
        qsort(job->comms, job->n_comms, sizeof(*job->comms), by_id);
    return rc;
}

/* The type of a communicator; NULL: unknown. An id alone may be that of
 * several. */
static const char *type_of(const struct job *job, const char *id,
                           const char *name)
{
    /* bsearch does not change the key */
    const struct comm key = {(char *) id, (char *) name, NULL};
    const struct comm *found =
        job->n_comms
            ? bsearch(&key, job->comms, job->n_comms, sizeof(key), by_id)
            : NULL;

    return found ? found->type : NULL;
}

/* Writes the action line. The user, the job's creation time, number, step and
 * restart, and the strings of parts (up to NULL) form the id. */
static void put_action(const struct job *job, const char *index,
                       const char *const *parts)
{
    struct jp_json_stream s;
    char id[UPLOAD_ID_MAX];
    /* job numbers repeat after a new installation of Slurm, creation times do
     * not */
    int n = snprintf(
        id, sizeof(id), "%lu-%" PRIu64 "-%" PRIu64 ".%.60s-%" PRIu32,
        (unsigned long) job->uid, job->conf.created_us, job->conf.job_id,
        job->conf.step_id ? job->conf.step_id : "", job->conf.restart);

    /* a longer id is cut */
    for (; *parts && (size_t) n < sizeof(id); parts++)
        n += snprintf(id + n, sizeof(id) - (size_t) n, "-%s", *parts);
    json_stream_open(&s, JSON_PART, job->out);
    json_stream_object(&s, "index");
    json_stream_text(&s, "_index", index);
    json_stream_text(&s, "_id", id);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
    putc('\n', job->out);
}

/* Begins a source line with what all documents of the job have. at_us: time of
 * the document, since 1970; 0: the job's start. */
static void begin_source(const struct job *job, struct jp_json_stream *s,
                         const char *kind, uint64_t at_us)
{
    const struct jp_jobconf *c = &job->conf;

    json_stream_open(s, JSON_PART, job->out);
    /* milliseconds */
    json_stream_count(s, "@timestamp", (at_us ? at_us : c->created_us) / 1000);
    json_stream_text(s, "kind", kind);
    json_stream_count(s, "job_id", c->job_id);
    json_stream_text(s, "job_id_from", job->job_id_from);
    json_stream_text(s, "step", c->step_id ? c->step_id : "");
    json_stream_text(s, "job_name", c->job_name ? c->job_name : "");
    json_stream_count(s, "uid", job->uid);
    json_stream_text(s, "user", job->user);
    json_stream_text(s, "account", c->account ? c->account : "");
    json_stream_text(s, "partition", c->partition ? c->partition : "");
}

/* Ends a source line. */
static void end_source(const struct job *job, struct jp_json_stream *s)
{
    json_stream_close(s, NULL);
    putc('\n', job->out);
}

/* Writes a cell as a field. An empty cell is left out, because the index has no
 * null; so is text where a number should be. */
static void put_field(struct jp_json_stream *s, const struct upload_field *f,
                      const struct jp_table *table, const char *text)
{
    enum upload_kind kind = upload_kind_of(f, table);
    uint64_t count;
    char *end;
    double real;

    if (!*text)
        return;
    if (kind == FIELD_TEXT) {
        json_stream_text(s, f->name, text);
    } else if (kind == FIELD_COUNT) {
        if (num_parse_u64(text, 0, INT64_MAX, &count, NULL) == 0)
            json_stream_count(s, f->name, count);
    } else {
        /* strtod takes more forms of numbers, but the CSV files have none */
        real = strtod(text, &end);
        if (!*end && isfinite(real))
            json_stream_real(s, f->name, real);
    }
}

/* A cell as a number; 0 if it is none. */
static uint64_t count_of(const char *text)
{
    uint64_t count = 0;

    num_parse_u64(text, 0, INT64_MAX, &count, NULL);
    return count;
}

/* Writes the document of an operation. */
static void put_operation(const struct job *job, const char *index,
                          const char *const *v)
{
    /* these identify an operation within the job */
    const char *const id[] = {v[OP_COMM], v[OP_NAME],  v[OP_COLL],
                              v[OP_SN],   v[OP_BYTES], NULL};
    const char *type = type_of(job, v[OP_COMM], v[OP_NAME]);
    uint64_t start = count_of(v[OP_START]), end = count_of(v[OP_END]);
    struct jp_json_stream s;

    put_action(job, index, id);
    begin_source(job, &s, "operation", start);
    if (type)
        json_stream_text(&s, "comm_type", type);
    for (size_t i = 0; upload_operations[i].column; i++)
        put_field(&s, &upload_operations[i], &table_ops, v[i]);
    /* between dumps, as in Inspector's exporter */
    json_stream_count(&s, "coll_duration_us", end > start ? end - start : 0);
    end_source(job, &s);
}

/* Writes the document of a cell. */
static void put_cell(const struct job *job, const char *index,
                     const char *const *v)
{
    const char *const id[] = {"cell", v[CELL_TYPE], v[CELL_COLL], v[CELL_BYTES],
                              NULL};
    struct jp_json_stream s;

    put_action(job, index, id);
    begin_source(job, &s, "cell", 0);
    for (size_t i = 0; upload_cells[i].column; i++)
        put_field(&s, &upload_cells[i], &table_cells, v[i]);
    end_source(job, &s);
}

/* Writes every n-th row of step/csv/NAME.csv to put. *put_rows counts the
 * written rows, *rows all rows. */
static int
put_table(const struct job *job, const char *step, const char *name,
          const struct upload_field *fields, const char *index, uint64_t nth,
          void (*put)(const struct job *, const char *, const char *const *),
          uint64_t *put_rows, uint64_t *rows, struct jp_error *err)
{
    char *path = text_format("%s/csv/%s.csv", step, name);
    const char *columns[CSVTABLE_COLUMNS], *v[CSVTABLE_COLUMNS];
    struct jp_csvtable table;
    size_t n_fields;
    int rc;

    for (n_fields = 0; fields[n_fields].column; n_fields++)
        columns[n_fields] = fields[n_fields].column;
    /* csvtable finds the columns by name, whatever their order */
    rc = path ? csvtable_open(&table, path, columns, n_fields, err)
              : error_set(err, "out of memory");
    if (rc == 0) {
        for (*rows = 0; (rc = csvtable_next(&table, v, err)) > 0; ++*rows)
            if (nth && *rows % nth == 0) {
                put(job, index, v);
                ++*put_rows;
            }
        csvtable_close(&table);
    }
    free(path);
    return rc;
}

/* Writes the document of the step. */
static void put_step(const struct job *job, const char *index,
                     const struct upload_made *made)
{
    static const char *const id[] = {"step", NULL};
    const struct summary_file *summary = &job->summary;
    struct jp_json_stream s;

    put_action(job, index, id);
    begin_source(job, &s, "step", 0);
    json_stream_text(&s, "verdict", summary->verdict.word);
    json_stream_text(&s, "verdict_text", summary->verdict.text);
    /* unknown without records */
    if (isfinite(summary->quality.coverage))
        json_stream_real(&s, "coverage", summary->quality.coverage);
    json_stream_count(&s, "findings", summary->n_findings);
    json_stream_count(&s, "operations", made->operations);
    json_stream_count(&s, "detailed", made->detailed);
    end_source(job, &s);
}

/* Writes all documents. 0, or -1 and err. */
static int put_all(const struct job *job, const char *step,
                   const struct upload_what *what, struct upload_made *made,
                   struct jp_error *err)
{
    uint64_t rows, none = 0, nth = 0;

    /* a first pass only counts the operations, from which n follows */
    if (put_table(job, step, "ops", upload_operations, "", 0, NULL, &none,
                  &made->operations, err) < 0)
        return -1;
    if (what->operations)
        nth = (made->operations + what->operations - 1) / what->operations;
    if (nth && put_table(job, step, "ops", upload_operations, what->detailed,
                         nth, put_operation, &made->detailed, &rows, err) < 0)
        return -1;
    if (put_table(job, step, "cells", upload_cells, what->summary, 1, put_cell,
                  &made->summary, &rows, err) < 0)
        return -1;
    put_step(job, what->summary, made);
    made->summary++;
    return fflush(job->out) != 0 || ferror(job->out)
               ? error_set(err, "cannot be written: %m")
               : 0;
}

static void job_fini(struct job *job)
{
    for (size_t i = 0; i < job->n_comms; i++) {
        free(job->comms[i].id);
        free(job->comms[i].name);
        free(job->comms[i].type);
    }
    free(job->comms);
    summary_file_fini(&job->summary);
    jobconf_fini(&job->conf);
}

void upload_user_name(uid_t uid, char name[64])
{
    const struct passwd *entry = getpwuid(uid);

    if (entry && entry->pw_name && strlen(entry->pw_name) < 64)
        snprintf(name, 64, "%s", entry->pw_name);
    else
        snprintf(name, 64, "%lu", (unsigned long) uid);
}

/* Finds the owner of the step: that of its folder. The files that say what job
 * it is must be the same user's, as others may be able to write there. */
static int find_owner(const char *step_dir, const char *conf_name,
                      struct job *job, struct jp_error *err)
{
    const char *const names[] = {conf_name, "summary.json"};
    struct stat folder, st;

    if (lstat(step_dir, &folder) < 0 || !S_ISDIR(folder.st_mode))
        return error_set(err, "%s: not a folder", step_dir);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *path = text_format("%s/%s", step_dir, names[i]);
        int rc = path ? lstat(path, &st) : -1;

        free(path);
        /* whoever reads it tells that it is missing */
        if (rc == 0 && st.st_uid != folder.st_uid)
            return error_set(err,
                             "%s/%s belongs to uid %lu, its folder to uid "
                             "%lu",
                             step_dir, names[i], (unsigned long) st.st_uid,
                             (unsigned long) folder.st_uid);
    }
    job->uid = folder.st_uid;
    upload_user_name(job->uid, job->user);
    return 0;
}

/* A report that was made of a job's logs alone has the job's user from Slurm.
 * Root makes and uploads such reports of any user's job; other users only of
 * their own. */
static int take_slurms_user(const char *step_dir, struct job *job,
                            struct jp_error *err)
{
    if (job->uid == 0) {
        job->uid = job->conf.uid;
        upload_user_name(job->uid, job->user);
        job->job_id_from = UPLOAD_FROM_SLURM;
        return 0;
    }
    if (job->conf.uid != job->uid)
        return error_set(
            err,
            "%s: job %" PRIu64 " is of uid %lu, its report's folder of uid %lu",
            step_dir, job->conf.job_id, (unsigned long) job->conf.uid,
            (unsigned long) job->uid);
    return 0;
}

/* Asks Slurm whose job it is. A job that Slurm does not know any more is what
 * the user's files claim. */
static int check_job(const char *step_dir, const struct upload_what *what,
                     struct job *job, struct jp_error *err)
{
    uid_t uid;

    if (!job->job_id_from)
        job->job_id_from = UPLOAD_CLAIMED;
    if (!what->ask || !what->ask(job->conf.job_id, &uid))
        return 0;
    if (uid != job->uid)
        return error_set(err,
                         "%s: job %" PRIu64
                         " is of uid %lu, the step's folder of uid %lu",
                         step_dir, job->conf.job_id, (unsigned long) uid,
                         (unsigned long) job->uid);
    job->job_id_from = UPLOAD_FROM_SLURM;
    return 0;
}

int upload_docs(const char *step_dir, const struct upload_what *what, FILE *out,
                struct upload_made *made, struct jp_error *err)
{
    char *conf = text_format("%s/" JP_JOBCONF_NAME, step_dir);
    bool of_logs = conf && access(conf, F_OK) < 0; /* no step */
    const char *name = of_logs ? JP_JOBCONF_OF_SLURM : JP_JOBCONF_NAME;
    struct job job = {.out = out};
    struct upload_made m = {0};
    int rc = -1;

    if (of_logs) {
        free(conf);
        conf = text_format("%s/" JP_JOBCONF_OF_SLURM, step_dir);
    }
    if (!conf) {
        error_set(err, "out of memory");
    } else if (access(conf, F_OK) < 0) {
        error_set(err,
                  "%s: neither job.conf nor " JP_JOBCONF_OF_SLURM
                  ": an upload needs a job that Slurm knew when the report was "
                  "made (jobprof aggregate JOBID)",
                  step_dir);
    } else if (find_owner(step_dir, name, &job, err) == 0 &&
               jobconf_read(conf, &job.conf, err) == 0) {
        bool read = summary_file_read(step_dir, SUMMARY_WITHOUT_TABLES,
                                      &job.summary, err) == 0;

        if (read && (!of_logs || take_slurms_user(step_dir, &job, err) == 0) &&
            check_job(step_dir, what, &job, err) == 0 &&
            load_comms(&job, step_dir, err) == 0)
            rc = put_all(&job, step_dir, what, &m, err);
        job_fini(&job);
        /* ENODATA without a summary that can be read */
        if (rc < 0)
            errno = read ? EIO : ENODATA;
    }
    if (rc == 0)
        *made = m;
    free(conf);
    return rc;
}
