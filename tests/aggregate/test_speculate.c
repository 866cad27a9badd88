/* test_speculate.c - speculation gives the same as the generic parser. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "plugins/nccl_inspector/reader_parts.h"
#include "tests/aggregate/both_ways.h"
#include "tests/common/fewer.h"

#define HEAD                                                                   \
    "{\"header\":{\"id\":\"0x1f00000000000a\",\"comm_name\":\"t\\/p\","        \
    "\"rank\":1,\"n_ranks\":4,\"nnodes\":2},"
#define META                                                                   \
    "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":"  \
    "\"unknown\",\"rec_mechanism\":\"nccl_profiler_interface\","               \
    "\"dump_timestamp_us\":1795251741000595,\"hostname\":\"n1\",\"pid\":9},"
#define PERF                                                                   \
    "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":99,"                    \
    "\"coll_msg_size_bytes\":1024,\"coll_exec_time_us\":55,"                   \
    "\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":12.000000,"     \
    "\"coll_busbw_gbs\":9.500000"
#define TRACE                                                                  \
    ",\"event_trace_sn\":{\"coll_start_sn\":1,\"coll_stop_sn\":2,"             \
    "\"kernel_events\":[{\"channel_id\":0,\"kernel_start_sn\":9,"              \
    "\"kernel_stop_sn\":11,\"kernel_record_sn\":10}]},\"event_trace_ts\":{"    \
    "\"coll_start_ts\":1795251741000595,\"coll_stop_ts\":1795251741000598,"    \
    "\"kernel_events\":[{\"channel_id\":0,\"kernel_start_ts\":"                \
    "1795251741000596,\"kernel_stop_ts\":1795251741000599,"                    \
    "\"kernel_record_ts\":0},{\"channel_id\":1,\"kernel_start_ts\":"           \
    "1795251741000597,\"kernel_stop_ts\":1795251741000601}]}"
#define P2P                                                                    \
    "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":7,\"p2p_peer\":3,"              \
    "\"p2p_msg_size_bytes\":5,\"p2p_exec_time_us\":6,\"p2p_timing_source\":"   \
    "\"kernel_gpu\",\"p2p_algobw_gbs\":1.000000,\"p2p_busbw_gbs\":1.000000"

/* v4.1 to v4.4, and keys that no reader knows at every place */
#define MARKER                                                                 \
    HEAD                                                                       \
        "\"metadata\":{\"inspector_output_format_version\":\"v4.3\","          \
        "\"dump_timestamp_us\":1795251741000595,\"hostname\":\"n1\",\"pid\":9" \
        "},\"dump_stats\":{\"coll_records\":1000000,\"coll_dropped_total\":4," \
        "\"coll_dropped_since_last_dump\":2,\"p2p_records\":1000000,"          \
        "\"p2p_dropped_total\":0,\"p2p_dropped_since_last_dump\":1}}"
#define WORDS                                                                  \
    "\"coll\":\"AllReduce\",\"coll_algo\":\"RING\",\"coll_proto\":\"LL\""
#define NUMBERS                                                                \
    ",\"coll_sn\":99,\"coll_msg_size_bytes\":1024,\"coll_exec_time_us\":55,"   \
    "\"coll_timing_source\":\"kernel_cpu\",\"coll_algobw_gbs\":12.000000,"     \
    "\"coll_busbw_gbs\":9.500000"
#define NEW_META                                                               \
    "\"new\":{\"a\":1},\"metadata\":{\"m1\":1,\"dump_timestamp_us\":"          \
    "1795251741000595,\"m2\":22,\"hostname\":\"n1\",\"m3\":\"x\",\"pid\":9,"   \
    "\"m4\":null},\"l1\":17,"
#define NEW_PERF                                                               \
    "\"coll_perf\":{\"coll\":\"AllReduce\",\"p1\":3,\"coll_proto\":\"LL\","    \
    "\"p2\":4.25,\"coll_sn\":99,\"p3\":[1,2],\"coll_msg_size_bytes\":1024,"    \
    "\"p4\":88,\"coll_exec_time_us\":55,\"p5\":5,\"coll_timing_source\":"      \
    "\"collective_cpu\",\"p6\":6,\"coll_algobw_gbs\":12.000000,\"p7\":7,"      \
    "\"coll_busbw_gbs\":9.500000,\"p8\":8"
