/* test_copper_readers.c - Copper's formats: good, cut, wrong, hostile. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/copper/copper_counts.h"

#define AGG                                                                    \
    "metric,value\ntotal_counted_fuse_operations,9\ntotal_cache_hits,4\n"      \
    "total_cache_misses,1\ntotal_negative_results,2\n"                         \
    "estimated_cache_served_operations_saved_by_copper,4\n"                    \
    "metadata_enoent_ttl_stores,1\nmetadata_enoent_ttl_serves,3\n"             \
    "metadata_enoent_ttl_expires,0\n"                                          \
    "metadata_enoent_ttl_clears_on_success_or_non_enoent,0\n"                  \
    "estimated_repeated_metadata_lookups_avoided_by_ttl,3\n"
#define LATENCY "total_measured_latency_seconds,"
#define OPS                                                                    \
    "operation,total_calls,cache_hits,cache_misses,negative_results,"          \
    "avg_latency_us,total_latency_s\n"

static void open_text(struct copper_stream *s, const char *text)
{
    assert_int_equal(copper_stream_bytes(s, text, strlen(text), NULL), 0);
}

static void test_aggregate(void **state)
{
    static const struct {
        const char *text, *error; /* NULL: good */
        bool overflow;
    } rows[] = {
        {"", "empty", false},
        {"metric,value", "line 1: cut", false},
        {"metric;value\n", "line 1: \"metric;value\" is not", false},
        {AGG, "ends after line 11 without total_measured_latency", false},
        {AGG LATENCY "1.5", "line 12: cut at", false},
        {AGG LATENCY "1.5x\n", "line 12: total_measured_latency_seconds: bad",
         false},
        {AGG LATENCY "-1\n", "bad value \"-1\"", false},
        {AGG LATENCY "\n", "bad value \"\"", false},
        {AGG LATENCY "1,2\n", "line 12: total_measured_latency_seconds without",
         false},
        {AGG "total_cache_hits,4\n", "line 12: duplicate total_cache_hits",
         false},
        {AGG LATENCY "18446744073709.551616\n", "bad value", false},
        {AGG LATENCY "1.500000\n", NULL, false},
        {"metric,value\ntotal_counted_fuse_operations,18446744071562068612\n",
         "ends after line 2", false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct copper_totals t = {.value = {77}};
        struct copper_stream s;
        struct jp_error err = {""};
        int rc;

        open_text(&s, rows[i].text);
        rc = copper_totals_read(&s, &t, &err);
        copper_stream_close(&s);
        assert_int_equal(rc, rows[i].error ? -1 : 0);
        if (rows[i].error) {
            assert_non_null(strstr(err.text, rows[i].error));
            assert_int_equal(t.value[0], 77);
            continue;
        }
        assert_int_equal(t.value[COPPER_OPERATIONS], 9);
        assert_int_equal(t.value[COPPER_LATENCY_US], 1500000);
        assert_int_equal(t.overflow, rows[i].overflow);
    }
}

static void test_unknown_metric(void **state)
{
    struct copper_totals t;
    struct copper_stream s;

    (void) state;
    open_text(&s, AGG "future,1\n" LATENCY "0.000001\n");
    assert_int_equal(copper_totals_read(&s, &t, NULL), 0);
    copper_stream_close(&s);
    assert_non_null(strstr(t.odd.text, "line 12: unknown metric \"future\""));
    assert_int_equal(t.value[COPPER_LATENCY_US], 1);
}

