/* test_nettrend.c - steps, humps and growth in the network's times. */
#include "orchestrator/insight/nettrend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OPS 60

static struct nettrend_op ops[2 * OPS];
static size_t n_ops;

/* Noise of some percent, the same in each run of the test. */
static double noise(size_t i)
{
    return 0.04 * sin(12.9898 * (double) i) + 0.02 * cos(78.233 * (double) i);
}

/* Adds n operations at 0 to 1 of the run that usually take that long, and
 * `times` as long from `from` to `to`. */
static void add_kind(size_t n, double usual_us, double times, double from,
                     double to)
{
    for (size_t i = 0; i < n; i++, n_ops++) {
        double at = ((double) i + 0.5) / (double) n;

        ops[n_ops] = (struct nettrend_op){
            .at = at,
            .log = noise(n_ops) + (at >= from && at < to ? log(times) : 0),
            .usual_us = usual_us};
    }
}

static struct nettrend fit(void)
{
    struct nettrend trend;

    nettrend_fit(ops, n_ops, &trend);
    n_ops = 0;
    return trend;
}

/* The smallest growth that would have been found. */
static double least_of(const struct nettrend *t)
{
    return t->noise * nettrend_least(t->blocks);
}

static void assert_near(double value, double expected, double far)
{
    assert_true(fabs(value - expected) <= far);
}

static void steady(void **state)
{
    struct nettrend t;

    (void) state;
    add_kind(OPS, 100, 1, 0, 1);
    t = fit();
    assert_int_equal(t.course, NET_STEADY);
    assert_int_equal(t.blocks, NETTREND_BLOCKS);
    assert_true(t.noise > 0.001 && t.noise < 0.1);
    assert_true(least_of(&t) > t.noise && least_of(&t) < 0.5);
    add_kind(OPS, 100, 0.5, 0.5, 1); /* faster: no fault */
    assert_int_equal(fit().course, NET_STEADY);
    add_kind(OPS, 100, 1.08, 0.5, 1); /* below net_change_min */
    assert_int_equal(fit().course, NET_STEADY);
}

static void step(void **state)
{
    struct nettrend t;

    (void) state;
    add_kind(OPS, 100, 1.5, 0.4, 1);
    t = fit();
    assert_int_equal(t.course, NET_STEP);
    assert_true(!t.passed && t.to > 1);
    assert_near(t.after - t.before, log(1.5), 4 * t.error);
    assert_near(t.from, 0.4, 0.03);
}

static void hump(void **state)
{
    struct nettrend t;

    (void) state;
    add_kind(OPS, 100, 2, 0.3, 0.6);
    t = fit();
    assert_int_equal(t.course, NET_STEP);
    assert_true(t.passed);
    assert_near(t.from, 0.3, 0.03);
    assert_near(t.to, 0.6, 0.03);
}

/* A time that grows fivefold is a bent line of logarithms, and no step. */
static void growth(void **state)
{
    struct nettrend t;

    (void) state;
    add_kind(OPS, 100, 1, 0, 1);
    for (size_t i = 0; i < n_ops; i++)
        ops[i].log += log(1 + 4 * ops[i].at);
    t = fit();
    assert_int_equal(t.course, NET_LINE);
    assert_near(t.after - t.before, log(5), 0.2);
}

/* Twenty steps with one operation each show what is large enough. */
static void few(void **state)
{
    struct nettrend t, many;

    (void) state;
    add_kind(20, 100, 5, 0.5, 1);
    assert_int_equal(fit().course, NET_STEP);
    add_kind(12, 100, 5, 0.5, 1);
    assert_int_equal(fit().course, NET_STEP);
    add_kind(11, 100, 5, 0.5, 1);
    t = fit();
    assert_int_equal(t.course, NET_STEADY);
    assert_true(!t.blocks && isnan(t.noise));
    add_kind(12, 100, 1, 0, 1);
    t = fit();
    add_kind(OPS, 100, 1, 0, 1);
    many = fit();
    assert_true(least_of(&t) > least_of(&many));
}

/* The operations that take the time decide, however many short ones there are,
 * and in whatever order they come. */
static void kinds(void **state)
{
    struct nettrend t;

    (void) state;
    add_kind(OPS, 10, 1, 0, 1);
    add_kind(20, 1000, 3, 0.5, 1);
    t = fit();
    assert_int_equal(t.course, NET_STEP);
    assert_near(t.after - t.before, log(3), 4 * t.error);
    add_kind(20, 1000, 1, 0, 1);
    add_kind(OPS, 10, 3, 0.5, 1);
    assert_int_equal(fit().course, NET_STEADY);
}

/* Whole microseconds are too coarse for short operations. */
static void short_ones(void **state)
{
    (void) state;
    add_kind(OPS, 5, 3, 0.5, 1);
    assert_int_equal(fit().blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady),     cmocka_unit_test(step),
        cmocka_unit_test(hump),       cmocka_unit_test(growth),
        cmocka_unit_test(few),        cmocka_unit_test(kinds),
        cmocka_unit_test(short_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
