/* test_finish.c - the module in slurmstepd: ends of tasks, finish, the user. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/spank/fakehost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BEGIN "jobprof-node.begin.run"
#define FINISH "jobprof-node.finish.run"
#define TASK "jobprof-node.task.run"

/* Asserts a task's line: its beginning, then times between the two moments. */
static void assert_line(char **rest, const char *begins,
                        const struct timespec from[2])
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    char *line = strsep(rest, "\n");

    assert_non_null(line);
    assert_int_equal(strncmp(line, begins, strlen(begins)), 0);
    line += strlen(begins);
    for (int i = 0; i < 2; i++) {
        long long us = strtoll(line, &line, 10);
        struct timespec now;

        clock_gettime(clocks[i], &now);
        assert_true(us >= from[i].tv_sec * 1000000LL + from[i].tv_nsec / 1000);
        assert_true(us <= now.tv_sec * 1000000LL + now.tv_nsec / 1000);
    }
    assert_string_equal(line, "");
}

static void test_finish(void **state)
{
    struct timespec from[2];
    char *text, *rest;

    host.job = 13; /* the id of a component */
    host.nodeid = 1;
    host_user_init("echo NCCL_A=1; echo .");
    clock_gettime(CLOCK_MONOTONIC, &from[0]);
    clock_gettime(CLOCK_REALTIME, &from[1]);
    host_task_ends(0, 4, 1000, 0);
    host_task_ends(1, 5, 1001, 256);
    host_task_ends(2, 6, 1002, 9);
    host.task_local = 3;
    host.task_exited = false;
    host_call("task_exit");
    host.task_local = -1;
    host_call("exit");
    assert_ran(
        FINISH,
        "arg finish\narg --dir\narg /x/step-0\narg --hash\narg ab\n"
        "arg --node\narg n1\narg --nodeid\narg 1\narg --component\narg 13\n"
        "arg --nodes\narg 3\nenv ");
    rest = text = host_read("stdin");
    assert_line(&rest, "4 0 1000 0 ", from);
    assert_line(&rest, "5 1 1001 256 ", from);
    assert_line(&rest, "6 2 1002 9 ", from);
    assert_line(&rest, "6 3 1002 -1 ", from);
    assert_string_equal(rest, "");
    free(text);
    assert_string_equal(host.log, "");
    host.forks = 0;
    host_call("exit"); /* again */
    host_task_ends(0, 4, 1000, 0);
    assert_int_equal(host.forks, 0);
}

