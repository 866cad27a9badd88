/* test_jsonscan.c - the size of a JSON tree is estimated before it is made. */
#include "common/jsonload.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static void test_drop(void **state)
{
    static const char *const names[] = {"a", "ranks", NULL};
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", ""},
        {"[1,2]", "[1,2]"},
        {"{}", "{}"},
        {"{\"a\":1}", "{}"},
        {"{\"a\":[{\"b\":[]}],\"c\":2}", "{\"c\":2}"},
        {"{\"c\":2,\"a\":{\"a\":\"]}\\\"\"}}", "{\"c\":2}"},
        {"{\"c\":{\"a\":1}, \"ranks\" : [1,2] , \"d\":[\"a\"]}\n",
         "{\"c\":{\"a\":1}, \"d\":[\"a\"]}\n"},
        {"{\"ranks\":1,\"a\":2,\"rank\":3}", "{\"rank\":3}"},
        /* a text that is not JSON is unchanged */
        {"{\"a\":1", "{"},
        {"{\"b\":1,", "{\"b\":1"},
        {"{\"c\"", "{\"c\""},
        {"{\"c", "{\"c"},
        {"{\"c\\", "{\"c\\"},
        {"{1:2,\"a\":3}", "{1:2,\"a\":3}"},
        {"{\"b\":1]},\"a\":1}", "{\"b\":1]},\"a\":1}"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = strdup(rows[i].in);
        size_t len = jsonscan_drop(text, strlen(text), names);

        assert_int_equal(len, strlen(rows[i].out));
        assert_memory_equal(text, rows[i].out, len);
        free(text);
    }
}

static char *repeat(const char *open, const char *unit, const char *close,
                    size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    fputs(open, out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "", out);
        if (strchr(unit, '@'))
            fprintf(out, "%.*s%zu%s", (int) strcspn(unit, "@"), unit, i,
                    strchr(unit, '@') + 1);
        else
            fputs(unit, out);
    }
    fputs(close, out);
    fclose(out);
    return text;
}

/* The estimate is never below the size of the tree, nor far above it. */
static void test_cost(void **state)
{
    static const struct {
        const char *open, *unit, *close;
    } rows[] = {
        {"[", "{}", "]"},
        {"[", "[]", "]"},
        {"[", "1", "]"},
        {"[", "1.5", "]"},
        {"[", "true", "]"},
        {"[", "\"\"", "]"},
        {"[", "\"0123456789012345678901234567890123456789\"", "]"},
        {"{", "\"@\":0", "}"},
        {"{", "\"@\":{}", "}"},
        {"{", "\"a rather long key of a member @\":[]", "}"},
        {"[", "{\"a\":1,\"b\":{\"c\":[2]},\"d\":\"x\"}", "]"},
        {"[",
         "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":"
         "1,\"i\":1}",
         "]"},
        {"[", "[1,1,1,1,1,1,1,1,1]", "]"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t n = 1000; n < 40000; n += n / 3) {
            char *text = repeat(rows[i].open, rows[i].unit, rows[i].close, n);
            size_t cost, before, took;
            json_t *root;

            assert_int_equal(
                jsonscan_cost(text, strlen(text), SIZE_MAX, &cost, NULL), 0);
#if !defined(__SANITIZE_ADDRESS__) && defined(__GLIBC__)
            before = mallinfo2().uordblks + mallinfo2().hblkhd;
            root = json_loads(text, 0, NULL);
            took = mallinfo2().uordblks + mallinfo2().hblkhd - before;
            assert_non_null(root);
            /* memcheck has an allocator of its own */
            assert_true(getenv("JP_MEMCHECK") || took <= cost);
            assert_true(getenv("JP_MEMCHECK") || cost <= took * 4 + 4096);
            json_decref(root);
#else
            (void) before, (void) took, (void) root;
#endif
            free(text);
        }
    }
}

static void test_bounds(void **state)
{
    char deep[2 * JSONSCAN_DEPTH + 4] = "";
    struct jp_error err;
    char *long_text;
    size_t cost = 7;

    (void) state;
    memset(deep, '[', JSONSCAN_DEPTH);
    assert_int_equal(jsonscan_cost(deep, JSONSCAN_DEPTH, SIZE_MAX, &cost, NULL),
                     0);
    memset(deep, '{', JSONSCAN_DEPTH + 1);
    assert_int_equal(
        jsonscan_cost(deep, JSONSCAN_DEPTH + 1, SIZE_MAX, &cost, &err), -1);
    assert_non_null(strstr(err.text, "nested deeper"));
    assert_int_equal(jsonscan_cost("[{}]", 4, 1 << 20, &cost, &err), 0);
    assert_in_range(cost, 100, 1000);
    assert_int_equal(jsonscan_cost("[{},{},{}]", 10, 500, &cost, &err), -1);
    assert_non_null(strstr(err.text, "would take more"));
    /* brackets in strings are text; a string that does not end is still a
     * string */
    assert_int_equal(jsonscan_cost("\"[[[[\\\"[[[\"", 12, 4096, &cost, &err),
                     0);
    assert_int_equal(jsonscan_cost("\"[[[[\\", 6, 4096, &cost, &err), 0);
    long_text = malloc(JSONSCAN_TEXT_MAX + 2);
    memset(long_text, 'x', JSONSCAN_TEXT_MAX + 2);
    *long_text = '"';
    assert_int_equal(
        jsonscan_cost(long_text, JSONSCAN_TEXT_MAX, 1 << 24, &cost, NULL), 0);
    assert_int_equal(
        jsonscan_cost(long_text, JSONSCAN_TEXT_MAX + 2, 1 << 24, &cost, &err),
        -1);
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
