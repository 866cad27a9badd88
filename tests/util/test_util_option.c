/* test_util_option.c - --util-profile: its words, its sources, and its part of
 * job.conf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/grammar.h"
#include "common/knob.h"
#include "common/plan.h"
#include "plugins/util/util_launch.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *text, *error;
} bad_rows[] = {
    {"", "needs a value: off or auto, or a period"},
    {"on", "unknown mode \"on\"; did you mean \"auto\"?"},
    {"./train", "looks like the program"},
    {"1h", "\"1h\""},
    {"61s", "period: 61s is out of range"},
    {"2x", "period: \"2x\" is not a time"},
    {"aut", "did you mean \"auto\"?"},
    {"auto,cuda=2", "cuda"},
    {"auto,iterations=3", "is a key of --nccl-profile"},
    {"off,labels=a:b", "cannot be used with \"off\""},
    {"200ms,period=1s", "given more than once"},
    {"auto,labels=", "needs a value"},
    {"auto,labels=a", "\"a\" is not a label"},
    {"auto,labels=a:", "is not a label"},
    {"auto,labels=:b", "is not a label"},
    {"auto,labels=a b:c", "is not a label"},
    {"auto,labels=a:b;a:c", "\"a\" is given more than once"},
    {"auto,labels=a:b;;c:d", "is not a label"},
    {"auto,labels=a:\xff", "is not a label"},
    {"auto,labels=a:\xc2\x9b", "is not a label"},
    {"auto,labels=0:1;1:1;2:1;3:1;4:1;5:1;6:1;7:1;8:1;9:1;a:1;b:1;c:1;d:1;e:1;"
     "f:1;g:1",
     "\"g:1\" is not a label"},
    {"auto,labels=k0123456789012345678901234567890123456789:b",
     "is not a label"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < N(bad_rows); i++) {
        struct jp_request request;
        struct jp_error err = {""};
        int rc = request_parse(grammar_of(OPTION_UTIL), bad_rows[i].text,
                               &request, &err);

        if (rc != -1 || !strstr(err.text, bad_rows[i].error))
            fail_msg("%s: %d \"%s\" lacks \"%s\"", bad_rows[i].text, rc,
                     err.text, bad_rows[i].error);
    }
}

static void test_labels(void **state)
{
    const char *at = "model:gpt: 3;run:\xc3\xa9t\xc3\xa9;";
    const struct jp_knob labels = {.kind = JP_KNOB_LABELS};
    struct userlabel label;

    assert_int_equal(knob_check(&labels, at, NULL), 0);
    assert_true(userlabels_next(&at, &label));
    assert_string_equal(label.key, "model");
    assert_string_equal(label.value, "gpt: 3");
    assert_true(userlabels_next(&at, &label));
    assert_string_equal(label.key, "run");
    assert_string_equal(label.value, "\xc3\xa9t\xc3\xa9");
    assert_string_equal(at, "");
    assert_false(userlabels_next(&at, &label));
}

/* --- sources --------------------------------------------------------------
 */

struct row {
    const char *site, *user; /* contents of the files */
    const char *env, *option, *nccl;
    uint32_t period_ms;
    bool sampled; /* the user has requested samples */
    bool given;   /* job.conf's settings have it */
};

static const struct row *current;
static const char *home;

static const char *row_env(void *arg, const char *name)
{
    if (!strcmp(name, "JOBPROF_UTIL"))
        return current->env;
    return strcmp(name, "HOME") ? NULL : home;
}

#define NONE "policy: { util_period = 0; };"
#define SLOW "policy: { util_period = \"5s\"; };"
#define FOR_ALL "util: { default = \"auto\"; };"

static const struct row rows[] = {
    /* nobody asks for anything */
    {"", "", NULL, NULL, NULL, 0, false, false},
    {"", "", NULL, "off", NULL, 0, false, false},
    /* alone */
    {"", "", NULL, "auto", NULL, 1000, true, true},
    {"", "", NULL, "200ms", NULL, 200, true, true},
    {"", "", NULL, "1ms", NULL, 100, true, true},
    {"", "", NULL, "0", NULL, 0, false, false},
    {"", "", "auto,period=2s", NULL, NULL, 2000, true, true},
    {"", "", "3s", "auto", NULL, 3000, true, true},
    {"", "", "3s", "500ms", NULL, 500, true, true},
    {"", "", "3s", "off", NULL, 0, false, false},
    {SLOW, "", NULL, "auto", NULL, 5000, true, true},
    {SLOW, SLOW, NULL, "4s", NULL, 4000, true, true},
    {SLOW, "policy: { util_period = \"6s\"; };", NULL, "auto", NULL, 6000, true,
     true},
    {NONE, "", NULL, "auto", NULL, 1000, true, true},
    /* beside NCCL's profile */
    {"", "", NULL, NULL, "auto", 1000, false, true},
    {"", "", NULL, NULL, "plan", 1000, false, true},
    {SLOW, "", NULL, NULL, "auto", 5000, false, true},
    {NONE, "", NULL, NULL, "auto", 0, false, false},
    {NONE, "", NULL, "auto", "auto", 1000, true, true},
    {"", "", NULL, "off", "auto", 0, false, false},
    {"", "", "off", NULL, "auto", 0, false, false},
    {"", "util: { default = \"off\"; };", NULL, NULL, "auto", 0, false, false},
    /* a default of the site alone makes no report; beside its NCCL profile it
     * is for all steps */
    {FOR_ALL, "", NULL, NULL, NULL, 1000, false, true},
    {"nccl: { default = \"auto\"; };" FOR_ALL, "", NULL, NULL, NULL, 1000,
     false, true},
    {"nccl: { default = \"auto\"; };", "", NULL, NULL, NULL, 0, false, false},
    /* locks */
    {SLOW "lock = [ \"policy.util_period\" ];", "", NULL, "5000ms", NULL, 5000,
     true, true},
};

