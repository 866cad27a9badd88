/* test_stalls.c - ranks that stall, or are late at times, in operations made by
 * hand. */
#include "orchestrator/insight/insight.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"
#include "tests/insight/simjob_random.h"

#define RANKS 16
#define OPS 400
#define NET_US 500

/* One communicator of RANKS ranks, two a node; OPS AllReduce, and a step's
 * AllGather. */
static struct made {
    struct jp_result result;
    struct jp_comm comms[2]; /* the second: of an attempt before */
    struct jp_rank ranks[2 * RANKS];
    struct jp_recorded recorded[2 * RANKS];
    float slices[RANKS * JP_SLICES];
    char hosts[RANKS][8];
    char *coll[2];
    double late_us[OPS][RANKS]; /* more than a few us */
    double gather_us[OPS];      /* how late rank 5 comes to an AllGather */
} m;

static unsigned ops, steps; /* AllReduce, of OPS; AllGather */
static unsigned roots;      /* operations in whose place one rank waits */

static int set_up(void **state)
{
    static char coll[] = "AllReduce", gather[] = "AllGather";

    (void) state;
    memset(&m, 0, sizeof(m));
    ops = OPS;
    steps = roots = 0;
    m.coll[0] = coll;
    m.coll[1] = gather;
    m.comms[0] = (struct jp_comm){.id = "0x1",
                                  .name = coll,
                                  .n_ranks = RANKS,
                                  .nnodes = RANKS / 2,
                                  .type = JP_COMM_MIXED,
                                  .n_hosts = RANKS / 2,
                                  .ranks_seen = RANKS,
                                  .ops = OPS,
                                  .ops_complete = OPS};
    m.result = (struct jp_result){.coll_names = m.coll,
                                  .n_coll_names = 2,
                                  .comms = m.comms,
                                  .n_comms = 1,
                                  .ranks = m.ranks,
                                  .n_ranks = RANKS,
                                  .slices = m.slices};
    m.result.quality = (struct jp_quality){.records = RANKS * OPS,
                                           .coll_records = RANKS * OPS,
                                           .expected = RANKS * OPS,
                                           .expected_kind = JP_EXPECT_BOUND,
                                           .ranks_seen = RANKS,
                                           .ranks_expected = RANKS};
    for (unsigned r = 0; r < RANKS; r++) {
        snprintf(m.hosts[r], sizeof(m.hosts[r]), "n%02u", r / 2);
        m.ranks[r] = (struct jp_rank){.rank = r,
                                      .host = m.hosts[r],
                                      .pid = 100 + r,
                                      .records = OPS,
                                      .timed_ops = OPS,
                                      .slice_us = m.slices + r * JP_SLICES};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    ops_destroy(m.result.ops);
    return 0;
}

/* An operation to which each rank comes late by its entry. */
static void add_op(unsigned i, uint32_t coll, const double late[RANKS])
{
    struct jp_op op = {.coll = coll,
                       .sn = i,
                       .bytes = 1 << 20,
                       .n = RANKS,
                       .n_exec = RANKS,
                       .exec_min_us = UINT64_MAX,
                       .exec_second_us = UINT64_MAX,
                       .dump_min_us = 1000000 + i * 10000,
                       .dump_max_us = 1000000 + i * 10000};
    double last = 0;

    for (unsigned r = 0; r < RANKS; r++)
        last = fmax(last, late[r]);
    for (unsigned r = 0; r < RANKS; r++) {
        uint64_t us = (uint64_t) (NET_US + last - late[r]);

        op.exec_sum_us += us;
        op.exec_max_us = us > op.exec_max_us ? us : op.exec_max_us;
        m.ranks[r].exec_us += us;
        m.ranks[r].wait_us += us > NET_US ? us - NET_US : 0;
        m.slices[r * JP_SLICES + i * JP_SLICES / ops] += (float) us;
        if (us < op.exec_min_us) {
            op.exec_second_us = op.exec_min_us;
            op.exec_min_us = us;
            op.min_rank = r;
        } else if (us < op.exec_second_us) {
            op.exec_second_us = us;
        }
    }
    assert_int_equal(ops_add(m.result.ops, &op), 0);
}

/* A Reduce whose root waits 20 ms for another rank; no other rank waits. */
static void add_reduce(unsigned i)
{
    struct jp_op op = {.coll = 1,
                       .sn = i,
                       .bytes = 1 << 20,
                       .n = RANKS,
                       .n_exec = RANKS,
                       .min_rank = UINT32_MAX,
                       .exec_min_us = NET_US,
                       .exec_second_us = NET_US,
                       .exec_max_us = NET_US + 20000,
                       .exec_sum_us = RANKS * NET_US + 20000,
                       .dump_min_us = 1000000 + i * 10000,
                       .dump_max_us = 1000000 + i * 10000};

    assert_int_equal(ops_add(m.result.ops, &op), 0);
}

/* Returns the number of findings of the job; *f: the first one. */
static size_t find(struct jp_finding *f)
{
    struct simjob_random random = {77};
    struct jp_insight *x;
    size_t n;

    m.result.ops = ops_create();
    assert_non_null(m.result.ops);
    m.result.n_ops = ops + steps + roots;
    for (unsigned i = 0; i < ops; i++) {
        for (unsigned r = 0; r < RANKS; r++)
            m.late_us[i][r] += 20 * random_unit(&random);
        add_op(i, 0, m.late_us[i]);
    }
    for (unsigned i = 0; i < steps; i++) {
        double late[RANKS] = {0};

        late[i % RANKS] = 20;
        late[5] += m.gather_us[i];
        add_op(i, 1, late);
    }
    for (unsigned i = 0; i < roots; i++)
        add_reduce(i);
    m.comms[0].ops = m.comms[0].ops_complete = ops + steps;
    m.result.quality.records = RANKS * (ops + steps);
    m.result.quality.coll_records = m.result.quality.records;
    m.result.quality.expected = m.result.quality.records;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].records = m.ranks[r].timed_ops = ops + steps;
    assert_int_equal(ops_end(m.result.ops), 0);
    x = insight_run(NULL, NULL, &m.result, NULL);
    assert_non_null(x);
    assert_true(x->stalls.judged);
    n = x->findings.n;
    if (n)
        *f = x->findings.at[0];
    insight_destroy(x);
    return n;
}

