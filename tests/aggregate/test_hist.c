/* test_hist.c - percentiles of a histogram, compared with exact ones. */
#include "orchestrator/aggregate/dist.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "tests/aggregate/op_of.h"
#include "tests/common/tempdir.h"

enum { VALUES = 20000 };

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double) (*seed >> 11) / 9007199254740992.0;
}

static void near(double got, double want)
{
    if (fabs(got - want) > 0.003 * want)
        fail_msg("%.17g is not near %.17g", got, want);
}

/* A shape of n values, from many orders of magnitude to one value. */
static double value_of(unsigned shape, uint64_t *seed)
{
    double u = uniform(seed);

    switch (shape) {
    case 0:
        return 380 + u; /* as bandwidths are */
    case 1:
        return exp(40 * u - 14);
    case 2:
        return floor(u * 40); /* microseconds, zeros among them */
    case 3:
        return u < 0.5 ? 1e12 : 1e-7;
    default:
        return 42.5;
    }
}

static void follow_exact_ones(void **state)
{
    struct hist *hist = calloc(1, sizeof(*hist));
    double *values = calloc(VALUES, sizeof(double));
    double *scratch = calloc(VALUES, sizeof(double));
    uint64_t seed = 3;

    (void) state;
    assert_true(hist && values && scratch);
    for (unsigned shape = 0; shape < 5; shape++)
        for (size_t n = 1; n <= VALUES; n = n * 7 + 1) {
            struct jp_dist got, want;

            *hist = (struct hist){0};
            for (size_t i = 0; i < n; i++)
                hist_add(hist, values[i] = value_of(shape, &seed));
            hist_make(hist, &got);
            dist_make(values, scratch, n, &want);
            assert_int_equal(got.n, n);
            assert_true(got.min == want.min && got.max == want.max);
            assert_true(got.mean == want.mean);
            near(got.p50, want.p50);
            near(got.p95, want.p95);
            near(got.p99, want.p99);
        }
    free(hist);
    free(values);
    free(scratch);
}

static void survive_extremes(void **state)
{
    static const double odd[] = {0, 5e-324, 1e-300, 1e300, 1.7e308};
    struct hist *hist = calloc(1, sizeof(*hist));
    struct jp_dist got;

    (void) state;
    assert_non_null(hist);
    hist_make(hist, &got);
    assert_true(got.n == 0 && got.p50 == 0);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
        hist_add(hist, odd[i]);
    hist_make(hist, &got);
    assert_int_equal(got.n, 5);
    assert_true(got.p50 >= got.min && got.p99 <= got.max);
    free(hist);
}

static void put(const char *dir, unsigned bytes, unsigned n)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%u.log", dir, bytes);
    f = fopen(path, "w");
    assert_non_null(f);
    for (unsigned i = 0; i < n; i++)
        fprintf(f,
                "{\"header\":{\"id\":\"0x%u\",\"rank\":0,\"n_ranks\":1,"
                "\"nnodes\":1},\"metadata\":{\"hostname\":\"h\",\"pid\":1},"
                "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%u,"
                "\"coll_msg_size_bytes\":%u,\"coll_exec_time_us\":%u,"
                "\"coll_busbw_gbs\":%u.5}}\n",
                bytes, i, bytes, 100 + i % 37, 300 + i * 7 % 11);
    fclose(f);
}

static struct jp_result *run(const char *dir, uint64_t limit)
{
    const struct jp_aggregate_options options = {.threads = 1,
                                                 .row_limit = limit};

    return result_of(dir, &options);
}

/* The largest cells are rounded, and the result marks them. */
static void are_used_beyond_the_limit(void **state)
{
    struct jp_result *exact, *rounded;

    put(*state, 64, 300);
    put(*state, 128, 20);
    put(*state, 256, 100);
    exact = run(*state, 420);
    rounded = run(*state, 419);
    assert_int_equal(exact->n_cells, 3);
    assert_int_equal(exact->quality.rounded_cells, 0);
    assert_int_equal(rounded->quality.rounded_cells, 1);
    for (size_t i = 0; i < 3; i++) {
        const struct jp_cell *a = &exact->cells[i], *b = &rounded->cells[i];

        assert_false(a->rounded);
        assert_int_equal(b->rounded, b->bytes == 64);
        assert_true(a->busbw.mean == b->busbw.mean);
        assert_true(a->busbw.max == b->busbw.max && a->exec.n == b->exec.n);
        assert_true(a->time_weighted_gbs == b->time_weighted_gbs);
        near(b->busbw.p50, a->busbw.p50);
        near(b->exec.p99, a->exec.p99);
        assert_true(b->rounded || a->exec.p99 == b->exec.p99);
    }
    result_destroy(rounded);
    rounded = run(*state, 1);
    assert_int_equal(rounded->quality.rounded_cells, 3);
    result_destroy(rounded);
    result_destroy(exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follow_exact_ones),
        cmocka_unit_test(survive_extremes),
        cmocka_unit_test_setup_teardown(are_used_beyond_the_limit, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
