/* test_stalls.c - what is told of stalls that a judge found: who is named, who
 * is counted, and over how much of the run the answer goes. */
#include "orchestrator/insight/stalls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"

#define RANKS 12
#define RUN_US 1e8

static struct made {
    struct jp_result result;
    struct jp_comm comm;
    struct jp_rank ranks[RANKS];
    struct jp_processes processes;
    struct jp_hypotheses hypotheses;
    struct jp_findings findings;
    struct jp_stalls stalls;
    struct judge *judge;
} m;

static int set_up(void **state)
{
    static char name[] = "world", host[] = "n1";

    (void) state;
    memset(&m, 0, sizeof(m));
    m.comm = (struct jp_comm){.id = "0x1",
                              .name = name,
                              .n_ranks = RANKS,
                              .ranks_seen = RANKS,
                              .records = 100};
    m.result.comms = &m.comm;
    m.result.n_comms = 1;
    m.result.ranks = m.ranks;
    m.result.n_ranks = RANKS;
    m.result.quality.records = 100;
    m.findings.hypotheses = &m.hypotheses;
    m.findings.run_us = RUN_US;
    m.findings.gpus_us = RANKS * RUN_US;
    for (uint32_t r = 0; r < RANKS; r++)
        m.ranks[r] = (struct jp_rank){.rank = r, .host = host, .pid = 100 + r};
    assert_int_equal(processes_init_nodes(&m.processes, &m.result, NULL), 0);
    assert_int_equal(m.processes.n, RANKS);
    m.judge = calloc(1, sizeof(*m.judge));
    assert_non_null(m.judge);
    *m.judge = (struct judge){.usable = true,
                              .timed = true,
                              .replayed = true,
                              .clock_us = RUN_US,
                              .run_us = RUN_US,
                              .stall_once_us = 3e6,
                              .stall_again_us = 1e6};
    m.judge->processes = calloc(RANKS, sizeof(*m.judge->processes));
    assert_non_null(m.judge->processes);
    for (uint32_t p = 0; p < RANKS; p++) {
        m.judge->processes[p].judged = true;
        m.judge->processes[p].comm_us = RUN_US / 4;
        m.judge->processes[p].intervals = 1000;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    judge_destroy(m.judge);
    processes_fini(&m.processes);
    findings_fini(&m.findings);
    return 0;
}

/* The first n processes stop, so often. */
static void stop(size_t n, uint64_t times)
{
    for (size_t i = 0; i < n; i++) {
        struct judge_answer *a =
            judge_add(m.judge, &m.processes, JUDGE_STALL, i);

        assert_non_null(a);
        a->times = times;
        a->waits = calloc(times, sizeof(*a->waits));
        assert_non_null(a->waits);
        for (uint64_t k = 0; k < times; k++)
            a->waits[k] = (struct judge_wait){
                .us = 4e6,
                .most_us = 4e6,
                .own_us = 4e6,
                .ops = 1,
                .in = {.func = "AllReduce", .sn = 10 * k, .numbered = true},
                .end_us = 1700000000000000 + 1000000 * k};
        a->longest_us = 4e6;
        a->excess_us = a->cost_us = 4e6 * (double) times;
    }
}

static void tell(void)
{
    assert_int_equal(stalls_findings(&m.result, &m.processes, m.judge,
                                     &m.findings, &m.stalls),
                     0);
}

/* Those beyond the limit are counted, and only by the last finding. */
static void counts_the_rest(void **state)
{
    size_t told = (size_t) limits_get(JP_LIMIT_LATE_MANY);

    (void) state;
    stop(told + 3, 2);
    tell();
    assert_int_equal(m.findings.n, told);
    for (size_t i = 0; i < told; i++) {
        const char *rest =
            strstr(m.findings.at[i].text, "; 3 more ranks stalled, 7 in all");

        assert_int_equal(rest != NULL, i + 1 == told);
    }
}

static void counts_one(void **state)
{
    size_t told = (size_t) limits_get(JP_LIMIT_LATE_MANY);

    (void) state;
    stop(told + 1, 2);
    tell();
    assert_non_null(strstr(m.findings.at[told - 1].text,
                           "; 1 more rank stalled, 5 in all"));
}

static void counts_nobody(void **state)
{
    size_t told = (size_t) limits_get(JP_LIMIT_LATE_MANY);

    (void) state;
    stop(told, 2);
    tell();
    assert_int_equal(m.findings.n, told);
    for (size_t i = 0; i < told; i++)
        assert_null(strstr(m.findings.at[i].text, "in all"));
}

/* "no rank that costs" is not said of ranks that stop, told or not. */
static void leaves_out_all(void **state)
{
    const struct jp_judgement *late = &m.hypotheses.of[JP_HYPOTHESIS_LATE_RANK];

    (void) state;
    hypothesis_set(&m.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 0.015, NULL);
    stalls_leave_out(&m.processes, m.judge, &m.hypotheses);
    assert_string_equal(late->text, ""); /* nobody stops */
    stop(7, 2);
    tell();
    stalls_leave_out(&m.processes, m.judge, &m.hypotheses);
    assert_string_equal(late->text, "5 of 12 ranks cost less than 1.5 %");
    assert_true(late->least > 0.0149 && late->least < 0.0151);
}

/* An answer that says otherwise stays as it is. */
static void leaves_other_answers(void **state)
{
    const struct jp_judgement *late = &m.hypotheses.of[JP_HYPOTHESIS_LATE_RANK];

    (void) state;
    stop(2, 2);
    hypothesis_set(&m.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_JUDGED, NAN, "why not");
    stalls_leave_out(&m.processes, m.judge, &m.hypotheses);
    assert_string_equal(late->text, "why not");
    hypothesis_set(&m.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 0.02, "9 of 12 ranks");
    stalls_leave_out(&m.processes, m.judge, &m.hypotheses);
    assert_string_equal(late->text, "9 of 12 ranks");
    /* of all ranks nothing is said */
    stop(RANKS - 2, 2);
    hypothesis_set(&m.hypotheses, JP_HYPOTHESIS_LATE_RANK,
                   JP_HYPOTHESIS_NOT_FOUND, 0.02, NULL);
    stalls_leave_out(&m.processes, m.judge, &m.hypotheses);
    assert_null(strstr(late->text, "0 of 12"));
}

/* The answer is of the start of a long run, unless intervals were kept. */
static void says_how_far(void **state)
{
    const struct jp_judgement *stall = &m.hypotheses.of[JP_HYPOTHESIS_STALL];

    (void) state;
    m.judge->part = true;
    m.judge->followed = 0.25;
    tell();
    assert_int_equal(stall->state, JP_HYPOTHESIS_NOT_FOUND);
    if (!strstr(stall->text, " in the first 25.0 % of the run"))
        fail_msg("%s", stall->text);
    /* by durations alone the rest says who is late, and nothing of stalls */
    m.judge->timed = false;
    m.judge->kept = true;
    tell();
    if (!strstr(stall->text, " in the first 25.0 % of the operations"))
        fail_msg("%s", stall->text);
    m.judge->timed = m.judge->kept_stalls = true;
    tell();
    assert_string_equal(stall->text,
                        "no recurring stall over 1.00 s, no single "
                        "one over 3.00 s");
    /* nor does it need a walk through the start */
    m.judge->replayed = false;
    stop(1, 1);
    tell();
    assert_int_equal(m.findings.n, 1);
}

/* Where an operation is not known, or shorter stalls may not be, it is not said
 * to be. */
static void says_what_is_known(void **state)
{
    (void) state;
    m.judge->part = m.judge->kept = m.judge->kept_stalls = true;
    stop(2, 1);
    m.judge->answers[1].waits->in = (struct judge_place){.func = NULL};
    tell();
    assert_int_equal(m.findings.n, 2);
    assert_non_null(strstr(m.findings.at[0].text,
                           "kept 11 ranks waiting for 4.00 s, in AllReduce 0"));
    assert_non_null(
        strstr(m.findings.at[0].text, "on its own for 4.00 s before it"));
    assert_non_null(strstr(m.findings.at[1].text,
                           "kept the others waiting for 4.00 s, in one "
                           "operation, at "));
}

static void says_at_least(void **state)
{
    (void) state;
    m.judge->part = m.judge->kept = m.judge->kept_stalls = true;
    stop(2, 5);
    m.judge->answers[1].more = true;
    tell();
    assert_int_equal(m.findings.n, 2);
    assert_non_null(strstr(m.findings.at[0].text, " stalled 5 times, for"));
    assert_non_null(
        strstr(m.findings.at[1].text, " stalled at least 5 times, for"));
    /* the first rank of a server looks like this, and nothing is wrong */
    assert_non_null(strstr(m.findings.at[0].next, "did it wait for requests?"));
}

/* Where so many stop that nobody is named, there is no all-clear. */
static void crowd(void **state)
{
    const struct jp_judgement *stall = &m.hypotheses.of[JP_HYPOTHESIS_STALL];

    (void) state;
    m.judge->crowd = 9;
    tell();
    assert_int_equal(m.findings.n, 0);
    assert_int_equal(stall->state, JP_HYPOTHESIS_NOT_JUDGED);
    assert_non_null(strstr(stall->text, "9 of 12 ranks"));
    assert_false(m.stalls.judged);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_the_rest), TEST(counts_one),
        TEST(counts_nobody),   TEST(leaves_out_all),
        TEST(says_how_far),    TEST(leaves_other_answers),
        TEST(says_at_least),   TEST(says_what_is_known),
        TEST(crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
