/* test_claim.c - a claim has one owner at a time, and dead owners lose it. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "tests/common/tempdir.h"

#define STALE_MS 300
#define THIEVES 6
#define ROUNDS 30

/* --- clocks that are wrong ------------------------------------------------ */

static int64_t
    calendar_ahead_s;         /* ahead of the clock by which the kernel waits */
static int64_t files_ahead_s; /* ahead of the clocks of other hosts */

/* Replaces libc's function, also for the library's calls. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int) syscall(SYS_clock_gettime, clock, ts);

    if (rc == 0 && clock == CLOCK_REALTIME)
        ts->tv_sec += calendar_ahead_s;
    return rc;
}

/* If a file system has no clock of its own, "now" is the time of this host. */
int futimens(int fd, const struct timespec times[2])
{
    struct timespec now[2];

    if (!times && files_ahead_s) {
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now[0]);
        now[0].tv_sec += files_ahead_s;
        now[1] = now[0];
        times = now;
    }
    return (int) syscall(SYS_utimensat, fd, NULL, times, 0);
}

/* A claim that was last touched an hour ago. */
static void leave_dead_claim(const char *dir)
{
    char *path = text_format("%s/" JP_CLAIM_NAME, dir);
    struct timespec old[2];

    assert_int_equal(fileio_write(path, "gone 1 srun 1\n", 14, NULL), 0);
    clock_gettime(CLOCK_REALTIME, &old[0]);
    old[0].tv_sec -= 3600;
    old[1] = old[0];
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    free(path);
}

static void test_take_and_release(void **state)
{
    struct jp_claim *claim = NULL, *other = NULL;
    char *path = text_format("%s/" JP_CLAIM_NAME, (char *) *state);
    char *text;

    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_FREE);
    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    assert_true(claim_held(claim));
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_LIVE);
    assert_int_equal(claim_take(*state, "user", STALE_MS, &other, NULL), 0);
    assert_null(other);
    assert_int_equal(fileio_read(path, false, 200, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, " srun "));
    free(text);
    claim_release(claim);
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_FREE);
    claim_release(NULL);
    free(path);
}

static void test_heartbeat(void **state)
{
    struct jp_claim *claim = NULL;

    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    clock_sleep_ms(3 * STALE_MS);
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_LIVE);
    claim_release(claim);
}

/* The calendar is set back by 20 s while the owner waits for its next beat. */
static void test_clock_set_back(void **state)
{
    struct jp_claim *claim = NULL;

    calendar_ahead_s = 20;
    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    clock_sleep_ms(3 * STALE_MS);
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_LIVE);
    claim_release(claim);
    calendar_ahead_s = 0;
}

/* To a thief with a clock that is an hour ahead, the claim looks old but is
 * touched. */
static void test_clock_ahead(void **state)
{
    struct jp_claim *claim = NULL;
    int ready[2], status;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (claim_take(*state, "srun", STALE_MS, &claim, NULL) != 1 ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(2);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    files_ahead_s = 3600;
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_STALE);
    assert_int_equal(claim_take(*state, "user", STALE_MS, &claim, NULL), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(claim_take(*state, "user", STALE_MS, &claim, NULL), 1);
    claim_release(claim);
    files_ahead_s = 0;
    close(ready[0]);
}

/* Each claim has its own state; a second one would replace the signal
 * handlers. */
static void test_one_at_a_time(void **state)
{
    struct jp_claim *claim = NULL, *other = NULL;
    struct jp_error err;
    char *dir = text_format("%s/other", (char *) *state);

    assert_int_equal(mkdir(dir, 0700), 0);
    assert_false(claim_held(NULL));
    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    assert_false(claim_held(NULL));
    assert_int_equal(claim_take(dir, "srun", STALE_MS, &other, &err), -1);
    assert_non_null(strstr(err.text, "this process holds another"));
    assert_null(other);
    assert_true(claim_held(claim));
    claim_release(claim);
    assert_int_equal(claim_take(dir, "srun", STALE_MS, &other, NULL), 1);
    claim_release(other);
    free(dir);
}

static void test_steal(void **state)
{
    struct jp_claim *claim = NULL;

    leave_dead_claim(*state);
    assert_int_equal(claim_look(*state, STALE_MS), CLAIM_STALE);
    assert_int_equal(claim_take(*state, "watcher", STALE_MS, &claim, NULL), 1);
    assert_true(claim_held(claim));
    claim_release(claim);
    assert_int_equal(rmdir(*state), 0); /* nothing is left */
    assert_int_equal(mkdir(*state, 0700), 0);
}

static void test_lost(void **state)
{
    struct jp_claim *claim = NULL;
    char *path = text_format("%s/" JP_CLAIM_NAME, (char *) *state);

    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fileio_write(path, "thief 1 user 1\n", 15, NULL), 0);
    assert_false(claim_held(claim));
    claim_release(claim);
    assert_int_equal(access(path, F_OK), 0); /* the thief's claim stays */
    free(path);
}

