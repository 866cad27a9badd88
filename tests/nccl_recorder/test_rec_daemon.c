/* test_rec_daemon.c - a program that closes all descriptors keeps its own
 * files: the recorder never writes to them. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/common/skip.h"
#include "tests/nccl_recorder/fake_time.h"
#include "tests/nccl_recorder/rec_harness.h"

#define assert_ok(r) assert_int_equal((r).status, 0)

enum { MANY = 10000, NUMBERS = 2000, NO_FILTERS = 77 };
static const char own_text[] = "the program's own";

/* The numbers that were open, the recorder's among them. All are the program's
 * own file now. */
static int own[NUMBERS], n_own;

static void close_and_open(const char *path)
{
    int fd;

    n_own = 0;
    for (fd = 3; fd < NUMBERS; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            own[n_own++] = fd;
    for (fd = 3; fd < NUMBERS; fd++)
        close(fd);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && pwrite(fd, own_text, sizeof(own_text), 0) ==
                         (ssize_t) sizeof(own_text));
    for (int i = 0; i < n_own; i++)
        CHECK(dup2(fd, own[i]) == own[i]);
    own[n_own++] = fd;
}

static void check_own(void)
{
    char text[sizeof(own_text) + 1];

    for (int i = 0; i < n_own; i++)
        CHECK(pread(own[i], text, sizeof(text), 0) ==
                  (ssize_t) sizeof(own_text) &&
              memcmp(text, own_text, sizeof(own_text)) == 0);
}

/* Under any filter the recorder's thread shares the program's descriptors. */
static void share_descriptors(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(NO_FILTERS);
}

static void closing_all(struct rec_scene *s)
{
    char path[300];
    void *comm;

    fake_time_begin();
    comm = scene_comm(s, "daemon", 0xdae, 0, 2);
    snprintf(path, sizeof(path), "%s/own", s->dir);
    scene_whole(s, comm, 0, 10);
    fake_time_pass_us(2000000);
    scene_wait(s, "\"produced\":1,\"written\":1,", 1);
    close_and_open(path);
    for (uint64_t i = 1; i < MANY; i++)
        scene_whole(s, comm, i, 10);
    fake_time_pass_us(300000);
    check_own();
#if !defined(__SANITIZE_ADDRESS__)
    int status = 0;

    if (fork() == 0) { /* the child leaves its copies alone */
        check_own();
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
#endif
    CHECK(s->api->finalize(comm) == 0);
    check_own();
    unlink(path);
}

/* The same before there is a file. With a limit of free space the folder is
 * looked at as well. */
static void closing_early(struct rec_scene *s)
{
    char path[300];
    void *comm;

    fake_time_begin();
    fake_time_hold(true);
    setenv("JOBPROF_RECORDER_MIN_FREE", "1", 1);
    comm = scene_comm(s, "early", 0xea, 0, 2);
    snprintf(path, sizeof(path), "%s/own", s->dir);
    close_and_open(path);
    scene_whole(s, comm, 0, 10);
    fake_time_hold(false);
    fake_time_pass_us(300000);
    CHECK(s->api->finalize(comm) == 0);
    check_own();
    unlink(path);
}

static void shared_closing_all(struct rec_scene *s)
{
    share_descriptors();
    closing_all(s);
}

static void shared_closing_all_with_floor(struct rec_scene *s)
{
    setenv("JOBPROF_RECORDER_MIN_FREE", "1", 1);
    shared_closing_all(s);
}

static void shared_closing_early(struct rec_scene *s)
{
    share_descriptors();
    closing_early(s);
}

/* A recorder that shares the program's descriptors stops. */
static void the_programs_files_are_its_own(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(shared_closing_all, 6, &r);
    if (WIFEXITED(r.status) && WEXITSTATUS(r.status) == NO_FILTERS)
        skip_check("no seccomp filters here");
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, 1); /* written before the close */
    assert_non_null(strstr(r.text, "\"complete\":false"));
    rec_harness_fini(&r);
    rec_harness_run(shared_closing_all_with_floor, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    rec_harness_fini(&r);
    rec_harness_run(shared_closing_early, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_files, 0);
    rec_harness_fini(&r);
}

/* Otherwise it has descriptors of its own, and goes on. */
static void a_daemon_is_recorded(void **state)
{
    struct rec_result r;

    (void) state;
    if (prctl(PR_GET_SECCOMP) != 0)
        skip_check("the test itself runs under a seccomp filter");
    rec_harness_run(closing_all, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, MANY);
    assert_non_null(strstr(r.text, "\"complete\":true"));
    rec_harness_fini(&r);
    rec_harness_run(closing_early, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    rec_harness_fini(&r);
}

/* A daemon without descriptors 0 to 2 that prints nevertheless. */
static void without_standard(struct rec_scene *s)
{
    const int kept[] = {dup(0), dup(1), dup(2)};
    void *comm;

    fake_time_begin();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    comm = scene_comm(s, "bare", 0xba, 0, 2);
    for (uint64_t i = 0; i < 10; i++)
        scene_whole(s, comm, i, 10);
    fake_time_pass_us(300000); /* now the file exists */
    for (int fd = 0; fd < 3; fd++)
        (void) !write(fd, own_text, sizeof(own_text));
    CHECK(s->api->finalize(comm) == 0);
    for (int fd = 0; fd < 3; fd++)
        CHECK(fcntl(fd, F_GETFD) < 0 && dup2(kept[fd], fd) == fd);
}

static void standard_descriptors_are_the_programs(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(without_standard, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, 10);
    rec_harness_fini(&r);
}

/* clone() alone runs no fork handlers: the copy has no writer to wait for. */
static void cloning(struct rec_scene *s)
{
    int status = 1;
    void *comm;
    pid_t child;

    fake_time_begin();
    comm = scene_comm(s, "clone", 0xc1, 0, 2);
    scene_whole(s, comm, 0, 10);
    child = (pid_t) syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        /* nothing moves the clock here: a wait would never end */
        alarm(30);
        exit(s->api->finalize(comm));
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(s->api->finalize(comm) == 0);
}

static void a_clone_waits_for_nobody(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(cloning, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_files_are_its_own),
        cmocka_unit_test(a_daemon_is_recorded),
        cmocka_unit_test(standard_descriptors_are_the_programs),
        cmocka_unit_test(a_clone_waits_for_nobody),
    };

    return cmocka_run_group_tests_name("recorder in a daemon", tests, NULL,
                                       NULL);
}
