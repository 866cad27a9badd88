/* test_summary_file.c - what a summary.json says, what it does not say, and
 * what is wrong in it. */
#include "orchestrator/report/summary_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/feature/feature.h"

#define HEAD                                                                   \
    "{\"schema_version\":1,\"verdict\":{\"word\":\"SLOW\",\"text\":\"why\"}"

/* Reads JSON as a summary.json. */
static int take(const char *json, struct summary_file *s, struct jp_error *err)
{
    json_t *root = json_loads(json, 0, NULL);

    assert_non_null(root);
    return summary_file_take(root, "d/summary.json", s, err);
}

/* --- values by their path */

static void test_paths(void **state)
{
    json_t *root = json_pack("{s:{s:i,s:s,s:f,s:n,s:i},s:i}", "quality",
                             "records", 7, "host", "n1", "share", 0.5, "lost",
                             "minus", -1, "job", 3);
    uint64_t v = 0;

    (void) state;
    assert_non_null(root);
    assert_true(json_tree_count(root, "quality.records", &v));
    assert_int_equal(v, 7);
    assert_string_equal(json_tree_text(root, "quality.host"), "n1");
    assert_true(json_tree_real(root, "quality.share") == 0.5);
    assert_null(json_tree_at(root, "quality.host.x"));
    assert_null(json_tree_at(root, "job.records"));
    assert_null(json_tree_at(NULL, "quality.records"));
    assert_null(json_tree_at(root, ""));
    assert_false(json_tree_count(root, "quality.minus", &v));
    assert_false(json_tree_count(root, "quality.lost", &v));
    json_decref(root);
}

/* --- a summary */