/* Rare and large, at no regular distance. */
static void test_rare(void **state)
{
    static const unsigned at[] = {31, 67, 150, 171, 260, 333, 390};
    struct jp_finding f;

    (void) state;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        m.late_us[at[i]][5] += 20000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 5);
    assert_int_equal(f.pid, 105);
    assert_true(f.share > 0.3 && f.share < 0.5);
    assert_true(f.cost_us > 0.95 * 7 * 20000 * 15 &&
                f.cost_us < 1.05 * 7 * 20000 * 15);
    assert_true(f.from_us == 1000000 + 31 * 10000);
    assert_true(f.to_us == 1000000 + 390 * 10000);
    assert_non_null(strstr(f.text, "stalled 7 times, for 20.0 ms"));
    assert_int_equal(finding_verdict(&f), JP_VERDICT_SLOW); /* 3.5 % */
    assert_non_null(strstr(f.text, "at irregular intervals"));
}

/* The rank stops before operations of two functions: the number, the lengths
 * and the cost are of the same stalls. Two operations in a row are one. */
static void test_two_functions(void **state)
{
    static const unsigned at[] = {31, 67, 150, 171, 260, 333, 390};
    struct jp_finding f;

    (void) state;
    steps = 40;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        m.late_us[at[i]][5] += 2000;
    m.gather_us[9] = 90000;
    m.gather_us[20] = 50000;
    m.gather_us[21] = 40000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 5);
    assert_int_equal(f.times, 9);
    assert_non_null(strstr(f.text, "stalled 9 times, for 1.99 ms (at most "
                                   "90.0 ms)"));
    assert_true(f.cost_us > 0.95 * (7 * 2000 + 180000) * 15 &&
                f.cost_us < 1.05 * (7 * 2000 + 180000) * 15);
}

