/* test_option.c - the plugstack line, the options, and what requests profiling.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "tests/spank/fakehost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The options of this build, by their folders. */
#define ROW(upper, lower) #lower "-profile",
static const char *const names[OPTIONS] = {JP_OPTIONS(ROW)};
#undef ROW

/* Whether this build has the option: each is a feature. */
static bool has_option(const char *name)
{
    for (int i = 0; i < OPTIONS; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static void test_registers(void **state)
{
    static const spank_context_t with[] = {S_CTX_LOCAL, S_CTX_ALLOCATOR,
                                           S_CTX_REMOTE};

    for (int i = 0; i < 3; i++) {
        host.context = with[i];
        host.noptions = 0;
        host_call("init");
        assert_int_equal(host.noptions, OPTIONS);
        assert_string_equal(host.options[0].name, "nccl-profile");
        /* the help says what it does, where the report goes, what to read, the
         * default */
        assert_has(host.options[0].usage, "jobprof-JOBID/step-STEPID");
        assert_has(host.options[0].usage, "man jobprof");
        for (int k = 0; k < host.noptions; k++) {
            assert_string_equal(host.options[k].name, names[k]);
            /* Slurm 25.11 and later refuse 2 */
            assert_int_equal(host.options[k].has_arg, 1);
            assert_has(host.options[k].usage, "Default: ");
            assert_true(strlen(host.options[k].usage) < 400);
        }
        assert_has(host.options[0].usage, "[jobprof]");
    }
    assert_string_equal(host.log, "");
}

static void test_other_contexts(void **state)
{
    static const spank_context_t without[] = {S_CTX_SLURMD, S_CTX_JOB_SCRIPT,
                                              S_CTX_ERROR};

    for (int i = 0; i < 3; i++) {
        host.context = without[i];
        host_call("init");
        host_call("init_post_opt");
        host_call("exit");
    }
    assert_int_equal(host.noptions, 0);
    assert_int_equal(host.forks, 0);
    assert_string_equal(host.log, "");
}

static void test_plugstack(void **state)
{
    host_plugstack("config=relative", "node=x", "what", "default=auto", NULL);
    host_call("init");
    assert_string_equal(host.log,
                        "error: jobprof: plugstack: \"config=relative\" is "
                        "ignored\n"
                        "error: jobprof: plugstack: \"node=x\" is ignored\n"
                        "error: jobprof: plugstack: \"what\" is ignored\n");
    assert_int_equal(host.noptions, OPTIONS);
}

static void test_outer_form(void **state)
{
    static const struct {
        const char *value;
        int want;
    } cases[] = {{NULL, -1},        {"", -1},        {"./train", -1},
                 {"/bin/true", -1}, {"a/b,x=1", -1}, {"off", 0}};
    static const struct {
        const char *option, *said;
    } others[] = {{"copper-profile", "--copper-profile=aggregate"},
                  {"util-profile", "--util-profile=auto"},
                  {"clock-profile", "--clock-profile=auto"},
                  {"nsys-profile", "--nsys-profile=auto"}};

    host_helper_does("exit 64");
    host_call("init");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        host.log[0] = '\0';
        assert_int_equal(host_option("nccl-profile", cases[i].value, 0),
                         cases[i].want);
        if (cases[i].want && cases[i].value)
            assert_has(host.log, "is not a mode; try --nccl-profile=auto\n");
    }
    assert_int_equal(host.forks, 0);
    assert_int_equal(host_option("nccl-profile", "off,iteratons=3", 0), -1);
    assert_int_equal(host.forks, 1);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (has_option(others[i].option)) {
            assert_int_equal(host_option(others[i].option, "./train", 0), -1);
            assert_has(host.log, others[i].said);
        }
}

static void test_check(void **state)
{
    static const struct {
        const char *does;
        int want;
        bool said;
    } cases[] = {
        {"exit 0", 0, false}, {"exit 64", -1, false},     {"exit 1", 0, true},
        {"exit 2", 0, true},  {"kill -SEGV $$", 0, true}, {"exit 255", 0, true},
    };
    char value[32];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        host_call("init");
        host.noptions = OPTIONS;
        host_helper_does(cases[i].does);
        host.log[0] = '\0';
        snprintf(value, sizeof(value), "auto,ring=%zu", i);
        assert_int_equal(host_option("nccl-profile", value, 0), cases[i].want);
        assert_int_equal(host.log[0] != '\0', cases[i].said);
        /* a check that could not run counts as off */
        host_call("init_post_opt");
        assert_env("SLURM_JOBPROF_REQ", i == 0 ? "1" : NULL);
        host.noptions = 0;
    }
    assert_ran("jobprof-node.resolve.run",
               "arg resolve\narg --check\narg --nccl\narg auto,ring=5\nenv ");
}

