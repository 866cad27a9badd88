/* test_alltoall.c - AlltoAlls made of Send and Recv, as operations of all
 * ranks. */
#include "orchestrator/insight/alltoall.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/insight.h"
#include "tests/insight/simjob_random.h"

#define GROUPS 4
#define OF_GROUP 4
#define RANKS (GROUPS * OF_GROUP)
#define KERNELS 400

/* GROUPS communicators, each with one AlltoAll a step. */
static struct made {
    struct jp_result result;
    struct jp_comm comms[GROUPS];
    struct jp_rank ranks[RANKS];
    float slices[RANKS * JP_SLICES];
    uint32_t kernels[RANKS * KERNELS];
    char hosts[RANKS][8];
} m;

static struct jp_processes p;

static int set_up(void **state)
{
    static char name[] = "ep";

    (void) state;
    memset(&m, 0, sizeof(m));
    m.result = (struct jp_result){.comms = m.comms,
                                  .n_comms = GROUPS,
                                  .ranks = m.ranks,
                                  .n_ranks = RANKS,
                                  .slices = m.slices,
                                  .kernels = m.kernels};
    for (unsigned r = 0; r < RANKS; r++) {
        snprintf(m.hosts[r], sizeof(m.hosts[r]), "n%02u", r);
        m.ranks[r] = (struct jp_rank){.comm = r / OF_GROUP,
                                      .rank = r % OF_GROUP,
                                      .host = m.hosts[r],
                                      .pid = 100 + r,
                                      .slice_us = m.slices + r * JP_SLICES,
                                      .kernel_us = m.kernels + r * KERNELS,
                                      .n_kernels = KERNELS};
        m.comms[r / OF_GROUP] = (struct jp_comm){.id = "0x1",
                                                 .name = name,
                                                 .n_ranks = OF_GROUP,
                                                 .nnodes = OF_GROUP,
                                                 .ranks_seen = OF_GROUP};
        for (unsigned k = 0; k < KERNELS; k++)
            m.kernels[r * KERNELS + k] = 500 + r;
    }
    return processes_init_nodes(&p, &m.result, NULL);
}

static int tear_down(void **state)
{
    (void) state;
    processes_fini(&p);
    return 0;
}

static void adds_up(void **state)
{
    struct jp_op op;

    (void) state;
    assert_int_equal(alltoall_count(&m.result, &p, 1), KERNELS);
    m.kernels[6 * KERNELS + 3] = 20;
    assert_true(alltoall_get(&m.result, &p, 1, 3, &op));
    assert_int_equal(op.comm, 1);
    assert_int_equal(op.sn, 3);
    assert_int_equal(op.n, OF_GROUP);
    assert_int_equal(op.n_exec, OF_GROUP);
    assert_int_equal(op.min_rank, 2);
    assert_int_equal(op.exec_min_us, 20);
    assert_int_equal(op.exec_second_us, 504);
    assert_int_equal(op.exec_max_us, 507);
    assert_int_equal(op.exec_sum_us, 20 + 504 + 505 + 507);
    /* two ranks come last together: neither is the last one */
    m.kernels[4 * KERNELS + 3] = 20;
    assert_true(alltoall_get(&m.result, &p, 1, 3, &op));
    assert_int_equal(op.min_rank, UINT32_MAX);
    assert_false(alltoall_get(&m.result, &p, 1, KERNELS, &op));
}

static void lacks_messages(void **state)
{
    struct jp_op op;

    (void) state;
    m.kernels[5 * KERNELS + 7] = JP_NO_KERNEL;
    assert_int_equal(alltoall_count(&m.result, &p, 1), KERNELS);
    assert_false(alltoall_get(&m.result, &p, 1, 7, &op));
    for (unsigned k = 0; k < KERNELS / 4; k++)
        m.kernels[5 * KERNELS + k] = JP_NO_KERNEL;
    assert_int_equal(alltoall_count(&m.result, &p, 1), 0);
    assert_int_equal(alltoall_count(&m.result, &p, 2), KERNELS);
    m.ranks[9].n_kernels = 0; /* a rank without */
    assert_int_equal(alltoall_count(&m.result, &p, 2), 0);
}

static void cuts_parts(void **state)
{
    double us[JP_SLICES];

    (void) state;
    alltoall_slices(&m.ranks[0], KERNELS, 0, us);
    for (unsigned s = 0; s < JP_SLICES; s++)
        assert_true(us[s] == 500 * KERNELS / JP_SLICES);
    /* one message is missing: the part is as long as the others */
    m.kernels[0] = JP_NO_KERNEL;
    alltoall_slices(&m.ranks[0], KERNELS, 0, us);
    assert_true(fabs(us[0] - 500 * KERNELS / JP_SLICES) < 1e-6);
    /* all of a part's */
    for (unsigned k = 0; k < KERNELS / JP_SLICES; k++)
        m.kernels[k] = JP_NO_KERNEL;
    alltoall_slices(&m.ranks[0], KERNELS, 0, us);
    assert_true(isnan(us[0]) && us[1] == 500 * KERNELS / JP_SLICES);
}

/* 50 steps of eight AlltoAll and three gradients: a part of the run, 2.5 steps,
 * has seven or eight of these, and the AlltoAll of the steps that begin. */
static void cuts_with_others(void **state)
{
    double us[JP_SLICES], all = 0;

    (void) state;
    alltoall_slices(&m.ranks[0], KERNELS, 150, us);
    for (unsigned s = 0; s < JP_SLICES; s++) {
        assert_true(us[s] == 500 * 8 * (s % 2 ? 2 : 3));
        all += us[s];
    }
    assert_true(all == 500 * KERNELS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(adds_up), TEST(lacks_messages),
                                       TEST(cuts_parts), TEST(cuts_with_others)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
