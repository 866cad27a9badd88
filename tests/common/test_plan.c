/* test_plan.c - the precedence of settings' sources, and locks. */
#include "common/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* The environment of a row. */
struct row {
    const char *site, *user;  /* text of the files; NULL: absent */
    const char *def;          /* plugstack's default= */
    const char *env, *option; /* JOBPROF_NCCL, --nccl-profile */
    /* expected */
    const char *mode;
    enum plan_source mode_source;
    const char *mem;
    enum plan_source mem_source;
};

static const char *home, *kernels, *set_by_us;
static const struct row *current;

static const char *row_env(void *arg, const char *name)
{
    (void) arg;
    if (!strcmp(name, "JOBPROF_NCCL"))
        return current->env;
    if (!strcmp(name, "JOBPROF_RECORDER_KERNELS"))
        return kernels;
    if (!strcmp(name, "JOBPROF_SET"))
        return set_by_us;
    return strcmp(name, "HOME") ? NULL : home;
}

static struct plan_input input_of(const struct row *row, const char *dir,
                                  char **site)
{
    struct plan_input in = {.default_mode = row->def,
                            .given[OPTION_NCCL] = row->option,
                            .env = row_env};
    char *user;

    current = row;
    home = dir;
    *site = tempdir_file(dir, "site.conf", 0600, row->site ? row->site : "");
    user = tempdir_file(dir, ".config/jobprof/jobprof.conf", 0600,
                        row->user ? row->user : "");
    free(user);
    in.config = *site;
    return in;
}

#define SITE "nccl = { default = \"auto\"; mem = \"2M\"; };"
#define USER "nccl = { mem = \"3M\"; };"
#define LOCKED "nccl = { mem = \"2M\"; };\nlock = [ \"nccl.mem\" ];"

static const struct row good_rows[] = {
    {NULL, NULL, NULL, NULL, NULL, "off", PLAN_DEFAULT, "256M", PLAN_DEFAULT},
    {NULL, NULL, "auto", NULL, NULL, "auto", PLAN_SITE, "256M", PLAN_DEFAULT},
    {SITE, NULL, "recorder", NULL, NULL, "auto", PLAN_SITE, "2M", PLAN_SITE},
    {SITE, USER, NULL, NULL, NULL, "auto", PLAN_SITE, "3M", PLAN_USER},
    {SITE, "nccl = { default = \"off\"; };", NULL, NULL, NULL, "off", PLAN_USER,
     "2M", PLAN_SITE},
    {SITE, USER, NULL, "example", NULL, "example", PLAN_ENV, "3M", PLAN_USER},
    {SITE, USER, NULL, "auto,mem=4M", NULL, "auto", PLAN_ENV, "4M", PLAN_ENV},
    {SITE, USER, NULL, "off", NULL, "off", PLAN_ENV, "3M", PLAN_USER},
    {SITE, USER, NULL, "auto,mem=4M", "recorder", "recorder", PLAN_OPTION, "4M",
     PLAN_ENV},
    {SITE, USER, NULL, "auto,mem=4M", "recorder,mem=5M", "recorder",
     PLAN_OPTION, "5M", PLAN_OPTION},
    {SITE, USER, NULL, "auto,mem=4M", "off", "off", PLAN_OPTION, "4M",
     PLAN_ENV},
    {NULL, NULL, NULL, "", NULL, "off", PLAN_DEFAULT, "256M", PLAN_DEFAULT},
    {LOCKED, NULL, NULL, NULL, "auto", "auto", PLAN_OPTION, "2M", PLAN_SITE},
    {LOCKED, NULL, NULL, NULL, "auto,mem=2048K", "auto", PLAN_OPTION, "2048K",
     PLAN_OPTION},
    /* an option that is off cannot violate a lock */
    {LOCKED, USER, NULL, NULL, NULL, "off", PLAN_DEFAULT, "3M", PLAN_USER},
};

/* One option under a site's file. */
static int check_option(const char *text, const char *path,
                        struct jp_error *err)
{
    struct jp_sitefile site = {0};
    int rc;

    plan_load_site(path, &site, NULL);
    rc = plan_check(grammar_nccl(), text, &site, err);
    sitefile_fini(&site);
    return rc;
}

