/* opsum.c - filter operations, add them up and print the totals.
 *
 * There is one row per communicator, function and size. Rows are found by a
 * hash table during the reading, and sorted at its end. Three readers fill
 * them: read_recordings (the recorder's files), read_logs (Inspector's logs)
 * and read_tables (a report's csv/ops.csv). opsum_show chooses the reader and
 * prints. */
#include "orchestrator/show/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/show/commnames.h"
#include "orchestrator/show/csvtable.h"
#include "orchestrator/show/jobranks.h"
#include "orchestrator/show/show_table.h"
#include "plugins/nccl_inspector/reader.h"
#include "plugins/nccl_recorder/launches.h"

/* Limit of rows, so that foreign files cannot exhaust the memory. */
#define MAX_ROWS 65536

struct opsum_row {
    uint32_t step_at;          /* number of the step */
    char step[OPSUM_STEP_LEN]; /* "53.0"; "": there is one step */
    char title[COMMNAMES_LEN]; /* the communicator in words */
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    char func[RECORD_MAX_FUNC + 1];
    uint64_t bytes, ops;
    uint64_t timed; /* of ops: with a time */
    uint64_t exec_min_us, exec_max_us, exec_sum_us;
    double busbw_sum;
    uint64_t first_us, last_us; /* wall clock of the operations' ends; 0:
                                 * unknown */
};

struct jp_opsum {
    struct opsum_row *rows; /* sorted by (id, name, func, bytes) */
    size_t n;
    struct commnames *names;
    const char *source; /* "recorder", "inspector" or "csv" */
    uint64_t processes; /* processes that passed the filter; csv: reports */
    uint64_t left_out;  /* bad records, or beyond 65,536 rows */
};

/* The size of operations of which none is recorded. */
#define NO_BYTES UINT64_MAX

/* The key of a row. */
struct opsum_key {
    uint32_t step;
    const char *id, *name, *func;
    uint64_t bytes;
};

/* The contribution of one or several operations to a row. */
struct opsum_some {
    uint64_t ops, timed, exec_min_us, exec_max_us, exec_sum_us;
    double busbw_sum;
    uint64_t first_us, last_us;
};

/* Totals under construction. */
struct opsum_builder {
    struct jp_opsum *sum;
    struct hash_table table; /* of the rows, by their keys */
};

/* Reading of the recorder's files. */
struct reading {
    struct jp_recwalk *walk;
    const struct opsum_filter *filter;
    struct opsum_builder to;
    struct launches *launches; /* of the open file */
    struct jp_jobranks *ranks; /* NULL: the filter has no rank */
    int64_t world_rank;        /* of the open file's process; < 0: none */
    uint32_t step;             /* of the open file */
};

/* Whether the row has this key. */
static bool is_same_key(const struct opsum_row *row,
                        const struct opsum_key *key)
{
    return row->bytes == key->bytes && row->step_at == key->step &&
           !strcmp(row->func, key->func) && !strcmp(row->id, key->id) &&
           !strcmp(row->name, key->name);
}

/* Copies a text, truncated to size. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

/* Finds or adds a row. NULL: beyond the limit, or no memory (*failed). */
static struct opsum_row *find_row(struct opsum_builder *b,
                                  const struct opsum_key *key, bool *failed)
{
    struct jp_opsum *sum = b->sum;
    uint64_t hash = hash_word(hash_word(hash_start(), key->bytes), key->step);
    struct opsum_row *more;
    uint32_t at;

    hash = hash_text(hash_text(hash_text(hash, key->id), key->name), key->func);
    for (size_t i = 0; (at = hash_next(&b->table, hash, &i)) != HASH_NONE;)
        if (is_same_key(&sum->rows[at], key))
            return &sum->rows[at];
    if (sum->n == MAX_ROWS)
        return NULL;
    if (VECTOR_DOUBLE(sum->rows, sum->n) < 0 ||
        hash_add(&b->table, hash, (uint32_t) sum->n) < 0) {
        *failed = true;
        return NULL;
    }
    more = &sum->rows[sum->n++];
    *more = (struct opsum_row){.step_at = key->step, .bytes = key->bytes};
    copy_text(more->id, sizeof(more->id), key->id);
    copy_text(more->name, sizeof(more->name), key->name);
    copy_text(more->func, sizeof(more->func), key->func);
    return more;
}

