/* test_likes.c - which communicators are of one shape. */
#include "orchestrator/insight/likes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* ranks, nodes, operations, name; the shape */
static const struct row {
    struct jp_comm comm;
    const char *name;
    size_t place;
} rows[] = {
    {{.n_ranks = 4, .nnodes = 1, .ops = 1000}, "tp_0", 0},
    {{.n_ranks = 4, .nnodes = 1, .ops = 1020}, "tp_1", 1},
    {{.n_ranks = 4, .nnodes = 2, .ops = 1000}, "tp_0", 2},
    {{.n_ranks = 4, .nnodes = 1, .ops = 1000}, "tp_0", 0},
    {{.n_ranks = 4, .nnodes = 1, .ops = 1000}, "cp_0", 3},
    {{.n_ranks = 4, .nnodes = 1, .ops = 100}, "tp_0", 4},
    {{.n_ranks = 8, .nnodes = 1, .ops = 1000}, "tp_0", 5},
    {{.n_ranks = 4, .nnodes = 1, .ops = 0}, "", 6},
    {{.n_ranks = 4, .nnodes = 1, .ops = 0}, "17", 7},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

/* Communicators have the same number exactly if the table has. */
static void numbered(likes_order *order, size_t shapes)
{
    struct jp_comm comms[ROWS];
    char names[ROWS][8];
    struct jp_result r = {.comms = comms, .n_comms = ROWS};
    size_t class_of[ROWS], n = 99;

    for (size_t i = 0; i < ROWS; i++) {
        comms[i] = rows[i].comm;
        snprintf(names[i], sizeof(names[i]), "%s", rows[i].name);
        comms[i].name = names[i];
    }
    assert_int_equal(likes_number(&r, order, class_of, &n), 0);
    assert_int_equal(n, shapes);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < ROWS; k++) {
            bool same = rows[i].place == rows[k].place;

            assert_true(class_of[i] < n);
            assert_int_equal(class_of[i] == class_of[k], same);
        }
}

static void by_place(void **state)
{
    (void) state;
    numbered(likes_by_place, 8);
}

static void of_none(void **state)
{
    const struct jp_result r = {0};
    size_t class_of[1] = {7}, n = 99;

    (void) state;
    assert_int_equal(likes_number(&r, likes_by_place, class_of, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(class_of[0], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_place),
        cmocka_unit_test(of_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
