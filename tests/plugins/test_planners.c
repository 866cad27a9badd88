/* test_planners.c - the registry and each planner's variables. */
#include "plugins/backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/nccl_example/example_slots.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const char *no_env(void *arg, const char *name)
{
    (void) arg;
    (void) name;
    return NULL;
}

/* Merged settings of one option's value. */
static struct jp_plan plan_of(const char *dir, const char *nccl)
{
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    struct plan_input in = {.config = site, .nccl = nccl, .env = no_env};
    struct jp_plan plan;
    struct jp_error err = {""};

    if (plan_make(&in, &plan, &err) < 0)
        fail_msg("%s", err.text);
    free(site);
    return plan;
}

static const char *value_of(const struct backend_env *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (!strcmp(env->vars[i].name, name))
            return env->vars[i].value;
    return NULL;
}

static void test_registry(void **state)
{
    static const char *const names[] = {"recorder", "inspector", "example",
                                        "copper", "null"};

    (void) state;
    for (size_t i = 0; i < N(names); i++) {
        const struct backend *backend = backend_find(names[i]);

        assert_non_null(backend);
        assert_int_equal(backend->abi, BACKEND_ABI);
        assert_true(*backend->help);
    }
    assert_null(backend_find("wibble"));
    assert_null(backend_find(NULL));
}

static void test_env_add(void **state)
{
    struct backend_env env = {.soft = true};
    struct jp_error err;
    char name[32];

    (void) state;
    assert_int_equal(backend_env_add(&env, &err, "NCCL_A", "%d", 1), 0);
    assert_int_equal(backend_env_add(&env, &err, "OURS", "%s", "x"), 0);
    assert_true(env.vars[0].soft);
    assert_false(env.vars[1].soft);
    assert_int_equal(backend_env_add(&env, &err, "OURS", "y"), -1);
    assert_string_equal(err.text, "OURS is set twice");
    for (int i = 2; i < BACKEND_ENV_MAX; i++) {
        snprintf(name, sizeof(name), "V%d", i);
        assert_int_equal(backend_env_add(&env, NULL, name, "z"), 0);
    }
    assert_int_equal(backend_env_add(&env, NULL, "LAST", "z"), -1);
    assert_int_equal(env.n, BACKEND_ENV_MAX);
    backend_env_fini(&env);
    assert_int_equal(env.n, 0);
}

static const struct {
    const char *backend, *option, *library;
    bool exists;
    const char *error; /* NULL: usable */
} usable_rows[] = {
    {"inspector", "inspector", NULL, false, "no Inspector library"},
    {"inspector", "inspector", "/i.so", false, "/i.so (nccl.inspector"},
    {"inspector", "inspector,nccl=2.27", "/i.so", true, "2.27 cannot run Insp"},
    {"inspector", "inspector", "/i.so", true, NULL},
    {"example", "example", NULL, false, "no example library is configured"},
    {"example", "example", "/e.so", false, "cannot be read"},
    {"example", "example,nccl=2.23", "/e.so", true, NULL},
    {"null", "auto", "/n.so", false, "/n.so is not there"},
    {"null", "auto", NULL, false, NULL},
    {"copper", "auto", NULL, false, "--copper-profile"},
};

static void test_usable(void **state)
{
    for (size_t i = 0; i < N(usable_rows); i++) {
        struct jp_plan plan = plan_of(*state, usable_rows[i].option);
        const struct backend *backend = backend_find(usable_rows[i].backend);
        struct backend_input in = {.side = &plan.nccl,
                                   .step_dir = "/s",
                                   .library = usable_rows[i].library,
                                   .library_exists = usable_rows[i].exists};
        struct jp_error err = {""};
        int rc = backend->planner->usable(&in, &err);

        assert_int_equal(rc, usable_rows[i].error ? -1 : 0);
        if (rc < 0 && !strstr(err.text, usable_rows[i].error))
            fail_msg("row %zu: %s", i, err.text);
        plan_fini(&plan);
    }
}

#define INSP "NCCL_INSPECTOR_"
#define POOL(name) "NCCL_PROFILE_" name "_POOL_SIZE"

