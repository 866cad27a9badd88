/* test_planners.c - the registry and each planner's variables. */
#include "plugins/backend.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/nccl_example/example.h"
#include "plugins/option_help.h"
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
    struct plan_input in = {
        .config = site, .given[OPTION_NCCL] = nccl, .env = no_env};
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

extern const struct backend backend_null;

static const struct backend *find(const char *name)
{
    return strcmp(name, "null") ? backend_find(name) : &backend_null;
}

static void test_registry(void **state)
{
    static const char *const names[] = {"recorder", "inspector", "example",
                                        "rccl-inspector"};

    (void) state;
    for (size_t i = 0; i < N(names); i++) {
        const struct backend *backend = backend_find(names[i]);

        assert_non_null(backend);
        assert_int_equal(backend->abi, BACKEND_ABI);
        assert_string_equal(backend->about.name, names[i]);
        assert_true(*backend->about.title && *backend->about.words->help);
    }
    assert_null(
        backend_find("null")); /* it is built, but no option offers it */
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
    {"inspector", "inspector", NULL, false, "Inspector is not installed"},
    {"inspector", "inspector", "/i.so", false, "/i.so (nccl.inspector"},
    {"inspector", "inspector,nccl=2.27", "/i.so", true,
     "2.27 does not support Insp"},
    {"inspector", "inspector", "/i.so", true, NULL},
    {"rccl-inspector", "rccl-inspector", NULL, false, "no RCCL Inspector lib"},
    {"rccl-inspector", "rccl-inspector", "/i.so", false, "nccl.rccl_inspector"},
    {"rccl-inspector", "rccl-inspector,nccl=2.26", "/i.so", true,
     "RCCL 2.26 does not support"},
    {"rccl-inspector", "rccl-inspector,nccl=2.27", "/i.so", true, NULL},
    {"example", "example", NULL, false, "no example library is configured"},
    {"example", "example", "/e.so", false, "cannot be read"},
    {"example", "example,nccl=2.23", "/e.so", true, NULL},
    {"null", "auto", "/n.so", false, "/n.so does not exist"},
    {"null", "auto", NULL, false, NULL},
};

