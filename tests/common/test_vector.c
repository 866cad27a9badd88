/* test_vector.c - arrays that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/vector.h"

/* Asked for more than there is, the allocator of AddressSanitizer ends the
 * program unless it is told to return NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

struct row {
    uint64_t number;
    char text[9];
};

/* Rows keep their values while the array grows, and new ones are zeros. */
static void test_add(void **state)
{
    struct row *rows = NULL;
    size_t n = 0, room = 0;

    (void) state;
    for (size_t i = 0; i < 5000; i++) {
        struct row *row = VECTOR_ADD(rows, n, room);

        assert_non_null(row);
        assert_ptr_equal(row, &rows[i]);
        assert_int_equal(n, i + 1);
        assert_true(n <= room);
        assert_int_equal(row->number, 0);
        assert_int_equal(row->text[8], 0);
        row->number = i * i;
        row->text[8] = 'x';
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i].number, i * i);
    /* rooms grow by a share, so that additions stay cheap */
    assert_true(room < 2 * n);
    free(rows);
}

static void test_room(void **state)
{
    uint16_t *numbers = NULL, *before;
    size_t room = 0;

    (void) state;
    assert_int_equal(VECTOR_ROOM(numbers, 0, room), 0);
    assert_null(numbers);
    assert_int_equal(VECTOR_ROOM(numbers, 1000, room), 0);
    assert_true(room >= 1000);
    numbers[999] = 7;
    before = numbers;
    assert_int_equal(VECTOR_ROOM(numbers, room, room), 0);
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[999], 7);
    free(numbers);
}

/* An array without a room has that of the next power of two. */
static void test_double(void **state)
{
    uint64_t *numbers = NULL, *more = NULL;
    unsigned n_more = 0;

    (void) state;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t *one = VECTOR_DOUBLE_ADD(more, n_more);

        assert_ptr_equal(one, &more[i]);
        assert_int_equal(*one, 0);
        *one = i;
    }
    assert_int_equal(n_more, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(more[i], i);
    free(more);
    for (uint32_t n = 0; n < 3000; n++) {
        assert_int_equal(VECTOR_DOUBLE(numbers, n), 0);
        numbers[n] = ~(uint64_t) n;
    }
    for (uint32_t n = 0; n < 3000; n++)
        assert_int_equal(numbers[n], ~(uint64_t) n);
    free(numbers);
}

/* Without memory nothing is changed; sizes do not wrap around. */
static void test_failure(void **state)
{
    struct row *rows = NULL, *before;
    size_t n = 0, room = 0, old;

    (void) state;
    assert_non_null(VECTOR_ADD(rows, n, room));
    rows->number = 5;
    before = rows;
    old = room;
    assert_int_equal(VECTOR_ROOM(rows, SIZE_MAX / 8, room), -1);
    assert_int_equal(VECTOR_ROOM(rows, SIZE_MAX, room), -1);
    assert_ptr_equal(rows, before);
    assert_int_equal(room, old);
    assert_int_equal(rows->number, 5);
    n = (SIZE_MAX >> 1) + 1; /* a power of two */
    assert_int_equal(VECTOR_DOUBLE(rows, n), -1);
    assert_ptr_equal(rows, before);
    n = SIZE_MAX - 1;
    assert_null(VECTOR_ADD(rows, n, room));
    assert_int_equal(n, SIZE_MAX - 1);
    free(rows);
}

static void test_copy(void **state)
{
    static const int from[] = {3, 4, 5};
    int *to;

    (void) state;
    assert_int_equal(vector_copy(&to, from, 3, sizeof(*from)), 0);
    assert_memory_equal(to, from, sizeof(from));
    free(to);
    assert_int_equal(vector_copy(&to, from, 0, sizeof(*from)), 0);
    assert_null(to);
    assert_int_equal(vector_copy(&to, from, SIZE_MAX / 2, sizeof(*from)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_copy),
    };

    return cmocka_run_group_tests_name("vector", tests, NULL, NULL);
}
