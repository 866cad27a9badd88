/* test_copper_run.c - copper_run, and parts of reports made from its result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/copper/copper_build.h"
#include "orchestrator/copper/copper_feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/report/report.h"
#include "orchestrator/report/summary_file.h"
#include "plugins/backend.h"
#include "tests/common/tempdir.h"

static const char aggregate[] =
    "metric,value\ntotal_counted_fuse_operations,9\ntotal_cache_hits,4\n"
    "total_cache_misses,1\ntotal_negative_results,2\n"
    "estimated_cache_served_operations_saved_by_copper,4\n"
    "metadata_enoent_ttl_stores,1\nmetadata_enoent_ttl_serves,3\n"
    "metadata_enoent_ttl_expires,0\n"
    "metadata_enoent_ttl_clears_on_success_or_non_enoent,0\n"
    "estimated_repeated_metadata_lookups_avoided_by_ttl,3\n"
    "total_measured_latency_seconds,1.500000\n";
static const char operations[] =
    "operation,total_calls,cache_hits,cache_misses,negative_results,"
    "avg_latency_us,total_latency_s\n"
    "getattr,6,4,0,2,50000.00,0.300000\nread,2,0,1,0,100000.00,0.200000\n"
    "init,1,0,0,0,1000000.00,1.000000\n";

static void put(const char *dir, const char *folder, const char *name,
                const char *text)
{
    char *path = text_format("%s/%s", dir, folder);
    struct jp_error err;

    assert_non_null(path);
    assert_int_equal(fileio_mkdirs(path, &err), 0);
    free(tempdir_file(path, name, 0600, text));
    free(path);
}

static void put_rank(const char *dir, const char *host)
{
    char name[128];

    snprintf(name, sizeof(name), "%s-7-profiling_aggregate.csv", host);
    put(dir, "profiling/final", name, aggregate);
    snprintf(name, sizeof(name), "%s-7-profiling_operations.csv", host);
    put(dir, "profiling/final", name, operations);
}

static struct jp_copper *run(const char *dir, uint64_t memory)
{
    const struct jp_copper_options options = {.memory_bytes = memory};
    struct jp_copper *copper = NULL;
    struct jp_error err;

    assert_int_equal(copper_run(&dir, 1, &options, &copper, &err), 0);
    return copper;
}

/* Slurm's name of a node may differ from the host's: the folder has Slurm's. */
static void test_expected(void **state)
{
    struct jp_copper_options options = {.memory_bytes = 0};
    const char *dir = *state;
    char *folder = text_format("%s/x7", dir);
    struct jp_copper *copper = NULL;

    put(dir, "", "node_file.txt", "n1\nn2\nx7\n");
    assert_null(run(dir, 0));
    options.expected = true;
    assert_int_equal(copper_run(&dir, 1, &options, &copper, NULL), 0);
    assert_int_equal(copper->n_ranks, 3);
    assert_int_equal(copper->n_state[JP_COPPER_MISSING], 3);
    assert_int_equal(copper->n_roots, 0);
    copper_destroy(copper);
    put_rank(folder, "other");
    put_rank(dir, "n2.site");
    copper = run(dir, 0);
    assert_int_equal(copper->n_ranks, 3);
    assert_int_equal(copper->n_state[JP_COPPER_GOOD], 2);
    for (size_t i = 0; i < copper->n_ranks; i++)
        if (copper->ranks[i].state == JP_COPPER_MISSING)
            assert_string_equal(copper->ranks[i].host, "n1");
    copper_destroy(copper);
    free(folder);
}

static uint64_t clock_now_ms;
static uint64_t leap(void)
{
    return clock_now_ms += 40000; /* the third look is too late */
}

/* A slow file system: what was found so far is used, and the root is marked as
 * cut. */
static void test_slow_walk(void **state)
{
    static const char table[] =
        "Metdata Cache Events {\n/e/conda_env/a {\ncache hits: 1,\n"
        "cache misses: 0,\nneg: 0\n}\n}";
    const char *dir = *state, *environment = "/e/conda_env";
    char *sysroot = text_format("%s/root", dir), name[32];
    struct jp_copper_options options = {.usage = true,
                                        .sysroot = sysroot,
                                        .usage_roots = &environment,
                                        .n_usage_roots = geteuid() == 0};
    uint64_t all = 0;

    put_rank(dir, "n1");
    put(dir, "tables/final", "n1-7-md_table_cache_event.output", table);
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(dir, "root/e/conda_env", name, "");
    }
    for (int slow = 0; slow < 2; slow++) {
        struct jp_copper *copper = NULL;

        options.now_ms = slow ? leap : NULL;
        assert_int_equal(copper_run(&dir, 1, &options, &copper, NULL), 0);
        assert_int_equal(copper->n_used_roots, 1);
        assert_int_equal(copper->used_roots[0].cut, slow);
        if (!slow)
            all = copper->used_roots[0].files;
        else
            assert_in_range(copper->used_roots[0].files, 1, all - 1);
        copper_destroy(copper);
    }
    assert_int_equal(all, 400);
    free(sysroot);
}