/* Begins empty totals. Returns -1 and err without memory; nothing needs to be
 * freed then. */
static int begin_totals(struct opsum_builder *b, struct jp_opsum *sum,
                        struct jp_error *err)
{
    *sum = (struct jp_opsum){0};
    *b = (struct opsum_builder){.sum = sum};
    sum->names = commnames_create();
    return sum->names ? 0 : error_set(err, "out of memory");
}

/* Adds a contribution to its row. Beyond the limit of rows it is only counted.
 * Returns -1 without memory. */
static int add_to_row(struct opsum_builder *b, const struct opsum_key *key,
                      const struct opsum_some *some)
{
    bool failed = false;
    struct opsum_row *row = find_row(b, key, &failed);

    if (!row) {
        b->sum->left_out += some->ops;
        return failed ? -1 : 0;
    }
    row->ops += some->ops;
    row->exec_sum_us += some->exec_sum_us;
    row->busbw_sum += some->busbw_sum;
    if (some->timed && (!row->timed || some->exec_min_us < row->exec_min_us))
        row->exec_min_us = some->exec_min_us;
    row->timed += some->timed;
    if (some->exec_max_us > row->exec_max_us)
        row->exec_max_us = some->exec_max_us;
    /* 0 means unknown, not the earliest time */
    if (some->first_us && (!row->first_us || some->first_us < row->first_us))
        row->first_us = some->first_us;
    if (some->last_us > row->last_us)
        row->last_us = some->last_us;
    return 0;
}

/* Adds one operation of a rank on a host. */
static int put_record(struct opsum_builder *b, const struct opsum_key *key,
                      const struct record *record, const char *host)
{
    const struct commnames_key comm = {key->step, key->id, key->name};

    if (commnames_add(b->sum->names, &comm, record->n_ranks, record->rank,
                      host) < 0)
        return -1;
    return add_to_row(b, key,
                      &(const struct opsum_some){
                          .ops = 1,
                          .timed = record->exec_us > 0, /* 0: not known */
                          .exec_min_us = record->exec_us,
                          .exec_max_us = record->exec_us,
                          .exec_sum_us = record->exec_us,
                          .busbw_sum = (double) record->busbw_micro / 1e6,
                          .first_us = record->dump_us,
                          .last_us = record->dump_us});
}

bool opsum_is_comm(const struct opsum_filter *filter, const char *id,
                   const char *name)
{
    return !filter->comm || !strcmp(id, filter->comm) ||
           !strcmp(name, filter->comm);
}

/* Copies a text of a record, which does not end with NUL. */
static void to_text(const struct record_text *from, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int) from->len, from->text);
}

/* Adds a record of the recorder, with its share of a launch's time, if it
 * passes the filter. A callback of launches. */
static int add_record(void *arg, const struct record *record)
{
    struct reading *r = arg;
    int64_t world_rank = r->world_rank;
    char id[RECORD_MAX_ID + 1], name[RECORD_MAX_NAME + 1];
    char func[RECORD_MAX_FUNC + 1];

    to_text(&record->id, id, sizeof(id));
    to_text(&record->name, name, sizeof(name));
    to_text(&record->func, func, sizeof(func));
    /* of one of the process's GPUs */
    if (r->ranks && world_rank < 0 && record->device)
        world_rank = jobranks_find_device(r->ranks, r->walk->path,
                                          &r->walk->file, record->device);
    if (!opsum_is_comm(r->filter, id, name) ||
        !opsum_is_rank(r->filter, world_rank, record->rank) ||
        (r->filter->func && strcmp(func, r->filter->func)))
        return 0;
    return put_record(
        &r->to,
        &(const struct opsum_key){r->step, id, name, func, record->bytes},
        record, r->walk->file.host);
}

