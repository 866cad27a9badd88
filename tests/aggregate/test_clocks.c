/* test_clocks.c - clocks of nodes from what their ranks did together: offsets
 * and drifts are given to the clocks of a simulated run, and must be found. */
#include "orchestrator/aggregate/clocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/timeline.h"
#include "tests/common/fewer.h"

#define BEGIN_US 1780000000000000.0 /* of the run, by a true clock */
#define NODES 64

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (seed >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

struct run {
    uint32_t nodes, per_node;
    double seconds;
    double net_us[3]; /* of the operations, in turn; 0: fewer sizes */
    double compute;   /* between them, as a multiple of net; +-30 % a rank */
    double late;      /* the last node is always late by this part of net */
    double noise_us;  /* of each stamp */
    double offset_s, drift_ppm; /* largest, either way; node 0 has none */
    double step_s;              /* node 1's clock is set in the middle */
    bool pairs_only;   /* communicators of neighbours instead of one of all */
    double loss;       /* part of the records */
    double wander_ppm; /* drift changes by so much over the run */
    double blind, blind_us; /* so many starts and ends, each by itself, are seen
                               late by so much on average: a busy host */
    double wrong; /* part of the records: the host saw start and end at once, at
                   * the time of one of them */
};

struct clock {
    double offset_us, drift, wander, step_us, step_at_us, length_us;
};

static struct clock clocks[NODES];

static double shown(const struct clock *c, double t)
{
    return BEGIN_US + t + c->offset_us + c->drift * t +
           c->wander * t * t / c->length_us / 2 +
           (t >= c->step_at_us ? c->step_us : 0);
}

struct made {
    struct timeline *timelines[NODES * 8];
    size_t n;
    double shortest_us, length_us;
};

static void record_one(struct made *made, const struct run *run, size_t i,
                       const char *id, uint32_t n_ranks, uint32_t rank,
                       uint64_t sn, double start, double end)
{
    const struct clock *c = &clocks[i / run->per_node];
    char host[16];
    struct record r = {
        .id = {id, strlen(id)},
        .func = {"AllReduce", 9},
        .pid = (int64_t) i + 100,
        .sn = sn,
        .bytes = 4096,
        .n_ranks = n_ranks,
        .nnodes = 2,
        .rank = rank,
        .has_sn = true,
    };

    if (uniform() < run->loss)
        return;
    if (run->wrong > 0 && uniform() < run->wrong) {
        if (uniform() < 0.5)
            start = end - 1;
        else
            end = start + 1;
    }
    if (run->blind > 0 && uniform() < run->blind)
        start -= log(1 - uniform()) * run->blind_us;
    if (run->blind > 0 && uniform() < run->blind)
        end -= log(1 - uniform()) * run->blind_us;
    snprintf(host, sizeof(host), "n%03u", (unsigned) (i / run->per_node));
    r.host = (struct record_text){host, strlen(host)};
    r.start_us = (uint64_t) (shown(c, start) + run->noise_us * normal());
    r.end_us = (uint64_t) (shown(c, end) + run->noise_us * fabs(normal()));
    r.end_us = r.end_us > r.start_us ? r.end_us : r.start_us + 1;
    r.exec_us = r.end_us - r.start_us;
    assert_int_equal(timeline_add(made->timelines[i], &r), 0);
}

/* One operation of ranks first to last - 1. It ends for all ranks when the last
 * one has come, plus its own time; then each rank computes. */
static void operate(struct made *made, const struct run *run, double *at,
                    size_t first, size_t last, const char *id, uint64_t sn,
                    double net)
{
    double come = 0;

    for (size_t i = first; i < last; i++)
        come = fmax(come, at[i]);
    for (size_t i = first; i < last; i++) {
        /* ranks leave one after the other, always in the same order */
        double end = come + net * (1 + 0.03 * (double) (i - first) /
                                           (double) (last - first));
        double own = net * run->compute * (0.7 + 0.6 * uniform());

        record_one(made, run, i, id, (uint32_t) (last - first),
                   (uint32_t) (i - first), sn, at[i], end);
        if (i / run->per_node == run->nodes - 1)
            own += run->late * net;
        at[i] = end + own;
    }
}

static void simulate(const struct run *run, struct made *made)
{
    size_t n = (size_t) run->nodes * run->per_node;
    double at[NODES * 8] = {0}, end_us = run->seconds * 1e6;
    uint64_t sn[NODES] = {0};

    memset(made, 0, sizeof(*made));
    made->n = n;
    made->length_us = end_us;
    made->shortest_us = run->net_us[0];
    for (uint32_t i = 0; i < run->nodes; i++)
        clocks[i] = (struct clock){
            .offset_us = i ? 2e6 * (uniform() - 0.5) * run->offset_s : 0,
            .drift = i ? 2e-6 * (uniform() - 0.5) * run->drift_ppm : 0,
            .wander = i ? 1e-6 * run->wander_ppm : 0,
            .step_us = i == 1 ? run->step_s * 1e6 : 0,
            .step_at_us = end_us / 2,
            .length_us = end_us};
    for (size_t i = 0; i < n; i++) {
        made->timelines[i] = timeline_create(TIMELINE_EVENTS, 0);
        assert_non_null(made->timelines[i]);
    }
    for (unsigned k = 0; at[0] < end_us; k++) {
        unsigned of = 1;

        while (of < 3 && run->net_us[of] > 0)
            of++;
        for (uint32_t node = 0; node < run->nodes; node++) {
            char id[RECORD_MAX_ID + 1];
            size_t first = run->pairs_only ? node * run->per_node : 0,
                   last = run->pairs_only ? first + 2 * run->per_node : n;

            if (last > n || (!run->pairs_only && node))
                break;
            snprintf(id, sizeof(id), "0x%u", node + 1);
            operate(made, run, at, first, last, id, sn[node]++,
                    run->net_us[k % of]);
        }
    }
}

static void forget(struct made *made)
{
    for (size_t i = 0; i < made->n; i++)
        timeline_destroy(made->timelines[i]);
}

struct errors {
    double worst_us, drift_ppm;
    bool within; /* the map's own uncertainty */
};

static struct errors compare(const struct run *run, const struct made *made,
                             const struct clockmap *map)
{
    struct errors e = {.within = true};
    const struct clock *ref = &clocks[map->reference];

    for (uint32_t i = 0; i < run->nodes; i++) {
        const struct clockmap_node *node = &map->nodes[i];
        double at[2] = {0};

        assert_true(node->aligned);
        for (int k = 0; k <= 20; k++) {
            double t = made->length_us * (0.02 + 0.96 * k / 20);
            double own = shown(&clocks[i], t), truth = own - shown(ref, t);
            int64_t ns = (int64_t) (own * 1000);
            double error = (double) clockmap_offset_ns(node, ns) / 1000 - truth;

            if (getenv("CLOCKS_VERBOSE") && k % 10 == 0)
                printf("# node %u at %3d %%: %.2f us, said %.2f\n", i, k * 5,
                       error, clockmap_unc_ns(node, ns) / 1000);
            e.worst_us = fmax(e.worst_us, fabs(error));
            /* a quarter us: the test's own arithmetic in doubles */
            if (fabs(error) > clockmap_unc_ns(node, ns) / 1000 + 0.25)
                e.within = false;
            at[k == 20] = k == 0 || k == 20 ? error : at[k == 20];
        }
        e.drift_ppm = fmax(e.drift_ppm, fabs(at[1] - at[0]) /
                                            (0.96 * made->length_us) * 1e6);
    }
    return e;
}

static const struct {
    const char *what;
    struct run run;
    double error_us, drift_ppm;
} rows[] = {
    {"25 us, 120 us and 2.4 ms",
     {2, 1, 4, {25, 120, 2400}, 1, 0, 2, 3.14, 12.5, .loss = 0},
     2,
     1},
    {"25 us only", {2, 1, 4, {25}, 10, 0, 2, 3.14, 12.5, .loss = 0}, 2, 0.5},
    {"2.4 ms only", {2, 1, 4, {2400}, 4, 0, 2, 3.14, 12.5, .loss = 0}, 100, 10},
    {"120 us, whole us",
     {2, 1, 4, {120}, 4, 0, 0, 3.14, 12.5, .loss = 0},
     5,
     0.5},
    /* 3 % of the lateness of 90 and of 900 us */
    {"120 us, always late",
     {2, 1, 4, {120}, 4, 0.75, 2, 3.14, 12.5, .loss = 0},
     5,
     1},
    {"2.4 ms, always late",
     {2, 1, 4, {2400}, 4, 0.375, 2, 3.14, 12.5, .loss = 0},
     75,
     10},
    {"8 nodes, 2 ranks each",
     {8, 2, 6, {60, 300}, 2, 0, 1, 10, 30, .loss = 0},
     5,
     1},
    {"8 nodes, one always late",
     {8, 2, 6, {60, 300}, 2, 2, 1, 10, 30, .loss = 0},
     15,
     3},
    {"only neighbours meet",
     {8, 1, 4, {60, 300}, 2, 0, 1, 10, 30, .loss = 0},
     20,
     5},
    {"24 nodes", {24, 1, 3, {100}, 3, 0, 1, 0.3, 30, .loss = 0}, 15, 5},
    {"minutes, drift of 1 ppm a minute",
     {3, 1, 60, {400}, 50, 0, 1, 0.5, 20, .wander_ppm = 2},
     30,
     1},
    {"a third of the records",
     {4, 2, 4, {60, 300}, 2, 0, 1, 10, 30, .loss = 0.67},
     5,
     2},
};

/* As above, with wrong bounds: the right ones still overlap. */
static const struct {
    const char *what;
    struct run run;
    double error_us, drift_ppm;
} wrong_rows[] = {
    {"1 in 100 is wrong",
     {2, 1, 12, {25, 120, 2400}, 1, 0, 2, 3.14, 12.5, .wrong = 0.01},
     2,
     0.5},
    {"1 in 200, in 8 nodes",
     {8, 2, 12, {60, 300}, 2, 0, 1, 10, 30, .wrong = 0.005},
     5,
     1},
    {"1 in 100, and one always late",
     {2, 1, 12, {120}, 4, 0.75, 2, 3.14, 12.5, .wrong = 0.01},
     5,
     1},
};

static void finds_the_clocks(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct run run = rows[i].run;
        struct clocks_check before, after;
        struct clockmap map;
        struct made made;
        struct errors e;

        run.pairs_only = strstr(rows[i].what, "neighbours") != NULL;
        seed = 100 + i;
        simulate(&run, &made);
        assert_int_equal(clocks_align(made.timelines, made.n, &map, NULL), 0);
        assert_int_equal(map.method, CLOCKMAP_COLLECTIVES);
        assert_int_equal(map.n_nodes, run.nodes);
        e = compare(&run, &made, &map);
        assert_int_equal(
            clockwalk_check(made.timelines, made.n, NULL, &before, NULL), 0);
        assert_int_equal(
            clockwalk_check(made.timelines, made.n, &map, &after, NULL), 0);
        printf("# %-34s error %6.2f us, drift %5.2f ppm; %ju operations, "
               "%ju violations, %ju after%s\n",
               rows[i].what, e.worst_us, e.drift_ppm,
               (uintmax_t) before.operations, (uintmax_t) before.violations,
               (uintmax_t) after.violations,
               e.within ? "" : ", OVER ITS UNCERTAINTY");
        assert_true(e.worst_us <= rows[i].error_us);
        assert_true(e.drift_ppm <= rows[i].drift_ppm);
        assert_true(e.within);
        assert_true(before.violations > before.operations / 2);
        assert_int_equal(after.violations, 0);
        assert_int_equal(after.operations, before.operations);
        clockmap_fini(&map);
        forget(&made);
    }
}

