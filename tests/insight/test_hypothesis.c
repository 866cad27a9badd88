/* test_hypothesis.c - questions, their answers and the line that sums them up.
 */
#include "orchestrator/insight/hypothesis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/expectation.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/topo/steplabels.h"

static void test_table(void **state)
{
    (void) state;
    for (size_t i = 0; i < JP_N_HYPOTHESES; i++) {
        const struct jp_hypothesis *row = &hypotheses_table[i];

        assert_non_null(row->key);
        assert_non_null(row->title);
        assert_int_equal(row->question[strlen(row->question) - 1], '?');
        assert_non_null(row->of);
        assert_non_null(row->todo);
        if (row->clear) {
            const char *at = strstr(row->clear, "%s");

            assert_non_null(at);
            assert_null(strchr(at + 2, '%'));
            assert_non_null(row->none);
            assert_non_null(row->name);
        }
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(row->key, hypotheses_table[k].key);
    }
}

/* An analysis that answers nothing has not looked. */
static void test_silence(void **state)
{
    struct jp_hypotheses h = {0};
    char line[JP_HYPOTHESES_LINE], least[JP_HYPOTHESIS_LEN];

    (void) state;
    for (int i = 0; i < JP_N_HYPOTHESES; i++) {
        assert_false(hypothesis_judged(&h, (enum jp_hypothesis_id) i));
        assert_string_equal(hypothesis_why(&h, (enum jp_hypothesis_id) i),
                            "not examined");
        assert_string_equal(
            hypothesis_least(&h, (enum jp_hypothesis_id) i, least), "");
    }
    assert_string_equal(hypotheses_line(&h, line),
                        "not judged: late ranks, stalls, absolute speed, "
                        "single links, drift, hangs, waits by turns, "
                        "completeness (not examined)");
    assert_string_equal(hypotheses_line(NULL, line), "");
    assert_false(hypothesis_judged(NULL, JP_HYPOTHESIS_LATE_RANK));
    assert_string_equal(hypothesis_why(NULL, JP_HYPOTHESIS_LATE_RANK),
                        "not examined");
    hypothesis_set(NULL, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_FOUND, 1, "x");
}

static void test_line(void **state)
{
    static const enum jp_hypothesis_state clear = JP_HYPOTHESIS_NOT_FOUND,
                                          open = JP_HYPOTHESIS_NOT_JUDGED;
    struct jp_hypotheses h = {0};
    char line[JP_HYPOTHESES_LINE], least[JP_HYPOTHESIS_LEN];

    (void) state;
    for (int i = 0; i < JP_N_HYPOTHESES; i++)
        hypothesis_set(&h, (enum jp_hypothesis_id) i, clear, NAN, NULL);
    assert_string_equal(hypotheses_line(&h, line),
                        "no late rank, no recurring stalls, network as fast as "
                        "expected, no link "
                        "slower than its peers, no drift");
    hypothesis_set(&h, JP_HYPOTHESIS_LATE_RANK, clear, 0.012, NULL);
    hypothesis_set(&h, JP_HYPOTHESIS_STALL, clear, 3000, NULL);
    hypothesis_set(&h, JP_HYPOTHESIS_SLOW_NETWORK, clear, 0.1,
                   "network %d %% of its peaks", 92);
    hypothesis_set(&h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_FOUND, 0.25,
                   NULL);
    hypothesis_set(&h, JP_HYPOTHESIS_DRIFT, open, NAN, "run of 40 s");
    assert_string_equal(
        hypotheses_line(&h, line),
        "no rank that costs 1.2 %, no recurring stall over 3.00 ms, network "
        "92 % of its peaks; not judged: drift (run of 40 s)");
    assert_string_equal(hypothesis_why(&h, JP_HYPOTHESIS_DRIFT), "run of 40 s");
    assert_string_equal(hypothesis_why(&h, JP_HYPOTHESIS_STALL), "");
    assert_string_equal(hypothesis_least(&h, JP_HYPOTHESIS_SLOW_LINK, least),
                        "25.0 %");
    hypothesis_set(&h, JP_HYPOTHESIS_IMBALANCE, clear, 2, NULL);
    assert_string_equal(hypothesis_least(&h, JP_HYPOTHESIS_IMBALANCE, least),
                        "2 times");
    hypothesis_set(&h, JP_HYPOTHESIS_CRASH, clear, 1, NULL);
    assert_string_equal(hypothesis_least(&h, JP_HYPOTHESIS_CRASH, least), "1");
}

