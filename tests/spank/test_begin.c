/* test_begin.c - the module in slurmstepd: begin and the tasks' environment. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spank/fakehost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BEGIN "jobprof-node.begin.run"
#define FINISH "jobprof-node.finish.run"

static void test_begin(void **state)
{
    char node[PATH_MAX];

    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    host_plugstack(node, "config=/c", "default=auto", NULL);
    host.nodeid = 2;
    host_setenv("NCCL_MINE", "user");
    host_setenv("NCCL_OTHER", "user");
    host_setenv("NCCL_GONE", "user");
    host_user_init(
        "echo NCCL_A=1=2; echo '?NCCL_MINE=ours'; echo NCCL_OTHER=ours;"
        "echo '?NCCL_NEW=x y'; echo -NCCL_GONE; echo NCCL_EMPTY=; echo .");
    assert_ran(BEGIN,
               "arg begin\narg --config\narg /c\narg --default\narg auto\n"
               "arg --nccl\narg recorder\narg --dir\narg /x/step-0\n"
               "arg --node\narg n1\narg --nodeid\narg 2\narg --component\n"
               "arg 12\narg --nodes\narg 3\nenv ");
    assert_ran(BEGIN, "env SLURM_JOBPROF_NCCL=ring=1\n");
    assert_job("NCCL_A", "1=2");
    assert_job("NCCL_MINE", "user");
    assert_job("NCCL_OTHER", "ours");
    assert_job("NCCL_NEW", "x y");
    assert_job("NCCL_GONE", NULL);
    assert_job("NCCL_EMPTY", "");
    assert_job("JOBPROF_SET", "NCCL_A,NCCL_OTHER,NCCL_NEW,NCCL_EMPTY");
    assert_carried_gone();
    assert_string_equal(host.log, "");
    host_call("exit");
}

static void test_not_asked(void **state)
{
    host.context = S_CTX_REMOTE;
    host_setenv("JOBPROF_SET", "NCCL_PROFILE_A,PATH,JOBPROF_B,NCCL_C");
    host_setenv("NCCL_PROFILE_A", "ours");
    host_setenv("JOBPROF_B", "ours");
    host_setenv("PATH", "user");
    host_setenv("NCCL_C", "user");
    host_call("init");
    host_option("nccl-profile", "recorder", 1); /* inherited */
    host_call("init_post_opt");
    host_call("user_init");
    host_task_ends(0, 0, 100, 0);
    host_call("exit");
    assert_int_equal(host.forks, 0);
    assert_int_equal(host.opens, 0);
    assert_int_equal(host.sockets, 0);
    assert_job("JOBPROF_SET", NULL);
    assert_job("NCCL_PROFILE_A", NULL);
    assert_job("JOBPROF_B", NULL);
    assert_job("PATH", "user");
    assert_job("NCCL_C", "user");
    assert_string_equal(host.log, "");
}

static void test_not_profiled(void **state)
{
    host_remote_init();
    host_setenv("SLURM_JOBPROF_DIR", "-");
    host_call("user_init");
    host_call("exit");
    assert_int_equal(host.forks, 0);
    assert_carried_gone();
}

/* A nested profiled step replaces what the outer step has set. */
static void test_nested(void **state)
{
    host_setenv("JOBPROF_SET", "NCCL_PROFILE_A,NCCL_PROFILE_B");
    host_setenv("NCCL_PROFILE_A", "outer");
    host_setenv("NCCL_PROFILE_B", "outer");
    host_user_init("echo '?NCCL_PROFILE_A=inner'; echo .");
    assert_job("NCCL_PROFILE_A", "inner");
    assert_job("NCCL_PROFILE_B", NULL);
    assert_job("JOBPROF_SET", "NCCL_PROFILE_A");
    assert_ran_without(BEGIN, "outer");
    assert_ran_without(BEGIN, "JOBPROF_SET");
    host_call("exit");
}

/* A site's list stays in front of ours, also in a step within a step. */
static void test_lists(void **state)
{
    host_setenv("APPTAINER_BINDPATH", "/site:/site");
    host_user_init("echo +APPTAINER_BINDPATH=/a:/a; echo +APPTAINER_BIND=/b:/b;"
                   "echo .");
    assert_job("APPTAINER_BINDPATH", "/site:/site,/a:/a");
    assert_job("APPTAINER_BIND", "/b:/b");
    assert_job("JOBPROF_SET", "APPTAINER_BINDPATH,APPTAINER_BIND");
    host_call("exit");
}

