/* test_child.c - children that end, hang, die, write too much or never
 * start. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define LONG_MS 60000

/* A late child hangs forever, so its limit is reached however fast the machine
 * is. */
static int hang(void *arg, int out)
{
    (void) arg;
    (void) out;
    while (pause() < 0)
        ;
    return 0;
}

static int refuse_to_end(void *arg, int out)
{
    signal(SIGTERM, SIG_IGN);
    return hang(arg, out);
}

static int exit_with(void *arg, int out)
{
    (void) out;
    return *(int *) arg;
}

static int crash(void *arg, int out)
{
    (void) arg;
    (void) out;
    raise(SIGKILL);
    return 0;
}

static int speak(void *arg, int out)
{
    size_t n = strlen(arg);

    return write(out, arg, n) != (ssize_t) n;
}

static int zero = 0, three = 3;

static void test_ends(void **state)
{
    const struct {
        int (*work)(void *, int);
        void *arg;
        uint32_t limit_ms, term_ms;
        enum child_end end;
        int exit, signal;
    } rows[] = {
        {exit_with, &zero, LONG_MS, 0, CHILD_ENDED, 0, 0},
        {exit_with, &three, LONG_MS, 0, CHILD_ENDED, 3, 0},
        {crash, NULL, LONG_MS, 0, CHILD_ENDED, 0, SIGKILL},
        {hang, NULL, 0, 0, CHILD_LATE, 0, 0},
        {hang, NULL, 50, 0, CHILD_LATE, 0, 0},
        {hang, NULL, 50, LONG_MS, CHILD_LATE, 0, 0},
        {refuse_to_end, NULL, 50, 20, CHILD_LATE, 0, 0},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        const struct child child = {.work = rows[i].work,
                                    .arg = rows[i].arg,
                                    .limit_ms = rows[i].limit_ms,
                                    .term_ms = rows[i].term_ms};
        struct child_result r;
        enum child_end end = child_run(&child, &r);
        int killed = WIFSIGNALED(r.status) ? WTERMSIG(r.status) : 0;

        if (end != rows[i].end)
            fail_msg("row %zu: %d", i, end);
        if (end == CHILD_ENDED &&
            (killed != rows[i].signal ||
             (!killed && WEXITSTATUS(r.status) != rows[i].exit)))
            fail_msg("row %zu: status %x", i, r.status);
        assert_int_equal(child_succeeded(end, &r),
                         end == CHILD_ENDED && !killed && !rows[i].exit);
        if (end == CHILD_LATE && waitpid(r.pid, NULL, WNOHANG) >= 0)
            fail_msg("row %zu: the child was not collected", i);
    }
    assert_int_equal(child_run(&(struct child){.work = exit_with, .arg = &zero},
                               NULL) == CHILD_NEVER,
                     0);
}

static void test_output(void **state)
{
    static const struct {
        const char *said, *kept;
    } rows[] = {{"", ""}, {"four", "four"}, {"eighteen", "eight"}};

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char out[6] = "";
        const struct child child = {.work = speak,
                                    .arg = (char *) rows[i].said,
                                    .limit_ms = LONG_MS,
                                    .out = out,
                                    .room = 5};
        struct child_result r;

        assert_true(child_succeeded(child_run(&child, &r), &r));
        assert_int_equal(r.len, strlen(rows[i].kept));
        assert_string_equal(out, rows[i].kept);
    }
}

static void test_programs(void **state)
{
    static const struct {
        const char *script;
        bool with_stderr;
        int status;
        const char *said;
    } rows[] = {
        {"pwd", false, 0, "/\n"},
        {"echo no >&2; exit 3", false, 3, ""},
        {"echo no >&2; exit 3", true, 3, "no\n"},
        {"cat; echo end", false, 0, "end\n"},
        /* more than a pipe holds, and more than is kept */
        {"head -c 300000 /dev/zero | tr '\\0' x", false, 0, NULL},
    };
    char out[64];

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *argv[] = {(char *) "sh", (char *) "-c", (char *) rows[i].script,
                        NULL};
        const struct child child = {.argv = argv,
                                    .dir = "/",
                                    .with_stderr = rows[i].with_stderr,
                                    .limit_ms = LONG_MS,
                                    .out = out,
                                    .room = sizeof(out) - 1};
        struct child_result r;

        memset(out, 0, sizeof(out));
        assert_int_equal(child_run(&child, &r), CHILD_ENDED);
        assert_true(WIFEXITED(r.status));
        assert_int_equal(WEXITSTATUS(r.status), rows[i].status);
        if (rows[i].said)
            assert_string_equal(out, rows[i].said);
        else
            assert_int_equal(r.len, sizeof(out) - 1);
    }
}

