/* baseline_summary.c - what one report gives to a baseline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/netkey_json.h"
#include "orchestrator/report/summary_file.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static int take_bytes(const char *text, size_t n, void *arg)
{
    uint64_t *hash = arg;

    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned char) text[i]) * FNV_PRIME;
    return 0;
}

static void take_json(const json_t *value, uint64_t *hash)
{
    json_dump_callback(value, take_bytes, hash,
                       JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
                           JSON_REAL_PRECISION(15));
    take_bytes("\n", 1, hash);
}

/* Of a job's step, however often it is reported; of a folder of logs what its
 * ranks did and when. */
static uint64_t fingerprint(const json_t *root)
{
    static const char *const of_job[] = {"id", "step", "restart", "created_us"};
    const json_t *job = json_object_get(root, "job");
    uint64_t hash = FNV_START;

    for (size_t i = 0; i < sizeof(of_job) / sizeof(*of_job); i++)
        take_json(json_object_get(job, of_job[i]), &hash);
    if (json_is_integer(json_object_get(job, "id")))
        return hash;
    take_json(json_object_get(root, "ranks"), &hash);
    take_json(json_object_get(root, "windows"), &hash);
    return hash;
}

/* Why a report is no example of how the network should be; false: it is. */
static bool is_unfit(const json_t *root, bool degraded, char *why, size_t size)
{
    const json_t *verdict = json_object_get(root, "verdict");
    const json_t *findings = json_object_get(root, "findings");
    const char *word = summary_file_text(verdict, "word");

    if (!strcmp(word, "HANG") || !strcmp(word, "INCOMPLETE") ||
        !strcmp(word, "NODATA")) {
        snprintf(why, size, "its verdict is %s", word);
        return true;
    }
    if (degraded)
        return false;
    if (!strcmp(word, "DEGRADED")) {
        snprintf(why, size, "its verdict is DEGRADED");
        return true;
    }
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const char *kind =
            summary_file_text(json_array_get(findings, i), "kind");

        if (!strcmp(kind, "slow_network") || !strcmp(kind, "drift")) {
            snprintf(why, size, "it has a finding of %s", kind);
            return true;
        }
    }
    return false;
}

static int by_key(const void *a, const void *b)
{
    const struct jp_baseline_cell *x = a, *y = b;

    return netkey_compare(&x->key, &y->key);
}

/* The row's cell, where it has enough operations. */
static int read_row(const json_t *row, struct jp_baseline *b,
                    struct jp_error *err)
{
    struct jp_baseline_cell *cell = &b->cells[b->n_cells];

    if (netkey_read(row, &cell->key, err) < 0 ||
        netkey_read_hist(row, "histogram", &cell->ops, err) < 0) {
        bwhist_fini(&cell->ops);
        return -1;
    }
    if ((double) cell->ops.total < limits_table[JP_LIMIT_NET_OPS].value) {
        bwhist_fini(&cell->ops);
        return 0;
    }
    b->n_cells++;
    return bwhist_add(&cell->medians,
                      bwhist_bucket(bwhist_quantile(&cell->ops, 0.5)), 1) < 0
               ? error_set(err, "out of memory")
               : 0;
}

static int read_rows(const json_t *network, struct jp_baseline *b,
                     struct jp_error *err)
{
    size_t n = json_array_size(network);

    if (n > NETCELLS_MAX)
        return error_set(err,
                         "%zu rows of \"network\" are too many (at most "
                         "%d)",
                         n, NETCELLS_MAX);
    b->cells = calloc(n + 1, sizeof(*b->cells));
    b->reports = calloc(1, sizeof(*b->reports));
    if (!b->cells || !b->reports)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (read_row(json_array_get(network, i), b, err) < 0)
            return error_wrap(err, "network[%zu]", i);
    if (b->n_cells)
        qsort(b->cells, b->n_cells, sizeof(*b->cells), by_key);
    for (size_t i = 1; i < b->n_cells; i++)
        if (!by_key(&b->cells[i - 1], &b->cells[i]))
            return error_set(err, "two rows of \"network\" have one key");
    return 0;
}

int baseline_from_summary(const json_t *root, bool degraded,
                          struct jp_baseline *out, char *why, size_t size,
                          struct jp_error *err)
{
    const json_t *network = json_object_get(root, "network");
    struct jp_baseline b = {0};

    if (is_unfit(root, degraded, why, size))
        return 1;
    if (!json_is_array(network)) {
        snprintf(why, size,
                 "it was made by a jobprof that did not keep the "
                 "network's cells: report it again");
        return 1;
    }
    if (read_rows(network, &b, err) < 0) {
        baseline_fini(&b);
        return -1;
    }
    if (!b.n_cells) {
        baseline_fini(&b);
        snprintf(why, size, "no cell has %g complete operations",
                 limits_table[JP_LIMIT_NET_OPS].value);
        return 1;
    }
    b.reports[b.n_reports++] = fingerprint(root);
    *out = b;
    return 0;
}
