/* test_json_stream.c - the styles of the one JSON writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/json_stream.h"

static struct jp_json_stream stream;
static char *text;
static size_t length;
static FILE *memory;

static struct jp_json_stream *start(enum json_style style)
{
    memory = open_memstream(&text, &length);
    assert_non_null(memory);
    json_stream_open(&stream, style, memory);
    return &stream;
}

/* The text that was written. Caller frees. */
static char *stop(void)
{
    assert_int_equal(json_stream_close(&stream, NULL), 0);
    fclose(memory);
    return text;
}

static const double reals[] = {0,     -0.5,   5,      1e14,      1e15,
                               1e20,  1e-4,   1e-7,   -2.5e-300, 1.7e308,
                               1e100, 0.3003, 1 / 3., 123456.789};
static const char *const texts[] = {"",          "plain", "caf\xc3\xa9",
                                    "a\"b\\c/d", "<&>",   "0x1"};

/* The text of a file equals that of jansson. */
static void test_file(void **state)
{
    struct jp_json_stream *s = start(JSON_FILE);
    json_t *root = json_object(), *list = json_array(), *inner = json_object();
    char *want, *got;

    (void) state;
    json_stream_array(s, "list");
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
        json_stream_real(s, NULL, reals[i]);
        json_array_append_new(list, json_real(reals[i]));
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        json_stream_text(s, NULL, texts[i]);
        json_array_append_new(list, json_string(texts[i]));
    }
    json_stream_text(s, NULL, NULL);
    json_array_append_new(list, json_null());
    json_stream_real(s, NULL, 0.0 / 0.0);
    json_array_append_new(list, json_null());
    json_stream_array(s, NULL);
    json_stream_end_array(s);
    json_array_append_new(list, json_array());
    json_stream_end_array(s);
    json_object_set_new(root, "list", list);
    json_stream_object(s, "inner");
    json_stream_int(s, "least", INT64_MIN);
    json_object_set_new(inner, "least", json_integer(INT64_MIN));
    json_stream_count(s, "most", UINT64_MAX);
    json_object_set_new(inner, "most", json_integer(INT64_MAX));
    json_stream_bool(s, "yes", true);
    json_object_set_new(inner, "yes", json_true());
    json_stream_end_object(s);
    json_object_set_new(root, "inner", inner);
    got = stop();
    want = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    assert_int_equal(strlen(got), strlen(want) + 1);
    assert_memory_equal(got, want, strlen(want));
    assert_int_equal(got[strlen(want)], '\n');
    free(want);
    free(got);
    json_decref(root);
}

static void test_cleaned(void **state)
{
    char *got;

    (void) state;
    json_stream_text(start(JSON_FILE), "a", "x\x1b\xe2\x80\xae\xff\"");
    got = stop();
    assert_string_equal(got, "{\n \"a\": \"x???\\\"\"\n}\n");
    free(got);
    json_stream_text(start(JSON_SCRIPT), "a", "</script>\"\x9b");
    got = stop();
    assert_string_equal(got, "{\"a\":\"\\u003c/script\\u003e\\u0022?\"}");
    free(got);
}

static void test_lines(void **state)
{
    struct jp_json_stream *s = start(JSON_LINES);
    char *got;

    (void) state;
    json_stream_count(s, "n", 2);
    json_stream_array(s, "rows");
    json_stream_object(s, NULL);
    json_stream_text(s, "a", "\"\\/\n\xe2\x80\xae\x9b");
    json_stream_array(s, "places");
    json_stream_object(s, NULL);
    json_stream_fixed(s, "mean", 2.0 / 3, 3);
    json_stream_end_object(s);
    json_stream_end_array(s);
    json_stream_end_object(s);
    json_stream_object(s, NULL);
    json_stream_end_object(s);
    json_stream_end_array(s);
    json_stream_array(s, "none");
    json_stream_end_array(s);
    got = stop();
    assert_string_equal(got, "{\"n\":2,\"rows\":[\n {\"a\":"
                             "\"\\\"\\\\/\\u000a\\u202e\\ufffd\",\"places\":[\n"
                             "  {\"mean\":0.667}]},\n {}],\"none\":[]}\n");
    free(got);
}

static void test_script(void **state)
{
    struct jp_json_stream *s = start(JSON_SCRIPT);
    char *got;

    (void) state;
    json_stream_key(s, "chart");
    json_stream_object(s, NULL);
    json_stream_real(s, "a", 1234567);
    json_stream_real(s, "b", 1.0 / 0.0);
    json_stream_end_object(s);
    json_stream_key(s, "none");
    json_stream_null(s, NULL);
    /* neither ends the script nor the attribute that it stands in */
    json_stream_text(s, "text", "</script>&'\"");
    got = stop();
    assert_string_equal(got,
                        "{\"chart\":{\"a\":1.235e+06,\"b\":null},\"none\":null,"
                        "\"text\":\"\\u003c/script\\u003e\\u0026\\u0027"
                        "\\u0022\"}");
    free(got);
}

static void test_part(void **state)
{
    struct jp_json_stream *s = start(JSON_PART);
    char *got;

    (void) state;
    json_stream_members(s, "{}");
    json_stream_milli(s, "ts", -1234005);
    json_stream_members(s, "{\"x\":1}");
    json_stream_milli(s, "dur", 7);
    got = stop();
    assert_string_equal(got, "{\"ts\":-1234.005,\"x\":1,\"dur\":0.007}");
    free(got);
}

/* More than a buffer is written, and a full disk is noticed. */
static void test_large(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    struct jp_json_stream *s;
    char *got;

    (void) state;
    s = start(JSON_FILE);
    json_stream_array(s, "list");
    for (int i = 0; i < 20000; i++)
        json_stream_count(s, NULL, 7);
    json_stream_end_array(s);
    got = stop();
    assert_int_equal(strlen(got), strlen("{\n \"list\": [") +
                                      20000 * strlen("\n  7,") - 1 +
                                      strlen("\n ]\n}\n"));
    free(got);
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    json_stream_open(&stream, JSON_FILE, full);
    json_stream_count(&stream, "a", 1);
    assert_int_equal(json_stream_close(&stream, NULL), -1);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),  cmocka_unit_test(test_cleaned),
        cmocka_unit_test(test_lines), cmocka_unit_test(test_script),
        cmocka_unit_test(test_part),  cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