static void test_moved(void **state)
{
    struct jp_claim *claim = NULL;
    char *to = text_format("%s.moved", (char *) *state);

    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, NULL), 1);
    assert_int_equal(rename(*state, to), 0);
    assert_true(claim_held(claim));
    claim_release(claim);
    assert_int_equal(claim_look(to, STALE_MS), CLAIM_FREE);
    assert_int_equal(rename(to, *state), 0);
    free(to);
}

static void test_bad_places(void **state)
{
    struct jp_claim *claim = NULL;
    struct jp_error err;
    char *path = text_format("%s/" JP_CLAIM_NAME, (char *) *state);

    assert_int_equal(claim_take("/nonexistent", "srun", STALE_MS, &claim, &err),
                     -1);
    assert_int_equal(claim_look("/nonexistent", STALE_MS), CLAIM_BAD);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(claim_take(*state, "srun", STALE_MS, &claim, &err), 0);
    assert_null(claim);
    free(path);
}

static void test_signals(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < 3; i++) {
        struct jp_claim *claim = NULL;
        int ready[2], status;
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
            /* a signal ignored by nohup stays ignored */
            signal(signals[i], SIG_DFL);
            if (claim_take(*state, "srun", STALE_MS, &claim, NULL) != 1 ||
                write(ready[1], "x", 1) != 1)
                _exit(1);
            pause();
            _exit(2);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        kill(pid, signals[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_false(stepdir_has(*state, JP_CLAIM_NAME));
        close(ready[0]);
        close(ready[1]);
    }
}

/* Ignored signals (nohup) stay ignored, and handlers are restored. */
static void test_signals_kept(void **state)
{
    struct jp_claim *claim = NULL;
    struct sigaction now;

    signal(SIGHUP, SIG_IGN);
    assert_int_equal(claim_take(*state, "user", STALE_MS, &claim, NULL), 1);
    sigaction(SIGHUP, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    sigaction(SIGTERM, NULL, &now);
    assert_true(now.sa_handler != SIG_DFL);
    claim_release(claim);
    sigaction(SIGHUP, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    sigaction(SIGTERM, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

/* Takes a stale claim and keeps it; exit status 1: got it. */
static void be_thief(const char *dir, int start)
{
    struct jp_claim *claim = NULL;
    char go;
    int rc;

    if (read(start, &go, 1) < 0)
        _exit(99);
    rc = claim_take(dir, "user", 5000, &claim, NULL);
    if (rc == 1)
        clock_sleep_ms(60);  /* so that the others examine the claim */
    _exit(rc < 0 ? 98 : rc); /* leaves the claim, as if killed */
}

static int claims_won(const pid_t *pids, size_t n)
{
    int status, won = 0;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        won += WEXITSTATUS(status);
    }
    return won;
}

/* All rounds at once, because each thief watches the claim for a while. */
static void test_thieves(void **state)
{
    pid_t pids[ROUNDS][THIEVES];
    int start[2];

    assert_int_equal(pipe(start), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char *dir = text_format("%s/%d", (char *) *state, round);

        assert_int_equal(mkdir(dir, 0700), 0);
        leave_dead_claim(dir);
        for (int i = 0; i < THIEVES; i++) {
            pids[round][i] = fork();
            if (pids[round][i] == 0) {
                close(start[1]);
                be_thief(dir, start[0]);
            }
            assert_true(pids[round][i] > 0);
        }
        free(dir);
    }
    close(start[0]);
    close(start[1]);
    for (int round = 0; round < ROUNDS; round++)
        assert_int_equal(claims_won(pids[round], THIEVES), 1);
}

/* --- guard ---------------------------------------------------------------- */

struct work {
    char *begun, *told;
};

static int until_told(void *arg)
{
    const struct work *work = arg;
    sigset_t set;
    int sig = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    alarm(60);
    return fileio_write(work->begun, "", 0, NULL) == 0 &&
                   sigwait(&set, &sig) == 0 &&
                   fileio_write(work->told, "", 0, NULL) == 0
               ? 0
               : 1;
}

static bool appears(const char *path)
{
    for (int i = 0; i < 600 && access(path, F_OK) < 0; i++)
        clock_sleep_ms(50);
    return access(path, F_OK) == 0;
}

/* The guard ends the work if its own parent, slurmstepd, has ended. */
static void test_guard(void **state)
{
    static const struct backend_runner none;
    struct work work = {text_format("%s/begun", (const char *) *state),
                        text_format("%s/told", (const char *) *state)};
    const struct run_place place = {*state, "n1", NULL, OPTION_COPPER};
    struct jp_error err;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (fork() == 0)
            _exit(supervise_guard(&none, &place, until_told, &work, &err) != 0);
        _exit(!appears(work.begun));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(appears(work.told));
    assert_int_equal(unlink(work.told) | unlink(work.begun), 0);
    free(work.told);
    free(work.begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_take_and_release, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_heartbeat, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_clock_set_back, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_clock_ahead, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_steal, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_lost, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_moved, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_bad_places, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_signals, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_signals_kept, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_thieves, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_guard, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