static void test_usable(void **state)
{
    for (size_t i = 0; i < N(usable_rows); i++) {
        struct jp_plan plan = plan_of(*state, usable_rows[i].option);
        const struct backend *backend = find(usable_rows[i].backend);
        struct backend_input in = {.side = &plan.sides[OPTION_NCCL],
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

/* One variable with one setting; NULL: it must not be set. */
static const struct {
    const char *backend, *option, *name, *value;
} env_rows[] = {
    {"recorder", "auto", "JOBPROF_RECORDER_DIR", "/s/raw/%N"},
    {"recorder", "auto", "NCCL_PROFILER_PLUGIN", "/x.so"},
    {"recorder", "auto", "JOBPROF_RECORDER_KERNELS", "auto"},
    {"recorder", "auto", "JOBPROF_RECORDER_CHAIN", NULL},
    {"recorder", "recorder,chain=/i.so", "JOBPROF_RECORDER_CHAIN", "/i.so"},
    {"recorder", "auto,chain=own", "JOBPROF_RECORDER_CHAIN", NULL},
    {"recorder", "auto,kernels=0", "JOBPROF_RECORDER_KERNELS", "0"},
    {"recorder", "recorder,kernels=1", "JOBPROF_RECORDER_KERNELS", "1"},
    {"recorder", "recorder,nccl=2.26,kernels=1", "JOBPROF_RECORDER_KERNELS",
     "1"},
    {"recorder", "plan,mode=recorder,kernels=auto", "JOBPROF_RECORDER_KERNELS",
     "auto"},
    {"inspector", "inspector", "JOBPROF_RECORDER_KERNELS", NULL},
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
    {"inspector", "inspector,nccl=2.29", INSP "OTEL_EXPORT", NULL},
    {"inspector", "inspector,nccl=2.30", INSP "OTEL_EXPORT", "0"},
    {"inspector", "inspector,p2p=off", INSP "ENABLE_P2P", "0"},
    {"inspector", "inspector,p2p=0", INSP "ENABLE_P2P", "1"},
    {"inspector", "inspector,verbose=on", INSP "DUMP_VERBOSE", "1"},
    {"inspector", "inspector", INSP "REQUIRE_KERNEL_TIMING", "0"},
    {"inspector", "inspector", INSP "POOL_GROW", NULL},
    /* RCCL 2.27 has the rings that NCCL's Inspector has from 2.30 on */
    {"rccl-inspector", "rccl-inspector,nccl=2.27", "NCCL_PROFILER_PLUGIN",
     "/x.so"},
    {"rccl-inspector", "rccl-inspector,nccl=2.27,ring=4096",
     INSP "DUMP_COLL_RING_SIZE", "4096"},
    {"rccl-inspector", "rccl-inspector,nccl=2.27",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "100000"},
    {"rccl-inspector", "rccl-inspector", INSP "REQUIRE_KERNEL_TIMING", "0"},
    {"rccl-inspector", "rccl-inspector", INSP "POOL_GROW", "1"},
    {"rccl-inspector", "rccl-inspector", INSP "DUMP_DIR", "/s/raw/%N"},
    {"example", "example", "NCCL_PROFILE_DUMP_FILE", "/s/raw/%N/trace"},
    {"example", "example", "NCCL_PROFILE_EVENT_MASK", "70"},
    {"example", "example,p2p=off", "NCCL_PROFILE_EVENT_MASK", "66"},
    {"example", "example,nccl=2.29.7", "NCCL_PROFILE_EVENT_MASK", "78"},
    /* no KernelCh with 2.26 and 2.27 */
    {"example", "example,nccl=2.25", "NCCL_PROFILE_EVENT_MASK", "78"},
    {"example", "example,nccl=2.26", "NCCL_PROFILE_EVENT_MASK", "14"},
    {"example", "example,nccl=2.26.2", "NCCL_PROFILE_EVENT_MASK", "14"},
    {"example", "example,nccl=2.27", "NCCL_PROFILE_EVENT_MASK", "14"},
    {"example", "example,nccl=2.27.7,p2p=off", "NCCL_PROFILE_EVENT_MASK", "10"},
    {"example", "example,nccl=2.28", "NCCL_PROFILE_EVENT_MASK", "78"},
    /* variables of later releases are set as well */
    {"example", "example,nccl=2.27", POOL("COLL_API"), "71"},
    {"example", "example,nccl=2.27", POOL("CE_COLL"), "8"},
    {"null", "auto", "NULL_PROFILER_DIR", "/s/raw/%N"},
};

static void test_env(void **state)
{
    for (size_t i = 0; i < N(env_rows); i++) {
        struct jp_plan plan = plan_of(*state, env_rows[i].option);
        const struct backend *backend = find(env_rows[i].backend);
        struct backend_input in = {.side = &plan.sides[OPTION_NCCL],
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

/* Variables that the user has set count as given. */
static const struct {
    const char *backend, *option;
    const char *user, *user_value;
    const char *name, *value; /* of the plan; NULL: it does not fit */
    uint64_t kept;
    const char *words; /* words of the loss, or of the error */
} user_rows[] = {
    /* 5,000 x (1 s + 0.3 s) = 6,500; pending 5,000 x 1.05 of 12,800 */
    {"inspector", "inspector,comms=1", INSP "DUMP_THREAD_INTERVAL_MICROSECONDS",
     "1000000", INSP "DUMP_COLL_RING_SIZE", "8192", 7550, "of the last 1 s"},
    {"inspector", "inspector,comms=1,force=1",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "1000000",
     INSP "DUMP_COLL_RING_SIZE", "2048", 12050, "of the last 100 ms"},
    {"inspector", "inspector", INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "-1",
     INSP "DUMP_COLL_RING_SIZE", "2048", 0,
     "loses all records: the user's NCCL_"},
    /* RCCL's writes at the end: both rings of 4 communicators of 12,800 */
    {"rccl-inspector", "rccl-inspector",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "-1",
     INSP "REQUIRE_KERNEL_TIMING", "0", 12288, "when a communicator ends"},
    /* 102.4 ms in a ring, 2.4 to spare: 50 x e^-0.048 / 150 are lost */
    {"inspector", "inspector,comms=1", INSP "DUMP_COLL_RING_SIZE", "512",
     INSP "DUMP_P2P_RING_SIZE", "1024", 7983, "do not fit in the rings while"},
    {"inspector", "inspector,nccl=2.29.7,rate=1000",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "500",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "500", 9412, "every 500 us"},
    {"inspector", "inspector,nccl=2.28.3,rate=1000",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "500000",
     INSP "DUMP_THREAD_INTERVAL_MICROSECONDS", "500000", 9412, "every 500 us"},
    {"example", "example,nccl=2.30.7,comms=1", POOL("COLL"), "100",
     POOL("COLL_API"), "100", 100, "user's NCCL_PROFILE_COLL_POOL_SIZE"},
    {"example", "example,nccl=2.30.7,comms=1,iterations=1,p2p=64", POOL("P2P"),
     "10", POOL("P2P_API"), "10", 74, "user's NCCL_PROFILE_P2P_POOL_SIZE"},
    {"example", "example,nccl=2.30.7", POOL("COLL"), "50000", NULL, NULL, 0,
     POOL("COLL") "=50000, set by the user, needs 1.1 TiB"},
    {"example", "example,nccl=2.30.7,iterations=1,force=1", POOL("COLL"),
     "50000", POOL("COLL"), "64", 64, ""},
};

static const char *user_env(void *arg, const char *name)
{
    size_t i = *(size_t *) arg;

    return strcmp(name, user_rows[i].user) ? NULL : user_rows[i].user_value;
}

static void test_user_values(void **state)
{
    for (size_t i = 0; i < N(user_rows); i++) {
        const struct backend_planner *planner =
            backend_find(user_rows[i].backend)->planner;
        struct plan_input user = {.env = user_env, .env_arg = &i};
        struct jp_plan plan = plan_of(*state, user_rows[i].option);
        struct backend_input in = {
            .side = &plan.sides[OPTION_NCCL],
            .step_dir = "/s",
            .library = "/x.so",
            .library_exists = true,
            .shape = {.nnodes = 1,
                      .ntasks = 1,
                      .ranks_per_node = 1,
                      .node.ram_bytes = UINT64_C(64) << 30,
                      .ram_known = true},
            .user = &user};
        struct backend_forecast f;
        struct backend_env env = {0};
        struct jp_error err = {""};
        const char *value;
        int rc = planner->size(&in, &f, &err);

        if ((rc < 0) != !user_rows[i].name ||
            !strstr(rc < 0 ? err.text : f.lost, user_rows[i].words))
            fail_msg("row %zu: %d \"%s\"", i, rc, rc < 0 ? err.text : f.lost);
        if (rc == 0) {
            assert_int_equal(planner->env(&in, &env, NULL), 0);
            value = value_of(&env, user_rows[i].name);
            if (f.kept_ops != user_rows[i].kept || !value ||
                strcmp(value, user_rows[i].value) != 0)
                fail_msg("row %zu: %s, kept %" PRIu64, i, value, f.kept_ops);
        }
        backend_env_fini(&env);
        plan_fini(&plan);
    }
}

static void test_recorder_default(void **state)
{
    struct jp_plan plan = plan_of(*state, "recorder");
    struct backend_input in = {.side = &plan.sides[OPTION_NCCL],
                               .step_dir = "/s"};
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

/* The recorder's cap, buffers and volume; test_plans.c has more. */
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
        /* ten times the rate needs more, and mem= limits it */
        {"recorder,rate=500000", 4, "102400000", "2684354560", 512000, 12800,
         NULL},
        {"recorder,rate=500000,mem=32M", 4, "33554432", "2684354560", 512000,
         12800, NULL},
        {"recorder,mem=6M", 4, "6291456", "2684354560", 512000, 12800, NULL},
        /* the recorder's own limit */
        {"recorder,rate=9999999,mem=64G", 4, "1073741824", "2684354560", 512000,
         12800, NULL},
        /* 1 MiB over 8 ranks: 131,072 B hold 3,276 of 40 B */
        {"recorder,disk=1M", 8, "16777216", "131072", 131072, 3276,
         "first 3,276 of 12,800 operations"},
        {"recorder,disk=1M", 1000, "16777216", "1048", 1048, 26, "first 26 "},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan = plan_of(*state, rows[i].option);
        struct backend_input in = {.side = &plan.sides[OPTION_NCCL],
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

/* Less memory than the recorder needs gives no plan. */
static void test_recorder_least(void **state)
{
    static const struct {
        const char *option;
        uint64_t step_memory_bytes;
        const char *why;
    } rows[] = {
        {"recorder,mem=5M", 0, "at least 6 MiB for each rank; mem=5 MiB"},
        {"recorder", 20 << 20, "on a node allows 5 MiB"},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan = plan_of(*state, rows[i].option);
        struct backend_input in = {
            .side = &plan.sides[OPTION_NCCL],
            .step_dir = "/s",
            .shape.step_memory_bytes = rows[i].step_memory_bytes};
        struct backend_forecast f;
        struct jp_error err = {""};

        assert_int_equal(backend_find("recorder")->planner->size(&in, &f, &err),
                         -1);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s", err.text);
        plan_fini(&plan);
    }
}

/* What the plan says about kernel events. The `words` must be in the lines of
 * their kind, in this order, and there must be no other line. */
static const struct {
    const char *option, *name, *value; /* a variable that the user has set */
    const char *warnings[6], *notes[6];
} notes_rows[] = {
    {"recorder,nccl=2.23.4",
     NULL,
     NULL,
     {NULL},
     {"before 2.26: operations", "split with the same color"}},
    {"recorder,nccl=2.25", NULL, NULL, {NULL}, {"before 2.26: operations"}},
    {"recorder,nccl=2.26", NULL, NULL, {NULL}, {"never used with NCCL"}},
    {"recorder,nccl=2.26.6,kernels=1",
     NULL,
     NULL,
     {"no effect before NCCL 2.27"},
     {"never used with NCCL 2.26"}},
    {"recorder,nccl=2.26,kernels=0",
     NULL,
     NULL,
     {NULL},
     {"never used with NCCL 2.26"}},
    {"recorder,nccl=2.27.3", NULL, NULL, {NULL}, {"not used with NCCL 2.27"}},
    {"recorder,nccl=2.27", NULL, NULL, {NULL}, {"not used with NCCL 2.27"}},
    {"recorder,nccl=2.27.7,kernels=0", NULL, NULL, {NULL}, {"kernels=0: "}},
    {"recorder,nccl=2.27.7,kernels=1",
     NULL,
     NULL,
     {"(\"Proxy append mismatch\")"},
     {"128 proxy", "every captured launch", "Send to oneself"}},
    {"auto,nccl=2.28.3",
     NULL,
     NULL,
     {NULL},
     {"128 proxy", "every captured launch", "Send to oneself"}},
    {"recorder,nccl=2.28,kernels=1",
     NULL,
     NULL,
     {NULL},
     {"128 proxy", "every captured launch", "Send to oneself"}},
    {"recorder,nccl=2.28,kernels=0", NULL, NULL, {NULL}, {"kernels=0: "}},
    {"plan,mode=recorder,nccl=2.29.2",
     NULL,
     NULL,
     {"not its operations"},
     {"128 proxy", "every captured launch", "Send to oneself",
      "several roots"}},
    {"recorder,nccl=2.30",
     "NCCL_ALLGATHERV_ENABLE",
     "1",
     {"not its operations"},
     {"128 proxy", "every captured launch", "Send to oneself",
      "several roots"}},
    {"recorder,nccl=2.30.7",
     "NCCL_ALLGATHERV_ENABLE",
     "0",
     {NULL},
     {"128 proxy", "every captured launch", "Send to oneself"}},
    {"recorder,nccl=2.30,kernels=0",
     NULL,
     NULL,
     {"not its operations"},
     {"kernels=0: "}},
    {"recorder,nccl=2.31.2,kernels=0", NULL, NULL, {NULL}, {"kernels=0: "}},
    {"recorder,nccl=3.0,kernels=0", NULL, NULL, {NULL}, {"kernels=0: "}},
    /* windows */
    {"recorder,nccl=2.26", "NCCL_WIN_ENABLE", "1", {NULL}, {"never used with"}},
    {"recorder,nccl=2.27.7",
     "NCCL_WIN_ENABLE",
     "1",
     {"NCCL_WIN_ENABLE is set: NCCL 2.27 does not report"},
     {"not used with"}},
    {"recorder,nccl=2.28,kernels=0",
     "NCCL_WIN_ENABLE",
     "1",
     {"NCCL_WIN_ENABLE is set: for operations of symmetric kernels"},
     {"kernels=0: "}},
    {"recorder,nccl=2.28,kernels=0",
     "NCCL_WIN_ENABLE",
     "0",
     {NULL},
     {"kernels=0: "}},
    {"recorder,nccl=2.28,kernels=0",
     "NCCL_SYM_NOWIN_ENABLE",
     "1",
     {NULL},
     {"kernels=0: "}},
    {"recorder,nccl=2.29,kernels=0",
     "NCCL_SYM_NOWIN_ENABLE",
     "1",
     {"not its operations", "NCCL_SYM_NOWIN_ENABLE is set: for"},
     {"kernels=0: "}},
    {"recorder,nccl=2.28,kernels=0",
     "NCCL_SYM_KERNEL",
     "AllReduce_AGxLL_R",
     {"NCCL_SYM_KERNEL is set: for"},
     {"kernels=0: "}},
};

/* What was said so far: a NULL or another order fails the row. */
struct said {
    size_t row, n[2];
    bool bad;
};

static int hear(void *arg, bool is_warning, const char *line,
                struct jp_error *err)
{
    struct said *said = arg;
    const char *const *words = is_warning ? notes_rows[said->row].warnings
                                          : notes_rows[said->row].notes;
    const char *word = said->n[is_warning] < 5 ? words[said->n[is_warning]++]
                                               : NULL;

    (void) err;
    if (!word || !strstr(line, word)) {
        print_error("%s: %s\n", notes_rows[said->row].option, line);
        said->bad = true;
    }
    return 0;
}

static const char *notes_env(void *arg, const char *name)
{
    const struct said *said = arg;
    const char *set = notes_rows[said->row].name;

    return set && !strcmp(name, set) ? notes_rows[said->row].value : NULL;
}

static int stop_hearing(void *arg, bool is_warning, const char *line,
                        struct jp_error *err)
{
    (void) is_warning;
    (void) line;
    ++*(int *) arg;
    return error_set(err, "enough");
}

/* Sets *arg, the words, to NULL where a line has them. */
static int find_words(void *arg, bool is_warning, const char *line,
                      struct jp_error *err)
{
    const char **words = arg;

    (void) is_warning;
    (void) err;
    if (*words && strstr(line, *words))
        *words = NULL;
    return 0;
}

static void test_notes(void **state)
{
    const struct backend_planner *planner = backend_find("recorder")->planner;
    int n = 0;

    for (size_t i = 0; i < N(notes_rows); i++) {
        struct said said = {.row = i};
        struct plan_input user = {.env = notes_env, .env_arg = &said};
        struct jp_plan plan = plan_of(*state, notes_rows[i].option);
        struct backend_input in = {
            .side = &plan.sides[OPTION_NCCL], .step_dir = "/s", .user = &user};

        assert_int_equal(planner->notes(&in, hear, &said, NULL), 0);
        if (said.bad || notes_rows[i].warnings[said.n[true]] ||
            notes_rows[i].notes[said.n[false]])
            fail_msg("row %zu (%s): %zu warnings, %zu notes", i,
                     notes_rows[i].option, said.n[true], said.n[false]);
        in.user = NULL; /* without the user's variables */
        assert_int_equal(planner->notes(&in, stop_hearing, &n, NULL), -1);
        assert_int_equal(n, i + 1);
        plan_fini(&plan);
    }
}

/* Where each task has one processor kernels=auto is 0, with its reason in the
 * plan; what the user says stays. */
static void test_one_processor(void **state)
{
    static const struct {
        const char *option;
        uint32_t cpus; /* 0: unknown */
        const char *value, *reason, *says;
    } rows[] = {
        {"recorder,nccl=2.30", 0, "auto", NULL, "128 proxy"},
        {"recorder,nccl=2.30", 2, "auto", NULL, "128 proxy"},
        {"recorder,nccl=2.30", 1, "0", "one processor a task", "5 to 6 s"},
        {"recorder,nccl=2.30,kernels=1", 1, "1", NULL, "128 proxy"},
        {"recorder,nccl=2.30,kernels=0", 1, "0", NULL, "kernels=0: "},
    };
    const struct backend_planner *planner = backend_find("recorder")->planner;

    for (size_t i = 0; i < N(rows); i++) {
        struct jp_plan plan = plan_of(*state, rows[i].option);
        struct backend_input in = {.side = &plan.sides[OPTION_NCCL],
                                   .step_dir = "/s",
                                   .shape.cpus_per_task = rows[i].cpus};
        struct backend_env env = {0};
        const char *wanted = rows[i].says;
        size_t k = 0;

        assert_int_equal(planner->env(&in, &env, NULL), 0);
        while (strcmp(env.vars[k].name, "JOBPROF_RECORDER_KERNELS") != 0)
            k++;
        assert_string_equal(env.vars[k].value, rows[i].value);
        assert_int_equal(!!env.vars[k].reason, !!rows[i].reason);
        if (rows[i].reason)
            assert_non_null(strstr(env.vars[k].reason, rows[i].reason));
        assert_int_equal(planner->notes(&in, find_words, &wanted, NULL), 0);
        assert_null(wanted);
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
        /* any patch of 2.29: the largest */
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

/* --- the template's reader and runner ------------------------------------- */

struct taken {
    size_t n, stop_at; /* 0: never */
    struct record last;
};

static int take_records(void *arg, const struct record *records, size_t n)
{
    struct taken *taken = arg;

    taken->n += n;
    taken->last = records[n - 1];
    return taken->n == taken->stop_at;
}

static void test_template_reader(void **state)
{
    static const struct {
        const char *text;
        size_t records, bad, stop_at;
        bool cut;
        int rc;
    } rows[] = {
        {"", 0, 0, 0, false, 0},
        {"null 1 h 7 0 2 1\n", 0, 0, 0, false, 0},
        {"null 1 h 7 2 2 1\n0xa AllReduce 0 9 8 5\n", 0, 2, 0, false, 0},
        {"null 1 h 7 0 2 3\n", 0, 1, 0, false, 0},
        {"null 1 h,x 7 0 2 1\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa AllReduce 0 9 8 5\n", 10, 0, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa AllReduce 0 9 8 5\n", 4, 0, 4, false, 1},
        {"null 1 h 7 0 2 1\n0xa AllReduce 9 0 8 5\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa AllReduce 0 1000 8 5\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xg AllReduce 0 9 8 5\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa All/Reduce 0 9 8 5\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa AllReduce 0 9 8 5 6\n", 0, 1, 0, false, 0},
        {"null 1 h 7 0 2 1\n0xa AllReduce 0 9 8 5", 0, 0, 0, true, 0},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        const struct backend_reader *reader = backend_null.reader;
        struct taken taken = {.stop_at = rows[i].stop_at};
        const struct reader_sink sink = {.take = take_records, .arg = &taken};
        struct source_facts facts = {0};
        atomic_bool stop = false;
        const struct reader_input in = {.path = "x.log",
                                        .data = rows[i].text,
                                        .len = strlen(rows[i].text),
                                        .to = UINT64_MAX,
                                        .stop = &stop};
        int rc = reader->read(NULL, &in, &sink, &facts);

        if (rc != rows[i].rc || taken.n != rows[i].records ||
            facts.bad_lines != rows[i].bad || facts.cut != rows[i].cut)
            fail_msg("row %zu: %d, %zu records, %llu bad, cut %d", i, rc,
                     taken.n, (unsigned long long) facts.bad_lines, facts.cut);
        assert_int_equal(reader->probe("x", in.data, in.len), in.len > 0);
        if (taken.n == 10) {
            assert_int_equal(taken.last.sn, 9);
            assert_int_equal(taken.last.busbw_micro, 1600);
        }
    }
}

static void test_template_runner(void **state)
{
    const struct backend_runner *runner = backend_null.runner;
    struct jp_error err;
    void *beside;

    (void) state;
    assert_int_equal(runner->start(NULL, "/s", "n1", &beside, &err), 0);
    assert_int_equal(runner->ready(beside, &err), 0);
    assert_int_equal(runner->ready(beside, &err), 1);
    assert_int_equal(runner->collect(beside, &err), -1);
    assert_int_equal(runner->stop(beside, false), 1);
    assert_int_equal(runner->collect(beside, &err), 0);
    runner->destroy(beside);
    runner->destroy(NULL);
}

/* What the SPANK module knows of an option is what its backend says, and hooks
 * that belong together are all there. */
static void test_options(void **state)
{
#define ROW(up, low)                                                           \
    {JP_TRY_##up, sizeof(JP_ONLY_SRUN_##up) > 1, JP_IS_SLOW_##up},
    static const struct {
        const char *mode;
        bool only_srun, is_slow;
    } known[OPTIONS] = {JP_OPTIONS(ROW)};
#undef ROW

    (void) state;
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        const struct jp_grammar *grammar = grammar_of(i);
        const struct backend *backend = backend_of_option(i);
        const struct jp_conf_key *key = grammar->form->conf_keys;
        size_t n = 0;

        assert_true(grammar_find_mode(grammar, known[i].mode) > 0);
        assert_int_equal(grammar->form->only_srun, known[i].only_srun);
        assert_int_equal(backend != NULL, i != OPTION_NCCL);
        assert_int_equal(backend && backend->runner, known[i].is_slow);
        while (key && key[n].name)
            n++;
        assert_true(n <= JP_CONF_KEYS_MAX);
        if (!backend)
            continue;
        assert_ptr_equal(backend->about.form, grammar->form);
        assert_non_null(backend->side->fill);
        assert_non_null(backend->side->runs);
        assert_int_equal(!backend->side->block, !backend->side->shows_block);
        if (backend->runner)
            assert_non_null(backend->runner->nodes_file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_template_reader),
        cmocka_unit_test(test_template_runner),
        cmocka_unit_test(test_env_add),
        cmocka_unit_test(test_usable),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_user_values),
        cmocka_unit_test(test_recorder_default),
        cmocka_unit_test(test_recorder_size),
        cmocka_unit_test(test_recorder_least),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_one_processor),
        cmocka_unit_test(test_slots),
    };

    return cmocka_run_group_tests_name("planners", tests, tempdir_make,
                                       tempdir_drop);
}