/* A task's record is made if GPUs were chosen for it, and it delays no task. */
static void test_start(void **state)
{
    long long start;

    host.keeps_time = true;
    host_user_init("echo .");
    host.forks = 0;
    host_call("task_init"); /* it has all GPUs */
    assert_int_equal(host.forks, 0);
    host_setenv("CUDA_VISIBLE_DEVICES", "2");
    host_setenv("SLURM_PROCID", "4");
    host_helper_does("exit 5");
    /* its half second may be too short on a busy machine */
    for (int i = 0; i < 20 && access(host_path(TASK), F_OK) < 0; i++)
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
    assert_in_range(host_now_ms() - start, 400, HELPER_HANGS_MS);
    assert_int_equal(host_helpers(0), 0);
    assert_string_equal(host.log, "");
    host_call("exit");
    host.forks = 0;
    host_call("task_init"); /* of another step, which is not profiled */
    assert_int_equal(host.forks, 0);
    /* it was killed, and may end later */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* A program is put before the task's if resolve says so and Slurm can; not in a
 * step that is not profiled. */
static void test_wrap(void **state)
{
    host_setenv("JOBPROF_WRAP", "/x/jobprof-wrap");
    host_call("task_init"); /* begin has not run */
    assert_string_equal(host.prepended, "");
    host_user_init("echo JOBPROF_WRAP=/x/jobprof-wrap; echo .");
    host_call("task_init");
#if HAVE_DECL_SPANK_PREPEND_TASK_ARGV
    assert_int_equal(strncmp(host.prepended, "/bin/sh\n-c\n[ -x ", 17), 0);
    assert_has(host.prepended, "exec \"$@\"\n/x/jobprof-wrap\n");
#else
    assert_string_equal(host.prepended, "");
#endif
    host.prepended[0] = '\0';
    host_setenv("JOBPROF_WRAP", "relative");
    host_call("task_init");
    assert_string_equal(host.prepended, "");
    host_call("exit");
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
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

    host.keeps_time = true;
    host_remote_init();
    host_setenv("SLURM_JOBPROF_DIR", "/x/\033[1m\302\233\n"); /* a user's */
    host_helper_does("echo .");
    host_call("user_init");
    host_helper_does("trap '' TERM; sleep 60 & sleep 60");
    start = host_now_ms();
    host_call("exit");
    assert_in_range(host_now_ms() - start, 5900, HELPER_HANGS_MS);
    assert_string_equal(host.log, "spank: jobprof: finish failed or hung; "
                                  "later: jobprof report /x/?[1m???\n");
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

/* At no moment it is a descendant: it must survive the end of the job. */
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

/* A process survives that has left finish's group before finish ends. */
static void test_watcher_lives(void **state)
{
    host_user_init("echo .");
    host_helper_does("setsid sh -c 'sleep 1; : '${0%/*} >/dev/null 2>&1 & "
                     "sleep 0.3");
    host_call("exit");
    assert_int_equal(host_helpers(1), 1);
    usleep(1200000);
    assert_int_equal(host_helpers(0), 0);
}

/* What finish leaves in its own group is killed, also if it is stopped, and
 * however finish ended: the user may have stopped it and killed finish. */
static void test_nothing_stays(void **state)
{
    static const char *const ends[] = {"exit 0", "kill -KILL $$"};
    char script[256];

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        host_user_init("echo .");
        snprintf(script, sizeof(script),
                 "sh -c 'kill -STOP $$; : '${0%%/*} >/dev/null 2>&1 & "
                 "sleep 0.3; %s",
                 ends[i]);
        host_helper_does(script);
        host_call("exit");
        assert_ran(FINISH, "arg finish\n");
        assert_int_equal(host_helpers(0), 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

/* Forks a process with a given pid; -1: the pid is taken, or that is not
 * allowed. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t) &pid, .set_tid_size = 1};

    return (pid_t) syscall(SYS_clone3, &args, sizeof(args));
}

/* Another user's process group, whose leader and second member have these
 * numbers. */
static pid_t strangers(pid_t group, pid_t member)
{
    pid_t pid = fork_as(group);

    if (pid == 0) {
        setsid();
        pid = fork_as(member);
        if (pid < 0)
            _exit(1);
        pause();
        _exit(0);
    }
    usleep(100000);
    if (pid > 0 && getpgid(member) != group) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        pid = -1;
    }
    return pid;
}

static bool in_memcheck; /* the tests change the environment */

/* begin ended hours ago, and other processes have its numbers. */
static void test_numbers_again(void **state)
{
    pid_t group, member, pid = -1;
    char *text, *end;

    /* memcheck's processes end too slowly to have their numbers again */
    if (getuid() != 0 || in_memcheck || (fork_as(1) < 0 && errno == EPERM))
        return; /* needs root of this pid namespace */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (int i = 0; i < 20 && pid < 0; i++) {
        host_user_init("cut -d ' ' -f 1,5 /proc/$$/stat >${0%/*}/ids; echo .");
        text = host_read("ids");
        member = (pid_t) strtol(text, &end, 10);
        group = (pid_t) strtol(end, NULL, 10);
        free(text);
        waitpid(member, NULL, 0); /* process 1 may reap it late */
        pid = strangers(group, member);
        host_call("exit");
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(getpgid(member), group);
    kill(-group, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    waitpid(member, NULL, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
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

/* --- owner of the helper, user of the process ----------------------------- */

/* A user who may replace a folder of its path may replace the helper. */
static void test_untrusted(void **state)
{
    static const struct {
        mode_t program, folder;
        uid_t program_of, folder_of; /* 0: our own */
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
                        "spank: jobprof: n1: missing, or users other than root "
                        "can write to it: /nowhere/jobprof-node\n");
    assert_int_equal(host.forks, 0);
    assert_job("A", NULL);
}

/* slurmstepd is not root, and the job is another user's. */
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

/* What protects finish from the user's other processes. */
static bool has_lock(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2] = {{0}};

    return syscall(SYS_capget, &head, caps) == 0 &&
           caps[1].permitted & CAP_TO_MASK(CAP_BLOCK_SUSPEND) &&
           prctl(PR_CAPBSET_READ, CAP_BLOCK_SUSPEND, 0, 0, 0) == 1;
}

/* In user_init only the effective uid is the user's; at exit all ids are
 * root's. */
static void test_drop(void **state)
{
    static const char caps[] =
        "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
        "CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n";

    static const char lock[] =
        "CapInh:\t0000001000000000\nCapPrm:\t0000001000000000\n"
        "CapEff:\t0000001000000000\nCapAmb:\t0000001000000000\n";

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
    assert_ran(FINISH, has_lock() ? lock : caps);
    assert_string_equal(host.log, "");
    assert_int_equal(getuid(), 0);
    assert_int_equal(geteuid(), 0);
}

/* Another process of the user: 0 if it cannot enter the helper, 1 if it can. */
static int enters(void)
{
    char text[32] = "", path[64];
    long pid = 0;
    FILE *file;

    for (int ms = 0; ms < 5000 && pid <= 0; ms++, usleep(1000)) {
        file = fopen(host_path("pid"), "r");
        if (file && fgets(text, sizeof(text), file))
            pid = strtol(text, NULL, 10);
        if (file)
            fclose(file);
    }
    snprintf(path, sizeof(path), "/proc/%ld/mem", pid);
    return pid <= 0                                       ? 2
           : open(path, O_RDWR | O_CLOEXEC) >= 0          ? 1
           : ptrace(PTRACE_SEIZE, (pid_t) pid, 0, 0) == 0 ? 1
           : errno == EPERM                               ? 0
                                                          : 2;
}

/* A script cannot make itself undumpable, and a program not before its main().
 */
static void test_nobody_enters(void **state)
{
    pid_t other;
    int status;

    if (getuid() != 0 || !has_lock() || in_memcheck)
        return; /* needs root, and a process that memcheck does not run */
    host.uid = 1000;
    host.gid = 1001;
    host_user_init("echo .");
    host_helper_does("echo $$ >${0%/*}/pid; sleep 1");
    other = fork();
    if (other == 0)
        _exit(setresgid(1001, 1001, 1001) < 0 || setresuid(1000, 1000, 1000) < 0
                  ? 3
                  : enters());
    host_call("exit");
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_environment(void **state)
{
    setenv("LD_PRELOAD_NOT", "stepd", 1);
    setenv("SLURM_CONF", "/run/slurm.conf", 1);
    setenv("SLURM_OF_STEPD", "x", 1);
    host_setenv("LD_LIBRARY_PATH", "/evil");
    host_setenv("PATH", "/evil");
    host_setenv("HWLOC_PLUGINS_PATH", "/evil");
    /* it names libraries to load */
    host_setenv("SLURM_CONF", "/mine/slurm.conf");
    host_setenv("NCCL_DEBUG", "INFO");
    host_setenv("HOME", "/home/alice");
    host_user_init("echo .");
    assert_ran_without(BEGIN, "LD_");
    assert_ran_without(BEGIN, "evil");
    assert_ran_without(BEGIN, "SLURM_OF_STEPD");
    assert_ran(BEGIN,
               "env PATH=/usr/local/bin:/usr/bin:/bin\n"
               "env SLURM_CONF=/run/slurm.conf\n"); /* the first one counts */
    assert_ran(BEGIN, "env NCCL_DEBUG=INFO\n");
    assert_ran(BEGIN, "env HOME=/home/alice\n");
    /* outside of the job's cgroups: these three, and no other */
    host_call("exit");
    assert_ran(FINISH, "env PATH=/usr/local/bin:/usr/bin:/bin\n"
                       "env LC_ALL=C\n"
                       "env SLURM_CONF=/run/slurm.conf\n"
                       "id ");
    assert_ran(FINISH, "arg 3\nenv PATH=");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_finish),
        TEST(test_start),
        TEST(test_wrap),
        TEST(test_many_tasks),
        TEST(test_finish_hangs),
        TEST(test_finish_crashes),
        TEST(test_finish_is_no_descendant),
        TEST(test_watcher_lives),
        TEST(test_nothing_stays),
        TEST(test_numbers_again),
        TEST(test_twice),
        TEST(test_no_descriptor_left),
        TEST(test_untrusted),
        TEST(test_no_helper),
        TEST(test_not_root),
        TEST(test_drop),
        TEST(test_nobody_enters),
        TEST(test_environment),
    };

    in_memcheck = getenv("JP_MEMCHECK") != NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
