/* export_metrics.c - turn a step's report into metrics.
 *
 * Each table has a list of columns and a take_...() that adds its rows to
 * objects of the set (orchestrator/metrics/metrics.h): busy.csv makes the
 * ranks, ranks.csv adds to them, ops.csv makes cells of communicator, function
 * and size. summary.json has the step's own figures. Tables of features say by
 * their columns what is a label and what a metric. */
#include "orchestrator/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/show/csvtable.h"

/* Sizes of the cache of cells and of names. The cache has the cells last used,
 * by a hash of their names. */
enum { CACHE = 1024, NAME_BYTES = 64, PID_BYTES = 24 };

/* What the means of an object of metrics_coll are made of. */
struct sums {
    double *values;
    double log_busbw, n_busbw, us, n_us;
};

/* The sums of a communicator, function and size. */
struct cell {
    char comm[NAME_BYTES], coll[NAME_BYTES]; /* comm: its id */
    uint64_t size;
    uint32_t sums; /* one more than its index; 0: free */
};

/* A communicator, as comms.csv describes it. */
struct comm {
    char id[NAME_BYTES], name[METRICS_LABEL_BYTES], n_nodes[PID_BYTES];
};

/* A process and the values of its rank. */
struct process {
    char host[METRICS_LABEL_BYTES], pid[PID_BYTES];
    double *values;
};

/* The report that is read. */
struct report {
    const char *dir;
    struct summary_file summary;
    struct metrics_set *set;
    char job[PID_BYTES], step[NAME_BYTES];
    struct comm *comms;
    size_t n_comms;
    struct process *processes; /* sorted by key */
    size_t n_processes;
    double first_us, last_us; /* of all operations; 0: unknown */
    struct sums *sums;
    size_t n_sums;
    struct hash_table by_values;  /* of the sums, by their objects */
    const struct jp_table *table; /* of a feature, which is read */
    struct cell cache[CACHE];
};

#define STEP(r)                                                                \
    {"jobid", (r)->job},                                                       \
    {                                                                          \
        "step", (r)->step                                                      \
    }
#define N(array) (sizeof(array) / sizeof(*(array)))

/* A cell as a number. NAN: it is empty or none. */
static double real_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    return *text && !*end && isfinite(value) ? value : NAN;
}

/* Appends a zeroed row. NULL without memory. */
static void *row_of(void **rows, size_t *n, size_t size)
{
    if (vector_double(rows, *n, size) < 0)
        return NULL;
    return memset((char *) *rows + (*n)++ * size, 0, size);
}