/* A list without room for ours is kept, and the step is still profiled. */
static void test_lists_full(void **state)
{
    static const struct {
        int had; /* bytes */
        bool fits;
    } rows[] = {{16384 - 9, true},
                {16384 - 8, false},
                {16384 - 1, false},
                {16384, false},
                {100000, false}};
    char *list = calloc(1, 100001);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (i) {
            host_teardown(state);
            host_setup(state);
        }
        memset(list, '\0', 100001);
        memset(list, 'x', (size_t) rows[i].had);
        host_setenv("APPTAINER_BINDPATH", list);
        host_user_init("echo +APPTAINER_BINDPATH=/a:/a,b; echo NCCL_A=1;"
                       "echo .");
        assert_job("NCCL_A", "1");
        assert_job("JOBPROF_SET",
                   rows[i].fits ? "APPTAINER_BINDPATH,NCCL_A" : "NCCL_A");
        assert_job("JOBPROF_WAS_APPTAINER_BINDPATH",
                   rows[i].fits ? list : NULL);
        if (rows[i].fits) {
            assert_string_equal(host.log, "");
            memcpy(list + rows[i].had, ",/a:/a,b", 9);
        } else {
            assert_has(host.log, "spank: jobprof: n1: APPTAINER_BINDPATH is "
                                 "too long for jobprof's mounts");
        }
        assert_job("APPTAINER_BINDPATH", list);
        host_call("exit");
    }
    free(list);
}

static void test_lists_nested(void **state)
{
    host_setenv("JOBPROF_SET", "APPTAINER_BINDPATH,APPTAINER_BIND");
    host_setenv("JOBPROF_WAS_APPTAINER_BINDPATH", "/site:/site");
    host_setenv("APPTAINER_BINDPATH", "/site:/site,/outer:/outer");
    host_setenv("APPTAINER_BIND", "/outer:/outer");
    host_user_init("echo +APPTAINER_BINDPATH=/a:/a; echo .");
    assert_job("APPTAINER_BINDPATH", "/site:/site,/a:/a");
    assert_job("APPTAINER_BIND", NULL);
    assert_job("JOBPROF_WAS_APPTAINER_BINDPATH", "/site:/site");
    host_call("exit");
}

static void test_special_steps(void **state)
{
    static const uint32_t ids[] = {SLURM_EXTERN_CONT, SLURM_PENDING_STEP};

    host_setenv("JOBPROF_SET", "NCCL_PROFILE_A");
    host_setenv("NCCL_PROFILE_A", "x");
    for (int i = 0; i < 2; i++) {
        host.step = ids[i];
        host_user_init("echo A=1; echo .");
        host_task_ends(0, 0, 100, 0);
        host_call("exit");
    }
    assert_int_equal(host.forks, 0);
    assert_job("A", NULL);
    assert_job("NCCL_PROFILE_A", "x");
}

/* A later module has replaced a variable. With policy.task_env = "last" the
 * task gets ours; what the user has set stays. */
static void test_task_env(void **state)
{
    static const struct {
        const char *again, *want;
    } rows[] = {{"", "theirs"},
                {"echo JOBPROF_TASK_ENV=first;", "theirs"},
                {"echo JOBPROF_TASK_ENV=last;", "ours"}};
    char does[256];

    for (int i = 0; i < 3; i++) {
        host_teardown(state);
        host_setup(state);
        host_setenv("NCCL_MINE", "user");
        host_setenv("APPTAINER_BIND", "/site:/site");
        snprintf(does, sizeof(does),
                 "echo '?NCCL_A=ours'; echo NCCL_AB=ours; echo '?NCCL_MINE=x';"
                 "echo +APPTAINER_BIND=/a:/a; %s echo .",
                 rows[i].again);
        host_user_init(does);
        host_setenv("NCCL_A", "theirs");
        host_setenv("NCCL_AB", "theirs");
        host_call("task_init");
        assert_job("NCCL_A", rows[i].want);
        assert_job("NCCL_AB", rows[i].want);
        assert_job("NCCL_MINE", "user");
        assert_job("APPTAINER_BIND", "/site:/site,/a:/a");
        host_call("exit");
    }
}

/* A batch script with the option: nothing is believed of the step in which
 * sbatch ran. */
static void test_batch(void **state)
{
    host.step = SLURM_BATCH_SCRIPT;
    host_setenv("JOBPROF_SET", "NCCL_PROFILE_A");
    host_setenv("NCCL_PROFILE_A", "outer");
    host_setenv("SLURM_STEP_NUM_NODES", "7");
    host_user_init("echo SLURM_JOBPROF_DIR=/y/step-batch; echo A=1; echo .");
    assert_ran_without(BEGIN, "arg --dir");
    assert_ran_without(BEGIN, "outer");
    assert_ran(BEGIN, "arg --nodes\narg 1\narg --script\narg batch\nenv ");
    assert_job("A", "1");
    assert_job("NCCL_PROFILE_A", NULL);
    assert_carried_gone();
    host_task_ends(0, 0, 100, 0);
    host_call("exit");
    assert_ran(FINISH, "arg --dir\narg /y/step-batch\n");
    assert_ran(FINISH, "arg --script\narg batch\n");
}

