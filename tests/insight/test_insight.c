/* test_insight.c - the analyses on results made by hand, odd ones first. */
#include "orchestrator/insight/insight.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/reasons.h"

#define RANKS 16
#define OPS 200

/* One communicator of RANKS ranks, two a node; OPS AllReduce of 100 us. */
struct made {
    struct jp_result result;
    struct jp_comm comm;
    struct jp_rank ranks[RANKS];
    float slices[RANKS * JP_SLICES];
    char hosts[RANKS][8];
    char *host_names[RANKS / 2];
    char *coll;
};

static struct made m;
static unsigned apart_us; /* its operations' ends */
static unsigned whole;    /* so many of its operations have all ranks */

/* us: the time of operation i of a communicator. */
static void make_ops(double (*us)(unsigned i))
{
    ops_destroy(m.result.ops);
    m.result.ops = ops_create();
    assert_non_null(m.result.ops);
    for (unsigned i = 0; i < OPS * m.result.n_comms; i++) {
        uint64_t net = (uint64_t) us(i % OPS);
        uint32_t n = m.result.comms[i / OPS].n_ranks - (i % OPS >= whole);
        const struct jp_op op = {.comm = i / OPS,
                                 .sn = i % OPS,
                                 .bytes = 1 << 20,
                                 .n = n,
                                 .n_exec = n,
                                 .n_busbw = n,
                                 .busbw_max_micro = (1 << 20) * 1000 / net,
                                 .exec_min_us = net,
                                 .exec_second_us = net,
                                 .exec_max_us = net,
                                 .exec_sum_us = net * n,
                                 .dump_min_us = 1000000 + i % OPS * apart_us,
                                 .dump_max_us = 1000000 + i % OPS * apart_us};

        assert_int_equal(ops_add(m.result.ops, &op), 0);
    }
    assert_int_equal(ops_end(m.result.ops), 0);
    m.result.n_ops = OPS * m.result.n_comms;
}

/* A little noise, so that errors are not 0. */
static double even(unsigned i)
{
    return 100 + i * 7 % 3;
}

static int set_up(void **state)
{
    (void) state;
    memset(&m, 0, sizeof(m));
    apart_us = 1000;
    whole = OPS;
    m.coll = strdup("AllReduce");
    m.comm = (struct jp_comm){.id = "0x1",
                              .name = m.coll,
                              .n_ranks = RANKS,
                              .nnodes = RANKS / 2,
                              .type = JP_COMM_MIXED,
                              .hosts = m.host_names,
                              .n_hosts = RANKS / 2,
                              .ranks_seen = RANKS,
                              .ops = OPS,
                              .ops_complete = OPS};
    for (unsigned r = 0; r < RANKS; r++) {
        snprintf(m.hosts[r], sizeof(m.hosts[r]), "n%02u", r / 2);
        m.host_names[r / 2] = m.hosts[r];
        m.ranks[r] = (struct jp_rank){.rank = r,
                                      .host = m.hosts[r],
                                      .pid = 100 + r,
                                      .records = OPS,
                                      .timed_ops = OPS,
                                      .exec_us = OPS * 200,
                                      .wait_us = OPS * 100,
                                      .caused_us = OPS * 100,
                                      .slice_us = m.slices + r * JP_SLICES};
        for (unsigned s = 0; s < JP_SLICES; s++)
            m.slices[r * JP_SLICES + s] = (float) (2000 + (r * 5 + s * 3) % 11);
    }
    m.result = (struct jp_result){.coll_names = &m.coll,
                                  .n_coll_names = 1,
                                  .comms = &m.comm,
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
    make_ops(even);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    ops_destroy(m.result.ops);
    free(m.coll);
    return 0;
}

/* Rank r spends this much more of each part of the run on its own. */
static void delay(unsigned r, float us)
{
    for (unsigned s = 0; s < JP_SLICES; s++)
        m.slices[r * JP_SLICES + s] -= us;
}

/* Returns the number of findings; *kind: the kind of the first one. */
static size_t find(enum jp_finding_kind *kind, struct jp_finding *first)
{
    struct jp_insight *x = insight_run(NULL, NULL, &m.result, NULL);
    size_t n;

    assert_non_null(x);
    n = x->findings.n;
    if (n) {
        *kind = x->findings.at[0].kind;
        *first = x->findings.at[0];
    }
    insight_destroy(x);
    return n;
}

static void test_nothing(void **state)
{
    struct jp_result none = {0};
    enum jp_finding_kind kind;
    struct jp_finding f;
    struct jp_insight *x;

    (void) state;
    insight_destroy(NULL);
    x = insight_run(NULL, NULL, NULL, NULL);
    assert_non_null(x);
    assert_int_equal(x->findings.n, 0);
    insight_destroy(x);
    none.ops = ops_create();
    assert_int_equal(ops_end(none.ops), 0);
    x = insight_run(NULL, NULL, &none, NULL);
    assert_non_null(x);
    assert_int_equal(x->findings.n, 0);
    for (int i = 0; i < JP_N_HYPOTHESES; i++) {
        const char *why =
            hypothesis_why(&x->hypotheses, (enum jp_hypothesis_id) i);

        assert_false(
            hypotheses_table[i].of_operations &&
            hypothesis_judged(&x->hypotheses, (enum jp_hypothesis_id) i));
        assert_true(!strcmp(why, "no record") ==
                    hypotheses_table[i].of_operations);
    }
    insight_destroy(x);
    ops_destroy(none.ops);
    assert_int_equal(find(&kind, &f), 0);
}

/* Each of these changes makes a late rank one that must not be named. */
static void no_slices(void)
{
    m.result.slices = NULL;
    m.result.quality.waits_unknown = true;
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].slice_us = NULL;
}