/* Passes each row of csv/NAME.csv to take. A missing table has no rows. */
static int read_table(struct report *r, const char *name,
                      const char *const *columns, size_t n,
                      int (*take)(struct report *, const char *const *),
                      struct jp_error *err)
{
    char *path = text_format("%s/csv/%s.csv", r->dir, name);
    const char *values[CSVTABLE_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (!path)
        return error_set(err, "out of memory");
    /* older reports have fewer tables */
    rc = access(path, F_OK) < 0 ? 1
                                : csvtable_open(&table, path, columns, n, err);
    if (rc == 0) {
        while ((rc = csvtable_next(&table, values, err)) > 0)
            if (take(r, values) < 0) {
                rc = error_set(err, "out of memory");
                break;
            }
        csvtable_close(&table);
    }
    free(path);
    return rc < 0 ? -1 : 0;
}

/* --- ranks ---------------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    return order ? order : strcmp(x->pid, y->pid);
}

static const char *const busy_columns[] = {"rank",    "host",  "pid",
                                           "from_us", "to_us", "share"};

/* Makes the object of a rank, by its rank or else by its pid. */
static int take_busy(struct report *r, const char *const *v)
{
    struct process *p =
        row_of((void **) &r->processes, &r->n_processes, sizeof(*r->processes));
    double from = real_of(v[3]), to = real_of(v[4]);
    char name[PID_BYTES + 8];

    if (!p)
        return -1;
    snprintf(p->host, sizeof(p->host), "%s", v[1]);
    snprintf(p->pid, sizeof(p->pid), "%s", v[2]);
    /* without a rank in the job the pid names the process */
    if (*v[0])
        snprintf(name, sizeof(name), "%.20s", v[0]);
    else
        snprintf(name, sizeof(name), "pid%.20s", v[2]);
    p->values = metrics_add(r->set, &metrics_rank, STEP(r), {"node", v[1]},
                            {"rank", name});
    if (!p->values)
        return -1;
    p->values[METRIC_BUSY] = real_of(v[5]);
    p->values[METRIC_OPERATIONS] = 0;
    /* the span of all communication, for shares and the duration */
    if (from > 0 && (!(r->first_us > 0) || from < r->first_us))
        r->first_us = from;
    if (to > r->last_us)
        r->last_us = to;
    return 0;
}

static const char *const rank_columns[] = {
    "host", "pid", "records", "p2p_records", "wait_us", "caused_us"};

/* Adds to a sum, which may be NAN (unknown) before. An unknown value adds
 * nothing. */
static void add_figure(double *sum, double value)
{
    if (isfinite(value))
        *sum = (isfinite(*sum) ? *sum : 0) + value;
}

/* Adds the figures of a rank in one communicator to its process. */
static int take_rank(struct report *r, const char *const *v)
{
    struct process key = {.values = NULL}, *p;

    snprintf(key.host, sizeof(key.host), "%s", v[0]);
    snprintf(key.pid, sizeof(key.pid), "%s", v[1]);
    p = r->n_processes ? bsearch(&key, r->processes, r->n_processes,
                                 sizeof(key), by_process)
                       : NULL;
    /* no row in busy.csv: there is no object to add to */
    if (!p)
        return 0;
    add_figure(&p->values[METRIC_OPERATIONS], real_of(v[2]));
    add_figure(&p->values[METRIC_OPERATIONS], real_of(v[3]));
    add_figure(&p->values[METRIC_WAITED], real_of(v[4]) / 1e6);
    add_figure(&p->values[METRIC_CAUSED], real_of(v[5]) / 1e6);
    return 0;
}

/* Computes the wait that a process causes, per waiting process and as a share
 * of the time. */
static void share_caused(const struct report *r)
{
    double seconds = (r->last_us - r->first_us) / 1e6,
           others = (double) r->n_processes - 1;

    for (size_t i = 0; i < r->n_processes; i++) {
        double *v = r->processes[i].values;

        /* seconds of waiting for each second and each other process */
        v[METRIC_CAUSED] = seconds > 0 && others > 0
                               ? v[METRIC_CAUSED] / (seconds * others)
                               : NAN;
    }
}

/* Makes the objects of all ranks. 0, or -1 and err. */
static int add_ranks(struct report *r, struct jp_error *err)
{
    if (read_table(r, "busy", busy_columns, N(busy_columns), take_busy, err) <
        0)
        return -1;
    if (r->n_processes)
        qsort(r->processes, r->n_processes, sizeof(*r->processes), by_process);
    if (read_table(r, "ranks", rank_columns, N(rank_columns), take_rank, err) <
        0)
        return -1;
    share_caused(r);
    return 0;
}

/* --- operations ----------------------------------------------------------- */

static const char *const comm_columns[] = {"id", "name", "nnodes"};

static int by_id(const void *a, const void *b)
{
    const struct comm *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    return order ? order : strcmp(x->name, y->name);
}

static int take_comm(struct report *r, const char *const *v)
{
    struct comm *c =
        row_of((void **) &r->comms, &r->n_comms, sizeof(*r->comms));

    if (!c)
        return -1;
    snprintf(c->id, sizeof(c->id), "%s", v[0]);
    snprintf(c->name, sizeof(c->name), "%s", v[1]);
    snprintf(c->n_nodes, sizeof(c->n_nodes), "%s", v[2]);
    return 0;
}

enum { OP_COMM, OP_NAME, OP_COLL, OP_BYTES, OP_RANKS, OP_BUSBW, OP_EXEC };
static const char *const op_columns[] = {"comm",           "comm_name", "coll",
                                         "msg_size_bytes", "n_ranks",   "mean",
                                         "exec_mean_us"};

/* Finds or makes the object of a cell. NULL: no memory. */
static double *new_cell(const struct report *r, const char *const *v,
                        uint64_t bytes)
{
    struct comm key = {.id = ""};
    const struct comm *comm;
    char size[40];

    snprintf(key.id, sizeof(key.id), "%s", v[OP_COMM]);
    snprintf(key.name, sizeof(key.name), "%s", v[OP_NAME]);
    comm = r->n_comms ? bsearch(&key, r->comms, r->n_comms, sizeof(key), by_id)
                      : NULL;
    return metrics_add(
        r->set, &metrics_coll, {"version", "jobprof"}, {"slurm_job_id", r->job},
        {"comm_name", *v[OP_NAME] ? v[OP_NAME] : "unknown"},
        {"n_nodes", comm ? comm->n_nodes : NULL}, {"nranks", v[OP_RANKS]},
        {"collective", v[OP_COLL]},
        {"message_size",
         bytes ? metrics_size_text(bytes, size, sizeof(size)) : "unknown"},
        {"step", r->step});
}

/* The place in the cache of a row's cell. */
static size_t slot_of(const char *const *v, uint64_t size)
{
    uint64_t hash = hash_word(hash_start(), size);

    hash = hash_text(hash, v[OP_COMM]);
    hash = hash_text(hash, v[OP_COLL]);
    return hash % CACHE;
}

/* Finds or makes the sums of an object. Several communicators of one name share
 * them. NULL: no memory. */
static struct sums *sums_of(struct report *r, double *values)
{
    uint64_t hash = hash_word(hash_start(), (uintptr_t) values);
    struct sums *sums;
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&r->by_values, hash, &i)) != HASH_NONE;)
        if (r->sums[at].values == values)
            return &r->sums[at];
    if (hash_add(&r->by_values, hash, (uint32_t) r->n_sums) < 0)
        return NULL;
    sums = row_of((void **) &r->sums, &r->n_sums, sizeof(*r->sums));
    if (sums)
        sums->values = values;
    return sums;
}