/* Without an option or a variable that asks for it, a batch script is left
 * alone, whatever the step around sbatch had. */
static void test_batch_not_asked(void **state)
{
    host.step = SLURM_BATCH_SCRIPT;
    host.context = S_CTX_REMOTE;
    host_setenv("SLURM_JOBPROF_REQ", "1");
    host_setenv("SLURM_JOBPROF_DIR", "/x/step-0");
    host_call("init");
    host_call("init_post_opt");
    host_call("user_init");
    host_call("exit");
    assert_int_equal(host.forks, 0);
    assert_carried_gone();
}

static void test_missing_items(void **state)
{
    host.absent = true;
    host_user_init("echo A=1; echo .");
    host_task_ends(0, 0, 100, 0);
    host_call("exit");
    assert_int_equal(host.forks, 0);
}

static void test_begin_void(void **state)
{
    static const char *const does[] = {
        "exit 0",
        "exit 3",
        "kill -SEGV $$",
        "echo NCCL_A=1",
        "echo NCCL_A=1; printf .",
        "echo NCCL_A=1; echo 'ls -l'; echo .",
        "echo NCCL_A=1; echo; echo .",
        "head -c 70000 /dev/zero | tr '\\0' x | sed 's/^/NCCL_A=/'; echo;"
        "echo .",
        "head -c 70000 /dev/urandom",
    };

    for (size_t i = 0; i < sizeof(does) / sizeof(*does); i++) {
        host.log[0] = '\0';
        host_user_init(does[i]);
        assert_string_equal(host.log, "spank: jobprof: n1: jobprof-node begin "
                                      "failed or took over 2 s\n");
        assert_job("NCCL_A", NULL);
        assert_job("JOBPROF_SET", NULL);
        assert_carried_gone();
        assert_int_equal(host_helpers(0), 0);
        /* other nodes must not wait for this one */
        unlink(host_path(FINISH));
        host_call("exit");
        assert_ran(FINISH, "arg finish\narg --dir\narg /x/step-0\n");
    }
}

static void test_begin_says(void **state)
{
    host_user_init("echo 'no space in /x (tasks here run unprofiled)' >&2;"
                   "echo more >&2; exit 3");
    assert_string_equal(host.log, "spank: jobprof: n1: no space in /x (tasks "
                                  "here run unprofiled)\n");
    host.log[0] = '\0';
    host.nodeid = 5;
    host_user_init("echo 'a warning' >&2; echo NCCL_A=1; echo .");
    assert_string_equal(host.log, "info: jobprof: n1: a warning\n");
    assert_job("NCCL_A", "1");
    host_call("exit");
}

/* Each het component has a node 0. Only the first node of the list prints. */
static void test_het_says_once(void **state)
{
    static const struct {
        const char *list;
        bool loud;
    } table[] = {
        {"n1", true},      {"n[1-3]", true},    {"n[1,5]", true},
        {"n1,m7", true},   {"n[0-3]", false},   {"n0,n1", false},
        {"n10,n1", false}, {"n[10-12]", false}, {"m[1-2],n1", false},
        {"n", false},      {"", false},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        host.log[0] = '\0';
        host_setenv("SLURM_STEP_NODELIST", table[i].list);
        host_user_init("echo x >&2; exit 3");
        assert_string_equal(host.log, table[i].loud ? "spank: jobprof: n1: x\n"
                                                    : "info: jobprof: n1: x\n");
        host_call("exit");
    }
}

/* A site's default prints nothing for the user: what fails goes to the node's
 * syslog. */
static void test_default_is_quiet(void **state)
{
    char node[PATH_MAX];

    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    host_plugstack(node, "default=auto", NULL);
    host.context = S_CTX_REMOTE;
    host_setenv("SLURM_JOBPROF_REQ", "1");
    host_helper_does("exit 3");
    host_call("init");
    host_call("user_init");
    assert_string_equal(host.log,
                        "syslog: n1: jobprof-node begin failed or took over 2 "
                        "s\n");
    host.log[0] = '\0';
    host_setenv("SLURM_JOBPROF_REQ", "1");
    host_helper_does("echo 'no space (tasks here run unprofiled)' >&2; exit 3");
    host_call("user_init");
    assert_string_equal(host.log,
                        "syslog: n1: no space (tasks here run unprofiled)\n");
    host.log[0] = '\0';
    host_setenv("SLURM_JOBPROF_REQ", "1");
    host_setenv("SLURM_JOBPROF_NCCL", "recorder");
    host_call("user_init");
    assert_has(host.log, "spank: jobprof: n1: ");
    host_call("exit");
}