/* One variable of one setting; NULL: it must be absent. */
static const struct {
    const char *backend, *option, *name, *value;
} env_rows[] = {
    {"recorder", "auto", "JOBPROF_RECORDER_DIR", "/s/raw/%N"},
    {"recorder", "auto", "NCCL_PROFILER_PLUGIN", "/x.so"},
    {"inspector", "inspector", "NCCL_PROFILER_PLUGIN", "/x.so"},
    {"inspector", "inspector", INSP "DUMP_DIR", "/s/raw/%N"},
    {"inspector", "inspector", INSP "ENABLE", "1"},
    {"inspector", "inspector", INSP "DUMP_THREAD_INTERVAL_MICROSECONDS",
     "100000"},
    {"inspector", "inspector,interval=50ms",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "50000"},
    {"inspector", "inspector", INSP "DUMP_MIN_SIZE_BYTES", "0"},
    {"inspector", "inspector,min_size=8K", INSP "DUMP_MIN_SIZE_BYTES", "8192"},
    {"inspector", "inspector,nccl=2.29,min_size=8K", INSP "DUMP_MIN_SIZE_BYTES",
     NULL},
    {"inspector", "inspector,ring=4096", INSP "DUMP_COLL_RING_SIZE", "4096"},
    {"inspector", "inspector,nccl=2.28", INSP "DUMP_COLL_RING_SIZE", NULL},
    {"inspector", "inspector,nccl=2.28", INSP "PROM_DUMP", NULL},
    {"inspector", "inspector,nccl=2.29", INSP "PROM_DUMP", "0"},
    {"inspector", "inspector,p2p=off", INSP "ENABLE_P2P", "0"},
    {"inspector", "inspector,p2p=0", INSP "ENABLE_P2P", "1"},
    {"inspector", "inspector,verbose=on", INSP "DUMP_VERBOSE", "1"},
    {"inspector", "inspector", INSP "REQUIRE_KERNEL_TIMING", "0"},
    {"example", "example", "NCCL_PROFILE_DUMP_FILE", "/s/raw/%N/trace"},
    {"example", "example", "NCCL_PROFILE_EVENT_MASK", "70"},
    {"example", "example,p2p=off", "NCCL_PROFILE_EVENT_MASK", "66"},
    {"example", "example,nccl=2.29.7", "NCCL_PROFILE_EVENT_MASK", "78"},
    /* those of later releases too */
    {"example", "example,nccl=2.27", POOL("COLL_API"), "71"},
    {"example", "example,nccl=2.27", POOL("CE_COLL"), "8"},
    {"null", "auto", "JOBPROF_NULL", "/s/raw/%N"},
};

static void test_env(void **state)
{
    for (size_t i = 0; i < N(env_rows); i++) {
        struct jp_plan plan = plan_of(*state, env_rows[i].option);
        const struct backend *backend = backend_find(env_rows[i].backend);
        struct backend_input in = {.side = &plan.nccl,
                                   .step_dir = "/s",
                                   .library = "/x.so",
                                   .library_exists = true};
        struct backend_env env = {0};
        const char *value, *wanted = env_rows[i].value;

        assert_int_equal(backend->planner->env(&in, &env, NULL), 0);
        value = value_of(&env, env_rows[i].name);
        if (!value != !wanted || (value && strcmp(value, wanted) != 0))
            fail_msg("%s %s: %s", env_rows[i].option, env_rows[i].name,
                     value ? value : "absent");
        backend_env_fini(&env);
        plan_fini(&plan);
    }
}

static void test_recorder_default(void **state)
{
    struct jp_plan plan = plan_of(*state, "recorder");
    struct backend_input in = {.side = &plan.nccl, .step_dir = "/s"};
    struct backend_env env = {0};
    const char *path;

    assert_int_equal(backend_find("recorder")->planner->env(&in, &env, NULL),
                     0);
    path = value_of(&env, "NCCL_PROFILER_PLUGIN");
    assert_non_null(strstr(path, "/libnccl-profiler-jobprof.so"));
    assert_int_equal(*path, '/');
    backend_env_fini(&env);
    plan_fini(&plan);
}

