/* opsum_csv.c - the sums from a report's table of operations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/show/csvtable.h"
#include "orchestrator/show/opsum.h"

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

/* An empty field is "not known": 0. */
static bool get_count(const char *text, uint64_t *value)
{
    *value = 0;
    return !*text || num_parse_u64(text, 0, UINT64_MAX >> 1, value, NULL) == 0;
}

static bool get_real(const char *text, double *value)
{
    char *end;

    *value = *text ? strtod(text, &end) : 0;
    return !*text ||
           (!*end && isfinite(*value) && *value >= 0 && *value < 1e15);
}

/* False: the row is not so. */
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
    some->exec_sum_us = (uint64_t) (exec_mean * (double) some->ops + 0.5);
    some->busbw_sum = mean * (double) some->ops;
    return true;
}

int opsum_add_csv(struct opsum_builder *b, const char *path,
                  const struct opsum_filter *filter, struct jp_error *err)
{
    const char *v[N_COLUMNS];
    struct jp_csvtable table;
    int rc;

    if (csvtable_open(&table, path, columns, N_COLUMNS, err) < 0)
        return -1;
    b->sum->processes++;
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
        rc = opsum_put(
            b, &(const struct opsum_key){v[COMM], v[NAME], v[COLL], bytes},
            &some);
        if (rc < 0) {
            error_set(err, "out of memory");
            break;
        }
    }
    csvtable_close(&table);
    return rc < 0 ? -1 : 0;
}