/* Makes an attempt before this one, of which only the processes are known. */
static void add_attempt(void)
{
    m.comms[1] = m.comms[0];
    snprintf(m.comms[1].id, sizeof(m.comms[1].id), "0x2");
    m.comms[1].ops = m.comms[1].ops_complete = 0;
    m.result.n_comms = 2;
    m.result.n_ranks = 2 * RANKS;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[RANKS + r] = (struct jp_rank){.comm = 1,
                                              .rank = r,
                                              .host = m.hosts[r],
                                              .pid = 50 + r,
                                              .slice_us = m.slices};
    for (unsigned i = 0; i < 2 * RANKS; i++) { /* by host and pid */
        unsigned now = i / 2 % 2, r = i / 4 * 2 + i % 2;

        m.recorded[i] = (struct jp_recorded){.host = m.hosts[r],
                                             .pid = (now ? 100 : 50) + r};
        m.recorded[i].launched.restarts = now;
    }
    m.result.recorded = m.recorded;
    m.result.n_recorded = 2 * RANKS;
}

/* The job had as many GPUs in both attempts. */
static void test_attempts(void **state)
{
    static const unsigned at[] = {31, 67, 150, 171, 260, 333, 390};
    struct jp_finding f;

    (void) state;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        m.late_us[at[i]][5] += 20000;
    add_attempt();
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 5);
    assert_true(fabs(f.of_run - f.cost_us / (399 * 10000.0 * RANKS)) < 0.001);
}

/* The root of Reduce waits for a rank that the others do not wait for, and
 * comes late to the next operation. */
static void test_root(void **state)
{
    static const unsigned at[] = {31, 67, 150, 171, 260, 333, 390};
    static char reduce[] = "Reduce";
    struct jp_finding f;

    (void) state;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        m.late_us[at[i]][5] += 20000;
    m.coll[1] = reduce;
    roots = sizeof(at) / sizeof(*at);
    assert_int_equal(find(&f), 0);
}

/* ... but too few waits of this kind do not explain it. */
static void test_few_roots(void **state)
{
    static const unsigned at[] = {31, 67, 150, 171, 260, 333, 390};
    static char reduce[] = "Reduce";
    struct jp_finding f;

    (void) state;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        m.late_us[at[i]][5] += 20000;
    m.coll[1] = reduce;
    roots = 2;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 5);
}

/* A checkpoint: every 120 operations, and one of them is missing. */
static void test_regular(void **state)
{
    struct jp_finding f;

    (void) state;
    for (unsigned i = 10; i < OPS; i += 90)
        m.late_us[i][0] += 250000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 0);
    assert_non_null(strstr(f.text, "every 90 operations (900 ms)"));
}

/* The first of eight operations of each step: a rank that is a little slower
 * all along, not one that stops. */
static void test_each_step(void **state)
{
    struct jp_finding f;

    (void) state;
    for (unsigned i = 8; i < OPS; i += 8)
        m.late_us[i][3] = 2000;
    assert_true(!find(&f) || f.kind != JP_FINDING_STALL);
}

/* All ranks stop as often, by turns or together: none is named. */
static void test_nobody(void **state)
{
    struct simjob_random random = {78};
    struct jp_finding f;

    (void) state;
    for (unsigned i = 10; i < OPS; i += 9)
        m.late_us[i][random_below(&random, RANKS)] += 20000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_TURNS);
    assert_int_equal(f.rank, -1);
}

static void test_together(void **state)
{
    struct simjob_random random = {79};
    struct jp_finding f;

    (void) state;
    for (unsigned i = 10; i < OPS; i += 40)
        for (unsigned r = 0; r < RANKS; r++)
            m.late_us[i][r] += 250000 + 12000 * random_normal(&random);
    assert_int_equal(find(&f), 0);
}

/* Three stalls, two, or a single one are reported if no other rank ever stops
 * for nearly as long; ranks differ by 20 us here. */
static void test_three(void **state)
{
    struct jp_finding f;

    (void) state;
    m.late_us[100][3] += 5000;
    m.late_us[170][3] += 5000;
    m.late_us[333][3] += 5000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 3);
    assert_true(fabs(f.by_us - 5000) < 50);
    assert_non_null(strstr(f.text, "stalled 3 times, for "));
    /* 0.4 % of the run, and of the computation */
    assert_int_equal(finding_verdict(&f), JP_VERDICT_OK);
}

static void test_two(void **state)
{
    struct jp_finding f;

    (void) state;
    m.late_us[100][3] += 20000;
    m.late_us[300][3] += 20000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 3);
    assert_non_null(strstr(f.text, "stalled 2 times, for 20.0 ms (at most"));
}