/* If only an impossible effect would have been seen, the question is not
 * answered. */
static void test_blind(void **state)
{
    struct jp_hypotheses h = {0};
    char line[JP_HYPOTHESES_LINE];

    (void) state;
    hypothesis_set(&h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_FOUND, 0.999,
                   NULL);
    assert_true(hypothesis_judged(&h, JP_HYPOTHESIS_LATE_RANK));
    for (int i = 0; i < JP_N_HYPOTHESES; i++) {
        const struct jp_hypothesis *row = &hypotheses_table[i];

        hypothesis_set(&h, (enum jp_hypothesis_id) i, JP_HYPOTHESIS_NOT_FOUND,
                       1.277, "no late rank in 7 of 8");
        assert_int_equal(hypothesis_judged(&h, (enum jp_hypothesis_id) i),
                         row->most == 0);
        /* a share of a whole is never larger than 1 */
        assert_int_equal(row->most > 0, row->unit == JP_HYPOTHESIS_SHARE &&
                                            !strncmp(row->of, "of ", 3));
    }
    h = (struct jp_hypotheses){0};
    hypothesis_set(&h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_FOUND, 1.277,
                   NULL);
    hypothesis_set(&h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_FOUND, 3000,
                   NULL);
    assert_non_null(
        strstr(hypotheses_line(&h, line),
               "no recurring stall over 3.00 ms; not judged: late ranks "
               "(times vary too much to see any), "));
    assert_null(strstr(line, "127"));
}

/* Reasons may be long and many: the line is cut, and nothing is written beyond
 * the buffer. */
static void test_long(void **state)
{
    struct jp_hypotheses h = {0};
    struct {
        char line[JP_HYPOTHESES_LINE];
        char guard[8];
    } room;
    char why[400];

    (void) state;
    memset(why, 'w', sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    memset(room.guard, 'g', sizeof(room.guard));
    for (int i = 0; i < JP_N_HYPOTHESES; i++) {
        why[0] = (char) ('a' + i);
        hypothesis_set(&h, (enum jp_hypothesis_id) i, JP_HYPOTHESIS_NOT_JUDGED,
                       NAN, "%s", why);
        assert_int_equal(strlen(h.of[i].text), sizeof(h.of[i].text) - 1);
    }
    assert_int_equal(strlen(hypotheses_line(&h, room.line)),
                     JP_HYPOTHESES_LINE - 1);
    assert_memory_equal(room.guard, "gggggggg", sizeof(room.guard));
}

/* Findings have an interval, and those that may be nothing are dropped. */
static void test_interval(void **state)
{
    struct jp_findings list = {0};
    struct jp_finding *f;

    (void) state;
    f = findings_add(&list, JP_FINDING_LATE_RANK);
    assert_non_null(f);
    assert_string_equal(FINDING_SHARE(f), "-");
    finding_measure(f, 0.29, NAN);
    assert_string_equal(FINDING_SHARE(f), "29.0 %");
    finding_measure(f, 0.29, 0.01);
    assert_string_equal(FINDING_SHARE(f), "29.0 % (26.8 to 31.2)");
    finding_measure(findings_add(&list, JP_FINDING_DRIFT), 0.01, 0.005);
    finding_measure(findings_add(&list, JP_FINDING_LATE_NODE), 0.99, 0.01);
    assert_true(list.at[2].high <= 1);
    findings_add(&list, JP_FINDING_SMALL_MESSAGES);
    findings_drop_doubtful(&list);
    findings_sort(&list);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.at[0].kind, JP_FINDING_LATE_RANK);
    assert_int_equal(list.at[1].kind, JP_FINDING_LATE_NODE);
    assert_int_equal(list.at[2].kind, JP_FINDING_SMALL_MESSAGES);
    findings_fini(&list);
}

