/* test_history.c - tests of orchestrator/history: reading and writing lines,
 * lists of nodes, interned names, probabilities, and which nodes are called
 * slow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/history/history_parts.h"
#include "orchestrator/history/history_sum.h"
#include "tests/history/site.h"
#include "tests/metrics/check_metrics.h"

/* The members that every line must have */
#define NEEDED "\"v\":1,\"time_us\":5,\"job\":7,\"verdict\":\"OK\""

static struct history_step step, again;

static struct history_text text(const char *at)
{
    return (struct history_text){at, (uint32_t) strlen(at)};
}

/* --- lines ---------------------------------------------------------------- */

/* What is wrong with a line is reported by member and column. */
static void test_bad_lines(void **state)
{
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"", "1: needs an object"},
        {"null", "1: needs an object"},
        {"{", "2: needs a text"},
        {"{}", "no \"v\""},
        {"{\"v\":1}", "no \"time_us\""},
        {"{\"v\":1,\"time_us\":5,\"job\":7}", "no \"verdict\""},
        {"{\"v\":2,\"time_us\":5,\"job\":7,\"verdict\":\"OK\"}", "\"v\" is 2"},
        {"{" NEEDED, "needs an end"},
        {"{" NEEDED "} x", "text after the object at \"x\""},
        {"{" NEEDED ",\"nodes\":-1}", "nodes: 51: needs a number from 0 on"},
        {"{" NEEDED ",\"nodes\":1.5}", "needs a whole number at \"1.5}\""},
        {"{" NEEDED ",\"nodes\":99999999999999999999}", "whole number"},
        {"{" NEEDED ",\"nodes\":\"3\"}", "needs a number"},
        {"{" NEEDED ",\"coverage\":1e999}", "a number that is too large"},
        {"{" NEEDED ",\"judged\":1}", "judged: 52: needs true or false"},
        {"{" NEEDED ",\"user\":3}", "user: 50: needs a text"},
        {"{" NEEDED ",\"user\":\"a}", "a text without end"},
        {"{" NEEDED ",\"user\":\"\\x\"}", "bad escape"},
        {"{" NEEDED ",\"findings\":{}}", "findings: 54: needs an array"},
        {"{" NEEDED ",\"findings\":[3]}", "needs an object"},
        {"{" NEEDED ",\"findings\":[{\"rank\":[]}]}", "rank: "},
        {"{" NEEDED ",\"new\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}",
         "nested too deeply"},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *line = strdup(rows[i].line);
        struct jp_error err = {""};

        assert_int_equal(history_line_parse(line, strlen(line), &step, &err),
                         -1);
        if (!strstr(err.text, rows[i].error))
            fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].line, err.text,
                     rows[i].error);
        free(line);
    }
}

/* Members that the reader does not know are skipped whatever they contain.
 * Control characters and lone surrogates become '?', so that no name can send
 * escapes to a terminal. */
static void test_good_line(void **state)
{
    char line[] =
        "{" NEEDED ",\"new\":{\"a\":[1,-2,null,true,{\"b\":\"}\"}]},"
        "\"user\":\"a\\u001b[31m\\u00e4\\ud83d\\ude00\\ud800\\n\","
        "\"coverage\":12.5e-1,\"wait_s\":0.1,\"judged\":false,\"name\":null,"
        "\"findings\":[{\"kind\":\"late_rank\",\"more\":1,\"rank\":3}]} \r";
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(history_line_parse(line, strlen(line), &step, &err), 0);
    assert_int_equal(step.job, 7);
    assert_string_equal(HISTORY_SHOW(step.user),
                        "a?[31m\xc3\xa4\xf0\x9f\x98\x80??");
    assert_true(fabs(step.coverage - 1.25) < 1e-15);
    assert_true(fabs(step.wait_s - 0.1) < 1e-16);
    assert_int_equal(step.judged, 0);
    assert_int_equal(step.name.len, 0);
    /* missing members have the value that stands for "unknown" */
    assert_true(isnan(step.gpu_s));
    assert_true(step.nodes == UINT64_MAX);
    assert_int_equal(step.n_findings, 1);
    assert_int_equal(step.findings[0].rank, 3);
    assert_true(isnan(step.findings[0].wait_s));
}

