/* test_clockline.c - the line between two clocks, compared with brute force and
 * with clocks that are known. */
#include "common/clockline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000ll

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (seed >> 11) / 9007199254740992.0;
}

static double exponential(double mean)
{
    return -mean * log(1 - uniform());
}

/* --- against brute force ------------------------------------------------- */

struct set {
    int64_t t[2][8], theta[2][8];
    int n[2];
};

static double gap(const struct set *set, double slope)
{
    double high = INFINITY, low = -INFINITY;

    for (int i = 0; i < set->n[0]; i++)
        high = fmin(high,
                    (double) set->theta[0][i] - slope * (double) set->t[0][i]);
    for (int i = 0; i < set->n[1]; i++)
        low = fmax(low,
                   (double) set->theta[1][i] - slope * (double) set->t[1][i]);
    return (high - low) / 2;
}

/* The gap's largest value is at the slope of a pair of points of one side, or
 * at an end. */
static double best_gap(const struct set *set)
{
    double best =
        fmax(gap(set, CLOCKLINE_MAX_SLOPE), gap(set, -CLOCKLINE_MAX_SLOPE));

    for (int side = 0; side < 2; side++)
        for (int i = 0; i < set->n[side]; i++)
            for (int j = 0; j < i; j++) {
                double t = (double) (set->t[side][i] - set->t[side][j]);
                double slope =
                    (double) (set->theta[side][i] - set->theta[side][j]) / t;

                if (set->t[side][i] != set->t[side][j] &&
                    fabs(slope) <= CLOCKLINE_MAX_SLOPE)
                    best = fmax(best, gap(set, slope));
            }
    return best;
}

static void equals_brute_force(void **state)
{
    unsigned crossed = 0, found = 0;

    (void) state;
    seed = 1;
    for (int i = 0; i < 2000; i++) {
        struct clockline_bounds bounds = {0};
        struct set set = {0};
        struct clockline line;
        enum clockline_status status;
        double best;

        for (int side = 0; side < 2; side++) {
            set.n[side] = 1 + (int) (uniform() * 8);
            for (int k = 0; k < set.n[side]; k++) {
                int64_t t = (int64_t) (uniform() * 40) * (S / 10);
                int64_t theta = (int64_t) ((uniform() - 0.5) * 500000) +
                                (side ? -150000 : 150000);

                set.t[side][k] = t;
                set.theta[side][k] = theta;
                assert_int_equal(0,
                                 side ? clockline_add_lower(&bounds, t, theta)
                                      : clockline_add_upper(&bounds, t, theta));
            }
        }
        best = best_gap(&set);
        status = clockline_find(&bounds, &line);
        if (best < -0.001) {
            assert_int_equal(status, CLOCKLINE_CROSSED);
            crossed++;
        } else if (best > 0.001) {
            assert_int_equal(status, CLOCKLINE_OK);
            assert_true(fabs(line.margin_ns - best) < 0.01);
            assert_true(fabs(gap(&set, line.slope) - best) < 0.01);
            found++;
            /* the line itself obeys every bound */
            for (int side = 0; side < 2; side++)
                for (int k = 0; k < set.n[side]; k++) {
                    int64_t at = clockline_at(&line, set.t[side][k]);

                    if (side)
                        assert_true(at >= set.theta[side][k] - 1);
                    else
                        assert_true(at <= set.theta[side][k] + 1);
                }
        }
        clockline_fini(&bounds);
    }
    assert_true(crossed > 100);
    assert_true(found > 1000);
}

static void range_holds_every_line(void **state)
{
    (void) state;
    seed = 2;
    for (int i = 0; i < 200; i++) {
        struct clockline_bounds bounds = {0};
        struct set set = {0};
        struct clockline line;
        double widest[2] = {INFINITY, -INFINITY};
        int64_t t = (int64_t) (uniform() * 60) * (S / 10) - S;
        double low, high;

        for (int side = 0; side < 2; side++) {
            set.n[side] = 3 + (int) (uniform() * 5);
            for (int k = 0; k < set.n[side]; k++) {
                set.t[side][k] = (int64_t) (uniform() * 40) * (S / 10);
                set.theta[side][k] = (int64_t) (uniform() * 400000) *
                                         (side ? -1 : 1) +
                                     (side ? -1000 : 1000);
                if (side)
                    clockline_add_lower(&bounds, set.t[1][k], set.theta[1][k]);
                else
                    clockline_add_upper(&bounds, set.t[0][k], set.theta[0][k]);
            }
        }
        assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_OK);
        clockline_range(&bounds, &line, t, &low, &high);
        for (int k = -20000; k <= 20000; k++) {
            double slope = k * CLOCKLINE_MAX_SLOPE / 20000, up = INFINITY,
                   down = -INFINITY;

            for (int j = 0; j < set.n[0]; j++)
                up = fmin(up, (double) set.theta[0][j] -
                                  slope * (double) set.t[0][j]);
            for (int j = 0; j < set.n[1]; j++)
                down = fmax(down, (double) set.theta[1][j] -
                                      slope * (double) set.t[1][j]);
            if (up < down)
                continue;
            widest[0] = fmin(widest[0], down + slope * (double) t);
            widest[1] = fmax(widest[1], up + slope * (double) t);
        }
        /* brute force tries slopes in steps of 25 ns/s: near, and never
         * outside */
        assert_true(low <= widest[0] + 0.01);
        assert_true(high >= widest[1] - 0.01);
        assert_true(low >= widest[0] - 400);
        assert_true(high <= widest[1] + 400);
        clockline_fini(&bounds);
    }
}

/* --- clocks that are known ----------------------------------------------- */

struct link {
    double forth_ns, back_ns, queue_ns; /* fixed delays, mean of the rest */
    double offset_ns, slope;
    int64_t begin_ns; /* of A */
};

