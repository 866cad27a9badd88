/* test_stages.c - stages of pipelines made by hand: which is slow. */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/hypothesis.h"

#define PIPELINES 4
#define STAGES 3
#define RANKS (PIPELINES * STAGES)
#define RUN_US 1000000

/* PIPELINES communicators of STAGES ranks that exchange Send and Recv. */
static struct made {
    struct jp_result result;
    struct jp_comm comms[PIPELINES + 1 + STAGES];
    struct jp_rank ranks[3 * RANKS];
    struct jp_p2p p2p[4 * RANKS];
    struct jp_lateness lateness[3 * RANKS];
    char hosts[RANKS][8];
    double computes_us[RANKS];
    struct jp_hypotheses hypotheses;
    struct jp_findings findings;
    size_t n_pipelines;
    uint64_t passes;
    double fast_gbs;   /* of messages; 0: not known */
    uint64_t meetings; /* of all ranks, in a communicator of theirs; 0: none */
    double within_us; /* waits in a communicator of each stage but the second */
    uint64_t lacking; /* of these, operations that a rank lacks */
    bool per_stage;   /* a stage's ranks are on a node of their own */
} m;

static int set_up(void **state)
{
    (void) state;
    memset(&m, 0, sizeof(m));
    m.n_pipelines = PIPELINES;
    m.passes = 100;
    m.findings.hypotheses = &m.hypotheses;
    for (unsigned r = 0; r < RANKS; r++)
        m.computes_us[r] = 500000 + 100 * (r % 5);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    findings_fini(&m.findings);
    return 0;
}

static void add_rows(unsigned c, unsigned rank, double us)
{
    static const char *const funcs[2] = {"Send", "Recv"};
    unsigned rows = rank == 0 || rank == STAGES - 1 ? 2 : 4;

    for (int side = -1; side < 2; side += 2)
        for (int recv = 0; recv < 2; recv++) {
            int peer = (int) rank + side;

            if (peer < 0 || peer >= STAGES)
                continue;
            m.p2p[m.result.n_p2p++] =
                (struct jp_p2p){.comm = c,
                                .src = recv ? (unsigned) peer : rank,
                                .dst = recv ? rank : (unsigned) peer,
                                .func = funcs[recv],
                                .count = m.passes,
                                .bytes = 100 << 20,
                                .fast_gbs = m.fast_gbs,
                                .exec_us = (uint64_t) (us / rows)};
        }
}

/* A communicator of all processes, after the pipelines. */
static void add_world(void)
{
    m.comms[m.result.n_comms++] =
        (struct jp_comm){.id = "0x2",
                         .name = m.hosts[0],
                         .n_ranks = RANKS,
                         .ops = m.meetings,
                         .ops_complete = m.meetings - m.lacking};
    for (unsigned r = 0; r < RANKS; r++) {
        m.ranks[m.result.n_ranks++] = (struct jp_rank){
            .comm = PIPELINES, .rank = r, .host = m.hosts[r], .pid = 100 + r};
    }
}

/* A communicator of each stage, in which its ranks wait. */
static void add_stages(void)
{
    for (unsigned k = 0; k < STAGES; k++) {
        m.comms[m.result.n_comms] = (struct jp_comm){
            .id = "0x3", .name = m.hosts[0], .n_ranks = PIPELINES};
        for (unsigned c = 0; c < PIPELINES; c++) {
            unsigned r = c * STAGES + k;

            m.ranks[m.result.n_ranks++] = (struct jp_rank){
                .comm = m.result.n_comms,
                .rank = c,
                .host = m.hosts[r],
                .pid = 100 + r,
                .wait_us = k == 1 ? 0 : (uint64_t) m.within_us};
        }
        m.result.n_comms++;
    }
}

