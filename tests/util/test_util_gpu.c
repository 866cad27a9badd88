/* test_util_gpu.c - samples of GPUs by stand-ins of the drivers' libraries:
 * figures, gaps, a driver that hangs. */
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

static const char rsmi[] = "contrib/fakegpu/.libs/librocm_smi64.so.7";
static const char no_rsmi[] = "libno-such-thing.so.1";

static struct util_row rows[UTIL_GPUS_MAX];
static const struct procfs_pids nobody;

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
    unsetenv("FAKEGPU_RSMI");
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
    assert_int_equal(util_nvml_read(nvml, 1, 1000000, NULL, rows), 2);
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
    /* not supported: unknown, never 0 */
    assert_true(isnan(rows[0].v[GPU_ECC_ERRORS]));
    assert_true(isnan(rows[0].v[GPU_PCIE_WIDTH]));
    set_load(*state, "* replays 9\n");
    assert_int_equal(util_nvml_read(nvml, 1, 3000000, NULL, rows), 2);
    assert_true(rows[0].v[GPU_PCIE_REPLAYS] == 2);
    assert_true(isnan(rows[0].v[GPU_SM]));
    util_nvml_close(nvml);
}

/* The stand-in's settings come from a file: the agent's environment has
 * none. */
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
    assert_int_equal(util_nvml_read(nvml, 1, 1000000, NULL, rows), 3);
    assert_true(rows[2].v[GPU_SM] == 0.41 && isnan(rows[1].v[GPU_SM]));
    assert_string_not_equal(getenv("HOME") ?: "", "x");
    util_nvml_close(nvml);
    free(path);
}

/* Counters, processes of others, and errors that the driver reports. */
static void others_and_errors(void **state)
{
    static const struct procfs_pids ours = {2, {11, 12}};
    static const struct procfs_pids many = {.n = PROCFS_PIDS_MAX + 1};
    struct util_nvml *nvml;

    setenv("FAKEGPU_COUNT", "2", 1);
    set_load(*state, "* energy 1000000\n* corrected 7\n* xid 0\n* pid0 11\n"
                     "* pid0_sm 60\n1 pid1 99\n1 pid1_sm 30\n"
                     "0 link_errors 3\n* nvlink_rx 10\n* nvlink_tx 20\n");
    nvml = util_nvml_open(library, NULL, NULL);
    assert_non_null(nvml);
    util_nvml_read(nvml, 1, 1000000, &ours, rows);
    assert_true(rows[0].v[GPU_XID] == 0);
    assert_true(rows[0].v[GPU_PROCESSES] == 1 && rows[0].v[GPU_OTHERS] == 0);
    assert_true(rows[1].v[GPU_PROCESSES] == 1 && rows[1].v[GPU_OTHERS] == 1);
    assert_true(
        isnan(rows[1].v[GPU_OTHERS_SM])); /* the period has no start yet */
    assert_true(isnan(rows[0].v[GPU_POWER_MEAN]));
    set_load(*state, "* energy 1700000\n* corrected 9\n* xid 0\n1 xid 79\n"
                     "* pid0 11\n* pid0_sm 60\n1 pid1 99\n1 pid1_sm 30\n"
                     "0 link_errors 13\n* nvlink_rx 110\n* nvlink_tx 420\n");
    util_nvml_read(nvml, 2, 3000000, &ours, rows);
    assert_true(rows[0].v[GPU_POWER_MEAN] == 350);
    assert_true(rows[0].v[GPU_ECC_CORRECTED] == 1);
    assert_true(rows[0].v[GPU_XID] == 0 && rows[1].v[GPU_XID] == 79);
    assert_true(rows[0].v[GPU_OTHERS_SM] == 0);
    assert_true(rows[1].v[GPU_OTHERS_SM] == 0.3);
    util_nvml_read(nvml, 3, 4000000, &many, rows);
    assert_true(rows[1].v[GPU_XID] == 0); /* reported once */
    assert_true(
        isnan(rows[1].v[GPU_OTHERS])); /* the step's processes are unknown */
    util_nvml_read(nvml, 4, 5000000, NULL, rows);
    util_nvml_read(nvml, 5, 6000000, NULL, rows);
    /* measured every fifth time: over 5 s */
    util_nvml_read(nvml, 6, 6000000, NULL, rows);
    assert_true(rows[0].v[GPU_NVLINK_IN] == 100 * 1024 / 5.0);
    assert_true(rows[0].v[GPU_NVLINK_OUT] == 400 * 1024 / 5.0);
    assert_true(rows[0].v[GPU_NVLINK_ERRORS] == 2);
    assert_true(isnan(rows[1].v[GPU_NVLINK_ERRORS]));
    util_nvml_close(nvml);
}

