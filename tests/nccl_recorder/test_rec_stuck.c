/* A file system that does not answer: NCCL's threads do not wait for it. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/nccl_recorder/rec_asserts.h"

#define SHARED __attribute__((visibility("default")))

static atomic_int open_hangs;
static atomic_int write_hangs;

static void hang(void)
{
    for (;;)
        pause();
}

/* In place of libc's: the recorder calls these. */
SHARED ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (atomic_load(&write_hangs))
        hang();
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

SHARED int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list ap;

    if (flags & O_CREAT) {
        va_start(ap, flags);
        mode = (mode_t) va_arg(ap, unsigned);
        va_end(ap);
    }
    if ((flags & O_DIRECTORY) && atomic_load(&open_hangs))
        hang();
    return (int) syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec * 1e3 + (double) ts.tv_nsec / 1e6;
}

static void dead_writes(struct rec_scene *s)
{
    void *stays = scene_comm(s, "stays", 1, 0, 2);
    double began;
    uint64_t i;

    scene_whole(s, stays, 0, 50);
    usleep(300000);
    atomic_store(&write_hangs, 1);
    began = now_ms();
    for (i = 0; i < 20; i++) {
        void *comm = scene_comm(s, "short", 100 + i, 0, 2);

        scene_whole(s, comm, 0, 50);
        CHECK(s->api->finalize(comm) == 0);
    }
    CHECK(now_ms() - began < 600); /* 40 once, not 800 */
    _exit(0);
}

static void finalize_waits_once(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(dead_writes, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, 1); /* of before: the hook was at work */
    rec_harness_fini(&r);
}

static void dead_directory(struct rec_scene *s)
{
    double began = now_ms();
    void *comm;
    uint64_t i;

    atomic_store(&open_hangs, 1);
    comm = scene_comm(s, "x", 1, 0, 2);
    CHECK(now_ms() - began > 150);
    CHECK(scene_comm(s, "y", 2, 0, 2) != NULL);
    for (i = 0; i < 40000; i++)
        scene_whole(s, comm, i, 50);
    CHECK(s->api->finalize(comm) == 0);
    CHECK(now_ms() - began < 15000); /* not for ever */
    _exit(0);
}

static void init_does_not_wait_long(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(dead_directory, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_files, 0);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finalize_waits_once),
        cmocka_unit_test(init_does_not_wait_long),
    };

    return cmocka_run_group_tests_name("recorder stuck", tests, NULL, NULL);
}
