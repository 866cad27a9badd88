/* test_keyed.c - the table of structs that are found by a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/keyed.h"

struct item {
    uint64_t key;
    int value;
};

static void test_empty(void **state)
{
    struct keyed table = KEYED(struct item);

    (void) state;
    assert_null(keyed_find(&table, 0));
    assert_null(keyed_find(&table, UINT64_MAX));
    assert_int_equal(keyed_place(&table, 7), 0);
    keyed_fini(&table);
    keyed_fini(&table);
    assert_int_equal(table.size, sizeof(struct item));
}

/* Keys in any order, each added twice. */
static void test_order(void **state)
{
    static const uint64_t ends[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    enum { MANY = 1000, ENDS = sizeof(ends) / sizeof(*ends) };
    struct keyed table = KEYED(struct item);
    const struct item *items;
    struct item *item;

    (void) state;
    for (int twice = 0; twice < 2; twice++)
        for (uint64_t i = 0; i < MANY + ENDS; i++) {
            uint64_t key = i < MANY ? 10 + i * 7919 % MANY * 3 : ends[i - MANY];

            item = keyed_add(&table, key);
            assert_non_null(item);
            assert_int_equal(item->key, key);
            /* zeros the first time */
            assert_int_equal(item->value, twice ? (int) i + 1 : 0);
            item->value = (int) i + 1;
        }
    assert_int_equal(table.n, MANY + ENDS);
    items = table.items;
    for (size_t i = 1; i < table.n; i++)
        assert_true(items[i - 1].key < items[i].key);
    for (size_t i = 0; i < table.n; i++) {
        assert_ptr_equal(keyed_find(&table, items[i].key), &items[i]);
        assert_int_equal(keyed_place(&table, items[i].key), i);
    }
    assert_null(keyed_find(&table, 11));
    assert_int_equal(keyed_place(&table, 11), 3);
    keyed_fini(&table);
    assert_int_equal(table.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