static void test_not_started(void **state)
{
    static const struct {
        const char *name, *dir;
        int status;
    } rows[] = {{"no-such-program-here", NULL, 127},
                {"/", NULL, 126},
                {"true", "/no/such/folder", 126}};

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *argv[] = {(char *) rows[i].name, NULL};
        const struct child child = {
            .argv = argv, .dir = rows[i].dir, .limit_ms = LONG_MS};
        struct child_result r;

        assert_int_equal(child_run(&child, &r), CHILD_ENDED);
        assert_int_equal(WEXITSTATUS(r.status), rows[i].status);
        assert_false(child_succeeded(CHILD_ENDED, &r));
    }
}

/* Whether the process ends soon; the process that has adopted it reaps it. */
static bool ends_soon(long pid)
{
    for (int i = 0; i < LONG_MS / 10; i++) {
        char path[64], text[256] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        file = fopen(path, "re");
        if (!file)
            return true;
        if (!fgets(text, sizeof(text), file))
            text[0] = '\0';
        fclose(file);
        if (!text[0] || strstr(text, ") Z "))
            return true;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    kill((pid_t) pid, SIGKILL);
    return false;
}

/* A function that leads a group: prints the id of its child and waits. */
static int lead_group(void *arg, int out)
{
    pid_t pid;

    (void) arg;
    setpgid(0, 0);
    pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    dprintf(out, "%ld", (long) pid);
    for (;;)
        pause();
    return 0;
}

/* Every process of the group of a program, or of a function that leads one,
 * ends with it. */
static void test_group(void **state)
{
    char *argv[] = {(char *) "sh", (char *) "-c",
                    (char *) "sleep 1000 & echo $!; exit 0", NULL};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char out[32] = "";
        struct child child = {
            .limit_ms = 100, .out = out, .room = sizeof(out) - 1};
        struct child_result r;
        long pid = 0;

        if (i == 0) {
            child.argv = argv;
        } else {
            child.work = lead_group;
            child.leads_group = true;
        }
        /* until the id of its child was printed */
        for (; pid < 2 && child.limit_ms < LONG_MS; child.limit_ms *= 2) {
            assert_int_equal(child_run(&child, &r), CHILD_LATE);
            pid = strtol(out, NULL, 10);
        }
        assert_true(pid > 1);
        assert_true(ends_soon(pid));
    }
}

/* The child does not inherit the parent's handlers and blocked signals. */
static void on_term(int number)
{
    (void) number;
}

static int tell_signals(void *arg, int out)
{
    struct sigaction action;
    sigset_t blocked;

    (void) arg;
    (void) out;
    sigaction(SIGTERM, NULL, &action);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    if (action.sa_handler != SIG_DFL || sigismember(&blocked, SIGUSR1))
        return 1;
    sigaction(SIGHUP, NULL, &action);
    return action.sa_handler == SIG_IGN ? 0 : 2;
}

static void test_signals(void **state)
{
    struct child_result r;
    sigset_t set;

    (void) state;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGTERM, on_term);
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(
        child_run(&(struct child){.work = tell_signals, .limit_ms = LONG_MS},
                  &r),
        CHILD_ENDED);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    assert_int_equal(WEXITSTATUS(r.status), 0);
}

/* A grandchild of a process that ends: it ends as well, and with it the pipe
 * that all three hold. */
static int leave_child(void *arg, int out)
{
    (void) arg;
    (void) out;
    return child_start(&(struct child){.work = hang, .dies_with_us = true}) < 0;
}

static void test_dies_with_us(void **state)
{
    char out[1];
    const struct child child = {.work = leave_child,
                                .limit_ms = LONG_MS,
                                .out = out,
                                .room = sizeof(out)};
    struct child_result r;

    (void) state;
    assert_int_equal(child_run(&child, &r), CHILD_ENDED);
    assert_int_equal(WEXITSTATUS(r.status), 0);
}

static void test_started(void **state)
{
    pid_t pid = child_start(&(struct child){.work = hang});
    int status = 0;

    (void) state;
    assert_true(pid > 0);
    assert_int_equal(child_await(pid, 0, &status), 0);
    assert_int_equal(child_await(pid, 20, &status), 0);
    kill(pid, SIGTERM);
    assert_int_equal(child_await(pid, LONG_MS, &status), 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(child_await(pid, LONG_MS, &status), -1);
}

static int write_shared(void *arg, int out)
{
    (void) out;
    *(int *) arg += 7;
    return 0;
}

static void test_shared(void **state)
{
    int *shared = child_alloc(sizeof(*shared));
    struct child_result r;

    (void) state;
    assert_non_null(shared);
    assert_int_equal(*shared, 0);
    child_run(&(struct child){.work = write_shared,
                              .arg = shared,
                              .limit_ms = LONG_MS},
              &r);
    assert_int_equal(*shared, 7);
    child_free(shared, sizeof(*shared));
    child_free(NULL, 1);
    assert_null(child_alloc(SIZE_MAX / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_output),
        cmocka_unit_test(test_programs),     cmocka_unit_test(test_not_started),
        cmocka_unit_test(test_group),        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_dies_with_us), cmocka_unit_test(test_started),
        cmocka_unit_test(test_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