static void bears_wrong_bounds(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(wrong_rows) / sizeof(*wrong_rows); i++) {
        struct clocks_check before, after;
        struct clockmap map;
        struct made made;
        struct errors e;

        seed = 300 + i;
        simulate(&wrong_rows[i].run, &made);
        assert_int_equal(clocks_align(made.timelines, made.n, &map, &before),
                         0);
        assert_int_equal(map.method, CLOCKMAP_COLLECTIVES);
        e = compare(&wrong_rows[i].run, &made, &map);
        assert_int_equal(
            clockwalk_check(made.timelines, made.n, &map, &after, NULL), 0);
        printf("# %-34s error %6.2f us, drift %5.2f ppm; %ju operations, %ju "
               "bounds left out, %ju violations after%s\n",
               wrong_rows[i].what, e.worst_us, e.drift_ppm,
               (uintmax_t) before.operations, (uintmax_t) before.left_out,
               (uintmax_t) after.violations,
               e.within ? "" : ", OVER ITS UNCERTAINTY");
        assert_true(e.worst_us <= wrong_rows[i].error_us);
        assert_true(e.drift_ppm <= wrong_rows[i].drift_ppm);
        assert_true(e.within);
        assert_true(before.left_out > 0);
        assert_true(after.violations < before.operations / 10);
        clockmap_fini(&map);
        forget(&made);
    }
}