/* Handles an operation of the open file. Returns -1 without memory. */
static int take_op(struct reading *r, const struct jpr_op *op)
{
    struct jp_recfile *file = &r->walk->file;
    const struct recfile_comm *comm = recfile_comm(file, op->comm);
    struct record record;

    /* operations launched together share one time; launches.h divides it */
    if (!recfile_record(file, op, &record))
        return launches_add(r->launches, op, &record, file->func->rule);
    /* count only what was selected, if its communicator is known */
    r->to.sum->left_out +=
        !r->filter->comm ||
        (comm && opsum_is_comm(r->filter, comm->id, comm->name));
    return 0;
}

/* Whether the node is the host, or a folder in the file's path: raw/NODE/... by
 * Slurm's name, which may differ from the host's. */
static bool is_node(const char *path, const char *host, const char *node)
{
    size_t n = strlen(node);

    if (!strcmp(host, node))
        return true;
    for (const char *at = path; (at = strstr(at, node)); at++)
        if (at > path && at[-1] == '/' && at[n] == '/')
            return true;
    return false;
}

bool opsum_is_rank(const struct opsum_filter *filter, int64_t world_rank,
                   uint64_t rank)
{
    if (filter->rank < 0)
        return true;
    /* a rank of one communicator only means something together with --comm */
    return world_rank >= 0 ? world_rank == filter->rank
                           : filter->comm && rank == (uint64_t) filter->rank;
}

/* Whether the open file's process can pass the filter. Sets r->world_rank. */
static bool is_wanted(struct reading *r)
{
    const struct jp_recfile *file = &r->walk->file;

    r->world_rank =
        r->ranks
            ? jobranks_find(r->ranks, r->walk->path, file->host, file->pid,
                            process_instance(file->pid_namespace, file->start))
            : -1;
    if (r->world_rank >= 0 && r->world_rank != r->filter->rank)
        return false;
    return !r->filter->node ||
           is_node(r->walk->path, file->host, r->filter->node);
}

/* Adds the operations of the open file. A file of another process is left at
 * its first operation. Returns -1 without memory. */
static int read_records(struct reading *r)
{
    struct jpr_record record;
    bool judged = false;

    while (recwalk_record(r->walk, &record)) {
        if (record.type != JPR_OP)
            continue;
        /* the header, which has host and process, is read by now */
        if (!judged && !is_wanted(r))
            return 0;
        r->to.sum->processes += !judged;
        judged = true;
        if (take_op(r, record.op) < 0)
            return -1;
    }
    return launches_flush(r->launches);
}

/* The number of the step that a file of the walk belongs to. */
static uint32_t step_of(const struct jp_recwalk *walk, const char *path)
{
    return (uint32_t) logwalk_input_of(walk->inputs, walk->n_inputs, path);
}

/* Adds the operations of the open file, whose launches are independent of other
 * files. */
static int read_file(struct reading *r)
{
    int rc = -1;

    r->step = step_of(r->walk, r->walk->path);

    r->launches = launches_create(add_record, r);
    if (r->launches)
        rc = read_records(r);
    launches_destroy(r->launches);
    return rc;
}

/* Orders rows as they are printed raw: by step, communicator, name, function,
 * size. */