/* A line that was written is read back unchanged; of more findings than the
 * table holds, the first are kept. */
static void test_round_trip(void **state)
{
    struct site site;
    struct jp_error err = {""};

    (void) state;
    site_init(&site, 50, (unsigned[SITE_BAD]){3, 4}, 5);
    for (int i = 0; i < 300; i++) {
        char *line = NULL, *more = NULL;
        size_t len = 0, n = 0;
        FILE *out = open_memstream(&line, &len);

        site_next(&site, &step);
        assert_int_equal(history_line_put(&step, out, &err), 0);
        fclose(out);
        assert_int_equal(history_line_parse(line, len - 1, &again, &err), 0);
        out = open_memstream(&more, &n);
        assert_int_equal(history_line_put(&again, out, &err), 0);
        fclose(out);
        /* the parser unescapes within the line; site's lines have no escapes,
         * so it is unchanged */
        assert_int_equal(n, len);
        assert_memory_equal(line, more, n);
        free(line);
        free(more);
    }
    {
        char line[4096] = "{" NEEDED ",\"findings\":[{}";
        size_t n = strlen(line);

        for (int i = 0; i < 40; i++)
            n += (size_t) snprintf(line + n, sizeof(line) - n, ",{\"rank\":1}");
        snprintf(line + n, sizeof(line) - n, "]}");
        assert_int_equal(history_line_parse(line, strlen(line), &step, &err),
                         0);
        assert_int_equal(step.n_findings, HISTORY_FINDINGS);
    }
}

/* --- lists of nodes ------------------------------------------------------- */

static char got[4096];
static unsigned n_got;

/* Collects the first names in GOT and counts all in N_GOT. */
static int take(void *arg, struct history_text node)
{
    size_t n = strlen(got);

    (void) arg;
    n_got++;
    if (n < 200)
        snprintf(got + n, sizeof(got) - n, "%s%.*s", n ? " " : "",
                 (int) node.len, node.at);
    return 0;
}

/* Lists as in SLURM_JOB_NODELIST. The history's lines come from other users, so
 * a short list that stands for too many nodes is refused. */
static void test_nodes(void **state)
{
    static const struct {
        const char *list, *nodes; /* NULL: refused */
    } rows[] = {
        {"n1", "n1"},
        {"n[1-3],gpu7", "n1 n2 n3 gpu7"},
        {"n[08-10,5]", "n08 n09 n10 n5"},
        {"r[0-1]n[1-2]x", "r0n1x r0n2x r1n1x r1n2x"},
        {"", ""},
        {"a,,b,", NULL},
        {"n[3-1]", NULL},
        {"n[]", NULL},
        {"n[1", NULL},
        {"n1]", NULL},
        {"n[1-]", NULL},
        {"n[a]", NULL},
        {"n[1;2]", NULL},
        {"n[1-16385]", NULL},
        {"n[1-99999999999]", NULL},
        {"n[1-999][1-999]", NULL},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int rc;

        got[0] = '\0';
        rc = history_nodes_each(text(rows[i].list), take, NULL);
        if (!rows[i].nodes && rc != -1)
            fail_msg("\"%s\" is taken", rows[i].list);
        if (rows[i].nodes) {
            assert_int_equal(rc, 0);
            assert_string_equal(got, rows[i].nodes);
        }
    }
    /* the largest list that is accepted */
    n_got = 0;
    assert_int_equal(history_nodes_each(text("n[1-16384]"), take, NULL), 0);
    assert_int_equal(n_got, 16384);
}

/* One user can add only so many names to the table that all users share. A
 * lookup (MAY is NULL) adds none. */