/* Without peaks of the site, the adapters' rates are expected. */
static void test_rates(void **state)
{
    static const struct steplabels_rates rates = {1 << 20, 0.5, 64};
    struct topo_hca hcas[10] = {{.name = "mlx5_0"}};
    struct topo_gpu gpus[8] = {{.package = 0}};
    struct topo topo = {
        .gpus = gpus, .n_gpus = 8, .hcas = hcas, .n_hcas = 10, .n_rails = 8};
    struct jp_shape shape = {.topo = &topo, .n_nodes = 2};
    struct jp_step_labels labels = {
        .shapes = {.shapes = &shape, .n_shapes = 1}};
    struct jp_comm comm = {
        .n_ranks = 16, .n_hosts = 2, .fabric = "nvswitch", .inter = "ib"};
    struct jp_peaks peaks;
    struct jp_expectation x = {.peaks = &peaks};
    struct jp_expected_bw e;

    (void) state;
    for (size_t i = 0; i < 10; i++)
        hcas[i] = (struct topo_hca){.net = TOPO_NET_IB, .rate_gbits = 400};
    assert_int_equal(steplabels_peaks(&labels, &rates, &peaks), 0);
    assert_int_equal(peaks.n, 1);
    expectation_find(&x, &comm, "AllReduce", 1 << 20, &e);
    assert_int_equal(e.against, JP_AGAINST_PEAKS);
    assert_true(fabs(e.high_gbs - 400) < 1e-6); /* eight rails of 50 GB/s */
    assert_true(fabs(e.gbs - 200) < 1e-6);
    expectation_find(&x, &comm, "AllReduce", (1 << 20) - 1, &e);
    assert_int_equal(e.against, JP_AGAINST_NOTHING);
    comm.n_ranks = 128;
    expectation_find(&x, &comm, "AllReduce", 1 << 20, &e);
    assert_int_equal(e.against, JP_AGAINST_NOTHING);
    peaks_fini(&peaks);
    hcas[3].rate_gbits = 0; /* not told: nothing is expected */
    assert_int_equal(steplabels_peaks(&labels, &rates, &peaks), 0);
    assert_int_equal(peaks.n, 0);
    peaks_fini(&peaks);
    hcas[3].rate_gbits = 400;
    topo.hcas_untold = true;
    assert_int_equal(steplabels_peaks(&labels, &rates, &peaks), 0);
    assert_int_equal(peaks.n, 0);
    peaks_fini(&peaks);
    assert_int_equal(steplabels_peaks(NULL, &rates, &peaks), 0);
    assert_int_equal(peaks.n, 0);
}

/* Checks one limit; its name is none of those before. */
static void check_limit(const struct jp_limit *limit, const char *names[],
                        size_t *n)
{
    const char *place = strstr(limit->text, "{}");

    if (!place)
        print_error("%s: no {}\n", limit->name);
    assert_non_null(place);
    assert_null(strchr(place + 2, '{'));
    assert_non_null(limit->reason);
    for (size_t k = 0; k < *n; k++)
        assert_string_not_equal(limit->name, names[k]);
    assert_true(*n < JP_N_LIMITS + 128);
    names[(*n)++] = limit->name;
}

/* The page puts the value of each limit in the place of {}. */
static void test_limits(void **state)
{
    const char *names[JP_N_LIMITS + 128];
    size_t n = 0;

    (void) state;
    for (size_t i = 0; i < JP_N_LIMITS; i++)
        check_limit(&limits_table[i], names, &n);
    for (const struct jp_limit *limit = report_limits; limit->name; limit++)
        check_limit(limit, names, &n);
    for (size_t i = 0; feature_registry[i]; i++)
        for (const struct jp_limit *limit = feature_registry[i]->limits;
             limit && limit->name; limit++)
            check_limit(limit, names, &n);
    assert_true(n > JP_N_LIMITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_silence),
        cmocka_unit_test(test_line),  cmocka_unit_test(test_blind),
        cmocka_unit_test(test_long),  cmocka_unit_test(test_interval),
        cmocka_unit_test(test_rates), cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
