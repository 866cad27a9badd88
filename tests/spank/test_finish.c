/* test_finish.c - the module in slurmstepd: the tasks' ends, finish, the user.
 */
#include <errno.h>
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
#define TASK "jobprof-node.task.run"

static void test_finish(void **state)
{
    char *text;

    host.job = 13; /* a component's own id */
    host.nodeid = 1;
    host_user_init("echo NCCL_A=1; echo .");
    host_task_ends(0, 4, 1000, 0);
    host_task_ends(1, 5, 1001, 256);
    host_task_ends(2, 6, 1002, 9);
    host.task_local = 3;
    host.task_exited = false;
    host_call("task_exit");
    host.task_local = -1;
    host_call("exit");
    assert_ran(FINISH, "arg finish\narg --dir\narg /x/step-0\narg --node\n"
                       "arg n1\narg --nodeid\narg 1\narg --component\narg 13\n"
                       "arg --nodes\narg 3\nenv ");
    text = host_read("stdin");
    assert_string_equal(text, "4 0 1000 0\n5 1 1001 256\n6 2 1002 9\n"
                              "6 3 1002 -1\n");
    free(text);
    assert_string_equal(host.log, "");
    host.forks = 0;
    host_call("exit"); /* again */
    host_task_ends(0, 4, 1000, 0);
    assert_int_equal(host.forks, 0);
}

/* A task's record is made where GPUs were chosen for it, and keeps nobody. */
static void test_start(void **state)
{
    long long start;

    host_user_init("echo .");
    host.forks = 0;
    host_call("task_init"); /* it has them all */
    assert_int_equal(host.forks, 0);
    host_setenv("CUDA_VISIBLE_DEVICES", "2");
    host_setenv("SLURM_PROCID", "4");
    host_helper_does("exit 5");
    host_call("task_init");
    assert_ran(TASK, "arg task\narg --dir\narg /x/step-0\narg --node\n"
                     "arg n1\narg --nodeid\narg 0\narg --component\narg "
                     "12\narg --nodes\narg 3\nenv ");
    assert_ran(TASK, "env CUDA_VISIBLE_DEVICES=2\n");
    assert_ran(TASK, "env SLURM_PROCID=4\n");
    assert_string_equal(host.log, "");
    host_helper_does("trap '' TERM; sleep 60");
    start = host_now_ms();
    host_call("task_init");
    assert_in_range(host_now_ms() - start, 400, 6000);
    assert_int_equal(host_helpers(0), 0);
    assert_string_equal(host.log, "");
    host_call("exit");
    host.forks = 0;
    host_call("task_init"); /* of another step, which is not profiled */
    assert_int_equal(host.forks, 0);
}

static void test_many_tasks(void **state)
{
    struct stat st;

    host_user_init("echo .");
    for (int i = 0; i < 60000; i++)
        host_task_ends(i, 1000000 + (uint32_t) i, 100000 + i, 0);
    host_call("exit");
    assert_int_equal(stat(host_path("stdin"), &st), 0);
    assert_true(st.st_size > 60000 * 20);
}

static void test_finish_hangs(void **state)
{
    long long start;

    host_user_init("echo .");
    host_helper_does("trap '' TERM; sleep 60 & sleep 60");
    start = host_now_ms();
    host_call("exit");
    assert_in_range(host_now_ms() - start, 5900, 12000);
    assert_string_equal(host.log, "spank: jobprof: finish failed or hung; "
                                  "later: jobprof report /x/step-0\n");
    assert_int_equal(host_helpers(0), 0);
}

static void test_finish_crashes(void **state)
{
    long long start;

    host_user_init("echo .");
    host_helper_does("kill -SEGV $$");
    start = host_now_ms();
    host_call("exit");
    assert_in_range(host_now_ms() - start, 0, 5900);
    assert_int_equal(host_helpers(0), 0);
}

