/* show_saved.c - print a finished report's figures after its logs were removed.
 *
 * csv/ops.csv has totals of operations (opsum.c reads it), csv/ranks.csv one
 * row per process and communicator, without functions or sizes. For --rank the
 * job ranks are derived from ranks.csv and comms.csv as they would be from logs
 * (jobranks.h). summary.json has the verdict for --pending. */
#include "orchestrator/show/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/show/commnames.h"
#include "orchestrator/show/csvtable.h"
#include "orchestrator/show/jobranks.h"
#include "orchestrator/show/show_table.h"

/* Limit of rows, so that foreign files cannot exhaust the memory. */
#define MAX_ROWS 65536

/* A row of csv/ranks.csv: one process in one communicator. */
struct rankrow {
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 1];
    char step[OPSUM_STEP_LEN];    /* "": there is one step */
    char title[COMMNAMES_LEN];    /* the communicator in words */
    char job_rank[SHOW_RANK_LEN]; /* and the communicator's */
    int64_t pid;                  /* -1: unknown */
    uint64_t rank, records, timed_ops, last_ops, p2p_records;
    uint64_t exec_us, wait_us, caused_us; /* sums over timed_ops */
    bool waits;                           /* exec_us and wait_us are known */
};

/* The rows that pass the filter. */
struct rankrows {
    struct rankrow *at; /* in the order of the table */
    size_t n;
    uint64_t left_out; /* bad rows, or beyond MAX_ROWS */
};

/* A communicator by its id, in the order of the table. */
struct comm_size {
    char id[RECORD_MAX_ID + 1];
    char title[COMMNAMES_LEN];
    uint32_t n_ranks;
};

struct comm_sizes {
    struct comm_size *list;
    size_t n;
};

enum {
    COMM,
    NAME,
    RANK,
    HOST,
    PID,
    RECORDS,
    TIMED,
    LAST,
    EXEC,
    WAIT,
    CAUSED,
    P2P,
    N_COLUMNS
};

/* The columns of csv/ranks.csv that are needed. */
static const char *const columns[N_COLUMNS] = {
    "comm",      "comm_name", "rank",    "host",    "pid",       "records",
    "timed_ops", "last_ops",  "exec_us", "wait_us", "caused_us", "p2p_records"};

/* Parses a count. An empty field means unknown: 0. */
static bool get_number(const char *text, uint64_t *value)
{
    *value = 0;
    return !*text || num_parse_u64(text, 0, UINT64_MAX >> 1, value, NULL) == 0;
}

/* Copies a text, truncated to size. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

/* --- job ranks ----------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct comm_size *x = a, *y = b;

    return strcmp(x->id, y->id);
}

/* Names a communicator in words. Returns -1 without memory. */
static int name_comm(struct comm_size *comm, const char *name,
                     uint32_t ranks_seen, const char *hosts)
{
    const struct commnames_key key = {0, comm->id, name};
    struct commnames *names = commnames_create();
    int rc = names
                 ? commnames_set(names, &key, comm->n_ranks, ranks_seen, hosts)
                 : -1;

    if (rc == 0)
        commnames_text(names, &key, comm->title);
    commnames_destroy(names);
    return rc;
}

/* Reads the sizes of communicators from csv/comms.csv, sorted by id. Returns -1
 * and err if it cannot be read. */
static int read_sizes(const char *path, struct comm_sizes *sizes,
                      struct jp_error *err)
{
    static const char *const asked[] = {"id", "n_ranks", "name", "ranks_seen",
                                        "hosts"};
    struct jp_csvtable table;
    const char *v[5];
    uint64_t n, seen;
    int rc;