static void run(void)
{
    struct jp_processes p;

    assert_int_equal(processes_init_nodes(&p, &m.result, NULL), 0);
    assert_true(p.known);
    m.findings.run_us = RUN_US;
    m.findings.gpus_us = (double) RUN_US * RANKS;
    assert_int_equal(
        stages_findings(&m.result, &p, NULL, m.lateness, &m.findings), 0);
    processes_fini(&p);
}

static void judge(void)
{
    m.result = (struct jp_result){.comms = m.comms,
                                  .n_comms = m.n_pipelines,
                                  .ranks = m.ranks,
                                  .n_ranks = m.n_pipelines * STAGES,
                                  .p2p = m.p2p};
    for (unsigned c = 0; c < m.n_pipelines; c++) {
        m.comms[c] = (struct jp_comm){.id = "0x1",
                                      .name = m.hosts[0],
                                      .n_ranks = STAGES,
                                      .nnodes = STAGES};
        for (unsigned k = 0; k < STAGES; k++) {
            unsigned r = c * STAGES + k;

            snprintf(m.hosts[r], sizeof(m.hosts[r]), "n%02u",
                     m.per_stage ? k : r);
            m.ranks[r] = (struct jp_rank){.comm = c,
                                          .rank = k,
                                          .host = m.hosts[r],
                                          .pid = 100 + r,
                                          .p2p_records = 200};
            add_rows(c, k, RUN_US - m.computes_us[r]);
        }
    }
    if (m.meetings)
        add_world();
    if (m.within_us > 0)
        add_stages();
    run();
}

/* The same pipelines, with a communicator for each two neighbours; ring: also
 * for the last and the first stage. */
static void judge_pairs(bool ring)
{
    static struct jp_comm comms[PIPELINES * STAGES];
    static struct jp_rank ranks[2 * PIPELINES * STAGES];
    static struct jp_p2p p2p[4 * PIPELINES * STAGES];
    size_t n_comms = 0, n_ranks = 0, n_p2p = 0;

    for (unsigned c = 0; c < PIPELINES; c++)
        for (unsigned k = 0; k + !ring < STAGES; k++) {
            /* ranks are in the order of the job's */
            unsigned pair[2] = {k + 1 < STAGES ? k : 0,
                                k + 1 < STAGES ? k + 1 : k};

            comms[n_comms] = (struct jp_comm){
                .id = "0x1", .name = m.hosts[0], .n_ranks = 2, .nnodes = 2};
            for (unsigned i = 0; i < 2; i++) {
                unsigned r = c * STAGES + pair[i];
                bool inner = ring || (pair[i] > 0 && pair[i] + 1 < STAGES);
                double us = (RUN_US - m.computes_us[r]) / (inner ? 4 : 2);
                struct jp_p2p row = {.comm = n_comms,
                                     .src = i,
                                     .dst = !i,
                                     .func = "Send",
                                     .count = m.passes,
                                     .bytes = 100 << 20,
                                     .exec_us = (uint64_t) us};

                snprintf(m.hosts[r], sizeof(m.hosts[r]), "n%02u", r);
                ranks[n_ranks++] = (struct jp_rank){.comm = n_comms,
                                                    .rank = i,
                                                    .host = m.hosts[r],
                                                    .pid = 100 + r,
                                                    .p2p_records = 200};
                p2p[n_p2p++] = row;
                row.src = !i;
                row.dst = i;
                row.func = "Recv";
                p2p[n_p2p++] = row;
            }
            n_comms++;
        }
    m.result = (struct jp_result){.comms = comms,
                                  .n_comms = n_comms,
                                  .ranks = ranks,
                                  .n_ranks = n_ranks,
                                  .p2p = p2p,
                                  .n_p2p = n_p2p};
    run();
}

/* FEEDERS processes send to one that is the first of a chain: a communicator
 * for each pair. The processes are one after the other. */
