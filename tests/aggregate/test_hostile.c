/* test_hostile.c - files with every known kind of error: the good rest is
 * counted, and the bad lines by kind, with the place of the first one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "tests/aggregate/op_of.h"
#include "tests/common/tempdir.h"

/* Bytes of a literal that may hold NULs. */
#define B(text) text, sizeof(text) - 1

struct bytes {
    char *at;
    size_t n;
};

static void add(struct bytes *b, const char *text, size_t n)
{
    b->at = realloc(b->at, b->n + n + 1);
    assert_non_null(b->at);
    memcpy(b->at + b->n, text, n);
    b->n += n;
}

/* One gzip member. */
static struct bytes squeeze(const char *bytes, size_t n)
{
    struct bytes b = {malloc(n + n / 100 + 1024), 0};
    z_stream z = {0};

    assert_non_null(b.at);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
    z.next_in = (Bytef *) (uintptr_t) bytes;
    z.avail_in = (uInt) n;
    z.next_out = (Bytef *) b.at;
    z.avail_out = (uInt) (n + n / 100 + 1024);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.n = z.total_out;
    deflateEnd(&z);
    return b;
}

static struct jp_result *run(const char *dir, uint64_t memory)
{
    const struct jp_aggregate_options options = {.threads = 1,
                                                 .memory_bytes = memory};

    return result_of(dir, &options);
}

/* One bad thing between good ones. */
struct row {
    const char *name;
    const char *text;
    size_t n;
    enum jp_bad kind; /* JP_BAD_KINDS: it is good */
};

/* The result of one file with the row; `line` is the row's number. */
static void check(const char *dir, const char *file, const struct row *row,
                  unsigned good, uint64_t line)
{
    bool bad = row->kind < JP_BAD_KINDS;
    struct jp_result *r = run(dir, 0);
    const struct jp_quality *q = &r->quality;

    if (q->records != good + !bad || q->bad_lines != bad || q->files != 1 ||
        q->cut_files || q->skipped_files)
        fail_msg("%s in %s: %u records, %u bad, %u cut", row->name, file,
                 (unsigned) q->records, (unsigned) q->bad_lines,
                 (unsigned) q->cut_files);
    for (unsigned i = 0; i < JP_BAD_KINDS; i++)
        if (q->bad[i].n != (i == row->kind))
            fail_msg("%s in %s: %u %s", row->name, file, (unsigned) q->bad[i].n,
                     badkind_key((enum jp_bad) i));
    if (bad) {
        assert_int_equal(q->bad[row->kind].line, line);
        assert_non_null(q->bad[row->kind].path);
        assert_non_null(strstr(q->bad[row->kind].path, file));
        assert_true(q->n_notes > 0);
    }
    result_destroy(r);
}

/* The same bytes as two files, one packed; each alone in the folder. */
static void check_both(const char *dir, const char *file,
                       const struct bytes *whole, const struct row *row,
                       unsigned good, uint64_t line)
{
    struct bytes packed = squeeze(whole->at, whole->n);
    char name[64], path[600];

    tempdir_bytes(dir, file, whole->at, whole->n);
    check(dir, file, row, good, line);
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    remove(path);
    snprintf(name, sizeof(name), "%s.gz", file);
    tempdir_bytes(dir, name, packed.at, packed.n);
    check(dir, name, row, good, line);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    remove(path);
    free(packed.at);
}

#define RECORD(id, name, rank, sn, bytes, us, gbs)                             \
    "{\"header\":{\"id\":" id ",\"comm_name\":\"" name "\",\"rank\":" rank     \
    ",\"n_ranks\":4,\"nnodes\":2},\"metadata\":{\"dump_timestamp_us\":7,"      \
    "\"hostname\":\"n1\",\"pid\":9},\"coll_perf\":{\"coll\":\"AllReduce\","    \
    "\"coll_sn\":" sn ",\"coll_msg_size_bytes\":" bytes                        \
    ",\"coll_exec_time_us\":" us ",\"coll_busbw_gbs\":" gbs "}}"
#define LOG(sn) RECORD("\"0x1f\"", "c", "1", sn, "64", "5", "1.500000")