/* Not a descendant, not for a moment: the end of the job must not end it. */
static void test_finish_is_no_descendant(void **state)
{
    char *text;

    host_user_init("echo .");
    host_helper_does("cut -d ' ' -f 4 /proc/$PPID/stat >${0%/*}/above");
    host.exit_ms = 300;
    host_call("exit");
    text = host_read("above");
    assert_true(*text); /* of its parent */
    assert_int_not_equal(strtol(text, NULL, 10), getpid());
    free(text);
    text = host_read(FINISH);
    assert_has(text, "parent ");
    assert_int_not_equal(strtol(strstr(text, "parent ") + 7, NULL, 10),
                         getpid());
    free(text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* What finish leaves behind in a session of its own goes on. */
static void test_watcher_lives(void **state)
{
    host_user_init("echo .");
    host_helper_does("setsid sh -c 'sleep 1; : '${0%/*} >/dev/null 2>&1 &");
    host_call("exit");
    assert_int_equal(host_helpers(1), 1);
    usleep(1200000);
    assert_int_equal(host_helpers(0), 0);
}

static void test_twice(void **state)
{
    host_call("init");
    host_user_init("echo .");
    host_call("user_init");
    host_call("exit");
    host_call("exit");
    assert_int_equal(host_helpers(0), 0);
}

static void test_no_descriptor_left(void **state)
{
    int before = dup(0), after;

    close(before);
    for (int i = 0; i < 3; i++) {
        host_user_init(i == 1 ? "exit 1" : "echo .");
        host_task_ends(0, 0, 1, 0);
        host_call("exit");
    }
    after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

/* --- whose helper, which user --------------------------------------------- */

/* Who may replace a folder on its way may replace the helper. */
static void test_untrusted(void **state)
{
    static const struct {
        mode_t program, folder;
        uid_t program_of, folder_of; /* 0: ours */
        const char *by;              /* its name in host_dir() */
        bool runs;
    } rows[] = {
        {0755, 0755, 0, 0, "sub/jobprof-node", true},
        {0700, 01777, 0, 0, "sub/jobprof-node", true},
        {0755, 0755, 0, 0, "link", true},
        {0775, 0755, 0, 0, "sub/jobprof-node", false},
        {0757, 0755, 0, 0, "sub/jobprof-node", false},
        {01757, 0755, 0, 0, "link", false},
        {0755, 0775, 0, 0, "sub/jobprof-node", false},
        {0755, 0757, 0, 0, "link", false},
        {0755, 0755, 1234, 0, "sub/jobprof-node", false},
        {0755, 0755, 0, 1234, "sub/jobprof-node", false},
        {0755, 0755, 0, 1234, "link", false},
        {0755, 0755, 0, 0, "sub/gone", false},
        {0755, 0755, 0, 0, "sub", false},
    };
    char node[PATH_MAX];

    assert_int_equal(mkdir(host_path("sub"), 0755), 0);
    assert_int_equal(
        rename(host_path("jobprof-node"), host_path("sub/jobprof-node")), 0);
    assert_int_equal(symlink("sub/jobprof-node", host_path("link")), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uid_t program = rows[i].program_of ? rows[i].program_of : getuid();
        uid_t folder = rows[i].folder_of ? rows[i].folder_of : getuid();

        if ((rows[i].program_of || rows[i].folder_of) && getuid() != 0)
            continue; /* needs root */
        assert_int_equal(
            chown(host_path("sub/jobprof-node"), program, (gid_t) -1), 0);
        assert_int_equal(chown(host_path("sub"), folder, (gid_t) -1), 0);
        assert_int_equal(chmod(host_path("sub/jobprof-node"), rows[i].program),
                         0);
        assert_int_equal(chmod(host_path("sub"), rows[i].folder), 0);
        snprintf(node, sizeof(node), "node=%s", host_path(rows[i].by));
        host_plugstack(node, NULL);
        host.log[0] = '\0';
        host_user_init("echo A=1; echo .");
        if ((strcmp(host.log, "") == 0) != rows[i].runs)
            fail_msg("row %zu: %s", i, host.log);
        assert_job("A", rows[i].runs ? "1" : NULL);
        spank_unsetenv((spank_t) &host, "A");
        assert_carried_gone();
        host_call("exit");
    }
}

static void test_no_helper(void **state)
{
    host_plugstack("node=/nowhere/jobprof-node", NULL);
    host_user_init("echo A=1; echo .");
    host_call("exit");
    assert_string_equal(host.log,
                        "spank: jobprof: n1: missing, or not root's alone to "
                        "write: /nowhere/jobprof-node\n");
    assert_int_equal(host.forks, 0);
    assert_job("A", NULL);
}

/* slurmstepd that is not root, and a job of somebody else. */
static void test_not_root(void **state)
{
    if (getuid() == 0)
        return; /* needs an ordinary user */
    host.uid = getuid() + 1;
    host_user_init("echo A=1; echo .");
    assert_has(host.log, "failed");
    assert_int_equal(access(host_path(BEGIN), F_OK), -1);
    host_call("exit");
}

/* user_init: only the effective uid is the user's; exit: all of it is root. */
static void test_drop(void **state)
{
    static const char caps[] =
        "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
        "CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n";

    if (getuid() != 0)
        return; /* needs root */
    host.uid = 1000;
    host.gid = 1001;
    host.gids[0] = 1001;
    host.gids[1] = 1007;
    host.ngids = 2;
    host_remote_init();
    host_helper_does("id -u >${0%/*}/before; echo .");
    assert_int_equal(setegid(1001), 0);
    assert_int_equal(seteuid(1000), 0);
    host_call("user_init");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_ran(BEGIN, "id 1000 1001 1001 1007\n"
                      "Uid:\t1000\t1000\t1000\t1000\n"
                      "Gid:\t1001\t1001\t1001\t1001\n");
    assert_ran(BEGIN, caps);
    assert_ran(BEGIN, "NoNewPrivs:\t1\numask 0077\ncwd /\ncore 0\noom 0\n");
    host_call("exit");
    assert_ran(FINISH, "id 1000 1001 1001 1007\n"
                       "Uid:\t1000\t1000\t1000\t1000\n"
                       "Gid:\t1001\t1001\t1001\t1001\n");
    assert_ran(FINISH, caps);
    assert_string_equal(host.log, "");
    assert_int_equal(getuid(), 0);
    assert_int_equal(geteuid(), 0);
}

static void test_environment(void **state)
{
    setenv("LD_PRELOAD_NOT", "stepd", 1);
    setenv("SLURM_CONF", "/run/slurm.conf", 1);
    setenv("SLURM_OF_STEPD", "x", 1);
    host_setenv("LD_LIBRARY_PATH", "/evil");
    host_setenv("PATH", "/evil");
    host_setenv("HWLOC_PLUGINS_PATH", "/evil");
    host_setenv("SLURM_CONF", "/mine/slurm.conf"); /* names libraries */
    host_setenv("NCCL_DEBUG", "INFO");
    host_setenv("HOME", "/home/alice");
    host_user_init("echo .");
    assert_ran_without(BEGIN, "LD_");
    assert_ran_without(BEGIN, "evil");
    assert_ran_without(BEGIN, "SLURM_OF_STEPD");
    assert_ran(BEGIN,
               "env PATH=/usr/local/bin:/usr/bin:/bin\n"
               "env SLURM_CONF=/run/slurm.conf\n"); /* the first counts */
    assert_ran(BEGIN, "env NCCL_DEBUG=INFO\n");
    assert_ran(BEGIN, "env HOME=/home/alice\n");
    host_call("exit");
    assert_ran_without(FINISH, "LD_");
    assert_ran(FINISH, "env HOME=/home/alice\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_finish),
        TEST(test_start),
        TEST(test_many_tasks),
        TEST(test_finish_hangs),
        TEST(test_finish_crashes),
        TEST(test_finish_is_no_descendant),
        TEST(test_watcher_lives),
        TEST(test_twice),
        TEST(test_no_descriptor_left),
        TEST(test_untrusted),
        TEST(test_no_helper),
        TEST(test_not_root),
        TEST(test_drop),
        TEST(test_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
