/* test_filekinds.c - what kind of data a file is, by its name and first bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "orchestrator/ingest/filekinds.h"

#define HEAD(text) text, sizeof(text) - 1

static const struct {
    const char *name, *folder;
    const char *head;
    size_t len;
    bool given;
    enum filekind kind;
} cases[] = {
    {"a.jpr", "", HEAD(""), false, FILEKIND_RECORDING},
    {"a.jpr.gz", "", HEAD("x"), false, FILEKIND_RECORDING},
    {"x.sqlite", "", HEAD("SQLite format 3"), false, FILEKIND_NAMED},
    {"x.nsys-rep", "", HEAD("x"), false, FILEKIND_NAMED + 1},
    {"n1-5-profiling_aggregate.csv", "final", HEAD("x"), false,
     FILEKIND_LOOKED},
    /* dumps: by content, whatever their name */
    {"_dump_3", "", HEAD("\x80\x02}q\x00(X\x09\x00\x00\x00pg_config"), false,
     FILEKIND_FLIGHT},
    {"a.log", "", HEAD("\x80\x04}\x94(\x8c\x0eprofiling_name"), false,
     FILEKIND_FLIGHT},
    {"d.json", "", HEAD("{\"pg_config\":{}}"), false, FILEKIND_FLIGHT},
    {"d.json", "", HEAD("{\n \"pg_status\": {}\n}"), false, FILEKIND_FLIGHT},
    {"d.json", "", HEAD("{\"profiling_name\":1}"), false, FILEKIND_UNKNOWN},
    {"d", "", HEAD("\x80\x01}pg_config"), false, FILEKIND_UNKNOWN},
    {"model.pt", "", HEAD("\x80\x02}q\x00weights"), false, FILEKIND_UNKNOWN},
    {"snapshot.pickle", "", HEAD("\x80\x04\x95}\x94\x8c\x08segments."), false,
     FILEKIND_PICKLE},
    /* what is packed in another way than .gz */
    {"t.json", "", HEAD("PK\x03\x04\x14"), false, FILEKIND_ARCHIVE},
    {"t.json.zst", "", HEAD("\x28\xb5\x2f\xfd\x24"), false, FILEKIND_ARCHIVE},
    {"t.xz", "", HEAD("\xfd\x37zXZ\0\0"), false, FILEKIND_ARCHIVE},
    {"t.bz2", "", HEAD("BZh91AY"), false, FILEKIND_ARCHIVE},
    {"k.json", "", HEAD("\xff\xfe{\0\"\0"), false, FILEKIND_UTF16},
    {"k.json.gz", "", HEAD("\n<!DOCTYPE html>\n<html>"), false, FILEKIND_PAGE},
    {"k.json", "", HEAD("<?xml version=\"1.0\"?><Error>"), true, FILEKIND_PAGE},
    /* Kineto: compact and pretty-printed */
    {"k.json", "", HEAD("{\"traceEvents\": []}"), false, FILEKIND_KINETO},
    {"k.json", "",
     HEAD("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ["), false,
     FILEKIND_KINETO},
    {"k", "", HEAD("{\"distributedInfo\": {\"rank\": 1"), false,
     FILEKIND_KINETO},
    {"k.json", "",
     HEAD("{\"a\":{},\"traceEvents\":[{\"ph\":\"X\",\"cat\": \"cpu_op\""),
     false, FILEKIND_KINETO},
    /* the same format of JAX, Chrome, rocprof */
    {"host.trace.json", "",
     HEAD("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{\"ph\":\"M\""), false,
     FILEKIND_CHROME},
    {"c.json", "",
     HEAD("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"toplevel\"}"), true,
     FILEKIND_CHROME},
    {"t.json", "", HEAD("[\n{\"name\": \"x\""), false, FILEKIND_TRACE},
    {"t.txt", "", HEAD("[{\"ph\": \"b\""), false, FILEKIND_TRACE},
    {"t.csv", "", HEAD("[{\"ph\": \"b\""), false, FILEKIND_UNKNOWN},
    {"t.csv", "", HEAD("[{\"ph\": \"b\""), true, FILEKIND_TRACE},
    {"a.log", "", HEAD("{\"header\": {"), false, FILEKIND_LOG},
    {"a.jsonl", "", HEAD("t of a line\n{\"header\""), false, FILEKIND_LOG},
    {"n1-pid5.log", "", HEAD("rubbish"), false, FILEKIND_LOG},
    {"train.log", "", HEAD("step 1 loss {\n"), false, FILEKIND_UNKNOWN},
    {"rows.ndjson", "", HEAD("{\"a\": 1}\n"), false, FILEKIND_UNKNOWN},
    {"rows.ndjson", "", HEAD("{\"a\": 1}\n"), true, FILEKIND_LOG},
    {"s.json", "", HEAD("{\n  \"a\": 1\n}"), false, FILEKIND_PRETTY},
    {"s.json", "", HEAD("  [ \r\n 1"), false, FILEKIND_PRETTY},
    {"s.json", "", HEAD("{\"a\": 1}"), false, FILEKIND_UNKNOWN},
    {"summary.json", "", HEAD("{\n"), false, FILEKIND_OWN},
    {"summary.json", "", HEAD("{\n"), true, FILEKIND_PRETTY},
    {"x", "", HEAD(""), false, FILEKIND_UNKNOWN},
    {"x", "", HEAD("\0\0\0"), false, FILEKIND_UNKNOWN},
};

