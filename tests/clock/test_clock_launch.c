/* test_clock_launch.c - the launch of a step with --clock-profile. */
#include "plugins/clock/clock_launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/agent/launch.h"
#include "tests/common/tempdir.h"

/* The variables of a step of job 12. */
static const char *submit_dir, *step_id, *window;

static const char *step_env(void *arg, const char *name)
{
    (void) arg;
    if (!strcmp(name, "SLURM_JOB_ID"))
        return "12";
    if (!strcmp(name, "SLURM_STEP_ID"))
        return step_id;
    if (!strcmp(name, "SLURM_SUBMIT_DIR"))
        return submit_dir;
    return strcmp(name, "XLA_PROBE_WINDOW_S") ? NULL : window;
}

/* Launches a step of two nodes in dir, in the way of jobprof-node resolve. The
 * caller frees launch. */
static void launch_with(const char *dir, const char *clock, const char *nccl,
                        struct launch *launch)
{
    /* not the host's own site file */
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    const struct plan_input in = {.config = site,
                                  .given[OPTION_CLOCK] = clock,
                                  .given[OPTION_NCCL] = nccl,
                                  .env = step_env};
    struct launch_facts facts = {
        .nnodes = 2, .ntasks = 4, .command = "./train", .owner = true};
    struct jp_error err = {""};
    struct jp_plan plan;

    submit_dir = dir;
    if (plan_make(&in, &plan, &err) < 0)
        fail_msg("%s", err.text);
    facts_get(&in, &facts);
    if (launch_step(&facts, &plan, launch, &err) < 0)
        fail_msg("%s", err.text);
    plan_fini(&plan);
    free(site);
}

/* --clock-profile alone makes a directory. A reason that prevents the probes is
 * reported, even if nothing else runs. */
static void test_clocks_alone(void **state)
{
    struct launch launch;
    struct jp_jobconf conf;
    char *path;

    step_id = "0";
    window = NULL;
    launch_with(*state, "accurate", NULL, &launch);
    assert_non_null(launch.place.step_dir);
    assert_null(launch.note);
    path = text_format("%s/job.conf", launch.place.step_dir);
    assert_int_equal(jobconf_read(path, &conf, NULL), 0);
    assert_int_equal(conf.sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US], 400);
    assert_string_equal(conf.nccl_mode, "off");
    assert_true(conf.explicit_request);
    jobconf_fini(&conf);
    free(path);
    launch_fini(&launch);
    step_id = "1";
    window = "x";
    launch_with(*state, "accurate", NULL, &launch);
    assert_null(launch.place.step_dir);
    assert_non_null(strstr(launch.note, "XLA_PROBE_WINDOW_S: "));
    launch_fini(&launch);
    /* a profile of NCCL is not affected */
    step_id = "2";
    launch_with(*state, NULL, "recorder", &launch);
    assert_non_null(launch.place.step_dir);
    assert_non_null(strstr(launch.note, "XLA_PROBE_WINDOW_S: "));
    launch_fini(&launch);
    step_id = "3";
    launch_with(*state, "off", "recorder", &launch);
    assert_non_null(launch.place.step_dir);
    assert_null(launch.note);
    launch_fini(&launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clocks_alone, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
