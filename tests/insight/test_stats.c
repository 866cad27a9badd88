/* test_stats.c - medians, sorting, fits, and where a warm-up ends. */
#include "common/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/netseries.h"

/* Medians equal those of sorted values, for many lengths, values and ties. */
static void test_medians(void **state)
{
    double v[100], sorted[100];

    (void) state;
    for (size_t n = 1; n <= 100; n++)
        for (unsigned kinds = 1; kinds < 200; kinds += 9) {
            for (size_t i = 0; i < n; i++)
                sorted[i] = v[i] = (double) ((i * 7919 + n * 31) % kinds);
            stats_sort(sorted, n);
            for (size_t i = 1; i < n; i++)
                assert_true(sorted[i - 1] <= sorted[i]);
            assert_true(stats_median(v, n) ==
                        (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
        }
}

/* Compares with the sum of the chances of each number. */
static void test_binomial(void **state)
{
    (void) state;
    assert_true(stats_binomial_tail(0, 10, 0.1) == 1);
    assert_true(stats_binomial_tail(11, 10, 0.1) == 0);
    assert_true(fabs(stats_binomial_tail(10, 10, 0.5) * 1024 - 1) < 1e-9);
    assert_true(fabs(stats_binomial_tail(9, 10, 0.5) * 1024 - 11) < 1e-9);
    assert_true(fabs(stats_binomial_tail(20, 20, 0.125) * 0x1p60 - 1) < 1e-9);
    assert_true(fabs(stats_binomial_tail(3, 4, 0.25) - 13.0 / 256) < 1e-12);
    assert_true(stats_binomial_tail(2000, 1000000, 0.001) < 1e-100);
}

static void test_warmup(void **state)
{
    static const struct {
        double first[6]; /* the others, up to 30, take 100 us */
        size_t length;
    } rows[] = {
        {{100, 100, 100, 100, 100, 100}, 0},
        {{900, 100, 100, 100, 100, 100}, 1},
        {{100, 900, 100, 100, 100, 100}, 2},
        {{100, 100, 900, 100, 100, 100}, 0}, /* jitter */
        {{900, 900, 100, 100, 900, 900}, 6},
        {{149, 150, 100, 100, 100, 100}, 0},
    };
    double us[30], scratch[30], usual;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t k = 0; k < 30; k++)
            us[k] = k < 6 ? rows[i].first[k] : 100;
        assert_int_equal(warmup_length(us, 30, scratch, &usual),
                         rows[i].length);
        assert_true(usual == 100);
    }
    assert_int_equal(warmup_length(us, 4, scratch, &usual), 0);
}

/* Kinds with half of the time must have a warm-up. */
static void test_warmup_of_all(void **state)
{
    struct jp_netseries kinds[] = {
        {.ops = 100, .usual_us = 10, .warm_until_us = NAN},
        {.ops = 100,
         .usual_us = 20,
         .warm_ops = 3,
         .warm_us = 600,
         .warm_until_us = 2e6},
    };
    struct jp_netserieses all = {.at = kinds, .n = 2};
    char text[JP_WARMUP_TEXT];
    struct jp_warmup w;

    (void) state;
    warmup_sum(&all, &w);
    assert_true(w.ops == 3 && w.kinds == 1 && w.of_kinds == 2);
    assert_true(w.times == 10 && w.took_us == 540 && w.until_us == 2e6);
    warmup_text(&w, true, 500000, text);
    assert_non_null(strstr(text, "the first 3 operations of 1 of 2 kinds "
                                 "(communicator, function, size), until 1.50 "
                                 "s, took 10.0 times as long"));
    warmup_text(&w, true, 0, text);
    assert_non_null(strstr(text, "at an unknown time"));
    kinds[0].usual_us = 30;
    warmup_sum(&all, &w);
    assert_true(!w.ops && !w.kinds && w.of_kinds == 2);
    warmup_text(&w, true, 0, text);
    assert_int_equal(strncmp(text, "none detected", 13), 0);
    warmup_text(&w, false, 0, text);
    assert_int_equal(strncmp(text, "not looked for", 14), 0);
}

static void test_stats(void **state)
{
    double one[] = {3}, even_n[] = {4, 1, 3, 2}, outlier[] = {1, 2, 3, 4, 1e9};
    double halves[] = {-50, -51, -49, -50.5, 50, 51, 49, 50.5};
    struct stats_trimmed t;

    (void) state;
    assert_true(isnan(stats_median(one, 0)));
    assert_true(stats_median(one, 1) == 3);
    assert_true(stats_median(even_n, 4) == 2.5);
    t = stats_trim(outlier, 5);
    assert_true(t.mean == 3);
    assert_true(t.error > 0 && t.error < 2);
    assert_true(stats_spread(one, 1) == 0);
    assert_true(stats_spread(halves, 8) < 3);
}

/* Student's t against printed tables (Fisher and Yates), one-sided. */
static void test_student(void **state)
{
    static const struct {
        double t, tail;
        unsigned freedom;
    } rows[] = {{12.706, 0.025, 1},  {63.657, 0.005, 1}, {4.303, 0.025, 2},
                {3.182, 0.025, 3},   {2.228, 0.025, 10}, {4.587, 0.0005, 10},
                {3.965, 0.0005, 17}, {2.042, 0.025, 30}, {3.646, 0.0005, 30}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double t = stats_student_quantile(rows[i].tail, rows[i].freedom);

        assert_true(
            fabs(stats_student_tail(rows[i].t, rows[i].freedom) / rows[i].tail -
                 1) < 2e-3);
        assert_true(fabs(t / rows[i].t - 1) < 2e-3);
    }
    assert_true(fabs(stats_student_tail(0, 5) - 0.5) < 1e-12);
    assert_true(fabs(stats_student_tail(-2.228, 10) - 0.975) < 1e-4);
    assert_true(stats_student_tail(1e6, 17) > 0);
    assert_true(stats_student_tail(1e6, 17) < 1e-14);
    assert_true(stats_student_tail(INFINITY, 17) < 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats),         cmocka_unit_test(test_medians),
        cmocka_unit_test(test_binomial),      cmocka_unit_test(test_warmup),
        cmocka_unit_test(test_warmup_of_all), cmocka_unit_test(test_student),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