static void judge_tree(void)
{
    enum { FEEDERS = 4, EDGES = RANKS - 1 };
    static struct jp_comm comms[EDGES];
    static struct jp_rank ranks[2 * EDGES];
    static struct jp_p2p p2p[4 * EDGES];
    size_t n = 0;

    for (unsigned c = 0; c < EDGES; c++) {
        const unsigned pair[2] = {c, c < FEEDERS ? FEEDERS : c + 1};
        const unsigned pairs[2] = {/* of each process */
                                   c == FEEDERS  ? FEEDERS + 1
                                   : c < FEEDERS ? 1
                                                 : 2,
                                   c < FEEDERS         ? FEEDERS + 1
                                   : c + 1 < RANKS - 1 ? 2
                                                       : 1};

        comms[c] = (struct jp_comm){
            .id = "0x1", .name = m.hosts[0], .n_ranks = 2, .nnodes = 2};
        for (unsigned i = 0; i < 2; i++) {
            snprintf(m.hosts[pair[i]], sizeof(m.hosts[0]), "n%02u", pair[i]);
            ranks[2 * c + i] = (struct jp_rank){.comm = c,
                                                .rank = i,
                                                .host = m.hosts[pair[i]],
                                                .pid = 100 + pair[i],
                                                .p2p_records = 200};
            for (unsigned recv = 0; recv < 2; recv++)
                p2p[n++] = (struct jp_p2p){.comm = c,
                                           .src = recv ? !i : i,
                                           .dst = recv ? i : !i,
                                           .func = recv ? "Recv" : "Send",
                                           .count = m.passes,
                                           .bytes = 100 << 20,
                                           .exec_us = RUN_US / 4 / pairs[i]};
        }
    }
    m.result = (struct jp_result){.comms = comms,
                                  .n_comms = EDGES,
                                  .ranks = ranks,
                                  .n_ranks = 2 * EDGES,
                                  .p2p = p2p,
                                  .n_p2p = n};
    run();
}

static enum jp_hypothesis_state state_of(void)
{
    return m.hypotheses.of[JP_HYPOTHESIS_STAGE_IMBALANCE].state;
}

static void slow(unsigned stage, size_t pipelines)
{
    for (unsigned c = 0; c < pipelines; c++)
        m.computes_us[c * STAGES + stage] *= 1.12;
}

static void even_stages_are_none(void **state)
{
    (void) state;
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_FOUND);
}

static void a_slow_stage_is_named(void **state)
{
    const struct jp_finding *f;

    (void) state;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    f = &m.findings.at[0];
    assert_int_equal(f->kind, JP_FINDING_IMBALANCE);
    assert_non_null(strstr(f->text, "stage 2 of 3"));
    assert_non_null(strstr(f->text, "all 4 pipelines"));
    /* 60 ms that the two others of each of four pipelines wait */
    assert_true(fabs(f->cost_us - 8 * 60000) < 10000);
    assert_true(fabs(f->share - 60000.0 / 500000) < 0.01);
}

/* The same for the last stage, which has one neighbour. */
static void the_last_stage_is_named(void **state)
{
    (void) state;
    slow(2, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    assert_non_null(strstr(m.findings.at[0].text, "stage 3 of 3"));
}

/* A slow rank, or a few, are not a stage. */
static void one_pipeline_is_no_stage(void **state)
{
    (void) state;
    slow(1, 1);
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_FOUND);
}

static void a_late_rank_explains_it(void **state)
{
    (void) state;
    assert_non_null(findings_add(&m.findings, JP_FINDING_LATE_RANK));
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    assert_int_equal(m.findings.at[0].kind, JP_FINDING_LATE_RANK);
}

/* A finding that ranks have more to do is replaced by the stage; one that a
 * rank receives more stays. */
static void it_takes_the_place_of_many(void **state)
{
    struct jp_finding *f;

    (void) state;
    f = findings_add(&m.findings, JP_FINDING_IMBALANCE);
    assert_non_null(f);
    f->rank = -1;
    f = findings_add(&m.findings, JP_FINDING_IMBALANCE);
    assert_non_null(f);
    f->rank = 3;
    slow(0, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 2);
    assert_int_equal(m.findings.at[0].rank, 3);
    assert_non_null(strstr(m.findings.at[1].text, "stage 1 of 3"));
}