static void test_operations(void **state)
{
    static const struct {
        const char *text, *error;
        bool overflow;
        uint64_t calls;
    } rows[] = {
        {OPS, NULL, false, 0},
        {OPS "getattr,5,4,0,1,0.20,0.000001\nread,4,0,1,1,1.00,0.000004\n",
         NULL, false, 9},
        {OPS "getattr,5,4,0,1,0.20", "line 2: cut at \"getattr", false, 0},
        {OPS "getattr,5,4,0,1,0.20\n", "line 2: not 7 values", false, 0},
        {OPS "getattr,5,4,0,1,0.2,0.1,3\n", "line 2: not 7 values", false, 0},
        {OPS "getattr,5,x,0,1,0.2,0.1\n", "getattr: bad number", false, 0},
        {OPS "getattr,4294967296,1,0,1,0.2,0.1\n", "bad number", false, 0},
        {OPS "getattr,1,0,0,0,0.2,0.1\ngetattr,1,0,0,0,0.2,0.1\n",
         "line 3: duplicate getattr", false, 0},
        {OPS "getattr,-2147483648,1,0,0,0.2,0.1\n", NULL, true, 0},
        {"operation,total_calls,cache_hits,cache_misses,negative_results,avg_"
         "latency_us,total_latency_s,p99\nread,4,0,0,0,0.2,0.1,7\n",
         NULL, false, 4},
        {"operation,total_calls,cache_hits,cache_misses,negative_results,avg_"
         "latency_us,total_latency_s,p99\nread,4,0,0,0,0.2,0.1\n",
         NULL, false, 4},
        {OPS "teleport,3,0,0,0,0.2,0.1\nwarp,4,0,0,0,0.2,0.1\n", NULL, false,
         7},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct copper_ops ops;
        struct copper_totals sum;
        struct copper_stream s;
        struct jp_error err = {""};
        int rc;

        open_text(&s, rows[i].text);
        rc = copper_ops_read(&s, &ops, &err);
        copper_stream_close(&s);
        assert_int_equal(rc, rows[i].error ? -1 : 0);
        if (rows[i].error) {
            assert_non_null(strstr(err.text, rows[i].error));
            continue;
        }
        assert_int_equal(ops.overflow, rows[i].overflow);
        copper_ops_sum(&ops, &sum);
        if (!ops.overflow)
            assert_int_equal(sum.value[COPPER_OPERATIONS], rows[i].calls);
    }
}

static void test_names_of_operations(void **state)
{
    (void) state;
    for (size_t i = 0; i < COPPER_N_OPS; i++)
        assert_int_equal(
            copper_op_find(copper_op_names[i], strlen(copper_op_names[i])), i);
    assert_int_equal(copper_op_find("reader", 6), COPPER_OTHER_OP);
    assert_int_equal(copper_op_find("rea", 3), COPPER_OTHER_OP);
    assert_int_equal(copper_op_find("", 0), COPPER_OTHER_OP);
}

static void test_agree(void **state)
{
    struct copper_totals t = {.value = {9, 4, 1, 2, 4, 1, 3, 0, 0, 3, 7}};
    struct copper_ops ops = {.odd = {""}};
    struct jp_error err;

    (void) state;
    ops.row[0] = (struct copper_op){9, 4, 1, 2, 5};
    assert_int_equal(copper_counts_agree(&t, &ops, &err), 0);
    t.value[COPPER_OPERATIONS] = 8;
    assert_int_equal(copper_counts_agree(&t, &ops, &err), -1);
    assert_non_null(strstr(err.text, "is 8 in the aggregate and 9 in the"));
    t.value[COPPER_OPERATIONS] = 9;
    t.value[COPPER_TTL_AVOIDED] = 2;
    assert_int_equal(copper_counts_agree(&t, &ops, &err), -1);
}

/* "category path counts" for each row, then "end" or the error. */
static char *list(const char *text, bool top, enum copper_category category)
{
    struct jp_error err = {""};
    struct copper_stream s;
    struct copper_rows rows;
    struct copper_row row;
    char *out = NULL;
    size_t len;
    FILE *f = open_memstream(&out, &len);
    int rc;

    open_text(&s, text);
    copper_rows_init(&rows, &s, top ? COPPER_TOP_PATHS : (int) category);
    while ((rc = copper_rows_next(&rows, &row, &err)) > 0)
        if (row.wrapped)
            fprintf(f, "%s [%s] wrapped; ", copper_category_names[row.category],
                    row.path);
        else
            fprintf(f,
                    "%s [%s] %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "; ",
                    copper_category_names[row.category], row.path, row.count[0],
                    row.count[1], row.count[2], row.count[3]);
    fputs(rc == 0 ? "end" : err.text, f);
    fclose(f);
    copper_rows_fini(&rows);
    copper_stream_close(&s);
    return out;
}

#define TOP                                                                    \
    "category,path,total_events,cache_hits,cache_misses,negative_results,"     \
    "ttl_stores,ttl_serves,ttl_expires,ttl_clears\n"