static void one_pid(void)
{
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].pid = 1;
}

/* Two processes on one GPU, of which only the host, one pid and the GPU are
 * known. */
static void one_gpu(void)
{
    one_pid();
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].device = 7;
}

static void a_rank_missing(void)
{
    m.result.n_ranks--;
}

static void two_runs(void)
{
    m.result.quality.shared_ranks = 1;
}

static void unknown_parts(void)
{
    for (unsigned s = 0; s < JP_SLICES - 9; s++)
        m.slices[7 * JP_SLICES + s] = NAN;
}

static void once_only(void)
{
    delay(5, -500);
    m.slices[5 * JP_SLICES + 3] = 0;
}

static void by_little(void)
{
    delay(5, -490); /* 10 us of 2,000 a part */
}

/* The same lateness in a run that is a hundred times as long. */
static void for_long(void)
{
    apart_us = 100000;
    make_ops(even);
}

static void never_last(void)
{
    m.ranks[5].caused_us = 0;
}

/* The operations of a simulation may take longer than the run by its clock. */
static void for_long_by_operations(void)
{
    for (unsigned r = 0; r < RANKS; r++)
        m.ranks[r].exec_us = UINT64_C(1000000) * OPS;
}

static void test_gates(void **state)
{
    static void (*const changes[])(void) = {
        no_slices, a_rank_missing, two_runs, unknown_parts,         once_only,
        by_little, never_last,     for_long, for_long_by_operations};
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        tear_down(NULL);
        set_up(NULL);
        delay(5, 500);
        assert_int_equal(find(&kind, &f), 1);
        changes[i]();
        if (find(&kind, &f))
            fail_msg("gate %zu: %s", i, f.text);
    }
}

/* Containers that count their processes from 1: each rank of the only
 * communicator is a process of its own. */
static void test_one_pid(void **state)
{
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    delay(5, 500);
    one_pid();
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.rank, 5);
}

static void no_change(void)
{
}

static void one_rank(void)
{
    m.comm.n_ranks = 1;
    m.comm.ranks_seen = 1;
    m.comm.n_hosts = 1;
    m.result.n_ranks = 1;
    m.result.quality.ranks_expected = 1;
}

static void one_recorded(void)
{
    m.result.n_ranks = 1;
    m.result.quality.ranks_seen = 1;
}

/* No part of the run has a time of any rank. */
static void no_parts(void)
{
    for (unsigned r = 0; r < RANKS; r++) {
        m.ranks[r].timed_ops = 0;
        for (unsigned s = 0; s < JP_SLICES; s++)
            m.slices[r * JP_SLICES + s] = NAN;
    }
}