#define NEW_P2P                                                                \
    "\"p2p_perf\":{\"p2p\":\"Recv\",\"p2p_tag\":1,\"p2p_sn\":7,\"a\":1,"       \
    "\"p2p_peer\":3,\"p2p_msg_size_bytes\":5,\"p2p_exec_time_us\":6,"          \
    "\"p2p_algobw_gbs\":1.000000,\"p2p_busbw_gbs\":1.000000,\"p2p_new\":12"

static const char *const seeds[] = {
    MARKER,
    "{\"coll_perf\":{" WORDS NUMBERS "}}",
    "{" P2P "}}",
    HEAD META "\"coll_perf\":{" WORDS NUMBERS "}}",
    HEAD NEW_META NEW_PERF "}}",
    "{" NEW_PERF "},\"l2\":1}",
    HEAD NEW_META NEW_P2P TRACE "},\"l3\":{\"d\":4}}",
    "{" NEW_P2P "}}",
    "{\"proxy_trace\":{\"record_type\":\"proxy_op\",\"rank\":1}}",
    HEAD META PERF "}}",
    HEAD META PERF TRACE "}}",
    HEAD META P2P "}}",
    HEAD META PERF "}}\r",
    HEAD META P2P TRACE "}}"};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* One small change; line has room for it. */
static size_t mutate(char *line, size_t len, uint64_t *state)
{
    static const char odd[] = "0123456789999\"\"{}[],:.\\eE+- \tna\x01\xc3";
    size_t at = next_random(state) % (len + 1), n;
    char b = odd[next_random(state) % (sizeof(odd) - 1)];

    if (at == len)
        return len;
    switch (next_random(state) % 6) {
    case 0:
        line[at] = b;
        return len;
    case 1: /* one more */
        memmove(line + at + 1, line + at, len - at);
        line[at] = b;
        return len + 1;
    case 2: /* one less */
        memmove(line + at, line + at + 1, len - at - 1);
        return len - 1;
    case 3: /* another digit in a number */
        while (at < len && (line[at] < '0' || line[at] > '9'))
            at++;
        if (at < len)
            line[at] = (char) ('0' + next_random(state) % 10);
        return len;
    case 4: /* a longer number */
        while (at < len && (line[at] < '0' || line[at] > '9'))
            at++;
        n = next_random(state) % 12;
        memmove(line + at + n, line + at, len - at);
        memset(line + at, '1' + (int) (next_random(state) % 9), n);
        return len + n;
    default:
        return at ? at : len; /* cut */
    }
}

static struct inspector_reader reader_with_cache(void)
{
    struct inspector_reader reader = {.cache = inspector_cache_create()};

    assert_non_null(reader.cache);
    return reader;
}

static void agrees_on_mutated_lines(void **state)
{
    struct inspector_reader reader = reader_with_cache();
    uint64_t random = 5;
    char line[2048];

    (void) state;
    for (unsigned i = 0; i < FEWER(200000); i++) {
        const char *seed = seeds[i % (sizeof(seeds) / sizeof(*seeds))];
        size_t len = strlen(seed);
        const char *differs = both_ways_differ(&reader, seed, len);

        assert_null(differs);
        memcpy(line, seed, len);
        for (unsigned n = 1 + i % 3; n; n--)
            len = mutate(line, len, &random);
        differs = both_ways_differ(&reader, line, len);
        if (differs)
            fail_msg("%s: %.*s", differs, (int) len, line);
    }
    assert_true(reader.ways.speculated > FEWER(400000));
    inspector_cache_destroy(reader.cache);
}