static void test_top(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", "empty"},
        {"category\n", "line 1: \"category\" is no heading"},
        {TOP, "end"},
        {TOP "data,\"/a\",3,1,2,0,0,0,0,0\n", "data [/a] 1 2 0 0; end"},
        {TOP "metadata_ttl,\"/z\",7,0,0,0,1,6,0,0\n",
         "metadata_ttl [/z] 1 6 0 0; end"},
        {TOP "tree,\"/o,\"\"n\"\"\",1,1,0,0,0,0,0,0\n",
         "tree [/o,\"n\"] 1 0 0 0; end"},
        {TOP "tree,\"/a\nb\",1,1,0,0,0,0,0,0\n", "tree [/a\nb] 1 0 0 0; end"},
        {TOP "tree,\"/\xe9\",1,1,0,0,0,0,0,0\n", "tree [/\xe9] 1 0 0 0; end"},
        {TOP "tree,\"/a", "line 2: cut within a path"},
        {TOP "tree,\"/a\n", "line 2: cut within a path"},
        {TOP "tree,\"/a\",1,1", "line 2: cut"},
        {TOP "tree,\"/a\",2,1,0,0,0,0,0,0\n",
         "line 2: counts do not add up to the total"},
        {TOP "tree,\"/a\",1,1,0,0,0,0,0\n",
         "line 2: not as many values as in the heading"},
        {TOP "tree,\"/a\"x,1\n", "line 2: no counts"},
        {TOP "tree,\"/a\",-3,-4,1,0,0,0,0,0\n", "tree [/a] wrapped; end"},
        {TOP "tree,/a,1\n", "line 2: bad row"},
        {TOP "other,\"/a\",1\n", "line 2: bad row"},
        {TOP "tree", "line 2: cut row"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *got = list(rows[i].text, true, 0);

        assert_string_equal(got, rows[i].expected);
        free(got);
    }
}

#define MD "Metdata Cache Events {\n"
#define BLOCK(path) path " {\ncache hits: 4,\ncache misses: 3,\nneg: 2\n}\n"

static void test_table(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", "empty"},
        {"Data Cache Events {\n}", "line 1: \"Data Cache Events {\" is not"},
        {MD "}", "end"},
        {MD "}\n", "end"},
        {MD BLOCK("/a") "}", "metadata [/a] 4 3 2 0; end"},
        {MD BLOCK("/a") BLOCK("/b") "}\n",
         "metadata [/a] 4 3 2 0; metadata [/b] 4 3 2 0; end"},
        {MD BLOCK("/a {\n/b") "}", "metadata [/a {\n/b] 4 3 2 0; end"},
        {MD BLOCK("/a {") "}", "metadata [/a {] 4 3 2 0; end"},
        {MD BLOCK("/a\n}\n/b") "}", "metadata [/a\n}\n/b] 4 3 2 0; end"},
        {MD BLOCK("/a"),
         "metadata [/a] 4 3 2 0; line 6: cut: the closing brace is missing"},
        {MD "/a {\ncache hits: 4,\ncache misses: 3,\nneg: 2\n}",
         "line 6: cut within a block"},
        {MD "/a {\ncache hits: 4,\ncache mis", "line 4: cut within a block"},
        {MD "/a {\ncache hits: 4,\nx\ny\n", "line 4: bad line \"x\""},
        {MD "/a {\ncache hits: -4,\ncache misses: 3,\nneg: 2\n}\n}",
         "metadata [/a] wrapped; end"},
        {MD "/a", "line 2: cut within a path"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *got = list(rows[i].text, false, COPPER_METADATA);

        if (strncmp(got, rows[i].expected, strlen(rows[i].expected)))
            assert_string_equal(got, rows[i].expected);
        free(got);
    }
    char *got = list("Metadata ENOENT TTL Events {\n/a {\nstores: 1,\nserves: "
                     "6,\nexpires: 2,\nclears: 3\n}\n}",
                     false, COPPER_TTL);
    assert_string_equal(got, "metadata_ttl [/a] 1 6 2 3; end");
    free(got);
}

