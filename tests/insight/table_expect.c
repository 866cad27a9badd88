/* table_expect.c - peaks and baselines of simulated jobs. */
#include "tests/insight/table_expect.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/report.h"

#define CLEAN_RUNS 5

/* The simulator's rates (simjob.c): 45 GB/s of each of 7 adapters, 350 GB/s
 * within a node, and a few us of latency. */
static void make_peaks(struct table_expect *x)
{
    static const struct peaks_row links[] = {
        {.link = "hca-only",
         .peak_gbs = 45,
         .sizes = {{4 << 20, 0.5}, {16 << 20, 0.8}},
         .n_sizes = 2},
        {.link = "mixed",
         .per_node = 7,
         .peak_gbs = 45,
         .sizes = {{4 << 20, 0.5}, {16 << 20, 0.8}},
         .n_sizes = 2},
        {.link = "nvlink-only",
         .peak_gbs = 350,
         .sizes = {{16 << 20, 0.7}},
         .n_sizes = 1},
    };

    x->peaks.rows = malloc(sizeof(links));
    if (!x->peaks.rows)
        abort();
    memcpy(x->peaks.rows, links, sizeof(links));
    x->peaks.n = sizeof(links) / sizeof(*links);
    x->is.peaks = &x->peaks;
}

/* The report's JSON, as jobprof baseline reads it. */
static json_t *report_of(const struct jp_result *result,
                         const struct jp_insight *insight)
{
    struct jp_verdict verdict;
    const struct jp_report report = {.result = result,
                                     .processes = &insight->processes,
                                     .insight = insight,
                                     .verdict = &verdict,
                                     .reporter = "user"};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    json_t *root;

    verdict_decide(NULL, NULL, result, insight, true, &verdict);
    if (!out || report_write_json(&report, out, NULL) < 0 || fclose(out))
        abort();
    root = json_loadb(text, len, 0, NULL);
    free(text);
    return root;
}

/* As `jobprof baseline` does, leaves out reports in which a rank is accused. */
static void add_run(const char *dir, struct jp_baseline *all)
{
    const struct jp_aggregate_options options = {.threads = 1};
    struct jp_result *result = aggregate_run(&dir, 1, &options, NULL);
    struct jp_insight *insight = result ? insight_run(NULL, NULL, result, NULL)
                                        : NULL;
    json_t *root = insight ? report_of(result, insight) : NULL;
    struct jp_error err = {""};
    char why[160] = "";
    enum baseline_added rc =
        root ? baseline_file_add(root, false, all, why, sizeof(why), &err)
             : BASELINE_UNREADABLE;

    if (rc == BASELINE_UNREADABLE || rc == BASELINE_CONFLICT) {
        fprintf(stderr, "no baseline: %s\n", err.text);
        abort();
    }
    if (rc == BASELINE_LEFT_OUT)
        fprintf(stderr, "# a clean run is left out of the baseline: %s\n", why);
    json_decref(root);
    insight_destroy(insight);
    result_destroy(result);
}

void table_expect_make(enum jp_against against,
                       const struct simjob_shape *shape, uint64_t seed,
                       const char *dir, const struct table_way *way,
                       struct table_expect *x)
{
    struct simjob_truth truth;

    *x = (struct table_expect){.is = {.gpu = ""}};
    if (against == JP_AGAINST_PEAKS)
        make_peaks(x);
    if (against != JP_AGAINST_BASELINE)
        return;
    for (uint64_t i = 1; i <= CLEAN_RUNS; i++) {
        if (way->write(shape, SIMJOB_CLEAN, 0, ~seed + i, dir, &truth) < 0)
            abort();
        add_run(dir, &x->baseline);
        way->remove(shape, dir);
    }
    x->is.baseline = &x->baseline;
}

void table_expect_fini(struct table_expect *x)
{
    peaks_fini(&x->peaks);
    baseline_fini(&x->baseline);
}

bool table_expect_applies(const struct jp_insight *insight,
                          enum jp_against against)
{
    for (size_t i = 0; i < insight->network.n; i++)
        if (insight->network.at[i].key.n_hosts > 1 &&
            insight->expected[i].against == against)
            return true;
    return false;
}