/* Adds an operation to its cell: the logarithm of its bandwidth, as the mean is
 * a geometric one, and its time. */
static int take_op(struct report *r, const char *const *v)
{
    double busbw = real_of(v[OP_BUSBW]), us = real_of(v[OP_EXEC]);
    uint64_t bytes = 0, size;
    struct sums *sums;
    struct cell *c;

    num_parse_u64(v[OP_BYTES], 0, INT64_MAX, &bytes, NULL);
    size = metrics_size_first(bytes);
    c = &r->cache[slot_of(v, size)];
    /* metrics_add finds a cell that is not in the cache */
    if (!c->sums || c->size != size || strcmp(c->comm, v[OP_COMM]) ||
        strcmp(c->coll, v[OP_COLL])) {
        double *values = new_cell(r, v, bytes);

        sums = values ? sums_of(r, values) : NULL;
        if (!sums)
            return -1;
        c->sums = (uint32_t) (sums - r->sums) + 1;
        c->size = size;
        snprintf(c->comm, sizeof(c->comm), "%s", v[OP_COMM]);
        snprintf(c->coll, sizeof(c->coll), "%s", v[OP_COLL]);
    }
    sums = &r->sums[c->sums - 1];
    if (busbw > 0) {
        sums->log_busbw += log(busbw);
        sums->n_busbw++;
    }
    if (us > 0) {
        sums->us += us;
        sums->n_us++;
    }
    return 0;
}

/* Turns the sums into means: the geometric one of bandwidths. */
static void settle_cells(const struct report *r)
{
    for (size_t i = 0; i < r->n_sums; i++) {
        const struct sums *s = &r->sums[i];

        if (s->n_busbw > 0)
            s->values[METRIC_BUSBW] = exp(s->log_busbw / s->n_busbw);
        if (s->n_us > 0)
            s->values[METRIC_TIME] = s->us / s->n_us;
    }
}

/* Makes the objects of all cells. 0, or -1 and err. */
static int add_operations(struct report *r, struct jp_error *err)
{
    if (read_table(r, "comms", comm_columns, N(comm_columns), take_comm, err) <
        0)
        return -1;
    /* sorted, so that cells find their number of nodes */
    if (r->n_comms)
        qsort(r->comms, r->n_comms, sizeof(*r->comms), by_id);
    if (read_table(r, "ops", op_columns, N(op_columns), take_op, err) < 0)
        return -1;
    settle_cells(r);
    return 0;
}

/* --- features ------------------------------------------------------------- */

/* Adds a row of a feature's table. */
static int take_feature_row(struct report *r, const char *const *v)
{
    const char *texts[METRICS_LABELS] = {r->job, r->step};
    size_t n = METRICS_OWN_LABELS, n_values = 0, column = 0;
    double *values;

    for (size_t i = 0; i < r->table->n_columns; i++)
        if (r->table->columns[i].label)
            texts[n++] = v[column++];
    values = metrics_add_texts(r->set, r->table, texts);
    for (size_t i = 0; values && i < r->table->n_columns; i++)
        if (r->table->columns[i].metric)
            values[n_values++] = real_of(v[column++]);
    return values ? 0 : -1;
}

/* Adds the metrics among the columns of a feature's table. */
static int add_feature_table(struct report *r, const struct jp_table *table,
                             struct jp_error *err)
{
    const char *columns[CSVTABLE_COLUMNS];
    size_t n = 0, n_labels = 0;