static void test_begin_hangs(void **state)
{
    long long start;

    host.keeps_time = true;
    host_remote_init();
    host_helper_does("sleep 60 & sleep 60");
    start = host_now_ms();
    host_call("user_init");
    assert_in_range(host_now_ms() - start, 1900, HELPER_HANGS_MS);
    assert_int_equal(host_helpers(0), 0);
    assert_has(host.log, "failed");
    host_helper_does("exit 0");
    host_call("exit");
}

/* begin computes the directory if srun has named none. */
static void test_begin_names_dir(void **state)
{
    host_remote_init();
    spank_unsetenv((spank_t) &host, "SLURM_JOBPROF_DIR");
    host_helper_does("echo SLURM_JOBPROF_DIR=/y/step-3; echo NCCL_A=1; echo .");
    host_call("user_init");
    assert_ran_without(BEGIN, "--dir");
    assert_job("NCCL_A", "1");
    assert_carried_gone();
    host_call("exit");
    assert_ran(FINISH, "arg finish\narg --dir\narg /y/step-3\n");
}

static void test_no_dir(void **state)
{
    host_remote_init();
    spank_unsetenv((spank_t) &host, "SLURM_JOBPROF_DIR");
    host_helper_does("echo .");
    host_call("user_init");
    host.forks = 0;
    host_call("exit");
    assert_int_equal(host.forks, 0);
}

/* --- begin continues beside the tasks ------------------------------------- */

static void test_background(void **state)
{
    long long start = host_now_ms();

    host.keeps_time = true;
    host_user_init("trap 'echo ended >${0%/*}/ended; exit' TERM; echo .;"
                   "while :; do sleep 0.05; done");
    assert_in_range(host_now_ms() - start, 0, 1900);
    assert_int_equal(host_helpers(1), 1);
    /* slurmstepd's wait3() must not find it */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    host_helper_does("exit 0");
    host_call("exit");
    assert_int_equal(host_helpers(0), 0);
    assert_int_equal(access(host_path("ended"), F_OK), 0);
}

static void test_stubborn(void **state)
{
    long long start;

    host.keeps_time = true;
    host_user_init("trap '' TERM; echo .; while :; do sleep 0.05; done");
    assert_int_equal(host_helpers(1), 1);
    host_helper_does("exit 0");
    start = host_now_ms();
    host_call("exit");
    assert_in_range(host_now_ms() - start, 190, HELPER_HANGS_MS);
    assert_int_equal(host_helpers(0), 0);
}

/* When begin has ended, its group's number may be another process'. */
static void test_foreign_group(void **state)
{
    host_user_init("(sh -c 'sleep 1; : '${0%/*} >/dev/null 2>&1 &) ; echo .");
    usleep(200000);
    assert_int_equal(host_helpers(1), 1);
    host_helper_does("exit 0");
    host_call("exit");
    assert_int_equal(host_helpers(1), 1);
    usleep(1000000);
    assert_int_equal(host_helpers(0), 0);
}

/* --- /proc with hidepid: no helper is seen before its exec ---------------- */

/* errno for its exe; ENOENT: its folder does not exist either */
static int hide;

int stat(const char *path, struct stat *st)
{
    if (hide == ENOENT && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return fstatat(AT_FDCWD, path, st, 0);
}

ssize_t readlink(const char *path, char *text, size_t size)
{
    if (hide && strncmp(path, "/proc/", 6) == 0) {
        errno = hide;
        return -1;
    }
    return readlinkat(AT_FDCWD, path, text, size);
}

static void test_hidepid(void **state)
{
    static const int as[] = {EPERM, ENOENT};

    for (int i = 0; i < 2; i++) {
        hide = as[i];
        host_user_init("sleep 0.3; echo NCCL_A=1; echo .");
        hide = 0;
        assert_string_equal(host.log, "");
        assert_job("NCCL_A", "1");
        host_call("exit");
    }
}

/* init may reap it late: a zombie has no exe, but still a folder. */
static void test_begin_ends(void **state)
{
    long long start = host_now_ms();

    host_user_init("exit 1");
    assert_in_range(host_now_ms() - start, 0, 1900);
    assert_has(host.log, "failed");
    host_call("exit");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_begin),
        TEST(test_not_asked),
        TEST(test_not_profiled),
        TEST(test_nested),
        TEST(test_lists),
        TEST(test_lists_full),
        TEST(test_lists_nested),
        TEST(test_special_steps),
        TEST(test_task_env),
        TEST(test_batch),
        TEST(test_batch_not_asked),
        TEST(test_missing_items),
        TEST(test_begin_void),
        TEST(test_begin_says),
        TEST(test_het_says_once),
        TEST(test_begin_hangs),
        TEST(test_begin_names_dir),
        TEST(test_no_dir),
        TEST(test_background),
        TEST(test_stubborn),
        TEST(test_default_is_quiet),
        TEST(test_foreign_group),
        TEST(test_hidepid),
        TEST(test_begin_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