static void test_dumps(void **state)
{
    struct copper_ops ops = {.odd = {""}}, before, diff;
    struct copper_cache_size size = {0};
    struct copper_stream s;
    struct jp_error err;
    size_t getattr = copper_op_find("getattr", 7);

    (void) state;
    open_text(&s, "Aggregate Operation Counter {\ngetattr: 384,\nread: 0\n}\n");
    assert_int_equal(copper_dump_read(&s, COPPER_DUMP_COUNT, &ops, &err), 0);
    copper_stream_close(&s);
    assert_int_equal(ops.row[getattr].calls, 384);
    open_text(&s, "Aggregate Operation Counter {\ngetattr: 385,\n");
    assert_int_equal(copper_dump_read(&s, COPPER_DUMP_COUNT, &ops, &err), -1);
    copper_stream_close(&s);
    assert_non_null(strstr(err.text, "line 2: cut"));
    assert_int_equal(ops.row[getattr].calls, 384);
    open_text(&s, "Aggregate Operation Cache Hit {\ngetattr: x\n}\n");
    assert_int_equal(copper_dump_read(&s, COPPER_DUMP_HIT, &ops, &err), -1);
    copper_stream_close(&s);
    before = ops;
    before.row[getattr].calls = 84;
    assert_int_equal(copper_ops_since(&ops, &before, &diff, &err), 0);
    assert_int_equal(diff.row[getattr].calls, 300);
    assert_int_equal(copper_ops_since(&before, &ops, &diff, &err), -1);
    assert_non_null(strstr(err.text, "getattr fell from 384 to 84"));
    open_text(&s, "/a: 5\n====\nTotal bytes: 5\ntotal number of files: 1\n");
    assert_int_equal(copper_cache_size_read(&s, &size, &err), 0);
    copper_stream_close(&s);
    assert_int_equal(size.bytes, 5);
    assert_int_equal(size.entries, 1);
    open_text(&s, "/a: 5\n====\nTotal bytes: 5\n");
    assert_int_equal(copper_cache_size_read(&s, &size, &err), -1);
    copper_stream_close(&s);
}

static void test_names(void **state)
{
    static const struct {
        const char *folder, *file, *host;
        int64_t pid;
        enum copper_kind kind;
        enum copper_tag tag;
        uint64_t copy;
    } good[] = {
        {"final", "n1-7-profiling_aggregate.csv", "n1", 7,
         COPPER_FILE_AGGREGATE, COPPER_TAG_FINAL, 0},
        {"final", "gpu-node-2-30539-profiling_operations.csv", "gpu-node-2",
         30539, COPPER_FILE_OPERATIONS, COPPER_TAG_FINAL, 0},
        {"pre-destroy", "a.b.gov-7-pre-destroy-profiling_top_paths.csv",
         "a.b.gov", 7, COPPER_FILE_TOP, COPPER_TAG_PRE_DESTROY, 0},
        {"runtime-snapshot", "n-1-runtime-snapshot-profiling_summary.md", "n",
         1, COPPER_FILE_SUMMARY, COPPER_TAG_RUNTIME, 0},
        {"runtime-snapshot-12", "n-1-runtime-snapshot-profiling_aggregate.csv",
         "n", 1, COPPER_FILE_AGGREGATE, COPPER_TAG_RUNTIME, 12},
        {"flat", "n-1-ioctl-snapshot-md_ttl_cache_event.output", "n", 1,
         COPPER_FILE_TABLE_TTL, COPPER_TAG_IOCTL, 0},
        {"before", "n-1-operation_count.output", "n", 1, COPPER_FILE_DUMP_COUNT,
         COPPER_TAG_BEFORE, 0},
        {"logs", "n-1-output.log", "n", 1, COPPER_FILE_LOG, COPPER_TAG_FINAL,
         0},
        {"logs", "copper_address_book.txt", "", 0, COPPER_FILE_BOOK,
         COPPER_TAG_FINAL, 0},
    };
    static const char *const bad[][2] = {
        {"cluster", "run-12-profiling_aggregate.csv"},
        {"final", "cluster-profiling_aggregate.csv"},
        {"final", "-7-profiling_aggregate.csv"},
        {"final", "n1-profiling_aggregate.csv"},
        {"final", "n-99999999999-profiling_aggregate.csv"},
        {"final", "n-7-profiling_aggregate.csv.swp"},
        {"logs", "output.log"},
        {"x", ""},
    };
    struct copper_name name;

    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(copper_name_parse(good[i].folder, good[i].file, &name));
        assert_string_equal(name.host, good[i].host);
        assert_int_equal(name.pid, good[i].pid);
        assert_int_equal(name.kind, good[i].kind);
        assert_int_equal(name.tag, good[i].tag);
        assert_int_equal(name.copy, good[i].copy);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(copper_name_parse(bad[i][0], bad[i][1], &name));
}

