/* test_srun.c - the module in srun: resolve, how helpers are run, report. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spank/fakehost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* --- resolve -------------------------------------------------------------- */

static void resolve(const char *does)
{
    /* on a busy machine the check may take longer than its second: then the
     * option is off */
    for (int i = 0; i < 10; i++) {
        host.log[0] = '\0';
        host.noptions = 0;
        host_helper_does("exit 0");
        host_call("init");
        assert_int_equal(host_option("nccl-profile", "recorder,ring=9", 0), 0);
        if (!strstr(host.log, " is off: "))
            break;
    }
    host_call("init_post_opt");
    host_helper_does(does);
    host_call("local_user_init");
}

static void test_resolve(void **state)
{
    char node[PATH_MAX];

    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    host_plugstack(node, "default=auto", "config=/c", NULL);
    host.nodes = 3;
    host.tasks = 24;
    resolve("echo SLURM_JOBPROF_DIR=/x/step-0; echo SLURM_JOBPROF_HASH=ab=c;"
            "echo SLURM_JOBPROF_LIMIT=7; echo .");
    assert_ran("jobprof-node.resolve.run",
               "arg resolve\narg --config\narg /c\narg --default\narg auto\n"
               "arg --nccl\narg recorder,ring=9\narg --nodes\narg 3\n"
               "arg --tasks\narg 24\narg --command\narg ./train\nenv ");
    assert_env("SLURM_JOBPROF_DIR", "/x/step-0");
    assert_env("SLURM_JOBPROF_HASH", "ab=c");
    assert_env("SLURM_JOBPROF_LIMIT", "7");
    assert_env("JOBPROF_SET", NULL);
    assert_string_equal(host.log, "");
}

