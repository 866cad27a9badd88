/* test_barrier.c - tokens, done marks and alldone, alone and in a crowd. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "tests/common/fewer.h"
#include "tests/common/tempdir.h"

#define ROUNDS FEWER(400)
#define CROWD 6

static int set_up(void **state)
{
    return tempdir_make(state) < 0 ? -1 : stepdir_prepare(*state, "n0", NULL);
}

static struct jp_seat seat_of(const char *dir, uint32_t nodeid, uint32_t nodes)
{
    return (struct jp_seat){
        .dir = dir, .component = 12, .nodeid = nodeid, .nodes = nodes};
}

static void test_two_nodes(void **state)
{
    struct jp_seat a = seat_of(*state, 0, 2), b = seat_of(*state, 1, 2);
    enum barrier_state out;

    assert_int_equal(barrier_enter(&a, NULL), 0);
    assert_int_equal(barrier_enter(&b, NULL), 0);
    assert_int_equal(barrier_count_pending(*state), 2);
    assert_int_equal(barrier_leave(&a, &out, NULL), 0);
    assert_int_equal(out, BARRIER_OTHERS);
    assert_int_equal(barrier_leave(&b, &out, NULL), 0);
    assert_int_equal(out, BARRIER_LAST);
    assert_true(stepdir_has(*state, "alldone"));
    assert_false(stepdir_has(*state, "pending"));
    assert_int_equal(barrier_leave(&b, &out, NULL), 0);
    /* leaving twice has no further effect */
    assert_int_equal(out, BARRIER_OTHERS);
}

/* A short task's node can leave before another has joined. */
static void test_one_after_the_other(void **state)
{
    struct jp_seat a = seat_of(*state, 0, 2), b = seat_of(*state, 1, 2);
    enum barrier_state out;

    assert_int_equal(barrier_enter(&a, NULL), 0);
    assert_int_equal(barrier_leave(&a, &out, NULL), 0);
    assert_int_equal(out, BARRIER_OTHERS);
    assert_false(stepdir_has(*state, "pending"));
    assert_int_equal(barrier_enter(&b, NULL), 0);
    assert_int_equal(barrier_leave(&b, &out, NULL), 0);
    assert_int_equal(out, BARRIER_LAST);
}

static void test_no_way_back(void **state)
{
    struct jp_seat a = seat_of(*state, 0, 2);
    enum barrier_state out;
    struct jp_error err;

    assert_int_equal(barrier_enter(&a, NULL), 0);
    assert_int_equal(barrier_leave(&a, &out, NULL), 0);
    assert_int_equal(barrier_enter(&a, &err), -1);
    assert_int_equal(errno, EALREADY);
    assert_false(stepdir_has(*state, "pending"));
}

static void test_after_the_report(void **state)
{
    struct jp_seat a = seat_of(*state, 0, 2);
    enum barrier_state out;

    assert_int_equal(barrier_enter(&a, NULL), 0);
    barrier_clear(*state);
    assert_int_equal(barrier_leave(&a, &out, NULL), 0);
    assert_int_equal(out, BARRIER_GONE);
    assert_false(stepdir_has(*state, "done"));
    assert_false(stepdir_has(*state, "alldone"));
    assert_false(barrier_is_reported(*state));
    assert_int_equal(fileio_write((char *) *state, "", 0, NULL), -1);
}

/* Foreign entries with the names of ours are errors and cause no loops. */
static void test_bad_folders(void **state)
{
    struct jp_seat a = seat_of(*state, 0, 1);
    char *pending = text_format("%s/pending", (char *) *state);
    enum barrier_state out;
    struct jp_error err;

    assert_int_equal(symlink("/tmp", pending), 0);
    assert_int_equal(barrier_enter(&a, &err), -1);
    assert_int_equal(unlink(pending), 0);
    assert_int_equal(mkfifo(pending, 0600), 0);
    assert_int_equal(barrier_enter(&a, &err), -1);
    assert_int_equal(barrier_leave(&a, &out, &err), -1);
    free(pending);
    a.dir = "/nonexistent";
    assert_int_equal(barrier_enter(&a, &err), -1);
    assert_int_equal(barrier_leave(&a, &out, &err), 0);
    assert_int_equal(out, BARRIER_GONE);
    assert_int_equal(barrier_count_pending("/nonexistent"), 0);
}

/* One node's course in a separate process. Exit status 1: it was the last. */
static void live(const char *dir, uint32_t nodeid, uint32_t nodes, int start)
{
    struct jp_seat seat = seat_of(dir, nodeid, nodes);
    enum barrier_state out;
    char go;

    if (read(start, &go, 1) < 0) /* end of file: all processes exist */
        _exit(99);
    if (barrier_enter(&seat, NULL) < 0)
        _exit(98);
    if (nodeid % 2)
        sched_yield();
    if (barrier_leave(&seat, &out, NULL) < 0)
        _exit(97);
    _exit(out == BARRIER_LAST);
}

static void play_round(const char *dir, int round)
{
    char *step = text_format("%s/%d", dir, round);
    int start[2], status, last = 0;

    assert_int_equal(mkdir(step, 0700), 0);
    assert_int_equal(stepdir_prepare(step, "n0", NULL), 0);
    assert_int_equal(pipe(start), 0);
    for (uint32_t k = 0; k < CROWD; k++)
        if (fork() == 0) {
            close(start[1]);
            live(step, k, CROWD, start[0]);
        }
    close(start[0]);
    close(start[1]);
    for (int k = 0; k < CROWD; k++) {
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        last += WEXITSTATUS(status);
    }
    assert_int_equal(last, 1);
    for (uint32_t k = 0; k < CROWD; k++) {
        struct jp_seat seat = seat_of(step, k, CROWD);
        char mark[64];

        snprintf(mark, sizeof(mark), "done/%" PRIu64 ".%" PRIu32,
                 seat.component, k);
        assert_true(stepdir_has(step, mark));
    }
    assert_false(stepdir_has(step, "pending"));
    assert_int_equal(fileio_remove_tree(step, NULL), 0);
    free(step);
}

static void test_crowd(void **state)
{
    for (int round = 0; round < ROUNDS; round++)
        play_round(*state, round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_nodes, set_up, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_one_after_the_other, set_up,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_no_way_back, set_up, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_after_the_report, set_up,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_bad_folders, set_up, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_crowd, set_up, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
