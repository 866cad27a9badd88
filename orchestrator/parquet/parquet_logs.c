/* parquet_logs.c - convert each log to a Parquet file, like the
 * exporter's parquet_files/.
 *
 * Columns and their order are those of perf_summary_exporter.py in NCCL 2.30
 * (plugins/profiler/inspector/exporter/example), which writes one row per line
 * of a collective: header, communicator type, operation, metadata. Of an
 * Inspector log all values are the line's; the trace of a verbose record
 * (event_trace_sn, event_trace_ts) has no column. Files of other profilers have
 * what a record keeps, and the algorithm bandwidth that follows from it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/comm_type.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/parquet/parquet_feature.h"
#include "plugins/backend.h"
#include "plugins/nccl_inspector/reader.h"
#include "plugins/reader.h"

enum log_column {
    LOG_ID,
    LOG_COMM_NAME,
    LOG_RANK,
    LOG_N_RANKS,
    LOG_NNODES,
    LOG_COMM_TYPE,
    LOG_COLL,
    LOG_ALGO,
    LOG_PROTO,
    LOG_SN,
    LOG_BYTES,
    LOG_EXEC,
    LOG_TIMING,
    LOG_ALGOBW,
    LOG_BUSBW,
    LOG_VERSION,
    LOG_GIT,
    LOG_MECHANISM,
    LOG_DUMP,
    LOG_HOST,
    LOG_PID,
    LOG_COLUMNS
};

/* dump_timestamp_us is a number, as in the exporter. */
static const struct parquet_column columns[LOG_COLUMNS] = {
    [LOG_ID] = {"id", PARQUET_TEXT},
    [LOG_COMM_NAME] = {"comm_name", PARQUET_TEXT},
    [LOG_RANK] = {"rank", PARQUET_INT},
    [LOG_N_RANKS] = {"n_ranks", PARQUET_INT},
    [LOG_NNODES] = {"nnodes", PARQUET_INT},
    [LOG_COMM_TYPE] = {"comm_type", PARQUET_TEXT},
    [LOG_COLL] = {"coll", PARQUET_TEXT},
    [LOG_ALGO] = {"coll_algo", PARQUET_TEXT},
    [LOG_PROTO] = {"coll_proto", PARQUET_TEXT},
    [LOG_SN] = {"coll_sn", PARQUET_INT},
    [LOG_BYTES] = {"coll_msg_size_bytes", PARQUET_INT},
    [LOG_EXEC] = {"coll_exec_time_us", PARQUET_INT},
    [LOG_TIMING] = {"coll_timing_source", PARQUET_TEXT},
    [LOG_ALGOBW] = {"coll_algobw_gbs", PARQUET_REAL},
    [LOG_BUSBW] = {"coll_busbw_gbs", PARQUET_REAL},
    [LOG_VERSION] = {"inspector_output_format_version", PARQUET_TEXT},
    [LOG_GIT] = {"git_rev", PARQUET_TEXT},
    [LOG_MECHANISM] = {"rec_mechanism", PARQUET_TEXT},
    [LOG_DUMP] = {"dump_timestamp_us", PARQUET_INT},
    [LOG_HOST] = {"hostname", PARQUET_TEXT},
    [LOG_PID] = {"pid", PARQUET_INT},
};

/* The longest text of a marker that is kept for its records. */
enum { DETAIL_MAX = 64 };

/* The file that is written now; the group is used again for each. */
struct writer {
    struct parquet_file *file;
    struct parquet_group *group;
    uint64_t rows;
    struct record_text line; /* of the next record; len 0: it has none */
    /* of the last marker, for records without metadata */
    char version[DETAIL_MAX], git_rev[DETAIL_MAX], mechanism[DETAIL_MAX];
    struct jp_error *err;
};

/* Puts a text; an empty one is unknown. */
static void put_text(struct writer *w, size_t column, struct record_text text)
{
    if (text.len)
        parquet_put_text(w->group, column, text.text, text.len);
    else
        parquet_put_null(w->group, column);
}

/* Puts a number, or null if it is unknown. */
static void put_known(struct writer *w, size_t column, bool known,
                      uint64_t value)
{
    if (known)
        parquet_put_number(w->group, column, value);
    else
        parquet_put_null(w->group, column);
}

/* Puts the communicator's type, which needs its size. */
static void put_type(struct writer *w, const struct record *r)
{
    const char *name;

    if (!r->n_ranks) {
        parquet_put_null(w->group, LOG_COMM_TYPE);
        return;
    }
    name = comm_type_name(comm_type_of(r->n_ranks, r->nnodes));
    parquet_put_text(w->group, LOG_COMM_TYPE, name, strlen(name));
}

/* Puts a word of ours. */
static void put_word(struct writer *w, size_t column, const char *word)
{
    put_text(w, column, (struct record_text){word, strlen(word)});
}

