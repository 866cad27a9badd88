/* test_reader.c - lines that are records, and lines that only look like
 * records. */
#include "plugins/nccl_inspector/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                   \
    "{\"header\":{\"id\":\"0x1f\",\"rank\":1,\"n_ranks\":4,\"nnodes\":2},"
#define META                                                                   \
    "\"metadata\":{\"dump_timestamp_us\":7,\"hostname\":\"n1\",\"pid\":9},"
#define PERF(sn, bytes, us, gbs)                                               \
    "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":" sn                    \
    ",\"coll_msg_size_bytes\":" bytes ",\"coll_exec_time_us\":" us             \
    ",\"coll_busbw_gbs\":" gbs "}}"
#define COLL HEAD META PERF("3", "1024", "55", "1.5")
#define P2P(func, peer)                                                        \
    HEAD "\"p2p_perf\":{\"p2p\":\"" func "\",\"p2p_sn\":1,\"p2p_peer\":" peer  \
         ",\"p2p_msg_size_bytes\":5,\"p2p_exec_time_us\":6,\"p2p_busbw_gbs\":" \
         "1}}"

/* Reads a copy that ends at its heap block's end, so that ASan sees any
 * overrun. */
static enum inspector_line read_line(struct inspector_reader *reader,
                                     const char *text, struct record *record)
{
    static char *copy; /* texts of the record point into the copy */
    size_t len = strlen(text);

    free(copy);
    copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    return inspector_read_line(reader, copy, len, record);
}

