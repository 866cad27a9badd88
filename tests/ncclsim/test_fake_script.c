/* Scripts of what GPUs that are not there do: lines, times, ways. */
#include "contrib/fakegpu/fake_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

#define NONE 12345ULL /* what *out holds before */

static void lines(void **state)
{
    static const struct {
        const char *text;
        double seconds;
        int gpu;
        unsigned long long want; /* NONE: nothing is said */
    } rows[] = {
        {"", 0, 0, NONE},
        {"\n\n", 0, 0, NONE},
        {"0", 0, 0, NONE},
        {"0 sm", 0, 0, NONE},
        {"0 sm x", 0, 0, NONE},
        {"0 sm -5", 0, 0, NONE},
        {"0 sm 5x", 0, 0, NONE},
        {"0 sm 5..", 0, 0, NONE},
        {"0 sm 5..9", 0, 0, NONE}, /* a way needs an end */
        {"0 sm 5..9 4 4", 9, 0, NONE},
        {"0 sm 5 x", 0, 0, NONE},
        {"0 sm 5 -1", 0, 0, NONE},
        {"0 sm 5 nan", 0, 0, NONE},
        {"0 power 5", 0, 0, NONE},
        {"1 sm 5", 0, 0, NONE},
        {"# 0 sm 5", 0, 0, NONE},
        {"0 sm 5", 0, 0, 5},
        {"  0\tsm   5  \n", 99, 0, 5},
        {"* sm 5", 0, 7, 5},
        {"0 sm 5\n* sm 6\n", 0, 0, 6}, /* a later line counts */
        {"* sm 6\n0 sm 5\n", 0, 0, 5},
        {"* sm 6\n0 sm 5\n", 0, 1, 6},
        {"* sm 6\n* sm 5 3\n", 2.9, 0, 6},
        {"* sm 6\n* sm 5 3\n", 3, 0, 5},
        {"* sm 6\n* sm 5 3 4.5\n", 4.4, 0, 5},
        {"* sm 6\n* sm 5 3 4.5\n", 4.5, 0, 6}, /* and is itself again */
        {"* sm 6\n* sm 10..20 2 4", 1, 0, 6},
        {"* sm 6\n* sm 10..20 2 4", 3, 0, 15},
        {"* sm 6\n* sm 10..20 2 4", 99, 0, 20},
        {"* sm 20..10 2 4", 3.5, 0, 13},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned long long n = NONE;
        int rc = fake_script_find_in(rows[i].text, rows[i].seconds, rows[i].gpu,
                                     "sm", &n);

        if (n != rows[i].want || rc != (n == NONE ? -1 : 0))
            fail_msg("\"%s\" at %g of GPU %d: %llu, not %llu", rows[i].text,
                     rows[i].seconds, rows[i].gpu, n, rows[i].want);
    }
}

/* Seconds count from when the file was written. */
static void of_a_file(void **state)
{
    char *path = tempdir_file(*state, "load", 0600, "0 sm 5\n0 sm 6 50\n");
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};
    unsigned long long n = NONE;

    unsetenv("FAKEGPU_LOAD");
    assert_int_equal(fake_script_find(0, "sm", &n), -1);
    setenv("FAKEGPU_LOAD", "/nonexistent", 1);
    assert_int_equal(fake_script_find(0, "sm", &n), -1);
    setenv("FAKEGPU_LOAD", path, 1);
    assert_int_equal(fake_script_find(0, "sm", &n), 0);
    assert_int_equal(n, 5);
    times[1].tv_sec = time(NULL) - 60;
    assert_int_equal(utimensat(0, path, times, 0), 0);
    assert_int_equal(fake_script_find(0, "sm", &n), 0);
    assert_int_equal(n, 6);
    times[1].tv_sec = time(NULL) + 60; /* of another machine's clock */
    assert_int_equal(utimensat(0, path, times, 0), 0);
    assert_int_equal(fake_script_find(0, "sm", &n), 0);
    assert_int_equal(n, 5);
    unsetenv("FAKEGPU_LOAD");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test_setup_teardown(of_a_file, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
