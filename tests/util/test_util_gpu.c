/* Samples of GPUs by NVML's stand-in: figures, gaps, a driver that hangs. */
#include "plugins/util/util_gpu.h"

#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

static const char library[] = "contrib/fakegpu/.libs/libnvidia-ml.so.1";

static struct util_row rows[UTIL_GPUS_MAX];

static void set_load(const char *dir, const char *text)
{
    char *path = tempdir_file(dir, "load", 0600, text);

    setenv("FAKEGPU_LOAD", path, 1);
    free(path);
}

static int clear(void **state)
{
    unsetenv("FAKEGPU_LOAD");
    unsetenv("FAKEGPU_COUNT");
    unsetenv("FAKEGPU_FAIL");
    unsetenv("FAKEGPU_HANG");
    unsetenv("FAKEGPU_CRASH");
    return tempdir_drop(state);
}

static void figures(void **state)
{
    struct util_nvml *nvml;
    struct jp_error err;

    setenv("FAKEGPU_COUNT", "2", 1);
    set_load(*state, "* sm 63\n* memory 20\n* used 4000\n* total 8000\n"
                     "* power 350500\n* celsius 61\n* sm_mhz 1980\n"
                     "* sm_max_mhz 1980\n1 sm_mhz 1095\n1 reasons 72\n"
                     "0 reasons 1\n* replays 5\n* rx 100\n* tx 200\n");
    nvml = util_nvml_open(library, NULL, &err);
    assert_non_null(nvml);
    assert_int_equal(util_nvml_read(nvml, 1000000, rows), 2);
    assert_string_equal(rows[0].id, "0000:1a:00.0");
    assert_string_equal(rows[1].id, "0000:22:00.0");
    assert_true(rows[0].v[GPU_SM] == 0.63 && rows[0].v[GPU_MEMORY_BUSY] == 0.2);
    assert_true(rows[0].v[GPU_MEMORY_USED] == 4000);
    assert_true(rows[0].v[GPU_POWER] == 350.5);
    assert_true(rows[0].v[GPU_SM_CLOCK] == 1980);
    assert_true(rows[1].v[GPU_SM_CLOCK] == 1095);
    assert_true(rows[0].v[GPU_THROTTLE_THERMAL] == 0);
    assert_true(rows[1].v[GPU_THROTTLE_THERMAL] == 1);
    assert_true(rows[1].v[GPU_THROTTLE_HARDWARE] == 1);
    assert_true(rows[1].v[GPU_THROTTLE_POWER] == 0);
    assert_true(rows[0].v[GPU_PCIE_IN] == 102400);
    assert_true(isnan(rows[0].v[GPU_PCIE_REPLAYS]));
    /* not supported: not known, never 0 */
    assert_true(isnan(rows[0].v[GPU_ECC_ERRORS]));
    assert_true(isnan(rows[0].v[GPU_PCIE_WIDTH]));
    set_load(*state, "* replays 9\n");
    assert_int_equal(util_nvml_read(nvml, 3000000, rows), 2);
    assert_true(rows[0].v[GPU_PCIE_REPLAYS] == 2);
    assert_true(isnan(rows[0].v[GPU_SM]));
    util_nvml_close(nvml);
}

/* Of a program whose environment does not say what there is: the agent. */
static void settings_beside_the_library(void **state)
{
    char *path = tempdir_path(*state, "libnvidia-ml.so.1"), *load;
    char command[4096], settings[2048];
    struct util_nvml *nvml;
    struct jp_error err;

    snprintf(command, sizeof(command), "cp %s %s", library, path);
    assert_int_equal(system(command), 0);
    load = tempdir_file(*state, "load", 0600, "2 sm 41\n2 memory 1\n");
    snprintf(settings, sizeof(settings),
             "# three\nFAKEGPU_COUNT=3\nHOME=x\nFAKEGPU_LOAD=%s\n", load);
    free(load);
    free(tempdir_file(*state, "fakegpu.env", 0600, settings));
    nvml = util_nvml_open(path, NULL, &err);
    assert_non_null(nvml);
    assert_int_equal(util_nvml_read(nvml, 1000000, rows), 3);
    assert_true(rows[2].v[GPU_SM] == 0.41 && isnan(rows[1].v[GPU_SM]));
    assert_string_not_equal(getenv("HOME") ?: "", "x");
    util_nvml_close(nvml);
    free(path);
}