/* New runs of many kinds: the map's uncertainty holds. */
static void says_how_sure(void **state)
{
    enum { RUNS = FEWER(120) };
    unsigned within = 0, violated = 0;

    (void) state;
    for (unsigned i = 0; i < RUNS; i++) {
        struct run run = {.nodes = 2, .per_node = 1, .seconds = 1.5};
        struct clocks_check after;
        struct clockmap map;
        struct made made;

        seed = 1000 + i;
        run.nodes += (uint32_t) (uniform() * 6);
        run.per_node += (uint32_t) (uniform() * 2);
        run.net_us[0] = 20 + uniform() * 300;
        run.net_us[1] = i % 2 ? run.net_us[0] * (2 + 8 * uniform()) : 0;
        run.compute = 0.2 + uniform() * 10;
        run.late = i % 3 ? 0 : uniform() * 3;
        run.noise_us = uniform() * 3;
        run.offset_s = uniform() * 100;
        run.drift_ppm = uniform() * 50;
        simulate(&run, &made);
        assert_int_equal(clocks_align(made.timelines, made.n, &map, NULL), 0);
        within += compare(&run, &made, &map).within;
        assert_int_equal(
            clockwalk_check(made.timelines, made.n, &map, &after, NULL), 0);
        violated += after.violations > 0;
        clockmap_fini(&map);
        forget(&made);
    }
    printf("# %u of %d runs within their uncertainty, %u violated\n", within,
           RUNS, violated);
    /* of 120 */
    assert_true(RUNS - within <= 6);
    assert_true(violated <= 2);
}