static const struct {
    const char *line, *why;
} bad_rows[] = {
    {"x", "not a JSON object"},
    {"[]", "not a JSON object"},
    {"{", "broken JSON"},
    {"{}}", "text after the object"},
    {"{\"a\":1,}", "broken JSON"},
    {"{\"a\" 1}", "broken JSON"},
    {"{\"a\":}", "broken JSON"},
    {"{\"a\":[1,2}", "broken JSON"},
    {"{\"a\":\"\\", "broken JSON"},
    {"{\"a\":\"\x01\"}", "broken JSON"},
    {"{\"header\":1}", "not a JSON object"},
    {COLL " x", "text after the object"},
    {HEAD META "\"coll_perf\":{}}", "no \"coll\""},
    {"{" META PERF("1", "1", "1", "1"), "no \"id\""},
    {HEAD META PERF("-1", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("01", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("1.0", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("1e3", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("\"1\"", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("18446744073709551615", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("18446744073709551616", "1", "1", "1"), "bad \"coll_sn\""},
    {HEAD META PERF("99999999999999999999999", "1", "1", "1"),
     "bad \"coll_sn\""},
    {HEAD META PERF("1", "1125899906842625", "1", "1"),
     "bad \"coll_msg_size_bytes\""},
    {HEAD META PERF("1", "1", "1000000000001", "1"),
     "bad \"coll_exec_time_us\""},
    {HEAD META PERF("1", "1", "1", "-1.0"), "bad \"coll_busbw_gbs\""},
    {HEAD META PERF("1", "1", "1", "1e9"), "bad \"coll_busbw_gbs\""},
    {HEAD META PERF("1", "1", "1", "1."), "bad \"coll_busbw_gbs\""},
    {HEAD META PERF("1", "1", "1", "1e"), "bad \"coll_busbw_gbs\""},
    {HEAD META PERF("1", "1", "1", "\"fast\""), "bad \"coll_busbw_gbs\""},
    {HEAD META PERF("1", "1", "1", "nano"), "bad \"coll_busbw_gbs\""},
    {"{\"header\":{\"id\":\"0x1\",\"rank\":4,\"n_ranks\":4,\"nnodes\":1}," PERF(
         "1", "1", "1", "1"),
     "bad \"rank\""},
    {"{\"header\":{\"id\":\"0x1\",\"rank\":0,\"n_ranks\":0,\"nnodes\":1}," PERF(
         "1", "1", "1", "1"),
     "bad \"rank\""},
    {"{\"header\":{\"id\":\"0x1\",\"rank\":0,\"n_ranks\":2,\"nnodes\":3}," PERF(
         "1", "1", "1", "1"),
     "bad \"nnodes\""},
    {"{\"header\":{\"id\":\"0x1\",\"rank\":0,\"n_ranks\":1048577,\"nnodes\":1}"
     "," PERF("1", "1", "1", "1"),
     "bad \"n_ranks\""},
    {"{\"header\":{\"id\":\"0x\",\"rank\":0,\"n_ranks\":1,\"nnodes\":1}," PERF(
         "1", "1", "1", "1"),
     "bad \"id\""},
    {"{\"header\":{\"id\":\"0x12345678901234567\",\"rank\":0}}", "bad \"id\""},
    {"{\"header\":{\"id\":\"0xg\"}}", "bad \"id\""},
    {HEAD "\"metadata\":{\"hostname\":\"\"}}", "bad \"hostname\""},
    {HEAD "\"metadata\":{\"hostname\":\"..\\/x\"}}", "bad \"hostname\""},
    {HEAD "\"metadata\":{\"hostname\":\"a b\"}}", "bad \"hostname\""},
    {HEAD "\"coll_perf\":{\"coll\":\"a\\u0009b,c\"}}", "bad \"coll\""},
    {HEAD "\"coll_perf\":{\"coll\":\"abcdefghijklmnopqrstuvwxyz0123456789\"}}",
     "bad \"coll\""},
    {P2P("Send", "4"), "bad \"p2p_peer\""},
    {P2P("Push", "3"), "bad \"p2p\""},
    {HEAD "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_msg_size_bytes\":5,"
          "\"p2p_exec_time_us\":6}}",
     "no \"p2p_peer\""},
    {HEAD "\"coll_perf\":{},\"p2p_perf\":{}}", "both coll_perf and p2p_perf"},
    {HEAD "\"coll_perf\":{},\"dump_stats\":{}}",
     "both dump_stats and a record"},
    {"{" PERF("1", "1", "1", "1"), "no header, and no marker counts it"},
    {"{" META "\"dump_stats\":{}}", "no \"id\""},
    {HEAD "\"dump_stats\":1}", "not a JSON object"},
    {HEAD "\"dump_stats\":{\"coll_records\":-1}}", "bad \"coll_records\""},
    {HEAD "\"dump_stats\":{\"p2p_records\":4294967296}}",
     "bad \"p2p_records\""},
};

static void refuses_bad_lines(void **state)
{
    struct inspector_reader reader = {.why = ""};
    struct record record;

    (void) state;
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(*bad_rows); i++) {
        if (read_line(&reader, bad_rows[i].line, &record) != INSPECTOR_BAD ||
            strcmp(reader.why, bad_rows[i].why))
            fail_msg("%s: \"%s\"", bad_rows[i].line, reader.why);
    }
}

/* A record that is cut anywhere is no record, and nothing after the cut is
 * read. */
static void refuses_every_prefix(void **state)
{
    struct inspector_reader reader = {.why = ""};
    struct record record;
    char *text = strdup(COLL);

    (void) state;
    for (size_t len = strlen(text); len-- > 1;) {
        text[len] = '\0';
        assert_int_equal(read_line(&reader, text, &record), INSPECTOR_BAD);
    }
    free(text);
}

#define MARKER(colls, p2p)                                                     \
    HEAD META "\"dump_stats\":{\"coll_records\":" colls                        \
              ",\"coll_dropped_total\":70,\"coll_dropped_since_last_dump\":4," \
              "\"p2p_records\":" p2p ",\"p2p_dropped_since_last_dump\":1,"     \
              "\"proxy_records\":9}}"

/* A marker's records have its header; when they are used up, a record without a
 * header is nobody's. The same with and without a cache. */
static void reads_batches(void **state)
{
    static const struct {
        const char *line;
        enum inspector_line kind;
        bool has_header;
    } rows[] = {
        {"{" PERF("8", "1", "1", "1"), INSPECTOR_BAD, false},
        {MARKER("2", "0"), INSPECTOR_MARKER, true},
        {"{" PERF("8", "1", "1", "1"), INSPECTOR_RECORD, false},
        {"{\"proxy_trace\":{\"rank\":1}}", INSPECTOR_OTHER, false},
        {"{\"p2p_perf\":{}}", INSPECTOR_BAD, false},
        {"{" PERF("9", "1", "1", "1"), INSPECTOR_RECORD, false},
        {"{" PERF("10", "1", "1", "1"), INSPECTOR_BAD, false},
        {MARKER("1", "0"), INSPECTOR_MARKER, true},
        {COLL, INSPECTOR_RECORD, true}, /* has its own: counts nothing */
        {"{" PERF("11", "1", "1", "1"), INSPECTOR_RECORD, false},
        {"{" PERF("12", "1", "1", "1"), INSPECTOR_BAD, false},
    };

    (void) state;
    for (int cached = 0; cached < 2; cached++) {
        struct inspector_reader reader = {
            .cache = cached ? inspector_cache_create() : NULL};
        struct record r;

        inspector_begin_file(&reader);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            if (read_line(&reader, rows[i].line, &r) != rows[i].kind ||
                reader.has_header != rows[i].has_header)
                fail_msg("%s: %s", rows[i].line, reader.why);
            if (rows[i].kind == INSPECTOR_MARKER)
                assert_int_equal(reader.stats.dropped, 5);
            if (rows[i].kind != INSPECTOR_RECORD)
                continue;
            assert_int_equal(r.id.len, 4);
            assert_memory_equal(r.id.text, "0x1f", 4);
            assert_memory_equal(r.host.text, "n1", 2);
            assert_int_equal(r.pid, 9);
            assert_int_equal(r.dump_us, 7);
            assert_int_equal(r.rank, 1);
            assert_int_equal(r.n_ranks, 4);
            assert_int_equal(r.nnodes, 2);
        }
        /* another file knows nothing of it */
        assert_int_equal(read_line(&reader, MARKER("9", "9"), &r),
                         INSPECTOR_MARKER);
        inspector_begin_file(&reader);
        assert_int_equal(read_line(&reader, "{" PERF("8", "1", "1", "1"), &r),
                         INSPECTOR_BAD);
        inspector_cache_destroy(reader.cache);
    }
}

/* Words that explain a record; what is no known word is not refused. */
static void reads_words(void **state)
{
    static const struct {
        const char *words, *algo, *proto;
        enum record_clock clock;
    } rows[] = {
        {"", "", "", RECORD_CLOCK_UNKNOWN},
        {"\"coll_algo\":\"RING\",\"coll_proto\":\"LL128\","
         "\"coll_timing_source\":\"kernel_gpu\",",
         "RING", "LL128", RECORD_CLOCK_GPU},
        {"\"coll_algo\":\"NVLS_T\\u0052EE\",\"coll_proto\":\"SIMPLE\","
         "\"coll_timing_source\":\"kernel_cpu\",",
         "NVLS_TREE", "SIMPLE", RECORD_CLOCK_KERNEL_CPU},
        {"\"coll_algo\":\"NEW\",\"coll_proto\":\"\","
         "\"coll_timing_source\":\"collective_cpu\",",
         "other", "", RECORD_CLOCK_COLL_CPU},
        {"\"coll_algo\":7,\"coll_proto\":null,\"coll_timing_source\":[1],", "",
         "", RECORD_CLOCK_UNKNOWN},
        {"\"coll_timing_source\":\"unknown\",", "", "", RECORD_CLOCK_UNKNOWN},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct inspector_reader reader = {.why = ""};
        struct record r;
        char line[600];

        snprintf(line, sizeof(line),
                 HEAD META "\"coll_perf\":{%s\"coll\":\"AllReduce\","
                           "\"coll_sn\":1,\"coll_msg_size_bytes\":1,"
                           "\"coll_exec_time_us\":1}}",
                 rows[i].words);
        assert_int_equal(read_line(&reader, line, &r), INSPECTOR_RECORD);
        assert_string_equal(record_algo_word(r.algo), rows[i].algo);
        assert_string_equal(record_proto_word(r.proto), rows[i].proto);
        assert_int_equal(r.clock, rows[i].clock);
    }
}

static void refuses_deep_nesting(void **state)
{
    struct inspector_reader reader = {.why = ""};
    struct record record;
    char text[4096] = "{\"a\":";

    (void) state;
    memset(text + 5, '[', sizeof(text) - 6);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(read_line(&reader, text, &record), INSPECTOR_BAD);
}

static void tells_blank_and_other(void **state)
{
    static const struct {
        const char *line;
        enum inspector_line kind;
    } rows[] = {
        {"", INSPECTOR_BLANK},
        {" \t\r", INSPECTOR_BLANK},
        {"{}", INSPECTOR_OTHER},
        {"{\"header\":{},\"x\":[{}]}", INSPECTOR_OTHER},
        {COLL "\r", INSPECTOR_RECORD},
        {P2P("Recv", "3"), INSPECTOR_RECORD},
    };
    struct inspector_reader reader = {.why = ""};
    struct record record;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (read_line(&reader, rows[i].line, &record) != rows[i].kind)
            fail_msg("%s", rows[i].line);
}

static void reads_all_fields(void **state)
{
    struct inspector_reader reader = {.why = ""};
    struct record r;

    (void) state;
    assert_int_equal(read_line(&reader, COLL, &r), INSPECTOR_RECORD);
    assert_memory_equal(r.id.text, "0x1f", 4);
    assert_memory_equal(r.host.text, "n1", 2);
    assert_memory_equal(r.func.text, "AllReduce", 9);
    assert_int_equal(r.name.len, 0);
    assert_int_equal(r.rank, 1);
    assert_int_equal(r.n_ranks, 4);
    assert_int_equal(r.nnodes, 2);
    assert_int_equal(r.pid, 9);
    assert_int_equal(r.dump_us, 7);
    assert_int_equal(r.sn, 3);
    assert_int_equal(r.bytes, 1024);
    assert_int_equal(r.exec_us, 55);
    assert_int_equal(r.busbw_micro, 1500000);
    assert_false(r.p2p || r.busbw_nan);
}

static void reads_decimals_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t micro;
        bool nan;
    } rows[] = {
        {"0", 0, false},
        {"0.000000", 0, false},
        {"0.000001", 1, false},
        {"0.0000005", 1, false},
        {"0.00000049999", 0, false},
        {"44.769089", 44769089, false},
        {"335.544320", 335544320, false},
        {"10000000", 10000000000000, false},
        {"1e0", 1000000, false},
        {"12.5e-1", 1250000, false},
        {"0.0012E+3", 1200000, false},
        {"1.00000000000000000000000000001", 1000000, false},
        {"0.1234565", 123457, false},
        {"0e999999999", 0, false},
        {"\"nan\"", 0, true},
        {"\"-nan\"", 0, true},
        {"nan", 0, true},
        {"inf", 0, true},
        {"-inf", 0, true},
        {"null", 0, true},
    };
    struct inspector_reader reader = {.why = ""};
    struct record r;
    char line[512];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(line, sizeof(line), "%s", HEAD META);
        snprintf(line + strlen(line), sizeof(line) - strlen(line),
                 PERF("3", "1", "5", "%s"), rows[i].text);
        if (read_line(&reader, line, &r) != INSPECTOR_RECORD ||
            r.busbw_micro != rows[i].micro || r.busbw_nan != rows[i].nan)
            fail_msg("%s: %llu", rows[i].text,
                     (unsigned long long) r.busbw_micro);
    }
}

#define CHANNEL(start, stop)                                                   \
    "{\"channel_id\":0,\"kernel_start_ts\":" start ",\"kernel_stop_ts\":" stop \
    ",\"kernel_record_ts\":1}"
#define EVENTS(list) "{\"coll_start_ts\":1,\"kernel_events\":[" list "]}"

static void reads_when_it_ran(void **state)
{
    static const struct {
        const char *trace;
        uint64_t start, stop;
    } rows[] = {
        {EVENTS(CHANNEL("1795251741000596", "1795251741000599")),
         1795251741000596, 1795251741000599},
        {EVENTS(CHANNEL("1795251741000596", "1795251741000599") "," CHANNEL(
             "1795251741000595", "1795251741000600")),
         1795251741000595, 1795251741000600},
        {EVENTS(CHANNEL("5", "9") ", " CHANNEL("4", "7")), 4, 9},
        {" { \"kernel_events\" : [ { \"kernel_stop_ts\" : 8 , "
         "\"kernel_start_ts\" : 6 } ] }",
         6, 8},
        {EVENTS(CHANNEL("5", "0")), 5, 0},
        {EVENTS(CHANNEL("5", "9") "," CHANNEL("6", "0")), 5, 0},
        {EVENTS(CHANNEL("0", "0") "," CHANNEL("6", "7")), 6, 7},
        {EVENTS(CHANNEL("0", "9")), 0, 0},
        {EVENTS(CHANNEL("9", "5")), 0, 0},
        {EVENTS(CHANNEL("07", "9")), 0, 0},
        {EVENTS(CHANNEL("0795251741000596", "1795251741000599")), 0, 0},
        {EVENTS(CHANNEL("1795251741000596", "0795251741000599")), 0, 0},
        {EVENTS(CHANNEL("-1", "9")), 0, 0},
        {EVENTS(CHANNEL("1.5", "9")), 0, 0},
        {EVENTS(CHANNEL("\"5\"", "9")), 0, 0},
        {EVENTS(CHANNEL("5", "18446744073709551616")), 0, 0},
        {EVENTS(CHANNEL("5", "9223372036854775808")), 0, 0},
        {EVENTS(CHANNEL("5", "nan")), 0, 0},
        {EVENTS(""), 0, 0},
        {EVENTS("{}"), 0, 0},
        {EVENTS("7"), 0, 0},
        {"{\"kernel_events\":{}}", 0, 0},
        {"{}", 0, 0},
        {"7", 0, 0},
        {"null", 0, 0},
    };
    struct inspector_reader reader = {.cache = inspector_cache_create()};
    struct record r;
    char line[1024];

    (void) state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        int n = snprintf(line, sizeof(line), "%s", HEAD META);

        n += snprintf(line + n, sizeof(line) - (size_t) n,
                      PERF("3", "1", "5", "2.000000"));
        snprintf(line + n - 2, sizeof(line) - (size_t) n,
                 ",\"event_trace_ts\":%s}}", rows[i / 2].trace);
        if (read_line(&reader, line, &r) != INSPECTOR_RECORD ||
            r.start_us != rows[i / 2].start || r.end_us != rows[i / 2].stop)
            fail_msg("%s: %llu %llu %s", rows[i / 2].trace,
                     (unsigned long long) r.start_us,
                     (unsigned long long) r.end_us, reader.why);
    }
    inspector_cache_destroy(reader.cache);
}