static int by_name(const void *a, const void *b)
{
    const struct opsum_row *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    if (x->step_at != y->step_at)
        return x->step_at < y->step_at ? -1 : 1;

    if (!order)
        order = strcmp(x->name, y->name);
    if (!order)
        order = strcmp(x->func, y->func);
    return order ? order : x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void fini_totals(struct jp_opsum *sum)
{
    free(sum->rows);
    commnames_destroy(sum->names);
    *sum = (struct jp_opsum){0};
}

/* Ends the building: sorts the rows, or frees them. rc: the result of the puts.
 */
static int finish_rows(struct opsum_builder *b, int rc, struct jp_error *err)
{
    hash_fini(&b->table);
    if (rc < 0) {
        fini_totals(b->sum);
        return error_set(err, "out of memory");
    }
    if (b->sum->n)
        qsort(b->sum->rows, b->sum->n, sizeof(*b->sum->rows), by_name);
    return 0;
}

/* Adds up the recorder's files. Call fini after 0. Returns -1 and err without
 * memory. */
static int read_recordings(struct jp_recwalk *walk,
                           const struct opsum_filter *filter,
                           struct jp_opsum *sum, struct jp_error *err)
{
    struct reading r = {.walk = walk, .filter = filter};
    int rc = 0;

    if (begin_totals(&r.to, sum, err) < 0)
        return -1;
    sum->source = "recorder";
    if (filter->rank >= 0) {
        r.ranks = jobranks_read(walk);
        rc = r.ranks ? 0 : -1;
    }
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(&r);
    jobranks_destroy(r.ranks);
    return finish_rows(&r.to, rc, err);
}

/* --- add up the operations of NCCL Inspector's logs */

/* Reading of Inspector's logs. */
struct lines_reading {
    const struct opsum_filter *filter;
    struct opsum_builder to;
    struct inspector_reader reader;
    struct jp_loglines lines;
    const char *path;
    uint32_t step;  /* of the open file */
    bool counted;   /* the open file is counted in processes */
    bool is_wanted; /* it has a record of the requested rank */
    uint64_t *bad;
    struct jp_jobranks *ranks; /* NULL: the filter has no rank */
};

/* Handles a record. Returns 0 to continue. */
typedef int take_record(struct lines_reading *r, const struct record *rec,
                        void *arg);

/* Passes every record of the file to lines_take, until that returns non-zero.
 * Counts bad lines. Returns -1 without memory. */
static int walk_file(struct lines_reading *r, take_record *lines_take,
                     void *arg)
{
    struct jp_error err;
    struct jp_logsource *source = logsource_open(r->path, &err);
    enum loglines_kind kind;
    const char *text;
    size_t len;
    int rc = 0;

    if (!source) {
        ++*r->bad;
        return 0;
    }
    loglines_reset(&r->lines, source);
    inspector_begin_file(&r->reader);
    while (rc == 0 && (kind = loglines_next(&r->lines, &text, &len, &err)) <
                          LOGLINES_END) {
        struct record record;

        if (kind == LOGLINES_TOO_LONG) {
            ++*r->bad;
            continue;
        }
        switch (inspector_read_line(&r->reader, text, len, &record)) {
        case INSPECTOR_RECORD:
            rc = lines_take(r, &record, arg);
            break;
        case INSPECTOR_BAD:
            ++*r->bad;
            break;
        default:
            break;
        }
    }
    logsource_close(source);
    return rc < 0 ? -1 : 0;
}

/* Copies a text of a record, truncated to size. */
static void lines_to_text(const struct record_text *from, char *to, size_t size)
{
    size_t n = from->len < size - 1 ? from->len : size - 1;

    if (n)
        memcpy(to, from->text, n);
    to[n] = '\0';
}

/* Adds a record if it passes the filter. A take_record. */
static int lines_take(struct lines_reading *r, const struct record *rec,
                      void *arg)
{
    char id[RECORD_MAX_ID + 1], name[RECORD_MAX_NAME + 1];
    char func[RECORD_MAX_FUNC + 1], host[RECORD_MAX_HOST + 1];

    (void) arg;
    lines_to_text(&rec->id, id, sizeof(id));
    lines_to_text(&rec->name, name, sizeof(name));
    lines_to_text(&rec->func, func, sizeof(func));
    lines_to_text(&rec->host, host, sizeof(host));
    if (r->ranks &&
        !opsum_is_rank(r->filter,
                       jobranks_find(r->ranks, r->path, host, rec->pid, 0),
                       rec->rank))
        return 0;
    r->is_wanted = true;
    if (!opsum_is_comm(r->filter, id, name) ||
        (r->filter->func && strcmp(func, r->filter->func)) ||
        (r->filter->node && !is_node(r->path, host, r->filter->node)))
        return 0;
    r->to.sum->processes += !r->counted;
    r->counted = true;
    return put_record(
        &r->to, &(const struct opsum_key){r->step, id, name, func, rec->bytes},
        rec, host);
}

/* Collects what a record says about its process, for the job ranks (arg). A
 * take_record. */
static int claim_record(struct lines_reading *r, const struct record *rec,
                        void *arg)
{
    char id[RECORD_MAX_ID + 1], host[RECORD_MAX_HOST + 1];

    lines_to_text(&rec->id, id, sizeof(id));
    lines_to_text(&rec->host, host, sizeof(host));
    return jobranks_add(arg, r->path,
                        &(const struct jobranks_claim){.host = host,
                                                       .pid = rec->pid,
                                                       .task = -1,
                                                       .id = id,
                                                       .n_ranks = rec->n_ranks,
                                                       .rank = rec->rank});
}

/* Passes the records of all logs to visit. */
static int walk_all(struct lines_reading *r, const struct jp_recwalk *walk,
                    take_record *visit, void *arg)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < walk->walk.n_logs; i++) {
        uint64_t bad = *r->bad;

        if (walk->walk.logs[i].maybe) /* at most a trace */
            continue;
        r->path = walk->walk.logs[i].path;
        r->step = step_of(walk, r->path);
        r->counted = r->is_wanted = false;
        rc = walk_file(r, visit, arg);
        if (r->filter->rank >= 0 && !r->is_wanted)
            *r->bad = bad; /* ignore errors of other ranks' files */
    }
    return rc;
}