    if (csvtable_open(&table, path, asked, 5, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        /* a bad row is skipped, because only its communicator is lost */
        if (!get_number(v[1], &n) || n > UINT32_MAX ||
            !get_number(v[3], &seen) || seen > n)
            continue;
        if (VECTOR_DOUBLE(sizes->list, sizes->n) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
        copy_text(sizes->list[sizes->n].id, sizeof(sizes->list->id), v[0]);
        sizes->list[sizes->n].n_ranks = (uint32_t) n;
        if (name_comm(&sizes->list[sizes->n], v[2], (uint32_t) seen, v[4]) <
            0) {
            rc = error_set(err, "out of memory");
            break;
        }
        sizes->n++;
    }
    csvtable_close(&table);
    if (rc == 0 && sizes->n)
        qsort(sizes->list, sizes->n, sizeof(*sizes->list), by_id);
    return rc;
}

/* Returns the process id, or -1 if it is unknown or no number. */
static int64_t pid_of(const char *text)
{
    int64_t pid = -1;

    return *text && num_parse_i64(text, 0, INT64_MAX, &pid, NULL) < 0 ? -1
                                                                      : pid;
}

/* The communicator of an id, or NULL. */
static const struct comm_size *find_comm(const struct comm_sizes *sizes,
                                         const char *id)
{
    struct comm_size key = {.id = ""};

    copy_text(key.id, sizeof(key.id), id);
    return sizes->n ? bsearch(&key, sizes->list, sizes->n, sizeof(key), by_id)
                    : NULL;
}

/* Adds a row of csv/ranks.csv to the job ranks. v: comm, rank, host, pid. Rows
 * of unknown communicators are skipped. Returns -1 without memory. */
static int add_process(struct jp_jobranks *ranks, const char *step,
                       const struct comm_sizes *sizes, const char *const v[])
{
    const struct comm_size *found = find_comm(sizes, v[0]);
    uint64_t rank;

    if (!found || !get_number(v[1], &rank) || rank > UINT32_MAX)
        return 0;
    return jobranks_add(
        ranks, step,
        &(const struct jobranks_claim){.host = v[2],
                                       .pid = pid_of(v[3]),
                                       .task = -1,
                                       .id = found->id,
                                       .n_ranks = found->n_ranks,
                                       .rank = (uint32_t) rank});
}

/* Reads all rows of csv/ranks.csv and decides the job ranks. */
static int read_processes(const char *path, const char *step,
                          const struct comm_sizes *sizes,
                          struct jp_jobranks *ranks, struct jp_error *err)
{
    static const char *const asked[] = {"comm", "rank", "host", "pid"};
    struct jp_csvtable table;
    const char *v[4];
    int rc;

    if (csvtable_open(&table, path, asked, 4, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0)
        if (add_process(ranks, step, sizes, v) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
    csvtable_close(&table);
    if (rc == 0 && jobranks_decide(ranks) < 0)
        rc = error_set(err, "out of memory");
    return rc;
}

/* --- rows of csv/ranks.csv ----------------------------------------------- */

/* Parses a row. Returns false if it is malformed. */
static bool get_row(const char *const v[], struct rankrow *row)
{
    copy_text(row->id, sizeof(row->id), v[COMM]);
    copy_text(row->name, sizeof(row->name), v[NAME]);
    copy_text(row->host, sizeof(row->host), v[HOST]);
    row->pid = pid_of(v[PID]);
    if (*v[PID] && row->pid < 0)
        return false;
    /* both are known, or neither */
    row->waits = *v[WAIT] && *v[EXEC];
    return get_number(v[RANK], &row->rank) &&
           get_number(v[RECORDS], &row->records) &&
           get_number(v[TIMED], &row->timed_ops) &&
           get_number(v[LAST], &row->last_ops) &&
           get_number(v[EXEC], &row->exec_us) &&
           get_number(v[WAIT], &row->wait_us) &&
           get_number(v[CAUSED], &row->caused_us) &&
           get_number(v[P2P], &row->p2p_records);
}

/* What the rows of a step have in common. */
struct rank_context {
    const char *step;       /* its directory */
    const char *step_title; /* "53.0"; "": there is one step */
    const struct jp_jobranks *ranks;
    const struct comm_sizes *sizes;
};

/* Adds a row, or counts a bad one. Returns -1 without memory. */
static int take_row(struct rankrows *rows, const struct rank_context *of,
                    const char *const v[])
{
    const struct comm_size *comm = find_comm(of->sizes, v[COMM]);
    struct rankrow row = {.id = ""};

    /* counted for the line below the table */
    if (!get_row(v, &row) || rows->n == MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (VECTOR_DOUBLE(rows->at, rows->n) < 0)
        return -1;
    copy_text(row.step, sizeof(row.step), of->step_title);
    copy_text(row.title, sizeof(row.title), comm ? comm->title : row.name);
    show_rank(jobranks_find(of->ranks, of->step, row.host, row.pid, 0),
              (int64_t) row.rank, row.job_rank);
    rows->at[rows->n++] = row;
    return 0;
}

/* Whether the row's process passes the filter for a rank. */
static bool is_wanted(const struct opsum_filter *filter,
                      const struct rank_context *of, const char *const v[])
{
    uint64_t rank;

    return get_number(v[RANK], &rank) &&
           opsum_is_rank(
               filter,
               jobranks_find(of->ranks, of->step, v[HOST], pid_of(v[PID]), 0),
               rank);
}

/* Reads the rows that pass the filter. */
static int read_rows(struct rankrows *rows, const char *path,
                     const struct opsum_filter *filter,
                     const struct rank_context *of, struct jp_error *err)
{
    const char *v[N_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (csvtable_open(&table, path, columns, N_COLUMNS, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        /* cheap tests first: most rows fail one of them */
        if (!opsum_is_comm(filter, v[COMM], v[NAME]) ||
            (filter->node && strcmp(filter->node, v[HOST])) ||
            (filter->rank >= 0 && !is_wanted(filter, of, v)))
            continue;
        if (take_row(rows, of, v) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    return rc;
}

/* Adds the ranks of a report that pass the filter, from csv/ranks.csv and
 * csv/comms.csv in the step's directory. Ignores filter->func. Returns 0, or -1
 * if they cannot be read or without memory. */
static int add_ranks(struct rankrows *rows, const char *step,
                     const char *step_title, const struct opsum_filter *filter,
                     struct jp_error *err)
{
    char *ranks_csv = text_format("%s/csv/ranks.csv", step);
    char *comms_csv = text_format("%s/csv/comms.csv", step);
    struct jp_jobranks *ranks = jobranks_create(&step, 1);
    struct comm_sizes sizes = {0};
    const struct rank_context of = {step, step_title, ranks, &sizes};
    int rc = 0;

    if (!ranks_csv || !comms_csv || !ranks)
        rc = error_set(err, "out of memory");
    /* a first pass: which process has which job rank */
    if (rc == 0)
        rc = read_sizes(comms_csv, &sizes, err);
    if (rc == 0)
        rc = read_processes(ranks_csv, step, &sizes, ranks, err);
    if (rc == 0)
        rc = read_rows(rows, ranks_csv, filter, &of, err);
    jobranks_destroy(ranks);
    free(sizes.list);
    free(ranks_csv);
    free(comms_csv);
    return rc;
}

/* --- ranks as a table and as JSON ---------------------------------------- */

/* unknown below 0 */
JP_GETTER(rank_pid, rankrow, v->type = JP_VALUE_INT; v->number = at->pid;
          if (at->pid < 0) v->type = JP_VALUE_UNKNOWN)

#define FIELD(member) JP_FIELD(struct rankrow, member)
#define CHARS(member) JP_CHARS(struct rankrow, member)
#define IF(member) JP_IF(struct rankrow, member)
/* key, kind, flags, places in JSON, on a page and in text */
static const struct jp_column shown[] = {
    {"step", JP_COL_TEXT, JP_OMIT | JP_OPTIONAL, 11, 0, 1, .raw = 13,
     .title = "step", .width = 8, CHARS(step),
     JP_IF_CHARS(struct rankrow, step)},
    {"title", JP_COL_TEXT, 0, 0, 0, 2, .title = "communicator", .width = 28,
     .cut = 40, CHARS(title)},
    {"job_rank", JP_COL_TEXT, 0, 0, 0, 3, .title = "rank", .width = 8,
     CHARS(job_rank)},
    {"comm", JP_COL_ID, 0, 1, .raw = 1, .title = "communicator", .width = 18,
     CHARS(id)},
    {"name", JP_COL_TEXT, 0, 2, .raw = 2, .title = "name", .width = 12,
     .cut = 12, CHARS(name)},
    {"rank", JP_COL_RANK, 0, 3, .raw = 3, .title = "rank", .width = 6,
     FIELD(rank)},
    {"host", JP_COL_TEXT, 0, 4, 0, 4, .raw = 4, .title = "host", .width = 20,
     CHARS(host)},
    {"pid", JP_COL_PID, 0, 5, 0, 5, .raw = 5, .title = "pid", .width = 8,
     .drops = 5, .get = get_rank_pid},
    {"records", JP_COL_COUNT, 0, 6, 0, 6, .raw = 6, .title = "records",
     .width = 9, .drops = 2, FIELD(records)},
    {"timed_ops", JP_COL_COUNT, 0, 7, 0, 7, .raw = 7, .title = "timed",
     .width = 9, .drops = 3, FIELD(timed_ops)},
    {"last_ops", JP_COL_COUNT, 0, 8, 0, 8, .raw = 8, .title = "last",
     .width = 8, FIELD(last_ops)},
    {"exec_us", JP_COL_US, JP_OMIT, 12, 0, 9, .raw = 9, .title = "time us",
     .brief = "time", .width = 11, .drops = 4, FIELD(exec_us), IF(waits)},
    {"wait_us", JP_COL_US, JP_OMIT, 13, 0, 10, .raw = 10, .title = "waited us",
     .brief = "waited", .width = 11, FIELD(wait_us), IF(waits)},
    {"caused_us", JP_COL_US, 0, 9, 0, 11, .raw = 11, .title = "caused us",
     .brief = "caused", .width = 11, FIELD(caused_us)},
    {"p2p_records", JP_COL_COUNT, 0, 10, 0, 12, .raw = 12, .title = "Send/Recv",
     .width = 9, .drops = 1, FIELD(p2p_records)},
    {"id", JP_COL_ID, 0, 0, 0, 13, .title = "id", .width = 1, .drops = 6,
     CHARS(id)},
};
#undef IF
#undef CHARS
#undef FIELD
static const struct jp_table table = {JP_COLUMNS(shown),
                                      .row_size = sizeof(struct rankrow),
                                      .max_json = SIZE_MAX};

/* Prints the rows as text. Returns -1 and err if the output failed. */
static int print_ranks(const struct rankrows *rows, enum show_form form,
                       FILE *out, struct jp_error *err)
{
    /* csv/ has no functions and sizes per rank */
    table_show(&table,
               &(const struct table_source){.rows = rows->at, .n = rows->n},
               show_look(form), out);
    quote_printf(out, "%s row%s of csv/ranks.csv", SHOW_NUMBER(rows->n, form),
                 plural(rows->n));
    if (rows->left_out)
        quote_printf(out, ", %s left out", SHOW_NUMBER(rows->left_out, form));
    fputs("; only logs have a rank's functions and sizes\n", out);
    return table_output_end(NULL, out, err);
}

/* Prints the rows as JSON. */
static int print_ranks_json(const struct rankrows *rows, FILE *out,
                            struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_LINES, out);
    json_stream_count(&s, "schema_version", 1);
    json_stream_text(&s, "source", "csv");
    json_stream_count(&s, "left_out", rows->left_out);
    table_write_json(
        &s, "ranks", &table,
        &(const struct table_source){.rows = rows->at, .n = rows->n});
    return table_output_end(&s, out, err);
}

/* --- print from a finished report ---------------------------------------- */

/* Returns the step's directory of a folder of inputs: its parent if it is raw/.
 * Caller frees. NULL without memory. */
static char *step_of(const char *folder)
{
    size_t n = strlen(folder);

    return n > 4 && !strcmp(folder + n - 4, "/raw") ? strndup(folder, n - 4)
                                                    : strdup(folder);
}

/* Returns the path of a step's file if it is readable. Caller frees. */
static char *find_file(const char *folder, const char *name)
{
    char *step = step_of(folder);
    char *path = step ? text_format("%s/%s", step, name) : NULL;

    free(step);
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Whether one of the folders, or the parent of a raw/, has a report. */
static bool has_report(char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *path = find_file(folders[i], "csv/ops.csv");

        free(path);
        if (path)
            return true;
    }
    return false;
}

/* Whether all folders are steps without raw/. Other files of a step, such as
 * the nodes' lists of tasks, are not logs. */
static bool is_bare(char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *conf = find_file(folders[i], "job.conf"),
             *raw = conf ? find_file(folders[i], "raw") : NULL;

        free(conf);
        free(raw);
        if (!conf || raw)
            return false;
    }
    return n > 0;
}

enum show_source show_saved_source(char *const *folders, size_t n,
                                   const struct jp_logwalk *walk)
{
    size_t n_logs = is_bare(folders, n) ? 0 : walk->n_logs;
    bool logs = false;

    for (size_t i = 0; i < n_logs; i++) {
        /* 0: certainly no file of the recorder */
        if (recfile_probe(walk->logs[i].path, NULL) != 0)
            return SHOW_RECORDER; /* including an unreadable file, which the
                                   * reader reports */
        logs |= !walk->logs[i].maybe;
    }
    return logs                     ? SHOW_LOGS
           : has_report(folders, n) ? SHOW_REPORT
           : n_logs                 ? SHOW_RECORDER
                                    : SHOW_NOTHING;
}

/* Prints csv/ranks.csv of all steps. Returns 0; 1 if no row passes the filter;
 * -1 and err. */
static int show_ranks(char *const *folders, char *const *steps, size_t n,
                      const struct opsum_filter *filter, enum show_form form,
                      struct jp_error *err)
{
    struct rankrows rows = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        /* a step without a report is skipped */
        char *csv = find_file(folders[i], "csv");
        char *step = csv ? step_of(folders[i]) : NULL;

        if (step)
            rc = add_ranks(&rows, step, n > 1 ? steps[i] : "", filter, err);
        free(step);
        free(csv);
    }
    if (rc == 0)
        rc = form == SHOW_JSON ? print_ranks_json(&rows, stdout, err)
                               : print_ranks(&rows, form, stdout, err);
    if (rc == 0)
        rc = rows.n == 0;
    free(rows.at);
    return rc;
}

/* Prints the totals of csv/ops.csv of all steps. Returns as show_ranks does. */
static int show_ops(char *const *folders, char *const *steps, size_t n,
                    const struct opsum_filter *filter, enum show_form form,
                    struct jp_error *err)
{
    char **paths = calloc(n ? n : 1, sizeof(*paths));
    char **names = calloc(n ? n : 1, sizeof(*names)); /* borrowed */
    struct opsum_input input = {.csv = paths, .steps = names};
    struct opsum_done done;
    int rc;

    if (!paths || !names) {
        free(paths);
        free(names);
        return error_set(err, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        char *path = find_file(folders[i], "csv/ops.csv");

        if (path) {
            names[input.n_csv] = steps[i];
            paths[input.n_csv++] = path;
        }
    }
    input.n_steps = input.n_csv;
    rc = opsum_show(&input, filter, form, stdout, &done, err);
    for (size_t i = 0; i < input.n_csv; i++)
        free(paths[i]);
    free(paths);
    free(names);
    return rc < 0 ? -1 : done.rows == 0;
}

/* Prints whether a report has found a hang. */
static int put_verdict(const char *step, const struct summary_file *summary,
                       bool json, struct jp_error *err)
{
    const char *word = summary->verdict.word, *text = summary->verdict.text;
    struct jp_json_stream s;

    /* one line per step */
    if (!json) {
        show_table_line(stdout, 2, "%s: %s %s", step, word,
                        strcmp(word, "HANG") ? "(no hang was found)" : text);
        return 0;
    }
    json_stream_open(&s, JSON_FILE, stdout);
    json_stream_count(&s, "schema_version", 1);
    json_stream_text(&s, "source", "summary");
    json_stream_text(&s, "step", step);
    json_stream_text(&s, "verdict", word);
    json_stream_text(&s, "text", text);
    return json_stream_close(&s, err);
}

/* Prints the verdicts of all steps. Returns 0, or -1 and err. */
static int show_pending(char *const *folders, size_t n, bool json,
                        struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *step = step_of(folders[i]);
        struct summary_file summary;

        if (!step || summary_file_read(step, SUMMARY_WITHOUT_TABLES, &summary,
                                       err) < 0) {
            rc = -1;
        } else {
            rc = put_verdict(step, &summary, json, err);
            summary_file_fini(&summary);
        }
        free(step);
    }
    /* a closed pipe counts as an error here */
    return rc == 0 && (fflush(stdout) != 0 || ferror(stdout))
               ? error_set(err, "output failed: %m")
               : rc;
}

int show_saved_print(char *const *folders, char *const *steps, size_t n,
                     const struct opsum_filter *filter, enum show_form form,
                     struct jp_error *err)
{
    if (!filter)
        return show_pending(folders, n, form == SHOW_JSON, err);
    return filter->rank >= 0 || filter->node
               ? show_ranks(folders, steps, n, filter, form, err)
               : show_ops(folders, steps, n, filter, form, err);
}