static void test_names(void **state)
{
    struct history_names names = {0};
    uint64_t may = 1000;
    bool failed = false;
    char name[32];

    (void) state;
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t id;

        snprintf(name, sizeof(name), "name %u", i);
        id = history_names_put(&names, text(name), &may, &failed);
        assert_int_equal(id, i < 1000 ? i : HISTORY_NO_NAME);
    }
    assert_int_equal(history_names_put(&names, text("name 7"), NULL, &failed),
                     7);
    assert_string_equal(history_names_at(&names, 999), "name 999");
    assert_string_equal(history_names_at(&names, 1000), "");
    assert_false(failed);
    history_names_fini(&names);
}

/* --- chances -------------------------------------------------------------- */

/* The probability of K or more successes of N, compared with exact values. */
static void test_chance(void **state)
{
    static const struct {
        uint64_t k, n;
        double p, chance;
    } rows[] = {
        /* computed with exact fractions */
        {3, 3, 0.5, 0.125},
        {5, 10, 0.25, 0.07812690734863281},
        {10, 100, 0.05, 0.028188294163416},
        {40, 100, 0.1, 2.945529793746522e-15},
        {60, 500, 0.0625, 1.3012802259461342e-06},
        {1, 1, 0.01, 1}, /* up to the mean + 1 no probability is computed: 1 */
        {0, 10, 0.5, 1},
        {2, 10, 0.5, 1},
        {4, 3, 0.5, 0},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double chance = history_chance(rows[i].k, rows[i].n, rows[i].p);

        if (fabs(chance - rows[i].chance) > 1e-3 * rows[i].chance)
            fail_msg("row %zu: %g", i, chance);
    }
    /* so small that it may underflow, but it must not become NAN or 1 */
    assert_true(history_chance(100000, 1000000, 0.05) < 1e-300);
}

/* The limits that jobprof history uses by default */
static struct history_want want = {.chance = 0.01, .votes = 3, .changed = 0.01};

/* The sums of the next STEPS steps of SITE. */
static struct history_sum *sum_of(struct site *site, unsigned steps)
{
    struct history_sum *sum = history_sum_create(&want);

    for (unsigned i = 0; i < steps; i++) {
        site_next(site, &step);
        assert_int_equal(history_sum_add(sum, &step, -1), 1);
    }
    assert_int_equal(history_sum_finish(sum), 0);
    return sum;
}

/* 100 clusters of 200 nodes: the two bad nodes are at the top of each, and in
 * at most one cluster a good node is called slow, as the limit of 0.01
 * promises. */
static void test_bad_nodes(void **state)
{
    unsigned false_alarms = 0;

    (void) state;
    for (unsigned seed = 1; seed <= 100; seed++) {
        unsigned bad[SITE_BAD] = {1 + seed * 7 % 200, 1 + seed * 13 % 200};
        struct site site;
        struct history_sum *sum;
        const struct history_row *rows;
        char a[8], b[8];
        size_t n;

        /* the two must differ */
        bad[1] += bad[0] == bad[1];
        site_init(&site, 200, bad, seed);
        sum = sum_of(&site, 10000);
        rows = history_sum_rows(sum, HISTORY_TOP_NODES, &n);
        snprintf(a, sizeof(a), "n%03u", bad[0]);
        snprintf(b, sizeof(b), "n%03u", bad[1]);
        assert_true(n >= 200);
        for (size_t i = 0; i < 2; i++) {
            assert_true(!strcmp(rows[i].name, a) || !strcmp(rows[i].name, b));
            assert_int_equal(rows[i].slow, 1);
        }
        false_alarms += history_sum_totals(sum)->slow > 2;
        history_sum_destroy(sum);
    }
    print_message("# %u of 100 sites with a false alarm\n", false_alarms);
    assert_true(false_alarms <= 1);
}

/* Clusters without a bad node, with ten times as many steps: no node is called
 * slow. */
static void test_sound_sites(void **state)
{
    unsigned false_alarms = 0;

    (void) state;
    for (unsigned seed = 1; seed <= 5; seed++) {
        struct site site;
        struct history_sum *sum;

        site_init(&site, 200, NULL, 1000 + seed);
        sum = sum_of(&site, 100000);
        false_alarms += history_sum_totals(sum)->slow > 0;
        history_sum_destroy(sum);
    }
    assert_int_equal(false_alarms, 0);
}