/* With five passes the end of the run is a fifth of it: the first stage ends
 * last, and the others wait for that in no operation. */
static void few_passes_tell_nothing(void **state)
{
    (void) state;
    m.passes = 5;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_FOUND);
    assert_true(m.hypotheses.of[JP_HYPOTHESIS_STAGE_IMBALANCE].least > 0.25);
}

/* If one stage works after the other, the run's end is one pass through all of
 * them: of 80 passes that is 0.9 % of the run, and not 1.9 %. */
static void passes_one_by_one_tell(void **state)
{
    (void) state;
    m.passes = 80;
    for (unsigned r = 0; r < RANKS; r++)
        m.computes_us[r] = 130000;
    slow(1, PIPELINES); /* 1.6 % of the run */
    m.fast_gbs = 100.0 * (1 << 20) / (double) m.passes / 1e6;
    judge(); /* a message takes 1 ms */
    assert_int_equal(m.findings.n, 1);
    assert_non_null(strstr(m.findings.at[0].text, "stage 2 of 3"));
    findings_fini(&m.findings);
    m.findings.hypotheses = &m.hypotheses;
    m.fast_gbs /= 10; /* four messages take 4 % */
    judge();
    assert_int_equal(m.findings.n, 0);
}

/* A run of 79 passes is short: its length is not known well. */
static void a_short_run_is_judged_by_its_pace(void **state)
{
    passes_one_by_one_tell(state);
    for (unsigned r = 0; r < RANKS; r++)
        m.computes_us[r] = 130000;
    m.passes = 79;
    slow(1, PIPELINES);
    m.fast_gbs = 100.0 * (1 << 20) / (double) m.passes / 1e6;
    judge();
    assert_int_equal(m.findings.n, 0);
}

/* Stages that compute for a twelfth of the run, one of them an eighth longer.
 * It costs less than late_cost_min, but the stage is that much slower. */
static void who_computes_little_is_named(void **state)
{
    (void) state;
    for (unsigned r = 0; r < RANKS; r++)
        m.computes_us[r] = 80000;
    m.passes = 200;
    slow(2, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    assert_non_null(strstr(m.findings.at[0].text, "stage 3 of 3"));
}

/* Pairs of neighbours are pipelines of all their stages. */
static void pairs_are_chained(void **state)
{
    (void) state;
    slow(2, PIPELINES);
    judge_pairs(false);
    assert_int_equal(m.findings.n, 1);
    assert_non_null(strstr(m.findings.at[0].text, "stage 3 of 3"));
    assert_non_null(strstr(m.findings.at[0].text, "all 4 pipelines"));
    assert_int_equal(m.findings.at[0].stage, 3);
    findings_fini(&m.findings);
    m.findings.hypotheses = &m.hypotheses;
    judge_pairs(true);
    assert_int_equal(m.findings.n, 1);
    assert_non_null(strstr(m.findings.at[0].text, "stage 3 of 3"));
}

/* A chain that several pairs lead to is one of its own, and not a part of each
 * of theirs. */
static void a_tree_is_cut_where_it_meets(void **state)
{
    (void) state;
    judge_tree();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_FOUND);
}

/* What it costs is said of the run, too. */
static void the_cost_is_of_the_run(void **state)
{
    const struct jp_finding *f;

    (void) state;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    f = &m.findings.at[0];
    assert_true(fabs(f->of_run - 8 * 60000.0 / RUN_US / RANKS) < 0.002);
    assert_non_null(strstr(f->text, " of GPU time, 4.0 % of the run, "));
    assert_int_equal(finding_verdict(f), JP_VERDICT_SLOW);
}