/* Puts a number's text. */
static void put_real(struct writer *w, size_t column, struct record_text text)
{
    char digits[64], *end;
    double value;

    snprintf(digits, sizeof(digits), "%.*s",
             (int) (text.len < sizeof(digits) ? text.len : 0),
             text.len ? text.text : "");
    value = strtod(digits, &end);
    if (*digits && !*end && isfinite(value))
        parquet_put_real(w->group, column, value);
    else
        parquet_put_null(w->group, column);
}

/* Puts what the record's line says besides. */
static void put_line(struct writer *w)
{
    struct inspector_details d;

    inspector_details_read(w->line.text, w->line.len, &d);
    put_text(w, LOG_ALGO, d.algo);
    put_text(w, LOG_PROTO, d.proto);
    put_text(w, LOG_TIMING, d.timing_source);
    put_real(w, LOG_ALGOBW, d.algobw);
    if (d.has_metadata) {
        put_text(w, LOG_VERSION, d.version);
        put_text(w, LOG_GIT, d.git_rev);
        put_text(w, LOG_MECHANISM, d.mechanism);
    } else {
        put_word(w, LOG_VERSION, w->version);
        put_word(w, LOG_GIT, w->git_rev);
        put_word(w, LOG_MECHANISM, w->mechanism);
    }
}

/* Puts the same for a record of another profiler. */
static void put_details(struct writer *w, const struct record *r)
{
    char func[RECORD_MAX_FUNC + 1];
    double gbs;

    snprintf(func, sizeof(func), "%.*s", (int) r->func.len, r->func.text);
    gbs = r->exec_unknown ? 0
                          : bandwidth_of(bandwidth_find(func), r->n_ranks,
                                         r->bytes, r->exec_us)
                                .algo_gbs;
    put_word(w, LOG_ALGO, record_algo_word(r->algo));
    put_word(w, LOG_PROTO, record_proto_word(r->proto));
    put_word(w, LOG_TIMING, record_clock_word(r->clock));
    if (gbs > 0)
        parquet_put_real(w->group, LOG_ALGOBW, gbs);
    else
        parquet_put_null(w->group, LOG_ALGOBW);
    parquet_put_null(w->group, LOG_VERSION);
    parquet_put_null(w->group, LOG_GIT);
    parquet_put_null(w->group, LOG_MECHANISM);
}

/* Puts a record as one row. */
static void put_record(struct writer *w, const struct record *r)
{
    if (w->line.len)
        put_line(w);
    else
        put_details(w, r);
    w->line.len = 0;
    put_text(w, LOG_ID, r->id);
    put_text(w, LOG_COMM_NAME, r->name);
    put_known(w, LOG_RANK, true, r->rank);
    put_known(w, LOG_N_RANKS, r->n_ranks > 0, r->n_ranks);
    put_known(w, LOG_NNODES, r->nnodes > 0, r->nnodes);
    put_type(w, r);
    put_text(w, LOG_COLL, r->func);
    put_known(w, LOG_SN, r->has_sn, r->sn);
    put_known(w, LOG_BYTES, r->bytes || r->p2p, r->bytes);
    put_known(w, LOG_EXEC, !r->exec_unknown, r->exec_us);
    if (r->busbw_nan)
        parquet_put_null(w->group, LOG_BUSBW);
    else
        parquet_put_real(w->group, LOG_BUSBW, (double) r->busbw_micro / 1e6);
    put_known(w, LOG_DUMP, r->dump_us > 0, r->dump_us);
    put_text(w, LOG_HOST, r->host);
    put_known(w, LOG_PID, r->pid >= 0, (uint64_t) r->pid);
    parquet_group_end_row(w->group);
    w->rows++;
}

/* Encodes the group, appends it to the file and empties it. 0, or -1 and err.
 */
static int flush(struct writer *w)
{
    return parquet_group_encode(w->group, w->err) < 0
               ? -1
               : parquet_append(w->file, w->group, w->err);
}

/* The sink's callback for records. Send and Recv have no row, as in the
 * exporter. 0, or -1 and err. */
static int take_records(void *arg, const struct record *records, size_t n)
{
    struct writer *w = arg;

    for (size_t i = 0; i < n; i++) {
        if (records[i].p2p)
            continue;
        put_record(w, &records[i]);
        if (parquet_group_full(w->group) && flush(w) < 0)
            return -1;
    }
    return 0;
}

/* The sink's callback for lines. */
static void take_text(void *arg, const char *text, size_t len)
{
    struct writer *w = arg;

    w->line = (struct record_text){text, len};
}

/* Keeps a text of a marker; a longer one is unknown. */
static void keep_marker_text(struct record_text text, char to[DETAIL_MAX])
{
    snprintf(to, DETAIL_MAX, "%.*s",
             (int) (text.len < DETAIL_MAX ? text.len : 0),
             text.len ? text.text : "");
}

/* The sink's callback for counters, for which the exporter has no column: the
 * records after a marker have its metadata. */
static int take_counts(void *arg, const struct record *base,
                       const struct jpr_counts *counts)
{
    struct writer *w = arg;
    struct inspector_details d;

    (void) base;
    (void) counts;
    if (w->line.len) {
        inspector_details_read(w->line.text, w->line.len, &d);
        keep_marker_text(d.version, w->version);
        keep_marker_text(d.git_rev, w->git_rev);
        keep_marker_text(d.mechanism, w->mechanism);
    }
    w->line.len = 0;
    return 0;
}