/* Hosts that see many starts and ends late, as busy ones do: many operations do
 * not overlap, whatever the clocks are. The uncertainty holds, and the report
 * mentions it. */
static void busy_hosts(void **state)
{
    enum { RUNS = 60 };
    unsigned far = 0, torn = 0, said = 0;

    (void) state;
    for (unsigned i = 0; i < RUNS; i++) {
        struct run run = {.nodes = 2, .per_node = 2, .seconds = 16};
        struct jp_clocks *made_of;
        char text[CLOCKS_TEXT];
        struct made made;

        seed = 5000 + i;
        run.nodes += (uint32_t) (uniform() * 4);
        run.net_us[0] = 500 + uniform() * 1000;
        run.compute = 20 + uniform() * 200;
        run.late = i % 3 ? 0 : 10;
        run.noise_us = 1;
        run.offset_s = 0.25;
        run.drift_ppm = 10;
        run.blind = 0.01 + 0.2 * uniform() * uniform();
        run.blind_us = i % 2 ? 2000 : 10000;
        simulate(&run, &made);
        made_of = clocks_make(made.timelines, made.n, NULL);
        assert_non_null(made_of);
        torn += made_of->after.violations * 20 > made_of->after.operations;
        for (uint32_t k = 0; k < run.nodes; k++) {
            double at = made.length_us / 2, own = shown(&clocks[k], at);
            const struct clockmap_node *node = &made_of->map.nodes[k];
            double truth = own - shown(&clocks[made_of->map.reference], at);
            double found =
                (double) clockmap_offset_ns(node, (int64_t) own * 1000) / 1000;
            double unc = clockmap_unc_ns(node, (int64_t) own * 1000) / 1000;

            if (!node->aligned)
                continue;
            if (fabs(found - truth) > CLOCKMAP_SURE * unc + 1)
                far++;
            if (getenv("CLOCKS_VERBOSE"))
                printf("# %u: %.0f us off, said %.0f, blind %.2f x %.0f\n", i,
                       found - truth, unc, run.blind, run.blind_us);
        }
        if (made_of->widened_us > 0) {
            said++;
            assert_non_null(strstr(clocks_text(made_of, text), "uncertain"));
        }
        clocks_destroy(made_of);
        forget(&made);
    }
    printf(
        "# %u of %d runs torn, %u said so, %u nodes beyond three times what is "
        "said\n",
        torn, RUNS, said, far);
    assert_true(torn > RUNS / 4 && said > RUNS / 8);
    assert_true(far <= RUNS / 20);
}