static void no_times(void)
{
    m.result.quality.unsure_records = m.result.quality.records;
    no_parts();
}

/* times that contradict each other, or that were not written yet */
static void untimed(void)
{
    m.result.quality.untimed_records = m.result.quality.records;
    no_parts();
}

static void none_complete(void)
{
    m.comm.ops_complete = whole = 0;
    make_ops(even);
    no_parts();
}

static void absent(void)
{
    m.result.quality.short_comms = 1;
    no_parts();
}

static void apart(void)
{
    m.comm.n_ranks = 1;
    no_parts();
}

static void no_barriers(void)
{
    strcpy(m.coll, "Broadcast"); /* as long as AllReduce */
    none_complete();
}

static void messages(void)
{
    m.result.n_coll_names = 0;
    none_complete();
    m.result.n_ops = 0;
}

static void unequal_alltoalls(void)
{
    static uint32_t none[1];

    messages();
    m.result.kernels = none; /* no rank has one that is whole */
}

static void few(void)
{
    m.comm.ops_complete = whole = 3;
    make_ops(even);
    no_parts();
}

static void one_id(void)
{
    two_runs();
    m.result.quality.twin_recordings = 1;
}

static void unseen(void)
{
    struct jp_unseen *allreduce = &m.result.quality.unseen[0];

    strcpy(allreduce->func, "AllReduce");
    allreduce->calls = m.result.quality.records;
    m.result.quality.unseen_calls = m.result.quality.records;
    m.result.quality.n_unseen = 1;
}

/* Rank 0 begins each operation after the others have ended it. */
static void torn(void)
{
    m.result.quality.files = m.result.quality.kernel_traces = RANKS;
    ops_destroy(m.result.ops);
    m.result.ops = ops_create();
    assert_non_null(m.result.ops);
    for (unsigned i = 0; i < OPS; i++) {
        const struct jp_op op = {.sn = i,
                                 .n = RANKS,
                                 .n_exec = RANKS,
                                 .n_start = RANKS,
                                 .exec_min_us = 100,
                                 .exec_max_us = 100,
                                 .start_min_us = 1000000 + i * 1000,
                                 .start_max_us = 1000500 + i * 1000,
                                 .end_max_us = 1000600 + i * 1000};

        assert_int_equal(ops_add(m.result.ops, &op), 0);
    }
    assert_int_equal(ops_end(m.result.ops), 0);
}

/* Each part of the run differs by far more than the run is long. */
static void noise(void)
{
    for (unsigned r = 0; r < RANKS; r++)
        for (unsigned s = 0; s < JP_SLICES; s++)
            m.slices[r * JP_SLICES + s] =
                (float) (1e6 * ((r * 7919 + s * 104729) % 1009));
}

/* Each reason of UNJUDGED that an analysis gives, by records that produce it.
 * tests/report/test_verdict.c produces all other reasons. */
static void test_unjudged(void **state)
{
    static const struct {
        void (*change)(void);
        enum jp_reason reason; /* JP_REASONS: judged */
    } rows[] = {
        {no_change, JP_REASONS},
        {one_rank, JP_REASON_ONE_RANK},
        {one_recorded, JP_REASON_ONE_RECORDED},
        {no_slices, JP_REASON_WAITS_UNKNOWN},
        {one_gpu, JP_REASON_NO_PROCESSES},
        {no_times, JP_REASON_NO_TIMES},
        {untimed, JP_REASON_NO_TIMES},
        {noise, JP_REASON_BLIND},
        {none_complete, JP_REASON_NO_WAITS},
        {absent, JP_REASON_ABSENT},
        {apart, JP_REASON_APART},
        {no_barriers, JP_REASON_NO_BARRIERS},
        {messages, JP_REASON_MESSAGES},
        {unequal_alltoalls, JP_REASON_UNEQUAL_ALLTOALLS},
        {few, JP_REASON_FEW},
        {torn, JP_REASON_TORN},
        {two_runs, JP_REASON_SHARED_SO_FAR},
        {one_id, JP_REASON_TWINS_SO_FAR},
        {unseen, JP_REASON_UNSEEN_SO_FAR},
    };
    bool seen[JP_REASONS + 1] = {false};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_insight *x;
        const char *why;

        tear_down(NULL);
        set_up(NULL);
        rows[i].change();
        x = insight_run(NULL, NULL, &m.result, NULL);
        assert_non_null(x);
        why = hypothesis_why(&x->hypotheses, JP_HYPOTHESIS_LATE_RANK);
        if (reasons_find(why) != rows[i].reason ||
            hypothesis_judged(&x->hypotheses, JP_HYPOTHESIS_LATE_RANK) !=
                (rows[i].reason == JP_REASONS))
            fail_msg("row %zu: \"%s\"", i, why);
        if (rows[i].reason == JP_REASON_ONE_RANK)
            assert_string_equal(
                hypothesis_todo(&x->hypotheses, JP_HYPOTHESIS_LATE_RANK),
                "ranks are compared where there are several");
        seen[rows[i].reason] = true;
        insight_destroy(x);
    }
    for (int i = 0; i < JP_REASONS; i++)
        if (reasons_table[i].says && !seen[i])
            fail_msg("no records for %s", reasons_table[i].key);
}