/* Reads all logs once to decide the job ranks. Returns -1 without memory. */
static int find_ranks(struct lines_reading *r, const struct jp_recwalk *walk)
{
    int rc;

    r->ranks = jobranks_create(walk->inputs, walk->n_inputs);
    rc = r->ranks ? walk_all(r, walk, claim_record, r->ranks) : -1;
    return rc == 0 ? jobranks_decide(r->ranks) : rc;
}

/* Adds up Inspector's logs among the walk's files. *bad: number of unreadable
 * lines and files. Call fini after 0. Returns -1 and err without memory. */
static int read_logs(const struct jp_recwalk *walk,
                     const struct opsum_filter *filter, struct jp_opsum *sum,
                     uint64_t *bad, struct jp_error *err)
{
    struct lines_reading r = {.filter = filter, .bad = bad};
    int rc = 0;

    *bad = 0;
    if (begin_totals(&r.to, sum, err) < 0)
        return -1;
    if (loglines_init(&r.lines, NULL) < 0)
        rc = -1;
    if (rc == 0 && filter->rank >= 0)
        rc = find_ranks(&r, walk);
    if (rc == 0)
        rc = walk_all(&r, walk, lines_take, NULL);
    jobranks_destroy(r.ranks);
    loglines_fini(&r.lines);
    sum->source = "inspector";
    return finish_rows(&r.to, rc, err);
}

/* --- totals from a report's table of operations */

enum {
    COMM,
    NAME,
    COLL,
    BYTES,
    RECORDS,
    MEAN,
    EXEC_MIN,
    EXEC_MAX,
    EXEC_MEAN,
    FIRST,
    LAST,
    N_COLUMNS
};

/* The columns of csv/ops.csv that are needed. */
static const char *const columns[N_COLUMNS] = {
    [COMM] = "comm",
    [NAME] = "comm_name",
    [COLL] = "coll",
    [BYTES] = "msg_size_bytes",
    [RECORDS] = "records",
    [MEAN] = "mean",
    [EXEC_MIN] = "exec_min_us",
    [EXEC_MAX] = "exec_max_us",
    [EXEC_MEAN] = "exec_mean_us",
    [FIRST] = "dump_min_us",
    [LAST] = "dump_max_us",
};