/* N_STEPS steps of one job on n1 to n8, all of them with the node LATE late. */
static void add_job(struct history_sum *sum, uint64_t job, const char *user,
                    const char *late, unsigned n_steps)
{
    char number[16];

    for (unsigned i = 0; i < n_steps; i++) {
        history_step_init(&step);
        snprintf(number, sizeof(number), "%u", i);
        step.job = job;
        step.time_us = 1000000 * job + i;
        step.step = text(number);
        step.user = text(user);
        step.verdict = text("SLOW");
        step.nodelist = text("n[1-8]");
        step.judged = 1;
        step.n_findings = 1;
        step.findings[0] = (struct history_finding){.kind = text("late_node"),
                                                    .node = text(late),
                                                    .rank = UINT64_MAX,
                                                    .wait_s = 1,
                                                    .share = NAN,
                                                    .cause = text("gpu_clock"),
                                                    .coll = text("")};
        assert_int_equal(history_sum_add(sum, &step, -1), 1);
    }
}

/* The node's row in the table of nodes. */
static const struct history_row *row_of(const struct history_sum *sum,
                                        const char *node)
{
    size_t n;
    const struct history_row *rows =
        history_sum_rows(sum, HISTORY_TOP_NODES, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, node))
            return &rows[i];
    fail_msg("no row of %s", node);
    return NULL;
}

/* A job has one vote however many steps it has: its steps are not independent.
 * And the jobs of a single user prove nothing if other users' jobs find the
 * node good, since then it is probably the program. */
static void test_votes(void **state)
{
    struct history_sum *sum = history_sum_create(&want);
    const struct history_row *row;

    (void) state;
    add_job(sum, 1, "alice", "n3", 100);
    assert_int_equal(history_sum_finish(sum), 0);
    row = row_of(sum, "n3");
    assert_int_equal(row->late, 1);
    assert_int_equal(row->late_steps, 100);
    assert_int_equal(row->slow, 0);
    assert_true(row->chance > 0.9);
    history_sum_destroy(sum);

    sum = history_sum_create(&want);
    for (uint64_t job = 1; job <= 9; job++)
        add_job(sum, job, "alice", "n3", 1);
    assert_int_equal(history_sum_finish(sum), 0);
    row = row_of(sum, "n3");
    /* with only one user there is nothing to compare with */
    assert_int_equal(row->slow, 1);
    /* one of eight nodes gets all nine votes; times 8, because any of them
     * could have */
    assert_true(fabs(row->expected - 9.0 / 8) < 1e-9);
    assert_true(fabs(row->chance / (8 * pow(1.0 / 8, 9)) - 1) < 1e-9);
    assert_string_equal(row->cause, "gpu_clock");
    assert_int_equal(row->users, 1);
    history_sum_destroy(sum);

    sum = history_sum_create(&want);
    for (uint64_t job = 1; job <= 9; job++)
        add_job(sum, job, "alice", "n3", 1);
    /* another user ran on n3, too, and it was not late */
    add_job(sum, 20, "bob", "n5", 1);
    assert_int_equal(history_sum_finish(sum), 0);
    row = row_of(sum, "n3");
    assert_int_equal(row->slow, 0);
    assert_string_equal(row->note, "by one user's jobs");
    history_sum_destroy(sum);

    sum = history_sum_create(&want);
    for (uint64_t job = 1; job <= 9; job++) {
        add_job(sum, job, "alice", "n3", 1);
        add_job(sum, 20 + job, "bob", "n3", 1);
    }
    assert_int_equal(history_sum_finish(sum), 0);
    assert_int_equal(row_of(sum, "n3")->slow, 1);
    assert_int_equal(row_of(sum, "n1")->slow, 0);
    history_sum_destroy(sum);
}