/* The other stages wait longer, but for each other: no stage is slower. */
static void waits_within_a_stage_do_not_count(void **state)
{
    (void) state;
    for (unsigned r = 0; r < RANKS; r++)
        if (r % STAGES != 1)
            m.computes_us[r] -= 60000;
    m.within_us = 60000;
    judge();
    assert_int_equal(m.findings.n, 0);
    m.within_us = 0;
    judge();
    assert_int_equal(m.findings.n, 1);
}

/* A node that is one stage: both are said. */
static void a_node_may_be_a_stage(void **state)
{
    struct jp_finding *f;

    (void) state;
    m.per_stage = true;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    assert_string_equal(m.findings.at[0].host, "n01");
    assert_non_null(strstr(m.findings.at[0].text, "it is node n01"));
    findings_fini(&m.findings);
    m.findings.hypotheses = &m.hypotheses;
    f = findings_add(&m.findings, JP_FINDING_LATE_NODE);
    assert_non_null(f);
    snprintf(f->host, sizeof(f->host), "n01");
    judge();
    assert_int_equal(m.findings.n, 1);
    assert_int_equal(m.findings.at[0].stage, 2);
    assert_non_null(strstr(m.findings.at[0].text, "it is stage 2 of 3"));
}

static void a_single_pipeline_is_not_judged(void **state)
{
    (void) state;
    m.n_pipelines = 1;
    slow(1, 1);
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_JUDGED);
}

/* A communicator in which all ranks exchange is no pipeline. */
static void an_alltoall_is_no_pipeline(void **state)
{
    (void) state;
    for (unsigned r = 0; r < RANKS; r++)
        m.lateness[r].grouped_us = 1;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_JUDGED);
}

/* One rank has no records: the time in its communicators is not counted. */
static void missing_operations_are_not_judged(void **state)
{
    (void) state;
    m.meetings = 20;
    slow(1, PIPELINES);
    judge();
    assert_int_equal(m.findings.n, 1);
    findings_fini(&m.findings);
    m.findings.hypotheses = &m.hypotheses;
    m.lacking = 3;
    judge();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_JUDGED);
    findings_fini(&m.findings);
    m.findings.hypotheses = &m.hypotheses;
    m.lacking = 1; /* as at the end of a job that is cancelled */
    judge();
    assert_int_equal(m.findings.n, 1);
}

/* Nothing is judged if too many records left the sums of waits unknown. */
static void unknown_waits_are_not_judged(void **state)
{
    struct jp_processes p;

    (void) state;
    slow(1, PIPELINES);
    judge();
    findings_fini(&m.findings);
    memset(&m.findings, 0, sizeof(m.findings));
    m.findings.hypotheses = &m.hypotheses;
    m.result.quality.waits_unknown = true;
    assert_int_equal(processes_init_nodes(&p, &m.result, NULL), 0);
    assert_int_equal(
        stages_findings(&m.result, &p, NULL, m.lateness, &m.findings), 0);
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(state_of(), JP_HYPOTHESIS_NOT_JUDGED);
    processes_fini(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(even_stages_are_none),
        TEST(a_slow_stage_is_named),
        TEST(the_last_stage_is_named),
        TEST(one_pipeline_is_no_stage),
        TEST(a_late_rank_explains_it),
        TEST(it_takes_the_place_of_many),
        TEST(few_passes_tell_nothing),
        TEST(a_single_pipeline_is_not_judged),
        TEST(an_alltoall_is_no_pipeline),
        TEST(missing_operations_are_not_judged),
        TEST(unknown_waits_are_not_judged),
        TEST(passes_one_by_one_tell),
        TEST(a_short_run_is_judged_by_its_pace),
        TEST(who_computes_little_is_named),
        TEST(pairs_are_chained),
        TEST(a_tree_is_cut_where_it_meets),
        TEST(the_cost_is_of_the_run),
        TEST(waits_within_a_stage_do_not_count),
        TEST(a_node_may_be_a_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
