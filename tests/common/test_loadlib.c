/* test_loadlib.c - a library that is loaded at run time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/loadlib.h"

struct math {
    void *handle;
    double (*root)(double x);
    double (*absent)(double x);
};

static const char *const names[] = {"libabsent.so.7", "libm.so.6", NULL};

#define AT(member) offsetof(struct math, member)

/* The first library that exists, and an older name of a function. */
static void test_found(void **state)
{
    static const struct loadlib_function functions[] = {
        {{"sqrt_v2", "sqrt"}, AT(root), true},
        {{"sqrt_v3", "sqrt_v2"}, AT(absent), false},
        {{NULL, NULL}, 0, false},
    };
    struct math lib;

    (void) state;
    memset(&lib, 0x55, sizeof(lib));
    assert_null(loadlib_open(&lib, names, functions));
    assert_true(lib.root(9) == 3);
    assert_null(lib.absent);
    loadlib_close(&lib);
    assert_null(lib.handle);
    loadlib_close(&lib);
}

/* A needed function that is missing is named. */
static void test_missing(void **state)
{
    static const struct loadlib_function functions[] = {
        {{"sqrt", NULL}, AT(root), true},
        {{"sqrt_v3", "sqrt_v2"}, AT(absent), true},
        {{NULL, NULL}, 0, false},
    };
    struct math lib;

    (void) state;
    assert_string_equal(loadlib_open(&lib, names, functions), "sqrt_v3");
    assert_non_null(lib.handle);
    loadlib_close(&lib);
}

static void test_no_library(void **state)
{
    static const char *const none[] = {"libabsent.so.7", "/absent.so", NULL};
    static const struct loadlib_function functions[] = {
        {{"sqrt", NULL}, AT(root), true},
        {{NULL, NULL}, 0, false},
    };
    struct math lib;

    (void) state;
    memset(&lib, 0x55, sizeof(lib));
    assert_string_equal(loadlib_open(&lib, none, functions), "");
    assert_null(lib.handle);
    loadlib_close(&lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_no_library),
    };

    return cmocka_run_group_tests_name("loadlib", tests, NULL, NULL);
}