static void test_once(void **state)
{
    struct jp_finding f;

    (void) state;
    m.late_us[200][3] += 48000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 3);
    assert_true(f.from_us == 1000000 + 200 * 10000 && f.to_us == f.from_us);
    assert_non_null(strstr(f.text, "stalled once, for 48.0 ms, seen in "));
}

/* ... but not a single one that costs 1 % of communication. */
static void test_small(void **state)
{
    struct jp_finding f;

    (void) state;
    m.late_us[200][3] += 2000;
    assert_int_equal(find(&f), 0);
}

/* Another rank stopped for half as long: which one was last may be luck. */
static void test_alike(void **state)
{
    struct jp_finding f;

    (void) state;
    m.late_us[100][3] += 20000;
    m.late_us[300][3] += 20000;
    m.late_us[200][9] += 10000;
    assert_int_equal(find(&f), 0);
}

/* All ranks wait for samples at the first of ten operations of a step. One also
 * stops elsewhere, no longer than these waits. */
static void test_elsewhere(void **state)
{
    struct simjob_random random = {80};
    struct jp_finding f;

    (void) state;
    steps = 40;
    for (unsigned i = 10; i < OPS; i += 10)
        m.late_us[i][random_below(&random, RANKS)] +=
            4000 + 8000 * random_unit(&random);
    for (unsigned i = 0; i < 4; i++)
        m.late_us[101 + 70 * i + i][3] += 6000;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_STALL);
    assert_int_equal(f.rank, 3);
    assert_true(fabs(f.by_us - 6000) < 50);
    assert_non_null(strstr(f.text, "stalled 4 times, for "));
}

/* Late from some time on: this is reported, and is no stall. */
static void test_onset(void **state)
{
    struct jp_finding f;

    (void) state;
    for (unsigned i = 250; i < OPS; i++)
        m.late_us[i][7] += 300;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].caused_us = 150 * 300 * 15;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.rank, 7);
    assert_true(fabs(f.from_us - (1000000 + 250 * 10000)) < OPS * 10000 / 40);
    assert_non_null(strstr(f.text, "of the run on"));
}

/* The same from so early on that the run as a whole is late as well. Its cost
 * is known as well as the parts of the run resemble each other, before and
 * after. */
static void test_early(void **state)
{
    const double share = 290 * 300.0 / (OPS * NET_US + 290 * 300.0);
    struct jp_finding f;

    (void) state;
    for (unsigned i = 110; i < OPS; i++)
        m.late_us[i][7] += 300;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].caused_us = 290 * 300 * 15;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.rank, 7);
    assert_non_null(strstr(f.text, "of the run on"));
    assert_true(fabs(f.share - share) < 0.02);
    assert_true(f.low < share + 0.01 && f.high > share - 0.01);
    assert_true(f.high - f.low < 0.1 * f.share);
}

/* In three parts of the run. */
static void test_comes(void **state)
{
    struct jp_finding f;

    (void) state;
    for (unsigned i = 60; i < OPS; i++)
        if (i % 130 < 60)
            m.late_us[i][7] += 300;
    m.ranks[7].caused_us = 150 * 300 * 15;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.rank, 7);
    assert_non_null(strstr(f.text, "late on its own 3 times"));
}

/* Twenty operations with the same last rank are proof, five are too few. */
static void test_few(void **state)
{
    struct jp_finding f;

    (void) state;
    ops = 20;
    for (unsigned i = 0; i < ops; i++)
        m.late_us[i][7] += 300;
    m.ranks[7].caused_us = 20 * 300 * 15;
    assert_int_equal(find(&f), 1);
    assert_int_equal(f.kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.rank, 7);
}

static void test_too_few(void **state)
{
    struct jp_finding f;

    (void) state;
    ops = 5;
    for (unsigned i = 0; i < ops; i++)
        m.late_us[i][7] += 300;
    m.ranks[7].caused_us = 5 * 300 * 15;
    assert_int_equal(find(&f), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_two_functions), TEST(test_attempts),  TEST(test_rare),
        TEST(test_root),          TEST(test_few_roots), TEST(test_regular),
        TEST(test_each_step),     TEST(test_nobody),    TEST(test_together),
        TEST(test_three),         TEST(test_two),       TEST(test_once),
        TEST(test_small),         TEST(test_alike),     TEST(test_elsewhere),
        TEST(test_onset),         TEST(test_early),     TEST(test_comes),
        TEST(test_few),           TEST(test_too_few)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