static void test_check_args(void **state)
{
    /* the last one of the build */
    const char *option = names[OPTIONS - 1];
    char node[PATH_MAX], args[200];

    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    host_plugstack(node, "config=/etc/jobprof.conf", "default=auto", NULL);
    host_call("init");
    assert_int_equal(host_option(option, "top,top=5", 0), 0);
    snprintf(args, sizeof(args),
             "arg resolve\narg --check\narg --config\n"
             "arg /etc/jobprof.conf\narg --%.*s\narg top,top=5\nenv ",
             (int) strcspn(option, "-"), option);
    assert_ran("jobprof-node.resolve.run", args);
}

static void test_check_hangs(void **state)
{
    long long start = host_now_ms();

    host.keeps_time = true;
    host_helper_does("sleep 60");
    host_call("init");
    assert_int_equal(host_option("nccl-profile", "auto", 0), 0);
    assert_in_range(host_now_ms() - start, 900, HELPER_HANGS_MS);
    assert_has(host.log, "took over 1 s");
    assert_int_equal(host_helpers(0), 0);
}

static void test_check_missing(void **state)
{
    host_plugstack("node=/nowhere/jobprof-node", NULL);
    host_call("init");
    assert_int_equal(host_option("nccl-profile", "auto", 0), 0);
    assert_string_equal(
        host.log,
        "spank: jobprof: --nccl-profile is off: missing, or "
        "users other than root can write to it: /nowhere/jobprof-node\n");
}

/* Slurm calls back for the environment, the command line and every component.
 */
static void test_last_value(void **state)
{
    host_call("init");
    host_option("nccl-profile", "auto", 0);
    host_option("nccl-profile", "auto", 0);
    assert_int_equal(host.forks, 1);
    host_call("init_post_opt");
    assert_env("SLURM_JOBPROF_REQ", "1");
    assert_int_equal(host.forks, 1); /* nothing asks the history */
    host_option("nccl-profile", "off", 0);
    host_option("nccl-profile", "off", 0);
    assert_int_equal(host.forks, 1);
    host_call("init_post_opt");
    assert_env("SLURM_JOBPROF_REQ", NULL);
    host_option("nccl-profile", "recorder", 0);
    assert_int_equal(host.forks, 2);
    host_call("init_post_opt");
    assert_env("SLURM_JOBPROF_REQ", "1");
}

/* --- what requests profiling ---------------------------------------------- */

/* A value of an option that this build has not. */
static bool is_foreign(const char *option, const char *value, const char *env)
{
    return (value || env) && !has_option(option);
}

/* NULL: not given or not set. */
static void give(const char *option, const char *value, const char *variable,
                 const char *env)
{
    if (value)
        host_option(option, value, 0);
    unsetenv(variable);
    if (env)
        setenv(variable, env, 1);
}

static void test_request(void **state)
{
    static const struct {
        const char *nccl, *copper, *env, *mode, *want, *copper_env;
        const char *util, *util_env, *clock, *clock_env, *nsys, *nsys_env;
    } cases[] = {
        {.want = "1", .copper_env = "top"},
        {.copper = "off", .copper_env = "top"},
        {.nccl = "off", .mode = "default=auto", .copper_env = "off"},
        {.nccl = NULL},
        {.nccl = "off"},
        {.nccl = "off", .env = "recorder", .mode = "default=auto"},
        {.nccl = "auto", .env = "off", .mode = "default=off", .want = "1"},
        {.copper = "off"},
        {.copper = "full", .want = "1"},
        {.nccl = "off", .copper = "full", .want = "1"},
        {.env = "iterations=5", .want = "1"},
        {.env = "off", .mode = "default=auto"},
        {.env = "off,verbose=1", .mode = "default=auto"},
        {.env = "", .mode = "default=auto", .want = "1"},
        {.mode = "default=auto", .want = "1"},
        {.mode = "default=off"},
        {.want = "1", .util = "auto"},
        {.nccl = "off", .mode = "default=auto", .want = "1", .util = "200ms"},
        {.want = "1", .util_env = "auto,labels=a:b"},
        {.util = "off", .util_env = "auto"},
        {.util_env = "off"},
        {.mode = "default=auto", .want = "1", .util = "off"},
        {.clock = "auto", .want = "1"},
        {.clock_env = "light", .want = "1"},
        {.clock = "off", .clock_env = "light"},
        {.clock = "off", .mode = "default=auto", .want = "1"},
        {.nsys = "ranks=0", .want = "1"},
        {.nsys_env = "auto", .want = "1"},
        {.nsys = "off", .nsys_env = "auto"},
    };
    char node[PATH_MAX];

    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    setenv("HOME", "/home/alice", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (is_foreign("copper-profile", cases[i].copper,
                       cases[i].copper_env) ||
            is_foreign("util-profile", cases[i].util, cases[i].util_env) ||
            is_foreign("clock-profile", cases[i].clock, cases[i].clock_env) ||
            is_foreign("nsys-profile", cases[i].nsys, cases[i].nsys_env))
            continue;
        host_plugstack(node, cases[i].mode, NULL);
        host.noptions = 0;
        host_call("init");
        give("nccl-profile", cases[i].nccl, "JOBPROF_NCCL", cases[i].env);
        give("copper-profile", cases[i].copper, "JOBPROF_COPPER",
             cases[i].copper_env);
        give("util-profile", cases[i].util, "JOBPROF_UTIL", cases[i].util_env);
        give("clock-profile", cases[i].clock, "JOBPROF_CLOCK",
             cases[i].clock_env);
        give("nsys-profile", cases[i].nsys, "JOBPROF_NSYS", cases[i].nsys_env);
        setenv("SLURM_JOBPROF_DIR", "/stale", 1);
        host_call("init_post_opt");
        host_call("init_post_opt");
        assert_env("SLURM_JOBPROF_REQ", cases[i].want);
        assert_env("SLURM_JOBPROF_DIR", NULL);
        assert_env("SLURM_JOBPROF_HOME", cases[i].want ? "/home/alice" : NULL);
        assert_env("SLURM_JOBPROF_NCCL", cases[i].want ? cases[i].env : NULL);
    }
    assert_string_equal(host.log, "");
}

