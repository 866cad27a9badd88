/* test_rec_stuck.c - a file system that does not answer: NCCL's threads do not
 * wait for it. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/nccl_recorder/fake_time.h"
#include "tests/nccl_recorder/rec_asserts.h"

static atomic_int open_hangs;
static atomic_int write_hangs;

/* The recorder's system calls on a dead file system. */
static void hang(long number, const long *arguments)
{
    if (number == SYS_pwrite64 && atomic_load(&write_hangs))
        fake_time_hang();
    if (number == SYS_openat && (arguments[2] & O_DIRECTORY) &&
        atomic_load(&open_hangs))
        fake_time_hang();
}

/* Returns the fake time that has passed, which is what NCCL's threads waited.
 */
static uint64_t since_ms(uint64_t began_ns)
{
    return (fake_time_ns() - began_ns) / 1000000;
}

static void dead_writes(struct rec_scene *s)
{
    uint64_t began, i;
    void *stays;

    fake_time_see = hang;
    fake_time_begin();
    stays = scene_comm(s, "stays", 1, 0, 2);
    scene_whole(s, stays, 0, 50);
    fake_time_pass_us(300000);
    atomic_store(&write_hangs, 1);
    began = fake_time_ns();
    for (i = 0; i < 20; i++) {
        void *comm = scene_comm(s, "short", 100 + i, 0, 2);

        scene_whole(s, comm, 0, 50);
        CHECK(s->api->finalize(comm) == 0);
    }
    CHECK(since_ms(began) == 40); /* once, not 800 */
    _exit(0);
}

static void finalize_waits_once(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(dead_writes, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_bad, 0);
    assert_int_equal(r.n_ops, 1); /* written before the hook was on */
    rec_harness_fini(&r);
}

static void dead_directory(struct rec_scene *s)
{
    uint64_t began, i;
    void *comm;

    fake_time_see = hang;
    fake_time_begin();
    began = fake_time_ns();
    atomic_store(&open_hangs, 1);
    comm = scene_comm(s, "x", 1, 0, 2);
    CHECK(since_ms(began) == 200);
    CHECK(scene_comm(s, "y", 2, 0, 2) != NULL);
    for (i = 0; i < 40000; i++)
        scene_whole(s, comm, i, 50);
    CHECK(s->api->finalize(comm) == 0);
    CHECK(since_ms(began) == 240);
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