static void test_resolve_void(void **state)
{
    static const struct {
        const char *does;
        bool said;
    } cases[] = {
        {"echo .", false},
        {"exit 3", false},
        {"echo .; exit 3", false},
        {"exit 0", true},
        {"exit 1", true},
        {"echo SLURM_JOBPROF_DIR=/x; echo .; exit 1", true},
        {"echo SLURM_JOBPROF_DIR=/x", true},
        {"echo SLURM_JOBPROF_DIR=/x; printf .", true},
        {"echo SLURM_JOBPROF_DIR=/x; echo two words; echo .", true},
        {"echo SLURM_JOBPROF_DIR=/x; echo; echo .", true},
        {"echo =x; echo .", true},
        {"echo -; echo .", true},
        {"echo '?'; echo .", true},
        {"echo 'SLURM JOB=x'; echo .", true},
        {"printf 'SLURM_JOBPROF_DIR=/x\\000y\\n.\\n'", true},
        {"head -c 70000 /dev/zero | tr '\\0' x | sed 's/^/A=/'; echo; echo .",
         true},
        {"head -c 70000 /dev/urandom", true},
        {"kill -KILL $$", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        host.noptions = 0;
        host.log[0] = '\0';
        unsetenv("SLURM_JOBPROF_DIR");
        resolve(cases[i].does);
        if (strcmp(getenv("SLURM_JOBPROF_DIR"), "-") != 0 ||
            cases[i].said != (host.log[0] != '\0'))
            fail_msg("\"%s\" gave DIR %s and said \"%s\"", cases[i].does,
                     getenv("SLURM_JOBPROF_DIR"), host.log);
    }
    assert_env("A", NULL);
}

static void test_resolve_hangs(void **state)
{
    long long start = host_now_ms();

    host.keeps_time = true;
    resolve("echo SLURM_JOBPROF_DIR=/x; sleep 60");
    assert_in_range(host_now_ms() - start, 2900, HELPER_HANGS_MS);
    assert_has(host.log, "resolve failed or took over 3 s\n");
    assert_env("SLURM_JOBPROF_DIR", "-");
    assert_int_equal(host_helpers(0), 0);
}

/* An answer does not count if its helper hangs: the step begins without it. */
static void test_resolve_dribbles(void **state)
{
    long long start = host_now_ms();

    host.keeps_time = true;
    resolve("while :; do echo A=1; sleep 0.1; done");
    assert_in_range(host_now_ms() - start, 2900, HELPER_HANGS_MS);
    assert_env("A", NULL);
}

static void test_special_steps(void **state)
{
    static const uint32_t ids[] = {SLURM_EXTERN_CONT, SLURM_MAX_NORMAL_STEP_ID};

    for (int i = 0; i < 2; i++) {
        host.noptions = 0;
        host.step = ids[i];
        resolve("echo .");
        assert_env("SLURM_JOBPROF_DIR", NULL);
    }
    host.noptions = 0; /* salloc's shell on a node is started by an srun */
    host.step = SLURM_INTERACTIVE_STEP;
    resolve("case \"$*\" in *'--nodes 1 --tasks 1 '*'--script interactive') "
            "echo SLURM_JOBPROF_DIR=/x;; esac; echo .");
    assert_env("SLURM_JOBPROF_DIR", "/x");
    unsetenv("SLURM_JOBPROF_DIR");
    host.step = 0;
    host.absent = true;
    host.noptions = 0;
    resolve("echo .");
    assert_env("SLURM_JOBPROF_DIR", NULL);
}

/* --- how a helper is run -------------------------------------------------- */

static void test_environment(void **state)
{
    char *text, *line, *rest;

    setenv("LD_PRELOAD_NOT", "x", 1);
    setenv("LD_LIBRARY_PATH", "/evil", 1);
    setenv("PATH", "/evil", 1);
    setenv("IFS", "x", 1);
    setenv("HOMELY", "x", 1);
    setenv("HOME", "/home/alice", 1);
    setenv("TZ", "UTC", 1);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("JOBPROF_X", "1", 1);
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("XDG_CONFIG_HOME", "/xdg", 1);
    setenv("SLURM_CONF", "/etc/slurm/slurm.conf", 1);
    resolve("echo .");
    text = host_read("jobprof-node.resolve.run");
    for (rest = text; (line = strsep(&rest, "\n")) != NULL;) {
        static const char *const ok[] = {
            "env PATH=/usr/local/bin:/usr/bin:/bin",
            "env HOME=/home/alice",
            "env PWD=",
            "env TZ=UTC",
            "env NCCL_DEBUG=INFO",
            "env JOBPROF_X=1",
            "env XDG_CONFIG_HOME=/xdg",
            "env SLURM_"};
        bool known = strncmp(line, "env ", 4) != 0;

        for (size_t i = 0; i < sizeof(ok) / sizeof(*ok); i++)
            known |= strncmp(line, ok[i], strlen(ok[i])) == 0;
        if (!known)
            fail_msg("a helper sees %s", line);
    }
    free(text);
    assert_ran("jobprof-node.resolve.run", "env SLURM_CONF=/etc/slurm/");
    assert_ran("jobprof-node.resolve.run", "env SLURM_JOB_ID=12\n");
    assert_ran("jobprof-node.resolve.run", "env NCCL_DEBUG=INFO\n");
    assert_ran("jobprof-node.resolve.run", "env XDG_CONFIG_HOME=/xdg\n");
}

static void test_hygiene(void **state)
{
    char stand[PATH_MAX + 16];
    sigset_t all, old;
    int leak[2];
    char *text;

    sigfillset(&all);
    assert_int_equal(pipe(leak), 0);
    assert_int_equal(dup2(leak[0], 77), 77);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    resolve("echo .");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    assert_ran("jobprof-node.resolve.run", "SigBlk:\t0000000000000000\n");
    text = host_read("jobprof-node.resolve.run");
    assert_non_null(strstr(text, "SigIgn:\t"));
    /* 32 and 33 are glibc's own; its posix_spawn() ignores them */
    assert_int_equal(
        strtoull(strstr(text, "SigIgn:\t") + 8, NULL, 16) & ~0x180000000ULL, 0);
    free(text);
    assert_ran("jobprof-node.resolve.run", "NoNewPrivs:\t1\n");
    assert_ran("jobprof-node.resolve.run", "umask 0077\ncwd /\ncore 0\n");
    text = getcwd(NULL, 0); /* the folder of srun, and so of its tasks */
    snprintf(stand, sizeof(stand), "env PWD=%s\n", text);
    assert_ran("jobprof-node.resolve.run", stand);
    free(text);
    assert_ran("jobprof-node.resolve.run", "fd 0 /dev/null\n");
    assert_ran_without("jobprof-node.resolve.run", "fd 77 ");
    close(leak[0]);
    close(leak[1]);
    close(77);
}

static void test_own_session(void **state)
{
    unsigned group, session, self;
    char *text;

    resolve("echo .");
    text = host_read("jobprof-node.resolve.run");
    assert_non_null(strstr(text, "group "));
    assert_int_equal(sscanf(strstr(text, "group "),
                            "group %u session %u self %u", &group, &session,
                            &self),
                     3);
    assert_int_equal(group, self);
    assert_int_equal(session, self);
    free(text);
}

/* srun was started with closed descriptors or an ignored SIGCHLD. */
static void test_odd_srun(void **state)
{
    int kept[3], i;

    for (i = 0; i < 3; i++)
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
    for (i = 0; i < 3; i++)
        close(i);
    signal(SIGCHLD, SIG_IGN);
    host_call("init");
    i = host_option("nccl-profile", "auto", 0);
    host_call("init_post_opt");
    host_helper_does("echo SLURM_JOBPROF_DIR=/x; echo .");
    host_call("local_user_init");
    signal(SIGCHLD, SIG_DFL);
    for (int k = 0; k < 3; k++) {
        dup2(kept[k], k);
        close(kept[k]);
    }
    assert_int_equal(i, 0);
    assert_string_equal(host.log, "");
    assert_env("SLURM_JOBPROF_DIR", "/x");
    assert_ran("jobprof-node.resolve.run", "fd 0 /dev/null\n");
    assert_ran("jobprof-node.resolve.run", "fd 2 /dev/null\n");
}

static void test_no_descriptor_left(void **state)
{
    int before = dup(0), after, status;

    close(before);
    for (int i = 0; i < 3; i++) {
        host.noptions = 0;
        resolve("echo SLURM_JOBPROF_DIR=/x; echo .");
        host_call("exit");
    }
    after = dup(0);
    close(after);
    assert_int_equal(before, after);
    /* on a busy machine a helper may take too long and be killed, and nothing
     * waits for its end; all others were waited for */
    while (waitpid(-1, &status, 0) > 0)
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Only so many descriptors are left. The program's output must not be seen:
 * without descriptors of its own it would get srun's standard output. */
static void resolve_with(int left)
{
    int seen = memfd_create("stdout", 0), kept = dup(1), fds[64], n = 0;
    struct rlimit limit, low;
    char text[256];

    host.noptions = 0;
    host_helper_does("exit 0");
    host_call("init");
    assert_int_equal(host_option("nccl-profile", "recorder", 0), 0);
    host_call("init_post_opt");
    host_helper_does("echo SLURM_JOBPROF_DIR=/x; echo .");
    assert_int_equal(dup2(seen, 1), 1);
    getrlimit(RLIMIT_NOFILE, &limit);
    low = (struct rlimit){32, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    while (n < 64 && (fds[n] = dup(seen)) >= 0)
        n++;
    for (int i = 0; i < left && n > 0; i++)
        close(fds[--n]);
    host_call("local_user_init");
    host_helper_does("echo words");
    host_call("exit");
    while (n > 0)
        close(fds[--n]);
    setrlimit(RLIMIT_NOFILE, &limit);
    dup2(kept, 1);
    close(kept);
    n = (int) pread(seen, text, sizeof(text) - 1, 0);
    close(seen);
    if (n != 0)
        fail_msg("with %d descriptors left: \"%.*s\"", left, n, text);
}

static void test_no_descriptors(void **state)
{
    for (int left = 0; left < 8; left++) {
        unsetenv("SLURM_JOBPROF_DIR");
        resolve_with(left);
    }
    assert_env("SLURM_JOBPROF_DIR", "/x"); /* that many were enough */
}

/* --- report --------------------------------------------------------------- */

static void test_report(void **state)
{
    resolve("echo SLURM_JOBPROF_DIR=/x/step-0; echo SLURM_JOBPROF_HASH=ab;"
            "echo SLURM_JOBPROF_LIMIT=7; echo .");
    host_helper_does("exit 3");
    host_call("exit");
    assert_ran(
        "jobprof.report.run",
        "arg report\narg --at-exit\narg /x/step-0\narg --hash\narg ab\nenv ");
    assert_string_equal(host.log, "");
    host.forks = 0;
    host_call("exit");
    assert_int_equal(host.forks, 0);
}

static void test_report_unprofiled(void **state)
{
    resolve("echo .");
    host.forks = 0;
    host_call("exit");
    assert_int_equal(host.forks, 0);
}

static void test_report_relative(void **state)
{
    resolve("echo SLURM_JOBPROF_DIR=x; echo .");
    host.forks = 0;
    host_call("exit");
    assert_int_equal(host.forks, 0);
}

/* Under a site's default what fails goes to syslog, in srun, too. */
static void test_default_tells_the_site(void **state)
{
    char node[PATH_MAX];

    (void) state;
    snprintf(node, sizeof(node), "node=%s", host_path("jobprof-node"));
    for (int named = 0; named < 2; named++) {
        host.noptions = 0;
        host_plugstack(node, "default=auto", NULL);
        host_helper_does("exit 1");
        host_call("init");
        if (named)
            setenv("JOBPROF_NCCL", "auto", 1);
        host_call("init_post_opt");
        host.log[0] = '\0';
        host_call("local_user_init");
        assert_has(host.log, named ? "spank: jobprof: job " : "syslog: job ");
        assert_has(host.log, "resolve failed or took over 3 s\n");
        host_helper_does(
            "echo SLURM_JOBPROF_DIR=/x; echo SLURM_JOBPROF_LIMIT=1; echo .");
        unsetenv("SLURM_JOBPROF_DIR");
        host_call("local_user_init");
        host.log[0] = '\0';
        host_helper_does("kill -SEGV $$");
        host_call("exit");
        assert_string_equal(
            host.log, named ? "spank: jobprof: the report failed or hung; "
                              "later: jobprof report /x\n"
                            : "syslog: the report failed or hung; later: "
                              "jobprof report /x\n");
        unsetenv("JOBPROF_NCCL");
    }
}

static void test_report_hangs(void **state)
{
    long long start;

    host.keeps_time = true;
    resolve("echo SLURM_JOBPROF_DIR=/x; echo SLURM_JOBPROF_LIMIT=1; echo .");
    start = host_now_ms();
    host_helper_does("sleep 60 & sleep 60");
    host_call("exit");
    assert_in_range(host_now_ms() - start, 5900, HELPER_HANGS_MS);
    assert_string_equal(host.log, "spank: jobprof: the report failed or hung; "
                                  "later: jobprof report /x\n");
    assert_int_equal(host_helpers(0), 0);
}

static void test_report_crashes(void **state)
{
    resolve("echo SLURM_JOBPROF_DIR=/x; echo SLURM_JOBPROF_LIMIT=-1; echo .");
    host_helper_does("kill -SEGV $$");
    host_call("exit");
    assert_string_equal(host.log, "spank: jobprof: the report failed or hung; "
                                  "later: jobprof report /x\n");
}

/* A fork of srun that ends by exit(3) must not report. */
static void test_report_not_in_fork(void **state)
{
    pid_t pid;

    resolve("echo SLURM_JOBPROF_DIR=/x; echo .");
    pid = fork();
    if (pid == 0) {
        host_call("exit");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(access(host_path("jobprof.report.run"), F_OK), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_resolve),
        TEST(test_resolve_void),
        TEST(test_resolve_hangs),
        TEST(test_resolve_dribbles),
        TEST(test_special_steps),
        TEST(test_environment),
        TEST(test_hygiene),
        TEST(test_own_session),
        TEST(test_odd_srun),
        TEST(test_no_descriptor_left),
        TEST(test_no_descriptors),
        TEST(test_report),
        TEST(test_report_unprofiled),
        TEST(test_report_relative),
        TEST(test_default_tells_the_site),
        TEST(test_report_hangs),
        TEST(test_report_crashes),
        TEST(test_report_not_in_fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