static void test_allocator(void **state)
{
    host.context = S_CTX_ALLOCATOR;
    host_call("init");
    assert_int_equal(host_option("nccl-profile", "auto", 0), 0);
    host_helper_does("exit 64");
    assert_int_equal(host_option("nccl-profile", "auto,x=1", 0), -1);
    host.log[0] = '\0';
    host_call("init_post_opt");
    host_call("init_post_opt"); /* of another component */
    host_call("exit");
    assert_env("SLURM_JOBPROF_REQ", NULL);
    assert_int_equal(host.forks, 2);   /* two checks */
    assert_string_equal(host.log, ""); /* the script is profiled, too */
}

/* What a job cannot have is said once, at its submission. */
static void test_allocator_tells(void **state)
{
    static const struct {
        const char *program, *option, *said;
    } rows[] = {
        {"sbatch", "util-profile", ""},
        {"sbatch", "copper-profile",
         " the steps that srun starts in this job; the script itself runs "
         "without "},
        {"salloc", "nccl-profile",
         "spank: jobprof: the steps that srun starts in this job are "
         "profiled; a program that salloc runs on this host is not\n"},
    };
    char *name = program_invocation_short_name;

    for (int i = 0; i < 3; i++) {
        if (!has_option(rows[i].option))
            continue;
        host_teardown(state);
        host_setup(state);
        host.context = S_CTX_ALLOCATOR;
        program_invocation_short_name = (char *) rows[i].program;
        host_call("init");
        assert_int_equal(host_option(rows[i].option, "auto", 0), 0);
        host_call("init_post_opt");
        host_call("init_post_opt"); /* of another component */
        program_invocation_short_name = name;
        /* the first words are the names of such options */
        if (*rows[i].said)
            assert_has(host.log, rows[i].said);
        else
            assert_string_equal(host.log, "");
        host_call("exit");
    }
}

/* A new job that is to be profiled, where the site wants it: the history is
 * asked once, by srun outside of a job, sbatch and salloc. Elsewhere no process
 * is started. */
static void test_tells_history(void **state)
{
    static const struct {
        spank_context_t context;
        const char *line, *value, *job;
        bool asks;
    } rows[] = {{S_CTX_ALLOCATOR, "history=tell", "auto", NULL, true},
                {S_CTX_LOCAL, "history=tell", "auto", NULL, true},
                {S_CTX_LOCAL, "history=tell", "auto", "12", false},
                {S_CTX_ALLOCATOR, "history=tell", "off", NULL, false},
                {S_CTX_ALLOCATOR, NULL, "auto", NULL, false},
                {S_CTX_LOCAL, NULL, "auto", NULL, false}};
    char node[PATH_MAX], *run;

    (void) state;
    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        host_plugstack(node, rows[i].line, NULL);
        unlink(host_path("jobprof.history.run"));
        host.context = rows[i].context;
        host.noptions = 0;
        host_helper_does("exit 0");
        if (rows[i].job)
            setenv("SLURM_JOB_ID", rows[i].job, 1);
        else
            unsetenv("SLURM_JOB_ID");
        host_call("init");
        assert_int_equal(host_option("nccl-profile", rows[i].value, 0), 0);
        host.forks = 0;
        host_call("init_post_opt");
        host_call("init_post_opt"); /* of another component */
        assert_int_equal(host.forks, rows[i].asks);
        run = host_read("jobprof.history.run");
        assert_int_equal(*run != '\0', rows[i].asks);
        if (rows[i].asks)
            assert_has(run, "arg history\narg --tell\n");
        free(run);
    }
    unsetenv("SLURM_JOB_ID");
    assert_string_equal(host.log, "");
}