/* A clock is set by 5 s in the middle of the run: both parts are aligned, and
 * the window between them has no line. */
static void clock_is_set(void **state)
{
    struct run run = {2, 1, 24, {200}, 20, 0, 1, 1, 10, .step_s = -5};
    struct clocks_check before, after;
    struct clockmap map;
    struct made made;

    (void) state;
    seed = 7;
    simulate(&run, &made);
    assert_int_equal(clocks_align(made.timelines, made.n, &map, NULL), 0);
    for (int k = 0; k <= 20; k++) {
        double t = made.length_us * k / 20, own = shown(&clocks[1], t);
        double error =
            (double) clockmap_offset_ns(&map.nodes[1], (int64_t) own * 1000) /
                1000 -
            (own - shown(&clocks[0], t));

        if (getenv("CLOCKS_VERBOSE"))
            printf("# at %d: %.1f\n", k, error);
        /* in these 5 s it shows the same times again */
        if (k < 10 || k > 14)
            assert_true(fabs(error) < 50);
    }
    assert_int_equal(
        clockwalk_check(made.timelines, made.n, NULL, &before, NULL), 0);
    assert_int_equal(
        clockwalk_check(made.timelines, made.n, &map, &after, NULL), 0);
    assert_true(after.violations < before.violations / 3);
    clockmap_fini(&map);
    forget(&made);
}

/* Two pairs of nodes that never meet: nodes without a tie to the reference are
 * marked and keep their times. */
static void apart(void **state)
{
    struct run run = {4, 1, 1, {100}, 3, 0, 1, 1, 10, .pairs_only = true};
    struct timeline *without[4];
    struct clockmap map;
    struct made made;
    size_t aligned = 0;

    (void) state;
    seed = 3;
    simulate(&run, &made);
    without[0] = made.timelines[0];
    without[1] = made.timelines[1];
    without[2] = NULL;
    without[3] = made.timelines[3];
    assert_int_equal(clocks_align(without, 4, &map, NULL), 0);
    assert_int_equal(map.n_nodes, 3);
    for (size_t i = 0; i < 3; i++)
        aligned += map.nodes[i].aligned;
    assert_int_equal(aligned, 2);
    assert_false(map.nodes[2].aligned);
    assert_true(isinf(clockmap_unc_ns(&map.nodes[2], 5)));
    assert_int_equal(clockmap_us(&map.nodes[2], 12345), 12345);
    clockmap_fini(&map);
    forget(&made);
}

