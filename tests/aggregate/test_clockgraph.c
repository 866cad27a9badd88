/* test_clockgraph.c - offsets of many clocks, compared with a dense solution.
 */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (seed >> 11) / 9007199254740992.0;
}

/* The normal equations by elimination; x[reference] stays 0. */
static void solve_dense(const struct clockgraph_edge *edges, size_t n_edges,
                        uint32_t reference, double *x, size_t n)
{
    double a[16][17] = {{0}};

    for (size_t i = 0; i < n_edges; i++) {
        const struct clockgraph_edge *e = &edges[i];
        double unc = fmax(e->unc_ns, CLOCKGRAPH_LEAST_NS), w = 1 / (unc * unc);

        a[e->from][e->from] += w;
        a[e->to][e->to] += w;
        a[e->from][e->to] -= w;
        a[e->to][e->from] -= w;
        a[e->to][n] += w * (double) e->theta_ns;
        a[e->from][n] -= w * (double) e->theta_ns;
    }
    for (size_t k = 0; k <= n; k++)
        a[reference][k] = k == reference;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double f = i == j ? 0 : a[j][i] / a[i][i];

            for (size_t k = i; k <= n && f != 0; k++)
                a[j][k] -= f * a[i][k];
        }
    for (size_t i = 0; i < n; i++)
        x[i] = a[i][n] / a[i][i];
}

static void equals_least_squares(void **state)
{
    (void) state;
    seed = 5;
    for (int round = 0; round < 300; round++) {
        struct clockgraph_edge edges[64];
        struct clockgraph_clock clocks[16];
        size_t n = 2 + (size_t) (uniform() * 11), m = 0;
        uint32_t reference = (uint32_t) (uniform() * (double) n);
        double x[16];

        for (uint32_t i = 1; i < n; i++)
            edges[m++] = (struct clockgraph_edge){
                .from = (uint32_t) (uniform() * i), .to = i};
        for (size_t extra = (size_t) (uniform() * 20); extra; extra--) {
            uint32_t a = (uint32_t) (uniform() * (double) n),
                     b = (uint32_t) (uniform() * (double) n);

            if (a != b)
                edges[m++] = (struct clockgraph_edge){.from = a, .to = b};
        }
        for (size_t i = 0; i < m; i++) {
            edges[i].unc_ns = 50 + uniform() * 2000;
            /* nothing contradicts by five times its uncertainty */
            edges[i].theta_ns = (int64_t) edges[i].to * 1000000 -
                                (int64_t) edges[i].from * 1000000 +
                                (int64_t) ((uniform() - 0.5) * edges[i].unc_ns);
        }
        solve_dense(edges, m, reference, x, n);
        assert_int_equal(clockgraph_solve(edges, m, reference, clocks, n), 0);
        for (size_t i = 0; i < n; i++) {
            assert_true(clocks[i].reachable);
            assert_true(fabs((double) clocks[i].offset_ns - x[i]) <= 0.501);
        }
    }
}

/* Edges that agree give their own offsets, however far apart the clocks are and
 * whichever way the edges are directed. Clocks that no edge reaches are marked.
 */
static void far_clocks(void **state)
{
    const int64_t far = 400000000000000000ll; /* 12 years */
    struct clockgraph_edge edges[] = {
        {.from = 0, .to = 1, .theta_ns = 1000, .unc_ns = 50},
        {.from = 2, .to = 0, .theta_ns = -far, .unc_ns = 50},
        {.from = 1, .to = 2, .theta_ns = far - 1000, .unc_ns = 50},
        {.from = 3, .to = 4, .theta_ns = 5, .unc_ns = 50},
    };
    struct clockgraph_clock clocks[6];

    (void) state;
    assert_int_equal(clockgraph_solve(edges, 4, 0, clocks, 6), 0);
    assert_int_equal(clocks[0].offset_ns, 0);
    assert_int_equal(clocks[1].offset_ns, 1000);
    assert_true(clocks[2].offset_ns == far);
    assert_true(clocks[1].reachable && clocks[2].reachable);
    for (int i = 3; i < 6; i++) {
        assert_false(clocks[i].reachable);
        assert_int_equal(clocks[i].offset_ns, 0);
    }
    assert_true(clocks[1].unc_ns == 50);
}