/* A history that hangs delays a submission by half a second at most, is killed,
 * and nobody hears of it. */
static void test_history_hangs(void **state)
{
    char node[PATH_MAX];
    long long start;

    (void) state;
    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    host_plugstack(node, "history=tell", NULL);
    host.keeps_time = true;
    host.context = S_CTX_ALLOCATOR;
    host_helper_does("exit 0");
    host_call("init");
    assert_int_equal(host_option("nccl-profile", "auto", 0), 0);
    host_helper_does("sleep 60 & sleep 60");
    start = host_now_ms();
    host_call("init_post_opt");
    assert_in_range(host_now_ms() - start, 250, HELPER_HANGS_MS);
    assert_int_equal(host_helpers(0), 0);
    assert_string_equal(host.log, "");
}

/* Without the option, or with =off, nothing is said. */
static void test_allocator_without(void **state)
{
    host.context = S_CTX_ALLOCATOR;
    host_call("init");
    host_call("init_post_opt");
    assert_int_equal(host_option("nccl-profile", "off", 0), 0);
    host_call("init_post_opt");
    host_call("exit");
    assert_string_equal(host.log, "");
}

static void test_idle(void **state)
{
    host_call("init");
    host_call("init_post_opt");
    host_call("local_user_init");
    host_call("exit");
    assert_int_equal(host.forks, 0);
    assert_int_equal(host.opens, 0);
    assert_int_equal(host.sockets, 0);
    assert_env("SLURM_JOBPROF_DIR", NULL);
    assert_string_equal(host.log, "");
}

static void test_unset_inherited(void **state)
{
    setenv("JOBPROF_SET", "NCCL_PROFILER_PLUGIN,,JOBPROF_RECORDER_DIR", 1);
    setenv("NCCL_PROFILER_PLUGIN", "1", 1);
    setenv("JOBPROF_RECORDER_DIR", "2", 1);
    setenv("NCCL_USER", "3", 1);
    host_call("init");
    host_call("init_post_opt");
    assert_env("NCCL_PROFILER_PLUGIN", NULL);
    assert_env("JOBPROF_RECORDER_DIR", NULL);
    assert_env("JOBPROF_SET", NULL);
    assert_env("NCCL_USER", "3");
}

/* Users may write anything there. */
static void test_unset_ours_only(void **state)
{
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("JOBPROF_SET",
           "PATH,LD_LIBRARY_PATH,NCCL_SOCKET_IFNAME,SLURM_CONF,,XNCCL_PROFILE,"
           "NCCL_INSPECTOR_ENABLE",
           1);
    setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
    setenv("NCCL_SOCKET_IFNAME", "eth0", 1);
    setenv("SLURM_CONF", "/nonexistent", 1);
    setenv("NCCL_INSPECTOR_ENABLE", "1", 1);
    setenv("XLA_FLAGS", "--x", 1);
    host_call("init");
    host_call("init_post_opt");
    assert_env("XLA_FLAGS", "--x");
    assert_env("PATH", "/usr/bin:/bin");
    assert_env("LD_LIBRARY_PATH", "/nonexistent");
    assert_env("NCCL_SOCKET_IFNAME", "eth0");
    assert_env("SLURM_CONF", "/nonexistent");
    assert_env("NCCL_INSPECTOR_ENABLE", NULL);
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("SLURM_CONF");
    unsetenv("NCCL_SOCKET_IFNAME");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_registers),
        TEST(test_other_contexts),
        TEST(test_plugstack),
        TEST(test_outer_form),
        TEST(test_check),
        TEST(test_check_args),
        TEST(test_check_hangs),
        TEST(test_check_missing),
        TEST(test_last_value),
        TEST(test_request),
        TEST(test_allocator),
        TEST(test_allocator_tells),
        TEST(test_tells_history),
        TEST(test_history_hangs),
        TEST(test_idle),
        TEST(test_allocator_without),
        TEST(test_unset_inherited),
        TEST(test_unset_ours_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
