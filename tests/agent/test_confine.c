/* test_confine.c - processes that outlive a job have limits, whatever job.conf
 * contains. */
#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/jobconf.h"
#include "common/defaults.h"
#include "common/policy.h"
#include "common/sitefile.h"
#include "orchestrator/collect/clock.h"
#include "tests/common/skip.h"

/* The number of rows of the policy. */
static size_t count_rows(void)
{
    size_t n = 0;

    while (policy_row(n))
        n++;
    return n;
}

/* Each limit of a policy has a row, and the defaults are within its range. */
static void test_table(void **state)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys), found = 0;
    struct jp_policy policy;

    (void) state;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; policy_row(i); i++)
            found += keys[k].policy_offset == policy_row(i)->at;
    assert_int_equal(found, count_rows());
    /* a value without a row is of a feature that this build has not */
    assert_true(count_rows() * sizeof(uint32_t) <= sizeof(struct jp_policy));
    for (size_t i = 0; policy_row(i); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(policy_row(i)->at, policy_row(k)->at);
    ceiling_site("/nonexistent/jobprof.conf", &policy);
    assert_true(policy.watcher_life_ms > 0);
    assert_int_equal(ceiling_apply(&policy, NULL), 0);
}

/* The CPU seconds of a watcher with this policy. Computed in a child, because a
 * lowered limit cannot be raised again. */
static rlim_t watcher_cpu_s(const struct jp_policy *policy)
{
    struct rlimit *cpu = mmap(NULL, sizeof(*cpu), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    rlim_t seconds;
    int status;

    assert_true(cpu != MAP_FAILED);
    if (pid == 0)
        _exit(confine_self(CONFINE_WATCHER, policy, NULL) < 0 ||
              getrlimit(RLIMIT_CPU, cpu) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    seconds = cpu->rlim_cur;
    munmap(cpu, sizeof(*cpu));
    return seconds;
}

static void test_ceilings(void **state)
{
    struct jp_policy policy,
        site = {.watcher_life_ms = 1800000, .report_threads = 2};

    (void) state;
    memset(&policy, 0xff, sizeof(policy));
    assert_int_equal(ceiling_apply(&policy, NULL), count_rows());
    for (size_t i = 0; policy_row(i); i++)
        assert_int_equal(*policy_value(&policy, policy_row(i)),
                         policy_row(i)->max);
    memset(&policy, 0, sizeof(policy));
    ceiling_apply(&policy, NULL);
    for (size_t i = 0; policy_row(i); i++)
        assert_int_equal(*policy_value(&policy, policy_row(i)),
                         policy_row(i)->min);
    /* the site's value raises a ceiling but does not lower it */
    memset(&policy, 0xff, sizeof(policy));
    ceiling_apply(&policy, &site);
    assert_int_equal(policy.watcher_life_ms, 1800000);
    assert_int_equal(policy.report_threads, JP_REPORT_THREADS_MAX);
    assert_in_range(watcher_cpu_s(&policy), 60, 8 * 120 + 60);
    assert_in_range(confine_life_s(&policy, true), 1800, 1800 + 600);
}

/* The status of a child that limits itself in this way, then stops or spins. */
static int end_of(void (*confine)(void), void (*then)(void))
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        confine();
        then();
        _exit(0);
    }
    for (int i = 0; i < 200 && waitpid(pid, &status, WNOHANG) == 0; i++)
        clock_sleep_ms(50);
    if (kill(pid, SIGKILL) == 0) {
        waitpid(pid, &status, 0);
        return -1;
    }
    return status;
}

static void short_timer(void)
{
    if (confine_timer(300, NULL) < 0)
        _exit(1);
}

static void stop_here(void)
{
    raise(SIGSTOP);
}

static void block_all(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
}