static void test_summary(void **state)
{
    struct copper_settings set;
    struct copper_stream s;
    struct jp_error err;

    (void) state;
    open_text(&s, "# Copper Profiling Summary\n\n- Profiling mode: "
                  "`top-path`\n- Metadata ENOENT TTL (ms): `2000`\n"
                  "- Top-path limit: `20`\n- Full path outputs enabled: "
                  "`no`\n\n## Aggregate\n");
    assert_int_equal(copper_summary_read(&s, &set, &err), 0);
    copper_stream_close(&s);
    assert_string_equal(set.mode, "top-path");
    assert_int_equal(set.ttl_ms, 2000);
    assert_int_equal(set.top_n, 20);
    assert_int_equal(set.full, 0);
    open_text(&s, "# Copper Profiling Summary\n\n- Profiling mode: `top");
    assert_int_equal(copper_summary_read(&s, &set, &err), -1);
    copper_stream_close(&s);
    assert_non_null(strstr(err.text, "cut"));
}

#define STAMP "2026-11-21 09-02-44.589 [Info] "

static void test_log(void **state)
{
    static const char text[] = STAMP
        "(cu_hello_main) hostname found to be: n\n" STAMP
        "(cu_hello_main) metadata ENOENT TTL (ms): 2000\n" STAMP
        "(cu_hello_main) profile_paths_full: enabled\n" STAMP
        "(get_my_tree_segment) match found na+sm://12-0na+sm://12-0\n" STAMP
        "(pretty_print_tree)         (depth 0) na+sm://2-0\n" STAMP
        "(pretty_print_tree)             (depth 1) na+sm://12-0\n" STAMP
        "(start_thallium_engine) provider registration completed after 3006324 "
        "us\n" STAMP
        "(x) first successful parent rpc_stat completed after 42 us since "
        "provider startup; path=/lustre\n" STAMP
        "(x) parent readiness confirmed by p after 77 us across 3 probe(s)\n";
    struct copper_stream s;
    struct copper_log log;

    (void) state;
    open_text(&s, text);
    assert_int_equal(copper_log_read(&s, &log, NULL), 0);
    copper_stream_close(&s);
    assert_int_equal(log.start_us, INT64_C(1795251764589000));
    assert_int_equal(log.registration_us, 3006324);
    assert_int_equal(log.first_rpc_us, 42);
    assert_int_equal(log.parent_us, 77);
    assert_int_equal(log.probes, 3);
    assert_int_equal(log.level, 1);
    assert_int_equal(log.settings.ttl_ms, 2000);
    assert_int_equal(log.settings.full, 1);
    assert_false(log.timed_out);
    assert_true(copper_log_probe(text, 60));
    assert_false(copper_log_probe("{\"header\":", 10));
    assert_false(copper_log_probe("", 0));
}

static void test_tree(void **state)
{
    static const unsigned two[] = {0, 1, 1, 2, 2, 2, 2, 3};

    (void) state;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(copper_tree_level(i, 2), two[i]);
    assert_int_equal(copper_tree_fanout(31), 2);
    assert_int_equal(copper_tree_fanout(32), 3);
    assert_int_equal(copper_tree_fanout(1024), 6);
    assert_int_equal(copper_tree_fanout(9999), 7);
    assert_int_equal(copper_tree_level(6, 6), 1);
    assert_int_equal(copper_tree_level(7, 6), 2);
}

/* A line over the limit is refused, not truncated. */
static void test_long_line(void **state)
{
    size_t n = copper_lines.line + 2;
    char *text = malloc(n);
    struct copper_stream s;
    struct jp_error err;
    const char *line;
    size_t len;

    (void) state;
    assert_non_null(text);
    memset(text, 'x', n);
    assert_int_equal(copper_stream_bytes(&s, text, n, NULL), 0);
    assert_int_equal(copper_stream_line(&s, &line, &len, &err), -1);
    assert_non_null(strstr(err.text, "line 1: a line of over"));
    copper_stream_close(&s);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aggregate),
        cmocka_unit_test(test_unknown_metric),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_names_of_operations),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_long_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