static void cleans_names(void **state)
{
    static const struct {
        const char *raw, *name;
    } rows[] = {
        {"unknown", ""},      {"tp", "tp"},
        {"a\\/b", "a/b"},     {"a\\\"b\\\\", "a\"b\\"},
        {"a\\tb\\n", "a?b?"}, {"\\u0041\\u00e9", "A\xc3\xa9"},
        {"\\u0000x", "?x"},   {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\ud83dx", "?x"},   {"\xc3\xa9", "\xc3\xa9"},
        {"\xff\xc3", "??"},   {"\xc0\x80", "??"},
        {"\x7f", "?"},        {"\\u12", "?12"},
    };
    struct inspector_reader reader = {.why = ""};
    struct record r;
    char line[512];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(line, sizeof(line),
                 "{\"header\":{\"id\":\"0x1\",\"comm_name\":\"%s\",\"rank\":0,"
                 "\"n_ranks\":1,\"nnodes\":1},%s",
                 rows[i].raw, PERF("1", "1", "1", "1"));
        if (read_line(&reader, line, &r) != INSPECTOR_RECORD ||
            r.name.len != strlen(rows[i].name) ||
            (r.name.len && memcmp(r.name.text, rows[i].name, r.name.len)))
            fail_msg("%s: %.*s %s", rows[i].raw, (int) r.name.len, r.name.text,
                     reader.why);
    }
}

static void cuts_long_names_at_a_character(void **state)
{
    struct inspector_reader reader = {.why = ""};
    struct record r;
    char name[201] = "", line[600];

    (void) state;
    for (int i = 0; i < 200; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    snprintf(line, sizeof(line),
             "{\"header\":{\"id\":\"0x1\",\"comm_name\":\"%s\",\"rank\":0,"
             "\"n_ranks\":1,\"nnodes\":1},%s",
             name, PERF("1", "1", "1", "1"));
    assert_int_equal(read_line(&reader, line, &r), INSPECTOR_RECORD);
    assert_int_equal(r.name.len, 126);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_lines),
        cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(reads_batches),
        cmocka_unit_test(reads_words),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(tells_blank_and_other),
        cmocka_unit_test(reads_all_fields),
        cmocka_unit_test(reads_decimals_exactly),
        cmocka_unit_test(reads_when_it_ran),
        cmocka_unit_test(cleans_names),
        cmocka_unit_test(cuts_long_names_at_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