static void test_kinds(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct filekind_look look = {cases[i].name, cases[i].folder,
                                           cases[i].head, cases[i].len,
                                           cases[i].given};
        enum filekind kind = filekinds_of(&look);

        /* a program without that backend does not know its files */
        if (!*filekinds_row(cases[i].kind)->one)
            continue;
        if (kind != cases[i].kind)
            fail_msg("%zu: %s is a %s, not a %s", i, cases[i].name,
                     filekinds_row(kind)->one,
                     filekinds_row(cases[i].kind)->one);
    }
}

/* A line of JSON that is longer than any log's is no log, also if its file was
 * given by name. */
static void test_long_line(void **state)
{
    static char head[FILEKIND_HEAD];
    struct filekind_look look = {"r.json", "", head, sizeof(head), true};

    (void) state;
    memset(head, '1', sizeof(head));
    memcpy(head, "{\"rocprofiler\":[", 17);
    assert_int_equal(filekinds_of(&look), FILEKIND_UNKNOWN);
    head[40000] = '\n';
    assert_int_equal(filekinds_of(&look), FILEKIND_LOG);
    /* a tar's mark is behind the name of its first file */
    memset(head, 0, sizeof(head));
    memcpy(head + 257, "ustar", 5);
    assert_int_equal(filekinds_of(&look), FILEKIND_ARCHIVE);
}

/* The advice of the kind of which there are most, and none where a reader has
 * something. */
static void test_advice(void **state)
{
    struct filekinds found = {.n = {[FILEKIND_PAGE] = 1,
                                    [FILEKIND_ARCHIVE] = 2,
                                    [FILEKIND_UNKNOWN] = 9}};

    (void) state;
    assert_true(filekinds_none(&found));
    assert_ptr_equal(filekinds_advice(&found),
                     filekinds_row(FILEKIND_ARCHIVE)->advice);
    found.n[FILEKIND_ARCHIVE] = found.n[FILEKIND_PAGE] = 0;
    assert_null(filekinds_advice(&found));
    found.n[FILEKIND_KINETO] = 1;
    assert_false(filekinds_none(&found));
}

/* Each kind has words, and each is found by a row or by the walk. */
static void test_rows(void **state)
{
    (void) state;
    for (int kind = 0; kind < FILEKIND_N; kind++) {
        if (!*filekinds_row(kind)->one)
            continue;
        assert_true(*filekinds_row(kind)->one && *filekinds_row(kind)->many);
        assert_int_equal(filekinds_row(kind)->probe == NULL,
                         kind >= FILEKIND_EMPTY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_advice), cmocka_unit_test(test_rows)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
