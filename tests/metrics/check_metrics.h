/* check_metrics.h - the rules of Prometheus and OpenMetrics for names, and ours
 * for tables of metrics. */
#ifndef JP_TESTS_METRICS_CHECK_METRICS_H
#define JP_TESTS_METRICS_CHECK_METRICS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/metrics/metrics.h"

static inline bool check_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), len = strlen(end);

    return n > len && !strcmp(text + n - len, end);
}

static inline void check_metric(const struct jp_table *table,
                                const struct metrics_row *row)
{
    bool ours = !strncmp(row->name, "jobprof_", 8);
    char unit[64], all[512] = " ";
    size_t n = 0;

    assert_non_null(row->name);
    assert_true(strlen(row->help) > 10 && !strpbrk(row->help, "\n\\\""));
    assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                     strlen(row->name));
    assert_true(ours == (row->type != METRICS_UNTYPED));
    assert_true(row->told != 0);
    assert_int_equal(check_ends_with(row->name, "_total"),
                     row->type == METRICS_COUNTER);
    if (row->unit) {
        snprintf(unit, sizeof(unit), "_%s%s", row->unit,
                 row->type == METRICS_COUNTER ? "_total" : "");
        assert_true(check_ends_with(row->name, unit));
    }
    assert_null(strstr(row->name, "DCGM"));
    for (; metrics_label(table, n); n++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ",
                 metrics_label(table, n));
    assert_true(n <= METRICS_LABELS);
    /* every series of a step's file has the job, the step and the node, because
     * one (name, labels) in two files fails a whole scrape */
    if (row->told & METRICS_RUNNING) {
        assert_non_null(strstr(all, ours ? " jobid " : " slurm_job_id "));
        assert_non_null(strstr(all, " step "));
        assert_non_null(strstr(all, " node "));
    }
}

/* Checks tables, of which a NULL is the end. */
static inline void check_metrics(const struct jp_table *const *tables)
{
    const struct metrics_row *row, *same;

    for (size_t t = 0; tables[t]; t++)
        for (size_t i = 0; (row = metrics_at(tables[t], i)); i++) {
            check_metric(tables[t], row);
            for (size_t u = 0; u <= t; u++)
                for (size_t k = 0; (same = metrics_at(tables[u], k)); k++)
                    assert_true(row == same || strcmp(row->name, same->name));
        }
}

#endif