    for (size_t i = 0; i < table->n_columns && n < CSVTABLE_COLUMNS; i++)
        if (table->columns[i].label)
            columns[n++] = table->columns[i].key;
    n_labels = n;
    for (size_t i = 0; i < table->n_columns && n < CSVTABLE_COLUMNS; i++)
        if (table->columns[i].metric)
            columns[n++] = table->columns[i].key;
    if (n == n_labels)
        return 0;
    r->table = table;
    errno = 0;
    /* an older report may lack a column */
    return read_table(r, table->name, columns, n, take_feature_row, err) < 0 &&
                   errno != ENODATA
               ? -1
               : 0;
}

static int add_features(struct report *r, struct jp_error *err)
{
    for (size_t i = 0; feature_registry[i]; i++) {
        const struct jp_table *const *table = feature_registry[i]->tables;

        for (; table && *table; table++)
            if (add_feature_table(r, *table, err) < 0)
                return -1;
    }
    return 0;
}

/* --- the step ------------------------------------------------------------- */

/* Counts the findings, by kind and in sum. 0, or -1: no memory. */
static int add_findings(const struct report *r, double *node)
{
    node[METRIC_HANGS] = node[METRIC_LATE_RANKS] = 0;
    for (size_t i = 0; i < r->summary.n_findings; i++) {
        const char *kind = r->summary.findings[i].kind;
        double *v =
            metrics_add(r->set, &metrics_finding, STEP(r), {"kind", kind});

        if (!v)
            return -1;
        add_figure(&v[METRIC_FINDINGS], 1);
        node[METRIC_HANGS] += !strcmp(kind, "hang");
        node[METRIC_LATE_RANKS] += !strcmp(kind, "late_rank");
    }
    return 0;
}

/* Adds the step, its verdict, coverage and duration. 0, or -1: no memory. */
static int add_step(const struct report *r)
{
    const struct summary_file *s = &r->summary;
    double *v = metrics_add(r->set, &metrics_step, STEP(r),
                            {"user", s->job.user}, {"account", s->job.account},
                            {"partition", s->job.partition});

    if (!v)
        return -1;
    v[METRIC_INFO] = 1;
    v = metrics_add(r->set, &metrics_verdict, STEP(r),
                    {"verdict", s->verdict.word});
    if (!v)
        return -1;
    v[METRIC_VERDICT] = 1;
    v = metrics_add(r->set, &metrics_node, STEP(r));
    if (!v)
        return -1;
    v[METRIC_COVERAGE] = s->quality.coverage;
    if (r->last_us > r->first_us)
        v[METRIC_DURATION] = (r->last_us - r->first_us) / 1e6;
    return add_findings(r, v);
}

/* Sets the labels of job and step. */
static void name_step(struct report *r)
{
    if (r->summary.job.id != JSON_UNKNOWN)
        snprintf(r->job, sizeof(r->job), "%" PRIu64, r->summary.job.id);
    snprintf(r->step, sizeof(r->step), "%s", r->summary.job.step);
}

/* The end of the step's communication; otherwise the time of the report. */
static double time_of(const struct report *r)
{
    double us = r->last_us;

    if (!(us > 0))
        us = (double) json_count_or(r->summary.written_us, 0);
    return us > 0 ? us / 1e6 : NAN;
}

int export_metrics(const char *step_dir, bool with_time,
                   struct metrics_set *set, struct jp_error *err)
{
    struct report *r = calloc(1, sizeof(*r));
    size_t first = set->n;
    int rc = -1;

    if (!r)
        return error_set(err, "out of memory");
    r->dir = step_dir;
    r->set = set;
    /* errno: no report, as opposed to a bad one */
    if (summary_file_read(step_dir, SUMMARY_WITHOUT_TABLES, &r->summary, err) <
        0) {
        free(r);
        errno = ENODATA;
        return -1;
    }
    name_step(r);
    if (add_ranks(r, err) == 0 && add_operations(r, err) == 0 &&
        add_features(r, err) == 0)
        rc = add_step(r) < 0 ? error_set(err, "out of memory") : 0;
    for (size_t i = first; with_time && i < set->n; i++)
        set->objects[i]->time_s = time_of(r);
    summary_file_fini(&r->summary);
    hash_fini(&r->by_values);
    free(r->sums);
    free(r->comms);
    free(r->processes);
    free(r);
    if (rc < 0)
        errno = EIO;
    return rc;
}