/* Sums that no clock can have do not overflow. */
static void beyond_all_clocks(void **state)
{
    struct clockgraph_edge edges[6];
    struct clockgraph_clock clocks[7];

    (void) state;
    for (uint32_t i = 0; i < 6; i++)
        edges[i] = (struct clockgraph_edge){.from = i,
                                            .to = i + 1,
                                            .theta_ns = CLOCKGRAPH_FAR_NS / 2,
                                            .unc_ns = 50};
    assert_int_equal(clockgraph_solve(edges, 6, 0, clocks, 7), 0);
    assert_true(clocks[2].reachable);
    assert_false(clocks[3].reachable);
    assert_false(clocks[6].reachable);
}

/* One edge is wrong by 1 ms: it is left out if others replace it, and is used
 * if it is the only one. */
static void wrong_edge(void **state)
{
    struct clockgraph_edge edges[] = {
        {.from = 0, .to = 1, .theta_ns = 1000, .unc_ns = 100},
        {.from = 1, .to = 2, .theta_ns = 1000, .unc_ns = 100},
        {.from = 0, .to = 2, .theta_ns = 2000, .unc_ns = 100},
        {.from = 1, .to = 3, .theta_ns = 1002000, .unc_ns = 100}, /* wrong */
        {.from = 2, .to = 3, .theta_ns = 1000, .unc_ns = 100},
        {.from = 0, .to = 3, .theta_ns = 3000, .unc_ns = 100},
        {.from = 3, .to = 4, .theta_ns = 5000000, .unc_ns = 100},
    };
    struct clockgraph_clock clocks[5];

    (void) state;
    assert_int_equal(clockgraph_solve(edges, 7, 0, clocks, 5), 0);
    assert_true(edges[3].left_out);
    for (int i = 0; i < 7; i++)
        assert_true(i == 3 || !edges[i].left_out);
    for (int i = 0; i < 4; i++)
        assert_int_equal(clocks[i].offset_ns, 1000 * i);
    assert_int_equal(clocks[4].offset_ns, 5003000);
}

/* A loop that does not add up shows in the uncertainty of its clocks. */
static void asymmetry_shows(void **state)
{
    struct clockgraph_edge edges[] = {
        {.from = 0, .to = 1, .theta_ns = 10000, .unc_ns = 5000},
        {.from = 1, .to = 2, .theta_ns = 0, .unc_ns = 5000},
        {.from = 0, .to = 2, .theta_ns = 0, .unc_ns = 5000},
        {.from = 2, .to = 3, .theta_ns = 0, .unc_ns = 60},
    };
    struct clockgraph_clock clocks[4];

    (void) state;
    edges[0].unc_ns = edges[1].unc_ns = edges[2].unc_ns = 1000;
    assert_int_equal(clockgraph_solve(edges, 4, 0, clocks, 4), 0);
    assert_true(fabs((double) clocks[1].offset_ns - 6667) <= 1);
    assert_true(clocks[1].unc_ns >= 3333 && clocks[2].unc_ns >= 3333);
}

/* A sum of twelve uniform numbers has a deviation of 1; here none is beyond
 * three times that. */
static double normal(void)
{
    double sum;

    do {
        sum = -6;
        for (int i = 0; i < 12; i++)
            sum += uniform();
    } while (fabs(sum) > 3);
    return sum;
}

/* Eight clocks: each is tied to three others by good edges, and to some by
 * edges with larger errors and uncertainties. Returns the root mean square of
 * the errors, the mean uncertainty, and for how many clocks in 1,000 the
 * uncertainty is more than ten times that. With the clocks' own errors, noise
 * exceeds three times its deviation now and then. */
