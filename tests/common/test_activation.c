/* test_activation.c - the jobs to which a site's default applies, and its
 * lock. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/plan.h"
#include "orchestrator/collect/slurmask.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define HOUR 3600000000ULL

/* The job of a row, and the expected result. */
struct row {
    const char *site;                                     /* the conditions */
    const char *partition, *account, *gpus, *start, *end; /* variables */
    const struct jp_jobfacts *slurm; /* its answer; NULL: none */
    bool asked;                      /* Slurm is asked */
    const char *reason;              /* NULL: the default does not apply */
};

#define PART "default_partitions = \"gpu,gpu-long\";"
#define ACCT "default_accounts = [\"ai\", \"ml\"];"
#define GRES "default_gres = \"gpu\";"
#define TIME "default_min_time = \"60m\";"

static const struct jp_jobfacts big = {"gpu", "ai", "nvme,gpu", 2 * HOUR};
static const struct jp_jobfacts endless = {"gpu", "", "", UINT64_MAX};
static const struct jp_jobfacts small = {"debug", "x", "", HOUR / 60};

static const struct row rows[] = {
    {"", NULL, NULL, NULL, NULL, NULL, NULL, false, ""},
    {PART, "gpu", NULL, NULL, NULL, NULL, NULL, false,
     "default for partition gpu"},
    {PART, "gpu-long", NULL, NULL, NULL, NULL, NULL, false,
     "default for partition gpu-long"},
    {PART, "gp", NULL, NULL, NULL, NULL, &big, false, NULL},
    {PART, "cpu,gpu", NULL, NULL, NULL, NULL, NULL, false,
     "default for partition gpu"},
    /* not in the environment */
    {PART, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL},
    {PART, NULL, NULL, NULL, NULL, NULL, &big, true,
     "default for partition gpu"},
    {PART, NULL, NULL, NULL, NULL, NULL, &small, true, NULL},
    {ACCT, NULL, "ml", NULL, NULL, NULL, NULL, false, "default for account ml"},
    {ACCT, NULL, "ML", NULL, NULL, NULL, NULL, false, NULL},
    {GRES, NULL, NULL, "0,1", NULL, NULL, NULL, false, "default for gres gpu"},
    {GRES, NULL, NULL, NULL, NULL, NULL, &big, true, "default for gres gpu"},
    {GRES, NULL, NULL, NULL, NULL, NULL, &small, true, NULL},
    {GRES, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL},
    {"default_gres = \"nvme\";", NULL, NULL, "0", NULL, NULL, &big, true,
     "default for gres nvme"},
    {TIME, NULL, NULL, NULL, "1000", "4600", NULL, false,
     "default for time limits from 60 m"},
    {TIME, NULL, NULL, NULL, "1000", "4599", &big, false, NULL},
    {TIME, NULL, NULL, NULL, "1000", "x", &big, true,
     "default for time limits from 60 m"},
    {TIME, NULL, NULL, NULL, NULL, NULL, &endless, true,
     "default for time limits from 60 m"},
    {TIME, NULL, NULL, NULL, NULL, NULL, &small, true, NULL},
    {TIME, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL},
    /* all must hold; if one is known to fail, Slurm is not asked */
    {PART ACCT, "gpu", "ai", NULL, NULL, NULL, NULL, false,
     "default for partition gpu and account ai"},
    {PART ACCT, "gpu", "x", NULL, NULL, NULL, NULL, false, NULL},
    {PART GRES TIME, "gpu", NULL, "0", NULL, NULL, &big, true,
     "default for partition gpu and gres gpu and time limits from 60 m"},
    {PART GRES, "debug", NULL, NULL, NULL, NULL, &big, false, NULL},
};

static const struct row *current;
static bool was_asked;
static const char *option, *variable;

static const char *row_env(void *arg, const char *name)
{
    (void) arg;
    if (!strcmp(name, "SLURM_JOB_PARTITION"))
        return current->partition;
    if (!strcmp(name, "SLURM_JOB_ACCOUNT"))
        return current->account;
    if (!strcmp(name, "SLURM_JOB_GPUS"))
        return current->gpus;
    if (!strcmp(name, "SLURM_JOB_START_TIME"))
        return current->start;
    if (!strcmp(name, "JOBPROF_NCCL"))
        return variable;
    return strcmp(name, "SLURM_JOB_END_TIME") ? NULL : current->end;
}

static void row_ask(void *arg, struct jp_jobfacts *facts)
{
    (void) arg;
    was_asked = true;
    if (current->slurm)
        *facts = *current->slurm;
}

static struct jp_plan make(const char *site, const char *def)
{
    const struct plan_input in = {.config = site,
                                  .default_mode = def,
                                  .given[OPTION_NCCL] = option,
                                  .env = row_env,
                                  .ask = row_ask};
    struct jp_error err = {""};
    struct jp_plan plan;

    was_asked = false;
    if (plan_make(&in, &plan, &err) < 0)
        fail_msg("%s", err.text);
    return plan;
}

/* By the site file and by the plugstack line alone. */
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

static void test_rows(void **state)
{
    for (size_t i = 0; i < 2 * N(rows); i++) {
        char text[512], *site;
        struct jp_plan plan;

        current = &rows[i / 2];
        snprintf(text, sizeof(text), "nccl = { %s %s };",
                 i % 2 ? "" : "default = \"recorder\";", current->site);
        site = tempdir_file(*state, "site.conf", 0600, text);
        plan = make(site, i % 2 ? "recorder" : NULL);
        if (was_asked != current->asked ||
            !plan.sides[OPTION_NCCL].mode == !!current->reason)
            fail_msg("row %zu: mode %d, asked %d", i / 2,
                     plan.sides[OPTION_NCCL].mode, was_asked);
        if (current->reason)
            assert_string_equal(plan.sides[OPTION_NCCL].mode_reason,
                                current->reason);
        plan_fini(&plan);
        free(site);
    }
}