/* Equal numbers of series: the same writer and function. */
static void check_series(struct inspector_reader *reader, const char *line)
{
    static struct {
        uint64_t series;
        char who[256];
    } seen[RECORD_MAX_SERIES];
    struct record r;
    char who[256];
    size_t i;

    assert_int_equal(inspector_read_line(reader, line, strlen(line), &r),
                     INSPECTOR_RECORD);
    i = r.series % RECORD_MAX_SERIES;
    if (!r.series)
        return;
    snprintf(who, sizeof(who), "%.*s %.*s %.*s %.*s %d %u %u %u %d",
             (int) r.id.len, r.id.text, (int) r.name.len, r.name.text,
             (int) r.host.len, r.host.text, (int) r.func.len, r.func.text,
             (int) r.pid, r.rank, r.n_ranks, r.nnodes, r.p2p);
    if (seen[i].series == r.series)
        assert_string_equal(seen[i].who, who);
    seen[i].series = r.series;
    memcpy(seen[i].who, who, sizeof(who));
}

/* More communicators, functions and hosts than are remembered. */
static void agrees_on_many_communicators(void **state)
{
    struct inspector_reader reader = reader_with_cache();
    char line[1024];

    (void) state;
    for (unsigned i = 0; i < 20000; i++) {
        unsigned kind = i * 2654435761u >> 16;
        int n = snprintf(
            line, sizeof(line),
            "{\"header\":{\"id\":\"0x%x\",\"comm_name\":\"c%u\",\"rank\":%u,"
            "\"n_ranks\":8,\"nnodes\":1},\"metadata\":{\"dump_timestamp_us\":"
            "%u,\"hostname\":\"h%u\",\"pid\":%u},\"coll_perf\":{\"coll\":\"F%u"
            "\",\"coll_sn\":%u,\"coll_msg_size_bytes\":%u,\"coll_exec_time_us\""
            ":%u,\"coll_timing_source\":\"s%u\",\"coll_algobw_gbs\":%u.000001,"
            "\"coll_busbw_gbs\":%u.500000}}",
            kind % 97, kind % 3, kind % 8, i, kind % 2, kind % 5, kind % 7, i,
            i * 1000, i, kind % 6, i, kind);
        const char *differs = both_ways_differ(&reader, line, (size_t) n);

        check_series(&reader, line);
        if (differs)
            fail_msg("%s: %s", differs, line);
    }
    assert_int_equal(reader.ways.odd, 0);
    inspector_cache_destroy(reader.cache);
}

static const struct {
    const char *line;
    uint64_t speculated, learned, odd;
} way_rows[] = {
    {HEAD META PERF "}}", 2, 1, 0},
    {HEAD META PERF TRACE "}}", 2, 1, 0},
    {HEAD META PERF "}}\r", 2, 1, 0},
    {HEAD META P2P "}}", 2, 1, 0},
    {HEAD META PERF "} }", 0, 0, 3},
    {HEAD META PERF ",\"new\":1}}", 2, 1, 0},
    {HEAD META PERF "},\"new\":1}", 2, 1, 0},
    {HEAD META "\"coll_perf\":{" WORDS NUMBERS "}}", 2, 1, 0},
    {HEAD NEW_META NEW_PERF "}}", 2, 1, 0},
    {HEAD NEW_META NEW_P2P "}}", 2, 1, 0},
    {HEAD META PERF ",\"coll_sn\":1}}", 0, 0, 3},
    {META, 0, 0, 0},
    {"", 0, 0, 0},
};

static void counts_the_ways(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(way_rows) / sizeof(*way_rows); i++) {
        struct inspector_reader reader = reader_with_cache();
        struct record record;

        for (int k = 0; k < 3; k++)
            inspector_read_line(&reader, way_rows[i].line,
                                strlen(way_rows[i].line), &record);
        if (reader.ways.speculated != way_rows[i].speculated ||
            reader.ways.learned != way_rows[i].learned ||
            reader.ways.odd != way_rows[i].odd)
            fail_msg("%s: %d %d %d", way_rows[i].line,
                     (int) reader.ways.speculated, (int) reader.ways.learned,
                     (int) reader.ways.odd);
        inspector_cache_destroy(reader.cache);
    }
}

/* Timestamps that share, and do not share, their first digits with the one
 * before. */