static void plant_noise(double good_ns, double noisy_ns, double *rms_ns,
                        double *said_ns, double *wide)
{
    enum { N = 8, ROUNDS = 400 };
    double squares = 0, said = 0;
    int beyond = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct clockgraph_edge edges[N * N];
        struct clockgraph_clock clocks[N];
        int64_t truth[N];
        size_t m = 0;

        for (uint32_t i = 0; i < N; i++)
            truth[i] = i ? (int64_t) (uniform() * 1e9) : 0;
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t j = i + 1; j < N; j++) {
                uint32_t apart = j - i;
                bool good = apart == 1 || apart == N - 1 || apart == N / 2;
                double unc = good ? good_ns : noisy_ns;

                if (good || uniform() < 0.5)
                    edges[m++] = (struct clockgraph_edge){
                        .from = i,
                        .to = j,
                        .theta_ns = truth[j] - truth[i] +
                                    llround(unc * normal()),
                        .unc_ns = unc};
            }
        assert_int_equal(clockgraph_solve(edges, m, 0, clocks, N), 0);
        for (int i = 1; i < N; i++) {
            double error = (double) (clocks[i].offset_ns - truth[i]);

            assert_true(clocks[i].reachable);
            /* rounded to 1 ns */
            assert_true(fabs(error) <= 3 * clocks[i].unc_ns + 1);
            squares += error * error;
            if (clocks[i].unc_ns > 10 * good_ns)
                beyond++;
            else
                said += clocks[i].unc_ns;
        }
    }
    *rms_ns = sqrt(squares / (ROUNDS * (N - 1)));
    *said_ns = said / (ROUNDS * (N - 1) - beyond + 1e-9);
    *wide = 1000.0 * beyond / (ROUNDS * (N - 1));
    print_message("edges of %.0f and %.0f ns: off by %.0f, said %.0f ns; "
                  "%d of %d as wrong as the noise\n",
                  good_ns, noisy_ns, *rms_ns, *said_ns, beyond,
                  ROUNDS * (N - 1));
}

static void noise_beside(void **state)
{
    static const double good[] = {100, 300, 1000};

    (void) state;
    seed = 21;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        for (double noise = 1.01; noise < 2000; noise *= 10) {
            double rms, said, wide;

            plant_noise(good[i], noise * good[i], &rms, &said, &wide);
            assert_true(said <= 3 * rms);
            assert_true(wide < 10);
        }
    }
}

/* A thousand nodes with chords: the error is below that of a tree, and the time
 * is bounded. */
static void many_clocks(void **state)
{
    enum { N = 1024 };
    static struct clockgraph_edge edges[4 * N];
    static struct clockgraph_clock clocks[N];
    static double truth[N];
    double sum = 0, of_tree = 0, at = 0;
    size_t m = 0;

    (void) state;
    seed = 8;
    for (int i = 0; i < N; i++)
        truth[i] = (uniform() - 0.5) * 1e9;
    truth[0] = 0;
    for (int stride = 1; stride < N / 2; stride *= 8)
        for (int i = 0; i < N && m < 4 * N; i++) {
            int j = (i + stride) % N;
            /* uniform() - 0.5 has a deviation of 0.289 */
            double noise = (uniform() - 0.5) / 0.289 * 1000;

            edges[m++] = (struct clockgraph_edge){
                .from = (uint32_t) i,
                .to = (uint32_t) j,
                .theta_ns = (int64_t) (truth[j] - truth[i] + noise),
                .unc_ns = 1000};
            if (stride == 1 && j) {
                at += noise;
                of_tree += at * at;
            }
        }
    assert_int_equal(clockgraph_solve(edges, m, 0, clocks, N), 0);
    for (int i = 0; i < N; i++)
        sum += pow((double) clocks[i].offset_ns - truth[i], 2);
    assert_true(sqrt(sum / N) < 1500);
    assert_true(sum < of_tree / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_least_squares), cmocka_unit_test(far_clocks),
        cmocka_unit_test(beyond_all_clocks),    cmocka_unit_test(wrong_edge),
        cmocka_unit_test(asymmetry_shows),      cmocka_unit_test(noise_beside),
        cmocka_unit_test(many_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