static void test_late(void **state)
{
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    delay(5, 500);
    m.ranks[5].caused_us = m.ranks[9].caused_us = 0; /* they are never last */
    assert_int_equal(find(&kind, &f), 0);
    m.ranks[5].caused_us = 123456;
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_LATE_RANK);
    assert_int_equal(f.comm, 0);
    assert_int_equal(f.rank, 5);
    assert_int_equal(f.world_rank, 5);
    assert_int_equal(f.pid, 105);
    assert_string_equal(f.host, "n02");
    assert_true(fabs(f.share - 0.25) < 0.01);
    assert_true(f.cost_us == 123456);
    delay(4, 500); /* its mate, too: the node */
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_LATE_NODE);
    assert_string_equal(f.host, "n02");
    delay(9, 400); /* never the last one: nobody waits for it */
    assert_int_equal(find(&kind, &f), 1);
    for (unsigned r = 6; r < 16; r += 2) /* now too many for one cause */
        if (r != 8)
            delay(r, 450);
    delay(1, 450);
    assert_int_equal(find(&kind, &f), 2);
    assert_int_equal(kind, JP_FINDING_LATE_NODE); /* imbalance comes last */
}

/* Half of all ranks are late. Alone this is a matter of nodes; if that half has
 * a communicator and the other half another one, it is a role that has more to
 * do. */
static void test_role(void **state)
{
    struct jp_comm comms[3] = {m.comm, m.comm, m.comm};
    struct jp_rank ranks[2 * RANKS];
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    for (unsigned r = 0; r < RANKS; r++) {
        delay(r, r < RANKS / 2 ? 500 : 0);
        ranks[r] = ranks[RANKS + r] = m.ranks[r];
        ranks[RANKS + r].comm = 1 + r / (RANKS / 2);
        ranks[RANKS + r].rank = r % (RANKS / 2);
    }
    assert_int_equal(find(&kind, &f), RANKS / 4);
    assert_int_equal(kind, JP_FINDING_LATE_NODE);
    comms[1].n_ranks = comms[2].n_ranks = RANKS / 2;
    comms[1].n_hosts = comms[2].n_hosts = RANKS / 4;
    m.result.comms = comms;
    m.result.n_comms = 3;
    m.result.ranks = ranks;
    m.result.n_ranks = 2 * RANKS;
    make_ops(even);
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_IMBALANCE);
}

/* Adds AlltoAll of 100 us to 100 + spread us. */
static void add_hidden(uint64_t spread)
{
    static char broadcast[] = "Broadcast", *names[] = {NULL, broadcast};

    names[0] = m.coll;
    make_ops(even);
    for (unsigned i = 0; i < OPS; i++) {
        const struct jp_op op = {.coll = 1,
                                 .sn = i,
                                 .bytes = 1 << 20,
                                 .n = RANKS,
                                 .n_exec = RANKS,
                                 .exec_min_us = 100,
                                 .exec_second_us = 100,
                                 .exec_max_us = 100 + (i ? spread : 1000000),
                                 .exec_sum_us = UINT64_C(100) * RANKS};

        assert_int_equal(ops_add(m.result.ops, &op), 0);
    }
    assert_int_equal(ops_end(m.result.ops), 0);
    m.result.n_ops = 2 * OPS;
    m.result.coll_names = names;
    m.result.n_coll_names = 2;
}

