/* test_late_parts.c - ranks that are late in parts of the run, in operations
 * made by hand. */
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

/* One communicator of RANKS ranks, two a node; OPS AllReduce. */
static struct made {
    struct jp_result result;
    struct jp_comm comms[1];
    struct jp_rank ranks[RANKS];
    float slices[RANKS * JP_SLICES];
    char hosts[RANKS][8];
    char *coll[1];
    double late_us[OPS][RANKS]; /* more than a few us */
} m;

static unsigned ops; /* AllReduce, of OPS */

static int set_up(void **state)
{
    static char coll[] = "AllReduce";

    (void) state;
    memset(&m, 0, sizeof(m));
    ops = OPS;
    m.coll[0] = coll;
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
                                  .n_coll_names = 1,
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

/* Returns the number of findings of the job; *f: the first one. */
static size_t find(struct jp_finding *f)
{
    struct simjob_random random = {77};
    struct jp_insight *x;
    size_t n;

    m.result.ops = ops_create();
    assert_non_null(m.result.ops);
    m.result.n_ops = ops;
    for (unsigned i = 0; i < ops; i++) {
        for (unsigned r = 0; r < RANKS; r++)
            m.late_us[i][r] += 20 * random_unit(&random);
        add_op(i, 0, m.late_us[i]);
    }
    m.comms[0].ops = m.comms[0].ops_complete = ops;
    m.result.quality.records = RANKS * ops;
    m.result.quality.coll_records = m.result.quality.records;
    m.result.quality.expected = m.result.quality.records;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].records = m.ranks[r].timed_ops = ops;
    assert_int_equal(ops_end(m.result.ops), 0);
    x = insight_run(NULL, NULL, &m.result, NULL);
    assert_non_null(x);
    n = x->findings.n;
    if (n)
        *f = x->findings.at[0];
    insight_destroy(x);
    return n;
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
    const struct CMUnitTest tests[] = {TEST(test_onset), TEST(test_early),
                                       TEST(test_comes), TEST(test_few),
                                       TEST(test_too_few)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