static void test_known(void **state)
{
    static const char json[] = HEAD
        ",\"written_us\":5,\"job\":{\"id\":12,\"step\":\"0\","
        "\"labels\":{\"model\":\"gpt\",\"run\":\"\"},"
        "\"parallel\":{\"axes\":[{\"axis\":\"tp\",\"ranks\":8}]},"
        "\"settings\":[{\"key\":\"mem\",\"value\":\"1M\"},{}]},"
        "\"quality\":{\"records\":0,\"coverage\":1,"
        "\"overhead\":{\"share\":0.25}},\"end\":{\"fault\":true},"
        "\"findings\":[{\"kind\":\"late_rank\",\"world_rank\":3,"
        "\"cost_us\":7,\"causes\":[{\"what\":\"gpu_clock\"}]},"
        "{\"kind\":\"hang\"}],"
        "\"cells\":[{\"exec_us\":{\"mean\":2.5,\"n\":4}}],"
        "\"p2p\":{\"node_pairs\":[{\"src_host\":\"a\"}]},"
        "\"ranks\":[{\"pid\":-1,\"records\":9}],"
        "\"util\":{\"text\":\"GPUs 9 % busy\",\"series\":["
        "{\"scope\":\"gpu\",\"metric\":\"sm\",\"max\":0.5}]}}";
    struct jp_error err = {""};
    struct summary_file s;

    (void) state;
    if (take(json, &s, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(summary_file_is(&s, "SLOW"));
    assert_int_equal(s.written_us, 5);
    assert_int_equal(s.job.id, 12);
    assert_string_equal(s.job.step, "0");
    assert_int_equal(s.job.n_labels, 2);
    assert_string_equal(s.job.labels[0].key, "model");
    assert_string_equal(s.job.labels[0].value, "gpt");
    assert_int_equal(s.job.parallel.n_axes, 1);
    assert_int_equal(s.job.parallel.axes[0].ranks, 8);
    assert_int_equal(s.job.n_settings, 2);
    assert_string_equal(s.job.settings[0].value, "1M");
    assert_string_equal(s.job.settings[1].key, "");
    assert_int_equal(s.quality.records, 0);
    assert_true(s.quality.coverage == 1);
    assert_true(s.quality.overhead.share == 0.25);
    assert_true(s.end.fault);
    assert_int_equal(s.n_findings, 2);
    assert_int_equal(s.findings[0].world_rank, 3);
    assert_true(s.findings[0].cost_us == 7);
    assert_string_equal(s.findings[0].causes[0].what, "gpu_clock");
    assert_string_equal(json_tree_text(s.findings[1].row, "kind"), "hang");
    assert_int_equal(s.findings[1].n_causes, 0);
    assert_true(summary_cell_time(&s.cells[0]) == 10);
    assert_string_equal(s.p2p.node_pairs[0].src_host, "a");
    assert_int_equal(s.ranks[0].pid, -1);
    assert_int_equal(s.ranks[0].records, 9);
    if (feature_sampler()) { /* in a build with it */
        assert_string_equal(s.samples.text, "GPUs 9 % busy");
        assert_int_equal(s.samples.n_series, 1);
        assert_true(s.samples.series[0].max == 0.5);
    }
    summary_file_fini(&s);
    assert_null(s.root);
    assert_string_equal(s.verdict.word, "");
}

/* What is absent or null is unknown: no zero, and no empty table. */
static void test_unknown(void **state)
{
    static const char *const texts[] = {
        HEAD "}",
        HEAD ",\"written_us\":null,\"job\":null,\"quality\":null,\"end\":null,"
             "\"findings\":null,\"cells\":null,\"p2p\":null,\"util\":null}",
        HEAD ",\"job\":{\"id\":null,\"step\":null,\"labels\":null},"
             "\"quality\":{\"records\":null,\"coverage\":null,"
             "\"overhead\":null},\"util\":{\"text\":null,\"series\":null}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct jp_error err = {""};
        struct summary_file s;

        if (take(texts[i], &s, &err) < 0)
            fail_msg("%s", err.text);
        assert_true(s.written_us == JSON_UNKNOWN);
        assert_true(s.job.id == JSON_UNKNOWN);
        assert_true(s.quality.records == JSON_UNKNOWN);
        assert_int_equal(json_count_or(s.quality.records, 3), 3);
        assert_true(isnan(s.quality.coverage));
        assert_true(isnan(s.quality.overhead.share));
        assert_string_equal(s.job.step, "");
        assert_false(s.end.fault);
        assert_null(s.job.labels);
        assert_null(s.findings);
        assert_null(s.cells);
        assert_null(s.p2p.node_pairs);
        assert_string_equal(s.samples.text, "");
        assert_null(s.samples.series);
        summary_file_fini(&s);
    }
}

/* What is there and wrong is an error that names it; nothing is half read. */
static void test_wrong(void **state)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"[]", "not a summary of schema_version 1"},
        {"{}", "not a summary of schema_version 1"},
        {"{\"schema_version\":2}", "not a summary of schema_version 1"},
        {"{\"schema_version\":1}", "no verdict"},
        {"{\"schema_version\":1,\"verdict\":{\"word\":\"GOOD\","
         "\"text\":\"\"}}",
         "no verdict"},
        {"{\"schema_version\":1,\"verdict\":{\"word\":\"OK\"}}", "no verdict"},
        {HEAD ",\"written_us\":-1}", "written_us: not a count"},
        {HEAD ",\"written_us\":3.0}", "written_us: not a count"},
        {HEAD ",\"written_us\":\"3\"}", "written_us: not a count"},
        {HEAD ",\"quality\":[]}", "quality: not an object"},
        {HEAD ",\"quality\":{\"overhead\":5}}",
         "quality.overhead: not an object"},
        {HEAD ",\"quality\":{\"coverage\":\"all\"}}",
         "quality.coverage: not a number"},
        {HEAD ",\"job\":{\"name\":7}}", "job.name: not a text"},
        {HEAD ",\"end\":{\"fault\":1}}", "end.fault: not true or false"},
        {HEAD ",\"job\":{\"labels\":[]}}", "job.labels: not an object"},
        {HEAD ",\"job\":{\"labels\":{\"a\":1}}}", "job.labels.a: not a text"},
        {HEAD ",\"findings\":{}}", "findings: not an array"},
        {HEAD ",\"findings\":[{},3]}", "findings[1]: not an object"},
        {HEAD ",\"findings\":[{},{\"kind\":[]}]}",
         "findings[1].kind: not a text"},
        {HEAD ",\"findings\":[{\"causes\":[{},{\"what\":0}]}]}",
         "findings[0].causes[1].what: not a text"},
        {HEAD ",\"cells\":[{\"exec_us\":{\"p50\":\"\"}}]}",
         "cells[0].exec_us.p50: not a number"},
        {HEAD ",\"ranks\":[{\"pid\":1.5}]}", "ranks[0].pid: not an integer"},
        {HEAD ",\"verdict\":{\"word\":\"OK\",\"text\":\"\","
              "\"checks\":[\"a\",1]}}",
         "verdict.checks[1]: not a text"},
        {HEAD ",\"util\":{\"series\":[{\"max\":\"\"}]}}",
         "util: series[0].max: not a number"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct jp_error err = {""};
        struct summary_file s;
        char want[200];

        if (!strncmp(cases[i].error, "util:", 5) && !feature_sampler())
            continue;
        snprintf(want, sizeof(want), "d/summary.json: %s", cases[i].error);
        assert_int_equal(take(cases[i].json, &s, &err), -1);
        assert_string_equal(err.text, want);
        assert_null(s.root);
        assert_string_equal(s.verdict.word, "");
        assert_true(s.quality.records == JSON_UNKNOWN);
        assert_int_equal(s.n_findings, 0);
    }
}