/* A script of values, each valid from its second on. */
static void over_time(void **state)
{
    struct util_nvml *nvml;

    set_load(*state, "* sm 10\n* memory 1\n* sm 90 0.3\n* sm 20 1000\n");
    nvml = util_nvml_open(library, NULL, NULL);
    assert_non_null(nvml);
    util_nvml_read(nvml, 1, 1000000, NULL, rows);
    assert_true(rows[0].v[GPU_SM] == 0.1);
    usleep(400000);
    util_nvml_read(nvml, 1, 2000000, NULL, rows);
    assert_true(rows[0].v[GPU_SM] == 0.9);
    util_nvml_close(nvml);
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
        assert_int_equal(util_nvml_read(nvml, 1, 1, NULL, rows), table[i].n);
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

/* The same rows from AMD's library, and figures that it does not have. */
static void of_amd(void **state)
{
    static const struct procfs_pids ours = {2, {11, 12}};
    static const struct procfs_pids many = {.n = PROCFS_PIDS_MAX + 1};
    struct util_rsmi *amd;
    struct jp_error err;

    setenv("FAKEGPU_COUNT", "3", 1);
    set_load(*state,
             "* sm 63\n* memory 20\n* used 4000\n* total 8000\n"
             "* power 350500\n* limit 750000\n* celsius 61\n* energy 1000000\n"
             "* sm_mhz 2100\n* sm_max_mhz 2100\n* memory_mhz 1300\n"
             "1 sm_mhz 900\n* reasons 0\n1 reasons 68719476737\n"
             "* generation 5\n* width 16\n* replays 5\n* ecc 0\n* corrected 7\n"
             "* pid0 11\n1 pid1 99\n* pid0_sdma 0\n");
    amd = util_rsmi_open(rsmi, "0-1", &err);
    assert_non_null(amd);
    assert_int_equal(util_rsmi_read(amd, 1000000, &ours, rows, 64), 2);
    assert_string_equal(rows[0].id, "0000:1a:00.0");
    assert_string_equal(rows[1].id, "0000:22:00.0");
    assert_true(rows[0].v[GPU_SM] == 0.63 && rows[0].v[GPU_MEMORY_BUSY] == 0.2);
    assert_true(rows[0].v[GPU_MEMORY_USED] == 4000);
    assert_true(rows[0].v[GPU_MEMORY_TOTAL] == 8000);
    assert_true(rows[0].v[GPU_POWER] == 350.5);
    assert_true(rows[0].v[GPU_POWER_LIMIT] == 750);
    assert_true(rows[0].v[GPU_TEMPERATURE] == 61);
    assert_true(rows[0].v[GPU_SM_CLOCK_MAX] == 2100);
    assert_true(rows[1].v[GPU_SM_CLOCK] == 900);
    assert_true(rows[0].v[GPU_MEMORY_CLOCK] == 1300);
    assert_true(rows[0].v[GPU_THROTTLE_THERMAL] == 0);
    assert_true(rows[1].v[GPU_THROTTLE_THERMAL] == 1); /* bit 36: hot spot */
    assert_true(rows[1].v[GPU_THROTTLE_POWER] == 1);   /* bit 0: a limit */
    assert_true(rows[1].v[GPU_THROTTLE_HARDWARE] == 0);
    assert_true(rows[0].v[GPU_PCIE_GENERATION] == 5);
    assert_true(rows[0].v[GPU_PCIE_WIDTH] == 16);
    assert_true(isnan(rows[0].v[GPU_PCIE_IN]) && isnan(rows[0].v[GPU_XID]));
    assert_true(rows[1].v[GPU_PROCESSES] == 1 && rows[1].v[GPU_OTHERS] == 1);
    assert_true(isnan(rows[1].v[GPU_COPY])); /* the period has no start yet */
    set_load(*state, "* energy 1700000\n* replays 9\n* ecc 2\n* corrected 9\n"
                     "* pid0 11\n1 pid1 99\n* pid0_sdma 1250000\n");
    assert_int_equal(util_rsmi_read(amd, 3000000, &ours, rows, 64), 2);
    assert_true(fabs(rows[0].v[GPU_POWER_MEAN] - 350) < 1e-3);
    assert_true(rows[0].v[GPU_PCIE_REPLAYS] == 2);
    assert_true(rows[0].v[GPU_ECC_ERRORS] == 1);
    assert_true(rows[0].v[GPU_ECC_CORRECTED] == 1);
    assert_true(isnan(rows[0].v[GPU_SM])); /* not told, never 0 */
    assert_true(isnan(rows[0].v[GPU_SM_CLOCK]));
    assert_true(isnan(rows[0].v[GPU_THROTTLE_POWER]));
    for (int i = 0; i < 4; i++)
        util_rsmi_read(amd, 6000000, &ours, rows, 64);
    assert_true(rows[0].v[GPU_COPY] == 0.25); /* 1.25 s of 5 s */
    assert_int_equal(util_rsmi_read(amd, 7000000, &many, rows, 1), 1);
    for (int i = 0; i < 5; i++)
        util_rsmi_read(amd, 8000000, &many, rows, 64);
    assert_true(
        isnan(rows[0].v[GPU_OTHERS])); /* the step's processes are unknown */
    util_rsmi_close(amd);
}

/* Before release 6, the struct of clocks did not have its first member. */
static void of_older_amd(void **state)
{
    struct util_rsmi *amd;
    struct jp_error err = {"?"};

    set_load(*state, "* sm_max_mhz 1700\n");
    setenv("FAKEGPU_RSMI", "5", 1);
    amd = util_rsmi_open(rsmi, NULL, &err);
    assert_non_null(amd);
    assert_int_equal(util_rsmi_read(amd, 1000000, NULL, rows, 64), 1);
    assert_true(rows[0].v[GPU_SM_CLOCK_MAX] == 1700);
    util_rsmi_close(amd);
    unsetenv("FAKEGPU_RSMI");
    setenv("FAKEGPU_GARBAGE", "count", 1);
    amd = util_rsmi_open(rsmi, "1-200", &err);
    assert_true(!amd || util_rsmi_read(amd, 1, NULL, rows, 64) <= 64);
    util_rsmi_close(amd);
    unsetenv("FAKEGPU_GARBAGE");
    assert_null(util_rsmi_open(no_rsmi, NULL, &err));
    assert_string_equal(err.text, "");
    assert_null(util_rsmi_open(library, NULL, &err));
    assert_non_null(strstr(err.text, "rsmi_init"));
    setenv("FAKEGPU_FAIL", "rsmi_init", 1);
    assert_null(util_rsmi_open(rsmi, NULL, &err));
    assert_non_null(strstr(err.text, "rocm_smi reports error 8"));
}

/* Waits for an answer. Returns the number of rows, or -1. */
static int take(struct util_gpus *gpus, struct jp_error *err)
{
    struct pollfd wait = {.fd = gpus->fd, .events = POLLIN};

    assert_int_equal(poll(&wait, 1, 60000), 1);
    return util_gpus_take(gpus, 1000, rows, err);
}

/* A node with GPUs of both makers. */
static void of_both(void **state)
{
    struct jp_error err = {""};
    struct util_gpus *gpus;

    set_load(*state, "* sm 50\n* memory 1\n* generation 4\n* width 8\n");
    setenv("FAKEGPU_COUNT", "2", 1);
    gpus = util_gpus_start(library, rsmi, "1", &err);
    assert_non_null(gpus);
    util_gpus_ask(gpus, 0, &nobody);
    assert_int_equal(take(gpus, &err), 2);
    assert_true(rows[0].v[GPU_SM] == 0.5 && rows[1].v[GPU_SM] == 0.5);
    assert_true(isnan(rows[0].v[GPU_COPY]));
    util_gpus_stop(gpus);
    setenv("FAKEGPU_FAIL", "nvmlInit_v2", 1);
    gpus = util_gpus_start(library, rsmi, NULL, &err);
    util_gpus_ask(gpus, 0, &nobody);
    assert_int_equal(take(gpus, &err), 2);
    util_gpus_stop(gpus);
    setenv("FAKEGPU_FAIL", "nvmlInit_v2,rsmi_init", 1);
    gpus = util_gpus_start(library, rsmi, NULL, &err);
    util_gpus_ask(gpus, 0, &nobody);
    assert_int_equal(take(gpus, &err), -1);
    assert_non_null(strstr(err.text, "no GPU"));
    util_gpus_stop(gpus);
}

static void by_a_child(void **state)
{
    struct jp_error err = {""};
    struct util_gpus *gpus;

    set_load(*state, "* sm 50\n* memory 1\n");
    gpus = util_gpus_start(library, no_rsmi, NULL, &err);
    assert_non_null(gpus);
    assert_int_equal(util_gpus_take(gpus, 0, rows, &err),
                     0); /* no request yet */
    util_gpus_ask(gpus, 0, &nobody);
    util_gpus_ask(gpus, 0, &nobody); /* once is enough */
    assert_int_equal(take(gpus, &err), 1);
    assert_true(rows[0].v[GPU_SM] == 0.5);
    assert_true(gpus->cpu_us > 0 && gpus->max_rss > 0);
    assert_int_equal(util_gpus_take(gpus, 1000, rows, &err), 0);
    util_gpus_stop(gpus);
}

/* The child is gone and the sampler goes on; the error comes once. */
static void a_driver_that(const char *variable, bool answers)
{
    struct jp_error err = {""};
    struct util_gpus *gpus;

    setenv(variable, "nvmlDeviceGetUtilizationRates", 1);
    gpus = util_gpus_start(library, no_rsmi, NULL, &err);
    assert_non_null(gpus);
    util_gpus_ask(gpus, 0, &nobody);
    if (answers) /* the child has ended */
        assert_int_equal(take(gpus, &err), -1);
    else {
        usleep(100000);
        assert_int_equal(
            util_gpus_take(gpus, UTIL_GPU_FIRST_MS - 1, rows, &err), 0);
        assert_int_equal(util_gpus_take(gpus, UTIL_GPU_FIRST_MS, rows, &err),
                         -1);
    }
    assert_non_null(strstr(err.text, "no longer sampled"));
    assert_int_equal(gpus->fd, -1);
    util_gpus_ask(gpus, 1, &nobody);
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
    const struct CMUnitTest tests[] = {TEST(over_time),
                                       TEST(settings_beside_the_library),
                                       TEST(figures),
                                       TEST(others_and_errors),
                                       TEST(of_the_step),
                                       TEST(nothing_to_sample),
                                       TEST(by_a_child),
                                       TEST(of_amd),
                                       TEST(of_older_amd),
                                       TEST(of_both),
                                       TEST(a_driver_that_hangs),
                                       TEST(a_driver_that_crashes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