/* Probes both ways for some seconds. */
static void probe(struct clockline_bounds *bounds, const struct link *link,
                  double seconds, unsigned a_second)
{
    unsigned n = (unsigned) (seconds * a_second);

    for (unsigned i = 0; i < n; i++) {
        double t = (double) S * seconds * i / n;
        double theta = link->offset_ns + link->slope * t;
        double forth = link->forth_ns + exponential(link->queue_ns),
               back = link->back_ns + exponential(link->queue_ns);

        assert_int_equal(0, clockline_add_upper(bounds,
                                                link->begin_ns + (int64_t) t,
                                                (int64_t) (theta + forth)));
        assert_int_equal(0, clockline_add_lower(
                                bounds, link->begin_ns + (int64_t) (t + back),
                                (int64_t) (theta - back)));
    }
}

static double worst_error(const struct clockline *line, const struct link *link,
                          double seconds)
{
    double worst = 0;

    for (int i = 0; i <= 20; i++) {
        double t = (double) S * seconds * i / 20;
        int64_t truth = (int64_t) link->offset_ns + (int64_t) (link->slope * t);

        worst = fmax(worst, fabs((double) (clockline_at(line, link->begin_ns +
                                                                  (int64_t) t) -
                                           truth)));
    }
    return worst;
}

static void known_clocks(void **state)
{
    /* begin: since 1970, and since a boot; offset: other boots */
    const struct {
        struct link link;
        double error_ns;
    } rows[] = {
        {{220, 220, 5, 3.14e9, 12.5e-6, 1780000000ll * S}, 60},
        {{220, 220, 5, -4e14, -30e-6, 86400 * S}, 60},
        {{25000, 25000, 40000, 3.14e9, 12.5e-6, S}, 3000},
        {{25000, 45000, 10, 3.14e9, 12.5e-6, S}, 10100}, /* asymmetry / 2 */
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct clockline_bounds bounds = {0};
        struct clockline line;
        double error;

        seed = 3 + i;
        probe(&bounds, &rows[i].link, 4, 50);
        assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_OK);
        error = worst_error(&line, &rows[i].link, 4);
        assert_true(error <= rows[i].error_ns);
        /* the error is never larger than the margin */
        assert_true(error <= line.margin_ns + 2);
        if (i == 3)
            assert_true(error > 9000);
        clockline_fini(&bounds);
    }
}

static void memory_is_bounded(void **state)
{
    struct clockline_bounds bounds = {0};
    struct link link = {1000, 1000, 5000, 1e6, 5e-6, 0};
    struct clockline line;

    (void) state;
    seed = 9;
    probe(&bounds, &link, 100, 20000); /* two million of each */
    assert_true(bounds.upper.room <= 2048);
    assert_true(bounds.lower.room <= 2048);
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_OK);
    assert_int_equal(bounds.upper.added, 2000000);
    assert_true(worst_error(&line, &link, 100) < 10);
    clockline_fini(&bounds);
}

static void order_does_not_matter(void **state)
{
    struct clockline_bounds one = {0}, two = {0};
    struct clockline a, b;
    enum { N = 3000 };
    static int64_t t[N], theta[N];

    (void) state;
    seed = 11;
    for (int i = 0; i < N; i++) {
        t[i] = i * 1000000ll;
        theta[i] = 500 + (int64_t) exponential(20000);
    }
    for (int i = 0; i < N; i++) {
        int k = (int) ((i * 1733ll) % N);

        clockline_add_upper(&one, t[i], theta[i]);
        clockline_add_lower(&one, t[i], -theta[N - 1 - i]);
        clockline_add_upper(&two, t[k], theta[k]);
        clockline_add_lower(&two, t[k], -theta[N - 1 - k]);
    }
    assert_int_equal(clockline_find(&one, &a), CLOCKLINE_OK);
    assert_int_equal(clockline_find(&two, &b), CLOCKLINE_OK);
    assert_true(a.slope == b.slope && a.margin_ns == b.margin_ns);
    clockline_fini(&one);
    clockline_fini(&two);
}

static void bad_input(void **state)
{
    struct clockline_bounds bounds = {0};
    struct clockline line = {.t0_ns = 77};

    (void) state;
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_FEW);
    clockline_add_upper(&bounds, 0, 100);
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_FEW);
    clockline_add_lower(&bounds, 0, 101);
    assert_int_equal(line.t0_ns, 77);
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_CROSSED);
    assert_true(line.margin_ns == -0.5);
    clockline_fini(&bounds);
    /* a clock that was set by 5 s */
    clockline_add_upper(&bounds, 0, 100);
    clockline_add_lower(&bounds, 0, -100);
    clockline_add_upper(&bounds, 2 * S, 5 * S + 100);
    clockline_add_lower(&bounds, 2 * S, 5 * S - 100);
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_CROSSED);
    clockline_fini(&bounds);
    /* one bound of each kind at one time: the drift is unknown and stays 0 */
    clockline_add_upper(&bounds, 5, 100);
    clockline_add_lower(&bounds, 5, -100);
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_OK);
    assert_true(line.slope == 0 && line.margin_ns == 100);
    assert_int_equal(clockline_at(&line, 5), 0);
    clockline_fini(&bounds);
    /* far ends of the range */
    clockline_add_upper(&bounds, -(1ll << 61), 1ll << 61);
    clockline_add_upper(&bounds, 1ll << 61, 1ll << 61);
    clockline_add_lower(&bounds, 0, -(1ll << 61));
    assert_int_equal(clockline_find(&bounds, &line), CLOCKLINE_OK);
    clockline_fini(&bounds);
    clockline_fini(&bounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(range_holds_every_line),
        cmocka_unit_test(known_clocks),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(bad_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