static void agrees_on_timestamps(void **state)
{
    static const char *const stamps[] = {
        "1795251741000595", "1795251741000596", "1795251841000596",
        "1795251741000595", "10000000",         "1000000012345678",
        "179525174100059",  "1795251741000597", "17952517410005951",
        "1795251741000598", "1795251799999999", "1795251800000000",
        "1795251741000598", "1795251741:00598", "0795251741000598",
        "0000000000000000", "0000000000000000", "",
        "17952517",         "17952517410005 ",  "1795251741000599",
    };
    struct inspector_reader reader = reader_with_cache();
    char line[2048];

    (void) state;
    for (unsigned i = 0; i < 2 * sizeof(stamps) / sizeof(*stamps); i++) {
        const char *stamp = stamps[i / 2], *differs;
        size_t n = *stamp ? strlen(stamp) : 16, head; /* "": NUL bytes */
        int len = snprintf(line, sizeof(line), "%s", HEAD META PERF "}}");

        head = (size_t) (strstr(line, "1795251741000595") - line);
        memmove(line + head + n, line + head + 16, (size_t) len - head - 15);
        memset(line + head, 0, n);
        memcpy(line + head, stamp, strlen(stamp));
        differs = both_ways_differ(&reader, line, (size_t) len + n - 16);
        if (differs)
            fail_msg("%s: %s", differs, stamp);
    }
    assert_true(reader.ways.speculated > 20);
    inspector_cache_destroy(reader.cache);
}

static void reads_numbers(void **state)
{
    static const struct {
        const char *text;
        size_t taken; /* 0: refused */
        uint64_t value;
    } rows[] = {
        {"0,       ", 1, 0},
        {"7,       ", 1, 7},
        {"1234567,        ", 7, 1234567},
        {"12345678,        ", 8, 12345678},
        {"1795251741000595,       ", 16, 1795251741000595},
        {"123456789012345678,       ", 18, 123456789012345678},
        {"1234567890123456789,       ", 0, 0},
        {"12345678901234567890123456789,       ", 0, 0},
        {"01,       ", 0, 0},
        {",        ", 0, 0},
        {"-1,       ", 0, 0},
        {"1,", 0, 0}, /* too near to the end */
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *p = rows[i].text;
        uint64_t v = 0;
        bool ok = swar_number(&p, p + strlen(p), &v);

        if (ok != (rows[i].taken != 0) ||
            (ok && (v != rows[i].value ||
                    (size_t) (p - rows[i].text) != rows[i].taken)))
            fail_msg("%s", rows[i].text);
    }
}

/* Every line of every regular file below a folder. */
static void compare_below(struct inspector_reader *reader, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[4096], *text = NULL;
        const char *differs;
        struct stat st;
        size_t len;
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            compare_below(reader, path);
            continue;
        }
        f = fopen(path, "r");
        text = malloc((size_t) st.st_size + 1);
        assert_true(f && text);
        len = fread(text, 1, (size_t) st.st_size, f);
        fclose(f);
        differs = both_ways_differ(reader, text, len);
        free(text);
        if (differs)
            fail_msg("%s: %s", path, differs);
    }
    if (dir)
        closedir(dir);
}

static void agrees_on_files(void **state)
{
    struct inspector_reader reader = reader_with_cache();
    const char *top = getenv("top_srcdir"), *shared = getenv("JOBPROF_SHARED");
    char path[4096];

    (void) state;
    if (!top)
        top = JP_SRCDIR;
    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/record", top);
    compare_below(&reader, path);
    snprintf(path, sizeof(path), "%s/tests/aggregate/fixture", top);
    compare_below(&reader, path);
    assert_true(reader.ways.speculated > 0);
    snprintf(path, sizeof(path), "%s%s/samples/inspector",
             shared ? shared : top, shared ? "" : "/../shared");
    compare_below(&reader, path);
    inspector_cache_destroy(reader.cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(counts_the_ways),
        cmocka_unit_test(agrees_on_timestamps),
        cmocka_unit_test(agrees_on_files),
        cmocka_unit_test(agrees_on_many_communicators),
        cmocka_unit_test(agrees_on_mutated_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