/* An empty field means unknown: 0. */
static bool get_count(const char *text, uint64_t *value)
{
    *value = 0;
    return !*text || num_parse_u64(text, 0, UINT64_MAX >> 1, value, NULL) == 0;
}

/* Parses a non-negative number; an empty field means unknown: 0. */
static bool get_real(const char *text, double *value)
{
    char *end;

    *value = *text ? strtod(text, &end) : 0;
    return !*text ||
           (!*end && isfinite(*value) && *value >= 0 && *value < 1e15);
}

/* Parses a row; false: it is malformed. */
static bool get_some(const char *const v[], uint64_t *bytes,
                     struct opsum_some *some)
{
    double mean, exec_mean;

    if (!get_count(v[BYTES], bytes) || !get_count(v[RECORDS], &some->ops) ||
        !get_count(v[EXEC_MIN], &some->exec_min_us) ||
        !get_count(v[EXEC_MAX], &some->exec_max_us) ||
        !get_count(v[FIRST], &some->first_us) ||
        !get_count(v[LAST], &some->last_us) || !get_real(v[MEAN], &mean) ||
        !get_real(v[EXEC_MEAN], &exec_mean) || !some->ops ||
        some->ops > UINT32_MAX)
        return false;
    if (!*v[BYTES])
        *bytes = NO_BYTES;
    /* the table has means; sums can be added up over several reports */
    some->timed = some->exec_max_us ? some->ops : 0;
    some->exec_sum_us = (uint64_t) (exec_mean * (double) some->ops + 0.5);
    some->busbw_sum = mean * (double) some->ops;
    return true;
}

/* Adds the sizes and hosts of a report's communicators, from csv/comms.csv
 * beside its csv/ops.csv. A report without this file, or a damaged one, has
 * names and ids only. Returns -1 and err without memory. */
static int add_comms(struct jp_opsum *sum, const char *ops_csv, uint32_t step,
                     struct jp_error *err)
{
    static const char *const asked[] = {"id", "name", "n_ranks", "ranks_seen",
                                        "hosts"};
    const char *slash = strrchr(ops_csv, '/');
    char *path = text_format("%.*scomms.csv",
                             slash ? (int) (slash - ops_csv) + 1 : 0, ops_csv);
    struct jp_csvtable table;
    const char *v[5];
    int rc = 0;