/* Writes all records of one log, whatever its profiler. 0, or -1 and err. */
static int put_log(struct writer *w, struct reader_states *states,
                   const struct jp_logfile *log)
{
    static const atomic_bool never;
    _Atomic uint64_t done = 0; /* required, not used */
    struct source_facts facts = {0};
    const struct reader_sink sink = {.take = take_records,
                                     .counts = take_counts,
                                     .line = take_text,
                                     .arg = w};
    const struct reader_input in = {
        .path = log->path, .to = UINT64_MAX, .stop = &never, .done = &done};
    struct jp_error why = {""};
    const struct backend *backend = reader_find(log->path, !log->maybe, &why);
    int rc = 0;

    /* a file of no profiler has no rows */
    if (backend && backend->reader)
        rc = reader_read(states, backend, &in, &sink, &facts);
    reader_facts_fini(&facts);
    return rc < 0 ? -1 : flush(w);
}

/* The file's name without folders and its last ending, as the exporter has it:
 * "a.log.gz" becomes "a.log.parquet". */
static void stem_of(const char *path, char stem[256])
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *end = strrchr(name, '.');
    size_t len = end && end > name ? (size_t) (end - name) : strlen(name);

    snprintf(stem, 256, "%.*s", (int) (len < 200 ? len : 200), name);
}

/* A log's name in dir: its stem, and the number of earlier equal stems. */
struct target {
    char stem[256];
    size_t log, before;
};

static int by_stem(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);

    return order ? order : x->log < y->log ? -1 : x->log > y->log;
}

/* Makes the names, in order of stem. NULL without memory. Caller frees. */
static struct target *name_targets(const struct jp_logwalk *walk)
{
    struct target *t = calloc(walk->n_logs + 1, sizeof(*t));

    for (size_t i = 0; t && i < walk->n_logs; i++) {
        stem_of(walk->logs[i].path, t[i].stem);
        t[i].log = i;
    }
    if (t && walk->n_logs)
        qsort(t, walk->n_logs, sizeof(*t), by_stem);
    /* equal stems are neighbours now */
    for (size_t i = 1; t && i < walk->n_logs; i++)
        if (strcmp(t[i].stem, t[i - 1].stem) == 0)
            t[i].before = t[i - 1].before + 1;
    return t;
}

/* The path of a log's Parquet file. The caller frees it. NULL: no memory. */
static char *path_of(const struct target *t, const char *dir)
{
    return t->before
               ? text_format("%s/%s~%zu.parquet", dir, t->stem, t->before + 1)
               : text_format("%s/%s.parquet", dir, t->stem);
}

/* Writes one log and takes over path. A log without rows leaves no file. */
static int write_log(const struct jp_logfile *log, char *path,
                     struct reader_states *states, struct writer *w,
                     struct parquet_done *done)
{
    struct jp_tempfile file;
    int rc;

    if (!path)
        return error_set(w->err, "out of memory");
    if (fileio_temp_open(&file, path, w->err) < 0) {
        free(path);
        return -1;
    }
    w->rows = 0;
    w->line.len = 0;
    *w->version = *w->git_rev = *w->mechanism = '\0';
    w->file =
        parquet_create(file.stream, "records", columns, LOG_COLUMNS, w->err);
    rc = w->file && put_log(w, states, log) == 0
             ? parquet_finish(w->file, w->err)
             : -1;
    parquet_destroy(w->file);
    /* a log without collectives leaves no file */
    if (rc == 0 && w->rows)
        rc = fileio_temp_commit(&file, w->err);
    else
        fileio_temp_abort(&file);
    done->files += rc == 0 && w->rows;
    done->rows += w->rows;
    free(path);
    return rc;
}

int parquet_logs(const char *const *inputs, size_t n, const char *dir,
                 enum parquet_codec codec, struct parquet_done *done,
                 struct jp_error *err)
{
    struct jp_logwalk walk;
    struct reader_states *states;
    struct target *names;
    struct jp_error why = {"out of memory"};
    struct writer w = {.err = err ? err : &why};
    int rc = -1;

    if (logwalk_init(&walk, inputs, n, err) < 0)
        return -1;
    states = reader_states_create();
    w.group = parquet_group_create(columns, LOG_COLUMNS, codec);
    names = name_targets(&walk);
    if (!states || !w.group || !names)
        error_set(err, "out of memory");
    else if (!walk.n_logs)
        rc = 0; /* no folder without a file */
    else
        rc = fileio_mkdirs_held(dir, err);
    for (size_t i = 0; i < walk.n_logs && rc == 0; i++)
        rc = write_log(&walk.logs[names[i].log], path_of(&names[i], dir),
                       states, &w, done);
    free(names);
    parquet_group_destroy(w.group);
    reader_states_destroy(states);
    logwalk_fini(&walk);
    return rc;
}