static void test_precedence(void **state)
{
    for (size_t i = 0; i < N(good_rows); i++) {
        const struct row *row = &good_rows[i];
        struct jp_plan plan;
        struct jp_error err = {""};
        const struct plan_value *mem;
        char *site;
        struct plan_input in = input_of(row, *state, &site);

        if (plan_make(&in, &plan, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        mem = plan_find(&plan.sides[OPTION_NCCL], "mem");
        if (strcmp(plan.sides[OPTION_NCCL]
                       .grammar->modes[plan.sides[OPTION_NCCL].mode]
                       .name,
                   row->mode) ||
            plan.sides[OPTION_NCCL].mode_source != row->mode_source ||
            strcmp(mem->value, row->mem) || mem->source != row->mem_source)
            fail_msg("row %zu: %d from %d, mem %s from %d", i,
                     plan.sides[OPTION_NCCL].mode,
                     (int) plan.sides[OPTION_NCCL].mode_source, mem->value,
                     (int) mem->source);
        plan_fini(&plan);
        free(site);
    }
}

static const struct {
    struct row row;
    const char *error;
} bad_rows[] = {
    {{LOCKED, NULL, NULL, NULL, "auto,mem=4M", NULL, 0, NULL, 0},
     "--nccl-profile: \"mem=4M\" is locked to 2M by "},
    {{LOCKED, NULL, NULL, "auto,mem=4M", NULL, NULL, 0, NULL, 0},
     "JOBPROF_NCCL: \"mem=4M\" is locked"},
    {{LOCKED, USER, NULL, NULL, "auto", NULL, 0, NULL, 0},
     "jobprof.conf:1: \"mem=3M\" is locked to 2M by "},
    {{"lock = [ \"nccl.disk\" ];", NULL, NULL, NULL, "auto,disk=1G", NULL, 0,
      NULL, 0},
     "is locked to 10G by "},
    {{NULL, NULL, NULL, "inspectr", NULL, NULL, 0, NULL, 0},
     "JOBPROF_NCCL: unknown mode \"inspectr\""},
    {{NULL, NULL, "wibble", NULL, NULL, NULL, 0, NULL, 0},
     "plugstack.conf: unknown mode \"wibble\""},
    {{NULL, NULL, NULL, NULL, "auto,x=1", NULL, 0, NULL, 0},
     "--nccl-profile: unknown key \"x\""},
    {{"nccl = 1;", NULL, NULL, NULL, "auto", NULL, 0, NULL, 0},
     "site.conf:1: \"nccl\" is not a group"},
    {{NULL, "policy = {};\nlock = ();", NULL, NULL, "auto", NULL, 0, NULL, 0},
     "jobprof.conf:2: \"lock\" is allowed only in the site"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < N(bad_rows); i++) {
        struct jp_plan plan, before;
        struct jp_error err = {""};
        char *site;
        struct plan_input in = input_of(&bad_rows[i].row, *state, &site);

        memset(&plan, 0x5a, sizeof(plan));
        before = plan;
        if (plan_make(&in, &plan, &err) != -1 ||
            !strstr(err.text, bad_rows[i].error))
            fail_msg("row %zu: \"%s\"", i, err.text);
        assert_memory_equal(&plan, &before, sizeof(plan));
        assert_int_equal(plan_make(&in, &plan, NULL), -1);
        free(site);
    }
}

static void test_missing_config(void **state)
{
    struct plan_input in = {.env = row_env, .config = "/nonexistent/x.conf"};
    struct jp_plan plan;
    struct jp_error err;

    current = &good_rows[0];
    home = NULL;
    (void) state;
    assert_int_equal(plan_make(&in, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/x.conf"));
    assert_null(plan_user_path(&in));
}

/* --check refuses the option's text, never the state of the files. */
static void test_check(void **state)
{
    char *site = tempdir_file(*state, "site.conf", 0600, LOCKED);
    char *broken = tempdir_file(*state, "broken.conf", 0600, "nccl = ");
    struct jp_error err;

    assert_int_equal(check_option("auto,mem=2M", site, &err), 0);
    assert_int_equal(check_option("auto,mem=4M", site, &err), -1);
    assert_non_null(strstr(err.text, "site.conf:1"));
    assert_int_equal(check_option("auto,mem=4M", broken, &err), 0);
    assert_int_equal(check_option("auto,mem=4M", "/none", &err), 0);
    assert_int_equal(check_option(NULL, site, NULL), -1);
    free(site);
    free(broken);
}

/* kernels= by each of its sources; the recorder's own variable is one. */
static const struct {
    const char *site, *user, *variable, *ours, *env, *option;
    const char *value; /* or part of the error */
    enum plan_source source;
    bool refused;
} kernels_rows[] = {
    {NULL, NULL, NULL, NULL, NULL, "auto", "auto", PLAN_DEFAULT, false},
    {"nccl = { kernels = 0; };", NULL, NULL, NULL, NULL, "auto", "0", PLAN_SITE,
     false},
    {"nccl = { kernels = \"0\"; };", "nccl = { kernels = \"auto\"; };", NULL,
     NULL, NULL, "recorder", "auto", PLAN_USER, false},
    {NULL, "nccl = { kernels = 0; };", "1", NULL, NULL, "recorder", "1",
     PLAN_ENV, false},
    {NULL, NULL, "1", "JOBPROF_RECORDER_MEM", NULL, "recorder", "1", PLAN_ENV,
     false},
    {NULL, NULL, "1",
     "A,"
     "JOBPROF_RECORDER_KERNELS",
     NULL, "recorder", "auto", PLAN_DEFAULT, false},
    {NULL, NULL, "1", NULL, "auto,kernels=0", NULL, "0", PLAN_ENV, false},
    {NULL, NULL, "1", NULL, "auto,kernels=0", "recorder,kernels=auto", "auto",
     PLAN_OPTION, false},
    {NULL, NULL, "on", NULL, NULL, "recorder",
     "JOBPROF_RECORDER_KERNELS"
     ": \"on\" is not one of auto|1|0",
     0, true},
    {"nccl = { kernels = 2; };", NULL, NULL, NULL, NULL, "recorder",
     "site.conf:1: nccl.kernels: \"2\" is not one of auto|1|0", 0, true},
    {"lock = [ \"nccl.kernels\" ];", NULL, "1", NULL, NULL, "recorder",
     "JOBPROF_RECORDER_KERNELS"
     ": \"kernels=1\" is locked to auto by ",
     0, true},
    {"nccl = { kernels = 0; };\nlock = [ \"nccl.kernels\" ];", NULL, NULL, NULL,
     NULL, "recorder,kernels=1", "\"kernels=1\" is locked to 0 by ", 0, true},
};

static void test_kernels(void **state)
{
    for (size_t i = 0; i < N(kernels_rows); i++) {
        struct row row = {kernels_rows[i].site,
                          kernels_rows[i].user,
                          NULL,
                          kernels_rows[i].env,
                          kernels_rows[i].option,
                          NULL,
                          0,
                          NULL,
                          0};
        const struct plan_value *value;
        struct jp_error err = {""};
        struct jp_plan plan;
        char *site;
        struct plan_input in = input_of(&row, *state, &site);
        int rc;

        kernels = kernels_rows[i].variable;
        set_by_us = kernels_rows[i].ours;
        rc = plan_make(&in, &plan, &err);
        kernels = set_by_us = NULL;
        free(site);
        if (rc < 0) {
            if (!kernels_rows[i].refused ||
                !strstr(err.text, kernels_rows[i].value))
                fail_msg("row %zu: %s", i, err.text);
            continue;
        }
        value = plan_find(&plan.sides[OPTION_NCCL], "kernels");
        if (kernels_rows[i].refused ||
            strcmp(value->value, kernels_rows[i].value) != 0 ||
            value->source != kernels_rows[i].source)
            fail_msg("row %zu: %s from %d", i, value->value,
                     (int) value->source);
        plan_fini(&plan);
    }
}

static void test_lookup(void **state)
{
    static const struct row row = {
        "nccl = { recorder = \"/r.so\"; version = \"2.28.3\"; };\n"
        "summary = \"card\";",
        NULL,
        NULL,
        NULL,
        "auto",
        NULL,
        0,
        NULL,
        0};
    struct jp_plan plan;
    char *site;
    struct plan_input in = input_of(&row, *state, &site);

    assert_int_equal(plan_make(&in, &plan, NULL), 0);
    assert_string_equal(plan_site(&plan, "nccl.recorder"), "/r.so");
    assert_null(plan_site(&plan, "nccl.inspector"));
    assert_int_equal(plan_number(&plan.sides[OPTION_NCCL], "nccl"),
                     JP_NCCL_RELEASE(2, 28, 3));
    assert_int_equal(plan_number(&plan.sides[OPTION_NCCL], "summary"),
                     JP_SUMMARY_CARD);
    assert_int_equal(plan_number(&plan.sides[OPTION_NCCL], "dir"), 0);
    assert_int_equal(plan_number(&plan.sides[OPTION_NCCL], "wibble"), 0);
    assert_null(plan_get(&plan.sides[OPTION_NCCL], "wibble"));
    assert_null(plan_get(&plan.sides[OPTION_COPPER], "mount"));
    plan_fini(&plan);
    plan_fini(&plan);
    plan_fini(NULL);
    free(site);
}

static int make_home(void **state)
{
    char *path;

    if (tempdir_make(state) < 0)
        return -1;
    path = tempdir_path(*state, ".config");
    mkdir(path, 0700);
    free(path);
    path = tempdir_path(*state, ".config/jobprof");
    mkdir(path, 0700);
    free(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_missing_config), cmocka_unit_test(test_check),
        cmocka_unit_test(test_lookup),         cmocka_unit_test(test_kernels),
    };

    return cmocka_run_group_tests_name("plan", tests, make_home, tempdir_drop);
}