static void make(const struct row *row, const char *dir, struct jp_plan *plan)
{
    char *site = tempdir_file(dir, "site.conf", 0600, row->site);
    struct plan_input in = {.config = site,
                            .given[OPTION_UTIL] = row->option,
                            .given[OPTION_NCCL] = row->nccl,
                            .env = row_env};
    struct jp_error err = {""};

    free(tempdir_file(dir, ".config/jobprof/jobprof.conf", 0600, row->user));
    current = row;
    home = dir;
    if (plan_make(&in, plan, &err) < 0)
        fail_msg("%s %s: %s", row->site, row->option, err.text);
    free(site);
}

static void test_sources(void **state)
{
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan;
        struct jp_jobconf conf = {0};
        char text[128];

        make(&rows[i], *state, &plan);
        conf.policy = plan.policy;
        assert_int_equal(util_side.fill(&(struct side_step){.plan = &plan},
                                        &conf, NULL, NULL),
                         0);
        if (conf.policy.period_ms != rows[i].period_ms ||
            plan_side_is_asked(&plan.sides[OPTION_UTIL]) != rows[i].sampled ||
            (jobconf_side_find(&conf, OPTION_UTIL, "period") != NULL) !=
                rows[i].given)
            fail_msg("row %zu: every %u ms, %d", i, conf.policy.period_ms,
                     plan_side_is_asked(&plan.sides[OPTION_UTIL]));
        util_side.describe(&conf, text, sizeof(text));
        assert_true((strstr(text, "no samples") == NULL) ==
                    (rows[i].period_ms > 0));
        free(conf.sides[OPTION_UTIL].request);
        conf.sides[OPTION_UTIL].request = NULL;
        jobconf_fini(&conf);
        plan_fini(&plan);
    }
}

static void test_locked(void **state)
{
    char *site = tempdir_file(*state, "site.conf", 0600,
                              SLOW "lock = [ \"policy.util_period\" ];");
    struct jp_sitefile file = {0};
    struct jp_error err = {""};

    assert_int_equal(plan_load_site(site, &file, NULL), 0);
    assert_int_equal(plan_check(grammar_of(OPTION_UTIL), "1s", &file, &err),
                     -1);
    assert_non_null(strstr(err.text, "is locked to 5s by "));
    sitefile_fini(&file);
    free(site);
}

/* The settings reach job.conf and can be read back. */
static void test_conf(void **state)
{
    const struct row row = {"",   "",  NULL, "500ms,labels=model:x;run:7",
                            NULL, 500, true, true};
    char *path = tempdir_path(*state, "job.conf");
    struct jp_jobconf conf = {.schema = 1}, back;
    struct jp_plan plan;

    make(&row, *state, &plan);
    conf.policy = plan.policy;
    assert_int_equal(
        util_side.fill(&(struct side_step){.plan = &plan}, &conf, NULL, NULL),
        0);
    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    assert_int_equal(jobconf_read(path, &back, NULL), 0);
    assert_string_equal(back.sides[OPTION_UTIL].request, "auto");
    assert_int_equal(back.policy.period_ms, 500);
    assert_string_equal(jobconf_side_find(&back, OPTION_UTIL, "mode"), "auto");
    assert_string_equal(jobconf_side_find(&back, OPTION_UTIL, "period"),
                        "500 ms");
    assert_string_equal(jobconf_side_find(&back, OPTION_UTIL, "labels"),
                        "model:x;run:7");
    assert_string_equal(back.sides[OPTION_UTIL].settings[0].source, "option");
    jobconf_fini(&back);
    jobconf_fini(&conf);
    plan_fini(&plan);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_labels),
        cmocka_unit_test_setup_teardown(test_sources, tempdir_make_home,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_locked, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_conf, tempdir_make_home,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
