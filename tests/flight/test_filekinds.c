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
    {"x.sqlite", "", HEAD("SQLite format 3"), false, FILEKIND_NSYS},
    {"x.nsys-rep", "", HEAD("x"), false, FILEKIND_REPORT},
    {"n1-5-profiling_aggregate.csv", "final", HEAD("x"), false,
     FILEKIND_COPPER},
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
    /* Kineto: compact and pretty-printed */
    {"k.json", "", HEAD("{\"traceEvents\": []}"), false, FILEKIND_KINETO},
    {"k.json", "",
     HEAD("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ["), false,
     FILEKIND_KINETO},
    {"k", "", HEAD("{\"distributedInfo\": {\"rank\": 1"), false,
     FILEKIND_KINETO},
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

        if (kind != cases[i].kind)
            fail_msg("%zu: %s is a %s, not a %s", i, cases[i].name,
                     filekinds_rows[kind].one,
                     filekinds_rows[cases[i].kind].one);
    }
}

/* Each kind has words, and each is found by a row or by the walk. */
static void test_rows(void **state)
{
    (void) state;
    for (int kind = 0; kind < FILEKIND_N; kind++) {
        assert_true(*filekinds_rows[kind].one && *filekinds_rows[kind].many);
        assert_int_equal(filekinds_rows[kind].probe == NULL,
                         kind >= FILEKIND_EMPTY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_rows)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
