/* rankrows.c - filter the ranks of a report's tables. */
#include "orchestrator/show/rankrows.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/show/csvtable.h"

#define MAX_ROWS 65536
#define MAX_PROCESSES 65536

/* Of the wanted rank: host and pid. */
struct process {
    char host[INSPECTOR_MAX_HOST + 1];
    char pid[24];
};

struct wanted {
    char id[INSPECTOR_MAX_ID + 1]; /* of the largest communicator */
    struct process *list;
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

/* ------------------------------------------------------- the wanted process */

static int find_largest(const char *path, struct wanted *w,
                        struct jp_error *err)
{
    static const char *const asked[] = {"id", "n_ranks"};
    struct jp_csvtable table;
    const char *v[2];
    uint64_t most = 0, n;
    int rc;

    if (csvtable_open(&table, path, asked, 2, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0)
        if (get(v[1], &n) && n > most) {
            most = n;
            copy(w->id, sizeof(w->id), v[0]);
        }
    csvtable_close(&table);
    return rc;
}

static int find_processes(const char *path, int64_t rank, struct wanted *w,
                          struct jp_error *err)
{
    static const char *const asked[] = {"comm", "rank", "host", "pid"};
    struct jp_csvtable table;
    const char *v[4];
    uint64_t at;
    int rc;

    if (csvtable_open(&table, path, asked, 4, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        if (strcmp(v[0], w->id) || !get(v[1], &at) || at != (uint64_t) rank ||
            w->n == MAX_PROCESSES)
            continue;
        if (grow((void **) &w->list, w->n, sizeof(*w->list)) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
        copy(w->list[w->n].host, sizeof(w->list->host), v[2]);
        copy(w->list[w->n].pid, sizeof(w->list->pid), v[3]);
        w->n++;
    }
    csvtable_close(&table);
    return rc;
}

static bool is_wanted(const struct wanted *w, const char *const v[])
{
    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->list[i].host, v[HOST]) &&
            !strcmp(w->list[i].pid, v[PID]))
            return true;
    return false;
}

/* ------------------------------------------------------------------- rows */

static bool get_row(const char *const v[], struct rankrow *row)
{
    copy(row->id, sizeof(row->id), v[COMM]);
    copy(row->name, sizeof(row->name), v[NAME]);
    copy(row->host, sizeof(row->host), v[HOST]);
    row->pid = -1;
    if (*v[PID] && num_parse_i64(v[PID], 0, INT64_MAX, &row->pid, NULL) < 0)
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

static int read_rows(struct jp_rankrows *rows, const char *path,
                     const struct opsum_filter *filter, const struct wanted *w,
                     struct jp_error *err)
{
    const char *v[N_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (csvtable_open(&table, path, columns, N_COLUMNS, err) < 0)
        return -1;
    while ((rc = csvtable_next(&table, v, err)) > 0) {
        if (!opsum_is_comm(filter, v[COMM], v[NAME]) ||
            (filter->node && strcmp(filter->node, v[HOST])) ||
            (filter->rank >= 0 && !is_wanted(w, v)))
            continue;
        if (take_row(rows, v) < 0) {
            rc = error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    return rc;
}

int rankrows_add(struct jp_rankrows *rows, const char *csv_dir,
                 const struct opsum_filter *filter, struct jp_error *err)
{
    char *ranks = fileio_path("%s/ranks.csv", csv_dir);
    char *comms = fileio_path("%s/comms.csv", csv_dir);
    struct wanted w = {.id = ""};
    int rc = 0;

    if (!ranks || !comms)
        rc = error_set(err, "out of memory");
    if (rc == 0 && filter->rank >= 0)
        rc = find_largest(comms, &w, err);
    if (rc == 0 && filter->rank >= 0)
        rc = find_processes(ranks, filter->rank, &w, err);
    if (rc == 0)
        rc = read_rows(rows, ranks, filter, &w, err);
    free(w.list);
    free(ranks);
    free(comms);
    return rc;
}

void rankrows_fini(struct jp_rankrows *rows)
{
    free(rows->at);
    *rows = (struct jp_rankrows){0};
}