/* The recorder's cap, buffers and volume; more in test_plans.c. */
static void test_recorder_size(void **state)
{
    static const struct {
        const char *option;
        uint32_t ntasks;
        const char *mem, *disk; /* of one process */
        uint64_t volume, kept;
        const char *lost; /* NULL: nothing */
    } rows[] = {
        /* 10 x (2 + 1) x 40 B; 10 GiB over one rank */
        {"recorder,iterations=10,colls=2,p2p=1", 0, "16777216", "10737418240",
         1200, 30, NULL},
        /* 4 x 50,000 / 10 x 2 x 256 B = 9.8 MiB: 16 MiB hold it */
        {"recorder,rate=50000", 4, "16777216", "2684354560", 512000, 12800,
         NULL},
        /* ten times that is more, mem= caps it */
        {"recorder,rate=500000", 4, "102400000", "2684354560", 512000, 12800,
         NULL},
        {"recorder,rate=500000,mem=32M", 4, "33554432", "2684354560", 512000,
         12800, NULL},
        /* 1 MiB over 8 ranks: 131,072 B hold 3,276 of 40 B */
        {"recorder,disk=1M", 8, "16777216", "131072", 131072, 3276,
         "first 3,276 of 12,800 operations"},
        {"recorder,disk=1M", 1000, "16777216", "1048", 1048, 26, "first 26 "},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan = plan_of(*state, rows[i].option);
        struct backend_input in = {.side = &plan.nccl,
                                   .step_dir = "/s",
                                   .shape.ntasks = rows[i].ntasks};
        const struct backend_planner *planner =
            backend_find("recorder")->planner;
        struct backend_forecast f;
        struct backend_env env = {0};

        assert_int_equal(planner->size(&in, &f, NULL), 0);
        assert_int_equal(planner->env(&in, &env, NULL), 0);
        assert_string_equal(value_of(&env, "JOBPROF_RECORDER_MEM"),
                            rows[i].mem);
        assert_string_equal(value_of(&env, "JOBPROF_RECORDER_DISK"),
                            rows[i].disk);
        assert_string_equal(value_of(&env, "JOBPROF_RECORDER_MIN_FREE"),
                            "1073741824");
        assert_int_equal(f.disk_bytes, rows[i].volume);
        assert_int_equal(f.kept_ops, rows[i].kept);
        assert_true(rows[i].lost ? strstr(f.lost, rows[i].lost) != NULL
                                 : !*f.lost);
        backend_env_fini(&env);
        plan_fini(&plan);
    }
}

/* Slot sizes by release: the row that a release takes. */
static void test_slots(void **state)
{
    static const struct {
        uint32_t release, coll, p2p, coll_default;
        enum example_keeps keeps;
    } rows[] = {
        {JP_NCCL_RELEASE(2, 23, 4), 74368, 1256, 16, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 25, 999), 1188128, 37232, 16, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 26, 2), 1188128, 37232, 16, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 26, 3), 10757400, 337264, 16, KEEPS_LAST},
        {JP_NCCL_RELEASE(2, 26, 999), 10757400, 337264, 16, KEEPS_LAST},
        {JP_NCCL_RELEASE(2, 27, 0), 10700552, 335968, 16, KEEPS_LAST},
        {JP_NCCL_RELEASE(2, 28, 9), 755066640, 23597416, 256, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 29, 2), 755066640, 23597416, 256, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 29, 3), 23684880, 741736, 8, KEEPS_FIRST},
        /* any of 2.29: the largest */
        {JP_NCCL_RELEASE(2, 29, 999), 755066640, 23597416, 256, KEEPS_FIRST},
        {JP_NCCL_RELEASE(2, 30, 7), 23684880, 741736, 8, KEEPS_FIRST},
        {JP_NCCL_RELEASE(3, 0, 0), 23684880, 741736, 8, KEEPS_FIRST},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        const struct example_slots *s = example_slots_find(rows[i].release);

        assert_int_equal(s->bytes[POOL_COLL], rows[i].coll);
        assert_int_equal(s->bytes[POOL_P2P], rows[i].p2p);
        assert_int_equal(s->defaults[POOL_COLL], rows[i].coll_default);
        assert_int_equal(s->keeps, rows[i].keeps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_env_add),
        cmocka_unit_test(test_usable),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_recorder_default),
        cmocka_unit_test(test_recorder_size),
        cmocka_unit_test(test_slots),
    };

    return cmocka_run_group_tests_name("planners", tests, tempdir_make,
                                       tempdir_drop);
}