/* The kernel's timer ends a process that is stopped or blocks signals. */
static void test_timer(void **state)
{
    int status;

    (void) state;
    status = end_of(short_timer, stop_here);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    status = end_of(short_timer, block_all);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* Runs in a child, because its limits cannot be raised again. Exit status 0:
 * they are correct. */
static int check_limits(enum confine_role role)
{
    const struct jp_policy policy = {.report_limit_ms = 30000,
                                     .report_threads = 4};
    bool reports = role == CONFINE_REPORT || role == CONFINE_WATCHER;
    const struct confine_row *row = &confine_rows[role];
    struct rlimit cpu, as;

    if (confine_self(role, reports ? &policy : NULL, NULL) < 0 ||
        getrlimit(RLIMIT_CPU, &cpu) < 0 || getrlimit(RLIMIT_AS, &as) < 0)
        return 1;
    if (cpu.rlim_cur != (reports ? 4 * 30 + 60 : row->cpu_s) ||
        cpu.rlim_max == RLIM_INFINITY)
        return 2;
#if !defined(__SANITIZE_ADDRESS__)
    if (as.rlim_cur > row->as_bytes || as.rlim_max == RLIM_INFINITY)
        return 3;
#endif
    return 0;
}

static void test_roles(void **state)
{
    (void) state;
    assert_int_equal(n_confine_rows, CONFINE_WATCHER + 1);
    for (size_t i = 0; i < n_confine_rows; i++) {
        pid_t pid = fork();
        int status;

        assert_non_null(confine_rows[i].name);
        assert_non_null(confine_rows[i].reason);
        if (pid == 0)
            _exit(check_limits((enum confine_role) i));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void confine_finish(void)
{
    if (confine_self(CONFINE_FINISH, NULL, NULL) < 0)
        _exit(1);
}

/* The watcher, which finish starts, gets its own limits. */
static void raise_to_watcher(void)
{
    const struct jp_policy policy = {.report_limit_ms = 3600000,
                                     .report_threads = 64};
    struct rlimit cpu;

    if (confine_self(CONFINE_WATCHER, &policy, NULL) < 0 ||
        getrlimit(RLIMIT_CPU, &cpu) < 0 || cpu.rlim_cur != 64 * 3600 + 60)
        _exit(1);
}

static void test_chain(void **state)
{
    (void) state;
    assert_int_equal(end_of(confine_finish, raise_to_watcher), 0);
}

/* Whether no way to execute a program works: 0, or the number of the one that
 * does. */
static int try_programs(void)
{
    static char *const argv[] = {(char *) "true", NULL};
    int fd = open("/bin/true", O_RDONLY | O_CLOEXEC), status;
    pid_t pid;

    if (execv("/bin/true", argv) == 0 || errno != EPERM)
        return 1;
    if (fd < 0 || fexecve(fd, argv, environ) == 0 || errno != EPERM)
        return 2;
    /* children are not freed from it */
    pid = fork();
    if (pid == 0)
        _exit(execv("/bin/true", argv) < 0 && errno == EPERM ? 0 : 3);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 4;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

static void forbid_programs(void)
{
    if (outside_forbid_programs(NULL) < 0)
        _exit(77);
}

static void leave_by_programs(void)
{
    _exit(try_programs());
}

static void test_no_programs(void **state)
{
    int status;

    (void) state;
    if (getenv("JP_MEMCHECK"))
        skip_check("memcheck dies where a program cannot be started");
    status = end_of(forbid_programs, leave_by_programs);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_check("this kernel or machine has no such filter");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void begin_outside(void)
{
    setenv("HOME", "/evil", 1);
    setenv("LD_PRELOAD", "/evil", 1);
    setenv("PATH", "/evil", 1);
    setenv("SLURM_CONF", "/run/slurm.conf", 1);
    setenv("SLURM_JOB_ID", "12", 1);
    if (outside_begin(NULL) < 0)
        _exit(1);
}

/* Only what the table has is left, and debuggers cannot attach. */
static void leave_by_environment(void)
{
    size_t n = 0;

    for (char **pair = environ; *pair; pair++, n++)
        if (strstr(*pair, "evil"))
            _exit(2);
    for (size_t i = 0; i < n_outside_variables; i++) {
        const struct outside_variable *row = &outside_variables[i];
        const char *value = getenv(row->name);

        if (!value || (row->value && strcmp(value, row->value) != 0) ||
            !row->who || !row->why)
            _exit(3);
    }
    if (n != n_outside_variables ||
        strcmp(getenv("SLURM_CONF"), "/run/slurm.conf") != 0)
        _exit(4);
    _exit(prctl(PR_GET_DUMPABLE) == 0 ? 0 : 5);
}

static void test_outside(void **state)
{
    int status = end_of(begin_outside, leave_by_environment);

    (void) state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_timer),   cmocka_unit_test(test_roles),
        cmocka_unit_test(test_chain),   cmocka_unit_test(test_no_programs),
        cmocka_unit_test(test_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