/* It may be a wait in a Broadcast that makes it late. */
static void test_hidden(void **state)
{
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    delay(4, 500); /* 10 ms of the run */
    delay(5, 500);
    add_hidden(40);
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_LATE_NODE);
    add_hidden(60);
    assert_int_equal(find(&kind, &f), 0);
}

static double step(unsigned i)
{
    return even(i) * (i < 120 ? 1 : 1.5);
}

static double line(unsigned i)
{
    return even(i) * (1 + 0.5 * i / OPS);
}

static double hump(unsigned i)
{
    return even(i) * (i < 80 || i >= 140 ? 1 : 1.5);
}

static double spikes(unsigned i)
{
    return even(i) * (i % 37 ? 1 : 30);
}

static double slow_start(unsigned i)
{
    return even(i) * (i < 8 ? 20 : 1);
}

static void test_network(void **state)
{
    enum jp_finding_kind kind;
    struct jp_finding f;

    (void) state;
    make_ops(step);
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_SLOW_NETWORK);
    assert_true(fabs(f.from_us - (1000000 + 120 * 1000)) < 10000);
    assert_true(strstr(f.text, "grew by 49.") || strstr(f.text, "grew by 50"));
    make_ops(hump);
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_SLOW_NETWORK);
    assert_true(fabs(f.from_us - (1000000 + 80 * 1000)) < 10000);
    assert_true(fabs(f.to_us - (1000000 + 140 * 1000)) < 10000);
    make_ops(line);
    assert_int_equal(find(&kind, &f), 1);
    assert_int_equal(kind, JP_FINDING_DRIFT);
    make_ops(spikes);
    assert_int_equal(find(&kind, &f), 0);
    make_ops(slow_start);
    assert_int_equal(find(&kind, &f), 0);
}

static double long_start(unsigned i)
{
    return even(i) * (i < 30 ? 20 : 1);
}

/* Cells leave out the warm-up that is recognised, not its first part only. */
static void test_cells(void **state)
{
    struct jp_insight *x;

    (void) state;
    make_ops(long_start);
    x = insight_run(NULL, NULL, &m.result, NULL);
    assert_non_null(x);
    assert_int_equal(x->warmup.ops, 30);
    assert_int_equal(x->network.n, 1);
    assert_int_equal(x->network.at[0].gbs.total, OPS - 30);
    assert_true(bwhist_quantile(&x->network.at[0].gbs, 0) > 9);
    insight_destroy(x);
}

/* A corrected cost is in the text, too; its share changes with it, or not. */
static void test_recost(void **state)
{
    struct jp_findings list = {.gpus_us = 1000000};
    struct jp_finding *f = findings_add(&list, JP_FINDING_LATE_RANK);

    assert_non_null(f);
    finding_measure(f, 0.2, 0.01);
    finding_cost(&list, f, 10000);
    snprintf(f->text, sizeof(f->text), "late; cost %s; more", FINDING_LOSS(f));
    finding_recost(&list, f, 20000, 1);
    assert_true(fabs(f->share - 0.2) < 1e-9 && fabs(f->of_run - 0.02) < 1e-9);
    assert_non_null(strstr(f->text, "late; cost 20.0 ms of GPU time, 2.0 % of "
                                    "the run, 20.0 %"));
    assert_non_null(strstr(f->text, "; more"));
    finding_recost(&list, f, 5000, 0.25);
    assert_true(fabs(f->share - 0.05) < 1e-9 && fabs(f->of_run - 0.005) < 1e-9);
    list.paused = true;
    f->at_most = true; /* by sums, until it was replayed */
    snprintf(f->text, sizeof(f->text), "late; cost %s", FINDING_LOSS(f));
    assert_non_null(strstr(f->text, "cost up to 5.0"));
    finding_recost(&list, f, 5000, 1);
    assert_null(strstr(f->text, "up to"));
    assert_non_null(strstr(f->text, "0.5 % of the recorded time"));
    findings_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test(test_recost),
        cmocka_unit_test_setup_teardown(test_gates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_pid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unjudged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_role, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hidden, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