static const struct row log_rows[] = {
    {"good", B(LOG("5")), JP_BAD_KINDS},
    {"CRLF", B(LOG("5") "\r"), JP_BAD_KINDS},
    {"CR besides", B("\r" LOG("5") "\r\r"), JP_BAD_KINDS},
    {"nan bandwidth", B(RECORD("\"0x1f\"", "c", "1", "5", "64", "5", "nan")),
     JP_BAD_KINDS},
    {"inf bandwidth", B(RECORD("\"0x1f\"", "c", "1", "5", "64", "5", "inf")),
     JP_BAD_KINDS},
    {"no UTF-8 in a shown name",
     B(RECORD("\"0x1f\"", "\xff\xc0\x80", "1", "5", "64", "5", "1")),
     JP_BAD_KINDS},
    {"2^64 - 2", B(LOG("18446744073709551614")), JP_BAD_KINDS},
    {"missing key",
     B("{\"header\":{\"id\":\"0x1f\",\"rank\":1,\"n_ranks\":4,"
       "\"nnodes\":2},\"coll_perf\":{\"coll\":\"AllReduce\","
       "\"coll_msg_size_bytes\":1,\"coll_exec_time_us\":1}}"),
     JP_BAD_MISSING},
    {"missing header", B("{\"coll_perf\":{\"coll\":\"AllReduce\"}}"),
     JP_BAD_MISSING},
    {"string for integer", B(LOG("\"5\"")), JP_BAD_TYPE},
    {"list for integer", B(LOG("[5]")), JP_BAD_TYPE},
    {"fraction for integer", B(LOG("5.5")), JP_BAD_TYPE},
    {"NaN for integer", B(LOG("NaN")), JP_BAD_TYPE},
    {"nan for integer", B(LOG("nan")), JP_BAD_TYPE},
    {"inf for integer", B(LOG("inf")), JP_BAD_TYPE},
    {"null for integer", B(LOG("null")), JP_BAD_TYPE},
    {"1e400 for integer", B(LOG("1e400")), JP_BAD_TYPE},
    {"leading zero", B(LOG("05")), JP_BAD_TYPE},
    {"integer for string", B(RECORD("31", "c", "1", "5", "64", "5", "1")),
     JP_BAD_TYPE},
    {"integer for object", B("{\"header\":7}"), JP_BAD_TYPE},
    {"text for bandwidth",
     B(RECORD("\"0x1f\"", "c", "1", "5", "64", "5", "fast")), JP_BAD_TYPE},
    {"2^64 - 1", B(LOG("18446744073709551615")), JP_BAD_RANGE},
    {"2^64", B(LOG("18446744073709551616")), JP_BAD_RANGE},
    {"60 digits",
     B(LOG("999999999999999999999999999999999999999999999999999999999999")),
     JP_BAD_RANGE},
    {"negative", B(LOG("-1")), JP_BAD_RANGE},
    {"1e400", B(RECORD("\"0x1f\"", "c", "1", "5", "64", "5", "1e400")),
     JP_BAD_RANGE},
    {"negative bandwidth",
     B(RECORD("\"0x1f\"", "c", "1", "5", "64", "5", "-1.0")), JP_BAD_RANGE},
    {"2^50 + 1 bytes",
     B(RECORD("\"0x1f\"", "c", "1", "5", "1125899906842625", "5", "1")),
     JP_BAD_RANGE},
    {"year-long time",
     B(RECORD("\"0x1f\"", "c", "1", "5", "64", "31536000000000", "1")),
     JP_BAD_RANGE},
    {"rank over n_ranks", B(RECORD("\"0x1f\"", "c", "4", "5", "64", "5", "1")),
     JP_BAD_VALUE},
    {"word for id", B(RECORD("\"x\"", "c", "1", "5", "64", "5", "1")),
     JP_BAD_VALUE},
    {"NUL in a string",
     B(RECORD("\"0x\0001f\"", "c", "1", "5", "64", "5", "1")), JP_BAD_BYTES},
    {"NUL in a number", B(LOG("5\0005")), JP_BAD_BYTES},
    {"a block of NULs", B("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     JP_BAD_BYTES},
    {"no UTF-8 in an id",
     B(RECORD("\"0x\xff\xfe\"", "c", "1", "5", "64", "5", "1")), JP_BAD_BYTES},
    {"control byte", B("{\"header\":{\"id\":\"\x01\"}}"), JP_BAD_BYTES},
    {"rubbish", B("rubbish"), JP_BAD_SYNTAX},
    {"no object", B("[1,2]"), JP_BAD_SYNTAX},
    {"cut record", B("{\"header\":{\"id\":\"0x1f\",\"rank\":1"), JP_BAD_SYNTAX},
    {"lost newline", B(LOG("5") LOG("6")), JP_BAD_SYNTAX},
    {"deep",
     B("{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
       "[[[[[[[[[[[[[[[["),
     JP_BAD_SYNTAX},
};

#define EVENT(seq, count, type)                                                \
    "{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"b\",\"ts\":1.0,"        \
    "\"args\":{\"SeqNum\":" seq ",\"CommHash\":5,\"Rank\":0,\"Count\":" count  \
    ",\"Datatype\":" type "}},\n{\"cat\":\"COLL\",\"ph\":\"e\",\"ts\":2.0},"
#define OP(seq) EVENT(seq, "1", "\"ncclInt8\"")

static const struct row trace_rows[] = {
    {"good", B(OP("5")), JP_BAD_KINDS},
    {"CRLF", B(OP("5") "\r"), JP_BAD_KINDS},
    {"missing SeqNum",
     B("{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"b\",\"args\":{}},"),
     JP_BAD_MISSING},
    {"missing name", B("{\"cat\":\"COLL\",\"ph\":\"b\",\"args\":{}},"),
     JP_BAD_MISSING},
    {"fraction", B(OP("5.5")), JP_BAD_TYPE},
    {"word", B(OP("five")), JP_BAD_TYPE},
    {"NaN", B(OP("NaN")), JP_BAD_TYPE},
    {"inf", B(OP("inf")), JP_BAD_TYPE},
    {"1e400", B(OP("1e400")), JP_BAD_TYPE},
    {"2^64", B(OP("18446744073709551616")), JP_BAD_RANGE},
    {"2^64 - 1", B(OP("18446744073709551615")), JP_BAD_RANGE},
    {"negative", B(OP("-1")), JP_BAD_RANGE},
    {"2^50 + 1 bytes", B(EVENT("5", "1125899906842625", "\"ncclInt8\"")),
     JP_BAD_RANGE},
    {"unknown type", B(EVENT("5", "1", "\"ncclFloat3\"")), JP_BAD_VALUE},
    {"NUL in a number", B(OP("5\0005")), JP_BAD_BYTES},
    {"a block of NULs", B("\0\0\0\0\0\0\0\0"), JP_BAD_BYTES},
    {"no UTF-8",
     B("{\"name\":\"All\xff\",\"cat\":\"COLL\",\"ph\":\"b\",\"ts\":1.0,"
       "\"args\":{\"SeqNum\":5,\"CommHash\":5,\"Rank\":0,\"Count\":1,"
       "\"Datatype\":\"ncclInt8\"}},"),
     JP_BAD_BYTES},
    {"rubbish", B("rubbish"), JP_BAD_SYNTAX},
    {"no value", B("{\"name\": },"), JP_BAD_SYNTAX},
};

static void bad_lines_by_kind(void **state)
{
    for (size_t i = 0; i < sizeof(log_rows) / sizeof(*log_rows); i++) {
        const struct row *row = &log_rows[i];
        struct bytes b = {0};

        add(&b, B(LOG("1") "\n"));
        add(&b, row->text, row->n);
        add(&b, B("\n" LOG("2"))); /* no last newline */
        check_both(*state, "a.log", &b, row, 2, 2);
        free(b.at);
    }
}

static void bad_events_by_kind(void **state)
{
    for (size_t i = 0; i < sizeof(trace_rows) / sizeof(*trace_rows); i++) {
        const struct row *row = &trace_rows[i];
        struct bytes b = {0};

        add(&b, B("[\n" OP("1") "\n"));
        add(&b, row->text, row->n);
        add(&b, B("\n" OP("2") "\n{}]\n"));
        check_both(*state, "t_5_0.json", &b, row, 2, 4);
        free(b.at);
    }
}

/* 10 MB in one line, or one object. */
static void long_lines(void **state)
{
    static const struct row row = {"10 MB", "", 0, JP_BAD_LONG};
    enum { LONG = 10 << 20 };
    char *fill = malloc(LONG);
    struct bytes log = {0}, trace = {0};
    uint32_t random = 1;

    assert_non_null(fill);
    for (size_t i = 0; i < LONG; i++) { /* does not compress */
        random = random * 1664525 + 1013904223;
        fill[i] = (char) ('a' + (random >> 16) % 26);
    }
    add(&log, B(LOG("1") "\n{\"x\":\""));
    add(&log, fill, LONG);
    add(&log, B("\"}\n" LOG("2") "\n"));
    check_both(*state, "a.log", &log, &row, 2, 2);
    add(&trace, B("[\n" OP("1") "\n{\"x\":\""));
    add(&trace, fill, LONG);
    add(&trace, B("\"},\n" OP("2") "\n{}]\n"));
    check_both(*state, "t_5_0.json", &trace, &row, 2, 4);
    free(log.at);
    free(trace.at);
    free(fill);
}

/* The first bad line of each kind is the first in order of path, not of
 * reading. */
static void first_of_a_kind(void **state)
{
    struct jp_result *r;

    tempdir_bytes(*state, "b.log", B("x\nx\n" LOG("1") "\n" LOG("-1") "\n"));
    tempdir_bytes(*state, "a.log",
                  B(LOG("2") "\n\n" LOG("-1") "\n" LOG("-1") "\n"));
    r = run(*state, 0);
    assert_int_equal(r->quality.records, 2);
    assert_int_equal(r->quality.bad_lines, 5);
    assert_int_equal(r->quality.bad[JP_BAD_RANGE].n, 3);
    assert_int_equal(r->quality.bad[JP_BAD_RANGE].line, 3);
    assert_non_null(strstr(r->quality.bad[JP_BAD_RANGE].path, "a.log"));
    assert_int_equal(r->quality.bad[JP_BAD_SYNTAX].n, 2);
    assert_int_equal(r->quality.bad[JP_BAD_SYNTAX].line, 1);
    assert_non_null(strstr(r->quality.bad[JP_BAD_SYNTAX].path, "b.log"));
    result_destroy(r);
}

/* Lines LOG(from) to LOG(to - 1). */
static void add_lines(struct bytes *b, unsigned from, unsigned to)
{
    char line[600];

    for (unsigned i = from; i < to; i++) {
        int n = snprintf(line, sizeof(line), "%s%u%s\n",
                         "{\"header\":{\"id\":\"0x1f\",\"rank\":1,\"n_ranks\":"
                         "4,\"nnodes\":2},\"coll_perf\":{\"coll\":"
                         "\"AllReduce\",\"coll_sn\":",
                         i,
                         ",\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":"
                         "5}}");

        add(b, line, (size_t) n);
    }
}

/* A compressed file that is cut anywhere gives its whole lines; members may
 * follow one another, also cut. */
static void packed_files(void **state)
{
    struct bytes text = {0}, more = {0}, a, b;
    struct jp_result *r;
    uint64_t before = 0;

    add_lines(&text, 0, 2000);
    add_lines(&more, 2000, 3000);
    a = squeeze(text.at, text.n);
    b = squeeze(more.at, more.n);
    for (size_t cut = 2; cut < a.n; cut += a.n / 16) {
        tempdir_bytes(*state, "a.log.gz", a.at, cut);
        r = run(*state, 0);
        assert_int_equal(r->quality.cut_files, 1);
        assert_int_equal(r->quality.bad_lines, 0);
        assert_in_range(r->quality.records, before, 1999);
        before = r->quality.records;
        result_destroy(r);
    }
    assert_true(before > 1000);
    add(&a, b.at, b.n);
    tempdir_bytes(*state, "a.log.gz", a.at, a.n);
    r = run(*state, 0);
    assert_int_equal(r->quality.records, 3000);
    assert_int_equal(r->quality.cut_files, 0);
    result_destroy(r);
    tempdir_bytes(*state, "a.log.gz", a.at, a.n - b.n / 2);
    r = run(*state, 0);
    assert_in_range(r->quality.records, 2000, 2999);
    assert_int_equal(r->quality.cut_files, 1);
    result_destroy(r);
    free(text.at);
    free(more.at);
    free(a.at);
    free(b.at);
}

/* Good records and then 256 MB of the same byte in 256 KB. */
static void bomb(const char *dir, const char *name, const char *text, size_t n,
                 uint64_t records)
{
    enum { BOMB = 256 << 20 };
    char *fill = malloc(BOMB), path[512];
    struct bytes a = squeeze(text, n), b;
    struct jp_result *r;

    assert_non_null(fill);
    memset(fill, '\n', BOMB);
    b = squeeze(fill, BOMB);
    add(&a, b.at, b.n);
    tempdir_bytes(dir, name, a.at, a.n);
    r = run(dir, 0);
    assert_int_equal(r->quality.records, records);
    assert_int_equal(r->quality.cut_files, 1);
    assert_in_range(r->quality.bytes_read, 1, 100 << 20);
    assert_true(r->quality.n_notes > 0);
    assert_non_null(
        strstr(r->quality.notes[0].what, "expands more than 300 to 1"));
    result_destroy(r);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    remove(path);
    free(fill);
    free(a.at);
    free(b.at);
}

static void bombs(void **state)
{
    static const char trace[] = "[\n" OP("0") "\n" OP("1") "\n";
    struct bytes text = {0};

    add_lines(&text, 0, 100);
    bomb(*state, "a.log.gz", text.at, text.n, 100);
    bomb(*state, "t_5_0.json.gz", trace, sizeof(trace) - 1, 2);
    free(text.at);
}

/* A process that starts again numbers from the beginning: a number counts once,
 * with another size it is another operation, and jumps cost nothing. */
static void numbers_that_restart(void **state)
{
    static const char far[] =
        RECORD("\"0x1f\"", "c", "1", "9223372036854775807", "64", "5", "1");
    static const char other[] =
        RECORD("\"0x1f\"", "c", "1", "7", "128", "5", "1");
    struct bytes b = {0};
    struct jp_result *r;

    add_lines(&b, 0, 100);
    add_lines(&b, 50, 120);
    add(&b, other, sizeof(other) - 1);
    add(&b, B("\n"));
    add(&b, far, sizeof(far) - 1);
    add(&b, B("\n"));
    add_lines(&b, 0, 10);
    tempdir_bytes(*state, "a.log", b.at, b.n);
    r = run(*state, 0);
    assert_int_equal(r->quality.records, 122);
    assert_int_equal(r->quality.duplicate_records, 60);
    assert_int_equal(r->quality.bad_lines, 0);
    assert_int_equal(r->n_ops, 122);
    result_destroy(r);
    free(b.at);
}

/* Every kind of file, empty, of one byte and of rubbish. */
static void empty_and_rubbish(void **state)
{
    static const char *const names[] = {"a.log",      "b.log.gz", "c.jsonl",
                                        "d.jsonl.gz", "e.jpr",    "f.json",
                                        "g.json.gz",  "h.txt",    "i.jpr.gz"};
    static const struct {
        const char *bytes;
        size_t n;
    } fills[] = {{"", 0},
                 {B("\0")},
                 {B("\x1f\x8b")},
                 {B("\x1f\x8b\x08\0\0\0\0\0\0\3\1\2\3\4\5\6\7")},
                 {B("\x89JPR\r\n\x1a\n")},
                 {B("\x89JPR\r\n\x1a\n\1\0\0\0JPBLrubbish and more rubbish")},
                 {B("[")},
                 {B("\n\n\n")},
                 {B("\xff\xfe\xfd\xfc\n\xfb\n")}};

    for (size_t k = 0; k < sizeof(fills) / sizeof(*fills); k++) {
        struct jp_result *r;

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            tempdir_bytes(*state, names[i], fills[k].bytes, fills[k].n);
        tempdir_bytes(*state, "z.log", B(LOG("1") "\n"));
        r = run(*state, 0);
        assert_int_equal(r->quality.records, 1);
        assert_in_range(r->quality.files + r->quality.skipped_files, 1, 10);
        result_destroy(r);
    }
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(bad_lines_by_kind),    IN_DIR(bad_events_by_kind),
        IN_DIR(long_lines),           IN_DIR(first_of_a_kind),
        IN_DIR(packed_files),         IN_DIR(bombs),
        IN_DIR(numbers_that_restart), IN_DIR(empty_and_rubbish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