/* The conditions concern only the default: a user's own request is profiled. */
static void test_not_for_users(void **state)
{
    char *site = tempdir_file(*state, "site.conf", 0600,
                              "nccl = { default = \"auto\"; " PART " };");
    struct jp_plan plan;

    current = &(const struct row){.partition = "debug"};
    option = "example";
    plan = make(site, "auto");
    assert_int_equal(plan.sides[OPTION_NCCL].mode_source, PLAN_OPTION);
    assert_int_not_equal(plan.sides[OPTION_NCCL].mode, 0);
    assert_false(was_asked);
    plan_fini(&plan);
    option = NULL;
    variable = "recorder";
    plan = make(site, NULL);
    assert_int_equal(plan.sides[OPTION_NCCL].mode_source, PLAN_ENV);
    plan_fini(&plan);
    variable = NULL;
    free(site);
}

#define LOCK "lock = [ \"nccl.default\" ];\n"

static const struct {
    const char *site, *partition, *option, *variable;
    const char *mode, *overruled; /* part of the sentence; NULL: none */
    const char *refused;          /* by --check */
} locks[] = {
    {LOCK "nccl = { default = \"auto\"; };", NULL, NULL, NULL, "auto", NULL,
     NULL},
    {LOCK "nccl = { default = \"auto\"; };", NULL, "auto,mem=1G", NULL, "auto",
     NULL, NULL},
    {LOCK "nccl = { default = \"auto\"; };", NULL, "off", NULL, "auto",
     "--nccl-profile: mode \"off\" is locked to \"auto\" by",
     "mode \"off\" is locked to \"auto\" by"},
    {LOCK "nccl = { default = \"auto\"; };", NULL, "example", NULL, "auto",
     "mode \"example\" is locked", "mode \"example\" is locked to \"auto\""},
    {LOCK "nccl = { default = \"auto\"; };", NULL, NULL, "off", "auto",
     "JOBPROF_NCCL: mode \"off\" is locked to \"auto\" by", NULL},
    {LOCK "nccl = { default = \"off\"; };", NULL, "auto", NULL, "off",
     "mode \"auto\" is locked to \"off\"",
     "mode \"auto\" is locked to \"off\" by"},
    /* only where the default applies */
    {LOCK "nccl = { default = \"auto\"; " PART " };", "gpu", "off", NULL,
     "auto", "mode \"off\" is locked", NULL},
    {LOCK "nccl = { default = \"auto\"; " PART " };", "cpu", "off", NULL, "off",
     NULL, NULL},
    {LOCK "nccl = { default = \"auto\"; " PART " };", "cpu", "example", NULL,
     "example", NULL, NULL},
};

static void test_locked_default(void **state)
{
    for (size_t i = 0; i < N(locks); i++) {
        char *site = tempdir_file(*state, "site.conf", 0600, locks[i].site);
        struct jp_error err = {""};
        struct jp_plan plan;
        const char *mode;
        int rc;

        current = &(const struct row){.partition = locks[i].partition};
        option = locks[i].option;
        variable = locks[i].variable;
        plan = make(site, NULL);
        mode = plan.sides[OPTION_NCCL]
                   .grammar->modes[plan.sides[OPTION_NCCL].mode]
                   .name;
        if (strcmp(mode, locks[i].mode) != 0 ||
            !plan.sides[OPTION_NCCL].overruled != !locks[i].overruled ||
            (locks[i].overruled &&
             !strstr(plan.sides[OPTION_NCCL].overruled, locks[i].overruled)))
            fail_msg("row %zu: %s, %s", i, mode,
                     plan.sides[OPTION_NCCL].overruled
                         ? plan.sides[OPTION_NCCL].overruled
                         : "-");
        plan_fini(&plan);
        rc = option ? check_option(option, site, &err) : 0;
        if (rc != (locks[i].refused ? -1 : 0) ||
            (locks[i].refused && !strstr(err.text, locks[i].refused)))
            fail_msg("row %zu: --check %d %s", i, rc, err.text);
        free(site);
    }
    option = variable = NULL;
}

static void test_gres_names(void **state)
{
    static const struct {
        const char *text;
        bool all;
        const char *names;
    } texts[] = {
        {NULL, false, ""},
        {"", true, ""},
        {"gpu:2", false, "gpu"},
        {"gres:gpu:a100:2,gres:nvme:1", false, "gpu,nvme"},
        {"gres/gpu:2,gpu", false, "gpu"},
        {"gpu:a100:2(IDX:0,3),nic:1(IDX:0)", false, "gpu,nic"},
        {"cpu=4,mem=1G,node=1,billing=4", true, ""},
        {"cpu:2,gres/gpu:1,license/x:1", true, "gpu"},
        {"cpu=4,gres/gpu=2,gres/gpu:a100=2", true, "gpu"},
        {",,:,gres:", false, ""},
        {"gpu(((", false, "gpu"},
    };
    char tiny[6] = "";

    (void) state;
    for (size_t i = 0; i < N(texts); i++) {
        char buf[64] = "";

        slurmgres_add(texts[i].text, texts[i].all, buf, sizeof(buf));
        if (strcmp(buf, texts[i].names) != 0)
            fail_msg("%s: %s", texts[i].text, buf);
    }
    slurmgres_add("gpu,nvme", false, tiny, sizeof(tiny));
    assert_string_equal(tiny, "gpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_not_for_users),
        cmocka_unit_test(test_locked_default),
        cmocka_unit_test(test_gres_names),
    };

    return cmocka_run_group_tests_name("activation", tests, tempdir_make,
                                       tempdir_drop);
}
