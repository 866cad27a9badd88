/* rankrows.c - filter the ranks of a report's tables. */
#include "orchestrator/show/rankrows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/show/csvtable.h"
#include "orchestrator/show/jobranks.h"
#include "orchestrator/show/show_table.h"

#define MAX_ROWS 65536

/* Sizes of communicators, by id; in the order of the table. */
struct comm_size {
    char id[RECORD_MAX_ID + 1];
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

static const char *const columns[N_COLUMNS] = {
    "comm",      "comm_name", "rank",    "host",    "pid",       "records",
    "timed_ops", "last_ops",  "exec_us", "wait_us", "caused_us", "p2p_records"};

static bool get(const char *text, uint64_t *value)
{
    *value = 0;
    return !*text || num_parse_u64(text, 0, UINT64_MAX >> 1, value, NULL) == 0;
}

static void copy(char *to, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

static int grow(void **list, size_t n, size_t size)
{
    void *more = *list;

    if (!(n & (n - 1)))
        more = reallocarray(*list, n ? 2 * n : 1, size);
    if (!more)
        return -1;
    *list = more;
    return 0;
}

/* ------------------------------------------------------- ranks in the job */

static int by_id(const void *a, const void *b)
{
    const struct comm_size *x = a, *y = b;

    return strcmp(x->id, y->id);
}

static int read_sizes(const char *path, struct comm_sizes *sizes,
                      struct jp_error *err)
{
    static const char *const asked[] = {"id", "n_ranks"};
    struct jp_csvtable table;
    const char *v[2];
    uint64_t n;
    int rc;

    if (csvtable_open(&table, path, asked, 2, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        if (!get(v[1], &n) || n > UINT32_MAX)
            continue;
        if (grow((void **) &sizes->list, sizes->n, sizeof(*sizes->list)) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
        copy(sizes->list[sizes->n].id, sizeof(sizes->list->id), v[0]);
        sizes->list[sizes->n++].n_ranks = (uint32_t) n;
    }
    csvtable_close(&table);
    if (rc == 0 && sizes->n)
        qsort(sizes->list, sizes->n, sizeof(*sizes->list), by_id);
    return rc;
}

static int64_t pid_of(const char *text)
{
    int64_t pid = -1;

    return *text && num_parse_i64(text, 0, INT64_MAX, &pid, NULL) < 0 ? -1
                                                                      : pid;
}

static int add_process(struct jp_jobranks *ranks, const char *step,
                       const struct comm_sizes *sizes, const char *const v[])
{
    struct comm_size key = {"", 0};
    const struct comm_size *found;
    uint64_t rank;

    copy(key.id, sizeof(key.id), v[0]);
    found = sizes->n ? bsearch(&key, sizes->list, sizes->n, sizeof(key), by_id)
                     : NULL;
    if (!found || !get(v[1], &rank) || rank > UINT32_MAX)
        return 0;
    return jobranks_add(
        ranks, step,
        &(const struct jobranks_claim){.host = v[2],
                                       .pid = pid_of(v[3]),
                                       .task = -1,
                                       .id = key.id,
                                       .n_ranks = found->n_ranks,
                                       .rank = (uint32_t) rank});
}

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

/* ------------------------------------------------------------------- rows */

static bool get_row(const char *const v[], struct rankrow *row)
{
    copy(row->id, sizeof(row->id), v[COMM]);
    copy(row->name, sizeof(row->name), v[NAME]);
    copy(row->host, sizeof(row->host), v[HOST]);
    row->pid = pid_of(v[PID]);
    if (*v[PID] && row->pid < 0)
        return false;
    row->waits = *v[WAIT] && *v[EXEC];
    return get(v[RANK], &row->rank) && get(v[RECORDS], &row->records) &&
           get(v[TIMED], &row->timed_ops) && get(v[LAST], &row->last_ops) &&
           get(v[EXEC], &row->exec_us) && get(v[WAIT], &row->wait_us) &&
           get(v[CAUSED], &row->caused_us) && get(v[P2P], &row->p2p_records);
}

static int take_row(struct jp_rankrows *rows, const char *const v[])
{
    struct rankrow row = {.id = ""};

    if (!get_row(v, &row) || rows->n == MAX_ROWS) {
        rows->left_out++;
        return 0;
    }
    if (grow((void **) &rows->at, rows->n, sizeof(*rows->at)) < 0)
        return -1;
    rows->at[rows->n++] = row;
    return 0;
}

static bool is_wanted(const struct opsum_filter *filter,
                      const struct jp_jobranks *ranks, const char *step,
                      const char *const v[])
{
    uint64_t rank;

    return get(v[RANK], &rank) &&
           opsum_is_rank(filter,
                         jobranks_find(ranks, step, v[HOST], pid_of(v[PID])),
                         rank);
}

static int read_rows(struct jp_rankrows *rows, const char *path,
                     const char *step, const struct opsum_filter *filter,
                     const struct jp_jobranks *ranks, struct jp_error *err)
{
    const char *v[N_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (csvtable_open(&table, path, columns, N_COLUMNS, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        if (!opsum_is_comm(filter, v[COMM], v[NAME]) ||
            (filter->node && strcmp(filter->node, v[HOST])) ||
            (filter->rank >= 0 && !is_wanted(filter, ranks, step, v)))
            continue;
        if (take_row(rows, v) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    return rc;
}

int rankrows_add(struct jp_rankrows *rows, const char *step,
                 const struct opsum_filter *filter, struct jp_error *err)
{
    char *ranks_csv = fileio_path("%s/csv/ranks.csv", step);
    char *comms_csv = fileio_path("%s/csv/comms.csv", step);
    struct jp_jobranks *ranks = NULL;
    struct comm_sizes sizes = {0};
    int rc = 0;

    if (filter->rank >= 0)
        ranks = jobranks_create(&step, 1);
    if (!ranks_csv || !comms_csv || (filter->rank >= 0 && !ranks))
        rc = error_set(err, "out of memory");
    if (rc == 0 && ranks)
        rc = read_sizes(comms_csv, &sizes, err);
    if (rc == 0 && ranks)
        rc = read_processes(ranks_csv, step, &sizes, ranks, err);
    if (rc == 0)
        rc = read_rows(rows, ranks_csv, step, filter, ranks, err);
    jobranks_destroy(ranks);
    free(sizes.list);
    free(ranks_csv);
    free(comms_csv);
    return rc;
}

void rankrows_fini(struct jp_rankrows *rows)
{
    free(rows->at);
    *rows = (struct jp_rankrows){0};
}

/* --- ranks as a table and as JSON */

static bool has_waits(const void *row)
{
    return ((const struct rankrow *) row)->waits;
}

#define AT(member) .offset = offsetof(struct rankrow, member)
static const struct show_column shown[] = {
    {"comm", "communicator", -18, SHOW_TEXT, AT(id)},
    {"name", "name", -12, SHOW_TEXT, AT(name), .cut = 12},
    {"rank", "rank", 6, SHOW_COUNT, AT(rank)},
    {"host", "host", -20, SHOW_TEXT, AT(host)},
    {"pid", "pid", 8, SHOW_PID, AT(pid)},
    {"records", "records", 9, SHOW_COUNT, AT(records)},
    {"timed_ops", "timed", 9, SHOW_COUNT, AT(timed_ops)},
    {"last_ops", "last", 8, SHOW_COUNT, AT(last_ops)},
    {"exec_us", "time us", 11, SHOW_COUNT, AT(exec_us), .known = has_waits,
     .last = true},
    {"wait_us", "waited us", 11, SHOW_COUNT, AT(wait_us), .known = has_waits,
     .last = true},
    {"caused_us", "caused us", 11, SHOW_COUNT, AT(caused_us)},
    {"p2p_records", "Send/Recv", 9, SHOW_COUNT, AT(p2p_records)},
};
#undef AT
static const struct show_table table = {shown, sizeof(shown) / sizeof(*shown),
                                        sizeof(struct rankrow)};

int rankrows_print(const struct jp_rankrows *rows, FILE *out,
                   struct jp_error *err)
{
    show_table_print(&table, rows->at, rows->n, out);
    quote_printf(out, "%zu row%s of csv/ranks.csv", rows->n, plural(rows->n));
    if (rows->left_out)
        fprintf(out, ", %" PRIu64 " left out", rows->left_out);
    fputs("; times of single ranks by function and size went with the logs\n",
          out);
    return show_table_end(NULL, out, err);
}

int rankrows_print_json(const struct jp_rankrows *rows, FILE *out,
                        struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_LINES, out);
    json_stream_count(&s, "schema_version", 1);
    json_stream_text(&s, "source", "csv");
    json_stream_count(&s, "left_out", rows->left_out);
    show_table_json(&s, "ranks", &table, rows->at, rows->n);
    return show_table_end(&s, out, err);
}
