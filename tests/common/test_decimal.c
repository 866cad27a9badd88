/* test_decimal.c - the digits are those of printf. */
#include "common/decimal.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/sorted.h"

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

static void check_count(uint64_t value)
{
    char want[32], got[JP_DECIMAL_ROOM];

    snprintf(want, sizeof(want), "%" PRIu64, value);
    *decimal_count(value, got) = '\0';
    assert_string_equal(got, want);
}

static void counts(void **state)
{
    uint64_t seed = 1, power = 1;

    (void) state;
    for (int i = 0; i < 20; i++, power *= 10) {
        check_count(power - 1);
        check_count(power);
        check_count(power + 1);
    }
    check_count(UINT64_MAX);
    for (int i = 0; i < 200000; i++) {
        uint64_t r = next(&seed);

        check_count(r >> r % 64);
    }
    for (uint64_t v = 0; v < 100000000; v += 9973) /* all of the eight */
        check_count(v);
}

static void micros(void **state)
{
    static const struct {
        uint64_t micro;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "0.000001"},
        {10, "0.00001"},
        {1000000, "1"},
        {1050, "0.00105"},
        {37000000, "37"},
        {37000100, "37.0001"},
        {UINT64_MAX, "18446744073709.551615"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char got[JP_DECIMAL_ROOM];

        *decimal_micro(rows[i].micro, got) = '\0';
        assert_string_equal(got, rows[i].text);
    }
}

/* The result that figure_exact must have, by printf alone. */
static void by_printf(double value, char *buf)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, JP_FIGURE_LEN, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            return;
    }
}

/* Compares with "%.15g", unless printf has to decide. */
static void check_fifteen(double value)
{
    char want[JP_FIGURE_LEN], got[JP_DECIMAL_ROOM];
    char *end = decimal_fifteen(value, got);

    if (!end)
        return;
    *end = '\0';
    snprintf(want, sizeof(want), "%.15g", value);
    assert_string_equal(got, want);
}

/* The number of values that needed no printf. */
static unsigned check_exact(double value)
{
    char want[JP_FIGURE_LEN], got[JP_FIGURE_LEN];
    char *end = decimal_exact(value, got);

    by_printf(value, want);
    check_fifteen(value);
    if (end) {
        *end = '\0';
        assert_string_equal(got, want);
    }
    assert_string_equal(FIG_EXACT(value), want);
    return end != NULL;
}

static void doubles(void **state)
{
    static const double odd[] = {
        0.1,     1e-4, 0.3,   2.5,    1.0 / 3,  0.25,  1e15,  999999999999999.8,
        0.00012, 1e-5, 1e300, 5e-324, -1.0 / 3, -7.25, 1024.5};
    uint64_t seed = 7;
    unsigned quick = 0, n = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        check_exact(odd[i]);
        check_exact(nextafter(odd[i], INFINITY));
        check_exact(nextafter(odd[i], 0));
    }
    for (int i = 0; i < 100000; i++, n += 3) {
        uint64_t r = next(&seed);
        double micro = (double) (r >> 20 & 0xfffffffffff);

        quick += check_exact(micro / 1e6 + 0.000001); /* a bandwidth */
        quick += check_exact(micro / (double) (r % 63 + 2) / 1e6); /* a mean */
        quick +=
            check_exact(ldexp((double) (r >> 11 | 1), (int) (r % 60) - 70));
    }
    assert_true(quick > n * 9 / 10);
    assert_null(decimal_exact(NAN, (char[JP_DECIMAL_ROOM]){0}));
    assert_null(decimal_exact(-1.5, (char[JP_DECIMAL_ROOM]){0}));
    assert_null(decimal_exact(INFINITY, (char[JP_DECIMAL_ROOM]){0}));
    assert_null(decimal_exact(0, (char[JP_DECIMAL_ROOM]){0}));
    assert_null(decimal_fifteen(0, (char[JP_DECIMAL_ROOM]){0}));
    assert_null(decimal_fifteen(NAN, (char[JP_DECIMAL_ROOM]){0}));
    assert_non_null(decimal_fifteen(2.5, (char[JP_DECIMAL_ROOM]){0}));
}

/* Sums that are too large, and quantiles of sorted numbers. */
static void sums_and_quantiles(void **state)
{
    static const struct {
        size_t n;
        double q, quantile;
    } rows[] = {{1, 0, 1},   {1, 0.5, 1}, {1, 1, 1},       {2, 0.5, 1.5},
                {4, 0, 1},   {4, 0.5, 3}, {4, 0.25, 1.75}, {4, 1, 8},
                {3, 0.5, 2}, {3, 0.75, 3}};
    double numbers[] = {4, 1, 8, 2};

    (void) state;
    qsort(numbers, 4, sizeof(*numbers), sorted_ascending);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (sorted_quantile(numbers, rows[i].n, rows[i].q) != rows[i].quantile)
            fail_msg("row %zu: %g", i,
                     sorted_quantile(numbers, rows[i].n, rows[i].q));
    assert_true(sorted_median(numbers, 4) == 3);
    assert_true(sorted_median(numbers, 3) == 2);
    for (uint32_t k = 0; k < 7; k++) {
        uint32_t some[] = {9, 0, UINT32_MAX, 4, 4, 1, 9};
        const uint32_t all[] = {0, 1, 4, 4, 9, 9, UINT32_MAX};

        assert_int_equal(sorted_select_u32(some, 7, k), all[k]);
        qsort(some, 7, sizeof(*some), sorted_ascending_u32);
        assert_memory_equal(some, all, sizeof(all));
    }
    assert_int_equal(num_add(UINT64_MAX - 1, 1), UINT64_MAX);
    assert_int_equal(num_add(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(num_add(2, 3), 5);
    assert_int_equal(num_mul(UINT64_MAX / 2, 3), UINT64_MAX);
    assert_int_equal(num_mul(UINT64_MAX, 0), 0);
    assert_string_equal(plural(1), "");
    assert_string_equal(plural(0), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(micros),
        cmocka_unit_test(doubles),
        cmocka_unit_test(sums_and_quantiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