static void nothing_to_align(void **state)
{
    struct run run = {1, 4, 0.2, {100}, 3, 0, 1, 1, 10, .loss = 0};
    struct clocks_check check;
    struct clockmap map;
    struct made made;

    (void) state;
    assert_int_equal(clocks_align(NULL, 0, &map, NULL), 0);
    assert_int_equal(map.method, CLOCKMAP_NONE);
    assert_int_equal(map.n_nodes, 0);
    clockmap_fini(&map);
    simulate(&run, &made);
    assert_int_equal(clocks_align(made.timelines, made.n, &map, NULL), 0);
    assert_int_equal(map.method, CLOCKMAP_ONE_NODE);
    assert_int_equal(
        clockwalk_check(made.timelines, made.n, &map, &check, NULL), 0);
    assert_int_equal(check.operations, 0);
    clockmap_fini(&map);
    forget(&made);
}

/* Senseless times do not make it fail. */
static void senseless_times(void **state)
{
    static const uint64_t times[] = {0, 1, 1780000000000000ull, UINT64_MAX / 2,
                                     UINT64_MAX - 5};

    (void) state;
    for (unsigned i = 0; i < 400; i++) {
        struct timeline *timelines[3];
        struct clocks_check check;
        struct clockmap map;

        seed = i;
        for (int k = 0; k < 3; k++) {
            char host[] = {'h', (char) ('0' + k), 0};

            timelines[k] = timeline_create(1000, 0);
            assert_non_null(timelines[k]);
            for (unsigned sn = 0; sn < 40; sn++) {
                struct record r = {.id = {"0x1", 3},
                                   .func = {"AllReduce", 9},
                                   .host = {host, 2},
                                   .pid = k,
                                   .sn = sn,
                                   .n_ranks = 3,
                                   .rank = (uint32_t) k,
                                   .has_sn = true};

                r.start_us = times[(unsigned) (uniform() * 5)] +
                             (uint64_t) (uniform() * 1000);
                r.end_us = r.start_us + (uint64_t) (uniform() * 1000);
                r.exec_us = (uint64_t) (uniform() * 1000);
                if (uniform() < 0.1)
                    r.exec_us = RECORD_MAX_TIME_US;
                assert_int_equal(timeline_add(timelines[k], &r), 0);
            }
        }
        assert_int_equal(clocks_align(timelines, 3, &map, NULL), 0);
        assert_int_equal(clockwalk_check(timelines, 3, &map, &check, NULL), 0);
        for (size_t k = 0; k < map.n_nodes; k++)
            for (int t = 0; t < 5; t++)
                clockmap_us(&map.nodes[k], times[t]);
        clockmap_fini(&map);
        for (int k = 0; k < 3; k++)
            timeline_destroy(timelines[k]);
    }
}

/* Messages and Broadcasts between nodes have starts and ends, too, but show no
 * offset. So the sentence must not say that there is no operation. */
static void nothing_to_compare(void **state)
{
    struct jp_clocks unknown = {.map = {.method = CLOCKMAP_NONE, .n_nodes = 2}};
    char text[CLOCKS_TEXT];

    (void) state;
    assert_non_null(strstr(clocks_text(&unknown, text),
                           "no collective in which ranks of several nodes wait "
                           "for each other has a start and an end"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_clocks),
        cmocka_unit_test(bears_wrong_bounds),
        cmocka_unit_test(says_how_sure),
        cmocka_unit_test(busy_hosts),
        cmocka_unit_test(clock_is_set),
        cmocka_unit_test(apart),
        cmocka_unit_test(nothing_to_align),
        cmocka_unit_test(senseless_times),
        cmocka_unit_test(nothing_to_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
