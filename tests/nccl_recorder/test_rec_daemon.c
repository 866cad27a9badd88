/* test_rec_daemon.c - a program that closes all descriptors keeps its own
 * files: the recorder never writes to them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/nccl_recorder/fake_time.h"
#include "tests/nccl_recorder/rec_harness.h"

#define assert_ok(r) assert_int_equal((r).status, 0)

/* Opens as many files as the recorder may have, so that one of them gets its
 * number. */
enum { MANY = 10000, OWN = 64 };
static const char own_text[] = "the program's own";

static void close_and_open(int own[OWN], const char *path)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < OWN; i++) {
        own[i] = open(path, O_RDWR | O_CREAT, 0600);
        CHECK(own[i] >= 0);
    }
    CHECK(pwrite(own[0], own_text, sizeof(own_text), 0) ==
          (ssize_t) sizeof(own_text));
}

static void check_own(const int own[OWN])
{
    char text[sizeof(own_text) + 1];

    for (int i = 0; i < OWN; i++)
        CHECK(fcntl(own[i], F_GETFD) >= 0);
    CHECK(pread(own[0], text, sizeof(text), 0) == (ssize_t) sizeof(own_text) &&
          memcmp(text, own_text, sizeof(own_text)) == 0);
}

static void closing_all(struct rec_scene *s)
{
    char path[300];
    int own[OWN];
    void *comm;

    fake_time_begin();
    comm = scene_comm(s, "daemon", 0xdae, 0, 2);
    snprintf(path, sizeof(path), "%s/own", s->dir);
    scene_whole(s, comm, 0, 10);
    fake_time_pass_us(2000000);
    scene_wait(s, "\"produced\":1,\"written\":1,", 1);
    close_and_open(own, path);
    for (uint64_t i = 1; i < MANY; i++)
        scene_whole(s, comm, i, 10);
    fake_time_pass_us(300000);
    check_own(own);
#if !defined(__SANITIZE_ADDRESS__)
    int status = 0;

    if (fork() == 0) { /* the child closes its copies of the recorder's */
        check_own(own);
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
#endif
    CHECK(s->api->finalize(comm) == 0);
    check_own(own);
    unlink(path);
}

/* With a limit of free space the folder is looked at as well. */
static void closing_all_with_floor(struct rec_scene *s)
{
    setenv("JOBPROF_RECORDER_MIN_FREE", "1", 1);
    closing_all(s);
}

/* The same before there is a file. */
static void closing_early(struct rec_scene *s)
{
    char path[300];
    int own[OWN];
    void *comm;

    fake_time_begin();
    fake_time_hold(true);
    setenv("JOBPROF_RECORDER_MIN_FREE", "1", 1);
    comm = scene_comm(s, "early", 0xea, 0, 2);
    snprintf(path, sizeof(path), "%s/own", s->dir);
    close_and_open(own, path);
    scene_whole(s, comm, 0, 10);
    fake_time_hold(false);
    fake_time_pass_us(300000);
    CHECK(s->api->finalize(comm) == 0);
    check_own(own);
    unlink(path);
}

static void the_programs_files_are_its_own(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(closing_all, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, 1); /* written before the close */
    assert_non_null(strstr(r.text, "\"complete\":false"));
    rec_harness_fini(&r);
    rec_harness_run(closing_all_with_floor, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 1);
    rec_harness_fini(&r);
    rec_harness_run(closing_early, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_files, 0);
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
        cmocka_unit_test(standard_descriptors_are_the_programs),
        cmocka_unit_test(a_clone_waits_for_nobody),
    };

    return cmocka_run_group_tests_name("recorder in a daemon", tests, NULL,
                                       NULL);
}