/* A node that is the first of every job, and late for all users, is not called
 * slow: rank 0 often has more to do. */
static void test_first_nodes(void **state)
{
    static const char *const users[] = {"a", "b", "c", "d"};
    struct history_sum *sum = history_sum_create(&want);

    (void) state;
    for (uint64_t job = 1; job <= 40; job++)
        add_job(sum, job, users[job % 4], "n1", 1);
    assert_int_equal(history_sum_finish(sum), 0);
    assert_int_equal(row_of(sum, "n1")->late, 40);
    assert_int_equal(row_of(sum, "n1")->slow, 0);
    history_sum_destroy(sum);
}

/* --user, --account and --node select steps; history_sum_add returns whether it
 * took the step. */
static void test_wanted(void **state)
{
    struct history_want some = want;
    struct history_sum *sum;
    struct site site;
    size_t n;

    (void) state;
    some.user = "user03";
    sum = history_sum_create(&some);
    site_init(&site, 20, NULL, 3);
    for (int i = 0; i < 2000; i++) {
        site_next(&site, &step);
        assert_int_equal(history_sum_add(sum, &step, -1), site.user == 3);
    }
    assert_int_equal(history_sum_finish(sum), 0);
    assert_int_equal(history_sum_totals(sum)->users, 1);
    history_sum_destroy(sum);

    some = want;
    some.node = "n007";
    some.account = "group2";
    sum = history_sum_create(&some);
    for (int i = 0; i < 2000; i++) {
        bool with = false;

        site_next(&site, &step);
        for (unsigned k = 0; k < site.n; k++)
            with |= site.members[k] == 7;
        assert_int_equal(history_sum_add(sum, &step, -1),
                         with && site.user % 5 == 2);
    }
    assert_int_equal(history_sum_finish(sum), 0);
    /* with --node the table has only that node */
    history_sum_rows(sum, HISTORY_TOP_NODES, &n);
    assert_int_equal(n, 1);
    history_sum_destroy(sum);
}

/* Two pairs of nodes over 60 days, with noise of up to 5 %: one loses 0.25 GB/s
 * of 50 each day, the other stays. Only the first is reported as slower. */
static void test_pairs(void **state)
{
    struct history_sum *sum = history_sum_create(&want);
    const struct history_row *rows;
    uint64_t random = 1;
    size_t n;

    (void) state;
    for (unsigned day = 0; day < 60; day++) {
        double noise[2];

        for (int i = 0; i < 2; i++) {
            /* a linear congruential generator: its upper bits are used */
            random = random * UINT64_C(6364136223846793005) +
                     1442695040888963407;
            noise[i] = (double) (random >> 40) / (1 << 24) - 0.5;
        }
        history_step_init(&step);
        step.job = day;
        step.time_us = UINT64_C(1790000000000000) + day * UINT64_C(86400000000);
        step.verdict = text("OK");
        step.n_pairs = 2;
        step.pairs[0] =
            (struct history_pair){text("n1"), text("n2"), 1, 50 + 5 * noise[0]};
        step.pairs[1] = (struct history_pair){text("n1"), text("n3"), 1,
                                              50 - day / 4.0 + 5 * noise[1]};
        assert_int_equal(history_sum_add(sum, &step, -1), 1);
    }
    assert_int_equal(history_sum_finish(sum), 0);
    rows = history_sum_rows(sum, HISTORY_TOP_PAIRS, &n);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].to, "n3");
    assert_int_equal(rows[0].slow, 1);
    assert_true(rows[0].change > -0.42 && rows[0].change < -0.28);
    assert_int_equal(rows[1].slow, 0);
    assert_true(fabs(rows[1].change) < 0.05);
    history_sum_destroy(sum);
}

static void test_metrics(void **state)
{
    (void) state;
    check_metrics(history_metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),     cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_good_line),   cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_nodes),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_chance),      cmocka_unit_test(test_bad_nodes),
        cmocka_unit_test(test_sound_sites), cmocka_unit_test(test_votes),
        cmocka_unit_test(test_first_nodes), cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