static void of_the_step(void **state)
{
    static const struct {
        const char *minors;
        size_t n;
    } table[] = {{NULL, 4},  {"", 4},    {"1", 1},    {"0,2", 2},
                 {"1-3", 3}, {"x,y", 4}, {"0-0,3", 2}};

    (void) state;
    setenv("FAKEGPU_COUNT", "4", 1);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct util_nvml *nvml = util_nvml_open(library, table[i].minors, NULL);

        assert_non_null(nvml);
        assert_int_equal(util_nvml_read(nvml, 1, rows), table[i].n);
        util_nvml_close(nvml);
    }
}

static void nothing_to_sample(void **state)
{
    struct jp_error err = {""};

    (void) state;
    assert_null(util_nvml_open("libno-such-thing.so.1", NULL, &err));
    assert_non_null(strstr(err.text, "libno-such-thing"));
    setenv("FAKEGPU_FAIL", "nvmlInit_v2", 1);
    assert_null(util_nvml_open(library, NULL, &err));
    assert_non_null(strstr(err.text, "999"));
    unsetenv("FAKEGPU_FAIL");
    assert_null(util_nvml_open(library, "7", &err));
    assert_non_null(strstr(err.text, "of this step"));
}

/* Waits for an answer; how many rows, or -1. */
static int take(struct util_gpus *gpus, struct jp_error *err)
{
    struct pollfd wait = {.fd = util_gpus_fd(gpus), .events = POLLIN};

    assert_int_equal(poll(&wait, 1, 60000), 1);
    return util_gpus_take(gpus, 1000, rows, err);
}

static void by_a_child(void **state)
{
    struct jp_error err = {""};
    struct util_gpus *gpus;

    set_load(*state, "* sm 50\n* memory 1\n");
    gpus = util_gpus_start(library, NULL, &err);
    assert_non_null(gpus);
    assert_int_equal(util_gpus_take(gpus, 0, rows, &err), 0); /* not asked */
    util_gpus_ask(gpus, 0);
    util_gpus_ask(gpus, 0); /* once is enough */
    assert_int_equal(take(gpus, &err), 1);
    assert_true(rows[0].v[GPU_SM] == 0.5);
    assert_int_equal(util_gpus_take(gpus, 1000, rows, &err), 0);
    util_gpus_stop(gpus);
}

/* The child is gone, the sampler goes on; it says so once. */
static void a_driver_that(const char *variable, bool answers)
{
    struct jp_error err = {""};
    struct util_gpus *gpus;

    setenv(variable, "nvmlDeviceGetUtilizationRates", 1);
    gpus = util_gpus_start(library, NULL, &err);
    assert_non_null(gpus);
    util_gpus_ask(gpus, 0);
    if (answers) /* by its end */
        assert_int_equal(take(gpus, &err), -1);
    else {
        usleep(100000);
        assert_int_equal(
            util_gpus_take(gpus, UTIL_GPU_FIRST_MS - 1, rows, &err), 0);
        assert_int_equal(util_gpus_take(gpus, UTIL_GPU_FIRST_MS, rows, &err),
                         -1);
    }
    assert_non_null(strstr(err.text, "not sampled any more"));
    assert_int_equal(util_gpus_fd(gpus), -1);
    util_gpus_ask(gpus, 1);
    assert_int_equal(util_gpus_take(gpus, 1000000, rows, &err), 0);
    util_gpus_stop(gpus);
}

static void a_driver_that_hangs(void **state)
{
    (void) state;
    a_driver_that("FAKEGPU_HANG", false);
}

static void a_driver_that_crashes(void **state)
{
    (void) state;
    a_driver_that("FAKEGPU_CRASH", true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tempdir_make, clear)
    const struct CMUnitTest tests[] = {TEST(figures),
                                       TEST(settings_beside_the_library),
                                       TEST(of_the_step),
                                       TEST(nothing_to_sample),
                                       TEST(by_a_child),
                                       TEST(a_driver_that_hangs),
                                       TEST(a_driver_that_crashes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