    if (!path)
        return error_set(err, "out of memory");
    if (csvtable_open(&table, path, asked, 5, NULL) < 0) {
        free(path);
        return 0;
    }
    while (rc == 0 && csvtable_next(&table, v, NULL) > 0) {
        uint64_t n_ranks, seen;

        if (!get_count(v[2], &n_ranks) || !get_count(v[3], &seen) ||
            n_ranks > UINT32_MAX || seen > n_ranks)
            continue;
        rc = commnames_set(sum->names,
                           &(const struct commnames_key){step, v[0], v[1]},
                           (uint32_t) n_ranks, (uint32_t) seen, v[4]);
    }
    csvtable_close(&table);
    free(path);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* Adds a report's csv/ops.csv. Bad rows are only counted. Returns -1 and err if
 * the file is damaged or without memory. */
static int add_csv(struct opsum_builder *b, const char *path, uint32_t step,
                   const struct opsum_filter *filter, struct jp_error *err)
{
    const char *v[N_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (csvtable_open(&table, path, columns, N_COLUMNS, err) < 0)
        return -1;
    b->sum->processes++;
    if (add_comms(b->sum, path, step, err) < 0) {
        csvtable_close(&table);
        return -1;
    }
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        struct opsum_some some = {0};
        uint64_t bytes;

        if (!opsum_is_comm(filter, v[COMM], v[NAME]) ||
            (filter->func && strcmp(v[COLL], filter->func)))
            continue;
        if (!get_some(v, &bytes, &some)) {
            b->sum->left_out++;
            continue;
        }
        rc = add_to_row(
            b,
            &(const struct opsum_key){step, v[COMM], v[NAME], v[COLL], bytes},
            &some);
        if (rc < 0) {
            error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    return rc < 0 ? -1 : 0;
}

/* Adds up the tables of several reports, such as all steps of a job. */
static int read_tables(const struct opsum_input *input,
                       const struct opsum_filter *filter, struct jp_opsum *sum,
                       struct jp_error *err)
{
    struct opsum_builder builder;
    int rc = 0;

    if (begin_totals(&builder, sum, err) < 0)
        return -1;
    sum->source = "csv";
    for (size_t i = 0; rc == 0 && i < input->n_csv; i++)
        rc = add_csv(&builder, input->csv[i], (uint32_t) i, filter, err);
    if (rc < 0) {
        finish_rows(&builder, -1, NULL); /* err has the reason */
        return -1;
    }
    return finish_rows(&builder, 0, err);
}

/* --- print the totals as a table and as JSON */

/* Means of the operations with a time; NaN is unknown. */
JP_GETTER(bytes, opsum_row, value_known(v, at->bytes != NO_BYTES, at->bytes))
JP_GETTER(mean_us, opsum_row,
          value_finite(v, at->timed
                              ? (double) at->exec_sum_us / (double) at->timed
                              : NAN))
JP_GETTER(mean_busbw, opsum_row,
          value_finite(v, at->timed ? at->busbw_sum / (double) at->timed : NAN))

#define FIELD(member) JP_FIELD(struct opsum_row, member)
#define CHARS(member) JP_CHARS(struct opsum_row, member)
#define IF(member) JP_IF(struct opsum_row, member)
/* key, kind, flags, places in JSON, on a page and in text */
static const struct jp_column row_columns[] = {
    {"step", JP_COL_TEXT, JP_OMIT | JP_OPTIONAL, 10, 0, 1, .raw = 10,
     .title = "step", .width = 8, CHARS(step),
     JP_IF_CHARS(struct opsum_row, step)},
    {"title", JP_COL_TEXT, 0, 0, 0, 2, .title = "communicator", .width = 28,
     .cut = 40, CHARS(title)},
    {"comm", JP_COL_ID, 0, 1, .raw = 1, .title = "communicator", .width = 18,
     CHARS(id)},
    {"name", JP_COL_TEXT, 0, 2, .raw = 2, .title = "name", .width = 12,
     .cut = 12, CHARS(name)},
    {"func", JP_COL_TEXT, 0, 3, 0, 3, .raw = 3, .title = "function",
     .width = 16, CHARS(func)},
    {"bytes", JP_COL_BYTES, 0, 4, 0, 4, .raw = 4, .title = "bytes",
     .brief = "size", .width = 14, .get = get_bytes},
    {"ops", JP_COL_COUNT, 0, 5, 0, 5, .raw = 5, .title = "records", .width = 10,
     .drops = 4, FIELD(ops)},
    {"exec_min_us", JP_COL_US, 0, 6, 0, 6, .raw = 6, .title = "min us",
     .brief = "min", .width = 10, .drops = 1, FIELD(exec_min_us), IF(timed)},
    {"exec_mean_us", JP_COL_US, JP_FIXED, 7, 0, 7, .raw = 7, .title = "mean us",
     .brief = "mean", .width = 10, .decimals = 1, .json_decimals = 3,
     .get = get_mean_us},
    {"exec_max_us", JP_COL_US, 0, 8, 0, 8, .raw = 8, .title = "max us",
     .brief = "max", .width = 10, .drops = 2, FIELD(exec_max_us), IF(timed)},
    {"busbw_mean_gbs", JP_COL_GBS, JP_FIXED, 9, 0, 9, .raw = 9,
     .title = "busbw GB/s", .width = 10, .decimals = 3, .json_decimals = 6,
     .get = get_mean_busbw},
    {"id", JP_COL_ID, 0, 0, 0, 10, .title = "id", .width = 1, .drops = 3,
     CHARS(id)},
    {"first_end_us", JP_COL_CLOCK, JP_OMIT, 11, FIELD(first_us), IF(first_us)},
    {"last_end_us", JP_COL_CLOCK, JP_OMIT, 12, FIELD(last_us), IF(first_us)},
};
#undef IF
#undef CHARS
#undef FIELD
static const struct jp_table table = {JP_COLUMNS(row_columns),
                                      .row_size = sizeof(struct opsum_row),
                                      .max_json = SIZE_MAX};

/* The unit that `processes` counts. */
static const char *unit_of(const struct jp_opsum *sum)
{
    return !strcmp(sum->source, "recorder")    ? "recording"
           : !strcmp(sum->source, "inspector") ? "log"
                                               : "report";
}

/* Most time first. */
static int by_time(const void *a, const void *b)
{
    const struct opsum_row *x = a, *y = b;

    if (x->exec_sum_us != y->exec_sum_us)
        return x->exec_sum_us > y->exec_sum_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Names the steps and communicators of the rows. */
static void name_rows(struct jp_opsum *sum, const struct opsum_input *input)
{
    for (size_t i = 0; i < sum->n; i++) {
        struct opsum_row *row = &sum->rows[i];
        const struct commnames_key key = {row->step_at, row->id, row->name};

        commnames_text(sum->names, &key, row->title);
        if (input->n_steps > 1 && row->step_at < input->n_steps)
            copy_text(row->step, sizeof(row->step), input->steps[row->step_at]);
    }
}

/* Prints the totals as text. Sorts the rows for people. */
static int print_totals(struct jp_opsum *sum, enum show_form form, FILE *out,
                        struct jp_error *err)
{
    /* most time first, because a screen has few lines */
    if (form == SHOW_HUMAN && sum->n)
        qsort(sum->rows, sum->n, sizeof(*sum->rows), by_time);
    table_show(&table,
               &(const struct table_source){.rows = sum->rows, .n = sum->n},
               show_look(form), out);
    if (form == SHOW_HUMAN && sum->n)
        fputs("A record is one rank's part of an operation; its time, and so "
              "the bandwidth,\nincludes waiting for other ranks.\n",
              out);
    quote_printf(out, "%s %s%s", SHOW_NUMBER(sum->processes, form),
                 unit_of(sum), plural(sum->processes));
    if (sum->left_out)
        quote_printf(out, ", %s operation%s left out",
                     SHOW_NUMBER(sum->left_out, form), plural(sum->left_out));
    fputc('\n', out);
    return table_output_end(NULL, out, err);
}

/* Prints the totals as JSON. Returns -1 and err if the output failed. */
static int print_json(const struct jp_opsum *sum, FILE *out,
                      struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_LINES, out);
    json_stream_count(&s, "schema_version", 1);
    json_stream_text(&s, "source", sum->source);
    json_stream_count(&s, "recordings", sum->processes);
    json_stream_count(&s, "left_out", sum->left_out);
    table_write_json(
        &s, "rows", &table,
        &(const struct table_source){.rows = sum->rows, .n = sum->n});
    return table_output_end(&s, out, err);
}

int opsum_show(const struct opsum_input *input,
               const struct opsum_filter *filter, enum show_form form,
               FILE *out, struct opsum_done *done, struct jp_error *err)
{
    struct jp_opsum sum;
    int rc;

    *done = (struct opsum_done){0};
    if (!input->walk)
        rc = read_tables(input, filter, &sum, err);
    else if (input->logs)
        rc = read_logs(input->walk, filter, &sum, &done->bad, err);
    else
        rc = read_recordings(input->walk, filter, &sum, err);
    if (rc < 0)
        return -1;
    done->rows = sum.n;
    name_rows(&sum, input);
    if (form == SHOW_JSON)
        rc = print_json(&sum, out, err);
    /* an empty table would hide that there was nothing; columns for programs
     * stay */
    else if (sum.n || form == SHOW_RAW)
        rc = print_totals(&sum, form, out, err);
    fini_totals(&sum);
    return rc;
}