/* An array that no report has. */
static void test_long(void **state)
{
    json_t *root = json_loads(HEAD "}", 0, NULL), *cells = json_array();
    struct jp_error err = {""};
    struct summary_file s;

    (void) state;
    for (int i = 0; i <= JSON_ROWS_MAX; i++)
        assert_int_equal(json_array_append_new(cells, json_object()), 0);
    assert_int_equal(json_object_set_new(root, "cells", cells), 0);
    assert_int_equal(summary_file_take(root, NULL, &s, &err), -1);
    assert_string_equal(err.text,
                        "cells: 100001 members are too many (at most 100000)");
}

/* Without a file all is unknown, and the error names it. */
static void test_missing(void **state)
{
    struct jp_error err = {""};
    struct summary_file s;

    (void) state;
    assert_int_equal(summary_file_read("/nonexistent", SUMMARY_WHOLE, &s, &err),
                     -1);
    assert_non_null(strstr(err.text, "/nonexistent/summary.json"));
    assert_true(s.quality.in_flight == JSON_UNKNOWN);
    assert_string_equal(s.end.job_state, "");
    summary_file_fini(&s);
}

/* A feature's own part, where the rest of the file does not matter. */
static void test_own(void **state)
{
    struct part {
        struct {
            uint64_t hits;
            const char *name;
        } cache;
    };
    static const struct json_field fields[] = {
        JSON_FIELD(struct part, cache.hits),
        JSON_FIELD(struct part, cache.name)};
    static const struct json_fields table = JSON_FIELDS(struct part, fields);
    struct summary_file s;
    struct part part;

    (void) state;
    assert_int_equal(take(HEAD ",\"cache\":{\"hits\":4}}", &s, NULL), 0);
    summary_file_own(&s, &table, &part);
    assert_int_equal(part.cache.hits, 4);
    assert_string_equal(part.cache.name, "");
    summary_file_fini(&s);
    /* of another type: unknown as a whole */
    assert_int_equal(take(HEAD ",\"cache\":{\"hits\":4,\"name\":1}}", &s, NULL),
                     0);
    summary_file_own(&s, &table, &part);
    assert_true(part.cache.hits == JSON_UNKNOWN);
    summary_file_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_known),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_long),    cmocka_unit_test(test_missing),
        cmocka_unit_test(test_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