static int stop(void *arg, uint64_t done, uint64_t total)
{
    (void) total;
    return ++*(int *) arg > 1 && done > 0;
}

static void test_inputs(void **state)
{
    const char *dir = *state, *missing = "/nonexistent/logs";
    struct jp_copper_options options = {.memory_bytes = 0};
    struct jp_copper *copper = (void *) 1;
    struct jp_error err = {""};
    int calls = 0;

    assert_int_equal(copper_run(&missing, 1, &options, &copper, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/logs"));
    assert_null(copper);
    copper_destroy(NULL);
    assert_null(run(dir, 0));
    put(dir, "notes", "readme.txt", "hello");
    put(dir, "profiling/cluster", "x-1-profiling_aggregate.csv", aggregate);
    assert_null(run(dir, 0));
    put_rank(dir, "n1");
    put_rank(dir, "n2");
    options.progress = stop;
    options.progress_arg = &calls;
    assert_int_equal(copper_run(&dir, 1, &options, &copper, &err), -1);
    assert_string_equal(err.text, "stopped");
    assert_null(copper);
}

static void test_names_of_hosts(void **state)
{
    (void) state;
    assert_true(copper_same_host("n1", "n1"));
    assert_true(copper_same_host("n1", "n1.site.gov"));
    assert_true(copper_same_host("n1.site.gov", "n1"));
    assert_false(copper_same_host("n1", "n10"));
    assert_false(copper_same_host("n1.a", "n1.b"));
    assert_false(copper_same_host("", "n1"));
}

static void test_classes(void **state)
{
    static const struct {
        enum copper_category category;
        const char *path;
        enum jp_copper_class class;
    } rows[] = {
        {COPPER_TTL, "/e/lib/python312.zip", JP_COPPER_PYTHON_ZIP_PROBE},
        {COPPER_TTL, "/e/a.zip", JP_COPPER_NEGATIVE_PROBE},
        {COPPER_TTL, "/e/pyvenv.cfg", JP_COPPER_VIRTUAL_ENV_PROBE},
        {COPPER_TTL, "/e/pyvenv.cfg.so", JP_COPPER_MISSING_LIBRARY_PROBE},
        {COPPER_TTL, "/e/glibc-hwcaps/x.so", JP_COPPER_GLIBC_HWCAPS_PROBE},
        {COPPER_DATA, "/e/lib/python3/site-packages/torch/lib/a.so",
         JP_COPPER_TORCH_LIBRARY},
        {COPPER_DATA, "/e/lib/python3/site-packages/torchvision/a.py",
         JP_COPPER_TORCH_PACKAGE},
        {COPPER_TREE, "/e/lib/python3/site-packages", JP_COPPER_SITE_PACKAGES},
        {COPPER_TREE, "/e/lib/python3/dist-packages", JP_COPPER_STDLIB},
        {COPPER_METADATA, "/e/bin/python3", JP_COPPER_BIN},
        {COPPER_METADATA, "/e/bin", JP_COPPER_PREFIX},
        {COPPER_METADATA, "/e/a.source", JP_COPPER_SHARED_LIBRARY},
        {COPPER_METADATA, "", JP_COPPER_PREFIX},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(copper_class_of(rows[i].category, rows[i].path),
                         rows[i].class);
}

/* Paths beyond the limit of memory are counted, not kept. */
static void test_memory(void **state)
{
    enum { ROWS = 3000, LIMIT = 100 * 1024 };
    struct copper_pathset *set = copper_pathset_create(LIMIT);
    struct jp_copper_path *paths;
    uint64_t left_out = 0, events = 0;
    void *memory;
    size_t n;

    (void) state;
    assert_non_null(set);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ROWS; i++) {
            char path[64];
            struct copper_row row = {
                .category = COPPER_DATA, .path = path, .count = {2, 1, 0, 0}};
            int rc;

            row.len = (size_t) snprintf(path, sizeof(path), "/p/%d", i);
            rc = copper_pathset_add(set, &row, (size_t) round, true);
            assert_in_range(rc, 0, 1);
            left_out += (uint64_t) rc;
        }
    copper_pathset_take(set, &paths, &n, &memory);
    assert_true(n > 100 && n < ROWS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(paths[i].ranks, 2);
        assert_int_equal(paths[i].least, 3);
        assert_int_equal(paths[i].most, 3);
        events += paths[i].events;
    }
    assert_int_equal(events + 3 * left_out, 2 * ROWS * 3);
    free(paths);
    copper_pathset_free(memory);
    copper_pathset_destroy(set);
    copper_pathset_destroy(NULL);
}

/* How much one rank uses a path: several rows of a rank count together. */
static void test_range(void **state)
{
    static const struct {
        size_t rank;
        uint64_t serves;
    } rows[] = {{4, 256}, {7, 200}, {7, 57}, {9, 250}};
    struct copper_pathset *set = copper_pathset_create(0);
    struct jp_copper_path *paths;
    void *memory;
    size_t n;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct copper_row row = {.category = COPPER_TTL,
                                 .path = "/lib/absent.so",
                                 .len = strlen("/lib/absent.so"),
                                 .count = {0, rows[i].serves, 0, 0}};

        assert_int_equal(copper_pathset_add(set, &row, rows[i].rank, false), 0);
    }
    copper_pathset_take(set, &paths, &n, &memory);
    assert_int_equal(n, 1);
    assert_int_equal(paths->ranks, 3);
    assert_int_equal(paths->events, 763);
    assert_int_equal(paths->least, 250);
    assert_int_equal(paths->most, 257);
    free(paths);
    copper_pathset_free(memory);
    copper_pathset_destroy(set);
}

static void test_verdict(void **state)
{
    struct jp_verdict v = {.word = JP_VERDICT_NODATA, .text = "none"};
    struct jp_copper *copper;
    const char *dir = *state;

    put_rank(dir, "n1");
    copper = run(dir, 0);
    copper_verdict_add(NULL, true, &v);
    assert_string_equal(v.text, "none");
    copper_verdict_add(copper, false, &v);
    assert_int_equal(v.word, JP_VERDICT_NODATA);
    assert_non_null(strstr(v.text, "none; Copper: 1 of 1 rank, 9 operations"));
    assert_false(v.part_incomplete);
    copper_verdict_add(copper, true, &v); /* a single rank has no likes */
    assert_int_equal(v.word, JP_VERDICT_UNJUDGED);
    assert_non_null(strstr(v.text, "slow ranks could not be judged"));
    assert_non_null(strstr(v.text, "500 ms without start-up"));
    copper->unjudged = 0;
    copper_verdict_add(copper, true, &v);
    assert_int_equal(v.word, JP_VERDICT_OK);
    assert_null(strstr(v.text, "could not be judged"));
    copper_destroy(copper);
    put(dir, "logs", "node_file.txt", "n1.site.gov\nn2\n");
    copper = run(dir, 0);
    assert_int_equal(copper->n_ranks, 2);
    v.word = JP_VERDICT_OK;
    copper_verdict_add(copper, false, &v);
    assert_int_equal(v.word, JP_VERDICT_INCOMPLETE);
    assert_true(v.part_incomplete);
    v.word = JP_VERDICT_HANG;
    copper_verdict_add(copper, false, &v);
    assert_int_equal(v.word, JP_VERDICT_HANG);
    copper_destroy(copper);
}

static void test_card(void **state)
{
    struct jp_verdict verdict = {.word = JP_VERDICT_OK, .coverage = -1};
    struct jp_report report = {.verdict = &verdict, .reporter = "user"};
    const char *dir = *state;
    char *out = text_format("%s/report", dir), *text = NULL;
    struct feature_set features = {.data = {NULL}};
    struct jp_copper *copper;
    struct jp_error err;
    size_t len;
    struct summary_file summary;
    FILE *f;

    put_rank(dir, "n1");
    copper = run(dir, 0);
    feature_lend(&features, &feature_copper, copper);
    report.features = &features;
    copper_verdict_add(copper, true, &verdict);
    assert_int_equal(fileio_mkdirs(out, &err), 0);
    assert_int_equal(report_write(&report, out, &err), 0);
    assert_int_equal(summary_file_read(out, SUMMARY_WHOLE, &summary, &err), 0);
    f = open_memstream(&text, &len);
    card_print(&summary, out, false, false, 100, f);
    fclose(f);
    assert_non_null(strstr(text, "  copper   ranks 1/1, 9 operations, 4 hits, "
                                 "3 lookups saved, 500 ms\n"));
    summary_file_fini(&summary);
    free(text);
    free(out);
    copper_destroy(copper);
}

/* Its words are those of an option of its own. */
static void test_planner(void **state)
{
    const struct backend *backend = backend_find("copper");
    const struct backend_input in = {.step_dir = "/s"};
    struct jp_error err = {""};

    (void) state;
    assert_non_null(backend);
    assert_int_equal(backend->abi, BACKEND_ABI);
    assert_string_equal(backend->about.name, "copper");
    assert_true(*backend->about.title && *backend->about.words->help);
    assert_int_equal(backend->planner->usable(&in, &err), -1);
    assert_non_null(strstr(err.text, "--copper-profile"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planner),
        cmocka_unit_test_setup_teardown(test_inputs, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_expected, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_slow_walk, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_names_of_hosts),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_range),
        cmocka_unit_test_setup_teardown(test_verdict, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_card, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
